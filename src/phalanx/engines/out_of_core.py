# SPDX-License-Identifier: Apache-2.0
"""A table larger than the memory, in parts that fit: read twice some rows at a time, and laid down
in files without a name, of which one is read at a time.

The first time a sample of the quasi-identifiers, and how far each attribute reaches, are taken; the
second time every row goes to the file of its part. No other process can open such a file, and the system
takes it back with the process, however that ends: no row is left behind by a kill.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata, check_columns
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.data.sources.batches import Batches
from phalanx.engines.regions import Attribute, Region, merged, regions
from phalanx.engines.repeated import Repeated
from phalanx.errors import MethodError, SourceError
from phalanx.methods.base import Division
from phalanx.randomness import Randomness

if TYPE_CHECKING:
    from phalanx.arrays import Floats

_SAMPLE: Final = 200_000
"""So many rows tell where regions are cut."""
_MOST_PARTS: Final = 500
"""So many files are written at once."""
_SMALL: Final = 8
"""A part of less than this part of its size is published with its neighbour."""


@dataclass(frozen=True)
class Divided:
    """A table that is published in parts; nothing of it is read before they are asked for."""

    batches: Batches
    schema: Schema
    rows: int
    most: int
    """So many rows are wanted in a part."""
    room: int
    """Bytes that what is made of one part may take."""

    def parts(
        self, by: Division, place: Path, key: PersonKey | None, rng: Randomness
    ) -> Iterator[Microdata]:
        """The table part by part, in an order that chance gave.

        Parameters
        ----------
        by : Division
            How it may be divided: by regions of the quasi-identifiers, or by chance.
        place : Path
            A folder on the disk that has room for the rows; nothing appears in it.
        key : PersonKey, optional
            Makes persons of identifiers, where an identifier is declared.
        rng : Randomness
            The one source of chance.

        Yields
        ------
        Microdata
            Some of the rows, over domains that reach as far as the whole table's; without persons.

        Raises
        ------
        SourceError, SchemaError
            Where the table is not what the schema says, or a person is in it twice.
        MethodError
            Where the parts would be too many.
        """
        schema = self.schema
        if not self.rows:
            raise SourceError("the table has no rows; there is nothing to publish.")
        check_columns(next(self.batches.each(self.batches.names)).clear(), schema)
        attributes = [Attribute(name, schema) for name in schema.quasi]
        root = self._root(by, attributes, rng)
        if root.end > _MOST_PARTS:
            raise MethodError(
                f"the table would be published in {root.end:,} parts, and {_MOST_PARTS} are the"
                " most; raise [publish] memory_limit."
            )
        with ExitStack() as opened:
            files = [opened.enter_context(TemporaryFile(dir=place)) for _ in range(root.end)]
            counts = self._route(root, attributes, files, place, key, rng)
            together = merged(counts, max(1, self.most // _SMALL))
            for turn in rng.stream("order of parts").permutation(len(together)):
                frame = pl.concat([_read(files[number]) for number in together[turn]])
                yield _encoded(frame, schema, attributes)

    def _root(self, by: Division, attributes: Sequence[Attribute], rng: Randomness) -> Region:
        """The regions, after one look at all quasi-identifiers."""
        if by == "chance":
            return Region(ways=max(1, -(-self.rows // self.most)))
        stream = rng.stream("sample of quasi-identifiers")
        share = min(Fraction(1), Fraction(_SAMPLE, self.rows))
        drawn: list[list[pl.Series]] = [[] for _ in attributes]
        for batch in self.batches.each(self.schema.quasi):
            rows = stream.bernoulli(share, batch.height)
            for attribute, some in zip(attributes, drawn, strict=True):
                some.append(attribute.see(batch[attribute.name])[rows])
        sample = [
            attribute.places(pl.concat(some))
            for attribute, some in zip(attributes, drawn, strict=True)
        ]
        return regions(np.stack(sample, axis=1), self.rows, self.most)

    def _route(
        self,
        root: Region,
        attributes: Sequence[Attribute],
        files: Sequence[IO[bytes]],
        place: Path,
        key: PersonKey | None,
        rng: Randomness,
    ) -> list[int]:
        """Write every row to the file of its part; how many rows each has."""
        import pyarrow as pa

        schema, stream = self.schema, rng.stream("rows dealt out")
        columns = [
            name for name, role in schema.roles.items() if role not in ("identifier", "drop")
        ]
        followed = schema.identifier if key is not None else None
        counts = np.zeros(len(files), dtype=np.int64)
        with ExitStack() as opened:
            repeated = None
            if key is not None:
                repeated = opened.enter_context(Repeated(place, key, self.rows, self.room))
            writers: dict[int, Any] = {}
            for batch in self.batches.each([*columns, *([followed] if followed else [])]):
                if repeated is not None and followed is not None:
                    repeated.see(batch[followed])
                parts = root.parts_of(_places(attributes, batch, root), stream)
                order = np.argsort(parts, kind="stable")
                table = batch.select(columns)[order].to_arrow()
                sizes = np.bincount(parts, minlength=len(files))
                ends = np.cumsum(sizes)
                for number in np.flatnonzero(sizes).tolist():
                    piece = table.slice(ends[number] - sizes[number], sizes[number])
                    if number not in writers:
                        options = pa.ipc.IpcWriteOptions(compression="lz4")
                        writers[number] = opened.enter_context(
                            pa.ipc.new_stream(files[number], table.schema, options=options)
                        )
                    writers[number].write_table(piece)
                counts += sizes
            if repeated is not None and followed is not None:
                repeated.check(followed)
        return [int(count) for count in counts]


def _places(attributes: Sequence[Attribute], batch: pl.DataFrame, root: Region) -> "Floats":
    """Where the rows are, shape (n, d); nowhere where nothing is cut."""
    if root.below is None:
        return np.zeros((batch.height, 1))
    return np.stack(
        [attribute.places(attribute.canonical(batch[attribute.name])) for attribute in attributes],
        axis=1,
    )


def _read(file: IO[bytes]) -> pl.DataFrame:
    """The rows of a part, whose file is closed, and so is gone."""
    import pyarrow as pa

    with file:
        file.seek(0)
        with pa.ipc.open_stream(file) as stream:
            frame = pl.from_arrow(stream.read_all())
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _encoded(frame: pl.DataFrame, schema: Schema, attributes: Sequence[Attribute]) -> Microdata:
    """A part, encoded, its quasi-identifiers over domains that reach as far as the table's."""
    without = replace(
        schema,
        identifier=None,
        drop=(),
        types={name: kind for name, kind in schema.types.items() if name in frame.columns},
        missing=schema.missing
        if isinstance(schema.missing, str)
        else {name: word for name, word in schema.missing.items() if name in frame.columns},
    )
    part = Microdata.encode(frame, without)
    wider = {one.name: one.over_all(part.columns[one.name]) for one in attributes}
    return replace(part, columns={**part.columns, **wider})
