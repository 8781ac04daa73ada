# SPDX-License-Identifier: Apache-2.0
"""Whether a person is named twice, asked also of more persons than the memory holds."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from phalanx.arrays import Ints
from phalanx.errors import SourceError

_KEY: Final = 16
"""Bytes of a keyed hash."""
_BYTES: Final = 64
"""Bytes that a person takes while those of a file are compared."""
_SINGLE: Final = 3
"""What a column is whose bytes are in one place: which are missing, where each is, and all bytes."""
_AT_ONCE: Final = 2**20
"""So many are looked at together."""
_MOST: Final = 128
"""So many files are written at once."""


class Repeated:
    """Keyed hashes of persons, or hashes of values, in files without a name, of which each holds those that begin
    alike.
    """

    def __init__(self, rows: int, room: int, place: Path | None = None) -> None:
        self._opened = ExitStack()
        self._files = [
            self._opened.enter_context(TemporaryFile(dir=place))  # noqa: SIM115 - closed with them
            for _ in range(min(_MOST, 1 + rows * _BYTES // max(1, room)))
        ]

    def see(self, persons: pl.Series) -> None:
        """Write further persons down.

        Parameters
        ----------
        persons : pl.Series
            Their keyed hashes, shape (n,).
        """
        self._write(halves(persons))

    def see_values(self, values: pl.Series) -> None:
        """Write any values down, by hashes.

        Parameters
        ----------
        values : pl.Series
            The values, shape (n,); a missing one is like any other.
        """
        if values.dtype in (pl.Categorical, pl.Enum):
            values = values.cast(pl.String)  # which is numbered alike everywhere
        hashes = [values.hash(seed).to_numpy() for seed in range(2)]
        self._write(np.stack(hashes, axis=1))

    def _write(self, keys: NDArray[np.uint64]) -> None:
        file_of = file_numbers(keys, len(self._files))
        for number in np.unique(file_of):
            self._files[number].write(keys[file_of == number].tobytes())

    def twice(self) -> int:
        """How many persons were seen before.

        Returns
        -------
        int
            Each as often as they came again.
        """
        again = 0
        for file in self._files:
            file.flush()
            file.seek(0)
            again += _repeated(np.fromfile(file, dtype=np.uint64).reshape(-1, 2))
        return again

    def check(self, name: str) -> None:
        """SourceError where a person was seen twice.

        Parameters
        ----------
        name : str
            The identifier column.
        """
        if again := self.twice():
            raise twice_in(name, again)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()


def repeated(persons: pl.Series) -> int:
    """How many of ``persons`` (n,), keyed hashes, are there before; a missing one is like any
    other.
    """
    return _repeated(halves(persons)) if are_keys(persons) else len(persons) - persons.n_unique()


def are_keys(persons: pl.Series) -> bool:
    """Whether ``persons`` (n,) are all keyed hashes, and none is missing."""
    if persons.null_count():
        return False
    laid = _laid(persons.rechunk())
    lengths = persons.bin.size().to_numpy() if laid is None else laid[0][:, 0]
    return bool((lengths == _KEY).all())


def halves(persons: pl.Series) -> NDArray[np.uint64]:
    """Keyed hashes as numbers, shape (n, 2); where they lie one behind the other, no copy."""
    one = persons.rechunk()
    if (laid := _laid(one)) is not None:
        at, content = laid[0][:, 3], laid[1]
        if _in_a_row(at):
            return _numbers(content[at[0] : at[0] + _KEY * len(at)])
        first = int(at.min())
        if not ((at - first) % _KEY).any():
            keys, taken = _numbers(content[first:]), np.empty((len(at), 2), dtype=np.uint64)
            for begin in range(0, len(at), _AT_ONCE):
                some = slice(begin, begin + _AT_ONCE)
                keys.take((at[some] - first) // _KEY, axis=0, out=taken[some], mode="clip")
            return taken
    hashes = one.to_arrow(compat_level=pl.CompatLevel.oldest())
    offsets, content = hashes.buffers()[1:]
    start = int(np.frombuffer(offsets, dtype=np.int64)[hashes.offset]) if len(hashes) else 0
    return _numbers(np.frombuffer(content or b"", dtype=np.uint8)[start:][: _KEY * len(persons)])


def _numbers(content: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Bytes as the halves of keyed hashes, as many as there are, shape (n, 2)."""
    return content[: len(content) // _KEY * _KEY].view(np.uint64).reshape(-1, 2)


def _laid(persons: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.uint8]] | None:
    """Of hashes in one chunk whose bytes are in one place: for each its length, its beginning, which
    place it is and where it lies there, shape (n, 4), and all bytes; else None.
    """
    hashes = persons.to_arrow(compat_level=pl.CompatLevel.newest())
    if str(hashes.type) != "binary_view" or len(hashes.buffers()) != _SINGLE or not len(hashes):
        return None
    _, views, content = hashes.buffers()
    laid = np.frombuffer(views, dtype=np.uint32).reshape(-1, 4)[hashes.offset :][: len(hashes)]
    return laid, np.frombuffer(content, dtype=np.uint8)


def _in_a_row(at: NDArray[np.uint32]) -> bool:
    """Whether hashes lie one behind the other, as when they were made, by where each does."""
    first = int(at[0])
    for begin in range(0, len(at), _AT_ONCE):
        some = at[begin : begin + _AT_ONCE]
        expected = np.arange(len(some), dtype=np.int64) * _KEY + (first + begin * _KEY)
        if not np.array_equal(some, expected):
            return False
    return True


def file_numbers(keys: NDArray[np.uint64], files: int) -> Ints:
    """The file, of so many, that each key (n, 2) goes to; equal ones go to the same."""
    numbers: Ints = (keys[:, 0] & np.uint64(0xFF)).astype(np.int64) * files >> 8
    return numbers


def twice_in(name: str, rows: int) -> SourceError:
    """What to say where so many rows of a table repeat a person; ``name``: the identifier column."""
    return SourceError(
        f"{rows} row(s) repeat a person in identifier column {name!r}; a release holds one row per"
        " person, so keep one of them."
    )


def _repeated(keys: NDArray[np.uint64]) -> int:
    """How many keys are there before, shape (n, 2); only those whose first halves are equal, hardly
    any, are compared whole.
    """
    first = np.sort(keys[:, 0])
    shared = np.unique(first[1:][first[1:] == first[:-1]])
    if not len(shared):
        return 0
    place = np.searchsorted(shared, keys[:, 0]).clip(max=len(shared) - 1)
    among = keys[shared[place] == keys[:, 0]]
    among = among[np.lexsort((among[:, 1], among[:, 0]))]
    return int((among[1:] == among[:-1]).all(axis=1).sum())
