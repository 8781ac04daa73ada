# SPDX-License-Identifier: Apache-2.0
"""Where persons of one table stand in another one."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data import standing
from phalanx.data.persons import PersonKey
from phalanx.data.standing import rows_of

named = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12)


def last_rows(ours, theirs):
    """The obvious way."""
    return [
        -1 if person is None else max((i for i, p in enumerate(theirs) if p == person), default=-1)
        for person in ours
    ]


@given(named, named, st.sampled_from(["apart", "alike", "short"]))
def test_the_last_row_of_each_person_is_told(ours, theirs, how):
    """Also where somebody is missing or stands twice, keys begin alike in their first bits or in all
    of their first half, or are none.
    """

    def keys(persons):
        begins = {"apart": lambda n: [n] * 8, "alike": lambda n: [n % 2] + [0] * 7}.get(how, list)
        key = {
            n: bytes([*begins(n), *[n] * 8]) if how != "short" else bytes([n]) for n in range(10)
        }
        return pl.Series([None if n is None else key[n] for n in persons], dtype=pl.Binary)

    assert rows_of(keys(ours), keys(theirs)).tolist() == last_rows(ours, theirs)
    assert rows_of(keys(ours), keys(ours)).tolist() == last_rows(ours, ours)


@pytest.mark.parametrize("at_once", [5, 64, 10**6])
@pytest.mark.parametrize("left", [300, 280, 0])
def test_many_persons_are_looked_at_some_at_a_time(monkeypatch, at_once, left):
    """The rows are the same, whether all of them are there, some, or nobody."""
    monkeypatch.setattr(standing, "_AT_ONCE", at_once)
    names, rng = [f"p{i}" for i in range(300)], np.random.default_rng(at_once)
    ours = PersonKey(bytes(32)).hash(pl.Series(names))
    order = rng.permutation(300)[:left]
    at = {person: row for row, person in enumerate(order.tolist())}
    rows = rows_of(ours, ours.gather(order))
    assert rows.tolist() == [at.get(person, -1) for person in range(300)]


def test_keys_of_one_beginning_are_told_apart_by_their_rest():
    """The highest bits, by which keys are sorted first, are equal in all of them."""
    keys = pl.Series([bytes(7) + bytes([n]) + bytes(8) for n in (3, 1, 2)], dtype=pl.Binary)
    little = pl.Series([bytes([n]) + bytes(15) for n in (3, 1, 2)], dtype=pl.Binary)
    for each in (keys, little):
        assert rows_of(each, each.reverse()).tolist() == [2, 1, 0]
