# SPDX-License-Identifier: Apache-2.0
"""The history adversary: everybody's probability of having ever been linked to a value, beside a
slow twin, on series of every method.
"""

from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import global_guarantee as naive
from phalanx.adversaries import History
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.global_guarantee import shares
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.release.evidence.evidence import Evidence
from phalanx.series.series import Series
from phalanx.verification import gather_evidence
from support.shown import evidence_of, key, mapping, releases_of

S, T, NONE = frozenset("s"), frozenset("t"), frozenset()


@st.composite
def small(draw):
    """Up to 4 releases of up to 8 persons in up to 3 groups, of single values or sets, with
    counterfeits, some persons registered without a row.
    """
    of_sets, people = draw(st.booleans()), [f"p{i}" for i in range(draw(st.integers(1, 8)))]
    row = st.frozensets(st.sampled_from("stu"), max_size=3 if of_sets else 1)
    series = []
    for _ in range(draw(st.integers(1, 4))):
        groups = {p: g for p in people if (g := draw(st.integers(0, 3)))}
        rows, registered, counterfeits = {}, {}, {}
        for g in sorted(set(groups.values())):
            n = sum(x == g for x in groups.values())
            absent, invented = draw(st.integers(0, n - 1)), draw(st.integers(0, 2))
            rows[g] = [draw(row) for _ in range(n - absent + invented)]
            registered |= {g: absent} if absent else {}
            counterfeits |= {g: invented} if invented else {}
        series.append(naive.Shown(rows, groups, registered=registered, counterfeits=counterfeits))
    return series, of_sets


@given(small(), st.sampled_from([(), ("s",), ("s", "u")]), st.fractions(0, 1, max_denominator=12))
@settings(max_examples=200, deadline=None)
def test_everybody_has_the_twins_probability(case, values, bound):
    """Largest probability, number of values, who is above the bound and who is surely linked are
    those of the slow twin.
    """
    agrees(*case, values, bound)


def agrees(series, of_sets=False, values=(), bound=Fraction(1, 2)):
    """Fails where the adversary and the slow twin differ in anything."""
    true = naive.ever_linked(series)
    values = [v for v in values if any(v == w for _, w in true)]
    true = {(p, v): x for (p, v), x in true.items() if not values or v in values}
    found = History(bound=bound, values=values).attack(
        releases_of(series, of_sets=of_sets), evidence_of(series)
    )

    people = {p for shown in series for p in shown.groups}
    most = {
        p: max((x for (q, _), x in true.items() if q == p), default=Fraction(0)) for p in people
    }
    assert found.persons == len(people)
    assert found.largest == max(most.values(), default=0)
    assert found.above == sum(x > bound for x in most.values())
    assert found.exposed == sum(x == 1 for x in most.values())
    assert sum(found.probabilities.values()) == sum(found.histogram.values()) == len(people)
    assert found.probabilities.get("0", 0) == sum(x == 0 for x in most.values())
    assert found.probabilities.get("0.5", 0) == sum(
        Fraction(4, 10) < x <= Fraction(1, 2) for x in most.values()
    )
    for row in found.per_person.iter_rows(named=True):
        (person,) = [p for p in people if key(p) == row["person"]]
        assert row["probability"] == pytest.approx(float(most[person]))
        assert (row["above"], row["exposed"]) == (most[person] > bound, most[person] == 1)
        assert row["candidates"] == sum(q == person for q, _ in true)


def test_the_papers_example():
    """Groups of two with one chlamydia in two releases: 3/4, which is above 1/2; each release by
    itself is not.
    """
    series = [
        naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1)),
        naive.Shown({1: [S, NONE]}, dict.fromkeys("ac", 1)),
    ]
    releases, evidence = releases_of(series), evidence_of(series)

    assert (
        History().attack(releases, evidence).largest,
        History().attack(releases, evidence).above,
    ) == (Fraction(3, 4), 1)
    assert [History().attack([r], evidence).above for r in releases] == [0, 0]
    assert History(bound="3/4").attack(releases, evidence).above == 0
    assert (
        History().attack(releases[::-1], evidence).to_json()
        == History().attack(releases, evidence).to_json()
    )


def test_larger_groups_leave_less():
    """Groups of four with one chlamydia twice leave 7/16, below 1/2; a third of nine with one is
    exactly 1/2, which is not above it, and one of eight is.
    """
    four = naive.Shown({1: [S, NONE, NONE, NONE]}, dict.fromkeys("abcd", 1))
    nine, eight = (
        naive.Shown({1: [S, *[NONE] * (n - 1)]}, dict.fromkeys("abcdefghi"[:n], 1)) for n in (9, 8)
    )

    for series, largest, above in (
        ([four] * 2, Fraction(7, 16), 0),
        ([four, four, nine], Fraction(1, 2), 0),
        ([four, four, eight], Fraction(65, 128), 4),
    ):
        found = History().attack(releases_of(series), evidence_of(series))
        assert (found.largest, found.above) == (largest, above)


@pytest.mark.parametrize(("more", "above"), [(-1, 2), (0, 0), (1, 0)])
def test_a_bound_nearer_than_floating_point_is_compared_exactly(more, above):
    """A probability that differs from the bound by one part in 10^40 is above it or not; one that
    is equal is not.
    """
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))] * 3

    assert (
        History(bound=Fraction(7, 8) + Fraction(more, 10**40))
        .attack(releases_of(series), evidence_of(series))
        .above
        == above
    )


def sums_up(history):
    """A wrong probability: shares are added, as if one link excluded the other."""
    return min(sum((Fraction(n_s, n) for n, n_s, _ in history), Fraction(0)), Fraction(1))


def forgets(history):
    """A wrong probability: the last release alone."""
    return Fraction(history[-1][1], history[-1][0])


@pytest.mark.parametrize("wrong", [sums_up, forgets])
def test_a_wrong_probability_is_seen(wrong, monkeypatch):
    """The comparison with the slow twin refuses an adversary that adds shares up, and one that
    forgets all releases but one.
    """
    series = [
        naive.Shown({1: [S, NONE, NONE]}, dict.fromkeys("abc", 1)),
        naive.Shown({1: [S, NONE], 2: [T, NONE]}, {"a": 1, "b": 1, "c": 2, "d": 2}),
    ]

    agrees(series)
    monkeypatch.setattr(shares, "linked", wrong)
    with pytest.raises(AssertionError):
        agrees(series)


def test_counterfeits_and_registered_persons_are_members():
    """A group of two persons, one counterfeit and one registered person has four members, whatever
    value the counterfeit shows.
    """
    series = [
        naive.Shown(
            {1: [S, NONE, T]}, dict.fromkeys("abr", 1), counterfeits={1: 1}, registered={1: 1}
        )
    ]
    found = History(bound="1/4").attack(releases_of(series), evidence_of(series))

    assert (found.persons, found.largest, found.above) == (3, Fraction(1, 4), 0)
    assert set(found.per_person["candidates"]) == {2}


def test_the_json_has_the_documented_keys():
    """Those of every attack, and bound, above, largest, probabilities; fractions as text."""
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))] * 2
    found = History().attack(releases_of(series), evidence_of(series)).to_json()

    assert list(found) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note", "bound", "above", "largest", "probabilities",
    ]  # fmt: skip
    assert (found["bound"], found["largest"], found["above"], found["candidates"]) == (
        "1/2",
        "3/4",
        2,
        {"1": 2},
    )
    assert found["probabilities"] == {"0.8": 2}


def test_what_is_missing_is_named():
    """One sentence for a mapping that is not there or is another one's, a value that nobody
    published, and a bound that is no probability.
    """
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))]
    releases = releases_of(series)
    with pytest.raises(ReleaseError, match="release 1 has no person-to-group mapping"):
        History().attack(releases, Evidence())
    with pytest.raises(ReleaseError, match="does not fit the files of release 1"):
        History().attack(releases, Evidence(groups={1: mapping({"a": 1})}))
    with pytest.raises(ReleaseError, match="no release shows the value 'gout'"):
        History(values=["s", "gout"]).attack(releases, evidence_of(series))
    for bound in ("2", -1, "half"):
        with pytest.raises(PlanError, match="the bound must be"):
            History(bound=bound)


def visits(i, n=120):
    rng = np.random.default_rng(i)
    lasting = np.random.default_rng(99)
    ill = np.where(
        rng.random(n) < 0.2,
        rng.choice(["chlamydia", "syphilis"], n),
        rng.choice(["flu", "cold", "gout", "rash"], n),
    )
    frame = pl.DataFrame(
        {
            "who": np.arange(n),
            "age": lasting.integers(18, 80, n),
            "sex": lasting.choice(["f", "m"], n),
            "ill": ill,
        }
    )
    return frame.filter(pl.Series(rng.random(n) < 0.9))


PROTECTED = ["chlamydia", "syphilis"]
SCHEMA = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")
METHODS = {
    "mondrian": Mondrian(k=5, l=2),
    "m-invariance": MInvariance(m=2, changed="new-record", not_eligible="suppress"),
    "global-guarantee": GlobalGuarantee(l=2, protect=PROTECTED),
}


@pytest.fixture(scope="module", params=METHODS)
def attacked(request, tmp_path_factory):
    """A series by each method of persons whose values come and go, and what the adversary finds in
    it.
    """
    folder = tmp_path_factory.mktemp(request.param)
    series = Series(
        "visits",
        schema=SCHEMA,
        method=METHODS[request.param],
        to=folder / "out",
        ledger=f"sqlite:///{folder}/l.db",
        report=False,
    )
    releases = [series.publish(visits(i)) for i in range(6)]
    evidence, _ = gather_evidence(releases, ledger=f"sqlite:///{folder}/l.db")
    return request.param, History(values=PROTECTED).attack(releases, evidence)


def test_only_the_global_guarantee_withstands(attacked):
    """Mondrian and m-invariance leave persons above 1/2 whose values come and go; the global
    guarantee leaves nobody.
    """
    method, found = attacked

    assert found.persons == 120
    if method == "global-guarantee":
        assert 0 < found.largest <= Fraction(1, 2)
        assert found.above == 0
    else:
        assert found.largest > Fraction(1, 2)
        assert found.above > 10


@pytest.mark.parametrize(
    ("values", "asked"), [([1.0, 2.0], 1), ([date(2020, 1, 1), date(2020, 1, 2)], date(2020, 1, 2))]
)
def test_a_value_may_be_named_as_it_is_in_python(tmp_path, values, asked):
    """A whole number names the float that it is, and a day itself."""
    table = pl.DataFrame({"who": range(8), "age": range(8), "ill": values * 4})
    schema = Schema(identifier="who", quasi=["age"], sensitive="ill")
    made = Series("s", schema, MInvariance(m=2), to=tmp_path / "out", report=False).publish(table)
    assert made.attack(History(values=[asked])).largest == Fraction(1, 2)
