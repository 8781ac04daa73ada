# SPDX-License-Identifier: Apache-2.0
"""Sliced and bucketized releases that anybody changes are refused in words, whatever is changed;
the untouched ones hold.
"""

import ast
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given as given_of
from hypothesis import settings
from hypothesis import strategies as st

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.guarantees.consistency import buckets
from phalanx.guarantees.consistency.intervals import interval_faults
from phalanx.guarantees.truth import buckets as bucket_truth
from phalanx.guarantees.verify import verify
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import Bucketized, bucketize
from phalanx.release.forms.sliced import Sliced, slice_into
from phalanx.release.manifest import NAME, PublishedAttribute
from support.bucket_cases import (
    FORMATS,
    FRAME,
    KINDS,
    MICRODATA,
    OF_ROW,
    SCHEMA,
    form_of,
    issue,
    promise_of,
    refusal,
    rewritten,
    say,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formats", FORMATS)
def test_the_untouched_release_holds(tmp_path, kind, formats):
    """In every form, layout and format the release holds, beside the original and the mapping too:
    what refuses the others is the change.
    """
    form, published = form_of(kind)
    path = issue(tmp_path / "r", form, formats)
    assert refusal(path) == ""
    mapping = pl.DataFrame({"person": MICRODATA.persons, "group": published})
    assert refusal(path, Evidence(groups={1: mapping}, microdata={1: MICRODATA})) == ""


def put(column: str, value: Any, *, row: int = 0) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Another value in one row."""
    return lambda t: t.with_columns(
        pl.when(pl.int_range(pl.len()) == row)
        .then(pl.lit(value, dtype=t[column].dtype))
        .otherwise(pl.col(column))
        .alias(column)
    )


def typed(column: str, dtype: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda t: t.with_columns(pl.col(column).cast(dtype))


def floating(column: str, value: float) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """A column of floating point, with another value in the first row."""
    return lambda t: put(column, value)(typed(column, pl.Float64)(t))


def given(
    change: Callable[[pl.DataFrame], pl.DataFrame], table: int = 0
) -> Callable[[Sliced], Sliced]:
    """Change one table of a sliced form."""
    return lambda form: replace(
        form, given=tuple(change(t) if i == table else t for i, t in enumerate(form.given))
    )


def values(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Bucketized], Bucketized]:
    return lambda form: replace(form, values=change(form.values))


def table(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Bucketized], Bucketized]:
    return lambda form: replace(form, table=change(form.table))


def attribute(name: str, **said: Any) -> Callable[[Form], Form]:
    """Another description of one attribute."""
    return lambda form: replace(
        form,
        attributes=tuple(
            a.model_copy(update=said) if a.name == name else a for a in form.attributes
        ),
    )


def counted_again(t: pl.DataFrame) -> pl.DataFrame:
    """One count taken apart into two rows."""
    at = int(t["count"].arg_max())
    return pl.concat(
        [
            put("count", t["count"][at] - 1, row=at)(t),
            t[[at]].with_columns(count=pl.lit(1, dtype=pl.Int64)),
        ]
    )


def one_bucket_bigger(t: pl.DataFrame) -> pl.DataFrame:
    """A tuple more in the first bucket and one less in the last: as many as before."""
    t = t.sort("bucket")
    return put("count", t["count"][0] + t["count"][-1])(t).head(-1)


def circle(_: Form) -> Sliced:
    """Three columns that share attributes in a circle, each saying what is so."""
    return slice_into(
        MICRODATA,
        (("age", "born"), ("born", "sex"), ("sex", "age", "zip", "ill")),
        OF_ROW,
        Randomness.secure().stream("test"),
    )[0]


def kept(form: Form) -> Form:
    return attribute("sex", role="keep")(form)


def two_sensitive(form: Sliced) -> Sliced:
    return attribute("zip", role="sensitive", hierarchy=None)(form)


def sensitive_first(form: Sliced) -> Sliced:
    """The sensitive attribute in the first column."""
    columns = (("zip", "ill"), ("age", "born", "sex"))
    return replace(
        form,
        columns=columns,
        given=(form.given[0].select("bucket", "zip", "ill", "age", "born", "sex"),),
    )


def one_bucket(t: pl.DataFrame) -> pl.DataFrame:
    """All counts of a column in the first bucket."""
    return (
        t.with_columns(pl.lit(1, dtype=pl.Int64).alias("bucket"))
        .group_by(t.columns[:-1])
        .agg(pl.sum("count"))
    )


def from_zero(form: Bucketized) -> Bucketized:
    less = pl.col("bucket") - 1
    return replace(form, table=form.table.with_columns(less), values=form.values.with_columns(less))


def in_two_columns(form: Bucketized) -> Bucketized:
    """An attribute of a bucketized release published twice."""
    twice = form.table.with_columns(age_2="age").select(
        "bucket", "age", "age_2", "born", "sex", "zip"
    )
    return attribute("age", columns=["age", "age_2"])(replace(form, table=twice))


def without_node(form: Sliced) -> Sliced:
    """A generalized attribute with a hierarchy and without its node."""
    return attribute("age", columns=["age_low", "age_high"])(
        replace(form, given=(form.given[0].drop("age"), *form.given[1:]))
    )


def overlapping(t: pl.DataFrame) -> pl.DataFrame:
    """The intervals of dates wide open, and all else the same in one attribute, so that boxes
    meet.
    """
    wide = [
        pl.lit(date(1900, 1, 1)).alias("born_low"),
        pl.lit(date(2000, 1, 1)).alias("born_high"),
        pl.lit("F").alias("sex_low"),
        pl.lit("M").alias("sex_high"),
    ]
    return t.with_columns(
        *wide,
        age=pl.lit("*"),
        age_low=pl.min("age_low"),
        age_high=pl.when(pl.col("bucket") == 1).then(60).otherwise(54),
    )


CHANGES: dict[str, tuple[str, Callable[[Any], Form], str]] = {
    "a kept attribute": ("rows", kept, "'sex' is kept as it is, which this form has no place for"),
    "two sensitive attributes": ("rows", two_sensitive, "there are several sensitive attributes"),
    "an interval without its node": ("boxes rows", without_node, "'age' stands in 2 column(s), which are too many or too few"),
    "a set of quasi-identifiers": ("rows", attribute("sex", type="set"), "'sex' is declared a set, which only a sensitive attribute may be"),
    "buckets that are text": ("rows", given(typed("bucket", pl.String)), "the bucket column of data does not hold whole numbers"),
    "buckets that are fractions": ("compact", given(typed("bucket", pl.Float64)), "the bucket column of column 1 does not hold whole numbers"),
    "a row without a bucket": ("rows", given(put("bucket", None)), "the bucket column of data does not hold whole numbers"),
    "counts that are text": ("compact", given(typed("count", pl.String), 1), "the count column of column 2 does not hold whole numbers"),
    "a count of nobody": ("compact", given(lambda t: pl.concat([t, t[:1].with_columns(pl.col("count") * 0, age=pl.lit(99, dtype=pl.Int64))])), "1 count(s) of column 1 are not positive"),
    "a negative count": ("bucketized", values(put("count", -1)), "1 count(s) of sensitive are not positive"),
    "counts beyond all tables": ("compact", given(put("count", 2**62)), "the counts of column 1 add up to more tuples than any table has"),
    "numbers as text": ("rows", given(typed("age", pl.String)), "column 'age' holds String and is declared numeric"),
    "dates as text": ("bucketized", table(typed("born", pl.String)), "column 'born' holds String and is declared date"),
    "a value as a list": ("rows", given(lambda t: t.with_columns(ill=pl.concat_list("ill"))), "column 'ill' holds List(String) and is declared categorical"),
    "a node as a number": ("boxes rows", given(lambda t: t.with_columns(age=pl.lit(20))), "column 'age' holds Int32 and is declared nodes"),
    "a value that is NaN": ("rows", given(floating("age", float("nan"))), "column 'age' holds NaN or an infinite number, which no person has; a missing value is null"),
    "an infinite end": ("boxes rows", given(floating("age_high", float("inf"))), "column 'age_high' holds NaN or an infinite number"),
    "the same counted twice": ("compact", given(counted_again), "1 row(s) of column 1 count the same values of the same bucket again"),
    "a value counted twice": ("bucketized", values(lambda t: pl.concat([t, t[:1]])), "1 row(s) of sensitive count the same values of the same bucket again"),
    "the sensitive attribute in the first column": ("rows", sensitive_first, "the sensitive attribute does not stand in the last column alone"),
    "columns in a circle": ("rows", circle, "the columns share attributes in a circle, so that what they say together cannot be checked"),
    "a gap in the buckets": ("rows", given(lambda t: t.with_columns(pl.col("bucket").replace(2, 3))), "the buckets are not numbered 1 to 2"),
    "buckets from 0": ("bucketized", from_zero, "the buckets are not numbered 1 to 2"),
    "a column with another size": ("compact", given(one_bucket_bigger), "the buckets of column 2 have other sizes than those of column 1"),
    "a column with a bucket less": ("compact", given(one_bucket, 1), "the buckets of column 2 have other sizes"),
    "a shared attribute in one column": ("shared rows", given(put("sex", "X")), "columns 2 and 3 share sex and do not say the same of it"),
    "a shared attribute of a compact release": ("shared compact", given(put("born", date(1900, 1, 1))), "columns 1 and 2 share born and do not say the same of it"),
    "intervals that overlap": ("boxes rows", given(overlapping), "some intervals of 'age' and what stands with it overlap, so that a person has two values"),
    "an end crossed": ("boxes rows", given(lambda t: t.with_columns(born_low=pl.lit(date(2020, 1, 1)))), "interval(s) of 'born' end before they begin"),
    "a low end alone": ("boxes compact", given(lambda t: t.with_columns(born_high=pl.lit(None, dtype=pl.Date))), "a low end and no high end"),
    "a node that does not cover": ("boxes compact", given(lambda t: t.with_columns(zip=pl.lit("11111")), 1), "node(s) of 'zip' do not cover their interval"),
    "a place that no leaf has": ("boxes compact", given(lambda t: t.with_columns(zip_high=pl.lit("9")), 1), "a value that the hierarchy in the manifest does not name"),
    "sensitive values of one bucket more": ("bucketized", values(put("count", 2)), "the buckets of sensitive have other sizes than those of data"),
    "an attribute with two columns": ("bucketized", in_two_columns, "'age' stands in 2 column(s), which are too many or too few"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "what"), CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_release_is_refused(tmp_path, kind, change, what):
    """Whatever is changed in the tables, with counts and digests that fit, is named; and nothing is
    said to be kept.
    """
    form = change(form_of(kind)[0])
    said = refusal(issue(tmp_path / "r", form))
    assert what in said
    assert (
        promise_of(form)["name"] not in said
        or "not checked, since the release contradicts itself" in said
    )


def test_every_fault_has_a_release_of_its_own():
    """No sentence stands in the source that no changed release brings up."""
    yielded = [
        node.value
        for node in ast.walk(ast.parse(Path(buckets.__file__).read_text()))
        if isinstance(node, ast.Yield)
    ]
    longest = []
    for sentence in yielded:
        parts = [
            part.value
            for part in ast.walk(sentence)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        longest.append(max(parts, key=len))
    assert len(longest) > 15
    assert [
        part for part in longest if not any(part.strip() in what for _, _, what in CHANGES.values())
    ] == []


@pytest.mark.parametrize("kind", ["rows", "compact"])
def test_a_value_that_is_moved_breaks_the_promise(tmp_path, kind):
    """One sensitive value changed in one bucket, so that p(t, s) exceeds 1/l for somebody: refused
    by the files alone and beside the original.
    """
    form, _ = form_of(kind)
    last = form.parts[-1]
    one = last.filter(pl.col("zip") == "47906")["bucket"][0]
    here = (pl.col("bucket") == one) & (pl.col("zip") == "47906")
    if kind == "rows":
        change = given(
            lambda t: t.with_columns(ill=pl.when(here).then(pl.lit("flu")).otherwise("ill"))
        )
    else:
        change = given(
            lambda t: (
                t.with_columns(ill=pl.when(here).then(pl.lit("flu")).otherwise("ill"))
                .group_by(t.columns[:-1])
                .agg(pl.sum("count"))
            ),
            1,
        )
    path = issue(tmp_path / "r", change(form))
    assert (
        "parts of buckets do not keep it by themselves; p(t, s) was computed by shares and by rows"
        " for all" in refusal(path)
    )
    (verdict,) = [
        v
        for v in verify([Release.read(path)], Evidence(microdata={1: MICRODATA}))
        if v.name.endswith("l-diverse-slicing")
    ]
    assert not verdict.holds and verdict.worst == 1 and "of the original table" in verdict.note


def test_two_values_exchanged_between_buckets_break_the_promise(tmp_path):
    """No value is new and none is lost: two of them change their buckets, so that one person's p(t,
    s) is 1.
    """
    microdata = Microdata.encode(
        pl.DataFrame({"a": [1, 1, 2, 2], "s": ["flu", "gout", "flu", "gout"]}),
        Schema(quasi=["a"], sensitive="s"),
    )
    form, _ = slice_into(
        microdata, (("a",), ("s",)), np.array([0, 0, 1, 1]), Randomness.secure().stream("test")
    )
    assert refusal(issue(tmp_path / "good", form)) == ""
    moved = given(
        lambda t: t.sort("bucket").with_columns(s=pl.Series(["flu", "flu", "gout", "gout"]))
    )
    path = issue(tmp_path / "bad", moved(form))
    assert refusal(path).startswith(
        "release 1: l-diverse-slicing: 2 of 2 parts of buckets do not keep it"
    )
    assert [v.worst for v in verify([Release.read(path)]) if not v.holds] == [1]


def test_a_count_that_is_moved_breaks_anatomys_promise(tmp_path):
    """One value counted for another in a bucketized release: more than 1/l of the bucket."""
    form, _ = form_of("bucketized")

    def change(t):
        bucket = t.filter(pl.col("ill") == "bronchitis")["bucket"][0]
        own = t.filter((pl.col("bucket") == bucket) & (pl.col("ill") != "bronchitis"))
        more = own.with_columns(pl.col("count") + (pl.col("ill") == "flu").cast(pl.Int64))
        return pl.concat([t.filter(pl.col("bucket") != bucket), more]).sort(
            t.columns
        )  # as counts are written

    path = issue(tmp_path / "r", values(change)(form))
    assert [(v.name, str(v.worst)) for v in verify([Release.read(path)]) if not v.holds] == [
        ("release 1: anatomy-l-diversity", "3/4")
    ]


def test_a_seed_is_said(tmp_path):
    """A sliced release that was made with a seed is not for publication."""
    path = issue(tmp_path / "r", form_of("rows")[0])
    say(path, lambda m: m.update(not_for_publication=True))
    assert "it was made with a seed" in refusal(path)


@pytest.mark.parametrize("kind", KINDS)
def test_truth(kind):
    """Every bucket says what is so of its persons, in each column; a person in another bucket, or
    another value, is counted.
    """
    form, published = form_of(kind)
    check = getattr(bucket_truth, f"check_{form.kind}")
    verdict = check(form, MICRODATA, published)
    assert verdict.holds and verdict.worst == 0
    elsewhere = published[[7, 1, 2, 3, 4, 5, 6, 0]]
    assert not check(form, MICRODATA, elsewhere).holds
    left_out = np.where(np.arange(8) == 0, 0, published)
    assert not check(form, MICRODATA, left_out).holds
    other = Microdata.encode(
        FRAME.with_columns(ill=FRAME["ill"].replace("bronchitis", "gastritis")),
        SCHEMA,
        PersonKey(bytes(32)),
    )
    wrong = check(form, other, published)
    assert not wrong.holds and wrong.worst == 1
    older = Microdata.encode(FRAME.with_columns(pl.col("age") + 40), SCHEMA, PersonKey(bytes(32)))
    assert not check(form, older, published).holds


def test_truth_of_values_that_are_written_otherwise(tmp_path):
    """Whole numbers as categories come back from CSV as text, and are the same values."""
    schema = Schema(
        identifier="who", quasi=["a"], sensitive="s", types={"a": "categorical", "s": "categorical"}
    )
    microdata = Microdata.encode(
        pl.DataFrame({"who": [1, 2, 3, 4], "a": [1, 2, 3, 4], "s": [7, 8, 7, 8]}),
        schema,
        PersonKey(bytes(32)),
    )
    of_row = np.array([0, 0, 1, 1])
    for number, make in enumerate(
        (bucketize, lambda m, b, s: slice_into(m, (("a",), ("s",)), b, s))
    ):
        form, ids = make(microdata, of_row, Randomness.secure().stream("test"))
        path = issue(tmp_path / str(number), form, ("csv",))
        mapping = pl.DataFrame({"person": microdata.persons, "group": ids[of_row]})
        assert refusal(path, Evidence(groups={1: mapping}, microdata={1: microdata})) == ""


def test_intervals_without_end_are_named():
    """An infinite end is a fault of its own, and no error of the hierarchy that does not know
    it.
    """
    age = PublishedAttribute(
        name="age",
        role="quasi",
        type="numeric",
        columns=["age", "age_low", "age_high"],
        hierarchy={"kind": "bands", "widths": [10]},
    )
    ends = pl.DataFrame({"age": ["*"], "age_low": [1.0], "age_high": [float("inf")]})
    assert list(interval_faults([age], ends)) == ["an interval of 'age' is infinite"]


def test_a_twin_that_never_finds_boxes_that_meet_is_caught(monkeypatch, tmp_path):
    """With the search for boxes that meet taken out, the release in which some do is no longer
    refused for it: it is what refused it.
    """
    monkeypatch.setattr(buckets, "any_meet", lambda *_: False)
    kind, change, what = CHANGES["intervals that overlap"]
    assert what not in refusal(issue(tmp_path / "r", change(form_of(kind)[0])))


def test_the_tools_change_nothing(tmp_path):
    """The tools of these tests are not what is refused: the same said again is the same folder."""
    path = issue(tmp_path / "r", form_of("rows")[0])
    before = (path / NAME).read_bytes()
    say(path, lambda _: None)
    rewritten(path, "data.parquet", (path / "data.parquet").read_bytes())
    assert (path / NAME).read_bytes() == before and refusal(path) == ""


@given_of(
    rows=st.lists(st.tuples(st.integers(1, 4), st.sampled_from("ab")), max_size=12),
    at_once=st.integers(1, 13),
)
@settings(deadline=None)
def test_rows_that_say_the_same_again_are_counted_in_pieces(rows, at_once):
    """Some buckets after the other where they are in order, and all together where they are not."""
    schema = {"bucket": pl.Int64, "ill": pl.String, "count": pl.Int64}
    table = pl.DataFrame([(*row, 1) for row in rows], schema, orient="row")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "_AT_ONCE", at_once)
        for each in (table, table.sort("bucket")):
            assert buckets._again(each) == len(rows) - len(set(rows))
