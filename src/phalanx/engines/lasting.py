# SPDX-License-Identifier: Apache-2.0
"""Parts in which the persons of a series stay, so that each part goes on as a series by itself.

The first release cuts regions of the quasi-identifiers, and the cuts are remembered. A new person
goes to a part by them; from then on the person tells the part, wherever their quasi-identifiers move
to. No sensitive value has a part in any of it: the cuts and how many new
persons there are decide, and who is there in which release.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Ints, in_order
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.repeated import file_numbers, halves, twice_in
from phalanx.engines.cells import Cells
from phalanx.engines.out_of_core import Divided, read_part, route
from phalanx.engines.regions import Attribute, Region, merged
from phalanx.errors import MethodError
from phalanx.randomness import Randomness, Stream

Parts = npt.NDArray[np.int16]

_FILES: Final = 128
"""So many files hold the keyed hashes of persons, of which one is in memory at a time."""
_RECORD: Final = np.dtype([("first", "<u8"), ("second", "<u8"), ("number", "<i8")])
_NEW: Final = -1
"""Stands for the part of a person who was never published."""
_FEWEST: Final = 500
"""Fewer new persons of a part than this are published in a neighbouring one."""


@dataclass(frozen=True)
class Lasting:
    """The parts that a series began with: where they were cut, and which cells are one part."""

    root: Region
    of_cell: Sequence[int]
    """The part of each cell, from 1."""

    @classmethod
    def begun(cls, root: Region, counts: Sequence[int], least: int, stream: Stream) -> Self:
        """The parts of a first release.

        Parameters
        ----------
        root : Region
            Its cuts.
        counts : Sequence[int]
            How many rows each cell has.
        least : int
            Cells with fewer are one part with their neighbours.
        stream : Stream
            Numbers the parts, in whose order they are published.

        Returns
        -------
        Self
            The parts; a cell without a row is in that of the one before it.
        """
        together = merged(counts, least)
        numbers = stream.permutation(len(together)) + 1
        of_cell = [0] * len(counts)
        for cells, number in zip(together, numbers.tolist(), strict=True):
            of_cell[cells[0] :] = [number] * (len(counts) - cells[0])
        first = together[0][0]
        of_cell[:first] = [of_cell[first]] * first
        return cls(root, of_cell)

    @property
    def parts(self) -> list[int]:
        """Their numbers; neighbours in turn."""
        return list(dict.fromkeys(self.of_cell))

    def newcomers(self, counts: Sequence[int], least: int) -> dict[int, int]:
        """Where the new persons of each part are published: with those of neighbouring parts where
        they are few, in that which has most of them.

        Parameters
        ----------
        counts : Sequence[int]
            How many new persons each cell has.
        least : int
            So many are wanted together.

        Returns
        -------
        dict[int, int]
            The part for each part.

        >>> Lasting(Region(ways=3), [2, 1, 3]).newcomers([5, 30, 40], 20)
        {2: 1, 1: 1, 3: 3}
        """
        parts = self.parts
        of_part = dict.fromkeys(parts, 0)
        for part, new in zip(self.of_cell, counts, strict=True):
            of_part[part] += new
        target = {part: part for part in parts}
        for together in merged([of_part[part] for part in parts], least):
            most = max(together, key=lambda at: of_part[parts[at]])
            target |= {parts[at]: parts[most] for at in together}
        return target

    def placed(self, counts: Sequence[int], least: int) -> dict[int, list[int]]:
        """Where the rows of each part are that has any.

        Parameters
        ----------
        counts : Sequence[int]
            How many new persons each cell has, and behind the cells how many known ones each part
            has, from 0.
        least : int
            A part of fewer rows is wanted nowhere.

        Returns
        -------
        dict[int, list[int]]
            By the number of the part, ascending, places in ``counts``.

        >>> Lasting(Region(ways=2), [2, 1]).placed([600, 500, 0, 0, 9], 500)
        {1: [1], 2: [0, 4]}
        """
        new = self.root.end
        target = self.newcomers(counts[:new], min(_FEWEST, least))
        placed = {}
        for part in sorted(self.parts):
            mine = [at for at, of in enumerate(self.of_cell) if target[of] == part]
            if mine := [at for at in (*mine, new + part) if at < len(counts) and counts[at]]:
                placed[part] = mine
        return placed

    def to_json(self, attributes: Sequence[Attribute]) -> Any:
        """What is remembered of them: cuts in the attributes' own units, and numbers of parts.

        Parameters
        ----------
        attributes : Sequence[Attribute]
            The quasi-identifiers as far as the table that was cut reaches.

        Returns
        -------
        Any
            Lists, texts and numbers.
        """
        return self._cuts(self.root, attributes)

    def _cuts(self, region: Region, attributes: Sequence[Attribute]) -> Any:
        """The same of one region."""
        if region.below is None or region.above is None:
            return list(self.of_cell[region.first : region.end])
        one, sides = attributes[region.attribute], (region.below, region.above)
        cut = [one.name, one.cut_at(region.at)]
        return {"cut": cut, "sides": [self._cuts(side, attributes) for side in sides]}

    @classmethod
    def of_json(cls, content: Any, attributes: Sequence[Attribute]) -> Self:
        """What ``to_json`` gave, for another table.

        Parameters
        ----------
        content : Any
            What is remembered.
        attributes : Sequence[Attribute]
            The quasi-identifiers as far as that table reaches.

        Returns
        -------
        Self
            The parts.
        """
        of_cell: list[int] = []
        return cls(_region(content, {one.name: one for one in attributes}, of_cell), of_cell)


def _region(content: Any, attributes: Mapping[str, Attribute], of_cell: list[int]) -> Region:
    """A region as it is remembered, whose cells are numbered on from those that are there, to which
    their parts are added.
    """
    if isinstance(content, list):
        of_cell.extend(content)
        return Region(first=len(of_cell) - len(content), ways=len(content))
    name, cut = content["cut"]
    below, above = (_region(side, attributes, of_cell) for side in content["sides"])
    return Region(list(attributes).index(name), attributes[name].place_of(cut), below, above)


class Belonging:
    """To which part each row of a table belongs by its person: keyed hashes of rows and of those who
    are known, in files without a name.
    """

    def __init__(self, place: Path) -> None:
        self._rows = 0
        self._opened = ExitStack()
        self._files: Sequence[IO[bytes]] = [
            self._opened.enter_context(TemporaryFile(dir=place))  # noqa: SIM115 - closed with them
            for _ in range(_FILES)
        ]

    def see(self, persons: pl.Series) -> None:
        """The persons of the next rows of the table.

        Parameters
        ----------
        persons : pl.Series
            Keyed hashes, shape (n,).
        """
        self._write(persons, np.arange(self._rows, self._rows + len(persons)))
        self._rows += len(persons)

    def know(self, part: int, persons: pl.Series) -> None:
        """Persons who were published in a part.

        Parameters
        ----------
        part : int
            Its number, from 1.
        persons : pl.Series
            Keyed hashes, shape (n,).
        """
        self._write(persons, np.full(len(persons), -part))

    def parts(self, name: str) -> Parts:
        """The part of each row.

        Parameters
        ----------
        name : str
            The identifier column.

        Returns
        -------
        Ints
            Its number, -1 for a new person, shape (n,).

        Raises
        ------
        SourceError
            Where the table has a person twice.
        """
        part_of_row = np.full(self._rows, _NEW, dtype=np.int16)
        twice = 0
        for file in self._files:
            file.flush()
            file.seek(0)
            records = np.fromfile(file, dtype=_RECORD)
            seen = pl.DataFrame({column: records[column] for column in records.dtype.names or ()})
            key = ["first", "second"]
            rows, known = seen.filter(pl.col("number") >= 0), seen.filter(pl.col("number") < 0)
            twice += rows.height - rows.select(key).n_unique()
            known = known.unique(key, keep="first").with_columns(-pl.col("number"))
            both = rows.join(known, on=key, how="inner", suffix="_part")
            part_of_row[both["number"].to_numpy()] = both["number_part"].to_numpy()
        if twice:
            raise twice_in(name, twice)
        return part_of_row

    def _write(self, persons: pl.Series, numbers: Ints) -> None:
        keys = halves(persons)
        records = np.empty(len(keys), dtype=_RECORD)
        records["first"], records["second"], records["number"] = keys[:, 0], keys[:, 1], numbers
        file_of = file_numbers(keys, len(self._files))
        order = in_order(file_of)
        ends = np.cumsum(np.bincount(file_of, minlength=len(self._files)))
        for file, piece in zip(self._files, np.split(records[order], ends[:-1]), strict=True):
            file.write(piece.tobytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


@dataclass(kw_only=True)
class Followed:
    """A table in the parts in which its persons stay."""

    divided: Divided
    place: Path
    """A folder on the disk that has room for the rows; nothing appears in it."""
    key: PersonKey
    rng: Randomness
    began: Any = None
    """What the first release remembered of the parts; None for the first release."""
    known: Mapping[int, Callable[[], pl.Series]] = field(default_factory=dict)
    """Reads the keyed hashes of those who were published in each part."""
    remembered: Any = None
    """What must be remembered of them, once the table was read."""

    def parts(self) -> Iterator[tuple[int, Microdata]]:
        """The table part by part.

        Yields
        ------
        tuple[int, Microdata]
            The number of a part that has rows, in their order, and these rows, with persons, over
            domains that reach as far as the whole table's.

        Raises
        ------
        SourceError, SchemaError
            Where the table is not what the schema says, or a person is in it twice.
        MethodError
            Where there are too many parts, or one has grown beyond the memory.
        """
        divided, name = self.divided, str(self.divided.schema.identifier)
        divided.check_identifying(self.place)
        with Belonging(self.place) as belonging:
            cells, lasting = self._cells(belonging, name)
            for part, known in self.known.items():
                belonging.know(part, known())
            part_of_row = belonging.parts(name)
        with ExitStack() as opened:
            new = cells.root.end
            end = new + (0 if lasting is None else max(lasting.parts) + 1)
            divided.check_count(max(new, end - new - 1))
            files = [opened.enter_context(TemporaryFile(dir=self.place)) for _ in range(end)]
            counts = route(self._numbered(cells, part_of_row, new), files)
            least = max(1, divided.least)
            if lasting is None:
                stream = self.rng.stream("order of parts")
                lasting = Lasting.begun(cells.root, counts[:new], least, stream)
                self.remembered = lasting.to_json(cells.attributes)
            for part, mine in lasting.placed(counts, least).items():
                check_fits(sum(counts[at] for at in mine), divided.most)
                frame = pl.concat([read_part(files[at]) for at in mine])
                persons = frame[name].alias("person")
                yield part, replace(cells.microdata(frame.drop(name)), persons=persons)

    def _cells(self, belonging: Belonging, name: str) -> tuple[Cells, Lasting | None]:
        """One look at quasi-identifiers and persons; the parts where they are known."""
        divided = self.divided
        look, stream = divided.look(), self.rng.stream("sample of quasi-identifiers")
        for batch in divided.each([*divided.schema.quasi, name]):
            look.see(batch, stream)
            belonging.see(self.key.hash(batch[name]))
        if self.began is None:
            return look.cells(divided.rows, divided.most_beside(look.held)), None
        lasting = Lasting.of_json(self.began, look.attributes)
        self.remembered = self.began
        return look.along(lasting.root), lasting

    def _numbered(
        self, cells: Cells, part_of_row: Parts, new: int
    ) -> Iterable[tuple[pl.DataFrame, Ints]]:
        """Some rows at a time, with the keyed hash in the place of the identifier, and the file of
        each: that of its cell for a new person, behind these that of its part.
        """
        name, columns = str(self.divided.schema.identifier), self.divided.columns
        stream, at = self.rng.stream("rows dealt out"), 0
        for batch in self.divided.each([*columns, name]):
            part = part_of_row[at : at + batch.height].astype(np.int64)
            at += batch.height
            files = np.where(part == _NEW, cells.tag(batch, stream), new + part)
            yield batch.with_columns(self.key.hash(batch[name]).alias(name)), files


def check_fits(rows: int, most: int) -> None:
    """MethodError where a part has more rows than the memory takes, which is meant for so many."""
    if rows > most / Divided.share:
        raise MethodError(
            f"a part of the series has {rows:,} rows now, and {most:,} are meant for the memory"
            " there is; raise [publish] memory_limit."
        )
