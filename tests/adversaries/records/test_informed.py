# SPDX-License-Identifier: Apache-2.0
"""The informed adversary: hand-computed releases, a slow twin, distances of every kind, what the
manifest tells it, and what it refuses.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import informed as naive
from phalanx.adversaries import Informed
from phalanx.adversaries.base import wilson
from phalanx.adversaries.records import informed
from phalanx.data.distances import distance_of
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.bucketized import bucketize
from support.perturbed_cases import codes_of, of_form, people, perturbed

TREE = Tree.of_mapping({"left": ["x", "y"], "right": ["z"]})
LEVELS = {frozenset("xy"): Fraction(1, 2), frozenset("xz"): 1, frozenset("yz"): 1}


@st.composite
def small(draw):
    """Up to 10 rows of a number of 0 .. 4 (both ends occur), a leaf of a tree, and a value without
    order; and the rows drawn for them.
    """
    row = st.tuples(
        st.integers(0, 4), st.sampled_from("xyz"), st.sampled_from("mno"), st.sampled_from("st")
    )
    rows = [(0, "x", "m", "s"), (4, "z", "n", "t"), *draw(st.lists(row, max_size=8))]
    order = draw(st.permutations(range(len(rows))))
    mixed = draw(
        st.lists(
            st.tuples(*[st.integers(0, len(rows) - 1)] * 3), min_size=len(rows), max_size=len(rows)
        )
    )
    shown = (
        [tuple(rows[place][a] for a, place in enumerate(places)) for places in mixed]
        if draw(st.booleans())
        else [rows[place][:3] for place in order]
    )
    return rows, shown


def apart(a, b):
    return Fraction(abs(a - b), 4)


def by_tree(a, b):
    return LEVELS[frozenset((a, b))] if a != b else 0


def unlike(a, b):
    return int(a != b)


def published(rows, shown):
    """Rows as microdata with a hierarchy on b, published as they are shown."""
    microdata = people(rows, hierarchies={"b": TREE})
    places = [
        {value: code for code, value in enumerate(column.domain.values.to_list())}
        for column in microdata.quasi
    ]
    return perturbed(
        microdata, [[places[a][value] for a, value in enumerate(row)] for row in shown]
    )


def agrees(found, rows, shown, changes):
    """Fails where the adversary's figures are not the twin's."""
    n = len(rows)
    expected = naive.disclosures(
        [row[:3] for row in rows],
        shown,
        [row[3] for row in rows],
        [apart, by_tree, unlike],
        changes,
    )
    identity, attribute = (sum(each[i] for each in expected) / n for i in (1, 2))
    shares = Counter(row[3] for row in rows)
    assert found.per_person["candidates"].to_list() == [count for count, _, _ in expected]
    assert found.per_person["identity"].to_list() == pytest.approx(
        [float(p) for _, p, _ in expected]
    )
    assert found.per_person["attribute"].to_list() == pytest.approx(
        [float(p) for _, _, p in expected]
    )
    assert (found.identity, found.attribute, found.success) == pytest.approx(
        (float(identity), float(attribute), float(attribute))
    )
    assert found.exposed == sum((count, p) == (1, 1) for count, p, _ in expected)
    assert found.histogram == dict(Counter(count for count, _, _ in expected))
    assert found.identity_interval == pytest.approx(wilson(float(identity), n))
    assert found.baseline == pytest.approx(max(shares.values()) / n)
    assert (found.identity_baseline, found.attribute_baseline) == pytest.approx(
        (1 / n, sum(m * m for m in shares.values()) / n**2)
    )


@given(small(), st.integers(1, 3))
@settings(max_examples=200, deadline=None)
def test_everybody_is_linked_as_by_the_twin(case, changes):
    """Nearest rows and both disclosures are those of the slow twin, over numbers, a tree and values
    without order.
    """
    rows, shown = case
    release, evidence = published(rows, shown)
    agrees(Informed(changes=changes).attack([release], evidence), rows, shown, changes)


@pytest.mark.parametrize("broken", ["exact matches", "distances"])
def test_a_wrong_nearness_is_seen(monkeypatch, broken):
    """The comparison with the twin refuses an adversary that does not pass over rows that cannot be
    the person's, or takes all distances for 0 or 1.
    """
    rows = [(0, "x", "m", "s"), (1, "y", "m", "t"), (3, "z", "n", "s"), (4, "z", "n", "t")]
    shown = [row[:3] for row in (rows[1], rows[0], rows[3], rows[2])]
    release, evidence = published(rows, shown)

    agrees(Informed().attack([release], evidence), rows, shown, 1)
    if broken == "distances":
        rows, shown = (
            [(0, "x", "m", "s"), (4, "x", "m", "t"), (1, "x", "m", "s")],
            [(1, "x", "m"), (0, "x", "m"), (4, "x", "m")],
        )
        release, evidence = published(rows, shown)
        monkeypatch.setattr(
            informed,
            "distance_of",
            lambda where, name, domain, _: distance_of(where, name, domain, "equal"),
        )
    else:
        real = informed.nearest
        monkeypatch.setattr(informed, "nearest", lambda blocks, who, _: real(blocks, who, 0))
    with pytest.raises(AssertionError):
        agrees(Informed().attack([release], evidence), rows, shown, 1)


def test_the_nearest_row_that_changed():
    """Who is 1 apart from the own row and farther from others is named; an exact match is passed
    over, for it cannot be one's own.
    """
    microdata = people(
        [(0, "x", "m", "s"), (1, "x", "m", "t"), (8, "x", "m", "s"), (9, "x", "m", "t")]
    )
    release, evidence = perturbed(microdata, codes_of(microdata)[[1, 0, 3, 2]])
    found = Informed().attack([release], evidence)

    assert (
        found.identity,
        found.attribute,
        found.exposed,
        found.histogram,
        found.sample,
        found.note,
    ) == (1, 1, 4, {1: 4}, None, "")


def test_where_no_row_may_be_the_persons():
    """Where all rows equal the person, each is as likely: the figures of somebody who picks any
    row.
    """
    microdata = people([(0, "x", "m", "s"), (0, "x", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata))
    found = Informed().attack([release], evidence)

    assert (found.identity, found.attribute, found.histogram) == (0.5, 0.5, {2: 2})


def test_equal_rows_are_as_likely():
    """Of three equal nearest rows each is named with 1/3, and two of the three values may be
    right.
    """
    microdata = people(
        [(0, "x", "m", "s"), (2, "x", "m", "s"), (4, "x", "m", "t"), (7, "x", "m", "t")]
    )
    release, evidence = perturbed(microdata, [[1, 0, 0], [1, 0, 0], [1, 0, 0], [3, 0, 0]])
    found = Informed().attack([release], evidence).per_person

    assert found["candidates"].to_list() == [3, 1, 3, 3]
    assert found["identity"].to_list() == pytest.approx([1 / 3, 0, 1 / 3, 0])
    assert found["attribute"].to_list() == pytest.approx([2 / 3, 0, 1 / 3, 1 / 3])


def said(release, **method):
    return replace(
        release,
        manifest=release.manifest.model_copy(update={"method": {"name": "mutual-cover", **method}}),
    )


def test_the_manifest_tells_how_many_changed():
    """Without ``changes`` it takes the manifest's, and 1 where that says nothing."""
    microdata = people(
        [(0, "x", "m", "s"), (1, "y", "m", "t"), (2, "x", "m", "s"), (9, "y", "n", "t")]
    )
    release, evidence = perturbed(microdata, codes_of(microdata)[[1, 0, 3, 2]])
    two, one = (
        Informed(changes=changes).attack([release], evidence).to_json() for changes in (2, 1)
    )

    assert two != one
    assert Informed().attack([said(release, changes=2)], evidence).to_json() == two
    assert Informed().attack([said(release)], evidence).to_json() == one
    assert Informed(changes=1).attack([said(release, changes=2)], evidence).to_json() == one


def test_the_manifest_tells_distances():
    """Distances that the manifest names in words are taken, a matrix that it does not show is not,
    and those given go first.
    """
    microdata = people(
        [(0, "x", "m", "s"), (1, "x", "m", "t"), (8, "x", "m", "s"), (9, "x", "m", "t")]
    )
    release, evidence = perturbed(microdata, codes_of(microdata)[[1, 0, 3, 2]])
    near, far = (
        Informed(distances={"a": word}).attack([release], evidence).identity
        for word in ("l1", "equal")
    )

    assert (near, far) == (1, 1 / 3)
    assert Informed().attack([said(release, distances={"a": "equal"})], evidence).identity == far
    assert Informed().attack([said(release, distances={"a": "matrix"})], evidence).identity == near
    assert (
        Informed(distances={"a": "l1"})
        .attack([said(release, distances={"a": "equal"})], evidence)
        .identity
        == near
    )


DATES = pl.Series(["2020-01-01", "2020-01-03", "2020-01-11"]).str.to_date()


@pytest.mark.parametrize(
    ("domain", "asked", "expected"),
    [
        (Domain("numeric", pl.Series([1, 2, 5])), None, [0, 0.25, 1]),
        (Domain("numeric", pl.Series([None, 1, 3])), "l1", [0, 0.5, 1]),
        (Domain("date", DATES), None, [0, 0.2, 1]),
        (Domain("numeric", pl.Series([1, 2, 5])), "equal", [0, 1, 1]),
        (Domain("numeric", pl.Series([1, 2, 12]), Bands((10, 20))), "hierarchy", [0, 1 / 3, 2 / 3]),
        (Domain("categorical", pl.Series(["x", "y", "z"])), None, [0, 1, 1]),
        (Domain("categorical", pl.Series(["x", "y", "z"]), TREE), None, [0, 0.5, 1]),
        (
            Domain("categorical", pl.Series(["12", "13", "22"]), Prefix((2, 1, 0))),
            None,
            [0, 0.5, 1],
        ),
        (Domain("categorical", pl.Series([None, "x", "y", "z"]), TREE), None, [0, 1, 1, 1]),
        (
            Domain("categorical", pl.Series(["x", "y", "z"])),
            {"x": {"y": 3, "z": 0}, "z": {"y": 0.5}},
            [0, 3, 0],
        ),
        (Domain("numeric", pl.Series([1, 2])), {"1": {2: 7}}, [0, 7]),
        (Domain("numeric", pl.Series([4])), None, [0]),
    ],
    ids=str,
)
def test_distances(domain, asked, expected):
    """From the first value of a domain to all: differences over the width, levels over the height,
    0 or 1, or as given.
    """
    distance = distance_of("distances", "a", domain, asked)
    found = distance.between(np.zeros(len(domain), np.int64), np.arange(len(domain)))
    assert found.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"b": "l1"}, "asks for l1 on 'b', which is categorical"),
        ({"b": "hierarchy"}, "asks for the hierarchy of 'b', which has none"),
        ({"b": "equals"}, "distances of 'b' is 'equals'; did you mean 'equal'"),
        ({"b": 3}, "neither a word nor a matrix"),
        ({"q": "l1"}, "distances names 'q', which is no quasi-identifier"),
        ({"b": {"x": {}}}, "a matrix without a distance of 0 or more for some two of its 2 values"),
        ({"b": {"x": {"y": -1}}}, "has a distance that is no number of 0 or more"),
        ({"b": {"x": 3}}, "neither a word nor a matrix"),
    ],
    ids=str,
)
def test_distances_that_are_none(asked, sentence):
    """One sentence each."""
    microdata = people([(0, "x", "m", "s"), (1, "y", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata))
    with pytest.raises(PlanError, match=sentence):
        Informed(distances=asked).attack([release], evidence)


def test_persons_are_drawn(monkeypatch):
    """Where pairs are many 2,000 persons are drawn, or as many as are asked for; it is said, the
    same each time, and near everybody's figures.
    """
    rng = np.random.default_rng(3)
    microdata = people(
        [
            (i // 2 * 10 + int(rng.integers(12)), "xy"[i % 2], "mn"[i // 7 % 2], "stu"[i % 3])
            for i in range(500)
        ],
        persons=True,
    )
    shown = codes_of(microdata)
    shown[:, 0] = shown[np.arange(500) ^ 1, 0]
    release, evidence = perturbed(microdata, shown)
    everybody = Informed().attack([release], evidence)
    asked, again = (Informed(sample=200).attack([release], evidence) for _ in range(2))
    monkeypatch.setattr(informed, "_MOST_PAIRS", 1000)
    monkeypatch.setattr(informed, "_DRAWN", 300)
    drawn = Informed().attack([release], evidence)

    assert (everybody.sample, asked.sample, drawn.sample) == (None, 200, 300)
    assert everybody.baseline == asked.baseline == drawn.baseline
    assert (drawn.persons, drawn.note) == (300, "300 of 500 persons were drawn")
    assert asked.per_person.equals(again.per_person)
    assert set(drawn.per_person["person"]) <= set(microdata.persons)
    assert drawn.identity_interval[0] < everybody.identity < drawn.identity_interval[1]
    assert drawn.attribute_interval[0] < everybody.attribute < drawn.attribute_interval[1]


def test_parts_say_what_the_whole_says(monkeypatch):
    """Persons who are gone through one by one are linked as all at once."""
    microdata = people([(i % 9, "xy"[i % 2], "mn"[i // 7 % 2], "stu"[i % 3]) for i in range(50)])
    release, evidence = perturbed(microdata, codes_of(microdata)[np.arange(50) ^ 1])
    whole = Informed().attack([release], evidence)
    monkeypatch.setattr(informed, "_AT_ONCE", 1)

    assert Informed().attack([release], evidence).to_json() == whole.to_json()


@pytest.mark.parametrize(("block", "few"), [(1, 64), (3, 64), (1, 0)])
def test_blocks_leave_nothing_out(monkeypatch, block, few):
    """However few rows are in a block, the nearest ones are those of comparing with all, over every
    kind of distance, missing and unknown values among them.
    """
    rng = np.random.default_rng(6)
    domains = [
        Domain("numeric", pl.Series([None, 1, 2, 5, 9, 12])),
        Domain("categorical", pl.Series(["x", "y", "z"]), TREE),
        Domain("categorical", pl.Series(list("abcde"))),
        Domain("categorical", pl.Series(["u", "v"])),
    ]
    distances = [
        distance_of("distances", str(a), domain, {"u": {"v": 0}} if a == 3 else None)
        for a, domain in enumerate(domains)
    ]
    rows, persons = (
        np.stack([rng.integers(least, len(domain), 200) for domain in domains], axis=1)
        for least in (-1, 0)
    )
    changes = 2
    monkeypatch.setattr(informed, "_BLOCK", block)
    monkeypatch.setattr(informed, "_FEW", few)
    blocks = informed.Blocks.of(rows, distances)
    away = sum(
        np.append(d.between(persons[:, a, None], np.arange(len(d))), np.ones((200, 1)), axis=1)[
            :, rows[:, a]
        ]
        for a, d in enumerate(distances)
    )
    away[(persons[:, None] != rows).sum(axis=2) < changes] = np.inf

    assert sorted(blocks.row.tolist()) == list(range(200))
    assert len(blocks.starts) > 40
    assert (
        away
        >= np.repeat(blocks.at_least(persons), np.diff(blocks.starts), axis=1)[
            :, np.argsort(blocks.row)
        ]
        - 1e-12
    ).all()
    for i, found in enumerate(informed.nearest(blocks, persons, changes)):
        assert sorted(found.tolist()) == np.flatnonzero(away[i] <= away[i].min() + 1e-12).tolist()


def test_values_that_nobody_has():
    """A number that the original lacks has its place on the line; a code that is in no domain is 1
    from all others.
    """
    microdata = people([(0, "x", "m", "s"), (10, "y", "m", "t")], hierarchies={"b": TREE})
    release, evidence = perturbed(microdata, codes_of(microdata))
    own = evidence.rows[1] - 1
    table = release.form.table
    moved = replace(
        release,
        form=replace(
            release.form, table=table.with_columns(a=pl.Series([1, 40]).gather(np.argsort(own)))
        ),
    )
    strange = replace(
        release,
        form=replace(
            release.form, table=table.with_columns(b=pl.Series(["y", "q"]).gather(np.argsort(own)))
        ),
    )

    assert Informed().attack([moved], evidence).per_person["identity"].to_list() == [
        1,
        0,
    ]  # 9/40 + 1/2 is less than 30/40
    assert Informed().attack([strange], evidence).per_person["identity"].to_list() == [
        1,
        0.5,
    ]  # 10 lies 1 from 0, and so does y from q


def test_a_release_without_sensitive_values():
    """Identity disclosure alone; a person without a row is left out."""
    microdata = Microdata.encode(pl.DataFrame({"a": [1, 2, 9]}), Schema(quasi=["a"]))
    release, evidence = perturbed(microdata, [[1], [0], [2]])
    two = replace(release, form=replace(release.form, table=release.form.table[:2]))
    found = Informed().attack([release], evidence)
    fewer = Informed().attack(
        [two], replace(evidence, rows={1: np.where(evidence.rows[1] <= 2, evidence.rows[1], 0)})
    )

    assert (
        found.to_json()["attribute"]
        is found.success
        is found.attribute_interval
        is found.attribute_baseline
        is found.baseline
        is None
    )
    assert (found.persons, fewer.persons, fewer.sample) == (3, 2, None)


def test_the_json_has_the_documented_keys():
    """Those of every attack, and the disclosures."""
    microdata = people([(0, "x", "m", "s"), (1, "y", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata)[[1, 0]])
    found = Informed().attack([release], evidence).to_json()

    assert list(found) == [
        "adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note",
        "identity", "identity_interval", "identity_baseline", "attribute", "attribute_interval", "attribute_baseline", "sample",
    ]  # fmt: skip
    assert (found["adversary"], found["identity"], found["attribute_baseline"]) == (
        "informed",
        1,
        0.5,
    )


def test_what_is_missing_is_named():
    """One sentence for numbers that are none, too many changes, several releases, other forms, and
    evidence that is missing.
    """
    microdata = people([(0, "x", "m", "s"), (1, "y", "m", "t")])
    release, evidence = perturbed(microdata, codes_of(microdata))
    for wrong in ({"sample": 0}, {"changes": 0}, {"changes": 1.5}):
        with pytest.raises(PlanError, match="must be a whole number of at least 1"):
            Informed(**wrong)
    with pytest.raises(PlanError, match="changes = 4 and the release has 3 quasi-identifiers"):
        Informed(changes=4).attack([release], evidence)
    with pytest.raises(PlanError, match="the manifest's number of changes must be a whole number"):
        Informed().attack([said(release, changes="many")], evidence)
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        Informed().attack([release, release], evidence)
    with pytest.raises(ReleaseError, match="release 1 has no original table"):
        Informed().attack([release], Evidence())
    with pytest.raises(
        ReleaseError, match="nothing says which row of release 1 is whose; name the ledger"
    ):
        Informed().attack([release], Evidence(microdata={1: microdata}))
    bucketized, _ = bucketize(
        microdata, np.zeros(2, np.int64), Randomness.seeded(1).stream("small")
    )
    with pytest.raises(ReleaseError, match="this one is bucketized"):
        Informed().attack([of_form(bucketized)], evidence)
