# SPDX-License-Identifier: Apache-2.0
"""Mutual cover from microdata to a draft, and through the whole way of publishing: exact tables,
rows that all change, refusals that say what to do.
"""

import datetime as dt
import os
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import joint_outputs as naive
from naive import outputs as alone
from phalanx.errors import MethodError, PhalanxError
from phalanx.methods.base import make
from phalanx.methods.mondrian import method as mondrian
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.release.evidence.outputs import OutputTables
from phalanx.series.series import Series
from phalanx.verification import verify
from support.drafts import JOBS, QUASI, encoded, patients, publish, schema, simple
from support.mutual_cover_cases import Published, released


def slowly(draft, microdata, method):
    """Everything that is promised, looked up row by row in integers; the fewest quasi-identifiers
    in which a row differs from its person's.
    """
    outputs, delta = draft.evidence, Fraction(str(method.delta))
    d, names = len(outputs.attributes), list(outputs.attributes)
    codes = np.stack([microdata.columns[name].codes for name in names], axis=1)
    group = outputs.group[draft.groups - 1]
    shown = {name: draft.form.table[name].gather(draft.groups - 1).to_list() for name in names}
    assert (
        draft.form.table["illness"].gather(draft.groups - 1).to_list()
        == microdata.sensitive.domain.values.gather(microdata.sensitive.codes).to_list()
    )
    fewest = d
    for g in range(len(outputs.of)):
        rows = np.flatnonzero(group == g)
        tables = [outputs.table(int(t)).tolist() for t in outputs.of[g]]
        values = [sorted(set(codes[rows, a].tolist())) for a in range(d)]
        own = [[values[a].index(codes[r, a]) for a in range(d)] for r in rows]
        for a, table in enumerate(tables):
            counts = [int((codes[rows, a] == value).sum()) for value in values[a]]
            assert alone.keeps(counts, table, delta, outputs.denominator)
            assert alone.fewest_feeders(counts, table) >= alone.promised_feeders(delta)
        assert max(naive.stays(own, tables)) <= (d - method.changes) * outputs.denominator
        for r, classes in zip(rows, own, strict=True):
            texts = [
                microdata.columns[name].domain.values.gather(values[a]).to_list()
                for a, name in enumerate(names)
            ]
            drawn = [texts[a].index(shown[name][r]) for a, name in enumerate(names)]
            assert all(tables[a][classes[a]][drawn[a]] > 0 for a in range(d))
            fewest = min(fewest, sum(i != j for i, j in zip(classes, drawn, strict=True)))
    return fewest


def verdicts(draft, microdata, method):
    """What the independent check finds, with all the evidence there is."""
    (promise,) = method.guarantees
    return Published(
        released(draft.form, [promise]), microdata, draft.groups, draft.evidence
    ).verdicts(promise)


WAYS = [
    {"delta": "1/4"},
    {"delta": "1/6"},
    {"delta": "1/6", "grouping": "mondrian"},
    {"delta": "0.23", "changes": 2},
    {"delta": "1/3", "changes": 3, "outputs": "least-cost"},
    {"delta": "1/6", "outputs": "least-cost"},
    {"delta": 1},
    {"delta": "1/200"},
    {"delta": "1/5", "k": 30},
    {"delta": "1/4", "distances": {"age": "equal", "job": "equal", "since": "l1"}},
    {"delta": "1/4", "distances": {"sex": {"f": {"m": 2}}, "job": "hierarchy"}},
]


@pytest.mark.parametrize("parameters", WAYS, ids=str)
def test_what_is_published_keeps_every_promise_exactly(parameters):
    """Whatever the parameters: tables are exact in integers, every row may have come from its own,
    and changed as often as was asked; the check agrees.
    """
    microdata, method = encoded(), MutualCover(**parameters)
    draft = publish(microdata, **parameters)
    assert slowly(draft, microdata, method) >= method.changes
    found = verdicts(draft, microdata, method)
    assert all(v.holds and not v.note.startswith("not checked") for v in found.values()), found
    sizes = np.bincount(draft.evidence.group)
    assert sizes.min() >= max(method.k, 1 / Fraction(str(method.delta)))
    assert parameters["delta"] == "1/200" or len(sizes) > 1


@pytest.mark.parametrize("delta", ["1/6", 0.1667, Fraction(1, 6), "0.1667", "2/12", 1 / 6], ids=str)
def test_delta_as_text_as_a_number_and_as_a_fraction(delta):
    """However it is written, delta is kept as written, in tables and in the manifest."""
    microdata, method = encoded(), MutualCover(delta=delta)
    draft = publish(microdata, delta=delta)
    exact = Fraction(str(delta))
    slowly(draft, microdata, MutualCover(delta=exact))
    assert method.parameters()["delta"] == (str(exact) if exact.denominator > 1 else exact)
    assert verdicts(draft, microdata, method)["delta-probability"].bound == exact


def test_delta_of_one_lets_each_value_stem_from_one():
    """With delta = 1 nobody covers for anybody; still every row changes, for which groups of one
    are put together.
    """
    rows = [(i, i % 3, "flu") for i in range(9)]
    microdata, method = simple(rows), MutualCover(delta=1)
    draft = publish(microdata, delta=1)
    assert slowly(draft, microdata, method) >= 1
    assert np.bincount(draft.evidence.group).min() >= 2


def test_delta_of_one_over_m():
    """Where a group has just 1/delta tuples, all are drawn from the same row, on every
    attribute.
    """
    microdata = simple([(i % 3, i % 2, "flu") for i in range(7)])
    draft = publish(microdata, delta="1/7")
    assert draft.evidence.group.tolist() == [0] * 7
    for t in draft.evidence.of[0]:
        rows = draft.evidence.table(int(t)).tolist()
        assert all(row == rows[0] for row in rows)
    assert slowly(draft, microdata, MutualCover(delta="1/7")) >= 1


def test_groups_that_cannot_change_are_widened():
    """Of equal tuples, and of tuples that vary on one attribute only, larger groups are made, in
    which all change; no row is left out.
    """
    rows = (
        [(40, 1, "flu")] * 12
        + [(10 + i % 4, i % 2, "flu") for i in range(24)]
        + [(60, i % 2, "flu") for i in range(12)]
    )
    microdata = simple(rows)
    for parameters in (
        {"delta": "1/4"},
        {"delta": "1/4", "changes": 2, "outputs": "least-cost"},
    ):
        draft = publish(microdata, **parameters)
        least = parameters.get("changes", 1)
        assert slowly(draft, microdata, MutualCover(**parameters)) >= least
        groups = draft.evidence.group[draft.groups - 1]
        for kind in ((40, 1),):
            of_kind = {g for g, row in zip(groups.tolist(), rows, strict=True) if row[:2] == kind}
            assert all(
                {row[:2] for other, row in zip(groups.tolist(), rows, strict=True) if other == g}
                > {kind}
                for g in of_kind
            )


def test_sets_of_sensitive_values():
    """Rows with sets are published like others, as nothing is promised about them."""
    frame = patients().with_columns(illness=pl.concat_list("illness", pl.lit("cough")))
    draft = publish(encoded(frame), delta="1/4")
    assert sorted(draft.form.table["illness"]) == sorted(
        "; ".join(sorted(values)) for values in frame["illness"].to_list()
    )


def test_without_a_sensitive_attribute():
    """Rows of quasi-identifiers alone are published, and every promise that is made holds."""
    microdata = encoded(sensitive=None, drop=["illness"])
    draft, method = publish(microdata, delta="1/4"), MutualCover(delta="1/4")
    assert draft.form.table.columns == QUASI
    assert all(v.holds for v in verdicts(draft, microdata, method).values())


@pytest.mark.parametrize("name", QUASI)
def test_a_single_attribute(name):
    """With one attribute every row shows another's value; text, leaf, number and day alike, and
    where one value is most people's, it is refused.
    """
    microdata = encoded(
        patients().drop(*[other for other in QUASI if other != name]),
        quasi=[name],
        hierarchies={"job": JOBS} if name == "job" else {},
    )
    asked = {"delta": "1/3", "outputs": "least-cost" if name in ("sex", "job") else "alike"}
    draft, method = publish(microdata, **asked), MutualCover(**asked)
    assert slowly(draft, microdata, method) == 1
    assert draft.form.table[name].dtype == patients()[name].dtype
    few = encoded(
        pl.DataFrame({"who": range(9), "sex": ["f"] * 8 + ["m"], "illness": ["flu"] * 9}),
        quasi=["sex"],
        hierarchies={},
    )
    with pytest.raises(MethodError, match="not even all rows together"):
        publish(few, delta="1/3")


def test_a_missing_value_is_a_value():
    """Missing values are drawn and published like others, by those of the group who have none of
    their own, too; no value is of nobody.
    """
    frame = patients().with_columns(
        pl.when(pl.int_range(pl.len()) % 3 > 0).then("age").alias("age"),
        pl.when(pl.int_range(pl.len()) % 5 > 0).then("sex").alias("sex"),
    )
    microdata, method = encoded(frame), MutualCover(delta="1/5")
    draft = publish(microdata, delta="1/5")
    assert slowly(draft, microdata, method) >= 1
    own = frame["age"].is_null().to_numpy()
    shown = draft.form.table["age"].gather(draft.groups - 1).is_null().to_numpy()
    assert (shown & ~own).any() and (own & ~shown).any()


def test_seeds_reproduce_and_threads_have_no_influence(monkeypatch):
    """The same seed gives the same release, another seed another one, and the number of cores
    changes nothing.
    """
    microdata, drafts = encoded(patients(600)), []
    monkeypatch.setattr(mondrian, "_ALONE", 1)
    for cores in (1, 3):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False
        )
        drafts += [publish(microdata, 7, delta="1/4")]
    other = publish(microdata, 8, delta="1/4")
    assert drafts[0].form.table.equals(drafts[1].form.table)
    assert drafts[0].groups.tolist() == drafts[1].groups.tolist()
    assert (
        drafts[0].evidence.units.tobytes()
        == drafts[1].evidence.units.tobytes()
        == other.evidence.units.tobytes()
    )
    assert not drafts[0].form.table.equals(other.form.table)


def test_tables_are_kept_where_that_is_asked():
    """Without keep_tables the ledger gets nothing; with it, frames from which the tables are read
    back.
    """
    microdata = encoded()
    assert publish(microdata, delta="1/4").remember == {}
    draft = publish(microdata, delta="1/4", keep_tables=True)
    back = OutputTables.of_frames(draft.remember, 1)
    for name in ("group", "of", "starts", "counts", "units"):
        assert getattr(back, name).tolist() == getattr(draft.evidence, name).tolist()
    assert (back.attributes, back.denominator, back.changes, back.order) == (
        tuple(QUASI),
        draft.evidence.denominator,
        1,
        draft.evidence.order,
    )


def test_nothing_of_anybody_is_kept():
    """The frames for the ledger hold counts, units and numbers of tables; no value of the original,
    and nobody's key.
    """
    frame = patients().with_columns(age=pl.int_range(pl.len()) % 40 + 7_654_321)
    microdata = encoded(frame)
    kept = publish(microdata, delta="1/4", keep_tables=True).remember
    numbers, texts = set(), set()
    for table in kept.values():
        for column in table:
            flat = column.explode() if column.dtype == pl.List else column
            assert flat.dtype in (pl.Int64, pl.String), column
            (texts if flat.dtype == pl.String else numbers).update(flat.to_list())
    assert texts == set(QUASI)
    assert not numbers & set(frame["age"].to_list())
    days = {(day - dt.date(1970, 1, 1)).days for day in frame["since"]}
    assert not numbers & {day for day in days if day > frame.height}
    assert {name for table in kept.values() for name in table.columns}.isdisjoint(
        {"person", "who", "age"}
    )


def test_what_the_manifest_shows():
    """Parameters as the promise has them; a matrix is called one and its distances stay at home,
    and whether tables are kept is nobody's business.
    """
    method = make(
        "mutual-cover",
        {
            "delta": 0.25,
            "k": 7,
            "distances": {"age": "l1", "sex": {"f": {"m": 1}}},
            "keep_tables": True,
        },
    )
    assert method.parameters() == {
        "name": "mutual-cover", "delta": "1/4", "k": 7, "grouping": "cost", "outputs": "alike", "changes": 1,
        "distances": {"age": "l1", "sex": "matrix"},
    }  # fmt: skip
    assert MutualCover(delta=1).parameters() == {
        "name": "mutual-cover",
        "delta": 1,
        "grouping": "cost",
        "outputs": "alike",
        "changes": 1,
    }


@pytest.mark.parametrize("formats", [("csv",), ("parquet", "csv")])
def test_the_whole_way(tmp_path, formats):
    """A series is published, read back and verified from its files alone, beside its originals and
    its ledger; another original is refused.
    """
    ledger = f"sqlite:///{tmp_path}/l.db"
    method = make("mutual-cover", {"delta": "1/4", "keep_tables": True})
    frame = patients()
    series = Series(
        "s",
        schema=schema(),
        method=method,
        to=tmp_path / "out",
        formats=formats,
        ledger=ledger,
        report=False,
    )
    first, second = series.publish(frame), series.publish(frame[:150])
    assert first.rows == 200 and second.table.height == 150
    assert first.table.columns == [*QUASI, "illness"]
    assert Counter(first.table["illness"]) == Counter(frame["illness"])
    assert verify([first.path, second.path]).holds
    for number, table in ((1, frame), (2, frame[:150])):
        path = (first, second)[number - 1].path
        found = verify([path], originals=[table], identifier="who", ledger=ledger)
        assert found.holds, [check for check in found.checks if not check.holds]
    assert not verify(
        [first.path],
        originals=[frame.with_columns(pl.col("illness").reverse())],
        identifier="who",
        ledger=ledger,
    ).holds


@st.composite
def asked(draw):
    """A small table, of which some are hostile, and parameters, some of which cannot be kept."""
    n, seed = draw(st.integers(1, 40)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    few = draw(st.integers(1, 6))
    frame = patients(n, seed).with_columns(
        age=pl.Series(
            [None if x == 0 else int(x) for x in rng.integers(0, few + 1, n)], dtype=pl.Int64
        )
    )
    if draw(st.booleans()):
        frame = frame.with_columns(sex=pl.lit("f"), job=pl.lit("judge"))
    d = draw(st.integers(1, 4))
    parameters = {
        "delta": draw(
            st.sampled_from([1, "1/2", "1/3", "2/7", 0.3, "1/10", f"1/{n}", "0.333", "1/50"])
        ),
        "changes": draw(st.integers(1, 3)),
        "grouping": draw(st.sampled_from(["cost", "mondrian"])),
        "outputs": draw(st.sampled_from(["alike", "least-cost"])),
        "keep_tables": draw(st.booleans()),
    }
    return frame.drop(QUASI[d:]), QUASI[:d], parameters


@given(asked())
@settings(deadline=None, max_examples=120)
def test_any_small_table_is_published_with_all_promises_or_refused(case):
    """Through the whole way of publishing, either everything is checked and holds, or a sentence
    says why nothing was published.
    """
    frame, quasi, parameters = case
    with tempfile.TemporaryDirectory() as folder:
        roles = schema(
            quasi=quasi,
            hierarchies={"job": JOBS} if "job" in quasi else {},
            types={name: "categorical" for name in ("sex",) if name in quasi},
        )
        release, refused = None, ""
        try:
            release = Series(
                "s",
                schema=roles,
                method=MutualCover(**parameters),
                to=Path(folder) / "out",
                report=False,
            ).publish(frame)
        except PhalanxError as error:
            refused = str(error)
        if release is None:
            assert "report this" not in refused
            assert refused.endswith((".", "?"))
            return
        assert all(v.holds for v in release.checks)
        assert not any(v.note.startswith("not checked") for v in release.checks)
        assert release.rows == frame.height
