# SPDX-License-Identifier: Apache-2.0
"""The global guarantee as a method: whole series through the way of the data, with memory,
registry, sets, cohorts, and plans that mean nothing.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.errors import (
    GuaranteeError,
    LedgerError,
    MethodError,
    NotEligible,
    PlanError,
    SchemaError,
)
from phalanx.ledger import Ledger
from phalanx.methods.global_guarantee import exposures
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.release.evidence.exposures import SCALE, Exposures
from phalanx.series.released import Release
from phalanx.series.series import Series
from phalanx.verification import verify
from support.statistics_file import everyone
from support.tampering_cases import refusal, stated

SCHEMA = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")
ILLNESSES = ["flu", "cold", "gout", "hiv", "rash", "none"]


def table(n=120, seed=1, first=0, share=0.15, values=("chlamydia", "syphilis")):
    """Persons of whom some have one of two protected values, the others harmless ones."""
    rng = np.random.default_rng(seed)
    ill = np.where(rng.random(n) < share, rng.choice(values, n), rng.choice(ILLNESSES[:3], n))
    return pl.DataFrame(
        {
            "who": np.arange(first, first + n),
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": ill,
        }
    )


def series(folder: Path, method, schema=SCHEMA, name="visits", seed=None):
    return Series(
        name,
        schema=schema,
        method=method,
        to=folder / "out",
        ledger=f"sqlite:///{folder}/l.db",
        report=False,
        seed=seed,
    )


def protecting(**settings):
    """Two values, which need not be in the first table."""
    named = ["chlamydia", "syphilis"]
    return GlobalGuarantee(**({"l": 2, "protect": named, "expected_later": named} | settings))


def carried_of(ledger):
    """Everybody's survival of every value, as the ledger remembers it."""
    with Ledger.open(f"sqlite:///{ledger}", create=False) as opened:
        tables = {**opened.remembered("visits"), **opened.state("visits")}
    names = Exposures.of_tables(tables).values
    return {
        (person, names[value]): Fraction(survival, SCALE)
        for (person, value), (survival, _) in everyone(tables).items()
    }


def truth_of(published, ledger, name, protected):
    """The slow way: everybody's survival of every protected value, in fractions, from files and
    mappings.
    """
    survival = {}
    with Ledger.open(f"sqlite:///{ledger}", create=False) as opened:
        for p in published:
            rows = {}
            for group, value in p.form.table.select("group", p.form.sensitive).iter_rows():
                rows.setdefault(group, []).append(
                    set(str(value).split("; ")) if value is not None else set()
                )
            registered = (
                dict(p.form.registered.iter_rows()) if p.form.registered is not None else {}
            )
            for person, group in opened.groups(name, p.number).iter_rows():
                for value in protected:
                    held = sum(value in row for row in rows[group])
                    if held:
                        survival[person, value] = survival.get((person, value), Fraction(1)) * (
                            1 - Fraction(held, len(rows[group]) + registered.get(group, 0))
                        )
    return survival


@pytest.mark.parametrize("grouping", ["balanced", "bottom-up"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"strategy": "constant-ratio", "horizon": 6},
        {"strategy": "geometric", "alpha": 1.5},
        {"strategy": "adaptive", "horizon": [1, 0.9, 0.5]},
    ],
)
def test_a_series_keeps_the_promise(tmp_path, monkeypatch, settings, grouping):
    """Eight releases in which persons stay, leave, return and change, some after what is known of
    them was laid aside: no probability of ever having been linked is above 1/l, counted the slow way.
    """
    monkeypatch.setattr(exposures, "AWAY", 2)
    publishing = series(tmp_path, protecting(**settings, grouping=grouping))
    published = [publishing.publish(table(seed=i, first=30 * (i % 3))) for i in range(8)]
    survival = truth_of(published, tmp_path / "l.db", "visits", ["chlamydia", "syphilis"])
    assert 0 < 1 - min(survival.values()) <= Fraction(1, 2)
    assert verify([p.path for p in published], ledger=f"sqlite:///{tmp_path}/l.db").holds
    assert all(p.rows + sum(p.suppressed_rows.values()) == 120 for p in published)


@pytest.mark.parametrize(
    ("grouping", "releases"), [("bottom-up", 5), ("balanced", 1), ("balanced", 5)]
)
def test_memory_is_what_the_files_say(tmp_path, grouping, releases):
    """What the ledger carries after a series is the product over its files, rounded down by less
    than a part in 10^15, for every pair and no other.

    Balanced: a table of 120 rows is cut evenly as far as it can matter; later, classes of demand
    are not, and then memory is never above the product.
    """
    publishing = series(tmp_path, protecting(grouping=grouping))
    published = [publishing.publish(table(seed=i)) for i in range(releases)]
    truth = truth_of(published, tmp_path / "l.db", "visits", ["chlamydia", "syphilis"])
    found = carried_of(tmp_path / "l.db")
    assert found.keys() == truth.keys()
    less = [truth[pair] - found[pair] for pair in truth]
    assert min(less) >= 0
    assert min(found.values()) >= Fraction(1, 2)
    assert (grouping == "balanced" and releases > 1) or max(less) < Fraction(1, 10**15)


def test_absence_and_deletion_change_nothing(tmp_path):
    """A release without a person leaves their survival as it was; who returns after it finds it
    again.
    """
    publishing = series(tmp_path, protecting(strategy="geometric"))
    first = publishing.publish(table())
    publishing.publish(table(seed=2, first=1000))
    before = truth_of([first], tmp_path / "l.db", "visits", ["chlamydia"])
    found = carried_of(tmp_path / "l.db")
    assert before
    for pair, survival in before.items():
        assert 0 <= survival - found[pair] < Fraction(1, 10**15)


def fresh(table):
    """Pairs with nothing spent of their budgets."""
    return table.with_columns(survival=pl.lit(SCALE, pl.Int64))


NAME = "laid pairs 2"
CHEATS = {
    "adds to what was laid aside": lambda draft, memory: {
        "remember": {**draft.remember, NAME: fresh(memory.tables[NAME])}
    },
    "adds no rows of another type": lambda draft, memory: {
        "remember": {**draft.remember, NAME: memory.tables[NAME].clear().cast(pl.Float64)}
    },
    "hides what was laid aside": lambda draft, memory: {
        "state": {**draft.state, NAME: fresh(memory.tables[NAME])}
    },
    "carries what it lays aside": lambda draft, _: {
        "remember": {n: t for n, t in draft.remember.items() if n != "laid pairs 3"},
        "state": {**draft.state, "laid pairs 3": draft.remember["laid pairs 3"]},
    },
    "lays aside with a later release": lambda draft, _: {
        "remember": {**draft.remember, "laid pairs 9": draft.remember["laid pairs 3"]}
    },
}  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS.values(), ids=CHEATS)
def test_what_was_laid_aside_stays(tmp_path, monkeypatch, cheat):
    """The broken twins that could give who left a new budget are refused, and who returns afterwards
    is as exposed as they were.
    """
    monkeypatch.setattr(exposures, "AWAY", 1)
    publishing, publish = series(tmp_path, protecting()), GlobalGuarantee.publish
    for first in (0, 1000):
        publishing.publish(table(first=first))

    def cheating(self, microdata, memory, rng):
        draft = publish(self, microdata, memory, rng)
        return replace(draft, **cheat(draft, memory))

    with monkeypatch.context() as patch:
        patch.setattr(GlobalGuarantee, "publish", cheating)
        with pytest.raises((GuaranteeError, MethodError), match="please report this"):
            publishing.publish(table(first=2000, seed=2))
    publishing.publish(table(seed=3))
    published = [Release.read(path) for path in sorted((tmp_path / "out").glob("visits-*"))]
    truth = truth_of(published, tmp_path / "l.db", "visits", ["chlamydia", "syphilis"])
    found = carried_of(tmp_path / "l.db")
    assert max(found[pair] - survival for pair, survival in truth.items()) <= 0
    assert min(truth.values()) >= Fraction(1, 2)


def test_one_person_again_and_again(tmp_path):
    """Somebody with the same protected value in every release is in ever larger groups, until the
    value is suppressed, which is said; never above 1/l.
    """
    publishing = series(tmp_path, protecting(strategy="geometric", alpha=2, grouping="bottom-up"))
    published, sizes = [], []
    for i in range(9):
        frame = table(60, seed=i, share=0).with_columns(
            pl.when(pl.col("who") == 7).then(pl.lit("chlamydia")).otherwise("ill").alias("ill")
        )
        published.append(publishing.publish(frame))
        held = published[-1].form.table.filter(pl.col("ill") == "chlamydia")
        sizes.append(
            published[-1].form.table.filter(pl.col("group") == held["group"][0]).height
            if held.height
            else None
        )
    assert sizes[:4] == [4, 6, 10, 18]
    assert sizes[-1] is None
    assert published[-1].suppressed_values == {"the person's budget for it is spent": 1}
    assert published[-1].form.table["ill"].null_count() == 1
    assert 1 - min(
        truth_of(published, tmp_path / "l.db", "visits", ["chlamydia"]).values()
    ) <= Fraction(1, 2)


def test_whose_budget_is_spent_has_no_value(tmp_path):
    """In balanced groups the holder's neighbours are in ever larger groups, too; whoever's budget
    is spent is published without a value, holder or not.
    """
    publishing = series(tmp_path, protecting(strategy="geometric", alpha=2))
    published, sizes = [], []
    for i in range(9):
        frame = table(60, seed=i, share=0).with_columns(
            pl.when(pl.col("who") == 7).then(pl.lit("chlamydia")).otherwise("ill").alias("ill")
        )
        published.append(publishing.publish(frame))
        held = published[-1].form.table.filter(pl.col("ill") == "chlamydia")
        sizes.append(
            published[-1].form.table.filter(pl.col("group") == held["group"][0]).height
            if held.height
            else None
        )
        emptied = published[-1].suppressed_values.get("the person's budget is spent", 0)
        assert published[-1].form.table["ill"].null_count() == emptied
        assert emptied == 0 or emptied >= 2  # one of them may be the holder, and l = 2 allows half
    assert 4 <= sizes[0] <= sizes[1] <= sizes[2]
    assert 1 - min(
        truth_of(published, tmp_path / "l.db", "visits", ["chlamydia"]).values()
    ) <= Fraction(1, 2)


def test_a_value_that_is_everywhere_is_refused(tmp_path):
    """Where more rows hold a value than any groups can take, nothing is published, which counts
    alone decide.
    """
    frame = table(60, share=0).with_columns(
        pl.when(pl.col("who") < 45).then(pl.lit("syphilis")).otherwise("ill").alias("ill")
    )
    with pytest.raises(NotEligible, match="45 of 60 rows, and l = 2"):
        series(tmp_path, protecting()).publish(frame)


def test_a_value_that_is_everywhere_is_suppressed(tmp_path):
    """Grown groups suppress the surplus and publish everything else."""
    frame = table(60, share=0).with_columns(
        pl.when(pl.col("who") < 45).then(pl.lit("syphilis")).otherwise("ill").alias("ill")
    )
    published = series(tmp_path, protecting(grouping="bottom-up")).publish(frame)
    left = (published.form.table["ill"] == "syphilis").sum()
    assert 0 < left <= 30
    assert sum(published.suppressed_values.values()) == 45 - left
    assert published.rows == 60


def test_the_least_frequent_are_remembered(tmp_path):
    """The rare values of the first release stay protected, and so is what turns up later; the
    frequent ones are named in the manifest.
    """
    publishing = series(tmp_path, GlobalGuarantee(l=2, protect={"least_frequent": 0.4}))
    first = publishing.publish(table())
    second = publishing.publish(
        table(seed=2).with_columns(
            pl.when(pl.col("who") == 3).then(pl.lit("new one")).otherwise("ill").alias("ill")
        )
    )
    promised = second.manifest.guarantees[0]
    assert promised["protected"] == "all"
    assert (
        sorted(promised["unprotected"])
        == ["cold", "flu", "gout"]
        == sorted(first.manifest.guarantees[0]["unprotected"])
    )
    group = second.form.table.filter(pl.col("ill") == "new one")["group"][0]
    assert second.form.table.filter(pl.col("group") == group).height >= 3


@pytest.mark.parametrize("protect", ["all", {"least_frequent": 1.0}])
def test_what_is_protected_stays(tmp_path, protect):
    """Earlier releases did not count links to what they did not protect, so that a later one cannot
    protect it over all of them; and a manifest that says so is refused.
    """
    first = series(tmp_path, GlobalGuarantee(l=2, protect={"least_frequent": 0.4})).publish(table())
    with pytest.raises(MethodError, match=r"protect is .* in the plan and was .*; put it back"):
        series(tmp_path, GlobalGuarantee(l=2, protect=protect)).publish(table(seed=2))
    everything = series(tmp_path / "all", GlobalGuarantee(l=2, protect="all"))
    everything.publish(table())
    with pytest.raises(MethodError, match="protect is"):
        series(tmp_path / "all", GlobalGuarantee(l=2, protect={"least_frequent": 0.4})).publish(
            table(seed=2)
        )

    assert refusal([first.path]) == ""
    stated(first.path, method=first.manifest.method | {"protect": "all"})
    assert "it promises global-guarantee, and no promise says so" in refusal([first.path])


def test_sets_of_values(tmp_path):
    """Rows that hold several protected values at once: each is bounded by itself, and a suppressed
    one leaves the others.
    """
    rng = np.random.default_rng(4)
    schema = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill", types={"ill": "set"})
    publishing = series(tmp_path, protecting(), schema)
    published = []
    for i in range(4):
        sets = [
            ["flu"] + [v for v in ("chlamydia", "syphilis") if rng.random() < 0.1]
            for _ in range(150)
        ]
        published.append(
            publishing.publish(table(150, seed=i).with_columns(pl.Series("ill", sets)))
        )
    survival = truth_of(published, tmp_path / "l.db", "visits", ["chlamydia", "syphilis"])
    assert 1 - min(survival.values()) <= Fraction(1, 2)
    assert verify([p.path for p in published], ledger=f"sqlite:///{tmp_path}/l.db").holds


def test_a_set_that_is_not_shown_is_missing(tmp_path):
    """Where a budget is spent nothing is said of the set, as of a person whose set is missing; an
    empty set would say that the person has none of the values.
    """
    schema = Schema(
        identifier="who", quasi=["age"], sensitive="ill", types={"ill": "set"}, missing="value"
    )
    ill = [*["hiv"] * 4, *["flu"] * 6, "", None]
    people = pl.DataFrame({"who": range(12), "age": range(20, 32), "ill": ill})
    publishing = series(tmp_path, GlobalGuarantee(l=1.5, protect=["hiv"], k=2), schema)
    first, second = (publishing.publish(people) for _ in range(2))
    assert first.form.table["ill"].null_count() == 1
    assert second.form.table["ill"].null_count() == 12
    holds = verify([first.path, second.path], ledger=f"sqlite:///{tmp_path}/l.db")
    assert holds.holds


def test_a_registry_dilutes(tmp_path):
    """Registered persons without a row make groups with fewer rows; they are counted, remembered,
    and bounded like everybody else.
    """
    publishing = series(tmp_path, protecting(strategy="constant-ratio", horizon=10))
    registry = table(400).select("who", "age", "sex")
    published = [
        publishing.publish(table(100, seed=1).filter(pl.col("who") % 4 == i), registry=registry)
        for i in range(3)
    ]
    assert [each.manifest.holds_if_method_known for each in published] == [False] * 3
    form = published[0].form
    held = form.table.filter(pl.col("ill").is_in(["chlamydia", "syphilis"]))["group"].unique()
    rows = form.table.filter(pl.col("group").is_in(held.implode())).group_by("group").len()
    both = rows.join(form.registered, on="group", how="left").fill_null(0)
    assert (both["len"] + both["count"] >= 15).all()
    assert form.registered["count"].sum() > 0
    survival = truth_of(published, tmp_path / "l.db", "visits", ["chlamydia", "syphilis"])
    assert 1 - min(survival.values()) <= Fraction(1, 2)
    assert verify([p.path for p in published], ledger=f"sqlite:///{tmp_path}/l.db").holds


def with_permanent(i, n=80):
    """Persons of whom three have hiv from some release on, among transient values, some of them
    absent at times.
    """
    frame = table(n, seed=i, share=0.05)
    carriers = [3] if i == 0 else [3, 40] if i == 1 else [3, 40, 41]
    frame = frame.with_columns(
        pl.when(pl.col("who").is_in(carriers)).then(pl.lit("hiv")).otherwise("ill").alias("ill")
    )
    return frame.filter((pl.col("who") + i) % 9 > 0) if i else frame


def test_permanent_values_stand_in_cohorts(tmp_path):
    """Who once stood with a permanent value is published with the same people for good, absent ones
    as counterfeits; the series verifies.
    """
    publishing = series(tmp_path, protecting(permanent=["hiv"]))
    published = [publishing.publish(with_permanent(i)) for i in range(5)]
    assert verify([p.path for p in published], ledger=f"sqlite:///{tmp_path}/l.db").holds
    for p in published:
        groups = (
            p.form.table.group_by("group")
            .agg(n=pl.len(), hiv=(pl.col("ill") == "hiv").sum())
            .filter(pl.col("hiv") > 0)
        )
        assert (groups["hiv"] * 2 <= groups["n"]).all()
    assert any(p.counterfeits for p in published[1:])
    assert published[0].counterfeits == 0


def test_cohorts_beside_a_registry(tmp_path):
    """A member of a cohort who is absent and registered is nobody's neighbour elsewhere; suppressed
    and transient values go on as before.
    """
    publishing = series(tmp_path, protecting(permanent=["hiv"]), seed=1)  # with absent members
    registry = table(400).select("who", "age", "sex")
    published = [publishing.publish(with_permanent(i, 160), registry=registry) for i in range(5)]
    ledger = f"sqlite:///{tmp_path}/l.db"
    assert verify([p.path for p in published], ledger=ledger, allow_seeded=True).holds
    assert any(p.counterfeits for p in published) and all(p.registered for p in published)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"l": 1}, "l = 1 promises nothing"),
        ({"l": 0.5}, "must be at least 1"),
        ({"strategy": "adaptiv"}, "did you mean 'adaptive'"),
        ({"strategy": "geometric", "horizon": 3}, "horizon is of no use"),
        ({"strategy": "geometric", "alpha": 1}, "must be a number above 1"),
        ({"strategy": "adaptive", "alpha": 2}, "alpha belongs to strategy = 'geometric'"),
        ({"strategy": "adaptive", "horizon": 0}, "must be at least 1 exposure"),
        ({"strategy": "adaptive", "horizon": [0.5, 0.7]}, "probabilities that do not grow"),
        (
            {"strategy": "constant-ratio", "horizon": [1, 0.5]},
            "must be a whole number of exposures",
        ),
        ({"protect": []}, "lists no value"),
        ({"protect": "some"}, 'must be "all"'),
        ({"protect": {"least_frequent": 2}}, "a share above 0"),
        ({"protect": {"rare": 0.1}}, "least_frequent"),
        ({"permanent": "hiv"}, "must be a list"),
        ({"k": 0}, "whole number of at least 1"),
        ({"grouping": "sideways"}, "grouping = 'sideways' is not known"),
        ({"min_width": {"age": 0}}, "must be a number above 0"),
        ({"min_width": 2}, "min_width is a table"),
    ],
)
def test_parameters_that_mean_nothing(settings, what):
    """One sentence that names the key and what to write."""
    with pytest.raises(PlanError, match=what):
        GlobalGuarantee(**({"l": 2} | settings))


def test_a_series_keeps_its_l(tmp_path):
    """Another l in the same series is refused, and so is a table without persons."""
    series(tmp_path, protecting()).publish(table())
    with pytest.raises(LedgerError, match="another guarantee"):
        series(tmp_path, protecting(l=3)).publish(table())
    with pytest.raises(SchemaError, match="no identifier is declared"):
        series(tmp_path, protecting(), Schema(quasi=["age", "sex"], sensitive="ill", drop=["who"]))


def test_the_order_of_the_source_does_not_matter(tmp_path):
    """Groups are made after a random shuffle: two runs over the same rows differ, and neither
    follows the order of the source.
    """
    frame = pl.DataFrame(
        {"who": range(60), "age": [30] * 60, "sex": ["f"] * 60, "ill": ["chlamydia"] + ["flu"] * 59}
    )
    mates = set()
    for i in range(6):
        p = series(tmp_path / str(i), protecting(k=1)).publish(frame)
        with Ledger.open(f"sqlite:///{tmp_path}/{i}/l.db", create=False) as opened:
            mapping = opened.groups("visits", 1)
        group = p.form.table.filter(pl.col("ill") == "chlamydia")["group"][0]
        mates.add(tuple(sorted(mapping.filter(pl.col("group") == group)["person"].to_list())))
    assert len(mates) == 6
