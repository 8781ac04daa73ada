# SPDX-License-Identifier: Apache-2.0
"""Learning from a release which sensitive values go with which quasi-identifiers, and what that
says of each person (after Kifer, SIGMOD 2009).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phalanx.adversaries.groups.hosts import Hosts
from phalanx.arrays import Floats, Ints, different
from phalanx.errors import ReleaseError

ROUNDS: Final = 10
"""At most so often it learns from what it believes, and believes what it learned; more rounds make
it surer, and no more often right.
"""
SETTLED: Final = 0.005
"""It stops when a round moves less of the probability than this."""
SWEEPS: Final = 5
"""So often a round makes beliefs fit the counts of the groups, and then the persons."""
WEIGHT: Final = 10
"""So many persons with the table's own shares are added to those of every sensitive value, so that
few persons do not teach much.
"""
BINS: Final = 16
"""Numbers and dates with more than twice as many values are learned in this many intervals, each of
about as many persons.
"""
MOST_ENTRIES: Final = 1 << 24
"""More possible values of tuples, in all of their groups, take gigabytes and minutes."""
_LEAST: Final = -500.0
"""Nothing is less probable than exp of this beside the most probable, so that no tuple and no cell
is left without any.
"""


def learned(hosts: Hosts) -> Iterator[tuple[slice, Ints, Ints, Floats]]:
    """Each person's probabilities by what can be learned from the release, some tuples at a time,
    as :meth:`Hosts.probabilities` gives them.

    It assumes that, given the sensitive value, a person's quasi-identifiers are independent of each
    other (naive Bayes) and of the group; and it knows that the values published for a group are
    those of its members. It begins with p(t, s) by the law and repeats, until that settles or for
    ten rounds:

    1. it learns, of the persons with each sensitive value, the share with each value of each
       quasi-identifier, counting persons by what it believes; where they are few, these shares are
       drawn to those of the whole table;
    2. it believes the law, times how much more probable each sensitive value makes the person's
       quasi-identifiers;
    3. it makes this fit what is published (iterative proportional fitting): each group holds as
       much of each value as it should, each person is one.

    No true sensitive value is used. ReleaseError where the release leaves too much open to be
    kept in memory.
    """
    owner, _, p = believed(hosts)
    ends = np.searchsorted(owner, np.arange(len(hosts.codes) + 1))
    return hosts.probabilities(lambda tuples: p[ends[tuples.start] : ends[tuples.stop]])


def afford(entries: int) -> None:
    """ReleaseError where so many entries are too many to learn from."""
    if entries > MOST_ENTRIES:
        raise ReleaseError(
            f"the release leaves more than {MOST_ENTRIES} pairs of tuple and value open, and the"
            " learning adversary takes no more; use the posterior one."
        )


def believed(hosts: Hosts) -> tuple[Ints, Ints, Floats]:
    """The same as entries: the tuple, ascending, the value, and of how many persons of the tuple it
    is believed; one for each group that may host the tuple.
    """
    fit = _Fit.of(hosts)
    of_pairs = fit.pair_owner, fit.pair_value
    features = [Feature.of(*of_pairs, *_feature(hosts, i)) for i in range(len(hosts.domains))]
    mass, believed = fit.law.copy(), fit.of_pairs(fit.law)
    for _ in range(ROUNDS if len(mass) else 0):
        before, likely = believed, likelihood(features, *of_pairs, believed)
        np.multiply(fit.law, fit.spread(likely, fit.pair), out=mass)
        fit.fit(mass)
        believed = fit.of_pairs(mass)
        if np.abs(believed - before).sum() < 2 * SETTLED * fit.persons.sum():
            break
    return fit.owner, fit.value, mass


@dataclass(frozen=True, eq=False)
class _Fit:
    """All entries, what the law says of them, and what they must add up to.

    There are millions, so that what is worked out of them is written into room that is there, and
    what is the same in all groups is worked out once for each pair of a tuple and a value.
    """

    owner: Ints
    """Each entry's tuple, ascending."""
    cell: Ints
    value: Ints
    law: Floats
    """Persons of each entry, by the law."""
    starts: Ints
    """The first entry of every tuple that has any."""
    place: Ints
    """Which of these tuples each entry is of."""
    persons: Floats
    """The persons of each of these tuples."""
    counts: Floats
    """How often each cell's value stands in its group."""
    pair: Ints
    """The pair that each entry is of."""
    pair_owner: Ints
    """The tuple of each pair, ascending."""
    pair_value: Ints
    scratch: Floats
    """Room for a figure of each entry."""

    @classmethod
    def of(cls, hosts: Hosts) -> "_Fit":
        afford(int(hosts.open.sum()))
        everything = slice(0, len(hosts.codes))
        owner, cell = hosts.entries(everything)
        first = np.diff(owner, prepend=-1) != 0
        starts = np.flatnonzero(first).astype(np.int64)
        persons = hosts.persons.astype(np.float64)
        value = hosts.groups.cell_value[cell]
        law = hosts.law(everything)
        law = law * persons[owner]
        values = int(value.max(initial=0)) + 1
        pairs, pair = different(owner * values + value)
        return cls(
            owner,
            cell,
            value,
            law,
            starts,
            np.cumsum(first) - 1,
            persons[owner[starts]],
            hosts.groups.cell_count.astype(np.float64),
            pair,
            pairs // values,
            pairs % values,
            np.empty_like(law),
        )

    def of_pairs(self, mass: Floats) -> Floats:
        """The persons of each pair, in whichever group."""
        return np.bincount(self.pair, weights=mass, minlength=len(self.pair_value)).astype(
            np.float64
        )

    def fit(self, mass: Floats) -> None:
        """Scale the entries until cells and tuples add up to what they must, the tuples exactly."""
        self._of_persons(mass)
        for _ in range(SWEEPS):
            of_cell = np.bincount(self.cell, weights=mass, minlength=len(self.counts))
            mass *= self.spread(self.counts / np.where(of_cell > 0, of_cell, 1), self.cell)
            self._of_persons(mass)

    def _of_persons(self, mass: Floats) -> None:
        """Scale the entries so that every tuple has its persons."""
        mass *= self.spread(self.persons / np.add.reduceat(mass, self.starts), self.place)

    def spread(self, figures: Floats, places: Ints) -> Floats:
        """The figure at each of some places, until the next ones are asked for."""
        return np.take(figures, places, out=self.scratch, mode="clip")


@dataclass(frozen=True, eq=False)
class Feature:
    """A quasi-identifier beside the sensitive value, of all pairs of an owner, a tuple or a person,
    and a value that it may have: the combinations that occur.
    """

    size: int
    """How many values the quasi-identifier has."""
    place: Ints
    """The combination of each pair."""
    feature: Ints
    """The value of the quasi-identifier of each combination."""
    value: Ints
    """The sensitive value of each combination."""

    @classmethod
    def of(cls, owner: Ints, value: Ints, feature: Ints, size: int) -> "Feature":
        """That of each pair's ``owner`` and ``value``; ``feature``: the owners' own values, of
        ``size`` ones.
        """
        values = int(value.max(initial=0)) + 1
        combined, place = different(feature[owner] * values + value)
        return cls(size, place, combined // values, combined % values)


def likelihood(features: Sequence[Feature], owner: Ints, value: Ints, believed: Floats) -> Floats:
    """How much more probable the ``value`` of each pair makes the quasi-identifiers of its
    ``owner``, ascending, than the table as a whole does; scaled, for each owner. ``believed``: of
    how many persons each pair is.
    """
    of_value = np.bincount(value, weights=believed)
    logarithm = np.zeros(len(believed))
    for one in features:
        mass = np.bincount(one.place, weights=believed, minlength=len(one.value))
        shares = np.bincount(one.feature, weights=mass, minlength=one.size) / mass.sum()
        everywhere = shares[one.feature]
        ratio = (mass + WEIGHT * everywhere) / (
            (of_value[one.value] + WEIGHT) * np.where(everywhere > 0, everywhere, 1)
        )
        logarithm += np.log(np.where(everywhere > 0, ratio, 1))[one.place]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    most = np.maximum.reduceat(logarithm, starts) if len(starts) else logarithm
    logarithm -= np.repeat(most, np.diff(starts, append=len(logarithm)))
    return np.asarray(np.exp(np.maximum(logarithm, _LEAST)))


def _feature(hosts: Hosts, i: int) -> tuple[Ints, int]:
    """Every tuple's value of one quasi-identifier as it is learned, and how many there are: numbers
    and dates of many values in intervals.
    """
    codes, domain = hosts.codes[:, i].astype(np.int64), hosts.domains[i]
    if domain.type in ("numeric", "date") and len(domain) > 2 * BINS:
        persons = np.bincount(codes, weights=hosts.persons * hosts.hosted, minlength=len(domain))
        middle = (np.cumsum(persons) - persons / 2) / max(persons.sum(), 1)
        codes = np.minimum((middle * BINS).astype(np.int64), BINS - 1)[codes]
        return codes, BINS
    return codes, len(domain)
