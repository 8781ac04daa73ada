# SPDX-License-Identifier: Apache-2.0
"""A table whose persons have sets of values, from the source to the folder and back, in every form
in which sets come in and go out.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx import MInvariance, Mondrian, Release, Schema, Series, verify
from phalanx.data.column import Column
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.sets import SEPARATOR, canonical
from phalanx.data.sources.source import read_source
from phalanx.errors import SchemaError
from phalanx.guarantees.m_invariance.guarantee import MInvariance as Promise
from phalanx.guarantees.truth import check as truth
from phalanx.guarantees.views.groups import Groups
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.release.folder import write_folder
from phalanx.release.forms.generalized import Generalized, generalize

SCHEMA = Schema(
    identifier="who",
    quasi=["age"],
    sensitive="reactions",
    types={"reactions": "set"},
    missing={"reactions": "value"},
)
REACTIONS = [
    "rash",
    "fever",
    "nausea",
    "pain, severe",
    'so-called "flu"',
    "é",
    "two words",
    "NA",
    "null",
    "1",
    "a\u2028b",
    "a\nb",
]

value = st.text(min_size=1, max_size=5).filter(
    lambda t: (
        max(t) < "\ud800"
        and ";" not in t
        and pl.Series([t]).str.strip_chars()[0] == t
        and "\r" not in t
    )
)
some_sets = st.lists(
    st.one_of(st.none(), st.frozensets(st.one_of(st.sampled_from(REACTIONS), value), max_size=3)),
    min_size=4,
    max_size=12,
)


@dataclass(frozen=True)
class Shown:
    form: Generalized

    @property
    def generalized(self) -> Generalized:
        return self.form


def reports(n=60, seed=0):
    """Reports with up to three reactions; some have none, of some it is not known."""
    rng = np.random.default_rng(seed)
    sets = [
        (
            None
            if rng.random() < 0.1
            else [REACTIONS[i] for i in rng.choice(5, rng.integers(0, 4), replace=False)]
        )
        for _ in range(n)
    ]
    return pl.DataFrame(
        {
            "who": range(n),
            "age": rng.integers(20, 60, n),
            "reactions": pl.Series(sets, dtype=pl.List(pl.String)),
        }
    )


def series_in(to, method, **said):
    return Series(
        "s",
        **{
            "schema": SCHEMA,
            "method": method,
            "to": to / "out",
            "ledger": f"sqlite:///{to}/l.db",
            "report": False,
        }
        | said,
    )


@given(some_sets, st.sampled_from([("parquet",), ("csv",), ("parquet", "csv")]))
@settings(deadline=None, max_examples=60)
def test_sets_come_back_from_a_release_folder(tmp_path_factory, sets, formats):
    """Published and read again from either format, every group has its persons' sets: values with
    commas, quotes and line breaks, empty and missing ones.
    """
    lists = pl.Series([None if s is None else list(s) for s in sets], dtype=pl.List(pl.String))
    frame = pl.DataFrame({"who": range(len(sets)), "age": range(len(sets)), "reactions": lists})
    microdata = Microdata.encode(frame, SCHEMA)
    groups = np.minimum(np.arange(len(sets)) // 2, len(sets) // 2 - 1)  # of two or three
    form, ids = generalize(
        microdata, np.arange(len(sets)), groups, Randomness.secure().stream("test")
    )
    path = tmp_path_factory.mktemp("release")
    said = {
        "series": "s",
        "method": {"name": "mondrian", "k": 2},
        "guarantees": [{"name": "k-anonymity", "k": 2}],
        "boxes": "tight",
    }
    write_folder(path, form, formats, number=1, previous=None, not_for_publication=False, **said)

    release = Release.read(path)

    assert [v.note for v in verify([release]).checks if not v.holds] == []
    read = [
        (g, t is None, sorted(set((t or "").split(SEPARATOR)) - {""}))
        for g, t in release.form.table.select("group", "reactions").iter_rows()
    ]
    assert sorted(read) == sorted(
        (int(ids[g]), s is None, sorted(s or ())) for g, s in zip(groups, sets, strict=True)
    )
    assert truth.check(release, microdata, ids[groups]).holds


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "lists", "pandas", "pyarrow"])
def test_one_table_however_it_comes_in(tmp_path, kind):
    """Lists from files and frames, and texts from a CSV, are the same sets."""
    frame = reports()
    texts = frame.with_columns(frame["reactions"].list.reverse().list.join(" ;"))
    match kind:
        case "parquet":
            frame.write_parquet(tmp_path / "t.parquet")
            given = read_source(tmp_path / "t.parquet")
        case "arrow":
            frame.write_ipc(tmp_path / "t.arrow")
            given = read_source(tmp_path / "t.arrow")
        case "csv":
            texts.write_csv(tmp_path / "t.csv")
            given = read_source(tmp_path / "t.csv")
        case "lists":
            given = frame
        case "pandas":
            given = frame.to_pandas()
        case _:
            given = frame.to_arrow()

    published = series_in(tmp_path, Mondrian(k=5), formats=("parquet", "csv")).publish(given)

    assert (
        published.form.table["reactions"].sort().to_list()
        == canonical(frame["reactions"]).sort().to_list()
    )
    assert [a.type for a in published.manifest.attributes] == ["numeric", "set"]


@pytest.mark.parametrize(
    "method",
    [
        Mondrian(k=2, l=2),
        Mondrian(k=2, l=2, diversity="distinct"),
        Mondrian(k=2, t=0.5),
        MInvariance(m=2),
    ],
)
def test_methods_for_single_values_refuse_sets(tmp_path, method):
    """Mondrian with l or t, and m-invariance, publish nothing and say what to use; of single values
    they publish.
    """
    with pytest.raises(
        SchemaError,
        match=(
            r"'reactions' holds sets of values, and .* about one value for each person; use"
            r" global-guarantee, or Mondrian"
        ),
    ):
        series_in(tmp_path, method).publish(reports())

    single = reports().with_columns(reactions=pl.Series([REACTIONS[i % 4] for i in range(60)]))
    assert series_in(tmp_path, method, schema=replace(SCHEMA, types={})).publish(single).number == 1


def test_m_invariance_does_not_hold_of_sets(tmp_path):
    """A manifest that promises it of sets is refused, for whatever m."""
    release = series_in(tmp_path, Mondrian(k=5)).publish(reports())

    verdicts = Promise(m=1).check(release)

    assert [v.holds for v in verdicts if v.name == "m-invariance: m-uniqueness"] == [False]
    assert "holds sets of values" in verdicts[0].note


def test_an_officer_checks_sets_with_table_and_ledger(tmp_path):
    """Verify finds the sets of the original in the groups; of another original, in which one person
    has one value more, it does not.
    """
    frame = reports()
    published = series_in(tmp_path, Mondrian(k=5)).publish(frame)
    more = frame.with_columns(
        pl.when(pl.col("who") == 7)
        .then(pl.concat_list(pl.col("reactions").fill_null([]), pl.lit("rare")))
        .otherwise("reactions")
    )

    for original, holds in ((frame, True), (more, False)):
        found = verify(
            [published.path],
            ledger=f"sqlite:///{tmp_path}/l.db",
            originals=[original],
            identifier="who",
        )
        assert [v.holds for v in found.checks if v.name == "release 1: truth"] == [holds]


def drafted(frame):
    microdata = Microdata.encode(frame, SCHEMA, PersonKey(bytes(32)))
    return microdata, Mondrian(k=5).publish(microdata, Memory(), Randomness.secure())


def showing(microdata, own, texts):
    """The microdata with the rows of the set ``own`` showing ``texts`` in turn; and the form in
    which they stand so.
    """
    domain = microdata.sensitive.domain
    values = (
        pl.concat([domain.values, pl.Series([t for t in texts if t is not None], dtype=pl.String)])
        .unique()
        .sort()
    )
    place = {v: i for i, v in enumerate(values.to_list())}
    shown = domain.values.gather(microdata.sensitive.codes).to_list()
    rows = [i for i, v in enumerate(shown) if v == own]
    for i, text in zip(rows, texts * len(rows), strict=False):
        shown[i] = text
    codes = np.array([place[v] for v in shown], dtype=np.int32)
    return replace(
        microdata,
        columns={**microdata.columns, "reactions": Column(codes, replace(domain, values=values))},
    ), len(rows)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("rash", True),
        ("", True),
        (None, True),
        ("fever; rash", True),
        ("nausea", False),
        ("nausea; rash", False),
        ("fever; nausea; rash", False),
    ],
)
def test_a_set_may_be_shown_in_part_and_never_with_more(text, holds):
    """Some of a set's values, none, or nothing at all may be shown; a value that is not the
    person's is an untruth, beside true ones too.
    """
    frame = reports().with_columns(
        pl.Series(
            "reactions",
            [
                ["rash", "fever"] if i % 6 == 0 else None if i % 6 == 1 else ["pain"]
                for i in range(60)
            ],
        )
    )
    microdata = Microdata.encode(frame, SCHEMA, PersonKey(bytes(32)))
    shown, rows = showing(microdata, "fever; rash", [text])
    draft = Mondrian(k=5).publish(shown, Memory(), Randomness.secure())

    verdict = truth.check(Shown(draft.form), microdata, draft.groups, shown)

    assert verdict.holds is holds
    assert verdict.worst == (0 if holds else rows)
    assert ("show it not or in part" in verdict.note) is (holds and text != "fever; rash")


def test_a_set_that_is_not_in_its_group_is_seen():
    """A broken form in which one published set lacks a value, which nobody said was suppressed."""
    microdata, draft = drafted(reports())
    row = draft.form.table.with_row_index().filter(
        pl.col("reactions").str.contains(SEPARATOR, literal=True)
    )["index"][0]
    less = [
        v.split(SEPARATOR)[0] if i == row else v
        for i, v in enumerate(draft.form.table["reactions"])
    ]
    broken = replace(
        draft.form, table=draft.form.table.with_columns(reactions=pl.Series(less, dtype=pl.String))
    )

    assert truth.check(Shown(draft.form), microdata, draft.groups).holds
    assert truth.check(Shown(broken), microdata, draft.groups).worst == 1


def test_the_members_of_a_release(tmp_path):
    """A published release shows how many rows of a group hold each single value."""
    release = series_in(tmp_path, Mondrian(k=5)).publish(reports())
    members = Groups.of(release).members
    exploded = (
        reports()["reactions"]
        .explode(empty_as_null=False, keep_nulls=False)
        .value_counts()
        .sort("reactions")
    )

    assert members.values.to_list() == exploded["reactions"].to_list()
    assert members.totals.tolist() == exploded["count"].to_list()
    assert members.rows == 60
