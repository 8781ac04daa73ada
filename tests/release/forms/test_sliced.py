# SPDX-License-Identifier: Apache-2.0
"""The sliced form: what is written is read again as it was, in every layout and format, and no
order tells who a row was.
"""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError, SchemaError
from phalanx.guarantees.verify import verify
from phalanx.guarantees.views.sliced import View
from phalanx.methods.slicing.column_boxes import column_boxes
from phalanx.randomness import Randomness
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms import sliced
from phalanx.release.forms.sliced import Boxes, Sliced, slice_into
from phalanx.release.manifest import NAME, Manifest, Slices

JOB = Tree.of_paths(
    [
        ["nurse", "care", "*"],
        ["doctor", "care", "*"],
        ["baker", "craft", "*"],
        ["smith", "craft", "*"],
    ]
)
FRAME = pl.DataFrame({
    "age": [22, 22, 33, 52, 54, 60, 60, None],
    "born": [date(1999, 1, 1)] * 2 + [None, date(1970, 3, 3), date(1, 1, 1), date(9999, 12, 31), date(1964, 1, 2), date(1960, 1, 1)],
    "name": ["", " ", "a,b", 'say "no"', "line\nbreak", "NA", "null", None],
    "zip": ["0012", "0012", "0013", "0013", "1e55", "1e55", "9999", None],
    "job": ["nurse", "doctor", "baker", "smith", "nurse", "nurse", None, "baker"],
    "weight": [0.1, 1e300, 5e-324, None, -0.0, 3.0, 70.5, 70.5],
    "ill": ["flu", "gout", "flu", None, "flu", "gout", "rash", ""],
})  # fmt: skip
QUASI = ["age", "born", "name", "zip", "job", "weight"]
HIERARCHIES = {"age": Bands((10, 20)), "zip": Prefix((4, 2, 0)), "job": JOB}
APART = (("age", "born", "name"), ("zip", "job", "weight", "ill"))
MANY = (("weight", "name"), ("born",), ("zip", "age"), ("job",), ("ill",))
SHARED = (("age", "born"), ("born", "name", "zip"), ("zip", "weight"), ("zip", "job", "ill"))
OF_ROW = np.array([0, 1, 0, 1, 2, 2, 1, 0])
SAID = {
    "series": "s", "number": 1, "method": {"name": "by hand"}, "guarantees": [{"name": "t-close-slicing", "t": "99/100"}],
    "boxes": "exact", "not_for_publication": False, "previous": None,
}  # fmt: skip


def encoded(frame=FRAME, quasi=QUASI, **said: Any) -> Microdata:
    return Microdata.encode(
        frame,
        Schema(
            **{"quasi": quasi, "sensitive": "ill", "hierarchies": HIERARCHIES, "missing": "value"}
            | said
        ),
    )


def form_of(
    columns, *, compact=False, k=None, microdata=None, of_row=OF_ROW
) -> tuple[Sliced, np.ndarray]:
    microdata = microdata or encoded()
    boxes = None if k is None else column_boxes(microdata, columns, k)
    return slice_into(
        microdata, columns, of_row, Randomness.secure().stream("test"), boxes=boxes, compact=compact
    )


def write(path: Path, form: Sliced, formats: tuple[str, ...]) -> Release:
    path.mkdir()
    write_folder(path, form, formats, **SAID)
    return Release.read(path)


def refusals(release: Release) -> list[str]:
    return [v.note for v in verify([release]) if not v.holds]


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)], ids="-".join)
@pytest.mark.parametrize("compact", [False, True], ids=["rows", "compact"])
@pytest.mark.parametrize(
    ("columns", "k"),
    [(APART, None), (MANY, None), (SHARED, None), (APART, 2), (APART, 1), (MANY, 3)],
    ids=str,
)
def test_what_is_written_is_read_again(tmp_path, columns, k, compact, formats):
    """Missing values, empty and strange text, dates, floats, nodes and shared attributes come back
    as they were, and hold as consistent.
    """
    form, _ = form_of(columns, compact=compact, k=k)
    read = write(tmp_path / "r", form, formats)
    assert read.form.tables().keys() == form.tables().keys()
    for name, table in form.tables().items():
        assert read.form.tables()[name].cast(dict(table.schema)).equals(table), name
    assert (
        read.form.attributes == form.attributes
        and read.form.columns == form.columns
        and read.form.compact == compact
    )
    assert [
        part.cast(dict(own.schema)).equals(own)
        for part, own in zip(read.form.parts, form.parts, strict=True)
    ] == [True] * len(columns)
    assert (read.manifest.rows, read.manifest.groups, read.manifest.counterfeits) == (8, 3, 0)
    assert refusals(read) == []


@pytest.mark.parametrize("compact", [False, True], ids=["rows", "compact"])
@pytest.mark.parametrize("columns", [APART, MANY, SHARED], ids=str)
def test_every_bucket_holds_its_own_values(columns, compact):
    """In every bucket each column has the values of its rows together, as often as they have them,
    and no others.
    """
    form, ids = form_of(columns, compact=compact)
    for i, column in enumerate(columns):
        expected = Counter((int(ids[b]), *FRAME[list(column)].row(r)) for r, b in enumerate(OF_ROW))
        assert Counter({row[:-1]: row[-1] for row in form.parts[i].iter_rows()}) == expected
        rows = form.table.select("bucket", *(form._in_rows(i)))
        assert Counter(rows.rows()) == expected


@pytest.mark.parametrize("compact", [False, True], ids=["rows", "compact"])
def test_generalized_columns_hold_the_boxes_of_their_rows(compact):
    """Within a column, intervals that hold the row's values stand for them; the sensitive value
    stays as it is.
    """
    microdata = encoded()
    boxes = column_boxes(microdata, APART, 3)
    form, ids = slice_into(
        microdata, APART, OF_ROW, Randomness.secure().stream("test"), boxes=boxes, compact=compact
    )
    assert form.published(0) == [
        "age",
        "age_low",
        "age_high",
        "born_low",
        "born_high",
        "name_low",
        "name_high",
    ]
    assert form.published(1)[-1] == "ill" and form.attributes[-1].columns == ["ill"]
    for i in (0, 1):
        assert form.parts[i].select("bucket", *form.published(i)).n_unique() < 8
        whole = form.parts[i].group_by(form.published(i)).agg(pl.sum("count"))
        assert i == 1 or (whole["count"] >= 3).all()
    view = View.of(form)
    own = view.of_people(microdata, np.arange(8))
    assert (own >= 0).all()
    assert [
        int(ids[b]) in view.ids.gather(view.sides[0].bucket[view.sides[0].value == v]).to_list()
        for b, v in zip(OF_ROW, own[:, 0], strict=True)
    ] == [True] * 8
    wide = view.sides[0].values[own[:, 0].tolist()]
    assert all(
        low is None or age is None or low <= age <= high
        for low, age, high in zip(wide["age_low"], FRAME["age"], wide["age_high"], strict=True)
    )


def test_sizes_and_counts():
    """Rows and groups are those of the table in both layouts, and the sizes of the buckets too."""
    (rows, ids), (compact, other) = form_of(APART), form_of(APART, compact=True)
    assert (rows.rows, rows.groups, compact.rows, compact.groups) == (8, 3, 8, 3)
    assert dict(rows.sizes.iter_rows()) == {int(ids[0]): 3, int(ids[1]): 3, int(ids[2]): 2}
    assert dict(compact.sizes.iter_rows()) == {int(other[0]): 3, int(other[1]): 3, int(other[2]): 2}
    assert sorted(ids) == [1, 2, 3]
    assert compact.table.height == 8 and compact.table.columns == rows.table.columns
    assert rows.sensitive == "ill" and rows.counterfeit_rows == rows.registered_persons == 0


def test_a_shared_attribute_is_marked_with_its_column():
    """In a table of rows an attribute of a second column is named after that column, and what it
    says is that column's.
    """
    form, _ = form_of(SHARED)
    assert form.table.columns == [
        "bucket",
        "age",
        "born",
        "born_in_2",
        "name",
        "zip",
        "zip_in_3",
        "weight",
        "zip_in_4",
        "job",
        "ill",
    ]
    for one, other in (("born", "born_in_2"), ("zip", "zip_in_3"), ("zip", "zip_in_4")):
        assert sorted(form.table.select("bucket", one).rows(), key=str) == sorted(
            form.table.select("bucket", other).rows(), key=str
        )


@pytest.mark.parametrize("formats", [("parquet",), ("csv",)], ids="-".join)
def test_names_that_look_like_marks(tmp_path, formats):
    """An attribute whose own name ends like a mark keeps its own type."""
    frame = pl.DataFrame(
        {
            "zip": ["01", "02", "03"],
            "zip_in_3": [1, 2, 3],
            "b": ["x", "x", "x"],
            "ill": ["flu", "gout", "rash"],
        }
    )
    microdata = encoded(frame, ["zip", "zip_in_3", "b"], hierarchies={})
    form, _ = form_of(
        (("zip", "zip_in_3"), ("b", "zip"), ("b", "ill")),
        microdata=microdata,
        of_row=np.array([0, 0, 0]),
    )
    read = write(tmp_path / "r", form, formats)
    assert refusals(read) == [] and read.form.table.equals(form.table)
    assert read.form.table.dtypes == [
        pl.Int64,
        pl.String,
        pl.Int64,
        pl.String,
        pl.String,
        pl.String,
        pl.String,
    ]


@pytest.mark.parametrize("formats", [("parquet",), ("csv",)], ids="-".join)
def test_columns_of_missing_values_alone(tmp_path, formats):
    """A column that nobody has a value in, exact or generalized, is published, read and
    consistent.
    """
    frame = pl.DataFrame(
        {
            "a": pl.Series([None] * 4, dtype=pl.Int64),
            "b": pl.Series([None, None, 1.5, 2.5]),
            "ill": ["flu", "gout"] * 2,
        }
    )
    microdata = encoded(frame, ["a", "b"], hierarchies={"b": Bands((1,))})
    for number, k in enumerate((None, 2, 4)):  # with 4, one interval, whose low end is missing
        form, _ = form_of(
            (("a",), ("b", "ill")), microdata=microdata, of_row=np.array([0, 0, 1, 1]), k=k
        )
        assert refusals(write(tmp_path / str(number), form, formats)) == []


@pytest.mark.parametrize("compact", [False, True], ids=["rows", "compact"])
@pytest.mark.parametrize("formats", [("parquet",), ("csv",)], ids="-".join)
def test_a_table_without_rows(tmp_path, compact, formats):
    """An empty table is a form like others."""
    form, ids = form_of(APART, compact=compact)
    empty = replace(form, given=tuple(t.clear() for t in form.given))
    read = write(tmp_path / "r", empty, formats)
    assert (read.form.rows, read.form.groups) == (0, 0) and refusals(read) == []
    assert len(ids) == 3


def chi_square(counts: np.ndarray) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


THREE = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"], "ill": ["flu", "gout", "rash"]})
BOUND = {5: 38.4, 35: 99.0}
"""Degrees of freedom -> what chi-square exceeds with probability below 4 in 10 million: the false
alarm rate of a test here, whose seeds are fixed.
"""


def arrangements(columns, times=3600):
    """How often each order of two columns' values in the one bucket comes out, over as many
    streams.
    """
    microdata = encoded(THREE, ["a", "b"], hierarchies={})
    seen = Counter()
    for i in range(times):
        table = slice_into(
            microdata, columns, np.zeros(3, dtype=np.int64), Randomness.seeded(i).stream("slices")
        )[0].table
        seen[tuple(table["a"]), tuple(table["ill"])] += 1
    orders = list(
        itertools.product(
            itertools.permutations([1, 2, 3]), itertools.permutations(["flu", "gout", "rash"])
        )
    )
    assert not set(seen) - set(orders)
    return np.array([seen[order] for order in orders])


def test_columns_stand_beside_each_other_at_random():
    """All 36 ways in which the rows of a bucket's two columns may stand are equally frequent:
    neither the source's order nor a pairing shows.
    """
    counts = arrangements((("a", "b"), ("ill",)))
    assert chi_square(counts) < BOUND[35]


@pytest.mark.parametrize("order", ["both alike", "the source's"])
def test_orders_that_tell_are_seen(monkeypatch, order):
    """Columns that are permuted alike, or not at all, are far from equally frequent."""
    drawn = {}

    class Telling:
        def __init__(self, stream):
            self.stream = stream

        def permutation(self, n):
            return (
                drawn.setdefault((id(self), n), self.stream.permutation(n))
                if order == "both alike"
                else np.arange(n)
            )

    make = sliced.slice_into
    monkeypatch.setitem(
        globals(), "slice_into", lambda m, c, b, stream: make(m, c, b, Telling(stream))
    )
    assert chi_square(arrangements((("a", "b"), ("ill",)), times=400)) > 10 * BOUND[35]


def test_each_pair_of_a_persons_values_is_as_frequent_as_any():
    """Over many streams a person's own values of two columns meet in a row as often as those of two
    persons, in every bucket.
    """
    microdata = encoded(
        pl.DataFrame({"a": list(range(6)), "ill": list("uvwxyz")}), ["a"], hierarchies={}
    )
    meet = np.zeros((6, 6))
    for i in range(1500):
        form, _ = slice_into(
            microdata,
            (("a",), ("ill",)),
            np.array([0, 1, 0, 1, 0, 1]),
            Randomness.seeded(i).stream("slices"),
        )
        for a, ill in form.table.select("a", "ill").iter_rows():
            meet[a, "uvwxyz".index(ill)] += 1
    own = np.add.outer(np.arange(6), np.arange(6)) % 2 == 0
    assert meet[~own].sum() == 0
    assert (abs(meet[own] - 500) < 5.5 * np.sqrt(1500 * 2 / 9)).all()


def test_bucket_ids_are_drawn_at_random():
    """All six ways to number three buckets are equally frequent."""
    microdata = encoded(THREE, ["a", "b"], hierarchies={})
    seen = Counter(
        tuple(
            slice_into(
                microdata,
                (("a", "b"), ("ill",)),
                np.arange(3),
                Randomness.seeded(i).stream("slices"),
            )[1].tolist()
        )
        for i in range(1200)
    )
    assert (
        chi_square(np.array([seen[order] for order in itertools.permutations([1, 2, 3])]))
        < BOUND[5]
    )


def test_a_compact_release_does_not_depend_on_the_order_of_rows():
    """The parts are in ascending order: the same table in another order gives the same parts,
    bucket ids aside.
    """
    order = np.array([5, 2, 7, 0, 1, 6, 4, 3])
    one, ids = form_of(SHARED, compact=True)
    other, others = form_of(
        SHARED, compact=True, microdata=encoded(FRAME[order.tolist()]), of_row=OF_ROW[order]
    )
    for i in range(len(SHARED)):
        named = other.parts[i].with_columns(
            pl.col("bucket").replace_strict(others.tolist(), ids.tolist(), return_dtype=pl.Int64)
        )
        assert named.sort(named.columns).equals(one.parts[i])
        assert one.parts[i].equals(one.parts[i].sort(one.parts[i].columns))


def test_nothing_is_written_beside_the_table(tmp_path):
    """Two sources that differ only in what is not published, such as values in no row, give forms
    of the same columns and types.
    """
    kept = FRAME.with_columns(
        pl.col("job").cast(pl.Enum(["nurse", "doctor", "baker", "smith", "SECRET"])),
        pl.col("weight").cast(pl.Decimal(20, 1), strict=False),
    )
    form, _ = form_of(
        APART, microdata=encoded(kept.with_columns(weight=pl.Series([Decimal("1.5")] * 8)))
    )
    assert form.table.schema["job"] == pl.String and form.table.schema["weight"] == pl.Float64
    release = write(tmp_path / "r", form, ("parquet",))
    assert refusals(release) == []
    assert all(b"SECRET" not in file.read_bytes() for file in release.path.iterdir())


@pytest.mark.parametrize("name", ["bucket", "count", "b_in_2", "c_low"])
def test_names_that_are_taken(name):
    """A source column whose name a published column would need is refused with its name, and what
    to do.
    """
    frame = pl.DataFrame({name: [1, 2], "b": ["x", "y"], "c": [3, 4], "ill": ["flu", "gout"]})
    microdata = encoded(frame, [name, "b", "c"], hierarchies={})
    columns = ((name, "b"), ("b", "c", "ill"))
    stream = Randomness.secure().stream("test")
    boxes = None
    if name == "c_low":
        columns = ((name, "b"), ("c", "ill"))
        ends = np.array([0, 1])
        boxes = {1: Boxes(np.array([0, 1]), {"c": (ends, ends)})}
    with pytest.raises(SchemaError, match=f"would be called '{name}'"):
        slice_into(microdata, columns, np.array([0, 0]), stream, boxes=boxes)


def test_an_attribute_generalized_in_one_column_alone():
    """An attribute cannot be published as it is in one column and in intervals in another."""
    microdata = encoded(
        pl.DataFrame({"a": [1, 2], "b": [1, 2], "ill": ["flu", "gout"]}), ["a", "b"], hierarchies={}
    )
    ends = np.array([0, 1])
    boxes = {0: Boxes(np.array([0, 1]), {"a": (ends, ends), "b": (ends, ends)})}
    with pytest.raises(
        SchemaError, match="attribute 'a' is generalized in one column and not in another"
    ):
        slice_into(
            microdata,
            (("a", "b"), ("a", "ill")),
            np.array([0, 0]),
            Randomness.secure().stream("test"),
            boxes=boxes,
        )


def test_the_manifest_says_how_the_release_is_laid_out(tmp_path):
    """The columns stand in the manifest, and a release of another form is written as before there
    were any.
    """
    form, _ = form_of(APART, compact=True)
    manifest = write(tmp_path / "r", form, ("csv",)).manifest
    assert manifest.sliced == Slices(columns=[list(c) for c in APART], compact=True)
    assert [file.name for file in manifest.files] == ["column-1.csv", "column-2.csv"]
    plain = manifest.model_copy(update={"form": "generalized", "sliced": None})
    assert b"sliced" not in plain.to_bytes()
    assert Manifest.from_bytes((tmp_path / "r" / NAME).read_bytes(), tmp_path) == manifest


def test_a_form_of_another_kind_is_named(tmp_path):
    """What is only about generalized releases refuses a sliced one by name."""
    release = write(tmp_path / "r", form_of(APART)[0], ("parquet",))
    with pytest.raises(
        ReleaseError, match="this is about generalized releases, and this one is sliced"
    ):
        _ = release.generalized


VALUES: tuple[list[Any], ...] = (
    ["a", "b", "B", "", "ä", None],
    [1, 2, -5, None],
    [2**62, -(2**62), 0],
    [0.5, -1.0, None],
    [True, False],
    [date(2020, 1, 1), None],
)
"""Of which columns are made up."""


@pytest.mark.parametrize("columns", [1, 2, 3, 6, 40])
@pytest.mark.parametrize("rows", [0, 1, 2, 300])
def test_equal_rows_are_counted_once_and_in_order(columns: int, rows: int) -> None:
    """Whatever the columns hold, and also where all their combinations are more than a whole number
    can tell apart; as Polars does it slowly, value by value.
    """
    rng = np.random.default_rng(columns * 1000 + rows)
    frame = pl.DataFrame(
        {
            f"c{i}": pl.Series(
                [VALUES[i % 6][j] for j in rng.integers(0, len(VALUES[i % 6]), rows)],
                dtype=pl.Series(VALUES[i % 6]).dtype,
            )
            for i in range(columns)
        }
    )
    frame = pl.concat([frame, frame.head(rows // 2)])
    counted = sliced._counted(frame)
    slowly = (
        frame.group_by(frame.columns)
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .sort(frame.columns, nulls_last=False)
    )
    assert counted.equals(slowly)
    assert counted.schema == slowly.schema
