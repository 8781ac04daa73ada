# SPDX-License-Identifier: Apache-2.0
"""Which groups may host a person: pairs by halving, and never more at once than are to be held."""

import numpy as np
import pytest

from adversaries.groups.test_posterior import WORKED, attack, encoded, published
from phalanx.adversaries import Extremes, Linkage, Posterior
from phalanx.adversaries.groups import hosts, meeting
from phalanx.errors import ReleaseError


def test_shares_below_floating_point():
    """f(t, B) of many columns in large buckets may be below the smallest float, and still one
    bucket is three times as likely as the other.
    """
    above, below = np.array([3, 1], dtype=object), np.array([10**400, 10**400], dtype=object)

    assert hosts._degrees(np.array([0, 0]), above, below).tolist() == pytest.approx([1, 1 / 3])


def test_some_tuples_at_a_time(monkeypatch):
    """A table that is gone through in parts says what it says in one."""
    whole = attack("sliced", WORKED, [0, 1] * 4)
    monkeypatch.setattr(hosts, "_ENTRIES", 8)
    parts = attack("sliced", WORKED, [0, 1] * 4)

    assert parts.to_json() == whole.to_json()
    assert parts.per_person.equals(whole.per_person)


def test_no_more_entries_at_a_time_than_are_held(monkeypatch):
    """Wide boxes leave many entries for every tuple: no part has more than are held at once, but
    for a tuple that has more by itself, and the parts say what the whole says.
    """
    rows = [(a, "x", "m", s) for g in range(4) for a, s in ((0, "s"), (9, "t"), (g + 3, "s"))]
    buckets, microdata = [g for g in range(4) for _ in range(3)], encoded(rows)
    whole = attack("generalized", rows, buckets)
    of = hosts.Hosts.of(published("generalized", microdata, buckets), microdata)
    monkeypatch.setattr(hosts, "_ENTRIES", 2 * int(of.open.max()))
    monkeypatch.setattr(meeting, "_FEW", 1)
    parts = [part for part, *_ in of.probabilities(of.law)]

    assert 1 < len(parts) < len(of.codes)
    assert [t for part in parts for t in range(part.start, part.stop)] == list(range(len(of.codes)))
    assert all(len(of.entries(part)[0]) <= 2 * of.open.max() for part in parts)
    assert attack("generalized", rows, buckets).to_json() == whole.to_json()

    monkeypatch.setattr(hosts, "_ENTRIES", 1)
    assert [part.stop - part.start for part, *_ in of.probabilities(of.law)] == [1] * len(of.codes)


@pytest.mark.parametrize("adversary", [Posterior(), Extremes(), Linkage()])
def test_more_pairs_than_are_held_are_refused(monkeypatch, adversary):
    """One sentence, before all pairs of a tuple and a group are there; who holds no pairs is played
    nevertheless.
    """
    monkeypatch.setattr(meeting, "_MOST_PAIRS", 3)
    if isinstance(adversary, Linkage):
        assert attack("generalized", WORKED, [0, 1] * 4, adversary).persons == len(WORKED)
        return
    with pytest.raises(ReleaseError, match="more than 3 pairs of a tuple and a group"):
        attack("generalized", WORKED, [0, 1] * 4, adversary)
