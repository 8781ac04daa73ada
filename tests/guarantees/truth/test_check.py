# SPDX-License-Identifier: Apache-2.0
"""What is published about a person is so, and the check sees where it is not."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import GuaranteeError
from phalanx.guarantees.truth import check as truth
from phalanx.methods.base import Memory
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.randomness import Randomness
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import Generalized, generalize
from phalanx.release.manifest import Manifest
from phalanx.series.series import Series
from phalanx.verification import verify

TREE = Tree.of_mapping({"west": ["Aachen", "Bonn"], "north": ["Celle", "Dorum"]})
SCHEMA = Schema(
    identifier="who",
    quasi=["age", "town"],
    sensitive="ill",
    hierarchies={"town": TREE},
    missing="value",
)


@dataclass(frozen=True)
class Shown:
    """A form without a manifest, which promises nothing."""

    form: Generalized

    @property
    def generalized(self) -> Generalized:
        return Generalized.expect(self.form)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    age = [None if x > 70 else int(x) for x in rng.integers(20, 75, n)]
    return pl.DataFrame(
        {
            "who": range(n),
            "age": age,
            "town": rng.choice(["Aachen", "Bonn", "Celle", "Dorum"], n),
            "ill": rng.choice(list("abcdef"), n),
        }
    )


def draft_of(n, seed, method):
    microdata = Microdata.encode(table(n, seed), SCHEMA, PersonKey(bytes(32)))
    return microdata, method.publish(microdata, Memory(), Randomness.secure())


@given(st.integers(2, 60), st.integers(0, 1000), st.booleans())
@settings(deadline=None, max_examples=60)
def test_what_methods_publish_is_true(n, seed, widened):
    """Every method's draft passes, with missing values, trees and least widths."""
    width = {"age": 7} if widened else {}
    for method in (
        Mondrian(k=2, min_width=width),
        MInvariance(m=2, not_eligible="suppress", min_width=width),
    ):
        microdata, draft = draft_of(max(n, 8), seed, method)
        verdict = truth.check(Shown(draft.form), microdata, draft.groups)
        assert verdict.holds, verdict.note
        assert (verdict.worst, verdict.bound) == (0, 0)


@pytest.mark.parametrize("broken", ["interval", "town", "value", "group", "stranger"])
def test_an_untruth_is_seen(broken):
    """One interval end, one leaf, one value, one person's group, or a group that is nowhere."""
    microdata, draft = draft_of(60, 3, Mondrian(k=5))
    shown, groups = draft.form.table, draft.groups.copy()
    first = groups[0]
    here = pl.col("group") == int(first)
    if broken == "interval":
        shown = shown.with_columns(
            age_high=pl.when(here).then(pl.col("age_low")).otherwise("age_high"),
            age_low=pl.when(here).then(19).otherwise("age_low"),
        )
        shown = shown.with_columns(age_high=pl.when(here).then(19).otherwise("age_high"))
    elif broken == "town":
        other = (
            "Dorum"
            if microdata.columns["town"].domain.values[int(microdata.columns["town"].codes[0])]
            != "Dorum"
            else "Aachen"
        )
        shown = shown.with_columns(
            pl.when(here).then(pl.lit(other)).otherwise(c).alias(c)
            for c in ("town_low", "town_high")
        )
    elif broken == "value":
        row = int(np.flatnonzero(shown["group"].to_numpy() == first)[0])
        shown = shown.with_columns(
            ill=pl.Series([("z" if i == row else v) for i, v in enumerate(shown["ill"])])
        )
    elif broken == "group":
        groups[0] = int(next(g for g in groups if g != first))
    else:
        groups[0] = 10_000

    verdict = truth.check(Shown(replace(draft.form, table=shown)), microdata, groups)

    assert not verdict.holds
    assert verdict.worst >= 1 and verdict.bound == 0  # not one untruth is allowed


@pytest.mark.parametrize("at_once", [1, 7, 60])
def test_some_groups_at_a_time(monkeypatch, at_once):
    """As many values are lacking, however many rows are compared at once; none of a true table."""
    microdata, draft = draft_of(60, 3, Mondrian(k=3))
    turned = draft.form.table.with_columns(ill=pl.col("ill").reverse().replace("a", "z"))
    for form in (draft.form, replace(draft.form, table=turned)):
        whole = truth.check(Shown(form), microdata, draft.groups)
        with monkeypatch.context() as patch:
            patch.setattr(truth, "_AT_ONCE", at_once)
            some = truth.check(Shown(form), microdata, draft.groups)
        assert (some.worst, some.note) == (whole.worst, whole.note)
        assert some.holds == (form is draft.form)


def test_a_method_that_misplaces_somebody_publishes_nothing(tmp_path, monkeypatch):
    """The check at publish sees a person outside of their box, and nothing leaves."""
    own = Mondrian.publish

    def misplaces(self, microdata, memory, rng):
        draft = own(self, microdata, memory, rng)
        ages = draft.form.table.with_columns(
            age_low=pl.lit(1, dtype=pl.Int64), age_high=pl.lit(2, dtype=pl.Int64)
        )
        return replace(draft, form=replace(draft.form, table=ages))

    monkeypatch.setattr(Mondrian, "publish", misplaces)
    series = Series("s", schema=SCHEMA, method=Mondrian(k=5), to=tmp_path / "out", report=False)

    with pytest.raises(GuaranteeError, match="outside the box"):
        series.publish(table(60))

    assert list((tmp_path / "out").iterdir()) == []


def test_an_officer_with_table_and_ledger_checks_it_too(tmp_path):
    """Verify adds the check where both are given; another original table fails it."""
    people = table(60)
    series = Series(
        "s",
        schema=SCHEMA,
        method=Mondrian(k=5),
        to=tmp_path / "out",
        ledger=f"sqlite:///{tmp_path / 's.db'}",
        report=False,
    )
    published = series.publish(people)
    older = people.with_columns(pl.col("age") + 40)

    right, wrong = (
        verify(
            [published.path],
            ledger=f"sqlite:///{tmp_path / 's.db'}",
            originals=[original],
            identifier="who",
        )
        for original in (people, older)
    )

    assert [v.holds for v in right.checks if v.name == "release 1: truth"] == [True]
    assert [v.holds for v in wrong.checks if v.name == "release 1: truth"] == [False]


REGISTERED = [1, 1, 2, 0, 2, 3]


def with_registry():
    """Sixty people in three groups, and a draft in which six registered ones, of whom one is in no
    group, widen the boxes.
    """
    listed = pl.DataFrame(
        {"who": range(100, 106), "age": [80, 81, 82, 83, None, 15], "town": ["Aachen", "Dorum"] * 3}
    )
    microdata = Microdata.encode(table(60, 5), SCHEMA, PersonKey(bytes(32)), listed)
    place = np.arange(60) % 3
    virtual = np.array(REGISTERED) - 1
    form, published = generalize(
        microdata,
        np.arange(60),
        place,
        Randomness.secure().stream("t"),
        registry=(microdata.registry, virtual),
    )
    return microdata, form, published[place], np.where(virtual >= 0, published[virtual], 0)


def test_registered_persons_lie_in_their_boxes():
    """With the registry, places and counts are checked; without it, of the same persons the counts
    alone.
    """
    microdata, form, groups, registered = with_registry()
    verdict = truth.check(Shown(form), microdata, groups, registered=registered)
    assert (verdict.holds, verdict.worst) == (True, 0)
    assert "5 registered person(s) are counted and lie in the box of their group" in verdict.note
    without = truth.check(
        Shown(form), replace(microdata, registry=None), groups, registered=registered
    )
    assert without.holds
    assert "5 registered person(s) are counted" in without.note
    assert "lie in the box of their group" not in without.note.split("; ")[-1]


@pytest.mark.parametrize(
    "broken",
    [
        "a box of the rows alone",
        "another group",
        "a group that is nowhere",
        "one more",
        "one fewer",
        "no counts",
        "nobody named",
    ],
)
def test_an_untruth_about_registered_persons_is_seen(broken):
    """A box that does not hold one, a count that is not theirs, a group that is nowhere."""
    microdata, form, groups, registered = with_registry()
    counts = form.registered
    if broken == "a box of the rows alone":
        form = form_of_rows(microdata, form, groups)
    elif (
        broken == "another group"
        # the counts stay right, for two exchange their places, of whom one is older than all of the
        # other group
    ):
        registered[[1, 2]] = registered[[2, 1]]
    elif broken == "a group that is nowhere":
        registered[0] = 77
    elif broken in ("one more", "one fewer"):
        form = replace(
            form,
            registered=counts.with_columns(
                pl.col("count")
                + (1 if broken == "one more" else -1) * (pl.int_range(pl.len()) == 0)
            ),
        )
    elif broken == "no counts":
        form = replace(form, registered=None)
    else:
        registered = None

    verdict = truth.check(Shown(form), microdata, groups, registered=registered)

    assert not verdict.holds
    assert verdict.worst >= 1
    assert "registered person(s) lie outside the box of their group, and" in verdict.note
    assert "and 0 value(s)" not in verdict.note  # the rows are as they should be


def form_of_rows(microdata, form, groups):
    """The same groups and counts, with the boxes that the rows alone have."""
    order = [
        int(np.flatnonzero(groups == g)[0]) % 3 for g in (1, 2, 3)
    ]  # the place of the group that is called 1, 2, 3
    tight, published = generalize(
        microdata, np.arange(60), np.arange(60) % 3, Randomness.secure().stream("t")
    )
    now = {int(published[place]): g for g, place in zip((1, 2, 3), order, strict=True)}
    return replace(
        form,
        table=tight.table.with_columns(
            pl.col("group").replace_strict(now, return_dtype=pl.Int64)
        ).sort("group"),
    )


GLOBAL = {"name": "global-guarantee", "l": 2, "protected": "all"}


def one_group(own, published, *, promise=GLOBAL, type="set", groups=None):
    """What is found where persons with their ``own`` values are shown with the ``published`` ones,
    in one group or in several.
    """
    schema = Schema(
        identifier="who",
        quasi=["age"],
        sensitive="ill",
        types={"ill": type},
        missing={"ill": "value"},
    )
    frame = pl.DataFrame(
        {"who": range(len(own)), "age": [30] * len(own), "ill": pl.Series(own, dtype=pl.String)}
    )
    microdata = Microdata.encode(frame, schema, PersonKey(bytes(32)))
    place = np.zeros(len(own), dtype=np.int64) if groups is None else np.array(groups)
    form, ids = generalize(microdata, np.arange(len(own)), place, Randomness.secure().stream("t"))
    shown = {
        int(ids[g]): [v for v, h in zip(published, place, strict=True) if h == g]
        for g in set(place.tolist())
    }
    table = form.table.with_columns(
        ill=pl.Series([shown[g].pop() for g in form.table["group"]], dtype=pl.String)
    )
    form = replace(form, table=table)
    manifest = Manifest(
        series="s", number=1, form="generalized", method={}, guarantees=[promise], attributes=list(form.attributes), rows=form.rows, groups=form.groups,
        counterfeits=0, boxes="tight", files=[],
    )  # fmt: skip
    return truth.check(Release(manifest, form, Path()), microdata, ids[place])


SUPPRESSED = {
    "nothing": (["a", "b"], ["a", "b"], 0, 0),
    "one value": (["a", "b", "b"], [None, "b", "b"], 0, 1),
    "one value of two that are equal": (["a", "a"], [None, "a"], 0, 1),
    "beside a missing one": (["a", None, "b"], [None, None, "b"], 0, 1),
    "a null too few": (["a", "c", "b"], [None, "b", "d"], 1, 1),
    "a null that is the person's own": (["a", None, "b"], [None, "b", "d"], 1, 0),
    "a missing value is not shown as one": ([None, "b"], ["c", "b"], 1, 0),
    "nor as the empty set": ([None, "b"], ["", "b"], 1, 0),
    "some of a set": (["a; b; c", "a; b"], ["a; c", "b"], 0, 2),
    "none of a set": (["a; b", "c"], ["", "c"], 0, 1),
    "a set with a value that nobody has": (["a; b", "c"], ["a; z", "c"], 1, 0),
    "a set with more": (["a", "c"], ["a; c", "c"], 1, 0),
    "another's value, which is taken off first": (["a; b", "a"], ["a", None], 0, 1),
    "a part that two need": (["a; b", "a; c"], ["a", "c"], 0, 2),
    "a part that two need and one gets": (["a; b", "a; c"], ["a", "z"], 1, 1),
    "a path that gives two away": (["a; b; c", "a; b; d", "a; d; e"], ["a; b", "a", "a; d"], 0, 3),
    "parts and nulls": (["a; b", "a; c", "d", "d"], ["a", None, None, "d"], 0, 3),
    "a part and a null too few": (["a; b", "a; c", "d", "d"], ["a", None, "e", "d"], 1, 2),
}


@pytest.mark.parametrize(
    ("own", "published", "wrong", "less"), SUPPRESSED.values(), ids=SUPPRESSED.keys()
)
def test_what_is_suppressed_is_true_to_who_has_no_list_of_it(own, published, wrong, less):
    """Under the global guarantee each value that is not in its group needs a row of its own there
    that says less; those without one are counted.
    """
    verdict = one_group(own, published)
    assert (verdict.worst, verdict.holds) == (wrong, not wrong)
    if wrong:
        assert f"and {wrong} value(s) of persons are not in their group" in verdict.note
    else:
        assert ("show it not or in part" in verdict.note) is (less > 0)
        assert not less or f"; {less} show it not or in part" in verdict.note


def test_other_promises_suppress_nothing():
    """What holds under the global guarantee is an untruth under any other promise."""
    for own, published in ((["a", "b"], [None, "b"]), (["a; b", "c"], ["a", "c"])):
        assert one_group(own, published).holds
        assert one_group(own, published, promise={"name": "k-anonymity", "k": 2}).worst == 1


def test_of_single_values_only_a_missing_one_says_less():
    """A text that would be some of a set says nothing about an attribute that holds no sets."""
    assert one_group(["a; b", "c"], [None, "c"], type="categorical").holds
    assert one_group(["a; b", "c"], ["a", "c"], type="categorical").worst == 1


def test_each_group_suppresses_its_own():
    """A row that says less in one group does not stand for a person of another."""
    assert one_group(["a", "b", "c", "d"], [None, "b", None, "d"], groups=[0, 0, 1, 1]).holds
    assert one_group(["a", "x", "c", "d"], ["e", "x", None, None], groups=[0, 0, 1, 1]).worst == 1


def slow_wrong(own, published):
    """How many persons must be wrong, by every way to give them the rows."""
    less = [
        [
            b == a
            or (
                a is not None
                and (b is None or set(b.split("; ")) - {""} < set(a.split("; ")) - {""})
            )
            for b in published
        ]
        for a in own
    ]
    return min(
        sum(not less[i][j] for i, j in enumerate(rows)) for rows in permutations(range(len(own)))
    )


some_set = st.one_of(
    st.none(),
    st.frozensets(st.sampled_from("abcd"), max_size=4).map(lambda s: "; ".join(sorted(s))),
)


@given(st.lists(st.tuples(some_set, some_set), min_size=2, max_size=6))
@settings(deadline=None, max_examples=150)
def test_the_matching_is_the_best_of_all(pairs):
    """As few persons are wrong as in the best of all ways to give everybody a row of their group,
    equal ones or ones that say less.
    """
    own, published = [a for a, _ in pairs], [b for _, b in pairs]
    assert one_group(own, published).worst == slow_wrong(own, published)


def greedy(needed, offered):
    """A broken twin of the matching, which gives each set the first part that fits, and takes
    nothing back.
    """
    left, found = Counter(offered), 0
    for value in sorted(Counter(needed).elements(), reverse=True):
        part = next(
            (
                part
                for part in sorted(left)
                if left[part] and set(part.split("; ")) < set(value.split("; "))
            ),
            None,
        )
        if part is not None:
            left[part] -= 1
            found += 1
    return found


def test_a_matching_that_takes_nothing_back_is_found_out(monkeypatch):
    """The matching finds all pairs in every order of the values; with the broken twin in its place
    a true release would be called untrue.
    """
    own, published = ["a; b; c", "a; b; d", "a; d; e"], ["a; b", "a", "a; d"]
    orders = [
        (Counter(needed), Counter(offered))
        for needed in permutations(own)
        for offered in permutations(published)
    ]
    assert {truth._matched_in_part(needed, offered) for needed, offered in orders} == {3}
    assert one_group(["a; b", "a; c"], ["a", "c"]).holds
    monkeypatch.setattr(truth, "_matched_in_part", greedy)
    assert one_group(["a; b", "a; c"], ["a", "c"]).worst == 1


@pytest.mark.parametrize("sets", [False, True])
def test_an_officer_checks_a_release_with_suppressed_values(tmp_path, sets):
    """With ledger and original tables, releases in which values were suppressed hold; a table in
    which everybody has another value fails.
    """
    schema = Schema(
        identifier="who",
        quasi=["age"],
        sensitive="ill",
        types={"ill": "set" if sets else "categorical"},
    )
    people = table(60).select(
        "who",
        age=pl.col("who") % 40,
        ill=pl.when(pl.col("who") < 45)
        .then(pl.lit("hiv; flu" if sets else "hiv"))
        .otherwise(pl.lit("flu")),
    )
    ledger = f"sqlite:///{tmp_path / 's.db'}"
    method = GlobalGuarantee(l=2, protect=["hiv"], grouping="bottom-up")
    published = Series(
        "s", schema=schema, method=method, to=tmp_path / "out", ledger=ledger, report=False
    ).publish(people)
    assert sum(published.suppressed_values.values()) >= 15
    other = people.with_columns(ill=pl.lit("gout"))

    right, wrong = (
        verify([published.path], ledger=ledger, originals=[original], identifier="who")
        for original in (people, other)
    )

    assert [v.note for v in right.checks if not v.holds] == []
    assert any("show it not or in part" in v.note for v in right.checks)
    assert [v.holds for v in wrong.checks if v.name == "release 1: truth"] == [False]


@pytest.mark.parametrize("own", list(permutations(["p; x", "x; y", "y; z"])))
@pytest.mark.parametrize("published", list(permutations("xyz")))
def test_a_matching_along_three_sets(own, published):
    """Only {p, x} says no more than x, so that {x, y} must take y and {y, z} must take z: in every
    order, all that was given before is given anew.
    """
    assert one_group(list(own), list(published)).worst == 0
