# SPDX-License-Identifier: Apache-2.0
"""A release that contradicts itself, its files or its series is refused, with a note that names
what is wrong.
"""

import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.consistency import check as consistency
from phalanx.guarantees.verify import verify
from phalanx.randomness import Randomness
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.generalized import Generalized, generalize
from phalanx.release.manifest import NAME, Manifest, digest

JOB = Tree.of_paths(
    [
        ["nurse", "care", "*"],
        ["baker", "craft", "*"],
        ["doctor", "care", "*"],
        ["smith", "craft", "*"],
    ]
)
SCHEMA = Schema(
    quasi=["age", "zip", "job", "born", "town"],
    sensitive="ill",
    keep=["ward"],
    types={"zip": "categorical", "born": "date"},
    hierarchies={"age": Bands((10, 20)), "zip": Prefix((3, 2, 0)), "job": JOB},
    missing="value",
)
FRAME = pl.DataFrame({
    "age": [21, 24, 33, 38, 52, None],
    "zip": ["123", "124", "223", "224", "333", "334"],
    "job": ["nurse", "doctor", "baker", "smith", "nurse", None],
    "born": ["1990-01-02", "1991-01-02", "1985-05-05", "1986-05-05", None, "1970-01-01"],
    "town": ["", "b", "c", "d", "é", "z"],
    "ill": ["flu", "gout", "flu", "gout", "flu", None],
    "ward": [1, 2, 1, 2, 1, 2],
})  # fmt: skip


def made(
    path,
    number=1,
    previous=None,
    change: Callable[[pl.DataFrame], pl.DataFrame] = lambda t: t,
    *,
    formats=("parquet", "csv"),
    seeded=False,
    width=None,
    **said,
):
    """A release of six people in three groups; ``change`` is done to the table before it is
    written.
    """
    stream = (Randomness.seeded(number) if seeded else Randomness.secure()).stream("test")
    form, _ = generalize(
        Microdata.encode(FRAME, SCHEMA),
        np.arange(6),
        np.array([0, 0, 1, 1, 2, 2]),
        stream,
        min_width=width,
    )
    form = Generalized(change(form.table), form.attributes, form.counterfeits)
    path.mkdir()
    manifest = {
        "series": "s",
        "method": {"name": "mondrian", "k": 2},
        "guarantees": [{"name": "k-anonymity", "k": 2}],
        "boxes": "tight",
    } | said
    write_folder(
        path,
        form,
        formats,
        number=number,
        previous=previous,
        not_for_publication=seeded,
        **manifest,
    )
    return path


def rewrite(path, name, content):
    """Put other bytes in a file and the right digest in the manifest."""
    (path / name).write_bytes(content)
    manifest = Manifest.from_bytes((path / NAME).read_bytes(), path)
    files = [
        f.model_copy(update={"sha256": digest((path / f.name).read_bytes())})
        for f in manifest.files
    ]
    (path / NAME).write_bytes(manifest.model_copy(update={"files": files}).to_bytes())


def parquet_of(table, **options):
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def notes(releases, **options):
    return " | ".join(v.note for v in verify(releases, **options) if not v.holds)


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)])
def test_a_good_release_holds(tmp_path, formats):
    """Trees, prefixes, bands, dates, plain text, empty text and missing values: all consistent as
    published.
    """
    release = Release.read(made(tmp_path / "r", formats=formats))
    found = [(v.name, v.holds) for v in verify([release])]
    assert found == [
        (f"release 1: {name}", True)
        for name in ("consistency", "for publication", "k-anonymity", "kept columns")
    ], notes([release])


def test_widened_intervals_have_widened_nodes(tmp_path):
    """A node says no more than the interval beside it, also where the interval was widened to a
    least width.
    """
    release = Release.read(
        made(tmp_path / "r", width={"age": 15, "job": 2, "town": 3, "born": 400})
    )
    assert notes([release]) == ""
    table = release.form.table.filter(pl.col("age_high") == 30)
    assert table["age"].unique().to_list() == ["*"]


def set_where(column, value, *, whole_group=False):
    """Put a value into the first row that has one in the column, or into that row's whole group."""

    def change(table):
        row = table[column].is_not_null().arg_true()[0]
        here = (
            pl.col("group") == table["group"][row] if whole_group else pl.int_range(pl.len()) == row
        )
        return table.with_columns(
            pl.when(here)
            .then(pl.lit(value, dtype=table[column].dtype))
            .otherwise(pl.col(column))
            .alias(column)
        )

    return change


def swap(a, b):
    return lambda t: t.with_columns(pl.col(b).alias(a), pl.col(a).alias(b))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            set_where("town_high", "zz"),
            "differ in quasi-identifiers from row to row (column 'town_high')",
        ),
        (set_where("born_low", None), "(column 'born_low')"),
        (swap("age_low", "age_high"), "of 'age' end before they begin"),
        (swap("born_low", "born_high"), "of 'born' end before they begin"),
        (swap("town_low", "town_high"), "of 'town' end before they begin"),
        (swap("job_low", "job_high"), "of 'job' end before they begin"),
        (
            lambda t: t.with_columns(pl.col("job_high").fill_null("nurse"), job=pl.lit("care")),
            "of 'job' do not cover",
        ),
        (lambda t: t.with_columns(zip=pl.lit("12*")), "of 'zip' do not cover"),
        (lambda t: t.with_columns(age=pl.lit("20-30")), "of 'age' do not cover"),
        (
            set_where("job_low", "pilot", whole_group=True),
            "hierarchy in the manifest does not name",
        ),
        (
            lambda t: t.with_columns(age_high=pl.lit(None, dtype=pl.Int64)),
            "a low end and no high end",
        ),
        (lambda t: t.with_columns(pl.col("group") + 1), "not numbered 1 to 3"),
        (lambda t: t.with_columns(pl.col("group").replace(3, 7)), "not numbered 1 to 3"),
        (lambda t: t.with_columns(pl.col("group").cast(pl.Float64)), "does not hold whole numbers"),
        (lambda t: t.with_columns(pl.when(pl.col("group") != 1).then("group")), "have no group"),
        (lambda t: t.with_columns(pl.col("age_low").cast(pl.String)), "is declared numeric"),
        (lambda t: t.with_columns(pl.col("born_low").cast(pl.String)), "is declared date"),
        (
            lambda t: t.with_columns(pl.col("ill").cast(pl.Enum(["flu", "gout", "SECRET"]))),
            "is declared categorical",
        ),
        (
            lambda t: t.with_columns(pl.col("ward").cast(pl.String).cast(pl.Categorical)),
            "dictionary-encoded",
        ),
        (
            lambda t: t.with_columns(pl.col("age_low").cast(pl.Float64).fill_null(float("nan"))),
            "holds NaN",
        ),
    ],
)
def test_broken_tables(tmp_path, change, what):
    """Whatever is wrong inside the table is named."""
    assert what in notes([Release.read(made(tmp_path / "r", change=change))])


def test_csv_and_parquet_differ(tmp_path):
    """A CSV file that tells another story than the Parquet file beside it is refused."""
    path = made(tmp_path / "r")
    rewrite(path, "data.csv", (path / "data.csv").read_bytes().replace(b"gout", b"flu", 1))
    assert "data.parquet and data.csv do not say the same" in notes([Release.read(path)])
    rewrite(path, "data.csv", (path / "data.csv").read_bytes().replace(b'""', b"", 1))
    assert "data.parquet and data.csv do not say the same" in notes([Release.read(path)])


def test_dictionary_of_unused_values(tmp_path):
    """A filtered dictionary column keeps the filtered values in the file; plain text written over
    it does not.
    """
    path = made(tmp_path / "r", formats=("parquet",))
    table = pq.read_table(path / "data.parquet")
    place = table.schema.get_field_index("ill")
    values = [*table["ill"].to_pylist(), "SECRET"]
    encoded = pa.array(values).dictionary_encode()[:-1]
    rewrite(path, "data.parquet", parquet_of(table.set_column(place, "ill", encoded)))
    assert b"SECRET" in (path / "data.parquet").read_bytes()
    assert "'ill' is dictionary-encoded" in notes([Release.read(path)])
    rewrite(
        path,
        "data.parquet",
        parquet_of(table.set_column(place, "ill", encoded), store_schema=False),
    )
    assert b"SECRET" in (path / "data.parquet").read_bytes()
    assert "'ill' holds values that no row has" in notes([Release.read(path)])


def test_footer_metadata(tmp_path):
    """Whatever a writer adds to the footer beside the column types is refused."""
    path = made(tmp_path / "r", formats=("parquet",))
    table = pq.read_table(path / "data.parquet")
    rewrite(
        path,
        "data.parquet",
        parquet_of(table.replace_schema_metadata({"source": "/home/someone/patients.csv"})),
    )
    assert "its footer holds metadata" in notes([Release.read(path)])
    field = table.schema.field(0).with_metadata({"note": "row order"})
    rewrite(path, "data.parquet", parquet_of(table.cast(table.schema.set(0, field))))
    assert "'group' carries metadata of its own" in notes([Release.read(path)])


def test_seeded_is_not_for_publication(tmp_path):
    """A seeded release is refused unless it is asked for."""
    release = Release.read(made(tmp_path / "r", seeded=True))
    assert "made with a seed" in notes([release])
    assert notes([release], allow_seeded=True) == ""


def test_chain(tmp_path):
    """Releases follow on each other by number, series, digest and attributes."""
    one = Release.read(made(tmp_path / "1"))
    two = Release.read(made(tmp_path / "2", 2, one.digest))
    assert notes([two, one]) == ""
    assert [v.name for v in verify([one, two], only_last=True)] == [
        "release 2: consistency",
        "release 2: for publication",
        "release 2: k-anonymity",
        "release 2: kept columns",
    ]
    alone = verify([two])[0]
    assert alone.holds
    assert "not checked: whether it follows on release 1" in alone.note
    assert "whether it follows" not in verify([one])[0].note
    assert "its digest differs" in notes([one, Release.read(made(tmp_path / "2a", 2, "0" * 64))])
    assert "does not name the release before it" in notes([Release.read(made(tmp_path / "2b", 2))])
    assert "names a release before it" in notes(
        [Release.read(made(tmp_path / "1b", 1, one.digest))]
    )
    assert "the releases between them are missing" in notes(
        [one, Release.read(made(tmp_path / "3", 3, one.digest))]
    )
    assert "a number is taken twice" in notes([one, Release.read(made(tmp_path / "1c"))])
    assert "belongs to series 'other'" in notes(
        [one, Release.read(made(tmp_path / "2c", 2, one.digest, series="other"))]
    )
    fewer = Release.read(made(tmp_path / "2d", 2, one.digest))
    fewer = Release(
        fewer.manifest.model_copy(update={"attributes": fewer.manifest.attributes[:-1]}),
        fewer.form,
        fewer.path,
    )
    assert "its attributes are not those" in notes([one, fewer])


def test_promises_are_those_of_the_method(tmp_path):
    """A weakened promise, one that claims what the method does not do, or none at all, is refused."""
    weak = {
        "method": {"name": "mondrian", "k": 10},
        "guarantees": [{"name": "k-anonymity", "k": 2}],
    }
    assert "the method says k = 10 and the promise k-anonymity says 2" in notes(
        [Release.read(made(tmp_path / "weak", **weak))]
    )
    claimed = {
        "method": {"name": "m-invariance", "m": 2, "balancing": "paper"},
        "guarantees": [{"name": "m-invariance", "m": 2, "balancing": "exact"}],
    }
    assert "the method says balancing = paper and the promise m-invariance says exact" in notes(
        [Release.read(made(tmp_path / "claimed", **claimed))]
    )
    assert "promises nothing" in notes([Release.read(made(tmp_path / "none", guarantees=[]))])
    high = {"method": {"name": "mondrian", "k": 3}, "guarantees": [{"name": "k-anonymity", "k": 3}]}
    assert "3 of 3 groups hold fewer than 3 persons" in notes(
        [Release.read(made(tmp_path / "high", **high))]
    )


SETS = Schema(quasi=["age"], sensitive="reactions", types={"reactions": "set"}, missing="value")
REPORTS = pl.DataFrame(
    {
        "age": [21, 24, 33, 38, 52, 55],
        "reactions": [["rash", "fever"], [], ["rash"], ["fever", "rash"], None, ["x", "rash"]],
    }
)


def reported(path, change=lambda t: t, formats=("parquet", "csv"), **attribute):
    """A release of six reports with sets of reactions; ``change`` is done to the table,
    ``attribute`` to what the manifest says of the set.
    """
    form, _ = generalize(
        Microdata.encode(REPORTS, SETS),
        np.arange(6),
        np.array([0, 0, 1, 1, 2, 2]),
        Randomness.secure().stream("test"),
    )
    attributes = (form.attributes[0], form.attributes[1].model_copy(update=attribute))
    path.mkdir()
    said = {
        "series": "s",
        "method": {"name": "mondrian", "k": 2},
        "guarantees": [{"name": "k-anonymity", "k": 2}],
        "boxes": "tight",
    }
    write_folder(
        path,
        Generalized(change(form.table), attributes, None),
        formats,
        number=1,
        previous=None,
        not_for_publication=False,
        **said,
    )
    return Release.read(path)


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)])
def test_published_sets_are_texts(tmp_path, formats):
    """In both formats a set is one text; the empty set and the missing one are kept apart."""
    release = reported(tmp_path / "r", formats=formats)
    table = release.form.table

    assert notes([release]) == ""
    assert table.schema["reactions"] == pl.String
    assert table["reactions"].sort(nulls_last=True).to_list() == [
        "",
        "fever; rash",
        "fever; rash",
        "rash",
        "rash; x",
        None,
    ]


def test_missing_sets_alone(tmp_path):
    """A column without a single set is consistent too, empty or missing."""
    for name, value in (("empty", ""), ("none", None)):
        assert (
            notes(
                [
                    reported(
                        tmp_path / name,
                        lambda t, v=value: t.with_columns(reactions=pl.lit(v, dtype=pl.String)),
                    )
                ]
            )
            == ""
        )


@pytest.mark.parametrize(
    "loose",
    ["rash; fever", "fever; fever", "fever;rash", "fever; rash ", "; fever", "fever; ", " "],
)
def test_a_set_in_another_form_is_a_fault(tmp_path, loose):
    """Out of order, a value twice, stray spaces or separators: equal sets would look different."""
    change = set_where("reactions", loose)

    assert (
        "1 set(s) of 'reactions' are not written as different values in order with '; ' between"
        " them" in notes([reported(tmp_path / "r", change)])
    )


@pytest.mark.parametrize(
    ("change", "attribute", "what"),
    [
        (
            lambda t: t.with_columns(pl.col("reactions").str.len_bytes().cast(pl.Int64)),
            {},
            "holds Int64 and is declared set",
        ),
        (lambda t: t.with_columns(pl.col("reactions").str.split("; ")), {}, "is declared set"),
        (
            lambda t: t,
            {"role": "keep"},
            "is declared a set, which only a sensitive attribute without a hierarchy may be",
        ),
        (
            lambda t: t,
            {"hierarchy": Prefix((1, 0)).parameters()},
            "is declared a set, which only a sensitive attribute without a hierarchy may be",
        ),
    ],
)
def test_what_is_declared_a_set_and_is_none(tmp_path, change, attribute, what):
    """Numbers, nested columns, another role, a hierarchy."""
    assert what in notes([reported(tmp_path / "r", change, ("parquet",), **attribute)])


COUNTS = {
    "in another group": (
        pl.DataFrame({"group": [1, 7], "count": [2, 1]}),
        "count(s) name a group that is not in the data",
    ),
    "none": (
        pl.DataFrame({"group": [1, 2], "count": [2, 0]}),
        "count(s) are not positive",
    ),
    "fewer than none": (
        pl.DataFrame({"group": [1, 2], "count": [2, -1]}),
        "count(s) are not positive",
    ),
    "twice": (
        pl.DataFrame({"group": [1, 1], "count": [2, 1]}),
        "1 group(s) are counted twice in the",
    ),
    "no numbers": (
        pl.DataFrame({"group": [1], "count": ["two"]}),
        "counts holds something else than whole numbers",
    ),
    "in no group": (
        pl.DataFrame({"group": [None], "count": [2]}, schema_overrides={"group": pl.Int64}),
        "counts holds something else than whole numbers",
    ),
}


@pytest.mark.parametrize("beside", ["registered", "counterfeits"])
@pytest.mark.parametrize(("counts", "what"), COUNTS.values(), ids=COUNTS.keys())
def test_counts_beside_the_data(tmp_path, counts, what, beside):
    """Of registered persons and of counterfeits: they name groups that exist, each once, and are
    positive, whatever is promised; right ones hold.
    """
    release = Release.read(made(tmp_path / "r"))
    both = [
        replace(release, form=replace(release.form, **{beside: c}))
        for c in (pl.DataFrame({"group": [1, 3], "count": [1, 1]}), counts)
    ]
    right, wrong = (consistency.check(r)[0] for r in both)
    assert right.holds, right.note
    assert not wrong.holds
    assert what in wrong.note
