# SPDX-License-Identifier: Apache-2.0
"""Tables that wait on the disk until they are recorded, as they do not fit the memory together."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Generic, Self, TypeVar

import polars as pl

K = TypeVar("K")


class Laid(Mapping[K, pl.DataFrame], Generic[K]):
    """Tables in one file without a name, which goes with the process however that ends; each is read
    as it is asked for.

    >>> with Laid(Path()) as laid:
    ...     laid.lay("a", pl.DataFrame({"x": [1]}))
    ...     laid["a"]["x"].to_list()
    [1]
    """

    def __init__(self, place: Path) -> None:
        self._file = TemporaryFile(dir=place)  # noqa: SIM115 - as long as its tables are needed
        self._places: dict[K, tuple[int, int]] = {}

    def lay(self, name: K, table: pl.DataFrame) -> None:
        """Write a table down.

        Parameters
        ----------
        name : K
            Its name, which none has yet.
        table : pl.DataFrame
            The table.
        """
        content = BytesIO()
        table.write_ipc_stream(content, compat_level=pl.CompatLevel.oldest())
        start = self._file.seek(0, 2)
        self._file.write(content.getbuffer())
        self._places[name] = (start, content.tell())

    def __getitem__(self, name: K) -> pl.DataFrame:
        start, size = self._places[name]
        self._file.seek(start)
        return pl.read_ipc_stream(BytesIO(self._file.read(size)))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
