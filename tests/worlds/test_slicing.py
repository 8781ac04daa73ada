# SPDX-License-Identifier: Apache-2.0
"""p(t, s) of a sliced release against all arrangements of small tables, in exact fractions."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from naive.posterior import posterior
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.guarantees.slicing import posterior as source
from phalanx.guarantees.views.sliced import View
from phalanx.randomness import Randomness
from phalanx.release.forms.sliced import slice_into
from worlds.slicing import arrangements, posteriors, shares

APART = [
    (("a",), ("s",)),
    (("a",), ("b", "s")),
    (("a", "b"), ("s",)),
    (("a", "b"), ("c", "s")),
    (("a",), ("b",), ("s",)),
    (("a", "b"), ("c",), ("d", "s")),
    (("a",), ("b",), ("c",), ("s",)),
    (("a",), ("b",), ("c",), ("d", "s")),
]
SHARED = [
    (("a", "b"), ("b", "s")),
    (("a", "b", "c"), ("b", "c", "s")),
    (("a", "b"), ("b", "c"), ("c", "s")),
    (("a", "b"), ("a", "c"), ("a", "d", "s")),
    (("a", "b", "c"), ("a", "d"), ("b", "s")),
    (("a", "b"), ("b", "c"), ("d", "s")),
    (("a", "b"), ("b", "c"), ("s",)),
    (("a", "b"), ("b", "c"), ("c", "d"), ("d", "s")),
    (("b", "c"), ("a", "b"), ("c", "d"), ("b", "s")),
    (("a", "b"), ("a", "c"), ("a", "d"), ("a", "s")),
]
IN_A_CIRCLE = [
    (("a", "b"), ("b", "c"), ("a", "c", "s")),
    (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d", "s")),
    (("a", "b"), ("b", "c"), ("a", "c"), ("d", "s")),
]
DOMAINS = {
    "a": [1, 2, None],
    "b": ["x", "y", ""],
    "c": ["x", None],
    "d": [0.5, 1.5],
    "s": ["flu", "gout", "rash", None],
}
TYPES = {"a": "numeric", "b": "categorical", "c": "categorical", "d": "numeric"}


@dataclass(frozen=True)
class Case:
    """A table in buckets, as rows, and as what is published of it."""

    columns: tuple
    rows: list
    bucket: np.ndarray
    microdata: Microdata
    view: View
    published: np.ndarray
    """Bucket -> its id in the release."""

    @property
    def buckets(self):
        """For each bucket, each column's tuples of values."""
        return [
            [
                [
                    tuple(self.rows[i][name] for name in column)
                    for i in np.flatnonzero(self.bucket == b)
                ]
                for column in self.columns
            ]
            for b in range(self.bucket.max() + 1)
        ]


def small_table(seed, shapes):
    """Up to three buckets of up to four tuples; few different values, so that a tuple matches
    several buckets.
    """
    rng = np.random.default_rng(seed)
    columns = shapes[seed % len(shapes)]
    largest = 3 if len(columns) == 4 else 4
    count = rng.integers(1, 4)
    bucket = rng.permutation(np.repeat(np.arange(count), rng.integers(1, largest + 1, count)))
    names = sorted({name for column in columns for name in column})
    few = {
        name: rng.permutation(np.array(DOMAINS[name], dtype=object))[
            : rng.integers(1, len(DOMAINS[name]) + 1)
        ].tolist()
        for name in names
    }
    rows = [{name: few[name][rng.integers(len(few[name]))] for name in names} for _ in bucket]
    quasi = [name for name in names if name != "s"]
    schema = Schema(
        quasi=quasi, sensitive="s", types={name: TYPES[name] for name in quasi}, missing="value"
    )
    kinds = {"a": pl.Int64, "b": pl.String, "c": pl.String, "d": pl.Float64, "s": pl.String}
    frame = pl.DataFrame(rows, schema={name: kinds[name] for name in names}, orient="row")
    microdata = Microdata.encode(frame, schema)
    form, published = slice_into(
        microdata, columns, bucket, Randomness.seeded(seed).stream("worlds"), compact=bool(seed % 2)
    )
    return Case(columns, rows, bucket, microdata, View.of(form), published)


def everybody_thinkable(view):
    """Tuple -> its values' places in the view: all ways to take a published value from every column
    that agree on what columns share.
    """
    found = {}
    for places in product(*(range(len(side.values)) for side in view.sides)):
        taken = [
            side.values.row(place, named=True) if side.attributes else {}
            for side, place in zip(view.sides, places, strict=True)
        ]
        t = {name: value for part in taken for name, value in part.items()}
        if all(t[name] == value for part in taken for name, value in part.items()):
            found[frozenset(t.items())] = places
    return found


def faults(case):
    """What the source says of the case and the arrangements do not, or the other way about."""
    view, found = case.view, []
    places = everybody_thinkable(view)
    tuples, order = np.array(list(places.values())), list(places)
    most = Fraction(0)
    for by in source.WEIGHINGS:
        expected = posteriors(case.columns, case.buckets, "s", by)
        told = {
            order[i]: dict(
                zip(view.sensitive.values.gather(p.values).to_list(), p.shares, strict=True)
            )
            for i, p in source.distributions(view, tuples, by)
        }
        if told != expected:
            found.append("p(t, s)")
        if any(sum(p.values()) != 1 for p in told.values()):
            found.append("the sum over s")
        most = max(most, *(max(p.values()) for p in expected.values()))
    if source.largest(view, tuples)[0] != most:
        found.append("the largest p(t, s)")

    with_it = [
        {row - {("s", dict(row)["s"])} for row in shares(case.columns, sides)}
        for sides in case.buckets
    ]
    matching = {
        (order[i], int(view.ids[b]))
        for m in source.matches(view, tuples)
        for i, b in zip(m.tuple.tolist(), m.bucket.tolist(), strict=True)
    }
    if matching != {(t, int(case.published[b])) for b, ts in enumerate(with_it) for t in ts}:
        found.append("matching buckets")

    own = [
        frozenset((name, value) for name, value in row.items() if name != "s") for row in case.rows
    ]
    if [tuple(p) for p in case.view.of_people(case.microdata, np.arange(len(own))).tolist()] != [
        places.get(t) for t in own
    ]:
        found.append("everybody's own values")

    some = np.arange(len(case.rows) % 2, len(view.cell_bucket), 2)
    chosen = source.candidates(view, view.cell_bucket[some], view.cell_value[some])
    pairs = set(
        zip(
            view.ids.gather(view.cell_bucket[some]).to_list(),
            view.cell_value[some].tolist(),
            strict=True,
        )
    )
    if {tuple(c) for c in chosen.tolist()} != {
        places[t] for t, b in matching if (b, places[t][-1]) in pairs
    } or len(chosen) != len(np.unique(chosen, axis=0)):
        found.append("candidates")
    return found


def wrong(seeds, shapes):
    return {seed: found for seed in seeds if (found := faults(small_table(seed, shapes)))}


def test_columns_that_share_nothing():
    """p(t, s), its largest value, matching buckets and candidates are those of all arrangements,
    for tuples of the table and fake ones.
    """
    assert wrong(range(120), APART) == {}


def test_columns_that_share_attributes():
    """The same where columns share attributes in chains and stars: arrangements are those in which
    every row has one value of each.
    """
    assert wrong(range(120), SHARED) == {}


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [APART, SHARED], ids=["apart", "shared"])
def test_on_thousands_of_tables(shapes):
    """The same on thousands of tables."""
    assert wrong(range(1000, 1800), shapes) == {}


def test_the_cases_tell_something():
    """Of the generated tables many have tuples that match several buckets, fake tuples, and values
    of p(t, s) that no single bucket gives.
    """
    several = fake = mixed = 0
    for seed in range(60):
        case = small_table(seed, APART)
        places = everybody_thinkable(case.view)
        pairs = [m.tuple for m in source.matches(case.view, np.array(list(places.values())))]
        several += bool((np.bincount(np.concatenate(pairs)) > 1).any())
        found = posteriors(case.columns, case.buckets, "s")
        fake += len(found) > len(
            {frozenset((n, v) for n, v in row.items() if n != "s") for row in case.rows}
        )
        alone = [posteriors(case.columns, [sides], "s") for sides in case.buckets]
        mixed += any(all(p != one.get(t) for one in alone) for t, p in found.items())
    assert min(several, fake, mixed) > 10, (several, fake, mixed)


def only_the_first_bucket(matches):
    def twin(view, tuples):
        for found in matches(view, tuples):
            first = np.unique(found.tuple, return_index=True)[1]
            yield source.Matches(
                found.tuple[first], found.bucket[first], found.above[first], found.below[first]
            )

    return twin


def weighed_by_size(matches):
    def twin(view, tuples):
        for found in matches(view, tuples):
            yield replace(found, above=found.above * view.sizes[found.bucket])

    return twin


def all_buckets_alike(matches):
    def twin(view, tuples):
        for found in matches(view, tuples):
            yield replace(found, above=found.below)

    return twin


@pytest.mark.parametrize("twin", [only_the_first_bucket, weighed_by_size, all_buckets_alike])
@pytest.mark.parametrize("shapes", [APART, SHARED], ids=["apart", "shared"])
def test_broken_twins_are_caught(monkeypatch, twin, shapes):
    """Forgetting all but one bucket, weighing buckets by their sizes, or not at all, is not what
    the arrangements say.
    """
    monkeypatch.setattr(source, "matches", twin(source.matches))
    assert len([f for f in wrong(range(40), shapes).values() if "p(t, s)" in f]) > 5


def test_forgetting_what_columns_share_is_caught(monkeypatch):
    """Joining columns at random where they share attributes is not what the arrangements say."""
    whole = View._of.__func__

    def forgetful(cls, form):
        view = whole(cls, form)
        return replace(
            view, sides=tuple(replace(side, within=view.sizes[side.bucket]) for side in view.sides)
        )

    monkeypatch.setattr(View, "_of", classmethod(forgetful))
    assert wrong(range(30), APART) == {}
    assert len([f for f in wrong(range(30), SHARED).values() if "p(t, s)" in f]) > 5


@pytest.mark.parametrize("shape", IN_A_CIRCLE, ids=str)
def test_columns_in_a_circle_are_refused(shape):
    """Where columns share attributes in a circle, no formula is tried."""
    with pytest.raises(ReleaseError, match="share attributes in a circle"):
        small_table(7, [shape])


@pytest.mark.parametrize("shapes", [APART, SHARED], ids=["apart", "shared"])
def test_the_papers_formula_is_what_the_arrangements_say(shapes):
    """The slow twin that larger tables are compared with computes the same as the arrangements."""
    for seed in range(40):
        case = small_table(seed, shapes)
        for by in source.WEIGHINGS:
            for t, p in posteriors(case.columns, case.buckets, "s", by).items():
                assert posterior(dict(t), case.columns, case.buckets, "s", by) == p, seed


def test_arrangements_by_hand():
    """Two rows in two columns: two arrangements; with a shared attribute that differs, one."""
    assert len(list(arrangements([("a",), ("s",)], [[(1,), (2,)], [("flu",), ("gout",)]]))) == 2
    assert (
        len(
            list(
                arrangements(
                    [("a", "b"), ("b", "s")], [[(1, 0), (2, 5)], [(0, "flu"), (5, "gout")]]
                )
            )
        )
        == 1
    )
    assert set(shares([("a",), ("s",)], [[(1,), (2,)], [("flu",), ("gout",)]]).values()) == {
        Fraction(1, 4)
    }
