# SPDX-License-Identifier: Apache-2.0
"""Slicing from microdata to a draft, and through the whole way of publishing: what is published
keeps the promise, what cannot be kept is refused.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx as px
from phalanx.adversaries.groups.matching import Column, rank
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.guarantees.slicing.posterior import largest, matches
from phalanx.guarantees.truth import buckets as bucket_truth
from phalanx.guarantees.views.sliced import View
from phalanx.methods.base import Memory, make
from phalanx.methods.mondrian.kernels.cutting import RELAXED
from phalanx.methods.slicing import cuts
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.series.series import Series
from phalanx.verification import verify
from support.sliced_cases import released

QUASI = ["age", "sex", "town", "job"]


def patients(n=300, seed=3):
    """Persons whose illness goes with their job and sex, some values more frequent than others."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 5, n)
    illness = (job + rng.choice(6, n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])) % 7
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["Aachen", "Bonn", "Celle"], n, p=[0.6, 0.3, 0.1]),
            "job": [f"job {j}" for j in job],
            "illness": [f"illness {i}" for i in illness],
        }
    )


def encoded(frame=None, **roles):
    return Microdata.encode(
        patients() if frame is None else frame,
        Schema(**({"quasi": QUASI, "sensitive": "illness"} | roles)),
    )


def publish(microdata, seed=1, **parameters):
    return Slicing(**parameters).publish(microdata, Memory(), Randomness.seeded(seed))


def worst_of_the_table(draft, microdata):
    """The largest p(t, s) of a tuple of the table."""
    view = View.of(draft.form)
    return largest(view, np.unique(view.of_people(microdata, np.arange(microdata.rows)), axis=0))[0]


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {"l": 2},
        {"l": "5/2", "columns": 3},
        {"l": 2, "columns": 5},
        {"l": 2, "sensitive_column_size": 1},
        {"l": 2, "sensitive_column_size": 2, "cuts": "relaxed"},
        {"l": 2, "columns": 5, "cuts": "relaxed"},
        {"l": 2, "columns": 2, "cuts": "relaxed", "check": "local"},
        {"l": 2, "generalize_columns_k": 20},
        {"l": 2, "columns": 3, "generalize_columns_k": 5, "cuts": "relaxed"},
        {"l": 3, "diversity": "distinct"},
        {"l": 2, "c": 2, "diversity": "recursive"},
        {"l": 1, "t": "2/5"},
        {"l": 1, "t": "2/5", "distance": "ordered", "cuts": "relaxed"},
        {"l": 2, "grouping": "random", "bucket_size": 30},
        {"l": 2, "grouping": "membership", "bucket_size": 30},
        {"l": "4/2", "columns": 3, "grouping": "membership", "bucket_size": 20},
        {"l": 2, "columns": [["age", "sex"], ["sex", "town", "job"], ["illness", "sex"]]},
        {"l": 2, "columns": [["age", "sex", "town", "job"], ["illness"]], "bucket_size": 10},
    ],
)
def test_what_is_published_keeps_the_promise_and_is_true(parameters, compact):
    """Whatever the parameters: each promise holds by its own check of the form, buckets have their
    size, and hold the values of their persons.
    """
    microdata = encoded()
    draft = publish(microdata, compact=compact, **parameters)
    for guarantee in Slicing(**parameters).guarantees:
        found = guarantee.check(released(draft.form), (), Evidence(microdata={1: microdata}))
        assert all(v.holds for v in found), found
    assert bucket_truth.check_sliced(draft.form, microdata, draft.groups).holds
    assert np.bincount(draft.groups)[1:].min() >= parameters.get("bucket_size", 1)
    assert draft.form.groups > 1


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(5, 60),
    st.sampled_from([2, 3, "3/2"]),
    st.sampled_from([2, 3]),
    st.sampled_from(["strict", "relaxed"]),
)
def test_no_table_is_published_with_more_than_one_in_l(seed, rows, l, columns, cuts):
    """On any small table p(t, s) of every tuple of the table is at most 1/l in fractions, or the
    table is refused as one bucket.
    """
    frame = patients(rows, seed).with_columns(pl.col("age") % 4)
    microdata = encoded(frame)
    try:
        draft = publish(microdata, seed, l=l, columns=columns, cuts=cuts)
    except NotEligible:
        return
    assert worst_of_the_table(draft, microdata) <= 1 / Fraction(l)


def test_a_tuple_matches_its_own_bucket_alone_under_strict_cuts():
    """Which is why the exact and the local check are the same there: one matching bucket for
    everybody (spec, "Worth knowing").
    """
    microdata = encoded()
    for columns in (2, 5):
        draft = publish(microdata, l=2, columns=columns)
        view = View.of(draft.form)
        people = np.unique(view.of_people(microdata, np.arange(microdata.rows)), axis=0)
        assert [
            int(n) for found in matches(view, people) for n in np.bincount(found.tuple, minlength=1)
        ] == [1] * len(people)
        assert (
            publish(microdata, l=2, columns=columns, check="local").form.groups == draft.form.groups
        )


@pytest.mark.parametrize(
    ("parameters", "check"),
    [
        ({}, "exact"),
        ({"cuts": "relaxed"}, "exact"),
        ({"generalize_columns_k": 5}, "exact"),
        ({"cuts": "relaxed", "check": "local"}, "local"),
        ({"cuts": "relaxed", "diversity": "distinct"}, "local"),
        ({"cuts": "relaxed", "diversity": "recursive", "c": 2}, "local"),
        ({"cuts": "relaxed", "t": "1/2"}, "local"),
        ({"sensitive_column_size": 1}, "local"),
        ({"cuts": "relaxed", "columns": [["age", "sex"], ["sex", "illness"]]}, "local"),
        ({"grouping": "random", "bucket_size": 10}, "local"),
        ({"grouping": "membership", "bucket_size": 10}, "local"),
    ],
)
def test_the_manifest_says_which_check_was_made(parameters, check):
    """``exact`` only where a cut may be judged by all buckets; where buckets keep the promise by
    themselves, nobody is told more. What it says makes the same again.
    """
    slicing = Slicing(l=2, **parameters)
    said = {key: value for key, value in slicing.parameters().items() if key != "name"}
    assert said["check"] == check
    assert Slicing(**said).parameters() == slicing.parameters()
    assert check == "exact" or "counted" not in [g.name[-7:] for g in slicing.guarantees]


@pytest.mark.parametrize("check", ["exact", "local"])
def test_without_a_sensitive_attribute_the_manifest_says_local(check, tmp_path):
    """Published once or in a series: buckets keep the promise by themselves, whatever the plan says."""
    schema = Schema(quasi=["age", "sex", "town", "job"], drop=["illness"])
    slicing = Slicing(l=2, columns=[["age", "sex"], ["town", "job"]], cuts="relaxed", check=check)
    table, to = patients(), tmp_path / "out"
    series = Series("s", schema, slicing, to=to, ledger=f"sqlite:///{tmp_path}/s.db", report=False)
    for release in (px.publish(table, schema, slicing), series.publish(table)):
        assert release.manifest.method["check"] == "local"
        assert [g["name"] for g in release.manifest.guarantees] == ["l-diverse-slicing"]
        assert release.verify().holds


def test_the_exact_check_earns_its_keep_with_relaxed_cuts():
    """It makes more buckets than the local one, as a bucket may lean on the others that its tuples
    match.
    """
    microdata = encoded(patients(2000).with_columns(pl.col("age") % 6))
    local, exact = (
        publish(microdata, l="5/2", columns=5, cuts="relaxed", check=check).form.groups
        for check in ("local", "exact")
    )
    assert exact > local


def test_without_a_sensitive_attribute_every_column_is_protected():
    """In no bucket has a value of any column more than 1/l of the rows; a column too even to be so
    is named in the refusal.
    """
    microdata = encoded(patients().drop("illness"), sensitive=None)
    columns = [["age", "sex"], ["town", "job"]]
    draft = publish(microdata, l=3, columns=columns)
    assert draft.form.groups > 1
    for bucket in draft.form.table.partition_by("bucket"):
        for column in columns:
            assert max(Counter(bucket.select(column).rows()).values()) * 3 <= bucket.height
    with pytest.raises(
        NotEligible,
        match=(
            r"a value of column sex stands in \d+ of 300 rows, and l = 3 allows at most 1/l;"
            r" lower l to at most 1"
        ),
    ):
        publish(microdata, l=3, columns=[["age", "town", "job"], ["sex"]])


def test_without_a_sensitive_attribute_shared_attributes_are_known():
    """Whoever knows the other columns knows what a column shares with them: no value has more than
    1/l of those who agree on it, and the check says so.
    """
    microdata = encoded(patients().drop("illness"), sensitive=None)
    draft = publish(microdata, l="3/2", columns=[["age", "sex"], ["sex", "town", "job"]])
    assert draft.form.groups > 1
    assert all(v.holds for v in SlicedDiversity(l="3/2").check(draft.form))


def test_columns_are_shuffled_by_themselves():
    """Which value of one column stands beside which of another is uniform within a bucket: each of
    the 24 pairings of four rows comes equally often.

    2,000 releases; chi-square of 23 degrees of freedom, false alarm for 1 of 10,000 other seeds.
    """
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "illness": list("abcd")})
    microdata = encoded(frame, quasi=["age"])
    seen = Counter()
    for seed in range(2000):
        table = publish(microdata, seed, l=4, columns=2).form.table
        assert table["bucket"].n_unique() == 1
        seen[tuple(v for _, v in sorted(table.select("age", "illness").rows()))] += 1
    assert len(seen) == 24
    assert sum((n - 2000 / 24) ** 2 / (2000 / 24) for n in seen.values()) < 57.1


def test_grouping_against_membership_hides_better_than_boxes_and_dealing():
    """Whichever of the two adversaries does better, and whichever way they rank: originals stand
    out less than from boxes, and than from random buckets.
    """
    frame = patients(3000)
    microdata = encoded(frame)
    columns = [["age", "town", "job"], ["sex", "illness"]]
    values = [
        np.unique([str(row) for row in frame.select(column).rows()], return_inverse=True)[1].astype(
            np.int64
        )
        for column in columns
    ]
    found = {}
    for grouping in ("mondrian", "random", "membership"):
        draft = publish(
            microdata,
            l=1 if grouping == "random" else 2,
            columns=columns,
            grouping=grouping,
            bucket_size=40,
        )
        buckets = draft.groups - 1
        held = [Column.of_rows(buckets, value) for value in values]
        found[grouping] = rank(
            held,
            np.bincount(buckets),
            *np.unique(np.stack(values, axis=1), axis=0, return_counts=True),
            Randomness.seeded(1).stream("draw"),
        )
        if grouping == "membership":
            assert np.bincount(buckets).max() < 80
    told = {
        grouping: max(abs(a.area - 0.5) for a in (r.by_number, r.by_degree))
        for grouping, r in found.items()
    }
    assert told["membership"] < min(told["mondrian"], told["random"])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"l": 0}, r"l must be at least 1"),
        ({"l": "many"}, r"\[method\] l must be a number"),
        ({"l": 2, "columns": 0}, r"columns must be a whole number of at least 1"),
        ({"l": 2, "columns": True}, r"columns must be a whole number"),
        ({"l": 2, "check": "exakt"}, r"did you mean 'exact'"),
        ({"l": 2, "cuts": "lax"}, r"cuts = 'lax' is not known"),
        ({"l": 2, "grouping": "random"}, r"needs bucket_size"),
        (
            {"l": 2, "grouping": "membership", "bucket_size": 9, "cuts": "relaxed"},
            r"cuts = 'relaxed' is for grouping = 'mondrian'",
        ),
        (
            {"l": 2, "diversity": "distinct", "grouping": "membership", "bucket_size": 9},
            r"leave diversity and t out",
        ),
        (
            {"l": 2, "t": 0.5, "grouping": "membership", "bucket_size": 9},
            r"leave diversity and t out",
        ),
        (
            {"l": "5/2", "grouping": "membership", "bucket_size": 9},
            r"deals whole sets of l values; round it up",
        ),
        ({"l": 2, "bucket_size": 0}, r"bucket_size must be a whole number of at least 1"),
        (
            {"l": 2, "columns": [["age"], ["illness"]], "sensitive_column_size": 2},
            r"here they are named",
        ),
        ({"l": 2.5, "diversity": "distinct"}, r"not a whole number"),
        ({"l": 2, "diversity": "recursive"}, r"give both or neither"),
        ({"l": 2, "c": 2}, r"give both or neither"),
        ({"l": 2, "c": 0, "diversity": "recursive"}, r"c = 0 is met by no table"),
        ({"l": 2, "t": 2}, r"\[method\] t must be at least 0 and at most 1"),
        ({"l": 2, "distance": "ordered"}, r"needs t"),
        ({"l": 2, "not_eligible": "suppress", "t": 0.5}, r"leave one of them out"),
        ({"l": 2, "not_eligible": "drop"}, r"not_eligible = 'drop' is not known"),
        ({"l": 2, "compact": "yes"}, r"must be true or false"),
    ],
)
def test_parameters_that_cannot_be(parameters, sentence):
    """Each wrong parameter is refused before any table is looked at, in a sentence that names
    it.
    """
    with pytest.raises(PlanError, match=sentence):
        Slicing(**parameters)


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"l": 2, "columns": 6}, PlanError, r"columns = 6 and there are 5 attribute\(s\)"),
        (
            {"l": 2, "sensitive_column_size": 5},
            PlanError,
            r"sensitive_column_size = 5 leaves too few of 5 attributes",
        ),
        (
            {"l": 2, "columns": [["age", "sex"], ["town", "illness"]]},
            PlanError,
            r"leaves out 'job'",
        ),
        (
            {"l": 2, "columns": [["age", "age", "sex", "job"], ["town", "illness"]]},
            PlanError,
            r"names 'age' twice",
        ),
        (
            {"l": 2, "columns": [["age", "sex", "job", "illness"], ["town", "illness"]]},
            PlanError,
            r"in more than one column",
        ),
        (
            {
                "l": 2,
                "columns": [["age", "sex"], ["sex", "job"], ["job", "age"], ["town", "illness"]],
            },
            PlanError,
            r"in a circle",
        ),
        (
            {
                "l": 2,
                "columns": [["age", "sex"], ["sex", "town", "job"], ["illness"]],
                "generalize_columns_k": 3,
            },
            PlanError,
            r"stands in two columns",
        ),
        ({"l": 8}, NotEligible, r"lower l to at most"),
        (
            {"l": 7, "diversity": "distinct", "columns": [QUASI[:3], ["job", "illness"]]},
            NotEligible,
            r"as one bucket does not keep l = 7",
        ),
        ({"l": 1, "t": 0, "columns": [QUASI[:3], ["job", "illness"]]}, NotEligible, r"t = 0"),
        ({"l": 2, "bucket_size": 301}, MethodError, r"300 row\(s\) and bucket_size = 301"),
        ({"l": 2, "generalize_columns_k": 301}, MethodError, r"generalize_columns_k = 301"),
        ({"l": 2, "bins": 1}, PlanError, r"bins"),
        (
            {"l": 9, "not_eligible": "suppress"},
            NotEligible,
            r"no row could be published with l = 9",
        ),
    ],
)
def test_what_a_table_cannot_give(parameters, error, sentence):
    """Columns that the table has not, and promises that it cannot keep, are refused in a sentence
    that says by how much.
    """
    with pytest.raises(error, match=sentence):
        publish(encoded(), **parameters)


def test_the_attribute_that_stands_in_the_way_is_named():
    """Where the sensitive attribute shares its column with one that tells it, the refusal names
    that one and a way out that is one: it publishes.
    """
    frame = patients().with_columns(
        job=pl.when(pl.col("illness") == "illness 3").then(pl.lit("nurse")).otherwise("job")
    )
    with pytest.raises(
        NotEligible,
        match=(
            r"rows that agree on 'job', .*'job' stands in the way: set sensitive_column_size = 1, or"
            r" make it coarser"
        ),
    ) as refused:
        publish(encoded(frame), l=2, sensitive_column_size=2)
    assert "at most 1," not in str(refused.value)
    assert publish(encoded(frame), l=2, sensitive_column_size=1).form.rows == 300
    with pytest.raises(
        NotEligible,
        match=r"'job' stands in the way: name columns that leave the sensitive attribute alone",
    ):
        publish(encoded(frame), l=2, columns=[["age"], ["sex", "town"], ["job", "illness"]])
    with pytest.raises(NotEligible, match=r"'age' stands in the way"):
        publish(encoded(), l=2, columns=[["job"], ["age", "sex", "town", "illness"]])


def test_a_value_that_is_too_frequent_by_itself_is_no_column_s_fault():
    """No attribute is blamed, and what is advised is possible."""
    frame = patients().with_columns(
        illness=pl.when(pl.int_range(pl.len()) % 10 < 9).then(pl.lit("flu")).otherwise("illness")
    )
    with pytest.raises(
        NotEligible,
        match=r"a value stands in \d+ of all 300 rows, so set sensitive_column_size = 1 and suppress rows with not_eligible, or",
    ):
        publish(encoded(frame), l=2, sensitive_column_size=2)


def test_attributes_that_this_form_has_no_place_for():
    """A kept column and sets are refused; so is what needs a sensitive attribute where there is
    none.
    """
    with pytest.raises(
        SchemaError,
        match="'town' is kept, and slicing puts every published attribute into a column",
    ):
        publish(encoded(quasi=["age", "sex", "job"], keep=["town"]), l=2)
    of_sets = patients().with_columns(pl.concat_list("illness").alias("illness"))
    with pytest.raises(SchemaError, match="holds sets of values"):
        publish(encoded(of_sets), l=2)
    for parameters in (
        {"t": 0.5},
        {"diversity": "distinct"},
        {"grouping": "membership", "bucket_size": 9},
        {"not_eligible": "suppress"},
    ):
        with pytest.raises(PlanError, match="none is declared"):
            publish(encoded(patients().drop("illness"), sensitive=None), l=2, **parameters)


def test_rows_may_be_suppressed():
    """Where a value is too frequent for l, as few rows as can be are left out, by lot, of that
    value only; what is published keeps the promise and is true.
    """
    frame = patients().with_columns(
        illness=pl.when(pl.col("age") % 3 == 0)
        .then(pl.lit("illness 0"))
        .otherwise(pl.col("illness"))
    )
    microdata = encoded(frame)
    columns = [QUASI, ["illness"]]
    with pytest.raises(NotEligible, match="suppress rows with not_eligible"):
        publish(microdata, l=4, columns=columns)
    drafts = [
        publish(microdata, seed, l=4, columns=columns, not_eligible="suppress") for seed in (1, 2)
    ]
    counts = Counter(frame["illness"].to_list())
    fewest = next(k for k in range(len(frame)) if (counts["illness 0"] - k) * 4 <= len(frame) - k)
    for draft in drafts:
        absent = draft.groups == 0
        assert (
            draft.suppressed.rows
            == {"not l-eligible": fewest}
            == {"not l-eligible": int(absent.sum())}
        )
        assert set(frame.filter(pl.Series(absent))["illness"]) == {"illness 0"}
        assert SlicedDiversity(l=4).check(draft.form)[0].holds
        assert bucket_truth.check_sliced(draft.form, microdata, draft.groups).holds
    assert (drafts[0].groups == 0).tolist() != (drafts[1].groups == 0).tolist()
    assert publish(encoded(), l=2, not_eligible="suppress").suppressed.rows == {}


def test_a_constant_attribute_is_published_like_any_other():
    """phi^2 is undefined for it and counts as none; it stands in some column."""
    draft = publish(encoded(patients().with_columns(town=pl.lit("Bonn"))), l=2, columns=3)
    assert sum("town" in column for column in draft.form.columns) == 1


@pytest.mark.parametrize("compact", [False, True])
def test_the_whole_way(tmp_path, compact):
    """A series is published, read back and verified from its files alone, in both formats, and
    beside its originals and its ledger.
    """
    method = make("slicing", {"l": 2, "sensitive_column_size": 2, "compact": compact})
    frame = patients().with_row_index("who")
    series = Series(
        "s", schema=Schema(identifier="who", quasi=QUASI, sensitive="illness"), method=method, to=tmp_path / "out", formats=("csv", "parquet"),
        ledger=f"sqlite:///{tmp_path}/l.db", report=False,
    )  # fmt: skip
    first, second = series.publish(frame), series.publish(frame[:250])
    assert verify([first.path, second.path]).holds
    with_all = verify(
        [first.path], originals=[frame], identifier="who", ledger=f"sqlite:///{tmp_path}/l.db"
    )
    assert with_all.holds
    assert any("truth" in check.name for check in with_all.checks)
    assert second.table.height == 250
    assert set(first.tables) == ({"column-1", "column-2"} if compact else {"data"})
    assert not verify(
        [first.path],
        originals=[frame.with_columns(pl.col("illness").reverse())],
        identifier="who",
        ledger=f"sqlite:///{tmp_path}/l.db",
    ).holds


def test_a_promise_over_all_buckets_is_kept_by_the_table_if_not_by_all_candidates(
    tmp_path, monkeypatch
):
    """Where the exact check lets a bucket lean on others, the publisher's check holds, and whoever
    has the files alone is told what they lack.

    Cuts through the rows at medians deal equal values out by lot, so that some releases lean on
    nothing: the first of many that does is looked at.
    """
    monkeypatch.setattr(cuts, "RELAXEDLY", cuts.Way(RELAXED, 0))
    frame = patients().with_columns(pl.col("age") % 3).with_row_index("who")
    method = Slicing(l="3/2", columns=3, cuts="relaxed")
    series = Series(
        "s",
        schema=Schema(identifier="who", quasi=QUASI, sensitive="illness"),
        method=method,
        to=tmp_path / "out",
        report=False,
    )
    for _ in range(30):
        release = series.publish(frame)
        alone = next(
            check for check in verify([release.path]).checks if "l-diverse-slicing" in check.name
        )
        if not alone.holds:
            break
    assert not alone.holds
    assert "only the original table shows" in alone.note
    beside = verify([release.path], originals=[frame], identifier="who")
    assert next(check for check in beside.checks if "l-diverse-slicing" in check.name).holds


def test_balanced_cuts_need_the_sensitive_attribute_alone(tmp_path):
    """They are the default where it stands alone; every bucket keeps l by itself, the files verify,
    and beside another attribute they are refused.
    """
    frame = pl.DataFrame(
        {
            "age": [20 + i % 30 for i in range(200)],
            "zip": [i % 11 for i in range(200)],
            "ill": ["abcde"[i * 3 % 5] for i in range(200)],
        }
    )
    schema = Schema(quasi=["age", "zip"], sensitive="ill")

    def publishing(name, **settings):
        return Series(
            name,
            schema=schema,
            method=Slicing(l=3, **settings),
            to=tmp_path / "out",
            ledger=f"sqlite:///{tmp_path}/l.db",
            report=False,
        ).publish(frame)

    made = publishing("alone", sensitive_column_size=1)
    assert made.manifest.method["cuts"] == "balanced"
    assert made.manifest.holds_if_method_known
    ill = next(part for part in made.form.parts if "ill" in part.columns)
    shares = ill.group_by("bucket").agg(
        n=pl.len(), most=pl.col("ill").value_counts().struct.field("count").max()
    )
    assert (3 * shares["most"] <= shares["n"]).all()
    assert shares.height > 10
    with pytest.raises(PlanError, match="stands alone in its column"):
        publishing("beside", columns=[["age"], ["zip", "ill"]], cuts="balanced")


@pytest.mark.parametrize("workload", ["age", [["age"]], [["age", "age"]], [["age", 1]], {"a": 1}])
def test_a_workload_is_a_list_of_lists(workload):
    """Of two attributes or more, by name."""
    with pytest.raises(PlanError, match="workload must be a list of lists"):
        Slicing(l=2, workload=workload)


def test_a_workload_goes_with_a_number_of_columns():
    """Named columns are chosen already; and what it chooses tells nothing of values."""
    with pytest.raises(PlanError, match="workload chooses columns, and here they are named"):
        Slicing(l=2, columns=[["age"], ["illness"]], workload=[["age", "illness"]])
    dealt = Slicing(l=2, grouping="random", bucket_size=4, workload=[["age", "zip"]])

    assert dealt.holds_if_method_known
    assert not Slicing(l=2, grouping="random", bucket_size=4).holds_if_method_known
    assert dealt.parameters()["workload"] == [["age", "zip"]]
    assert "workload" not in Slicing(l=2).parameters()


@pytest.mark.parametrize(
    ("more", "told", "not_told"),
    [
        ({}, "lower l to at most 1.5, suppress rows with not_eligible, or", ""),
        ({"t": 0.2}, "lower l to at most 1.5, make the values coarser", "not_eligible"),
        ({"generalize_columns_k": 2}, "make the values coarser at the source", "not_eligible"),
        ({"grouping": "membership", "bucket_size": 4}, "suppress rows", "lower l"),
    ],
    ids=["alone", "t", "generalized", "membership"],
)
def test_ways_out_are_those_that_other_parameters_leave(more, told, not_told):
    """What is advised is not refused by the next error."""
    frame = pl.DataFrame({"num": range(30), "s": ["a"] * 20 + [f"b{i}" for i in range(10)]})
    schema = Schema(quasi=["num"], sensitive="s", types={"num": "numeric"})
    microdata = Microdata.encode(frame, schema)
    with pytest.raises(NotEligible) as refused:
        publish(microdata, l=2, columns=[["num"], ["s"]], **more)
    assert told in str(refused.value)
    assert not not_told or not_told not in str(refused.value)
