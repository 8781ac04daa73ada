# SPDX-License-Identifier: Apache-2.0
"""Persons as keyed hashes: what stands for a person in memory and ledger, and says nothing without
the key.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from phalanx.arrays import from_arrow
from phalanx.errors import SourceError

_BLOCK = 16
_INLINE = 12
"""Texts of so many bytes lie beside their lengths."""
_AT_ONCE = 1 << 16
"""So many identifiers are hashed together, whose blocks stay in the processor's memory."""


@dataclass(frozen=True, repr=False)
class PersonKey:
    """A 256-bit key that turns identifiers into 128-bit person keys.

    The hash is AES-256 CBC-MAC over the identifier's canonical text with its length in front, which
    makes the input prefix-free and the construction a pseudo-random function; all rows go through
    one block at a time, so a million identifiers take a moment. Integers and their text are the
    same person (``5`` and ``"5"``), because a series must recognise a person whose file changed
    from CSV to Parquet.
    """

    key: bytes

    def hash(self, identifiers: pl.Series) -> pl.Series:
        """Person keys as 16-byte binary, same length; SourceError where an identifier is missing,
        empty or not text or integer.
        """
        named = _canonical(identifiers)
        keys = np.empty((len(named), _BLOCK), dtype=np.uint8)
        for begin in range(0, len(named), _AT_ONCE):
            some = named[begin : begin + _AT_ONCE].cast(pl.String)
            keys[begin : begin + len(some)] = self._hashed(some)
        return _binary(identifiers.name, keys)

    def _hashed(self, text: pl.Series) -> npt.NDArray[np.uint8]:
        """The bytes of the person keys of canonical texts (n,), shape (n, 16)."""
        data, lengths = _padded(text)
        state = np.zeros((len(lengths), _BLOCK), dtype=np.uint8)
        state[:, :8] = lengths.astype(">u8").view(np.uint8).reshape(-1, 8)
        state = self._encrypt(state)
        for start in range(0, data.shape[1], _BLOCK):
            live = lengths > start
            block = data[:, start : start + _BLOCK]
            if live.all():
                state = self._encrypt(state ^ block)
            else:
                state[live] = self._encrypt(state[live] ^ block[live])
        return state

    def _encrypt(self, blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        out = bytearray(blocks.nbytes + _BLOCK - 1)  # the cipher wants room for one block more
        Cipher(AES(self.key), ECB()).encryptor().update_into(blocks.tobytes(), out)  # noqa: S305 - the block cipher itself; the chaining is in hash
        return np.frombuffer(out, dtype=np.uint8, count=blocks.nbytes).reshape(-1, _BLOCK)

    def __repr__(self) -> str:
        return "PersonKey(…)"


def _padded(text: pl.Series) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The UTF-8 bytes of every text, zeros behind them up to whole blocks, shape (n, 16 b); and the
    lengths, shape (n,).
    """
    lengths = text.str.len_bytes().to_numpy().astype(np.int64)
    longest = int(lengths.max(initial=0))
    data = np.zeros((len(lengths), -(-longest // _BLOCK) * _BLOCK), dtype=np.uint8)
    if 0 < longest <= _INLINE:  # Arrow keeps zeros behind each
        views = text.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
        if str(views.type) == "string_view":
            each = np.frombuffer(views.buffers()[1], dtype=np.uint8).reshape(-1, _BLOCK)
            data[:, :_INLINE] = each[views.offset :][: len(lengths), _BLOCK - _INLINE :]
            return data, lengths
    joined = (
        np.frombuffer(text.str.join("")[0].encode(), dtype=np.uint8)
        if len(lengths)
        else np.zeros(0, dtype=np.uint8)
    )
    if len(lengths) and int(lengths.min()) == longest:
        data[:, :longest] = joined.reshape(-1, longest)
    else:
        data[np.arange(data.shape[1]) < lengths[:, None]] = joined
    return data, lengths


def _binary(name: str, state: npt.NDArray[np.uint8]) -> pl.Series:
    import pyarrow as pa

    offsets = np.arange(len(state) + 1, dtype=np.int64) * _BLOCK
    keys = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(state),
        [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(state))],
    )
    return from_arrow(keys).alias(name)


def _canonical(identifiers: pl.Series) -> pl.Series:
    """Identifiers that may be, whole numbers as they are and others as canonical text."""
    name = identifiers.name
    if missing := identifiers.null_count():
        raise SourceError(
            f"identifier column {name!r} is missing in {missing} of {len(identifiers)} rows; every"
            " row needs to say who it is about."
        )
    if not (
        identifiers.dtype.is_integer() or identifiers.dtype in (pl.String, pl.Categorical, pl.Enum)
    ):
        raise SourceError(
            f"identifier column {name!r} is {identifiers.dtype}, and a person is named by text or a"
            " whole number; convert it at the source."
        )
    if identifiers.dtype.is_integer():
        return identifiers
    text = identifiers.cast(pl.String)
    if text.str.len_bytes().sum() > text.str.len_chars().sum():  # plain ASCII is normal already
        text = text.str.normalize("NFC")
    if empty := int((text == "").sum()):
        raise SourceError(
            f"identifier column {name!r} is empty in {empty} of {len(text)} rows; every row needs"
            " to say who it is about."
        )
    if padded := int((text != text.str.strip_chars()).sum()):
        raise SourceError(
            f"identifier column {name!r} has blanks around it in {padded} of {len(text)} rows,"
            " which would hide that a person returns; strip them."
        )
    return text
