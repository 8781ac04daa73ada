# SPDX-License-Identifier: Apache-2.0
"""The bucketized form: quasi-identifiers as they are beside counts of sensitive values, read again
as written, in orders that tell nothing.
"""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError
from phalanx.guarantees.verify import verify
from phalanx.randomness import Randomness
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.bucketized import Bucketized, bucketize

FRAME = pl.DataFrame({
    "age": [22, 22, 33, None, 54, 60],
    "born": [date(1999, 1, 1), None, date(1, 1, 1), date(9999, 12, 31), date(1964, 1, 2), date(1960, 1, 1)],
    "name": ["", "a,b", 'say "no"', "line\nbreak", "0012", None],
    "weight": [0.1, 1e300, 5e-324, None, -0.0, 3.0],
    "ill": ["flu", "gout", None, "flu", "gout", ""],
})  # fmt: skip
QUASI = ["age", "born", "name", "weight"]
OF_ROW = np.array([0, 0, 1, 1, 0, 1])


def encoded(frame=FRAME, **said):
    return Microdata.encode(
        frame,
        Schema(
            **{
                "quasi": [c for c in frame.columns if c != "ill"],
                "sensitive": "ill",
                "missing": "value",
            }
            | said
        ),
    )


def made(microdata=None, of_row=OF_ROW, stream=None):
    return bucketize(microdata or encoded(), of_row, stream or Randomness.secure().stream("test"))


def write(path, form, formats):
    path.mkdir()
    said = {
        "series": "s",
        "number": 1,
        "method": {"name": "by hand"},
        "boxes": "exact",
        "not_for_publication": False,
        "previous": None,
    }
    write_folder(
        path, form, formats, guarantees=[{"name": "anatomy-l-diversity", "l": "3/2"}], **said
    )
    return Release.read(path)


def refusals(release):
    return [v.note for v in verify([release]) if not v.holds]


@pytest.mark.parametrize("formats", [("parquet", "csv"), ("parquet",), ("csv",)], ids="-".join)
def test_what_is_written_is_read_again(tmp_path, formats):
    """Missing values, empty and strange text, dates and floats come back as they were, in two
    tables that hold as consistent.
    """
    form, _ = made()
    read = write(tmp_path / "r", form, formats)
    assert isinstance(read.form, Bucketized)
    assert (
        read.form.table.equals(form.table)
        and read.form.values.equals(form.values)
        and read.form.attributes == form.attributes
    )
    assert [f.name for f in read.manifest.files] == [
        f"{name}.{format}" for name in ("data", "sensitive") for format in formats
    ]
    assert (read.manifest.rows, read.manifest.groups, read.manifest.counterfeits) == (6, 2, 0)
    assert refusals(read) == []


@pytest.mark.parametrize("kind", ["date", "numeric", "categorical"])
@pytest.mark.parametrize("formats", [("parquet",), ("csv",)], ids="-".join)
def test_sensitive_values_of_every_type(tmp_path, kind, formats):
    """Sensitive numbers, dates and whole numbers as categories keep what they say."""
    values = {
        "date": [date(2020, 1, 1), None, date(2021, 1, 1), None],
        "numeric": [1.5, 2.5, None, 2.5],
        "categorical": [7, 8, 7, 8],
    }[kind]
    microdata = encoded(pl.DataFrame({"age": [1, 2, 3, 4], "ill": values}), types={"ill": kind})
    form, _ = made(microdata, np.array([0, 0, 1, 1]))
    read = write(tmp_path / "r", form, formats)
    assert refusals(read) == []
    assert (
        read.form.values["ill"].cast(pl.String).to_list()
        == form.values["ill"].cast(pl.String).to_list()
    )


def test_every_bucket_holds_its_own_rows_and_values():
    """Each bucket has its rows' quasi-identifiers, one row for each, and its values by count."""
    form, ids = made()
    assert Counter(form.table.rows()) == Counter(
        (int(ids[b]), *FRAME[QUASI].row(r)) for r, b in enumerate(OF_ROW)
    )
    assert {(b, v): n for b, v, n in form.values.iter_rows()} == Counter(
        (int(ids[b]), FRAME["ill"][r]) for r, b in enumerate(OF_ROW)
    )
    assert form.table["bucket"].is_sorted() and form.values["bucket"].is_sorted()
    assert sorted(ids) == [1, 2] and (form.rows, form.groups, form.sensitive) == (6, 2, "ill")


def test_a_table_without_rows(tmp_path):
    """An empty table is a form like others."""
    form, _ = made()
    for number, formats in enumerate((("parquet",), ("csv",))):
        read = write(
            tmp_path / str(number),
            replace(form, table=form.table.clear(), values=form.values.clear()),
            formats,
        )
        assert (read.form.rows, read.form.groups) == (0, 0) and refusals(read) == []


@pytest.mark.parametrize("name", ["bucket", "count"])
@pytest.mark.parametrize("role", ["quasi", "sensitive"])
def test_names_that_are_taken(name, role):
    """A source column whose name a published column would need is refused with its name, and what
    to do.
    """
    other = "ill" if role == "quasi" else "age"
    frame = pl.DataFrame({name: [1, 2], other: [3, 4]})
    schema = (
        Schema(quasi=[name], sensitive=other)
        if role == "quasi"
        else Schema(quasi=[other], sensitive=name)
    )
    with pytest.raises(
        SchemaError,
        match=f"would be called '{name}', which is taken; rename the column at the source",
    ):
        made(Microdata.encode(frame, schema), np.array([0, 0]))


THREE = pl.DataFrame({"age": [1, 2, 3], "ill": ["flu", "gout", "rash"]})
BOUND = 38.4
"""What chi-square of 5 degrees of freedom exceeds with probability below 4 in 10 million: the false
alarm rate of a test here, whose seeds are fixed.
"""


def chi_square(seen, orders):
    expected = seen.total() / len(orders)
    assert not set(seen) - set(orders)
    return sum((seen[order] - expected) ** 2 / expected for order in orders)


def orders_of_rows(frame, times=1200):
    return Counter(
        tuple(
            made(encoded(frame), np.zeros(3, dtype=np.int64), Randomness.seeded(i).stream("t"))[
                0
            ].table["age"]
        )
        for i in range(times)
    )


def test_rows_of_a_bucket_are_in_random_order():
    """All six orders of a bucket's rows are equally frequent, and so are all ways to number three
    buckets.
    """
    assert chi_square(orders_of_rows(THREE), list(itertools.permutations([1, 2, 3]))) < BOUND
    ids = Counter(
        tuple(made(encoded(THREE), np.arange(3), Randomness.seeded(i).stream("t"))[1].tolist())
        for i in range(1200)
    )
    assert chi_square(ids, list(itertools.permutations([1, 2, 3]))) < BOUND


def test_an_order_that_tells_is_seen():
    """Rows in the order of the source are not."""
    assert chi_square(Counter({(1, 2, 3): 100}), list(itertools.permutations([1, 2, 3]))) > BOUND


def test_values_do_not_depend_on_the_order_of_rows():
    """Values stand in ascending order within a bucket: the same table in another order gives the
    same counts, bucket ids aside.
    """
    order = np.array([5, 2, 0, 1, 4, 3])
    (one, ids), (other, others) = made(), made(encoded(FRAME[order.tolist()]), OF_ROW[order])
    named = other.values.with_columns(
        pl.col("bucket").replace_strict(others.tolist(), ids.tolist(), return_dtype=pl.Int64)
    )
    assert named.sort("bucket", "ill").equals(one.values) and one.values.equals(
        one.values.sort("bucket", "ill")
    )
