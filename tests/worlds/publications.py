# SPDX-License-Identifier: Apache-2.0
"""Publishing a world by the real code, with the memory carried on as the ledger does, and the whole
public output in a canonical form.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.ordering import written_down
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import MethodError
from phalanx.methods.base import Draft, Memory, Widening, privacy_unit, strengthened
from phalanx.methods.not_applicable import rows_apart
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest
from phalanx.series.bounds import beyond, disclosed
from worlds import choices as ways
from worlds.settings import ABSENT, Beside, Setting, World

KEY: Final = PersonKey(bytes(32))
REFUSED: Final = "refused"
"""What everybody sees of a release that the method refuses."""
Output = tuple[Any, ...]
"""What was published in each release."""


@dataclass(eq=False)
class Publisher:
    """Publishes the worlds of a setting by one method, or from a release on by another of ``then``."""

    method: Any
    setting: Setting
    folds: dict[str, ways.Fold] = field(default_factory=dict)
    then: Sequence[Any] = ()
    """The methods of the second release, the third, and so on; the last of them stays."""
    runs: int = 0
    """How often the method was run."""
    _encoded: dict[Any, Microdata] = field(default_factory=dict)
    _reached: dict[Any, dict[Any, Any]] = field(default_factory=dict)

    def method_of(self, release: int) -> Any:
        """The method of a release, counted from 0."""
        return (self.method, *self.then)[: release + 1][-1]

    def sampled(self, world: World) -> Output:
        """One publication of the series, by fresh randomness of the operating system."""
        memory, shown = Memory(), []
        for release in range(len(world)):
            output, memory = self._once(release, world[release], memory, Randomness.secure)
            shown.append(output)
        return tuple(shown)

    def exactly(self, world: World) -> dict[Output, Fraction]:
        """All outputs of a world with their probabilities, by going through all random choices."""
        current: list[ways.Choices] = []
        drawn = {"anatomy": ways.picking, "safe-sampling": ways.choosing}.get(self.method.name)
        with nullcontext() if drawn is None else drawn(lambda: current[-1]):
            found: dict[Output, Fraction] = defaultdict(Fraction)
            for (shown, _), (_, chance) in self._states(world, current).items():
                found[shown] += chance
        return dict(found)

    def repeated(self, world: World, times: int, more: int) -> Counter[Output]:
        """A few publications, and ``more`` where they are not all alike."""
        found = Counter(self.sampled(world) for _ in range(times))
        return (
            found if len(found) == 1 else found + Counter(self.sampled(world) for _ in range(more))
        )

    def _states(
        self, world: World, current: list[ways.Choices]
    ) -> dict[Any, tuple[Memory, Fraction]]:
        """What was shown and is remembered after these releases, by every path; equal states are
        one. Worlds share what they have in common.
        """
        if not world:
            return {((), ()): (Memory(), Fraction(1))}
        if world in self._reached:
            return self._reached[world]
        found: dict[Any, tuple[Memory, Fraction]] = {}
        for (shown, _), (memory, chance) in self._states(world[:-1], current).items():
            for probability, (output, after) in self._every(
                len(world) - 1, world[-1], memory, current
            ):
                state = ((*shown, output), _content(after))
                found[state] = (
                    after,
                    chance * probability + (found[state][1] if state in found else 0),
                )
        if len(world) < len(self.setting.present):
            self._reached[world] = found
        return found

    def _every(
        self, release: int, values: tuple[Any, ...], memory: Memory, current: list[ways.Choices]
    ) -> Iterator[tuple[Fraction, tuple[Any, Memory]]]:
        microdata = self._microdata(release, values)
        dealt = rows_apart(microdata)[0]
        if microdata.households is not None:  # a household is dealt out as one
            dealt = dealt[:: self.setting.members]
        codes = microdata.sensitive.codes[dealt]

        def run(choices: ways.Choices) -> tuple[Any, Memory]:
            current[:] = [choices]
            return self._once(
                release,
                values,
                memory,
                lambda: ways.EveryRandomness(choices, self.folds, codes, release),
            )

        return ways.enumerated(run)

    def _once(
        self, release: int, values: tuple[Any, ...], memory: Memory, rng: Callable[[], Any]
    ) -> tuple[Any, Memory]:
        self.runs += 1
        microdata = self._microdata(release, values)
        try:
            draft = self._draft(release, microdata, memory, rng)
        except MethodError:
            return REFUSED, memory
        return canonical(draft, self.method_of(release)), remembered(memory, microdata, draft)

    def _draft(
        self, release: int, microdata: Microdata, memory: Memory, rng: Callable[[], Any]
    ) -> Draft:
        """What leaves: the first draft, or where the plan bounds adversaries, the first of wider
        and wider ones of which they find out no more.
        """
        asked = self.method_of(release)
        bounds = asked.bounds if isinstance(asked, Widening) else {}
        for method in strengthened(asked, microdata.rows):
            draft: Draft = method.publish(microdata, memory, rng())
            if (
                not bounds
                or beyond(
                    disclosed(
                        self._release(release + 1, draft),
                        _evidence(release + 1, microdata, draft),
                        bounds,
                        shown=False,
                    ),
                    bounds,
                )
                is None
            ):
                return draft
        raise MethodError("the bounds are not kept, however wide groups are.")

    def _release(self, number: int, draft: Draft) -> Release:
        """The draft as adversaries read it, without files."""
        form = draft.form
        counts = {"rows": form.rows, "groups": form.groups, "counterfeits": form.counterfeit_rows}
        said = {
            "series": "worlds",
            "number": number,
            "form": form.kind,
            "method": self.method.parameters(),
            "guarantees": [],
            "boxes": "exact",
            "files": [],
        }
        return Release(Manifest(attributes=list(form.attributes), **counts, **said), form, Path())

    def _microdata(self, release: int, values: tuple[Any, ...]) -> Microdata:
        """A release's microdata; encoded once for worlds of the same values, which differ in the
        codes only.
        """
        plain = all(isinstance(value, str) for value in values)
        known = (release, frozenset(values) if plain else values)
        if known not in self._encoded:
            self._encoded[known] = self._encode(release, values)
        microdata = self._encoded[known]
        if not plain:
            return microdata
        column = microdata.sensitive
        code = {value: i for i, value in enumerate(column.domain.values)}
        codes = np.array([code[value] for value in values], dtype=np.int32)
        return replace(
            microdata,
            columns={**microdata.columns, microdata.schema.sensitive: replace(column, codes=codes)},
        )

    def _encode(self, release: int, values: tuple[Any, ...]) -> Microdata:
        persons = self.setting.present[release]
        there = [
            (person, value)
            for person, value in zip(persons, values, strict=True)
            if value is not ABSENT
        ]
        quasi = [f"q{i}" for i in range(len(self.setting.quasi_of(persons[0])))]
        everybody = pl.DataFrame(
            [(f"p{p}", *self.setting.quasi_of(p)) for p in persons],
            schema=["who", *quasi],
            orient="row",
        )
        if (weight := self.setting.declared.get("weight")) is not None:
            # sums of powers of two name every member, so that who is in which group is known
            everybody = everybody.with_columns(
                pl.Series(weight, [2.0**i for i in range(len(persons))])
            )
        frame = everybody.filter(pl.col("who").is_in([f"p{p}" for p, _ in there]))
        kept = isinstance(values[0], Beside)
        if kept:
            frame = frame.with_columns(
                pl.Series("sick", [v.value for _, v in there]),
                pl.Series("beside", [v.kept for _, v in there]),
            )
        else:
            frame = frame.with_columns(
                pl.Series("sick", [sorted(v) if isinstance(v, frozenset) else v for _, v in there])
            )
        if "cluster" in self.setting.declared:
            homes = [i // self.setting.members for i in range(len(there))]
            frame = frame.with_columns(pl.Series(self.setting.declared["cluster"], homes))
        schema = Schema(
            identifier="who",
            quasi=quasi,
            sensitive="sick",
            keep=["beside"] if kept else [],
            **self.setting.declared,
        )
        schema = written_down(schema, frame, {})  # as of a first release
        return Microdata.encode(frame, schema, KEY, everybody if self.setting.registry else None)


def _evidence(number: int, microdata: Microdata, draft: Draft) -> Evidence:
    """What the publisher lays beside a perturbed release before it leaves."""
    return Evidence(
        microdata={number: replace(microdata, persons=None)},
        rows={number: draft.groups},
        parts={number: draft.evidence},
    )


def remembered(memory: Memory, microdata: Microdata, draft: Any) -> Memory:
    """The memory after a release, in an order that tells nothing of how it came about."""
    mapping = None if draft.form.tells_itself_alone else draft.mapping(microdata)
    after = memory.after(draft, None if mapping is None else mapping.sort("person"))
    return replace(after, tables=dict(sorted(after.tables.items())))


def canonical(draft: Any, method: Any) -> tuple[Any, ...]:
    """The whole public output of a release, less the ids of groups and the order of rows, which are
    random.

    A release is a multiset of groups (boxes, values and kept values of every row, and how many
    counterfeits and registered persons there are), beside all that the manifest says that may
    depend on the data. In a bucket of slicing each column is a multiset by itself: which values
    stand in one row is random.
    """
    form = draft.form
    guarantees = [guarantee.parameters() for guarantee in draft.guarantees or method.guarantees]
    manifest = [
        form.kind,
        [attribute.model_dump() for attribute in form.attributes],
        [form.rows, form.groups, form.counterfeit_rows, form.registered_persons],
        {
            name: said if isinstance(said, dict) else said.model_dump()
            for name, said in form.manifest_fields().items()
        },
        ["exact" if not form.has_intervals else "intervals", privacy_unit(method)],
        [guarantees, method.parameters()],
        sorted(
            (name, table.columns, [str(kind) for kind in table.dtypes])
            for name, table in form.tables().items()
        ),
    ]
    return groups_of(form), repr(manifest)


def groups_of(form: Any) -> tuple[Any, ...]:
    """The groups of a form, each as its rows by table, sorted; a form without groups is one
    group.
    """
    tables = dict(form.tables())
    if form.kind == "sliced":
        tables = {f"column-{i}": part for i, part in enumerate(form.parts)}
    held: dict[Any, dict[str, list[tuple[Any, ...]]]] = defaultdict(lambda: defaultdict(list))
    for name, table in tables.items():
        at = table.columns.index(form.id_column) if form.id_column in table.columns else None
        for row in table.rows():
            held[None if at is None else row[at]][name].append(
                row if at is None else (*row[:at], *row[at + 1 :])
            )
    groups = sorted(
        (
            tuple((name, tuple(sorted(rows, key=repr))) for name, rows in sorted(group.items()))
            for group in held.values()
        ),
        key=repr,
    )
    return tuple(groups)


def _content(memory: Memory) -> tuple[Any, ...]:
    """The memory as something that can be compared."""
    tables = [
        (kind, name, tuple(frame.rows()))
        for kind in ("tables", "state")
        for name, frame in sorted(getattr(memory, kind).items())
    ]
    return (
        memory.releases,
        tuple(tables),
        None if memory.groups is None else tuple(memory.groups.rows()),
    )
