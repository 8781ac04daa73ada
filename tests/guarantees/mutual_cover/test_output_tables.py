# SPDX-License-Identifier: Apache-2.0
"""Tables that are no evidence are refused in words, whatever is wrong with them, and never with a
traceback.
"""

import ast
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phalanx.guarantees.mutual_cover import output_tables
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.mutual_cover.output_tables import Columns, table_faults
from phalanx.guarantees.verify import verify
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from support.mutual_cover_cases import Published, generated

WORLD = generated(7)


def made() -> Published:
    return WORLD.publish()


def faults(outputs: OutputTables) -> list[str]:
    names = [a.name for a in made().form.attribute("quasi")]
    return table_faults(outputs, names, made().form.rows)


def test_sound_tables_have_no_fault() -> None:
    """What is refused below is the change, not the tables."""
    assert faults(made().outputs) == []


def at(array: np.ndarray, value: int, place: Any = 0) -> np.ndarray:
    """Another number at one place."""
    changed = array.copy()
    changed[place] = value
    return changed


def without_last(array: np.ndarray) -> np.ndarray:
    return array[:-1]


Change = Callable[[OutputTables], dict[str, Any]]
CHANGES: dict[str, tuple[Change, str]] = {
    "no array": (lambda o: {"group": o.group.tolist()}, "'group' holds something else than whole numbers in 1 dimension(s)"),
    "fractions": (lambda o: {"units": o.units.astype(float)}, "'units' holds something else than whole numbers in 1 dimension(s)"),
    "narrow numbers": (lambda o: {"counts": o.counts.astype(np.int32)}, "'counts' holds something else than whole numbers in 1 dimension(s)"),
    "a flat table of tables": (lambda o: {"of": o.of.ravel()}, "'of' holds something else than whole numbers in 2 dimension(s)"),
    "nothing": (lambda _: {"starts": None}, "'starts' holds something else than whole numbers in 1 dimension(s)"),
    "text": (lambda _: {"starts": np.array(["0", "1"])}, "'starts' holds something else than whole numbers in 1 dimension(s)"),
    "a denominator of 0": (lambda _: {"denominator": 0}, "'denominator' is not a whole number of at least 1"),
    "a denominator that is none": (lambda _: {"denominator": 12.0}, "'denominator' is not a whole number of at least 1"),
    "no changes": (lambda _: {"changes": 0}, "'changes' is not a whole number of at least 1"),
    "changes that are true": (lambda _: {"changes": True}, "'changes' is not a whole number of at least 1"),
    "other attributes": (lambda o: {"attributes": ("height", *o.attributes[1:])}, "they are not about the quasi-identifiers of the release"),
    "an attribute less": (lambda o: {"attributes": o.attributes[1:]}, "they are not about the quasi-identifiers of the release"),
    "an attribute twice": (lambda o: {"attributes": (o.attributes[0], *o.attributes[:-1])}, "they are not about the quasi-identifiers of the release"),
    "attributes in a list": (lambda o: {"attributes": list(o.attributes)}, "they are not about the quasi-identifiers of the release"),
    "a table less for each group": (lambda o: {"of": o.of[:, 1:]}, "tables and not 3, one for each quasi-identifier"),
    "a row less": (lambda o: {"group": o.group[1:]}, "rows and the release has"),
    "a start that is not 0": (lambda o: {"starts": at(o.starts, 1)}, "the classes of tables do not follow one another"),
    "starts that fall": (lambda o: {"starts": at(o.starts, int(o.starts[2]) + 1, 1)}, "the classes of tables do not follow one another"),
    "a start beyond the end": (lambda o: {"starts": at(o.starts, 2**62, 1)}, "the classes of tables do not follow one another"),
    "a start before the beginning": (lambda o: {"starts": at(o.starts, -(2**62), 1)}, "the classes of tables do not follow one another"),
    "an end too early": (lambda o: {"starts": without_last(o.starts)}, "the classes of tables do not follow one another"),
    "no starts": (lambda o: {"starts": o.starts[:0]}, "the classes of tables do not follow one another"),
    "cells too few": (lambda o: {"units": without_last(o.units)}, "the tables have not a row and a column for each of their classes"),
    "cells too many": (lambda o: {"units": np.append(o.units, 0)}, "the tables have not a row and a column for each of their classes"),
    "a class of nobody": (lambda o: {"counts": at(o.counts, 0)}, "a class has no tuple, or more than there are rows"),
    "a class of too many": (lambda o: {"counts": at(o.counts, 2**62)}, "a class has no tuple, or more than there are rows"),
    "a class below 0": (lambda o: {"counts": at(o.counts, -1)}, "a class has no tuple, or more than there are rows"),
    "a group that is nowhere": (lambda o: {"group": at(o.group, len(o.of))}, "a row is in a group that is nowhere"),
    "a group below 0": (lambda o: {"group": at(o.group, -1)}, "a row is in a group that is nowhere"),
    "a group without rows": (lambda o: {"of": np.concatenate([o.of, o.of[:1]])}, "a group has no rows"),
    "a table that is nowhere": (lambda o: {"of": at(o.of, o.of.size, (0, 0))}, "a group has a table that is nowhere"),
    "a table below 0": (lambda o: {"of": at(o.of, -1, (0, 0))}, "a group has a table that is nowhere"),
    "a table of nobody": (lambda o: {"of": at(o.of, int(o.of[0, 1]), (0, 0))}, "a table is of no group"),
    "too many changes": (lambda o: {"changes": len(o.attributes) + 1}, "quasi-identifier(s) cannot be changed"),
    "an order of other places": (lambda o: {"order": tuple(range(1, len(o.order) + 1))}, "the order in which attributes were drawn does not name each"),
    "no order": (lambda _: {"order": ()}, "the order in which attributes were drawn does not name each of them once"),
    "an order in a list": (lambda o: {"order": list(o.order)}, "the order in which attributes were drawn does not name each of them once"),
    "an order of texts": (lambda o: {"order": tuple(map(str, o.order))}, "the order in which attributes were drawn does not name each of them once"),
    "a tuple more": (lambda o: {"counts": at(o.counts, int(o.counts[0]) + 1)}, "1 group(s) have another number of rows than their tables have tuples"),
    "a negative probability": (lambda o: {"units": at(o.units, -1)}, "a table holds a probability below 0 or above 1"),
    "a probability above 1": (lambda o: {"units": at(o.units, 2**62)}, "a table holds a probability below 0 or above 1"),
    "another denominator": (lambda _: {"denominator": 13}, "row(s) of tables do not sum to 1"),
    "a large denominator": (lambda _: {"denominator": 2**62}, "row(s) of tables do not sum to 1"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "what"), CHANGES.values(), ids=CHANGES.keys())
def test_what_is_no_table_is_refused(change: Change, what: str) -> None:
    """Whatever is wrong is named, and the promise does not hold, whether rows and the original
    table are given or not.
    """
    published = made()
    outputs = replace(published.outputs, **change(published.outputs))
    assert any(what in fault for fault in faults(outputs)), faults(outputs)
    for evidence in (
        replace(published.evidence, parts={1: outputs}),
        Evidence(parts={1: outputs}),
    ):
        found = published.verdicts(MutualCover(delta=1), evidence)
        assert (
            not found["random output tables"].holds and what in found["random output tables"].note
        )
        assert "delta-probability" not in found


LEAST = {
    "changes": "by their law 1 quasi-identifier(s) change, and 2 are promised",
    "k": "1 group(s) have fewer rows than the k = {} of the method",
}
"""What sound tables do not suffice for."""


def test_tables_by_a_law_of_fewer_changes() -> None:
    """Rows that were drawn again and again until all change in two would be others than the tables
    say: the largest share of a value that was published is then above that of the tables.
    """
    world = generated(3048, changes=1)
    redrawn = []
    for person, own in enumerate(world.classes):
        outcomes = {
            shown: probability
            for shown, probability in world.outcomes(person).items()
            if sum(a != b for a, b in zip(own, shown, strict=True)) >= 2
        }
        total = sum(outcomes.values())
        redrawn.append({shown: probability / total for shown, probability in outcomes.items()})
    largest = max(
        max(given) / sum(given)
        for a in range(len(world.names))
        for shown in {outcome[a] for outcomes in redrawn for outcome in outcomes}
        for given in [
            [
                sum(p for outcome, p in outcomes.items() if outcome[a] == shown)
                for outcomes in redrawn
            ]
        ]
    )
    assert largest > world.share
    published = replace(world, drawn=[max(o, key=o.__getitem__) for o in redrawn]).publish()
    kept = published.verdicts(MutualCover(delta=world.share, changes=1))
    assert all(verdict.holds for verdict in kept.values())
    found = published.verdicts(MutualCover(delta=world.share, changes=2))
    assert found["changed rows"].holds
    assert not found["random output tables"].holds
    assert LEAST["changes"] in found["random output tables"].note


def test_groups_that_are_smaller_than_the_method_says() -> None:
    """The manifest's k is held against the groups that are in evidence."""
    published = made()
    sizes = np.bincount(published.outputs.group)
    for k, holds in ((int(sizes.min()), True), (int(sizes.min()) + 1, False)):
        manifest = published.release.manifest.model_copy(
            update={"method": {"name": "mutual-cover", "k": k}}
        )
        release = replace(published.release, manifest=manifest)
        found = replace(published, release=release).verdicts(MutualCover(delta=1))
        assert found["random output tables"].holds is holds
        assert (LEAST["k"].format(k) in found["random output tables"].note) is not holds


def test_every_fault_has_tables_of_its_own() -> None:
    """No sentence stands in the source that no change brings up."""
    yielded = [
        node.value
        for node in ast.walk(ast.parse(Path(output_tables.__file__).read_text()))
        if isinstance(node, ast.Yield)
    ]
    sentences = [node for node in yielded if not isinstance(node, ast.Tuple)]
    longest = []
    for sentence in sentences:
        parts = [
            part.value
            for part in ast.walk(sentence)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        longest.append(max(parts, key=len))
    assert len(longest) > 12
    brought = [*(what for _, what in CHANGES.values()), *LEAST.values()]
    assert [
        part
        for part in longest
        if not any(part.strip() in what or what in part for what in brought)
    ] == []


STRANGE: list[Any] = [
    None, 0, -1, 1.5, "x", (), (0,), (1, 0), ("a", "b"), [], [1], {}, np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros((2, 2), np.int64), np.array(1),
    np.array([2**63 - 1, -(2**63)]), np.array([np.nan]), np.array(["x"], dtype=object), np.ones((3, 3, 3), np.int64), np.array([True]), float("inf"),
]  # fmt: skip
FIELDS = [
    "attributes",
    "group",
    "of",
    "starts",
    "counts",
    "units",
    "denominator",
    "changes",
    "order",
]


@pytest.mark.parametrize("field", FIELDS)
def test_strange_fields_get_a_verdict(field: str) -> None:
    """Whatever stands in a field, what comes of it is a verdict, and never a traceback; it holds
    only where it says the same as before.
    """
    published = made()
    promise = MutualCover(delta=1)
    for value in STRANGE:
        outputs = replace(published.outputs, **{field: value})
        found = published.verdicts(promise, replace(published.evidence, parts={1: outputs}))[
            "random output tables"
        ]
        same = type(value) is type(getattr(published.outputs, field)) and np.array_equal(
            value, getattr(published.outputs, field)
        )
        assert found.holds == bool(same), (field, value, found.note)


@pytest.mark.parametrize("seed", range(60))
def test_shaken_tables_get_a_verdict(seed: int) -> None:
    """Numbers changed at random, alone or several at once: a verdict of every part, and what stays
    sound is what sums and sizes allow.
    """
    rng = np.random.default_rng(seed)
    published = made()
    arrays = [name for name in FIELDS if isinstance(getattr(published.outputs, name), np.ndarray)]
    changed = {}
    for name in rng.choice(arrays, int(rng.integers(1, 3)), replace=False).tolist():
        array = getattr(published.outputs, name).copy()
        for _ in range(int(rng.integers(1, 4))):
            array.flat[int(rng.integers(array.size))] = int(
                rng.choice([-1, 0, 1, 2, 3, 12, 2**40, 2**62, -(2**63), 2**63 - 1])
            )
        changed[name] = array if rng.random() < 0.8 else array[: int(rng.integers(len(array)))]
    outputs = replace(published.outputs, **changed)
    promise = MutualCover(delta=1)
    found = published.verdicts(promise, replace(published.evidence, parts={1: outputs}))
    assert found["random output tables"].holds == (faults(outputs) == [])
    assert all(isinstance(v.holds, bool) and v.note for v in found.values())


def test_a_broken_release_says_so() -> None:
    """Through verify, too: the promise fails with what is wrong."""
    published = made()
    manifest = published.release.manifest.model_copy(
        update={"guarantees": [MutualCover(delta="1/2").parameters()]}
    )
    release = replace(published.release, manifest=manifest)
    outputs = replace(published.outputs, denominator=13)
    failing = [
        v for v in verify([release], replace(published.evidence, parts={1: outputs})) if not v.holds
    ]
    assert [v.name for v in failing if "mutual" in v.name] == [
        "release 1: mutual-cover: random output tables",
        "release 1: mutual-cover: drawing",
    ]


@pytest.mark.parametrize("cells", [1, 5, 1 << 22])
@pytest.mark.parametrize("room", [1, 2**62])
def test_some_tables_at_a_time(monkeypatch: pytest.MonkeyPatch, cells: int, room: int) -> None:
    """However many cells are looked at together, and whichever integers are taken: the same
    figures, by hand for each published value.
    """
    monkeypatch.setattr(output_tables, "_CELLS", cells)
    monkeypatch.setattr(output_tables, "_ROOM", room)
    outputs = made().outputs
    assert faults(outputs) == []
    shares, feeders = [], []
    for t in range(len(outputs.starts) - 1):
        counts = outputs.counts[outputs.starts[t] : outputs.starts[t + 1]].tolist()
        k = len(counts)
        first = sum(int(n) ** 2 for n in np.diff(outputs.starts)[:t])
        table = outputs.units[first : first + k * k].reshape(k, k).tolist()
        for column in range(k):
            own = [row[column] for row in table]
            if mass := sum(n * u for n, u in zip(counts, own, strict=True)):
                shares.append(Fraction(max(own), mass))
                feeders.append(sum(n for n, u in zip(counts, own, strict=True) if u))
    columns = Columns.of(outputs)
    assert (columns.share(), columns.fewest()) == (max(shares), min(feeders))
