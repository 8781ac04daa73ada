# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious twin of the person keys: AES-256 CBC-MAC, one identifier and one block at a
time.
"""

import unicodedata

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC


def person_key(key: bytes, identifier: str | int) -> bytes:
    """The last block of AES-CBC (zero vector) over the length in 8 bytes, 8 zeros, and the NFC text
    with zeros behind it.
    """
    text = unicodedata.normalize("NFC", str(identifier)).encode()
    message = len(text).to_bytes(8, "big") + bytes(8) + text
    while len(message) % 16:
        message += b"\0"
    encryptor = Cipher(AES(key), CBC(bytes(16))).encryptor()
    return (encryptor.update(message) + encryptor.finalize())[-16:]
