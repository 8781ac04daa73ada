"""What is published about a person is so, and the check sees where it is not."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.checking import verify
from phalanx.data.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import GuaranteeError
from phalanx.guarantees import truth
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance import MInvariance
from phalanx.methods.mondrian import Mondrian
from phalanx.publishing import Series
from phalanx.randomness import Randomness
from phalanx.release.generalized import Generalized, generalize

TREE = Tree.of_mapping({"west": ["Aachen", "Bonn"], "north": ["Celle", "Dorum"]})
SCHEMA = Schema(identifier="who", quasi=["age", "town"], sensitive="ill", hierarchies={"town": TREE}, missing="value")


@dataclass(frozen=True)
class Shown:
    form: Generalized


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    age = [None if x > 70 else int(x) for x in rng.integers(20, 75, n)]
    return pl.DataFrame({"who": range(n), "age": age, "town": rng.choice(["Aachen", "Bonn", "Celle", "Dorum"], n), "ill": rng.choice(list("abcdef"), n)})


def draft_of(n, seed, method):
    microdata = Microdata.encode(table(n, seed), SCHEMA, PersonKey(bytes(32)))
    return microdata, method.publish(microdata, Memory(), Randomness.secure())


@given(st.integers(2, 60), st.integers(0, 1000), st.booleans())
@settings(deadline=None, max_examples=60)
def test_what_methods_publish_is_true(n, seed, widened):
    """Every method's draft passes, with missing values, trees and least widths."""
    width = {"age": 7} if widened else {}
    for method in (Mondrian(k=2, min_width=width), MInvariance(m=2, not_eligible="hold-back", min_width=width)):
        microdata, draft = draft_of(max(n, 8), seed, method)
        verdict = truth.check(Shown(draft.form), microdata, draft.groups)
        assert verdict.holds, verdict.note
        assert verdict.worst == 0


@pytest.mark.parametrize("dense", [16, 0])
@pytest.mark.parametrize("broken", ["interval", "town", "value", "group", "stranger"])
def test_an_untruth_is_seen(broken, dense, monkeypatch):
    """One interval end, one leaf, one value, one person's group, or a group that is nowhere; counted in a table or sorted."""
    monkeypatch.setattr(truth, "_DENSE", dense)
    microdata, draft = draft_of(60, 3, Mondrian(k=5))
    shown, groups = draft.form.table, draft.groups.copy()
    first = groups[0]
    here = pl.col("group") == int(first)
    if broken == "interval":
        shown = shown.with_columns(age_high=pl.when(here).then(pl.col("age_low")).otherwise("age_high"), age_low=pl.when(here).then(19).otherwise("age_low"))
        shown = shown.with_columns(age_high=pl.when(here).then(19).otherwise("age_high"))
    elif broken == "town":
        other = "Dorum" if microdata.columns["town"].domain.values[int(microdata.columns["town"].codes[0])] != "Dorum" else "Aachen"
        shown = shown.with_columns(pl.when(here).then(pl.lit(other)).otherwise(c).alias(c) for c in ("town_low", "town_high"))
    elif broken == "value":
        row = int(np.flatnonzero(shown["group"].to_numpy() == first)[0])
        shown = shown.with_columns(ill=pl.Series([("z" if i == row else v) for i, v in enumerate(shown["ill"])]))
    elif broken == "group":
        groups[0] = int(next(g for g in groups if g != first))
    else:
        groups[0] = 10_000

    verdict = truth.check(Shown(replace(draft.form, table=shown)), microdata, groups)

    assert not verdict.holds
    assert verdict.worst >= 1


def test_a_method_that_misplaces_somebody_publishes_nothing(tmp_path, monkeypatch):
    """The check at publish sees a person outside of their box, and nothing leaves."""
    own = Mondrian.publish

    def misplaces(self, microdata, memory, rng):
        draft = own(self, microdata, memory, rng)
        ages = draft.form.table.with_columns(age_low=pl.lit(1, dtype=pl.Int64), age_high=pl.lit(2, dtype=pl.Int64))
        return replace(draft, form=replace(draft.form, table=ages))

    monkeypatch.setattr(Mondrian, "publish", misplaces)
    series = Series("s", schema=SCHEMA, method=Mondrian(k=5), to=tmp_path / "out", report=False)

    with pytest.raises(GuaranteeError, match="outside the box"):
        series.publish(table(60))

    assert list((tmp_path / "out").iterdir()) == []


def test_an_officer_with_table_and_ledger_checks_it_too(tmp_path):
    """Verify adds the check where both are given; another original table fails it."""
    people = table(60)
    series = Series("s", schema=SCHEMA, method=Mondrian(k=5), to=tmp_path / "out", ledger=f"sqlite:///{tmp_path / 's.db'}", report=False)
    published = series.publish(people)
    older = people.with_columns(pl.col("age") + 40)

    right, wrong = (verify([published.path], ledger=f"sqlite:///{tmp_path / 's.db'}", originals=[original], identifier="who") for original in (people, older))

    assert [v.holds for v in right.checks if v.name == "release 1: truth"] == [True]
    assert [v.holds for v in wrong.checks if v.name == "release 1: truth"] == [False]


REGISTERED = [1, 1, 2, 0, 2, 3]


def with_registry():
    """Sixty people in three groups, and a draft in which six registered ones, of whom one is in no group, widen the boxes."""
    listed = pl.DataFrame({"who": range(100, 106), "age": [80, 81, 82, 83, None, 15], "town": ["Aachen", "Dorum"] * 3})
    microdata = Microdata.encode(table(60, 5), SCHEMA, PersonKey(bytes(32)), listed)
    place = np.arange(60) % 3
    virtual = np.array(REGISTERED) - 1
    form, published = generalize(microdata, np.arange(60), place, Randomness.secure().stream("t"), registry=(microdata.registry, virtual))
    return microdata, form, published[place], np.where(virtual >= 0, published[virtual], 0)


def test_registered_persons_lie_in_their_boxes():
    """With the registry, places and counts are checked; without it, of the same persons the counts alone."""
    microdata, form, groups, registered = with_registry()
    verdict = truth.check(Shown(form), microdata, groups, registered=registered)
    assert (verdict.holds, verdict.worst) == (True, 0)
    assert "5 registered person(s) are counted and lie in the box of their group" in verdict.note
    without = truth.check(Shown(form), replace(microdata, registry=None), groups, registered=registered)
    assert without.holds
    assert "5 registered person(s) are counted" in without.note
    assert "lie in the box of their group" not in without.note.split("; ")[-1]


@pytest.mark.parametrize(
    "broken", ["a box of the rows alone", "another group", "a group that is nowhere", "one more", "one fewer", "no counts", "nobody named"]
)
def test_an_untruth_about_registered_persons_is_seen(broken):
    """A box that does not hold one, a count that is not theirs, a group that is nowhere."""
    microdata, form, groups, registered = with_registry()
    counts = form.registered
    if broken == "a box of the rows alone":
        form = form_of_rows(microdata, form, groups)
    elif broken == "another group":  # the counts stay right, for two exchange their places, of whom one is older than all of the other group
        registered[[1, 2]] = registered[[2, 1]]
    elif broken == "a group that is nowhere":
        registered[0] = 77
    elif broken in ("one more", "one fewer"):
        form = replace(form, registered=counts.with_columns(pl.col("count") + (1 if broken == "one more" else -1) * (pl.int_range(pl.len()) == 0)))
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
    order = [int(np.flatnonzero(groups == g)[0]) % 3 for g in (1, 2, 3)]  # the place of the group that is called 1, 2, 3
    tight, published = generalize(microdata, np.arange(60), np.arange(60) % 3, Randomness.secure().stream("t"))
    now = {int(published[place]): g for g, place in zip((1, 2, 3), order, strict=True)}
    return replace(form, table=tight.table.with_columns(pl.col("group").replace_strict(now, return_dtype=pl.Int64)).sort("group"))
