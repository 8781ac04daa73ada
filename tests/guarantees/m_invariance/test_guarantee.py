# SPDX-License-Identifier: Apache-2.0
"""m-invariance over a series: the paper's worked example, broken twins, and what is said where
nothing can be checked.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import guarantees as naive
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.guarantees.m_invariance.guarantee import MInvariance
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import Manifest, PublishedAttribute

KEY = PersonKey(bytes(range(32)))
SCHEMA = Schema(identifier="name", quasi=["age", "zip"], sensitive="disease", missing="value")
ATTRIBUTES = (
    PublishedAttribute(name="age", role="quasi", type="numeric", columns=["age_low", "age_high"]),
    PublishedAttribute(name="zip", role="quasi", type="numeric", columns=["zip_low", "zip_high"]),
    PublishedAttribute(name="disease", role="sensitive", type="categorical", columns=["disease"]),
)
DYS, BRO, FLU, GAS = "dyspepsia", "bronchitis", "flu", "gastritis"
T1 = {
    "Bob": (21, 12000, DYS), "Alice": (22, 14000, BRO), "Andy": (24, 18000, FLU), "David": (23, 25000, GAS),
    "Gary": (41, 20000, FLU), "Helen": (36, 27000, GAS),
    "Jane": (37, 33000, DYS), "Ken": (40, 35000, FLU), "Linda": (43, 26000, GAS), "Paul": (52, 33000, DYS), "Steve": (56, 34000, GAS),
}  # fmt: skip
ARRIVED = {
    "Emily": (25, 21000, FLU),
    "Mary": (46, 30000, GAS),
    "Ray": (54, 31000, DYS),
    "Tom": (60, 44000, GAS),
    "Vince": (65, 36000, FLU),
}
T2 = {name: T1[name] for name in ("Bob", "David", "Jane", "Linda", "Gary", "Steve")} | ARRIVED
G1 = [
    ["Bob", "Alice"],
    ["Andy", "David"],
    ["Gary", "Helen"],
    ["Jane", "Ken", "Linda"],
    ["Paul", "Steve"],
]
G2 = [
    ["Bob", BRO],
    ["David", "Emily"],
    ["Jane", FLU, "Linda"],
    ["Gary", "Mary"],
    ["Ray", "Steve"],
    ["Tom", "Vince"],
]
DIVERSE = [
    ["Bob", "David"],
    ["Emily", "Jane", "Linda"],
    ["Gary", "Mary"],
    ["Ray", "Steve"],
    ["Tom", "Vince"],
]


def release_of(number, people, groups, *, privacy_unit="person"):
    """A release by hand; a name that nobody has is the disease of a counterfeit."""
    rows, counts = [], []
    for g, members in enumerate(groups, 1):
        real = [people[name] for name in members if name in people]
        box = [
            f([row[i] for row in real if row[i] is not None], default=None)
            for i in (0, 1)
            for f in (min, max)
        ]
        for i in (0, 1):
            box[2 * i] = None if any(row[i] is None for row in real) else box[2 * i]
        rows += [(g, *box, people[name][2] if name in people else name) for name in members]
        if len(real) < len(members):
            counts.append((g, len(members) - len(real)))
    columns = (
        {"group": pl.Int64}
        | {c: pl.Int64 for a in ATTRIBUTES[:2] for c in a.columns}
        | {"disease": pl.String}
    )
    counterfeits = pl.DataFrame(counts, schema={"group": pl.Int64, "count": pl.Int64}, orient="row")
    form = Generalized(pl.DataFrame(rows, schema=columns, orient="row"), ATTRIBUTES, counterfeits)
    manifest = Manifest(
        series="paper", number=number, form="generalized", method={"name": "m-invariance", "m": 2}, guarantees=[{"name": "m-invariance", "m": 2}],
        attributes=list(ATTRIBUTES), rows=form.rows, groups=form.groups, counterfeits=form.counterfeit_rows, boxes="tight", privacy_unit=privacy_unit, files=[],
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def persons(names):
    return KEY.hash(pl.Series(names, dtype=pl.String))


def mapping_of(people, groups):
    pairs = [(name, g) for g, members in enumerate(groups, 1) for name in members if name in people]
    return pl.DataFrame(
        {
            "person": persons([n for n, _ in pairs]),
            "group": pl.Series([g for _, g in pairs], dtype=pl.Int64),
        }
    )


def microdata_of(people):
    columns = {"name": pl.String, "age": pl.Int64, "zip": pl.Int64, "disease": pl.String}
    frame = pl.DataFrame([(n, *row) for n, row in people.items()], schema=columns, orient="row")
    return Microdata.encode(frame, SCHEMA, KEY)


def verdicts_of(series, *, evidence=None, m=2, consecutive=False):
    guarantee = MInvariance(m, consecutive=consecutive)
    found = guarantee.check(series[-1], series[:-1], evidence)
    assert all(v.name.startswith(guarantee.full_name) for v in found)
    return {v.name.removeprefix(guarantee.full_name + ": "): v for v in found}


EVIDENCE = Evidence(
    {1: mapping_of(T1, G1), 2: mapping_of(T2, G2)}, {1: microdata_of(T1), 2: microdata_of(T2)}
)


def test_the_papers_releases_hold():
    """T*(1), T*(2) with two counterfeits are 2-invariant, by person and in the public view; they
    are not 3-invariant.
    """
    series = [release_of(1, T1, G1), release_of(2, T2, G2)]
    found = verdicts_of(series, evidence=EVIDENCE)
    assert all(v.holds for v in found.values())
    assert {name: v.worst for name, v in found.items()} == {
        "m-uniqueness": 2, "counterfeits": 0, "persons and groups": 0, "signatures by person": 1, "candidate sets by box": 2,
    }  # fmt: skip
    assert "2 counterfeit(s)" in found["counterfeits"].note
    assert not verdicts_of(series, evidence=EVIDENCE, m=3)["m-uniqueness"].holds


def test_the_diverse_second_release_is_refused_for_bob():
    """Plain 2-diversity is 2-unique but leaves one candidate, Bob's dyspepsia, in the public view,
    and shows Bob's two signatures.
    """
    series = [release_of(1, T1, G1), release_of(2, T2, DIVERSE)]
    evidence = replace(EVIDENCE, groups={1: mapping_of(T1, G1), 2: mapping_of(T2, DIVERSE)})
    found = verdicts_of(series, evidence=evidence)
    assert found["m-uniqueness"].holds
    assert not found["signatures by person"].holds
    cases = found["signatures by person"].worst_cases
    bobs = [frame.sort("release")["signature"].to_list() for _, frame in cases.group_by("case")]
    assert ["bronchitis, dyspepsia", "dyspepsia, gastritis"] in bobs
    box = found["candidate sets by box"]
    assert (box.holds, box.worst) == (False, 1)
    assert DYS in box.worst_cases["candidates"].to_list()
    assert "person" not in cases.columns
    for _ in range(5):
        again = verdicts_of(series, evidence=evidence)["signatures by person"].worst_cases
        assert again.equals(cases)


def test_files_alone():
    """Without evidence the parts that need it say so, and hold nothing against the release."""
    found = verdicts_of([release_of(1, T1, G1), release_of(2, T2, G2)])
    for part, bound in (
        ("persons and groups", 0),
        ("signatures by person", 1),
        ("candidate sets by box", 2),
    ):
        assert (found[part].holds, found[part].worst, found[part].bound) == (True, None, bound)
        assert found[part].note.startswith("not checked: ")
        assert "1, 2" in found[part].note


@pytest.mark.parametrize("reasons", [[], ["changed-value"]])
def test_who_may_be_suppressed_is_asked_of_the_ledger(reasons):
    """Beside the original tables alone a person who was suppressed, and whom nothing covers, looks
    like one who is exposed; it is said what would tell.
    """
    second = release_of(2, T2, DIVERSE)
    manifest = second.manifest.model_copy(update={"may_suppress": reasons})
    series = [release_of(1, T1, G1), replace(second, manifest=manifest)]
    both = {1: microdata_of(T1), 2: microdata_of(T2)}
    for groups in ({}, {1: mapping_of(T1, G1), 2: mapping_of(T2, DIVERSE)}):
        found = verdicts_of(series, evidence=Evidence(groups, both))["candidate sets by box"]
        assert not found.holds
        assert ("ledger, which alone tells" in found.note) == bool(reasons and not groups)


def test_some_releases_without_evidence():
    """A part that is checked for one release and not for another is two verdicts."""
    series = [release_of(1, T1, G1), release_of(2, T2, G2)]
    found = MInvariance(2).check(series[1], series[:1], Evidence({2: mapping_of(T2, G2)}))
    notes = [v.note for v in found if v.name.endswith("signatures by person")]
    assert len(notes) == 2
    assert notes[1] == "not checked: no person-to-group mapping was given for release(s) 1"


def test_return_under_another_signature():
    """Somebody who comes back under another signature is found by the full promise; the consecutive
    one does not look that far.
    """
    away = {n: r for n, r in T2.items() if n != "Bob"}
    middle = [
        ["David", "Emily"],
        ["Jane", FLU, "Linda"],
        ["Gary", "Mary"],
        ["Ray", "Steve"],
        ["Tom", "Vince"],
    ]
    series = [
        release_of(1, T1, G1),
        release_of(2, away, middle),
        release_of(3, T2, [["Bob", GAS], *G2[1:]]),
    ]
    mapping = {
        1: mapping_of(T1, G1),
        2: mapping_of(away, middle),
        3: mapping_of(T2, [["Bob", GAS], *G2[1:]]),
    }
    evidence = Evidence(mapping, {1: microdata_of(T1), 2: microdata_of(away), 3: microdata_of(T2)})
    full = verdicts_of(series, evidence=evidence)
    assert not full["signatures by person"].holds
    assert full["candidate sets by box"].worst == 1
    assert all(v.holds for v in verdicts_of(series, evidence=evidence, consecutive=True).values())


def test_consecutive_finds_neighbours():
    """The consecutive promise still refuses a signature that changes from one release to the
    next.
    """
    series = [release_of(1, T1, G1), release_of(2, T2, DIVERSE)]
    evidence = replace(EVIDENCE, groups={1: mapping_of(T1, G1), 2: mapping_of(T2, DIVERSE)})
    found = verdicts_of(series, evidence=evidence, consecutive=True)
    assert not found["signatures by person"].holds
    assert found["candidate sets by box"].worst == 1


def test_the_worst_of_an_earlier_release_stays_the_worst():
    """Who is left with two values in the first release, and has gone when the second one leaves
    everybody with three, is still the worst case.
    """
    names = ("Ann", "Ben", "Cem")
    gone = {name: T1[name] for name in ("Andy", "David")}
    stay = {
        name: (30 + i, 20000, value)
        for i, (name, value) in enumerate(zip(names, (DYS, BRO, FLU), strict=True))
    }
    first, second = [["Andy", "David"], list(names)], [list(names)]
    series = [release_of(1, gone | stay, first), release_of(2, stay, second)]
    evidence = Evidence(
        {1: mapping_of(gone | stay, first), 2: mapping_of(stay, second)},
        {1: microdata_of(gone | stay), 2: microdata_of(stay)},
    )
    for consecutive in (False, True):
        found = verdicts_of(series, evidence=evidence, m=3, consecutive=consecutive)
        box = found["candidate sets by box"]
        assert (box.worst, box.holds) == (2, False)
        assert verdicts_of(series, evidence=evidence, consecutive=consecutive)[
            "candidate sets by box"
        ].holds


@pytest.mark.parametrize("consecutive", [False, True])
def test_without_a_sensitive_attribute_nothing_is_kept(consecutive):
    """A promise about a value that is not published does not hold, whichever release lacks it."""
    release = release_of(1, T1, G1)
    form = Generalized(release.form.table.drop("disease"), ATTRIBUTES[:2])
    manifest = release.manifest.model_copy(update={"attributes": list(ATTRIBUTES[:2])})
    bare = replace(release, manifest=manifest, form=form)
    promise = MInvariance(2, consecutive=consecutive)
    for series in ([bare], [bare, release_of(2, T2, G2)], [release, bare]):
        (verdict,) = promise.check(series[-1], series[:-1])
        assert (verdict.name, verdict.bound, verdict.worst, verdict.holds) == (
            promise.full_name,
            2,
            None,
            False,
        )
        assert "no sensitive attribute is published" in verdict.note


@pytest.mark.parametrize(
    ("mapping", "what"),
    [
        (
            mapping_of(T2, G2).with_columns(group=pl.col("group") + 6),
            "groups that are not in the data",
        ),
        (mapping_of(T2, G2)[1:], "another number of persons"),
        (pl.concat([mapping_of(T2, G2), mapping_of(T2, G2)[:1]]), "more than once"),
        (mapping_of(T2, [["Bob", "Emily"], ["David"], *G2[2:]]), "another number of persons"),
    ],
)
def test_broken_mapping(mapping, what):
    """A mapping that does not fit the published groups is refused."""
    found = verdicts_of([release_of(2, T2, G2)], evidence=Evidence({2: mapping}))
    assert not found["persons and groups"].holds
    assert what in found["persons and groups"].note


def test_suppressed_persons_are_in_group_zero():
    """Group 0 of a mapping is nobody's group: those persons are not published and not looked
    for.
    """
    people = T2 | {"Zoe": (90, 1, DYS)}
    mapping = pl.concat(
        [mapping_of(T2, G2), pl.DataFrame({"person": persons(["Zoe"]), "group": [0]})]
    )
    found = verdicts_of(
        [release_of(2, T2, G2)], evidence=Evidence({2: mapping}, {2: microdata_of(people)})
    )
    assert all(v.holds for v in found.values())
    assert found["candidate sets by box"].note == "1 release(s), 11 person(s)"


@pytest.mark.parametrize(
    ("may_suppress", "away", "said"),
    [
        ((1, 2), ["Zoe"], "not checked: up to 1 person(s) of a release have fewer values"),
        ((2,), ["Zoe"], "not checked: up to 1 person(s) of a release have fewer values"),
        ((), ["Zoe"], "2 release(s), 17 person(s)"),
        ((1,), ["Zoe", "Zed"], "2 release(s), 18 person(s); persons whose rows may have been"),
    ],
)
def test_who_may_have_been_suppressed_is_not_checked(may_suppress, away, said):
    """Who is in no group, and in boxes of two signatures, shows no fault where no mapping tells who
    was suppressed, and as many rows are missing where they may be.
    """
    there = {"Zed": (21, 13000, GAS)} if "Zed" in away else {}  # published in release 1
    first, second = T1 | there, T2 | dict.fromkeys(away, (62, 40000, GAS))
    groups = [[*G1[0], *there], *G1[1:]]
    series = [
        replace(
            r,
            manifest=r.manifest.model_copy(
                update={"may_suppress": ["changed-value"] if r.number in may_suppress else []}
            ),
        )
        for r in (release_of(1, first, groups), release_of(2, T2, G2))
    ]
    originals = {1: microdata_of(first | {"Zoe": (21, 13000, DYS)}), 2: microdata_of(second)}
    evidence = Evidence(microdata=originals)
    box = verdicts_of(series, evidence=evidence)["candidate sets by box"]
    assert box.note.startswith(said)
    assert box.holds == said.startswith("not checked")


@pytest.mark.parametrize(
    ("counts", "what"),
    [
        ({"group": [9], "count": [1]}, "not in the data"),
        ({"group": [1], "count": [0]}, "not positive"),
        ({"group": [1], "count": [2]}, "counterfeits alone"),
        ({"group": [3, 3], "count": [1, 1]}, "counted twice"),
        ({"group": [1], "count": [1.0]}, "something else than whole numbers"),
        ({"group": [None], "count": [1]}, "something else than whole numbers"),
    ],
)
def test_broken_counterfeits(counts, what):
    """A counterfeits table that cannot be true is refused."""
    release = release_of(2, T2, G2)
    release = replace(
        release,
        form=replace(
            release.form, counterfeits=pl.DataFrame(counts, schema_overrides={"group": pl.Int64})
        ),
    )
    found = verdicts_of([release])["counterfeits"]
    assert not found.holds
    assert what in found.note


def test_per_record():
    """Where the promise is per record, a changed value may bring a new signature; without the
    microdata that is said, not guessed.
    """
    people = {**T2, "Bob": (21, 12000, GAS)}
    groups = [["Bob", FLU], *G2[1:]]
    series = [release_of(1, T1, G1), release_of(2, people, groups, privacy_unit="record")]
    mapping = {1: mapping_of(T1, G1), 2: mapping_of(people, groups)}
    blind = verdicts_of(series, evidence=Evidence(mapping))["signatures by person"]
    assert (blind.holds, blind.worst) == (True, None)
    assert blind.note.startswith("not checked: the promise is per record")
    assert "1 person(s) stand under more than one signature" in blind.note
    seeing = verdicts_of(
        series, evidence=Evidence(mapping, {1: microdata_of(T1), 2: microdata_of(people)})
    )
    assert all(v.holds for v in seeing.values())
    unchanged = Evidence(mapping, {1: microdata_of(T1), 2: microdata_of(T2)})
    assert not verdicts_of(series, evidence=unchanged)["signatures by person"].holds


def test_values_of_one_text_differ_from_missing():
    """A missing value is a value of a signature, and not the text that it prints as."""
    one, two = {"A": (1, 1, None), "B": (2, 2, "x")}, {"A": (1, 1, "None"), "B": (2, 2, "x")}
    groups = [["A", "B"]]
    evidence = Evidence({1: mapping_of(one, groups), 2: mapping_of(two, groups)})
    assert not verdicts_of(
        [release_of(1, one, groups), release_of(2, two, groups)], evidence=evidence
    )["signatures by person"].holds


PEOPLE = st.lists(
    st.tuples(
        st.integers(0, 4) | st.none(), st.integers(0, 4) | st.none(), st.sampled_from("abcd")
    ),
    min_size=1,
    max_size=10,
)


def test_filling_as_in_the_paper_is_said_by_verify():
    """The verdict about counterfeits says against whom the bound holds; a way of balancing that
    does not exist is refused.
    """
    series = [release_of(1, T1, G1), release_of(2, T2, G2)]
    notes = {
        way: next(
            v.note
            for v in MInvariance(2, balancing=way).check(series[1], series[:1])
            if v.name.endswith("counterfeits")
        )
        for way in ("exact", "paper")
    }
    assert "ignores the method" in notes["paper"] and "ignores" not in notes["exact"]
    with pytest.raises(PlanError, match="balancing"):
        MInvariance(2, balancing="fill")


@pytest.mark.parametrize("consecutive", [False, True])
@pytest.mark.parametrize("unit", ["person", "record", "mixed"])
@settings(max_examples=25, deadline=None)
@given(dice=st.randoms(use_true_random=False))
def test_one_pass_finds_what_each_check_finds(unit, consecutive, dice):
    """Release by release a pass over a random series says what a check of that release and those
    before it says, word for word, whatever evidence is lacking; and of persons what the slow twin
    finds.
    """
    names = [f"p{i}" for i in range(6)]
    series, mappings, tables, hosted, boxed = [], {}, {}, [], []
    for number in range(1, 6):
        there = [name for name in names if dice.random() < 0.7] or names[:1]
        dice.shuffle(there)
        people = {
            name: (int(name[1]) % 3, 1, dice.choice("abcdef"[: number + 1])) for name in there
        }
        cut = dice.randint(1, len(there))
        groups = [
            [*part, *dice.choice(["", "", "a"])] for part in (there[:cut], there[cut:]) if part
        ]
        per = unit if unit != "mixed" else dice.choice(["person", "record"])
        series.append(release_of(number, people, groups, privacy_unit=per))
        if dice.random() < 0.85:
            mappings[number] = mapping_of(people, groups)
            sets = [frozenset(people[n][2] if n in people else n for n in g) for g in groups]
            hosted.append({n: sets[i] for i, g in enumerate(groups) for n in g if n in people})
        if dice.random() < 0.6:
            tables[number] = microdata_of(people)
            rows = series[-1].form.table.rows()
            boxed.append(
                {n: {r[5] for r in rows if r[1] <= a <= r[2]} for n, (a, _, _) in people.items()}
            )
    evidence = Evidence(mappings, tables)
    promise = MInvariance(2, consecutive=consecutive)
    each = [promise.check(release, series[:i], evidence) for i, release in enumerate(series)]
    passed = list(promise.check_each(series, evidence))
    assert [[v.to_json() for v in found] for found in passed] == [
        [v.to_json() for v in found] for found in each
    ]
    if unit == "person" and hosted:
        several = naive.moved(hosted, consecutive=consecutive)
        verdict = next(v for v in passed[-1] if v.worst is not None and "signatures" in v.name)
        assert verdict.worst == max(several.values(), default=1)
        assert verdict.holds == (not several)
        assert not several or verdict.note.startswith(f"{len(several)} person(s)")
    if unit == "person" and boxed:
        verdict = next(v for v in passed[-1] if v.worst is not None and "candidate" in v.name)
        assert verdict.worst == naive.fewest_candidates(boxed, consecutive=consecutive)
