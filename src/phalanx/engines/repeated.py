# SPDX-License-Identifier: Apache-2.0
"""Whether a person stands in a table twice, asked of a table that is larger than the memory."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from phalanx.data.persons import PersonKey
from phalanx.errors import SourceError

_KEY: Final = 16
"""Bytes of a keyed hash."""
_BYTES: Final = 64
"""Bytes that a person takes while those of a file are compared."""
_MOST: Final = 128
"""So many files are written at once."""


class Repeated:
    """Keyed hashes of persons in files without a name, of which each holds those that begin
    alike.
    """

    def __init__(self, place: Path, key: PersonKey, rows: int, room: int) -> None:
        self._key = key
        self._opened = ExitStack()
        self._files = [
            self._opened.enter_context(TemporaryFile(dir=place))  # noqa: SIM115 - closed with them
            for _ in range(min(_MOST, 1 + rows * _BYTES // max(1, room)))
        ]

    def see(self, identifiers: pl.Series) -> None:
        """Write further persons down.

        Parameters
        ----------
        identifiers : pl.Series
            As they stand in the source, shape (n,).
        """
        hashes = self._key.hash(identifiers).to_arrow().buffers()[2]
        keys = np.frombuffer(hashes, dtype=np.uint8).reshape(-1, _KEY)
        file_of = keys[:, 0].astype(np.int64) * len(self._files) >> 8
        for number in np.unique(file_of):
            self._files[number].write(keys[file_of == number].tobytes())

    def check(self, name: str) -> None:
        """SourceError where a person was seen twice.

        Parameters
        ----------
        name : str
            The identifier column.
        """
        twice = 0
        for file in self._files:
            file.flush()
            file.seek(0)
            twice += _repeated(np.fromfile(file, dtype=np.uint64).reshape(-1, 2))
        if twice:
            raise SourceError(
                f"{twice} row(s) repeat a person in identifier column {name!r}; a release holds one"
                " row per person, so keep one of them."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()


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
