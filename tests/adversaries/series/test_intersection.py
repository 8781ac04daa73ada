# SPDX-License-Identifier: Apache-2.0
"""The intersection adversary concludes what Lemma 1 says, for every person."""

from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import adversaries as naive
from phalanx.adversaries import Intersection
from phalanx.adversaries.series import intersection
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import PublishedAttribute

KEY = PersonKey(bytes(32))
SCHEMA = Schema(identifier="who", quasi=["a", "b"], sensitive="ill", missing="value")
ATTRIBUTES = (
    PublishedAttribute(name="a", role="quasi", type="numeric", columns=["a_low", "a_high"]),
    PublishedAttribute(name="b", role="quasi", type="categorical", columns=["b_low", "b_high"]),
    PublishedAttribute(name="ill", role="sensitive", type="categorical", columns=["ill"]),
)


@dataclass(frozen=True)
class Shown:
    number: int
    form: Generalized
    manifest: ClassVar[Any] = SimpleNamespace(parts=None, registered=0, may_suppress=[])

    @property
    def generalized(self):
        return self.form


def key(name):
    return KEY.hash(pl.Series("who", [name]))[0]


def ends(xs):
    present = [x for x in xs if x is not None]
    low = None if None in xs else min(present)
    return low, (max(present) if present else None)


@st.composite
def series(draw):
    """Up to 3 releases of up to 7 persons in arbitrary groups with minimum boxes, missing values
    among the quasi-identifiers.
    """
    people = [f"p{i}" for i in range(draw(st.integers(1, 7)))]
    values = {p: draw(st.sampled_from("uvw")) for p in people}
    releases = []
    for _ in range(draw(st.integers(1, 3))):
        present = draw(st.lists(st.sampled_from(people), min_size=1, unique=True))
        point = {
            p: (draw(st.none() | st.integers(0, 4)), draw(st.none() | st.sampled_from("xyz")))
            for p in present
        }
        group = {p: draw(st.integers(1, 3)) for p in present}
        ids = {g: i for i, g in enumerate(sorted(set(group.values())), 1)}
        group = {p: ids[g] for p, g in group.items()}
        groups = {
            g: (
                [ends([point[p][i] for p in present if group[p] == g]) for i in range(2)],
                [values[p] for p in present if group[p] == g],
            )
            for g in ids.values()
        }
        releases.append(({p: (point[p], group[p]) for p in present}, groups))
    return releases, values


def as_published(releases, values):
    """The same series as releases and evidence."""
    shown, groups, microdata = [], {}, {}
    for number, (persons, boxes) in enumerate(releases, 1):
        rows = [(g, *box[0], *box[1], v) for g, (box, held) in boxes.items() for v in held]
        types = {
            "group": pl.Int64,
            "a_low": pl.Int64,
            "a_high": pl.Int64,
            "b_low": pl.String,
            "b_high": pl.String,
            "ill": pl.String,
        }
        shown.append(
            Shown(number, Generalized(pl.DataFrame(rows, schema=types, orient="row"), ATTRIBUTES))
        )
        groups[number] = pl.DataFrame(
            [(key(p), g) for p, (_, g) in persons.items()],
            schema={"person": pl.Binary, "group": pl.Int64},
            orient="row",
        )
        table = [(p, *point, values[p]) for p, (point, _) in persons.items()]
        types = {"who": pl.String, "a": pl.Int64, "b": pl.String, "ill": pl.String}
        microdata[number] = Microdata.encode(
            pl.DataFrame(table, schema=types, orient="row"), SCHEMA, KEY
        )
    return shown, Evidence(groups=groups, microdata=microdata)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 24])
@pytest.mark.parametrize("view", ["box", "person"])
@given(case=series())
@settings(deadline=None, max_examples=50)
def test_every_person_has_the_twins_candidates(view, at_once, case):
    """Candidates left, persons exposed, success and baseline are those of the slow twin, however
    few persons are looked at at once.
    """
    releases, values = case

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(intersection, "_AT_ONCE", at_once)
        found = Intersection(view=view).attack(*as_published(releases, values))

    left = naive.intersection(releases, view)
    sizes = dict(found.per_person.select("person", "candidates").iter_rows())
    assert sizes == {key(p): len(c) for p, c in left.items()}
    assert set(found.per_person.filter("exposed")["person"]) == {
        key(p) for p in naive.exposed(releases, values, view)
    }
    assert found.exposed == len(naive.exposed(releases, values, view))
    assert found.persons == len(left) == sum(found.histogram.values())
    success = sum(Fraction(values[p] in c, max(len(c), 1)) for p, c in left.items()) / len(left)
    assert found.success == pytest.approx(float(success))
    most = max(sum(values[p] == v for p in left) for v in "uvw")
    assert found.baseline == pytest.approx(most / len(left))


@given(case=series())
@settings(deadline=None)
def test_knowing_the_group_is_the_worst_case(case):
    """Whoever the boxes expose is exposed by the groups too."""
    shown, evidence = as_published(*case)

    by_box, by_person = (
        set(Intersection(view=v).attack(shown, evidence).per_person.filter("exposed")["person"])
        for v in ("box", "person")
    )

    assert by_box <= by_person


def test_a_union_of_releases_would_find_nobody():
    """The test sees a broken adversary: one that adds candidates up instead of intersecting them
    exposes nobody here.
    """
    box = [(1, 2), ("x", "y")]
    releases = [
        ({"ann": ((1, "x"), 1), "bob": ((2, "y"), 1)}, {1: (box, ["u", "v"])}),
        ({"ann": ((1, "x"), 1), "cleo": ((2, "y"), 1)}, {1: (box, ["u", "w"])}),
    ]
    values = {"ann": "u", "bob": "v", "cleo": "w"}

    assert Intersection(view="box").attack(*as_published(releases, values)).exposed == 1
    united = {
        name: (
            naive.intersection(releases[:1], "box").get(name, set())
            | naive.intersection(releases[1:], "box").get(name, set())
        )
        for name in values
    }
    assert all(len(c) > 1 for c in united.values())


def test_a_changed_value_is_told_apart():
    """A person whose value changed is counted in the note; being certain and wrong is not
    exposing.
    """
    box = [(1, 2), ("x", "y")]
    persons = {"ann": ((1, "x"), 1), "bob": ((2, "y"), 1)}
    shown, evidence = as_published([(persons, {1: (box, ["u", "v"])})], {"ann": "u", "bob": "v"})
    again, later = as_published([(persons, {1: (box, ["w", "v"])})], {"ann": "w", "bob": "v"})
    both = Evidence(
        groups=evidence.groups | {2: later.groups[1]},
        microdata=evidence.microdata | {2: later.microdata[1]},
    )

    found = Intersection(view="person").attack([*shown, Shown(2, again[0].form)], both)

    assert found.exposed == 1
    assert "1 person(s) changed the sensitive value" in found.note
    assert "certain and wrong about 1 person(s)" in found.note


PAIR = [(1, 2), ("x", "y")]
ANN_EXPOSED = [
    ({"ann": ((1, "x"), 1), "bob": ((2, "y"), 1)}, {1: (PAIR, ["u", "v"])}),
    ({"ann": ((1, "x"), 1), "cleo": ((2, "y"), 1)}, {1: (PAIR, ["u", "w"])}),
]
VALUES = {"ann": "u", "bob": "v", "cleo": "w"}


def original(rows):
    """An original table by hand, of (who, a, b, ill)."""
    return Microdata.encode(
        pl.DataFrame(
            rows,
            schema={"who": pl.String, "a": pl.Int64, "b": pl.String, "ill": pl.String},
            orient="row",
        ),
        SCHEMA,
        KEY,
    )


def with_ann_suppressed():
    """Two releases that expose ann, and a third without her: her value has changed, so her row
    stayed in the original table alone.
    """
    shown, evidence = as_published(
        [*ANN_EXPOSED, ({"bob": ((1, "x"), 1), "cleo": ((2, "y"), 1)}, {1: (PAIR, ["v", "w"])})],
        VALUES,
    )
    table = original([("ann", 1, "x", "w"), ("bob", 1, "x", "v"), ("cleo", 2, "y", "w")])
    return shown, Evidence(groups=evidence.groups, microdata=evidence.microdata | {3: table})


@pytest.mark.parametrize("view", ["box", "person"])
def test_who_is_suppressed_stays_exposed(view):
    """A new value that was never published takes back nothing: what earlier releases exposed is
    exposed.
    """
    shown, evidence = with_ann_suppressed()

    before, after = (Intersection(view=view).attack(shown[:n], evidence) for n in (2, 3))

    assert before.exposed == 1
    assert set(before.per_person.filter("exposed")["person"]) == {key("ann")}
    assert key("ann") in after.per_person.filter("exposed")["person"].to_list()
    assert "changed" not in after.note
    assert "wrong" not in after.note


@pytest.mark.parametrize("view", ["box", "person"])
def test_group_0_is_nobodys(view):
    """Rows that a mapping puts into group 0 were not published; they are not attacked, and take
    nothing from others.
    """
    shown, evidence = with_ann_suppressed()
    nobody = pl.DataFrame({"person": [key("ann")], "group": [0]}, schema=evidence.groups[3].schema)
    marked = Evidence(
        groups=evidence.groups | {3: pl.concat([evidence.groups[3], nobody])},
        microdata=evidence.microdata,
    )

    found, plain = (Intersection(view=view).attack(shown, e) for e in (marked, evidence))

    assert found.to_json() == plain.to_json()
    assert found.per_person.equals(plain.per_person)


def test_without_a_ledger_who_fits_nowhere_was_not_published():
    """Somebody whom no box contains is in no group; who was suppressed and fits is taken for
    published, and the note says so.
    """
    shown, evidence = as_published(ANN_EXPOSED, VALUES)
    away = original([("ann", 9, "x", "u"), ("cleo", 2, "y", "w"), ("zoe", 9, "z", "w")])

    found = Intersection(view="box").attack(
        shown, Evidence(microdata=evidence.microdata | {2: away})
    )

    assert dict(found.per_person.select("person", "candidates").iter_rows()) == {
        key("ann"): 2,
        key("bob"): 2,
        key("cleo"): 2,
    }
    assert (
        "without a ledger, each person who fits into some group of release(s) 1, 2 is taken for published"
        in found.note
    )
    assert Intersection(view="box").attack(shown, evidence).note == ""


@given(case=series())
@settings(deadline=None)
def test_pruning_exposes_the_same_persons(case):
    """Where not everybody is compared with every box, the same persons are exposed; nobody's set is
    larger than by box, and the note says so.
    """
    shown, evidence = as_published(*case)
    full = Intersection(view="box").attack(shown, evidence)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(intersection, "AFFORDABLE", 0)
        pruned = Intersection(view="box").attack(shown, evidence)
        patched.setattr(intersection, "_AT_ONCE", 1)
        one_by_one = Intersection(view="box").attack(shown, evidence)

    assert one_by_one.per_person.sort("person").equals(pruned.per_person.sort("person"))
    assert one_by_one.success == pytest.approx(pruned.success)
    assert one_by_one.note == pruned.note
    columns = ["person", "exposed"]
    assert (
        pruned.per_person.select(columns)
        .sort("person")
        .equals(full.per_person.select(columns).sort("person"))
    )
    whole, part = (
        dict(a.per_person.select("person", "candidates").iter_rows()) for a in (full, pruned)
    )
    assert all(part[p] <= whole[p] and (part[p] > 1 or part[p] == whole[p]) for p in whole)
    assert pruned.success >= full.success
    assert "too large to compare all persons" in pruned.note


def test_numbers_that_one_release_has_as_text_are_the_same_values():
    """A release read from CSV has text where the table has numbers; taken for other values, nobody
    would be exposed.
    """
    codes = {"u": 1, "v": 2, "w": 3}
    shown, evidence = as_published(ANN_EXPOSED, VALUES)
    second = shown[1].form.table.with_columns(
        pl.col("ill").replace_strict(codes, return_dtype=pl.Int64)
    )
    first = shown[0].form.table.with_columns(
        pl.col("ill").replace_strict({v: str(n) for v, n in codes.items()})
    )
    schema = Schema(identifier="who", quasi=["a", "b"], sensitive="ill")
    tables = {
        1: [("ann", 1, "x", 1), ("bob", 2, "y", 2)],
        2: [("ann", 1, "x", 1), ("cleo", 2, "y", 3)],
    }
    microdata = {
        n: Microdata.encode(
            pl.DataFrame(rows, schema=["who", "a", "b", "ill"], orient="row"), schema, KEY
        )
        for n, rows in tables.items()
    }

    for view in ("box", "person"):
        found = Intersection(view=view).attack(
            [Shown(1, Generalized(first, ATTRIBUTES)), Shown(2, Generalized(second, ATTRIBUTES))],
            Evidence(evidence.groups, microdata),
        )
        assert set(found.per_person.filter("exposed")["person"]) == {key("ann")}


def test_the_order_in_which_releases_are_named_is_nothing():
    """The last release is the one of the highest number, whose value is the true one."""
    shown, evidence = with_ann_suppressed()

    assert (
        Intersection(view="person").attack(shown[::-1], evidence).to_json()
        == Intersection(view="person").attack(shown, evidence).to_json()
    )


def test_a_tree_orders_the_leaves():
    """An interval of leaves contains what the tree puts between its ends, not what the alphabet
    does.
    """
    tree = Tree.of_mapping({"west": ["x", "z"], "east": ["y"]})
    attributes = (
        ATTRIBUTES[0],
        ATTRIBUTES[1].model_copy(update={"hierarchy": tree.parameters()}),
        ATTRIBUTES[2],
    )
    schema = Schema(identifier="who", quasi=["a", "b"], sensitive="ill", hierarchies={"b": tree})
    boxes = [(1, 1, 1, "x", "z", "u"), (1, 1, 1, "x", "z", "v"), (2, 1, 1, "y", "y", "w")]
    table = pl.DataFrame(
        boxes, schema=["group", "a_low", "a_high", "b_low", "b_high", "ill"], orient="row"
    )
    people = pl.DataFrame(
        [("ann", 1, "x", "u"), ("bob", 1, "z", "v"), ("cleo", 1, "y", "w")],
        schema=["who", "a", "b", "ill"],
        orient="row",
    )
    evidence = Evidence(microdata={1: Microdata.encode(people, schema, KEY)})

    found = Intersection(view="box").attack([Shown(1, Generalized(table, attributes))], evidence)

    assert dict(found.per_person.select("person", "candidates").iter_rows()) == {
        key("ann"): 2,
        key("bob"): 2,
        key("cleo"): 1,
    }


@pytest.mark.parametrize("group", [[1, 7], [1, None]])
def test_a_mapping_of_other_files_is_refused(group):
    """A person in a group that the files do not have, or twice, means that the ledger is another
    one's.
    """
    shown, evidence = as_published(ANN_EXPOSED[:1], VALUES)
    other = pl.DataFrame(
        {"person": [key("ann"), key("bob")], "group": group}, schema=evidence.groups[1].schema
    )
    if group[1] is None:
        other = pl.concat([evidence.groups[1], evidence.groups[1]])
    with pytest.raises(ReleaseError, match="does not fit the files of release 1"):
        Intersection(view="person").attack(shown, Evidence(groups={1: other}))


def test_what_is_missing_is_named():
    """One sentence for a mapping, a table, or a sensitive attribute that is not there."""
    box = [(1, 2), ("x", "y")]
    shown, evidence = as_published([({"ann": ((1, "x"), 1)}, {1: (box, ["u"])})], {"ann": "u"})
    with pytest.raises(ReleaseError, match="person-to-group mapping"):
        Intersection(view="person").attack(shown, Evidence(microdata=evidence.microdata))
    with pytest.raises(ReleaseError, match="original table"):
        Intersection(view="box").attack(shown, Evidence(groups=evidence.groups))
    with pytest.raises(ReleaseError, match="'box' or 'person'"):
        Intersection(view="boxes")  # type: ignore[arg-type]
    bare = Shown(1, Generalized(shown[0].form.table.drop("ill"), ATTRIBUTES[:2]))
    with pytest.raises(ReleaseError, match="no sensitive attribute"):
        Intersection(view="person").attack([bare], evidence)


def test_the_json_has_the_documented_keys():
    """adversary, knows, persons, exposed, success, baseline, candidates, note."""
    box = [(1, 2), ("x", "y")]
    found = Intersection(view="box").attack(
        *as_published([({"ann": ((1, "x"), 1)}, {1: (box, ["u", "v"])})], {"ann": "u"})
    )

    assert list(found.to_json()) == [
        "adversary",
        "knows",
        "persons",
        "exposed",
        "success",
        "baseline",
        "candidates",
        "note",
    ]
    assert found.to_json()["candidates"] == {"2": 1}


def test_it_looks_at_intervals_only():
    """A release of buckets is refused in one sentence that names what fits it."""
    bucketized = Bucketized(
        pl.DataFrame({"bucket": [1]}),
        pl.DataFrame({"bucket": [1], "ill": ["flu"], "count": [1]}),
        (),
    )
    with pytest.raises(
        ReleaseError,
        match=(
            "release 1 is bucketized, and the intersection adversary looks at intervals; use the"
            " adversary 'posterior'"
        ),
    ):
        Intersection().attack([Shown(1, bucketized)], Evidence())


def test_a_person_of_the_mapping_alone_is_looked_at_too():
    """Somebody whom the mapping names, and the original table does not, counts by group also where
    persons are looked at one by one.
    """
    box = [(1, 2), ("x", "y")]
    persons = {"ann": ((1, "x"), 1), "bob": ((2, "y"), 1)}
    shown, evidence = as_published([(persons, {1: (box, ["u", "v"])})], {"ann": "u", "bob": "v"})
    table = evidence.microdata[1]
    without = replace(evidence, microdata={1: table.take(np.array([0]))})
    by_default = Intersection(view="person").attack(shown, without)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(intersection, "_AT_ONCE", 1)
        one_by_one = Intersection(view="person").attack(shown, without)
    assert by_default.persons == one_by_one.persons == 2
    assert one_by_one.per_person.sort("person").equals(by_default.per_person.sort("person"))
