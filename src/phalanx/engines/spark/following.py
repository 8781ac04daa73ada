# SPDX-License-Identifier: Apache-2.0
"""The stages of a table on Spark whose persons are followed: each stays in the part in which they
were first published, as out of core.

Rows and those who are known of each part meet by keyed hashes, which tells the part of each row; from
there on cells are counted and solved as any. What comes to the process that publishes are counts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from phalanx.data.persons import PersonKey
from phalanx.data.repeated import twice_in
from phalanx.engines.lasting import Lasting, check_fits
from phalanx.engines.spark import persons, tasks
from phalanx.engines.spark.calling import by_group, silenced, stage
from phalanx.engines.spark.faults import raise_told
from phalanx.engines.spark.running import Running, check_count
from phalanx.randomness import Randomness

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_WAYS = 1 << 16
"""Persons are dealt over so many at most, by how their keyed hashes begin."""


@dataclass(frozen=True)
class Solved:
    """What was done with a table whose persons are followed."""

    parts: Sequence[int]
    """The numbers of those that have rows, ascending."""
    figures: Sequence[Mapping[str, Any]]
    """What the work gave of each of them."""
    remembered: Any
    """Where parts were cut, which later releases must know."""


@dataclass(frozen=True, kw_only=True)
class Followed:
    """A table on Spark, in the parts in which its persons stay."""

    running: Running
    most: int
    """So many rows of a part are meant for the memory of a worker."""
    key: PersonKey
    rng: Randomness
    began: Any
    """What the first release remembered of the parts; None for the first release."""
    parts: Sequence[int]
    """The numbers of those that were ever published."""
    known: persons.Known
    """Reads, in a worker, who was published in a part."""

    def solved(self, work: Callable[[Sequence[int]], tasks.Work]) -> Solved:
        """Do some work on every part that has rows, where these are.

        Parameters
        ----------
        work : Callable[[Sequence[int]], tasks.Work]
            Makes the work, once it is known which parts these are; it is given the place of each
            among them, and rows with persons.

        Returns
        -------
        Solved
            What it gave.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        SourceError
            Where a person is in the table twice.
        MethodError
            Where parts would be too many, one has grown beyond the memory, or the source does not
            give the same rows twice.
        """
        from pyspark import StorageLevel

        running, shared = self.running, self.rng.shared()
        cells = running.cells("regions", self.rng)
        lasting = None if self.began is None else Lasting.of_json(self.began, cells.attributes)
        if lasting is not None:
            cells = replace(cells, root=lasting.root)
        belonging = partial(persons.belong, belonging=persons.Belonging(cells, shared))
        belong = by_group(belonging, tasks.TAGGED)
        dealt = self._dealt().repartition(self._ways, "way").groupBy("way")
        tagged = dealt.applyInArrow(belong, tasks.TAGGED).persist(StorageLevel.DISK_ONLY)
        try:
            counts = running.counted(tagged)
            if twice := counts.pop(persons.REPEATED, 0):
                raise twice_in(str(running.schema.identifier), twice)
            places = [counts.get(at, 0) for at in range(max(cells.root.end, max(counts) + 1))]
            remembered = self.began
            if lasting is None:
                stream = self.rng.stream("order of parts")
                lasting = Lasting.begun(cells.root, places, running.least, stream)
                remembered = lasting.to_json(cells.attributes)
            placed = lasting.placed(places, running.least)
            check_count(len(placed))
            sizes = [sum(places[at] for at in mine) for mine in placed.values()]
            check_fits(max(sizes), self.most)
            numbers = {part: at for at, mine in enumerate(placed.values()) for part in mine}
            solving = tasks.Solving(cells, sizes, shared, work(list(placed)))
            figures = running.each_cell(tagged, numbers, solving)
        finally:
            tagged.unpersist()
        return Solved(list(placed), figures, remembered)

    def compared(self, parts: Sequence[int], known: persons.Known) -> tuple[int, int]:
        """Whether persons are in several parts.

        Parameters
        ----------
        parts : Sequence[int]
            The numbers of all.
        known : persons.Known
            Reads, in a worker, who is in each.

        Returns
        -------
        tuple[int, int]
            How many persons are in a further part, and how many in any, counted in each of theirs.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        """
        by_way = self._told(parts, known).repartition(self._ways, "way").groupBy("way")
        with stage(self.running.spark, "compare"):
            compare = by_group(persons.compare, persons.COMPARED)
            of_way = by_way.applyInArrow(compare, persons.COMPARED).collect()
        if fault := next((each["fault"] for each in of_way if each["fault"]), None):
            raise_told(fault)
        return sum(each["twice"] for each in of_way), sum(each["persons"] for each in of_way)

    @property
    def _ways(self) -> int:
        return max(1, min(_MOST_WAYS, -(-self.running.rows // self.running.most)))

    def _dealt(self) -> "DataFrame":
        """The rows, and who is known, by how keyed hashes begin."""
        running, key, ways = self.running, self.key, self._ways
        schema = running.schema

        def deal(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return persons.deal(batches, schema, key, ways)

        columns = [name for name, role in schema.roles.items() if role != "drop"]
        dealt = running.read(columns).mapInArrow(deal, persons.DEALT)
        return dealt.unionAll(self._told(self.parts, self.known)) if self.parts else dealt

    def _told(self, parts: Sequence[int], known: persons.Known) -> "DataFrame":
        """Those who are known of each part, by how keyed hashes begin."""
        ways = self._ways

        def tell(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return persons.tell(batches, parts, known, ways)

        turns = self.running.spark.range(0, len(parts), 1, max(1, len(parts)))
        return turns.mapInArrow(tell, persons.DEALT)
