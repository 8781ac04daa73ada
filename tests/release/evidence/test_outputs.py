# SPDX-License-Identifier: Apache-2.0
"""Random output tables keep what they say in the ledger, and are found again as classes of the
original table's rows.
"""

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import polars as pl
import pytest

from phalanx.errors import LedgerError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.release.evidence.outputs import OutputTables
from support.mutual_cover_cases import generated


def same(one: OutputTables, other: OutputTables) -> bool:
    """Whether two say the same in every field, and in the same types."""
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(OutputTables)]
    return all(
        type(a) is type(b)
        and np.array_equal(a, b)
        and getattr(a, "dtype", None) == getattr(b, "dtype", None)
        for a, b in pairs
    )


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_comes_back(seed):
    """Tables for the ledger give the same random output tables again, also where groups share
    tables.
    """
    outputs = generated(seed, changes=1 + seed % 2).publish().outputs
    again = OutputTables.of_frames(outputs.frames(3), 3)
    assert again is not None and same(again, outputs)
    assert all(
        again.table(t).tolist() == outputs.table(t).tolist() for t in range(len(outputs.starts) - 1)
    )
    one = outputs.of[:1].repeat(len(outputs.of), axis=0)
    shared = replace(outputs, of=one)
    assert same(OutputTables.of_frames(shared.frames(1), 1), shared)


def test_a_difference_is_seen():
    """The comparison above tells one unit and one place from another."""
    outputs = generated(1).publish().outputs
    for other in (
        replace(outputs, units=outputs.units + 1),
        replace(outputs, group=outputs.group[::-1] + 1),
        replace(outputs, changes=2),
        replace(outputs, denominator=13),
        replace(outputs, order=outputs.order[::-1]),
        replace(outputs, counts=outputs.counts.astype(np.int32)),
    ):
        assert not same(other, outputs)


def test_releases_are_told_apart():
    """Several releases stand in the same tables, each with its own; one that is not there is none,
    and one that stands twice is refused.
    """
    first, second = generated(2).publish().outputs, generated(5).publish().outputs
    if len(first.attributes) != len(second.attributes):
        second = (
            generated(
                next(s for s in range(6, 30) if len(generated(s).names) == len(first.attributes))
            )
            .publish()
            .outputs
        )
    both = {
        name: pl.concat([frame, second.frames(2)[name]]) for name, frame in first.frames(1).items()
    }
    assert same(OutputTables.of_frames(both, 1), first) and same(
        OutputTables.of_frames(both, 2), second
    )
    assert OutputTables.of_frames(both, 3) is None and OutputTables.of_frames({}, 1) is None
    twice = {name: pl.concat([frame, frame]) for name, frame in first.frames(1).items()}
    with pytest.raises(LedgerError, match="keeps the random output tables of release 1 twice"):
        OutputTables.of_frames(twice, 1)


def test_the_ledger_keeps_them(tmp_path):
    """Sealed into the ledger and read from it, over two releases of a series, nothing is lost."""
    made = [generated(seed, changes=2).publish().outputs for seed in (0, 0)]
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        for number, outputs in enumerate(made, 1):
            entry = ReleaseEntry(
                number=number, folder=str(tmp_path), staging="x", digest="0" * 64, summary={}
            )
            ledger.commit("s", entry, promise={}, remember=outputs.frames(number), groups=None)
        kept = ledger.remembered("s")
    assert all(
        same(OutputTables.of_frames(kept, number), outputs)
        for number, outputs in enumerate(made, 1)
    )


@pytest.mark.parametrize("seed", range(20))
def test_classes_are_those_of_the_original(seed):
    """Everybody's class, and every class's value and count, are what one counts by hand; rows
    suppressed are in none.
    """
    world = generated(seed)
    made = world.publish()
    microdata, rows = made.microdata, made.rows
    classes = made.outputs.classes(microdata, rows)
    assert classes.who.tolist() == list(range(len(rows)))
    assert classes.group.tolist() == world.group
    assert classes.own.tolist() == [list(own) for own in world.classes]
    for a, name in enumerate(world.names):
        values = microdata.columns[name].domain.values.gather(classes.codes[a]).to_list()
        found = [
            (g, value, count)
            for g in range(len(world.tables))
            for value, count in zip(
                values[classes.first[a][g] : classes.first[a][g + 1]],
                classes.counts[a][classes.first[a][g] : classes.first[a][g + 1]],
                strict=True,
            )
        ]
        assert {(g, value): count for g, value, count in found} == Counter(
            zip(world.group, world.frame[name].to_list(), strict=True)
        )
        assert all(
            np.diff(classes.codes[a][classes.first[a][g] : classes.first[a][g + 1]]).min(initial=1)
            > 0
            for g in range(len(world.tables))
        )


def test_rows_suppressed_are_in_no_class():
    """A row that was not published is nobody's class, and its value is not counted."""
    world = generated(3)
    made = world.publish()
    microdata = made.microdata.take(np.array([*range(len(made.rows)), 0]))
    classes = made.outputs.classes(microdata, np.append(made.rows, 0))
    assert len(classes.who) == len(made.rows) and sum(classes.counts[0]) == len(made.rows)
