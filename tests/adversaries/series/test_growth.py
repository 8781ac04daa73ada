# SPDX-License-Identifier: Apache-2.0
"""The growth adversary on made-up series: it names the holders of groups that grew around them, and
does no better than the bound where groups do not look.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.growth import Grouped
from phalanx.adversaries import Growth
from phalanx.adversaries.series import growing, growth, joining
from phalanx.adversaries.series.growing import Demand, Group, Left, reached
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import generalize
from phalanx.release.manifest import Manifest
from phalanx.series.series import Series
from phalanx.verification import gather_evidence
from support import work

SCHEMA = Schema(
    identifier="who",
    quasi=["age", "zip"],
    sensitive="ill",
    types={"age": "numeric", "zip": "numeric"},
)


def tables(seed, releases=3, n=400, holders=0.06):
    """A changing table: most persons come back, and who holds the value changes."""
    rng = np.random.default_rng(seed)
    age, zip_code = rng.integers(0, 1000, 2 * n), rng.integers(0, 1000, 2 * n)
    for _ in range(releases):
        here = np.sort(rng.permutation(2 * n)[:n])
        ill = np.where(rng.random(n) < holders, "hiv", "none")
        yield pl.DataFrame(
            {"who": [f"p{i}" for i in here], "age": age[here], "zip": zip_code[here], "ill": ill}
        )


def series_of(method, folder, seed=1, changed=lambda table: table):
    """A published series, of tables that may be ``changed``, and what the adversary knows beside it."""
    given_tables, ledger = [changed(t) for t in tables(seed)], f"sqlite:///{folder}/l.db"
    series = Series(
        "made-up", schema=SCHEMA, method=method, to=folder, ledger=ledger, report=False, seed=seed
    )
    releases = [series.publish(table) for table in given_tables]
    return (
        releases,
        gather_evidence(releases, ledger=ledger, originals=given_tables, identifier="who")[0],
    )


@pytest.mark.parametrize("strategy", ["adaptive", "geometric", "constant-ratio"])
def test_groups_that_grew_give_their_holders_away(strategy, tmp_path):
    """Bottom-up groups: where the replay is clear it names holders more often than the bound
    allows, and everywhere more often than chance would.
    """
    horizon = {"horizon": 5} if strategy == "constant-ratio" else {}
    found = Growth().attack(
        *series_of(
            GlobalGuarantee(
                l=2, strategy=strategy, protect=["hiv"], grouping="bottom-up", **horizon
            ),
            tmp_path,
        )
    )
    assert found.bound == Fraction(1, 2) and found.groups > 30
    assert found.clear >= 5 and found.clear_interval[0] > found.bound and not found.by_luck
    assert found.interval[0] > found.baseline
    assert (
        found.exposed <= found.clear <= found.groups
        and sum(found.histogram.values()) == found.persons
    )
    assert found.per_person["exposed"].sum() == found.exposed


def test_a_value_that_is_named_by_lot_exposes_no_one(tmp_path):
    """Where two protected values are as likely as each other, it is right every other time: that is
    no holder whom it names.
    """
    rng = np.random.default_rng(7)
    age, zip_code = rng.integers(0, 100, 230), rng.integers(0, 6, 230)
    given_tables = []
    for _ in range(3):
        here = np.sort(rng.permutation(230)[:115])
        ill = rng.choice(list("abcdef"), 115, p=[0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
        who = [f"p{i}" for i in here]
        given_tables.append(
            pl.DataFrame({"who": who, "age": age[here], "zip": zip_code[here], "ill": ill})
        )
    method = GlobalGuarantee(l=2, strategy="adaptive", protect=["a", "b"], grouping="bottom-up")
    ledger = f"sqlite:///{tmp_path}/l.db"
    series = Series("s", schema=SCHEMA, method=method, to=tmp_path, ledger=ledger, seed=7)
    releases = [series.publish(table) for table in given_tables]
    known = gather_evidence(releases, ledger=ledger, originals=given_tables, identifier="who")[0]
    found = Growth().attack(releases, known)
    assert found.exposed == found.per_person["exposed"].sum()
    assert found.exposed < found.clear * found.clear_success
    assert f"and right in {found.exposed} of these" in found.by_luck or not found.by_luck


def test_where_all_values_are_protected_it_names_one(tmp_path):
    """Each member holds some protected value then, so that naming any would always be right; it
    names a value too, and is right no more often than the promise allows.
    """
    found = Growth().attack(
        *series_of(
            GlobalGuarantee(l=2, strategy="adaptive"),
            tmp_path,
            changed=lambda table: table.with_columns(
                ill=pl.lit("ill ") + (pl.int_range(pl.len()) % 7).cast(str)
            ),
        )
    )
    assert found.groups > 40 and found.clear > 0
    assert found.baseline < 0.5 and found.interval[0] < found.bound
    assert found.by_luck.startswith(f"It is sure of itself in {found.clear} ")


@pytest.mark.parametrize(
    ("named", "share"), [([[1, 1], [0, 1]], [1, 0.5]), ([[0, 1], [1, 0]], [0, 1])]
)
def test_a_member_is_named_with_a_value(named, share):
    """By hand: two members, a with flu and b with flu too; of two values that press alike either is
    named.
    """
    named = np.array(named, dtype=bool)
    assert growth._right(named, [["flu"], ["flu"]], ["flu", "hiv"]).tolist() == share


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        {"strategy": "adaptive", "grouping": "bottom-up"},
        {"strategy": "geometric"},
        {"strategy": "adaptive", "grouping": "bottom-up", "permanent": ["flu"]},
    ],
)
def test_what_it_names_is_that_of_all_rows(more, hidden, monkeypatch, tmp_path):
    """A twin that looks at all rows for each group, however far they are, names the same persons
    with the same figures; also where two values are protected, one of them stays with a person, and
    rows are in no group.
    """
    ill = pl.when(pl.col("who").str.ends_with("7")).then(pl.lit("flu")).otherwise("ill")
    releases, evidence = series_of(
        GlobalGuarantee(l=2, protect=["hiv", "flu"], **more),
        tmp_path,
        changed=lambda table: table.with_columns(ill=ill),
    )
    if hidden:
        for number, mapping in evidence.groups.items():
            microdata = evidence.microdata[number]
            values = microdata.sensitive.domain.values[microdata.sensitive.codes]
            away = microdata.persons.filter(values == "none").gather_every(5)
            evidence.groups[number] = mapping.filter(~pl.col("person").is_in(away.implode()))
    quick = Growth().attack(releases, evidence)
    monkeypatch.setattr(growth, "_Grouped", Grouped)
    monkeypatch.setattr(growing, "_longest", lambda _: np.inf)
    slow = Growth().attack(releases, evidence)
    assert quick.to_json() == slow.to_json() and quick.groups > 30
    assert quick.per_person.equals(slow.per_person)


def blind(table, size, number):
    """A release whose groups quasi-identifiers alone decide: rows in the order of age and then zip,
    so many to a group; valid ones only are looked at.
    """
    microdata = Microdata.encode(table, SCHEMA, PersonKey(bytes(32)))
    place = np.empty(microdata.rows, dtype=np.int64)
    place[np.lexsort((microdata.quasi[1].codes, microdata.quasi[0].codes // 50))] = (
        np.arange(microdata.rows) // size
    )
    form, ids = generalize(
        microdata, np.arange(microdata.rows), place, Randomness.seeded(number).stream("blind")
    )
    promise = GlobalGuarantee(l=2, strategy="geometric", protect=["hiv"])
    manifest = Manifest(
        series="blind", number=number, form="generalized", method=promise.parameters(), guarantees=[g.parameters() for g in promise.guarantees],
        attributes=list(form.attributes), rows=form.rows, groups=form.groups, counterfeits=0, boxes="tight", files=[],
    )  # fmt: skip
    return (
        Release(manifest, form, Path("nowhere")),
        microdata,
        pl.DataFrame({"person": microdata.persons, "group": ids[place]}),
    )


@pytest.mark.parametrize("size", [2, 4])
def test_groups_that_do_not_look_give_nobody_away(size):
    """Against a partition that quasi-identifiers alone decide it names holders as often as anybody
    does, over many tables (five standard deviations).
    """
    right, promised, spread, groups = 0.0, 0.0, 0.0, 0
    for seed in range(12):
        shown = [
            blind(table, size, number)
            for number, table in enumerate(tables(seed, releases=2, n=200), 1)
        ]
        evidence = Evidence(
            groups={r.number: m for r, _, m in shown}, microdata={r.number: d for r, d, _ in shown}
        )
        found = Growth().attack([r for r, _, _ in shown], evidence)
        right, promised, groups = (
            right + found.success * found.groups,
            promised + found.baseline * found.groups,
            groups + found.groups,
        )
        spread += found.groups * found.baseline * (1 - found.baseline)
    assert groups > 150
    assert abs(right - promised) <= 5 * np.sqrt(spread)
    assert right / groups <= 1 / size + 5 * np.sqrt(spread) / groups + (1 / size) * 0.2


def test_a_clear_replay_by_hand():
    """On a line, members 10, 11, 13 and a stranger at 8.5: from 10 the stranger comes before 13,
    from 13 nobody does; 11 reaches 10 and then the stranger.
    """
    points = lambda *places: np.array([[float(p)] for p in places])  # noqa: E731
    ones = np.ones
    group = Group(points(10, 11, 13), points(8.5), ones(3), ones(1), single=True)
    assert reached(group, Demand(2)).tolist() == [1, 1, 2]
    spent = Group(points(10, 11, 13), points(8.5), ones(3), 2 * ones(1), single=True)
    assert reached(spent, Demand(2)).tolist() == [2, 2, 2]
    pressed = Group(
        points(10, 11, 13), points(8.5), np.array([3.0, 4.0, 4.0]), 9 * ones(1), single=True
    )
    assert reached(pressed, Demand(2, known=True)).tolist() == [-1, 2, 2]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=6),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=8),
)
@settings(max_examples=200, deadline=None)
def test_reach_is_that_of_a_slow_twin(members, others):
    """How far every member gets is what growing by hand says, one row after the other among all
    rows.
    """
    group = Group(
        np.array(members, dtype=float),
        np.array(others, dtype=float).reshape(-1, 2),
        np.ones(len(members)),
        np.ones(len(others)),
        single=True,
    )
    assert reached(group, Demand(2)).tolist() == [
        slowly(members, others, seed) for seed in range(len(members))
    ]


@pytest.mark.parametrize(("together", "near"), [(1, 1), (2, 3), (16, 64)])
@pytest.mark.parametrize("wide", [4, 9, 40])
def test_those_who_look_near_find_what_is_far(monkeypatch, together, near, wide):
    """Members who look at what is near them first get as far as those who look at all, however few
    they look at, also where many stand at one place.
    """
    monkeypatch.setattr(joining, "_TOGETHER", together)
    monkeypatch.setattr(joining, "_NEAR", near)
    rng = np.random.default_rng(wide)
    for _ in range(12):
        members, others = (
            rng.integers(0, wide, (many, 2)).astype(float) for many in rng.integers(1, 60, 2)
        )
        rows = [[tuple(row) for row in side.tolist()] for side in (members, others)]
        expected = [slowly(*rows, seed) for seed in range(len(members))]
        assert joining.joined(members, others).tolist() == expected


def test_a_large_group_takes_no_square_of_its_time(monkeypatch):
    """Of 4,000 members among 8,000 others few look at more than what is near them."""
    places = 0
    wider = joining._wider

    def counting(rows, low, high):
        nonlocal places
        places += len(rows) * len(low)
        return wider(rows, low, high)

    monkeypatch.setattr(joining, "_wider", counting)
    rng = np.random.default_rng(5)
    joining.joined(rng.random((4_000, 2)), rng.random((8_000, 2)))
    assert places < 4_000 * 12_000


def slowly(members, others, seed):
    """Whole boxes measured anew at every step; ties to members, of these to the first."""
    box, left, joined = [members[seed]], [m for i, m in enumerate(members) if i != seed], 0
    width = lambda rows: sum(max(r[q] for r in rows) - min(r[q] for r in rows) for q in range(2))  # noqa: E731
    while left:
        best = min(left, key=lambda row: width([*box, row]))
        if any(width([*box, row]) < width([*box, best]) for row in others):
            return joined
        box.append(best)
        left.remove(best)
        joined += 1
    return joined


def test_demands_are_those_of_the_strategies():
    """By hand, l = 2: somebody with survival 9/16 must have 9 members, with alpha = 2 18; the
    constant ratio of two exposures is 2 + sqrt 2.
    """
    least = GlobalGuarantee(l=2, strategy="adaptive").parameters()
    assert Demand.of(least).ratio(np.array([1, 9 / 16, 0.5])) == pytest.approx([2, 9, np.inf])
    assert Demand.of(GlobalGuarantee(l=2, strategy="geometric").parameters()).ratio(
        np.array([9 / 16])
    ) == pytest.approx([18])
    constant = Demand.of(GlobalGuarantee(l=2, strategy="constant-ratio", horizon=2).parameters())
    assert constant.ratio(np.array([1, 9 / 16])) == pytest.approx([2 + np.sqrt(2), 9])
    assert constant.known and not Demand.of(least).known


def slowly_asked(demand, persons, survival, value, rows):
    """What rows demand, person by person."""
    left = [survival.get(value, {}).get(persons[row], 1.0) for row in rows]
    return demand.ratio(np.array(left, dtype=np.float64))


@pytest.mark.parametrize("linked", [0, 3, 40])
def test_what_is_asked_of_rows_is_that_of_their_persons(linked):
    """Of those whom a group linked before it is what is left to them, of all others the same: also
    where the table has other persons than were linked, or a value was beside no one.
    """
    rng = np.random.default_rng(linked)
    persons = [bytes([i]) for i in rng.permutation(60)]
    left, survival = Left(), {"a": {}, "b": {}}
    for value in ("a", "b", "b", "a", "b") if linked else ():
        persons_linked = [bytes([i]) for i in rng.choice(90, linked, False)]
        kept = rng.uniform(0.6, 1, linked)
        left.link(value, left.numbers(persons_linked), kept)
        for person, share in zip(persons_linked, kept.tolist(), strict=True):
            survival[value][person] = survival[value].get(person, 1.0) * share
    demand = Demand(2.0, factor=2.0, known=True)
    asked = growing.Asked(demand, left.numbers(persons), left)
    for value in ("a", "b", "never"):
        for rows in (np.arange(60), rng.integers(0, 60, 200), np.zeros(0, dtype=np.int64)):
            expected = slowly_asked(demand, persons, survival, value, rows.tolist())
            assert np.array_equal(asked.of(value, rows), expected)


def test_values_take_no_room_for_every_person():
    """What is asked of 2,000 persons for 2,000 values is not laid down for all of both."""
    persons = [i.to_bytes(2, "big") for i in range(2000)]
    left = Left()
    numbers = left.numbers(persons)
    for value in range(2000):
        left.link(value, numbers[value : value + 1], np.array([0.9]))
    demand = Demand(2.0, factor=2.0, known=True)
    assert work.memory(lambda: growing.Asked(demand, numbers, left)) < 8_000_000


def test_a_stranger_nearby_is_seen(monkeypatch, tmp_path):
    """An adversary that takes no notice of who stands outside a group finds no clear replay: what
    is found stems from them.
    """
    releases, evidence = series_of(
        GlobalGuarantee(l=2, strategy="adaptive", protect=["hiv"], grouping="bottom-up"), tmp_path
    )
    assert Growth().attack(releases, evidence).clear
    monkeypatch.setattr(
        growing, "joined", lambda members, _: np.full(len(members), len(members) - 1)
    )
    assert not Growth().attack(releases, evidence).clear


def test_groups_of_which_none_grew_are_refused(tmp_path):
    """Of cohorts alone there is nobody to name, which is no matter of another table's persons."""
    staying = GlobalGuarantee(l=2, protect=["hiv"], permanent=["hiv"])
    stays = lambda table: table.with_columns(  # noqa: E731
        ill=pl.when(pl.col("age") % 20 == 0).then(pl.lit("hiv")).otherwise(pl.lit("flu"))
    )
    with pytest.raises(ReleaseError, match="no group of the releases grew around a row"):
        Growth().attack(*series_of(staying, tmp_path, changed=stays))


def test_what_it_needs_is_asked_for(tmp_path):
    """Without a mapping, an original or a promise it concludes nothing; a bound is a share."""
    releases, evidence = series_of(GlobalGuarantee(l=2, protect=["hiv"]), tmp_path)
    with pytest.raises(ReleaseError, match="release 1 lacks them"):
        Growth().attack(releases, Evidence(microdata=evidence.microdata))
    with pytest.raises(ReleaseError, match="release 1 lacks them"):
        Growth().attack(releases, Evidence(groups=evidence.groups))
    other = [
        Release(r.manifest.model_copy(update={"guarantees": []}), r.form, r.path) for r in releases
    ]
    with pytest.raises(ReleaseError, match="no global guarantee"):
        Growth().attack(other, evidence)
    swapped = Evidence(
        microdata={1: evidence.microdata[2], 2: evidence.microdata[1], 3: evidence.microdata[3]},
        groups=evidence.groups,
    )
    with pytest.raises(ReleaseError, match=r"of release 1 lacks persons of its groups; give the"):
        Growth().attack(releases, swapped)
    with pytest.raises(PlanError, match="the bound"):
        Growth(bound=2)
    assert Growth(bound="1/3").attack(releases, evidence).to_json()["bound"] == "1/3"
