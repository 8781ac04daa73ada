# SPDX-License-Identifier: Apache-2.0
"""The posterior adversary by the law: hand-computed releases of every form, a slow twin, and what
the guarantee says of the same files.
"""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import learning as naive
from naive.posterior import counting as all_worlds
from naive.posterior import matching_degree
from phalanx.adversaries import Posterior
from phalanx.adversaries.base import wilson
from phalanx.adversaries.groups import hosts
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.bucketized import bucketize
from phalanx.release.forms.generalized import generalize
from phalanx.release.forms.sliced import slice_into
from phalanx.release.manifest import Manifest

COLUMNS = (("a", "b"), ("c", "s"))
QUASI = ["a", "b", "c"]
KINDS = {"a": pl.Int64, "b": pl.String, "c": pl.String, "s": pl.String}
WORKED = [
    (22, "M", "47906", "dyspepsia"), (22, "F", "47906", "flu"), (33, "F", "47905", "flu"), (52, "F", "47905", "bronchitis"),
    (54, "M", "47302", "flu"), (60, "M", "47302", "dyspepsia"), (60, "M", "47304", "dyspepsia"), (64, "F", "47304", "gastritis"),
]  # fmt: skip


def encoded(rows, *, persons=False):
    """Rows (a, b, c, s) as microdata; with ``persons``, each is a person of its own."""
    schema = Schema(
        identifier="who" if persons else None,
        quasi=QUASI,
        sensitive="s",
        types={"a": "numeric", "b": "categorical", "c": "categorical"},
        missing="value",
    )
    frame = pl.DataFrame(rows, schema=KINDS, orient="row")
    if persons:
        frame = frame.with_columns(who=pl.Series([f"p{i}" for i in range(len(rows))]))
    return Microdata.encode(frame, schema, PersonKey(bytes(32)))


def release(form):
    """A form as a release of its own."""
    manifest = Manifest(
        series="small", number=1, form=form.kind, method={"name": "by hand"}, guarantees=[], attributes=list(form.attributes), rows=form.rows,
        groups=form.groups, counterfeits=0, registered=0, boxes="tight", privacy_unit="person", files=[], **form.manifest_fields(),
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def published(kind, microdata, buckets, columns=COLUMNS):
    """The microdata in the form, in these buckets, as a release."""
    buckets, stream = np.asarray(buckets, dtype=np.int64), Randomness.seeded(1).stream("small")
    if kind == "sliced":
        return release(slice_into(microdata, columns, buckets, stream)[0])
    if kind == "bucketized":
        return release(bucketize(microdata, buckets, stream)[0])
    return release(generalize(microdata, np.arange(microdata.rows), buckets, stream)[0])


def attack(kind, rows, buckets, adversary=None, *, columns=COLUMNS, people=None):
    """What the adversary finds; ``people``: the original table where it is not the one that was
    published.
    """
    microdata = encoded(rows)
    original = microdata if people is None else encoded(people)
    return (adversary or Posterior()).attack(
        [published(kind, microdata, buckets, columns)], Evidence(microdata={1: original})
    )


def slow_hosts(kind, rows, buckets, columns=COLUMNS, reading="shares"):
    """Each person's group -> share and group -> value -> count, as the twin takes them, by the
    forms' definitions and, of a sliced one, the reading.
    """
    found, groups = [], {}
    named = [dict(zip((*QUASI, "s"), row, strict=True)) for row in rows]
    members = {
        g: [row for row, b in zip(named, buckets, strict=True) if b == g] for g in set(buckets)
    }
    for t in named:
        shares = {}
        for g, inside in members.items():
            if kind == "sliced":
                degree = matching_degree(
                    t,
                    columns,
                    [[tuple(row[n] for n in column) for row in inside] for column in columns],
                    "s",
                )
                degree *= len(inside) if reading == "rows" else 1
                q = tuple(t[n] for n in columns[-1] if n != "s")
                key, alike = (
                    (g, q),
                    [
                        row["s"]
                        for row in inside
                        if all(row[n] == t[n] for n in columns[-1] if n != "s")
                    ],
                )
            elif kind == "bucketized":
                degree, key, alike = (
                    sum(all(row[n] == t[n] for n in QUASI) for row in inside),
                    g,
                    [row["s"] for row in inside],
                )
            else:
                boxes = [{row[n] for row in inside} for n in QUASI]
                degree = len(inside) * all(
                    min(box) <= t[n] <= max(box) for n, box in zip(QUASI, boxes, strict=True)
                )
                key, alike = g, [row["s"] for row in inside]
            if degree:
                shares[key], groups[key] = degree, Counter(alike)
        found.append({key: float(share) for key, share in shares.items()})
    return found, groups


@st.composite
def small(draw):
    """Up to 12 rows of few values, missing ones among them, in up to 4 buckets, in one of the
    forms; the twin has no boxes of missing values.
    """
    kind = draw(st.sampled_from(["sliced", "bucketized", "generalized"]))
    few = (
        [[1, 2, None], ["x", None], ["m", "n"]]
        if kind != "generalized"
        else [[1, 2, 3], ["x", "y"], ["m", "n"]]
    )
    row = st.tuples(*map(st.sampled_from, few), st.sampled_from(["s", "t", None]))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    buckets = np.unique(
        draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))),
        return_inverse=True,
    )[1].tolist()
    columns = draw(
        st.sampled_from(
            [
                COLUMNS,
                (("a", "b", "c"), ("s",)),
                (("a",), ("b",), ("c", "s")),
                (("a", "b"), ("b", "c", "s")),
            ]
        )
    )
    return kind, rows, buckets, columns


def agrees(found, rows, expected, bound):
    """Fails where what the adversary found is not what the twin's probabilities, one dictionary for
    each person, say.
    """
    n = len(rows)
    assert all(sum(p.values()) == pytest.approx(1) for p in expected)
    likely = [max(p.values()) for p in expected]
    ties = [
        [s for s, x in p.items() if x >= most * (1 - 1e-9)]
        for p, most in zip(expected, likely, strict=True)
    ]
    right = [(row[-1] in tied) / len(tied) for row, tied in zip(rows, ties, strict=True)]
    above = [most > float(bound) + 1e-9 for most in likely]
    assert found.persons == n
    assert found.success == pytest.approx(sum(right) / n)
    assert found.drawing == pytest.approx(
        sum(p.get(row[-1], 0) for p, row in zip(expected, rows, strict=True)) / n
    )
    assert found.baseline == pytest.approx(
        Counter(row[-1] for row in rows).most_common(1)[0][1] / n
    )
    assert found.largest == pytest.approx(max(likely))
    assert found.above == sum(above)
    assert found.above_success == (
        pytest.approx(sum(r for r, a in zip(right, above, strict=True) if a) / sum(above))
        if any(above)
        else None
    )
    assert found.histogram == dict(Counter(len(p) for p in expected))
    assert found.exposed == sum(len(p) == 1 for p in expected)
    assert found.interval == pytest.approx(wilson(sum(right) / n, n))
    assert found.interval[0] <= found.success <= found.interval[1]
    assert found.per_person["probability"].to_list() == pytest.approx(likely)
    assert all(guess in tied for guess, tied in zip(found.per_person["guess"], ties, strict=True))


def without_counting(of_sliced):
    """The readings that have a slow twin here."""

    def readings(*about):
        groups, found, others, off = of_sliced(*about)
        return groups, found, {"rows": others["rows"]}, off

    return readings


@given(small(), st.sampled_from(["0", "1/3", "1/2", "2/3", "1"]))
@settings(max_examples=200, deadline=None)
def test_everybody_has_the_twins_probabilities(case, bound):
    """Successes, intervals, the largest probability, who is above the bound and everybody's guess
    are those of the slow twin, for every form and reading.
    """
    kind, rows, buckets, columns = case
    readings = ["shares", "rows"] if kind == "sliced" else ["law"]
    expected = {
        r: [naive.by_value(p) for p in naive.law(*slow_hosts(kind, rows, buckets, columns, r))]
        for r in readings
    }

    with mock.patch.dict(hosts._HOSTS, {"sliced": without_counting(hosts._of_sliced)}):
        found = attack(kind, rows, buckets, Posterior(bound=bound), columns=columns)

    agrees(found, rows, expected[found.reading], Fraction(bound))
    for reading in readings:
        largest = [max(p.values()) for p in expected[reading]]
        above = sum(most > float(Fraction(bound)) + 1e-9 for most in largest)
        assert found.readings[reading].largest == pytest.approx(max(largest))
        assert (found.readings[reading].above, found.readings[reading].share) == (
            above,
            pytest.approx(above / len(rows)),
        )
        assert found.above >= above


SHAPES = [
    (("a", "b", "c"), ("s",)),
    COLUMNS,
    (("a",), ("b",), ("c", "s")),
    (("a",), ("b", "c", "s")),
    (("a", "b"), ("b", "c", "s")),
]


def counted_worlds(seed):
    """Of a small table, for every person: the shares of worlds in which they are in some bucket,
    ascending, and what the readings by counting and by rows say.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (
            int(rng.integers(1, 3)),
            "xy"[rng.integers(2)],
            "mn"[rng.integers(2)],
            "stu"[rng.integers(3)],
        )
        for _ in range(rng.integers(2, 9))
    ]
    buckets = np.unique(rng.integers(0, 3, len(rows)), return_inverse=True)[1].tolist()
    columns = SHAPES[seed % len(SHAPES)]
    found = hosts.Hosts.of(published("sliced", encoded(rows), buckets, columns), encoded(rows))
    named = [dict(zip((*QUASI, "s"), row, strict=True)) for row in rows]
    members = [
        [t for t, at in zip(named, buckets, strict=True) if at == b]
        for b in range(max(buckets) + 1)
    ]
    worlds = all_worlds(
        named,
        columns,
        [[[tuple(t[n] for n in column) for t in some] for column in columns] for some in members],
        "s",
    )
    for person, shares in enumerate(worlds):
        pairs = np.flatnonzero(found.owner == found.of_person[person])
        padded = sorted([*map(float, shares.values()), *[0.0] * (len(pairs) - len(shares))])
        yield (
            padded,
            *(np.sort(found.others[reading][pairs]).tolist() for reading in ("counting", "rows")),
        )


def test_counting_is_near_all_worlds():
    """Exact, and the same as by rows, where the sensitive attribute stands alone beside one column;
    else near, much nearer than rows, and never falsely certain.
    """
    by_counting, by_rows, certain = [], [], 0
    for seed in range(200):
        for worlds, counting, rows in counted_worlds(seed):
            if seed % len(SHAPES) == 0:
                assert counting == pytest.approx(worlds)
                assert rows == pytest.approx(worlds)
            by_counting.append(max(abs(a - b) for a, b in zip(worlds, counting, strict=True)))
            by_rows.append(max(abs(a - b) for a, b in zip(worlds, rows, strict=True)))
            assert worlds[-1] == 1 or counting[-1] < 1 - 1e-6
            certain += worlds[-1] == 1 and rows[-1] < 0.99 and counting[-1] == 1
    assert max(by_counting) < 0.26
    assert np.mean(by_counting) < np.mean(by_rows) / 10
    assert certain > 10


def test_a_wrong_law_is_seen(monkeypatch):
    """The comparison with the slow twin refuses an adversary that finds all matching buckets
    equally likely.
    """
    rows = [(1, "x", "m", "s"), (1, "x", "m", "s"), (1, "x", "m", "t"), (2, "x", "m", "u")]
    expected = [naive.by_value(p) for p in naive.law(*slow_hosts("sliced", rows, [0, 0, 1, 1]))]

    monkeypatch.setitem(
        hosts._HOSTS, "sliced", without_counting(hosts._of_sliced)
    )  # which is right where a law is wrong
    agrees(attack("sliced", rows, [0, 0, 1, 1]), rows, expected, Fraction(1, 2))
    monkeypatch.setattr(hosts, "_degrees", lambda owner, *_: np.ones(len(owner)))
    with pytest.raises(AssertionError):
        agrees(attack("sliced", rows, [0, 0, 1, 1]), rows, expected, Fraction(1, 2))


def test_the_papers_example():
    """Everybody of the worked example has two values of probability 1/2: t1 dyspepsia and flu;
    nobody is above 1/2.
    """
    found = attack("sliced", WORKED, [0] * 4 + [1] * 4)

    assert (found.persons, found.largest, found.above, found.exposed) == (8, 0.5, 0, 0)
    assert (found.success, found.drawing, found.baseline, found.histogram) == (
        0.5,
        0.5,
        3 / 8,
        {2: 8},
    )
    assert found.per_person["guess"][0] == "dyspepsia"


def test_rows_of_a_bucketized_release_are_equally_likely():
    """Who has two of three rows with the same quasi-identifiers in a bucket of s, and one in one of
    t and u, has s with 2/3.
    """
    rows = [(1, "x", "m", "s"), (1, "x", "m", "s"), (1, "x", "m", "t"), (2, "x", "m", "u")]
    found = attack("bucketized", rows, [0, 0, 1, 1])

    assert found.per_person["probability"].to_list() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1 / 2])
    assert found.per_person["candidates"].to_list() == [3, 3, 3, 2]
    assert found.drawing == pytest.approx((2 / 3 + 2 / 3 + 1 / 6 + 1 / 2) / 4)


def test_boxes_count_by_their_rows():
    """Who fits into a box of one s and one of three t's has t with 3/4."""
    rows = [(2, "x", "m", "s"), (1, "x", "m", "t"), (2, "x", "m", "t"), (3, "x", "m", "t")]
    found = attack("generalized", rows, [0, 1, 1, 1])

    assert found.per_person["probability"].to_list() == pytest.approx([3 / 4, 1, 3 / 4, 1])
    assert found.per_person["guess"].to_list() == ["t"] * 4
    assert (found.success, found.exposed) == (3 / 4, 2)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_is_the_guarantees(seed):
    """The law's largest probability of anybody is what the guarantee finds in the same files for
    the same people.
    """
    rng = np.random.default_rng(seed)
    rows = [
        (
            int(rng.integers(1, 4)),
            "xy"[rng.integers(2)],
            "mn"[rng.integers(2)],
            "stu"[rng.integers(3)],
        )
        for _ in range(40)
    ]
    buckets = np.unique(rng.integers(0, 5, 40), return_inverse=True)[1].tolist()
    microdata = encoded(rows)
    sliced = published("sliced", microdata, buckets)
    (verdict,) = SlicedDiversity(l=50).check(sliced, evidence=Evidence(microdata={1: microdata}))

    assert not verdict.holds
    found = Posterior().attack([sliced], Evidence(microdata={1: microdata}))
    assert max(found.readings[r].largest for r in ("shares", "rows")) == pytest.approx(
        float(verdict.worst), rel=1e-12
    )


def test_who_is_elsewhere_is_left_out():
    """Persons whose quasi-identifiers are in no bucket are left out, and said; a value that nobody
    published is never guessed.
    """
    found = attack(
        "bucketized",
        WORKED,
        [0, 1] * 4,
        people=[*WORKED, (70, "F", "47304", "flu"), (22, "M", "47906", "gout")],
    )

    assert (found.persons, found.note) == (
        9,
        "1 person(s) of the original table fit into no group, and are left out",
    )
    assert found.drawing == pytest.approx((4 * 1 / 2 + 4 * 1 / 4 + 0) / 9)
    assert "gout" not in found.per_person["guess"]


def test_the_ledger_says_who_was_published():
    """With the mapping, whoever was suppressed is left out, though a group would fit."""
    microdata = encoded(WORKED, persons=True)
    mapping = pl.DataFrame({"person": microdata.persons, "group": [1, 1, 1, 1, 2, 2, 2, 0]})
    found = Posterior().attack(
        [published("bucketized", encoded(WORKED), [0, 1] * 4)],
        Evidence(groups={1: mapping}, microdata={1: microdata}),
    )

    assert found.persons == 7
    assert found.per_person["person"].to_list() == microdata.persons.to_list()[:7]


@pytest.mark.parametrize(
    ("share", "n", "interval"),
    [
        (0.5, 100, (0.4038315, 0.5961685)),
        (0, 10, (0, 0.2775328)),
        (1, 10, (0.7224672, 1)),
        (15 / 148, 148, (0.0624, 0.1605)),
        (0.3, 0, (0, 1)),
    ],
)
def test_wilsons_interval(share, n, interval):
    """The interval of published examples (Newcombe 1998 has 15 of 148), and all of [0, 1] for
    nobody.
    """
    assert wilson(share, n) == pytest.approx(interval, abs=5e-5)


def test_the_json_has_the_documented_keys():
    """Those of every attack, and the posterior's own; the bound as text."""
    found = attack("sliced", WORKED, [0] * 4 + [1] * 4, Posterior(bound="2/5")).to_json()

    assert list(found) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note",
        "interval", "drawing", "drawing_interval", "bound", "above", "above_success", "largest", "reading", "readings",
    ]  # fmt: skip
    assert (
        found["adversary"],
        found["bound"],
        found["above"],
        found["above_success"],
        found["largest"],
    ) == ("posterior", "2/5", 8, 0.5, 0.5)
    assert found["interval"] == [0.215216, 0.784784]


def test_what_is_missing_is_named():
    """One sentence for several releases, no original table, no sensitive attribute, files that
    contradict themselves, a way to infer and a bound.
    """
    microdata = encoded(WORKED)
    evidence, one = (
        Evidence(microdata={1: microdata}),
        published("bucketized", microdata, [0, 1] * 4),
    )
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        Posterior().attack([one, one], evidence)
    with pytest.raises(ReleaseError, match="release 1 has no original table"):
        Posterior().attack([one], Evidence())
    plain = Microdata.encode(pl.DataFrame({"a": [1, 2]}), Schema(quasi=["a"]))
    with pytest.raises(ReleaseError, match="no sensitive attribute"):
        Posterior().attack(
            [published("generalized", plain, [0, 0])], Evidence(microdata={1: plain})
        )
    with pytest.raises(ReleaseError, match="no sensitive attribute"):
        Posterior().attack(
            [published("sliced", plain, [0, 0], (("a",),))], Evidence(microdata={1: plain})
        )
    broken = one.form.values.with_columns(pl.col("count") + 1)
    with pytest.raises(ReleaseError, match="contradicts itself"):
        Posterior().attack(
            [release(type(one.form)(one.form.table, broken, one.form.attributes))], evidence
        )
    with pytest.raises(PlanError, match="'law' or by 'learning', and not by 'magic'"):
        Posterior(by="magic")
    with pytest.raises(PlanError, match="the bound must be"):
        Posterior(bound="2")
