# SPDX-License-Identifier: Apache-2.0
"""k, the l-diversities, t-closeness and m-uniqueness: by hand, at their bounds, and against slow
twins.
"""

import json
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import guarantees as naive
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.entropy import entropy_at_least
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.guarantees.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from phalanx.guarantees.levels import levels
from phalanx.guarantees.m_invariance.guarantee import MInvariance
from phalanx.guarantees.m_invariance.m_uniqueness import MUniqueness
from phalanx.guarantees.registry import OURS, from_parameters
from phalanx.guarantees.t_closeness import Closeness
from phalanx.release.foreign import Foreign
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import PublishedAttribute

TREE = Tree.of_paths(
    [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "*"], ["e", "y", "*"]]
)


def form_of(groups, values, hierarchy=None, counterfeits=None):
    kind = (
        "numeric"
        if hierarchy is None and all(isinstance(v, int | None) for v in values)
        else "categorical"
    )
    dtype = pl.Int64 if kind == "numeric" else pl.String
    sensitive = PublishedAttribute(
        name="s",
        role="sensitive",
        type=kind,
        columns=["s"],
        hierarchy=None if hierarchy is None else hierarchy.parameters(),
    )
    return Generalized(
        pl.DataFrame({"group": groups, "s": pl.Series(values, dtype=dtype)}),
        (sensitive,),
        counterfeits,
    )


def of_counts(*groups):
    """A form whose groups have these value counts."""
    ids = [g for g, counts in enumerate(groups, 1) for r in counts for _ in range(r)]
    values = [v for counts in groups for v, r in enumerate(counts) for _ in range(r)]
    return form_of(ids, values)


def only(guarantee, form):
    (verdict,) = guarantee.check(form)
    assert json.loads(json.dumps(verdict.to_json()))["name"] == guarantee.name
    return verdict


def test_k_anonymity_at_its_bound():
    """Groups of 3 and 2: k = 2 holds, k = 3 does not, and the smallest group is named."""
    form = of_counts([2, 1], [1, 1])
    assert only(KAnonymity(2), form).holds
    refused = only(KAnonymity(3), form)
    assert (refused.holds, refused.worst, refused.worst_cases["group"][0]) == (False, 2, 2)


def test_k_anonymity_does_not_count_counterfeits():
    """A group of one person and one counterfeit is 1-anonymous."""
    form = form_of(
        [1, 1, 2, 2], ["a", "b", "a", "b"], counterfeits=pl.DataFrame({"group": [1], "count": [1]})
    )
    assert only(KAnonymity(2), form).worst == 1


def test_frequency_at_its_bound():
    """A share of exactly 1/l holds, one row more does not; 1/3 is not 0.333."""
    assert only(FrequencyDiversity(3), of_counts([2, 2, 2])).worst == Fraction(1, 3)
    assert only(FrequencyDiversity(3), of_counts([2, 2, 2])).holds
    assert not only(FrequencyDiversity(3), of_counts([3, 2, 2])).holds
    assert not only(FrequencyDiversity("3.0000000000000000001"), of_counts([2, 2, 2])).holds


def test_distinct_at_its_bound():
    """Three values are three, and missing is one of them."""
    assert only(DistinctDiversity(3), form_of([1, 1, 1], ["a", "b", None])).holds
    assert not only(DistinctDiversity(4), form_of([1, 1, 1], ["a", "b", None])).holds


def test_entropy_at_its_bound():
    """Counts 4 1 1 1 1 have an entropy of exactly ln 4: l = 4 holds, the least more does not."""
    form = of_counts([4, 1, 1, 1, 1])
    assert only(EntropyDiversity(4), form).holds
    assert not only(EntropyDiversity("4.000000000000000000000000000001"), form).holds
    assert only(EntropyDiversity(3), of_counts([7, 7, 7])).worst == 3.0
    assert [only(EntropyDiversity(l), form).bound for l in (4, "5/2")] == [4, Fraction(5, 2)]
    assert only(EntropyDiversity(3), of_counts([7, 7, 7])).holds
    assert not only(EntropyDiversity(3), of_counts([7, 7, 8])).holds


def test_entropy_of_huge_counts():
    """Millions of rows a hair below ln 2 are told from those at it, without powers of millions."""
    million = 1_000_000
    assert entropy_at_least([million, million], Fraction(2))
    assert not entropy_at_least([million, million + 1], Fraction(2))
    assert entropy_at_least([4 * million, million, million, million, million], Fraction(4))
    assert not entropy_at_least([4 * million + 1, million, million, million, million], Fraction(4))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.fractions(1, 6, max_denominator=20))
def test_entropy_is_the_integer_inequality(counts, l):
    """The decision is that of n**n >= l**n * prod(r**r)."""
    values = [v for v, r in enumerate(counts) for _ in range(r)]
    assert entropy_at_least(counts, l) == naive.entropy_holds([1] * len(values), values, l)


def test_recursive_at_its_bound():
    """r1 < c (r2 + r3) is strict: 4 against 2 (1 + 1) fails, one more row in the tail holds."""
    assert not only(RecursiveDiversity(2, 2), of_counts([4, 1, 1])).holds
    assert only(RecursiveDiversity("2.0001", 2), of_counts([4, 1, 1])).holds
    assert only(RecursiveDiversity(2, 2), of_counts([4, 2, 1])).holds
    assert only(RecursiveDiversity(9, 3), of_counts([1, 1])).worst == "infinite"
    assert not only(RecursiveDiversity(1, 1), of_counts([1])).holds


def test_closeness_by_hand():
    """The salaries of the t-closeness paper: {3k,4k,5k} is 0.375 from 3k..11k in order, {6k,8k,11k}
    0.167.
    """
    salaries = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    form = form_of([1, 1, 1, 2, 2, 2, 3, 3, 3], salaries)
    verdict = only(Closeness("3/8", "ordered"), form)
    assert verdict.holds
    assert (verdict.worst, verdict.worst_cases["group"][0]) == (Fraction(3, 8), 1)
    assert not only(Closeness("0.374999999999", "ordered"), form).holds
    assert naive.distance_ordered(
        [2] * 3 + [1] * 6, [6, 8, 11, 3, 4, 5, 7, 9, 10], sorted(salaries)
    ) == Fraction(1, 6)
    assert only(Closeness("2/3"), form).worst == Fraction(2, 3)


def test_closeness_needs_its_hierarchy():
    """Without a hierarchy the hierarchical distance does not silently hold."""
    verdict = only(Closeness(1, "hierarchical"), of_counts([1, 1]))
    assert not verdict.holds
    assert "needs a hierarchy" in verdict.note


def test_m_unique_at_its_bound():
    """Two different values are 2-unique, not 3-unique; a repeated value is refused at any m."""
    form = form_of([1, 1, 2, 2], ["a", None, "a", "b"])
    assert only(MUniqueness(2), form).holds
    assert not only(MUniqueness(3), form).holds
    repeated = only(MUniqueness(2), form_of([1, 1, 1], ["a", "a", "b"]))
    assert not repeated.holds
    assert "repeat" in repeated.note


def test_no_sensitive_attribute():
    """A promise about a value that is not published does not hold."""
    form = Generalized(pl.DataFrame({"group": [1, 1]}), ())
    for guarantee in (
        FrequencyDiversity(1),
        DistinctDiversity(1),
        EntropyDiversity(1),
        RecursiveDiversity(1, 1),
        Closeness(1),
        MUniqueness(1),
    ):
        assert not only(guarantee, form).holds
    assert only(KAnonymity(2), form).holds


TABLES = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["a", "b", "c", "d", None])),
    min_size=1,
    max_size=24,
)


@settings(max_examples=150, deadline=None)
@given(
    TABLES,
    st.fractions(1, 5, max_denominator=6),
    st.fractions(0, 4, max_denominator=6),
    st.integers(1, 4),
)
def test_all_agree_with_slow_twins(rows, l, c, m):
    """On any small table every check says what the slow twin says."""
    groups, values = [g for g, _ in rows], [v for _, v in rows]
    form = form_of(groups, values, TREE)
    assert only(KAnonymity(m), form).worst == naive.k(groups)
    assert only(FrequencyDiversity(l), form).holds == (naive.largest_share(groups, values) <= 1 / l)
    assert only(DistinctDiversity(m), form).worst == naive.distinct(groups, values)
    assert only(EntropyDiversity(l), form).holds == naive.entropy_holds(groups, values, l)
    assert only(RecursiveDiversity(c, m), form).holds == naive.recursive_holds(groups, values, c, m)
    assert only(MUniqueness(m), form).holds == naive.m_unique(groups, values, m)
    leaves = [None] * (None in values) + [p[0] for p in TREE.paths]
    paths = {p[0]: p for p in TREE.paths} | ({None: (None, None, "*")} if None in values else {})
    assert only(Closeness(1), form).worst == naive.distance_equal(groups, values)
    assert only(Closeness(1, "ordered"), form).worst == naive.distance_ordered(
        groups, values, leaves
    )
    assert only(Closeness(1, "hierarchical"), form).worst == naive.distance_hierarchical(
        groups, values, paths
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(-50, 50) | st.none()), min_size=1, max_size=30
    )
)
def test_levels_are_the_best_that_hold(rows):
    """Each level holds when promised, and the next one does not."""
    groups, values = [g for g, _ in rows], [v for _, v in rows]
    frame = pl.DataFrame({"g": groups, "s": pl.Series(values, dtype=pl.Int64)})
    table = Foreign.read(frame, quasi=["g"], sensitive="s")
    found = levels(table)
    domain = sorted(set(values), key=lambda v: (v is not None, v))
    assert only(KAnonymity(found["k"]), table).holds
    assert not only(KAnonymity(found["k"] + 1), table).holds
    assert 1 / found["frequency_l"] == naive.largest_share(groups, values)
    assert only(EntropyDiversity(found["entropy_l"]), table).holds
    assert not only(EntropyDiversity(found["entropy_l"] + 1e-8), table).holds
    for l, c in found["recursive"].items():
        assert not naive.recursive_holds(groups, values, c, l)
        assert naive.recursive_holds(groups, values, c + Fraction(1, 10**9), l)
    assert found["t_equal"] == naive.distance_equal(groups, values)
    assert found["t_ordered"] == naive.distance_ordered(groups, values, domain)


def test_recursive_diversity_is_told_up_to_20():
    """Of 25 values that a group has once each, the largest is as frequent as the 26 - l last."""
    table = Foreign.read(pl.DataFrame({"g": [1] * 25, "s": range(25)}), quasi=["g"], sensitive="s")
    assert levels(table)["recursive"] == {l: Fraction(1, 26 - l) for l in range(2, 21)}


def test_huge_products_stay_exact(monkeypatch):
    """Where 64 bits could overflow, Python integers give the same distances."""
    form = form_of([1, 1, 1, 2, 2, 3], ["a", "b", "b", "c", None, "a"], TREE)
    before = [only(Closeness(1, d), form).worst for d in ("equal", "ordered", "hierarchical")]
    monkeypatch.setattr("phalanx.guarantees.t_closeness._ROOM", 1)
    assert before == [
        only(Closeness(1, d), form).worst for d in ("equal", "ordered", "hierarchical")
    ]


@pytest.mark.parametrize(
    "guarantee",
    [
        *(
            KAnonymity(3),
            FrequencyDiversity("5/2"),
            DistinctDiversity(2),
            EntropyDiversity(2.5),
            RecursiveDiversity("0.1", 2),
        ),
        *(
            Closeness(0.2, "ordered"),
            MUniqueness(4),
            MInvariance(2),
            MInvariance(2, consecutive=True),
        ),
    ],
    ids=str,
)
def test_manifest_and_back(guarantee):
    """What the manifest says is JSON, and names the guarantee again."""
    assert from_parameters(json.loads(json.dumps(guarantee.parameters()))) == guarantee


@pytest.mark.parametrize(
    ("public", "what"),
    [
        ({"name": "k-anonimity", "k": 3}, "did you mean 'k-anonymity'"),
        ({"k": 3}, "promises None"),
        ({"name": "k-anonymity"}, "without its parameter 'k'"),
        ({"name": "k-anonymity", "k": 0}, "wrong parameter"),
        ({"name": "k-anonymity", "k": "3"}, "wrong parameter"),
        ({"name": "t-closeness", "t": "2"}, "wrong parameter"),
        ({"name": "t-closeness", "t": "1", "distance": "far"}, "wrong parameter"),
        ({"name": "m-invariance", "m": 2, "n": 1}, "unknown parameter 'n'"),
    ],
)
def test_unknown_promises(public, what):
    """A promise that cannot be checked is an error, never a silent pass."""
    with pytest.raises(ReleaseError, match=what):
        from_parameters(public)
    assert len(OURS) == 20


WRONG = [
    lambda: KAnonymity(0),
    lambda: Closeness(2),
    lambda: RecursiveDiversity(-1, 2),
    lambda: EntropyDiversity(0.5),
    lambda: MInvariance(0),
]


@pytest.mark.parametrize("make", WRONG)
def test_wrong_parameters(make):
    """Parameters are checked when a promise is made."""
    with pytest.raises(PlanError):
        make()


@pytest.mark.parametrize(
    "guarantee",
    [
        FrequencyDiversity(1),
        DistinctDiversity(1),
        EntropyDiversity(1),
        RecursiveDiversity(5, 1),
        Closeness(1),
        MUniqueness(1),
    ],
    ids=lambda g: g.name,
)
def test_promises_about_one_value_do_not_hold_of_sets(guarantee):
    """Whatever the bound, sets of values are told apart from single ones, of which the same texts
    are fine; k-anonymity looks at neither.
    """
    table = pl.DataFrame({"group": [1, 1, 2, 2], "s": ["a; b", "c", "a", ""]})
    attribute = PublishedAttribute(name="s", role="sensitive", type="set", columns=["s"])
    sets, single = (
        Generalized(table, (a,))
        for a in (attribute, attribute.model_copy(update={"type": "categorical"}))
    )

    refused = only(guarantee, sets)
    assert (refused.holds, refused.worst) == (False, None)
    assert "holds sets of values, and this promise is about one value" in refused.note
    assert only(guarantee, single).holds
    assert only(KAnonymity(2), sets).holds
