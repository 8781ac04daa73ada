# SPDX-License-Identifier: Apache-2.0
"""Who stands beside what is remembered of them, in the fast way and in the obvious one."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from phalanx.guarantees.m_invariance.remembered import beside

rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 1)), max_size=6)
schema = {"person": pl.Binary, "signature": pl.Int64, "value": pl.Int64}


def table(rows):
    """(person, signature, value), whose persons are as long as keys are."""
    named = [(bytes([person] * 16), signature, value) for person, signature, value in rows]
    return pl.DataFrame(named, schema=schema, orient="row")


@given(rows, rows, st.booleans())
def test_who_moved_and_who_is_here(hosts, known, records):
    """Persons who stand once or twice, are remembered or not, under this signature or another."""
    one, of_whom = table(hosts), ("person", "value") if records else ("person",)
    moved, here = beside(one if records else one.drop("value"), table(known))

    pairs = {tuple(row if records else row[:2]) for row in known}
    slow = [row if records else row[:2] for row in hosts]
    slow = [row for row in slow if tuple(row) not in pairs]
    columns = ["person", "signature", *of_whom[1:]]
    assert sorted(moved.select(columns).rows()) == sorted(
        (bytes([row[0]] * 16), *row[1:]) for row in slow
    )
    assert here.tolist() == [person in {row[0] for row in hosts} for person, _, _ in known]
