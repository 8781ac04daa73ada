"""The intersection adversary concludes what Lemma 1 says, for every person."""

from dataclasses import dataclass
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import adversaries as naive

from phalanx.adversaries import Intersection
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.release.evidence import Evidence
from phalanx.release.generalized import Generalized
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


def key(name):
    return KEY.hash(pl.Series("who", [name]))[0]


def ends(xs):
    present = [x for x in xs if x is not None]
    low = None if None in xs else min(present)
    return low, (max(present) if present else None)


@st.composite
def series(draw):
    """Up to 3 releases of up to 7 persons in arbitrary groups with minimum boxes, missing values among the quasi-identifiers."""
    people = [f"p{i}" for i in range(draw(st.integers(1, 7)))]
    values = {p: draw(st.sampled_from("uvw")) for p in people}
    releases = []
    for _ in range(draw(st.integers(1, 3))):
        present = draw(st.lists(st.sampled_from(people), min_size=1, unique=True))
        point = {p: (draw(st.none() | st.integers(0, 4)), draw(st.none() | st.sampled_from("xyz"))) for p in present}
        group = {p: draw(st.integers(1, 3)) for p in present}
        ids = {g: i for i, g in enumerate(sorted(set(group.values())), 1)}
        group = {p: ids[g] for p, g in group.items()}
        groups = {g: ([ends([point[p][i] for p in present if group[p] == g]) for i in range(2)], [values[p] for p in present if group[p] == g]) for g in ids.values()}
        releases.append(({p: (point[p], group[p]) for p in present}, groups))
    return releases, values


def as_published(releases, values):
    """The same series as releases and evidence."""
    shown, groups, microdata = [], {}, {}
    for number, (persons, boxes) in enumerate(releases, 1):
        rows = [(g, *box[0], *box[1], v) for g, (box, held) in boxes.items() for v in held]
        types = {"group": pl.Int64, "a_low": pl.Int64, "a_high": pl.Int64, "b_low": pl.String, "b_high": pl.String, "ill": pl.String}
        shown.append(Shown(number, Generalized(pl.DataFrame(rows, schema=types, orient="row"), ATTRIBUTES)))
        groups[number] = pl.DataFrame([(key(p), g) for p, (_, g) in persons.items()], schema={"person": pl.Binary, "group": pl.Int64}, orient="row")
        table = [(p, *point, values[p]) for p, (point, _) in persons.items()]
        types = {"who": pl.String, "a": pl.Int64, "b": pl.String, "ill": pl.String}
        microdata[number] = Microdata.encode(pl.DataFrame(table, schema=types, orient="row"), SCHEMA, KEY)
    return shown, Evidence(groups=groups, microdata=microdata)


@pytest.mark.parametrize("view", ["box", "person"])
@given(case=series())
@settings(deadline=None)
def test_every_person_has_the_twins_candidates(view, case):
    """Candidates left, persons exposed, success and baseline are those of the slow twin."""
    releases, values = case

    found = Intersection(view=view).attack(*as_published(releases, values))

    left = naive.intersection(releases, view)
    sizes = dict(found.per_person.select("person", "candidates").iter_rows())
    assert sizes == {key(p): len(c) for p, c in left.items()}
    assert set(found.per_person.filter("exposed")["person"]) == {key(p) for p in naive.exposed(releases, values, view)}
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

    by_box, by_person = (set(Intersection(view=v).attack(shown, evidence).per_person.filter("exposed")["person"]) for v in ("box", "person"))

    assert by_box <= by_person


def test_a_union_of_releases_would_find_nobody():
    """The test sees a broken adversary: one that adds candidates up instead of intersecting them exposes nobody here."""
    box = [(1, 2), ("x", "y")]
    releases = [
        ({"ann": ((1, "x"), 1), "bob": ((2, "y"), 1)}, {1: (box, ["u", "v"])}),
        ({"ann": ((1, "x"), 1), "cleo": ((2, "y"), 1)}, {1: (box, ["u", "w"])}),
    ]
    values = {"ann": "u", "bob": "v", "cleo": "w"}

    assert Intersection(view="box").attack(*as_published(releases, values)).exposed == 1
    united = {name: naive.intersection(releases[:1], "box").get(name, set()) | naive.intersection(releases[1:], "box").get(name, set()) for name in values}
    assert all(len(c) > 1 for c in united.values())


def test_a_changed_value_is_told_apart():
    """A person whose value changed is counted in the note; being certain and wrong is not exposing."""
    box = [(1, 2), ("x", "y")]
    persons = {"ann": ((1, "x"), 1), "bob": ((2, "y"), 1)}
    shown, evidence = as_published([(persons, {1: (box, ["u", "v"])})], {"ann": "u", "bob": "v"})
    again, later = as_published([(persons, {1: (box, ["w", "v"])})], {"ann": "w", "bob": "v"})
    both = Evidence(groups=evidence.groups | {2: later.groups[1]}, microdata=evidence.microdata | {2: later.microdata[1]})

    found = Intersection(view="person").attack([*shown, Shown(2, again[0].form)], both)

    assert found.exposed == 1
    assert "1 person(s) changed the sensitive value" in found.note
    assert "certain and wrong about 1 person(s)" in found.note


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
    found = Intersection(view="box").attack(*as_published([({"ann": ((1, "x"), 1)}, {1: (box, ["u", "v"])})], {"ann": "u"}))

    assert list(found.to_json()) == ["adversary", "knows", "persons", "exposed", "success", "baseline", "candidates", "note"]
    assert found.to_json()["candidates"] == {"2": 1}
