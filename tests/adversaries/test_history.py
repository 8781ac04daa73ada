"""The history adversary: everybody's probability of having ever been linked to a value, beside a slow twin, on series of every method."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import global_guarantee as naive
from phalanx.adversaries import History
from phalanx.checking import gather_evidence
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.methods.global_guarantee import GlobalGuarantee
from phalanx.methods.m_invariance import MInvariance
from phalanx.methods.mondrian import Mondrian
from phalanx.publishing import Series
from phalanx.release.evidence import Evidence
from shown import evidence_of, key, mapping, releases_of

S, T, NONE = frozenset("s"), frozenset("t"), frozenset()


@st.composite
def small(draw):
    """Up to 4 releases of up to 8 persons in up to 3 groups, of single values or sets, some persons registered without a row."""
    of_sets, people = draw(st.booleans()), [f"p{i}" for i in range(draw(st.integers(1, 8)))]
    row = st.frozensets(st.sampled_from("stu"), max_size=3 if of_sets else 1)
    series = []
    for _ in range(draw(st.integers(1, 4))):
        groups = {p: g for p in people if (g := draw(st.integers(0, 3)))}
        rows, registered = {}, {}
        for g in sorted(set(groups.values())):
            n = sum(x == g for x in groups.values())
            absent = draw(st.integers(0, n - 1))
            rows[g] = [draw(row) for _ in range(n - absent)]
            registered |= {g: absent} if absent else {}
        series.append(naive.Shown(rows, groups, registered=registered))
    return series, of_sets


@given(small(), st.sampled_from([(), ("s",), ("s", "u")]), st.fractions(0, 1, max_denominator=12))
@settings(max_examples=200, deadline=None)
def test_everybody_has_the_twins_probability(case, values, bound):
    """Largest probability, number of values, who is above the bound and who is surely linked are those of the slow twin."""
    series, of_sets = case
    true = naive.ever_linked(series)
    values = [v for v in values if any(v == w for _, w in true)]
    true = {(p, v): x for (p, v), x in true.items() if not values or v in values}
    found = History(bound=bound, values=values).attack(releases_of(series, of_sets=of_sets), evidence_of(series))

    people = {p for shown in series for p in shown.groups}
    most = {p: max((x for (q, _), x in true.items() if q == p), default=Fraction(0)) for p in people}
    assert found.persons == len(people)
    assert found.largest == max(most.values(), default=0)
    assert found.above == sum(x > bound for x in most.values())
    assert found.exposed == sum(x == 1 for x in most.values())
    assert sum(found.probabilities.values()) == sum(found.histogram.values()) == len(people)
    assert found.probabilities.get("0", 0) == sum(x == 0 for x in most.values())
    assert found.probabilities.get("0.5", 0) == sum(Fraction(4, 10) < x <= Fraction(1, 2) for x in most.values())
    for row in found.per_person.iter_rows(named=True):
        (person,) = [p for p in people if key(p) == row["person"]]
        assert row["probability"] == pytest.approx(float(most[person]))
        assert (row["above"], row["exposed"]) == (most[person] > bound, most[person] == 1)
        assert row["candidates"] == sum(q == person for q, _ in true)


def test_the_papers_example():
    """Groups of two with one chlamydia in two releases: 3/4, which is above 1/2; each release by itself is not."""
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1)), naive.Shown({1: [S, NONE]}, dict.fromkeys("ac", 1))]
    releases, evidence = releases_of(series), evidence_of(series)

    assert (History().attack(releases, evidence).largest, History().attack(releases, evidence).above) == (Fraction(3, 4), 1)
    assert [History().attack([r], evidence).above for r in releases] == [0, 0]
    assert History(bound="3/4").attack(releases, evidence).above == 0
    assert History().attack(releases[::-1], evidence).to_json() == History().attack(releases, evidence).to_json()


def test_the_json_has_the_documented_keys():
    """Those of every attack, and bound, above, largest, probabilities; fractions as text."""
    series = [naive.Shown({1: [S, NONE]}, dict.fromkeys("ab", 1))] * 2
    found = History().attack(releases_of(series), evidence_of(series)).to_json()

    assert list(found) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note", "bound", "above", "largest", "probabilities",
    ]  # fmt: skip
    assert (found["bound"], found["largest"], found["above"], found["candidates"]) == ("1/2", "3/4", 2, {"1": 2})
    assert found["probabilities"] == {"0.8": 2}


def test_what_is_missing_is_named():
    """One sentence for a mapping that is not there or is another one's, a value that nobody published, and a bound that is no probability."""
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
    ill = np.where(rng.random(n) < 0.2, rng.choice(["chlamydia", "syphilis"], n), rng.choice(["flu", "cold", "gout", "rash"], n))
    frame = pl.DataFrame({"who": np.arange(n), "age": lasting.integers(18, 80, n), "sex": lasting.choice(["f", "m"], n), "ill": ill})
    return frame.filter(pl.Series(rng.random(n) < 0.9))


PROTECTED = ["chlamydia", "syphilis"]
SCHEMA = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")
METHODS = {
    "mondrian": Mondrian(k=5, l=2),
    "m-invariance": MInvariance(m=2, changed="new-record", not_eligible="hold-back"),
    "global-guarantee": GlobalGuarantee(l=2, protect=PROTECTED),
}


@pytest.fixture(scope="module", params=METHODS)
def attacked(request, tmp_path_factory):
    """A series by each method of persons whose values come and go, and what the adversary finds in it."""
    folder = tmp_path_factory.mktemp(request.param)
    series = Series("visits", schema=SCHEMA, method=METHODS[request.param], to=folder / "out", ledger=f"sqlite:///{folder}/l.db", report=False)
    releases = [series.publish(visits(i)).release for i in range(6)]
    evidence, _ = gather_evidence(releases, ledger=f"sqlite:///{folder}/l.db")
    return request.param, History(values=PROTECTED).attack(releases, evidence)


def test_only_the_global_guarantee_withstands(attacked):
    """Mondrian and m-invariance leave persons above 1/2 whose values come and go; the global guarantee leaves nobody."""
    method, found = attacked

    assert found.persons == 120
    if method == "global-guarantee":
        assert 0 < found.largest <= Fraction(1, 2)
        assert found.above == 0
    else:
        assert found.largest > Fraction(1, 2)
        assert found.above > 10
