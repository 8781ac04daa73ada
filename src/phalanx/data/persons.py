"""Persons as keyed hashes: what stands for a person in memory and ledger, and says nothing without the key."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from phalanx.errors import SourceError

_BLOCK = 16


@dataclass(frozen=True, repr=False)
class PersonKey:
    """A 256-bit key that turns identifiers into 128-bit person keys.

    The hash is AES-256 CBC-MAC over the identifier's canonical text with its length in front, which makes the input
    prefix-free and the construction a pseudo-random function; all rows go through one block at a time, so a million
    identifiers take a moment. Integers and their text are the same person (``5`` and ``"5"``), because a series must
    recognise somebody whose file changed from CSV to Parquet.
    """

    key: bytes

    def hash(self, identifiers: pl.Series) -> pl.Series:
        """Person keys as 16-byte binary, same length; SourceError where an identifier is missing, empty or not text or integer."""
        text = _canonical(identifiers)
        lengths = text.str.len_bytes().to_numpy().astype(np.int64)
        n, blocks = len(text), int((lengths.max(initial=0) + _BLOCK - 1) // _BLOCK)
        data = np.zeros((n, blocks * _BLOCK), dtype=np.uint8)
        within = np.arange(blocks * _BLOCK)[None, :] < lengths[:, None]
        data[within] = np.frombuffer("".join(text.to_list()).encode(), dtype=np.uint8)
        state = np.zeros((n, _BLOCK), dtype=np.uint8)
        state[:, :8] = lengths.astype(">u8").view(np.uint8).reshape(n, 8)
        state = self._encrypt(state)
        for b in range(blocks):
            live = lengths > b * _BLOCK
            state[live] = self._encrypt(state[live] ^ data[live, b * _BLOCK : (b + 1) * _BLOCK])
        return _binary(identifiers.name, state)

    def _encrypt(self, blocks: np.ndarray) -> np.ndarray:
        out = Cipher(AES(self.key), ECB()).encryptor().update(np.ascontiguousarray(blocks).tobytes())  # noqa: S305 - the block cipher itself
        return np.frombuffer(out, dtype=np.uint8).reshape(-1, _BLOCK).copy()

    def __repr__(self) -> str:
        return "PersonKey(…)"


def _binary(name: str, state: np.ndarray) -> pl.Series:
    import pyarrow as pa

    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(_BLOCK), len(state), [None, pa.py_buffer(state.tobytes())])
    return pl.Series(name, fixed.cast(pa.large_binary()), dtype=pl.Binary)


def _canonical(identifiers: pl.Series) -> pl.Series:
    name = identifiers.name
    if missing := identifiers.null_count():
        raise SourceError(f"identifier column {name!r} is missing in {missing} of {len(identifiers)} rows; every row needs to say who it is about.")
    if not (identifiers.dtype.is_integer() or identifiers.dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise SourceError(f"identifier column {name!r} is {identifiers.dtype}, and a person is named by text or a whole number; convert it at the source.")
    text = identifiers.cast(pl.String)
    if identifiers.dtype.is_integer():
        return text
    text = text.str.normalize("NFC")
    if empty := int((text == "").sum()):
        raise SourceError(f"identifier column {name!r} is empty in {empty} of {len(text)} rows; every row needs to say who it is about.")
    if padded := int((text != text.str.strip_chars()).sum()):
        raise SourceError(f"identifier column {name!r} has blanks around it in {padded} of {len(text)} rows, which would hide that a person returns; strip them.")
    return text
