# SPDX-License-Identifier: Apache-2.0
"""The extremes adversary: the town of the paper's example, possible worlds of small tables, widened
boxes, and what has no boxes.
"""

import datetime as dt
from functools import cache
from itertools import product
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversaries.groups.test_posterior import WORKED, published, release
from adversaries.groups.test_posterior import encoded as worked
from phalanx import Ledger, Mondrian, Schema, Series, Tree
from phalanx.adversaries import Extremes
from phalanx.adversaries.groups import ends
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.errors import ReleaseError
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import generalize, interval
from phalanx.release.forms.recoded import Recoded
from support.one_group import SCHEMA, OneGroup, registry, rows
from support.perturbed_cases import people, perturbed

KEY = PersonKey(bytes(32))
TOWN = Schema(
    identifier="name",
    quasi=["age", "net_worth"],
    sensitive="illness",
    types={"net_worth": "numeric"},
)


# The town


def town(n=24, seed=1):
    """Persons below two million, and ``rich``, who owns 35 million."""
    rng = np.random.default_rng(seed)
    worth = [*(rng.integers(1, 400, n - 1) * 5_000).tolist(), 35_000_000]
    names = [*(f"p{i}" for i in range(n - 1)), "rich"]
    return pl.DataFrame(
        {
            "name": names,
            "age": rng.integers(20, 80, n),
            "net_worth": worth,
            "illness": rng.choice(["a", "b", "c"], n),
        }
    )


def attacked(tmp_path, table, everybody=None, **parameters):
    """A release of the table, and what the adversary finds who knows everybody; the group of each
    person, by the ledger.
    """
    series = Series(
        "town", schema=TOWN, method=Mondrian(**parameters), to=tmp_path / "out", report=False
    )
    made = series.publish(table)
    with Ledger.open(f"sqlite:///{tmp_path / 'town.db'}") as ledger:
        key, groups = ledger.person_key("town"), ledger.groups("town", 1)
    microdata = Microdata.encode(table, TOWN, key, registry=everybody)
    found = Extremes().attack([made], Evidence(microdata={1: microdata}))
    return (
        made,
        found,
        found.per_person.join(groups.rename({"group": "true"}), on="person"),
        key.hash(pl.Series(["rich"]))[0],
    )


@pytest.mark.parametrize("k", [3, 4, 5])
@pytest.mark.parametrize("outside", [0, 24])
def test_the_papers_town(tmp_path, k, outside):
    """The one person above ten million is in the table, in their group, and owns 35 million; with
    others in town, of whom nobody knows who answered, too.
    """
    everybody = town(24 + outside, seed=2) if outside else None
    table = town() if everybody is None else everybody[outside:]
    made, found, persons, rich = attacked(tmp_path, table, everybody, k=k)
    (largest,) = [e for e in found.extremes if (e.attribute, e.end) == ("net_worth", "largest")]
    (of_rich,) = persons.filter(pl.col("person") == rich).iter_rows(named=True)
    group = made.form.table.filter(pl.col("group") == largest.group)

    assert largest.value == "35000000"
    assert (of_rich["exposed"], of_rich["group"], of_rich["true"]) == (
        True,
        largest.group,
        largest.group,
    )
    assert (largest.rows, group["net_worth_high"].unique().to_list()) == (
        group.height,
        [35_000_000],
    )
    assert largest.share == pytest.approx(
        group["illness"].value_counts()["count"].max() / largest.rows
    )
    assert group.filter(pl.col("illness") == largest.sensitive).height == round(
        largest.share * largest.rows
    )
    assert found.persons == 24


@pytest.mark.parametrize("k", [3, 4, 5])
def test_what_is_claimed_is_so(tmp_path, k):
    """Everybody who is claimed to be in a group is in it, and groups and their largest share are
    counted over these.
    """
    made, found, persons, _ = attacked(tmp_path, town(60, seed=4)[30:], town(60, seed=4), k=k)
    claimed = persons.filter("exposed")
    shares = made.form.table.group_by("group").agg(
        (pl.col("illness").value_counts().struct.field("count").max() / pl.len()).alias("share")
    )

    assert claimed["group"].to_list() == claimed["true"].to_list()
    assert (found.exposed, found.proving) == (claimed.height, claimed["group"].n_unique())
    assert found.exposed == found.histogram[1] > 0
    assert sum(found.histogram.values()) == found.persons == 30
    assert found.largest == pytest.approx(claimed.join(shares, on="group")["share"].max())
    assert found.groups == made.manifest.groups


def test_two_of_a_kind_hide_each_other(tmp_path):
    """With two who are as old and as rich, nobody can tell that one of them is there, nor is the
    extreme anybody's alone.
    """
    table = town()
    twins = pl.concat(
        [table, table.filter(pl.col("name") == "rich").with_columns(name=pl.lit("twin"))]
    )
    _, found, persons, rich = attacked(tmp_path, twins, k=3)

    assert [e for e in found.extremes if (e.attribute, e.end) == ("net_worth", "largest")] == []
    assert persons.filter(pl.col("person") == rich)["candidates"].to_list() == [2]
    assert not persons.filter(pl.col("person") == rich)["exposed"].any()


def test_nobody_alone_nobody_proven(tmp_path):
    """Where everybody has somebody with the same values, nothing is proven of anybody."""
    table = town()
    _, found, _, _ = attacked(
        tmp_path,
        pl.concat([table, table.with_columns(name=pl.lit("twin of ") + pl.col("name"))]),
        k=4,
    )
    assert (found.exposed, found.proving, found.extremes, found.alone, found.largest) == (
        0,
        0,
        (),
        0,
        None,
    )
    assert found.histogram.keys() <= {0, *range(2, 50)}


# Possible worlds

QUASI = ["a", "b"]
LEAVES = Tree.of_mapping({"first": ["m", "n"], "last": ["o", "p", "q", "r", "s", "t"]})
SMALL = Schema(
    identifier="who",
    quasi=QUASI,
    sensitive="s",
    missing="value",
    types={"a": "numeric"},
    hierarchies={"b": LEAVES},
)


def frame(tuples):
    """Persons with tuples of (a, b)."""
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(len(tuples))],
            "a": [t[0] for t in tuples],
            "b": [t[1] for t in tuples],
            "s": ["x"] * len(tuples),
        },
        schema={"who": pl.String, "a": pl.Int64, "b": pl.String, "s": pl.String},
    )


def small_release(tuples, there, groups, **said):
    """The persons at these places in groups, beside the population; and the microdata of both."""
    population = frame(tuples)
    table = population[there]
    form, ids = generalize(
        Microdata.encode(table, SMALL, KEY),
        np.arange(len(there)),
        np.asarray(groups),
        Randomness.seeded(1).stream("small"),
        **said,
    )
    made = release(form)
    if said:
        manifest = made.manifest.model_copy(
            update={"boxes": "widened", "method": {"name": "by hand"} | said}
        )
        made = Release(manifest, form, made.path)
    return made, Microdata.encode(table, SMALL, KEY, registry=population), population, ids


def worlds(made, population, box):
    """Every way in which persons may have been in groups or out of the table, such that each group
    has its published box; ``box``: that of some tuples.
    """
    columns = ["a_low", "a_high", "b_low", "b_high"]
    boxes = dict.fromkeys(
        (g, *ends) for g, *ends in made.form.table.select("group", *columns).iter_rows()
    )
    tuples = population.select(QUASI).rows()
    for placed in product([0, *sorted(g for g, *_ in boxes)], repeat=len(tuples)):
        inside = {
            g: [t for t, at in zip(tuples, placed, strict=True) if at == g] for g, *_ in boxes
        }
        if all(
            held and box(held) == tuple(ends)
            for (g, *ends), held in zip(boxes, inside.values(), strict=True)
        ):
            yield placed


def tight(held):
    """The least box of some tuples; a missing value lies below all others."""
    (a, b), least = zip(*held, strict=True), (-np.inf, "")
    ends = [
        f([least[i] if x is None else x for x in values])
        for i, values in enumerate((a, b))
        for f in (min, max)
    ]
    return tuple(None if x in least else x for x in ends)


def certain(made, population, box):
    """Who is in the same group in all worlds: the person's number and the group."""
    every = np.array(list(worlds(made, population, box)))
    same = (every == every[0]).all(axis=0) & (every[0] > 0)
    return {(int(i), int(every[0][i])) for i in np.flatnonzero(same)}


def claims(made, microdata, there):
    """Whom the adversary places where."""
    found = Extremes().attack([made], Evidence(microdata={1: microdata})).per_person
    assert found.height == len(there)
    return {
        (there[i], group) for i, group in enumerate(found["group"].to_list()) if group is not None
    }


@st.composite
def tables(draw, most=7):
    """A population of few values, some of them in the table."""
    person = st.tuples(
        st.sampled_from([None, 1, 2, 3, 5, 9]), st.sampled_from(["m", "n", "o", "q", None])
    )
    tuples = draw(st.lists(person, min_size=3, max_size=most))
    there = sorted(draw(st.sets(st.integers(0, len(tuples) - 1), min_size=2)))
    return tuples, there


@given(tables())
@settings(max_examples=60, deadline=None)
def test_claimed_is_whoever_is_in_all_worlds(case):
    """Of Mondrian's boxes, which share no persons, the adversary places exactly those who are in
    the same group in every table that has these boxes.
    """
    tuples, there = case
    population = frame(tuples)
    draft = Mondrian(k=2).publish(
        Microdata.encode(population[there], SMALL, KEY), Memory(), Randomness.seeded(1)
    )
    made = release(draft.form)
    microdata = Microdata.encode(population[there], SMALL, KEY, registry=population)

    assert claims(made, microdata, there) == certain(made, population, tight)


def fewest(made, tuples, person):
    """The fewest who can have set an end that a person can have set, by comparing everybody with
    every end.
    """

    def at(x):
        return (x is not None, x)

    counts = []
    for a_low, a_high, b_low, b_high in made.form.table.select(
        "a_low", "a_high", "b_low", "b_high"
    ).rows():
        inside = [
            t
            for t in tuples
            if at(a_low) <= at(t[0]) <= at(a_high) and at(b_low) <= at(t[1]) <= at(b_high)
        ]
        for i, end in ((0, a_low), (0, a_high), (1, b_low), (1, b_high)):
            setting = [t for t in inside if t[i] == end]
            counts += [len(setting)] * (person in setting)
    return min(counts, default=0)


@given(tables(most=6), st.data())
@settings(max_examples=60, deadline=None)
def test_boxes_that_overlap(case, data):
    """Of groups as they come, whose boxes overlap, whoever is placed is there in all worlds."""
    tuples, there = case
    groups = [0, *(data.draw(st.integers(0, 1)) for _ in there[1:])]
    made, microdata, population, _ = small_release(tuples, there, groups)
    assert claims(made, microdata, there) <= certain(made, population, tight)
    found = Extremes().attack([made], Evidence(microdata={1: microdata}))
    assert found.per_person["candidates"].to_list() == [
        fewest(made, tuples, tuples[i]) for i in there
    ]


def widened(microdata, widths):
    """The box that widening to these widths makes of some tuples."""

    @cache
    def moved(name, *tight_ends):
        domain = microdata.columns[name].domain
        codes = [np.array([domain.values.index_of(end)], dtype=np.int32) for end in tight_ends]
        return [end[0] for end in interval(name, domain, *codes, widths.get(name))[-2:]]

    def box(held):
        a_low, a_high, b_low, b_high = tight(held)
        return (*moved("a", a_low, a_high), *moved("b", b_low, b_high))

    return box


WIDTHS = [
    {"a": 0.5},
    {"a": 1},
    {"a": 2},
    {"a": 3},
    {"a": 5},
    {"b": 2},
    {"b": 3},
    {"b": 5},
    {"a": 2, "b": 2},
]


@given(tables(most=6), st.data(), st.sampled_from(WIDTHS))
@settings(max_examples=60, deadline=None)
def test_ends_that_were_moved_prove_nothing(case, data, widths):
    """Of widened boxes, whoever is placed is there in all worlds that widen to them, and nobody is
    placed who would not be without widening.
    """
    tuples, there = case
    groups = [0, *(data.draw(st.integers(0, 1)) for _ in there[1:])]
    made, microdata, population, _ = small_release(tuples, there, groups, min_width=widths)
    unwidened, _, _, _ = small_release(tuples, there, groups)
    claimed = claims(made, microdata, there)

    assert claimed <= certain(made, population, widened(microdata, widths))
    assert {who for who, _ in claimed} <= {who for who, _ in claims(unwidened, microdata, there)}


def widening(domain, low, high, width):
    """The ends of the interval between two codes, widened."""
    return interval("x", domain, np.array([low], np.int32), np.array([high], np.int32), width)[-2:]


def misread(domain, low, high, width):
    """Whether widening moves an end of the interval between two codes, and the adversary does not
    see that it may have.
    """
    after = widening(domain, low, high, width)
    changed = [end[0] for end in after] != [domain.values[low], domain.values[high]]
    return changed and ends._unmoved(domain, *after, width)[0]


KINDS = {
    "whole": (st.integers(-(2**63), 2**63 - 1) | st.integers(-50, 50), pl.Int64, "numeric"),
    "floats": (
        st.floats(allow_nan=False, allow_infinity=False)
        | st.integers(-99, 99).map(lambda x: x / 10),
        pl.Float64,
        "numeric",
    ),
    "days": (
        st.dates()
        | st.dates(max_value=dt.date(1, 2, 1))
        | st.dates(min_value=dt.date(9999, 12, 1)),
        pl.Date,
        "date",
    ),
}


@given(
    st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from([0.1, 0.5, 0.7, 1, 2, 3, 5, 10, 100])
)
@settings(max_examples=400, deadline=None)
def test_an_end_that_moved_is_never_taken_for_somebodys(data, kind, width):
    """Of no interval that widening changed does the adversary read an end, whatever its type,
    however near to what can be written, or missing.
    """
    values, dtype, of = KINDS[kind]
    pair = pl.Series(
        "x",
        data.draw(st.lists(st.none() | values, min_size=1, max_size=2, unique=True)),
        dtype=dtype,
    )
    assert not misread(Domain(of, pair.sort()), 0, len(pair) - 1, width)


@pytest.mark.parametrize("missing", [[], [None]])
def test_a_leaf_that_moved_is_never_taken_for_somebodys(missing):
    """The same of all intervals of eight leaves, and a missing one, and all widths; of some that
    did not move, ends are read.
    """
    domain = Domain("categorical", pl.Series("x", [*missing, *"mnopqrst"]), LEAVES)
    every = [
        (low, high, width)
        for high in range(len(domain))
        for low in range(high + 1)
        for width in range(1, 10)
    ]
    assert not any(misread(domain, *one) for one in every)
    assert any(ends._unmoved(domain, *widening(domain, *one), one[2])[0] for one in every)


def test_a_missing_end_is_not_moved():
    """That somebody without a value is in a group is read off a widened box as well."""
    made, microdata, _, ids = small_release(
        [(None, "m"), (1, "m"), (1, "m")], [0, 1], [0, 0], min_width={"a": 5}
    )
    assert claims(made, microdata, [0, 1]) == {(0, ids[0])}


def test_a_careless_reader_of_widened_boxes_is_seen():
    """The worlds refuse an adversary that takes a moved end for somebody's value: 0 and 2 hold 1
    and 1, and somebody outside has 0.
    """
    case = [(1, "m"), (1, "m"), (0, "m")], [0, 1], [0, 0]
    made, microdata, population, _ = small_release(*case, min_width={"a": 2})
    true = certain(made, population, widened(microdata, {"a": 2}))
    assert claims(made, microdata, case[1]) == true == set()
    with mock.patch.object(ends, "_unmoved", return_value=np.ones(1, dtype=bool)):
        assert ends.Ends.of(made, microdata).only.max() == 2


# Forms and questions


def test_the_order_of_rows_tells_nothing():
    """The same persons in another order are placed in the same groups, and all figures are the
    same.
    """
    everybody = town(60, seed=4)
    table = everybody[30:]
    made = release(
        Mondrian(k=3)
        .publish(Microdata.encode(table, TOWN, KEY), Memory(), Randomness.seeded(1))
        .form
    )
    shuffled = np.random.default_rng(3).permutation(30)
    first, second = (
        Extremes().attack(
            [made], Evidence(microdata={1: Microdata.encode(t, TOWN, KEY, registry=r)})
        )
        for t, r in ((table, everybody), (table[shuffled], everybody.reverse()))
    )
    assert first.to_json() == second.to_json()
    assert first.per_person.sort("person").equals(second.per_person.sort("person"))


def test_extremes_of_days_and_leaves():
    """Ends of dates and of a hierarchy's leaves are read in their order; a missing value is no
    extreme.
    """
    tree = Tree.of_mapping({"low": ["c", "a"], "high": ["d", "b"]})
    schema = Schema(
        quasi=["day", "leaf"], sensitive="s", missing="value", hierarchies={"leaf": tree}
    )
    days = [None, dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2021, 5, 5)]
    microdata = Microdata.encode(
        pl.DataFrame({"day": days, "leaf": ["a", "a", "b", "d"], "s": ["x", "x", "x", None]}),
        schema,
    )
    made = release(
        generalize(
            microdata, np.arange(4), np.array([0, 0, 1, 1]), Randomness.seeded(1).stream("small")
        )[0]
    )
    found = Extremes().attack([made], Evidence(microdata={1: microdata}))

    assert [(e.attribute, e.end, e.value) for e in found.extremes] == [
        ("day", "largest", "2021-05-05"),
        ("leaf", "largest", "b"),
    ]
    assert found.per_person["exposed"].to_list() == [True, True, True, True]
    assert (found.largest, found.alone) == (1.0, 2)
    assert {(e.sensitive, e.share) for e in found.extremes} <= {("x", 0.5), (None, 0.5)}


def test_wider_boxes_tell_less(tmp_path):
    """With a least width of ages and of net worth fewer persons are proven to be there; the
    interval that is wide by itself still ends at the rich one's.
    """
    found = {}
    for name, width in (("tight", {}), ("widened", {"age": 20, "net_worth": 1_000_000})):
        (tmp_path / name).mkdir()
        _, found[name], persons, _ = attacked(
            tmp_path / name, town(60, seed=4), k=3, min_width=width
        )
        claimed = persons.filter("exposed")
        assert claimed["group"].to_list() == claimed["true"].to_list()
    assert 0 < found["widened"].exposed < found["tight"].exposed
    assert "only ends that this cannot have moved" in found["widened"].note
    assert "35000000" in {e.value for e in found["widened"].extremes}


def test_registered_persons_may_have_set_any_end(tmp_path):
    """Of groups that hold registered persons without a row no end is read, since these may have set
    it.
    """
    series = Series(
        "r", schema=SCHEMA, method=OneGroup(groups=1), to=tmp_path / "out", report=False
    )
    table = rows().with_columns(age=pl.int_range(20, 32))
    without = Extremes().attack(
        [series.publish(table)], Evidence(microdata={1: Microdata.encode(table, SCHEMA, KEY)})
    )
    other = Series("s", schema=SCHEMA, method=OneGroup(groups=1), to=tmp_path / "out", report=False)
    beside = Evidence(microdata={1: Microdata.encode(table, SCHEMA, KEY, registry=registry())})
    found = Extremes().attack([other.publish(table, registry=registry())], beside)

    assert (without.exposed, found.exposed, found.histogram) == (2, 0, {0: 12})
    assert "registered persons" in found.note


def test_sets_of_values_count_one_by_one():
    """The share of a sensitive value is that of the rows whose set holds it."""
    schema = Schema(quasi=["a"], sensitive="s")
    microdata = Microdata.encode(
        pl.DataFrame({"a": [1, 2, 3], "s": [["x"], ["x", "y"], ["z"]]}), schema
    )
    made = release(
        generalize(
            microdata,
            np.arange(3),
            np.zeros(3, dtype=np.int64),
            Randomness.seeded(1).stream("small"),
        )[0]
    )
    found = Extremes().attack([made], Evidence(microdata={1: microdata}))
    assert [(e.sensitive, e.share) for e in found.extremes] == [("x", 2 / 3)] * 2


def test_a_fixed_scheme_leaves_nothing_to_read():
    """A recoded release proves nobody to be there, and the note says why."""
    microdata = worked(WORKED)
    made = release(
        generalize(
            microdata,
            np.arange(8),
            np.zeros(8, dtype=np.int64),
            Randomness.seeded(1).stream("small"),
        )[0]
    )
    recoded = Release(
        made.manifest,
        Recoded(pl.DataFrame({"a_low": [0, 0], "a_high": [50, 50]}), (), {}),
        made.path,
    )
    found = Extremes().attack([recoded], Evidence(microdata={1: microdata}))
    assert (found.persons, found.exposed, found.histogram, found.extremes) == (8, 0, {0: 8}, ())
    assert "no end follows any person's value" in found.note


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("sliced", "a sliced release has no boxes of groups"),
        ("bucketized", "shows each person's quasi-identifiers as they are"),
        ("perturbed", "play 'informed'"),
    ],
)
def test_forms_without_boxes(kind, sentence):
    """One sentence each."""
    microdata = people(WORKED) if kind == "perturbed" else worked(WORKED)
    made = (
        perturbed(microdata, np.zeros((8, 3)))[0]
        if kind == "perturbed"
        else published(kind, microdata, [0] * 4 + [1] * 4)
    )
    with pytest.raises(ReleaseError, match=sentence):
        Extremes().attack([made], Evidence(microdata={1: microdata}))


def test_another_table_is_refused():
    """Without an original table, or with one that cannot have made these boxes, there is one
    sentence; so is there for two releases.
    """
    microdata = worked(WORKED)
    made = published("generalized", microdata, [0] * 4 + [1] * 4)
    other = worked([(40, "F", "47906", "flu"), *WORKED[1:]])
    with pytest.raises(ReleaseError, match="no original table"):
        Extremes().attack([made], Evidence())
    with pytest.raises(ReleaseError, match="that no row of the original table can have set"):
        Extremes().attack([made], Evidence(microdata={1: other}))
    with pytest.raises(ReleaseError, match="one release at a time"):
        Extremes().attack([made, made], Evidence(microdata={1: microdata}))
