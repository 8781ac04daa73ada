# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in the manifest or the tables of a release of buckets, it gets a verdict or a
refusal in words.
"""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.guarantees.consistency.buckets import bucketized_faults, sliced_faults
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.sliced import Sliced
from phalanx.release.manifest import NAME, digest
from support.bucket_cases import MICRODATA, form_of, issue, refusal, rewritten, say


def described(manifest: dict[str, Any]) -> None:
    """Columns where the form has none, in their place in the manifest."""
    said = dict(manifest)
    manifest.clear()
    for key, value in said.items():
        manifest |= {key: value} | (
            {"sliced": {"columns": [["age"]], "compact": False}} if key == "form" else {}
        )


def an_attribute(number: int, **said: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda m: m["attributes"][number].update(said)


def a_promise(**said: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda m: m.update(guarantees=[said])


NOT_EACH = "the columns that the manifest names do not hold every attribute, each once in a column"


SAID: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "not described": ("rows", lambda m: m.pop("sliced"), "the manifest says sliced and does not describe its columns so"),
    "described without need": ("bucketized", described, "the manifest says bucketized and does not describe its columns so"),
    "another form": ("rows", lambda m: m.update(form="bucketized", sliced=None), "the manifest is not in the form in which it was published"),
    "an unknown form": ("rows", lambda m: m.update(form="swapped"), "a form that nothing installed here reads"),
    "rows that are called compact": ("rows", lambda m: m["sliced"].update(compact=True), "the manifest names no column-1 file"),
    "compact that is called rows": ("compact", lambda m: m["sliced"].update(compact=False), "the manifest names no data file"),
    "a column more": ("compact", lambda m: m["sliced"]["columns"].append(["sex"]), "the manifest names no column-3 file"),
    "a column less": ("compact", lambda m: m["sliced"].update(columns=[["age", "born", "sex", "zip", "ill"]]), "the file column-2 is not part of the release"),
    "no columns": ("rows", lambda m: m["sliced"].update(columns=[]), NOT_EACH),
    "no columns and no attributes": ("rows", lambda m: (m["sliced"].update(columns=[]), m.update(attributes=[])), NOT_EACH),
    "an empty column": ("rows", lambda m: m["sliced"]["columns"].insert(0, []), NOT_EACH),
    "an unknown attribute": ("rows", lambda m: m["sliced"]["columns"][0].append("shoe size"), NOT_EACH),
    "an attribute left out": ("rows", lambda m: m["sliced"]["columns"][0].remove("sex"), NOT_EACH),
    "an attribute twice in a column": ("rows", lambda m: m["sliced"]["columns"][0].append("sex"), NOT_EACH),
    "columns in another order": ("rows", lambda m: m["sliced"]["columns"].reverse(), "the columns of data are not those of the manifest"),
    "an attribute described twice": ("rows", lambda m: m["attributes"].append(m["attributes"][0]), "does not name every attribute and its columns once"),
    "an attribute without columns": ("rows", an_attribute(4, columns=[]), "does not name every attribute and its columns once"),
    "a quasi-identifier without columns": ("bucketized", an_attribute(0, columns=[]), "does not name every attribute and its columns once"),
    "two attributes in one column": ("rows", an_attribute(0, columns=["sex"]), "does not name every attribute and its columns once"),
    "a column called count": ("rows", an_attribute(0, columns=["count"]), "calls a column 'count', which is taken"),
    "a column called bucket": ("bucketized", an_attribute(0, columns=["bucket"]), "calls a column 'bucket', which is taken"),
    "a column of the check's own": ("compact", an_attribute(0, columns=["\0within"]), "the column name '\\x00within' holds a NUL"),
    "another column": ("rows", an_attribute(0, columns=["AGE"]), "the columns of data are not those of the manifest"),
    "no sensitive attribute": ("bucketized", an_attribute(4, role="quasi"), "a bucketized release has one sensitive attribute, and the manifest names none or several"),
    "two of them": ("bucketized", an_attribute(0, role="sensitive"), "a bucketized release has one sensitive attribute, and the manifest names none or several"),
    "rows": ("compact", lambda m: m.update(rows=9), "the manifest says 9 rows and the files hold 8"),
    "groups": ("bucketized", lambda m: m.update(groups=3), "the manifest says 3 groups and the files hold 2"),
    "a file left out": ("bucketized", lambda m: m["files"].pop(), "is not part of the release"),
    "m-invariance of a sliced release": ("rows", a_promise(name="m-invariance", m=2), "the release is sliced, and this is promised of generalized releases only"),
    "k-anonymity of a bucketized one": ("bucketized", a_promise(name="k-anonymity", k=2), "the release is bucketized, and this is promised of generalized releases only"),
    "slicing of a bucketized one": ("bucketized", a_promise(name="l-diverse-slicing", l=2), "the release is bucketized, and this is promised of sliced releases only"),
    "anatomy of a sliced one": ("compact", a_promise(name="anatomy-l-diversity", l=2), "the release is sliced, and this is promised of bucketized releases only"),
    "l of no sense": ("rows", a_promise(name="l-diverse-slicing", l=[2]), "promises l-diverse-slicing with a wrong parameter"),
    "another method's l": ("rows", lambda m: m.update(method={"name": "slicing", "l": 3}), "the method says l = 3 and the promise l-diverse-slicing says 2"),
    "no promise": ("rows", lambda m: m.update(guarantees=[]), "the manifest promises nothing"),
    "a hierarchy of no kind": ("boxes rows", an_attribute(0, hierarchy={"kind": "circle"}), "is none that Phalanx knows"),
    "a hierarchy that is empty": ("boxes rows", an_attribute(0, hierarchy={}), "is none that Phalanx knows"),
    "another hierarchy": ("boxes rows", an_attribute(0, hierarchy={"kind": "prefix", "lengths": [2, 1, 0]}), "hierarchy"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "what"), SAID.values(), ids=SAID.keys())
def test_a_manifest_that_says_something_else_is_refused(tmp_path, kind, change, what):
    """Whatever the manifest says of columns, attributes and promises that is not so is named, in
    one sentence.
    """
    path = issue(tmp_path / "r", form_of(kind)[0])
    say(path, change)
    assert what in refusal(path)


@pytest.mark.parametrize(
    "sensitive",
    [
        {"kind": "prefix", "lengths": [3, 0]},
        {"kind": "tree", "paths": [["a", "*"]]},
        {"kind": "tree"},
        {},
    ],
)
@pytest.mark.parametrize(
    "promise",
    [
        {"name": "t-close-slicing", "t": "1/2", "distance": "ordered"},
        {"name": "t-close-slicing", "t": "1/2"},
    ],
)
def test_a_hierarchy_that_does_not_know_the_values(tmp_path, sensitive, promise):
    """A promise that goes by a hierarchy is not kept where the manifest's does not fit, and says
    so.
    """
    path = issue(tmp_path / "r", form_of("rows")[0], promise=promise)
    say(path, an_attribute(4, hierarchy=sensitive))
    said = refusal(path)
    assert ("hierarchy" in said) == (promise.get("distance") == "ordered")


@pytest.mark.parametrize("kind", ["compact", "bucketized"])
@pytest.mark.parametrize(
    "stem", ["notes", "column-3", "column-x", "column-0", "counterfeits", "data.more"]
)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_too_many_is_refused(tmp_path, kind, stem, format):
    """A table that the form has no place for is named, whatever it is called."""
    path = issue(tmp_path / "r", form_of(kind)[0])
    content = io.BytesIO()
    (pl.DataFrame.write_csv if format == "csv" else pl.DataFrame.write_parquet)(
        pl.DataFrame({"bucket": [1], "x": ["y"]}), content
    )
    (path / f"{stem}.{format}").write_bytes(content.getvalue())
    say(
        path,
        lambda m: m["files"].append(
            {"name": f"{stem}.{format}", "sha256": digest(content.getvalue())}
        ),
    )
    said = refusal(path)
    assert (
        f"the file {stem} is not part of the release" in said
        or f"the {stem} file cannot be read" in said
    )


STRANGE: list[pl.Series] = [
    pl.Series([1], dtype=pl.Int8), pl.Series([1], dtype=pl.UInt64), pl.Series([2**100], dtype=pl.Int128), pl.Series([-1]), pl.Series([0]), pl.Series([2**62]),
    pl.Series([1.5]), pl.Series([float("nan")]), pl.Series([float("inf")]), pl.Series(["x"]), pl.Series([""]), pl.Series(["1e400"]), pl.Series([True]),
    pl.Series([None]), pl.Series([None], dtype=pl.Int64), pl.Series([date(2020, 1, 1)]), pl.Series([datetime(2020, 1, 1)]), pl.Series([time(1)]),  # noqa: DTZ001  # a timestamp without a zone
    pl.Series([Decimal("1.5")]), pl.Series([b"x"]), pl.Series([[1]]), pl.Series([{"a": 1}]), pl.Series(["x"], dtype=pl.Categorical),
    pl.Series(["x"], dtype=pl.Enum(["x", "y"])),
]  # fmt: skip


NO_TEXT = (pl.List, pl.Struct, pl.Binary, pl.Int128)


def strange_tables(path: Path, kind: str, format: str) -> list[tuple[str, str]]:
    """For every column of every table, and every strange content of the whole column or its first
    row: what is said.
    """
    form = form_of(kind)[0]
    issue(path, form, (format,))
    original = (path / NAME).read_bytes()
    mapping = pl.DataFrame({"person": MICRODATA.persons, "group": np.ones(8, dtype=np.int64)})
    found = []
    for stem, table in form.tables().items():
        name = f"{stem}.{format}"
        before = (path / name).read_bytes()
        for column in table.columns:
            for series in STRANGE:
                if format == "csv" and series.dtype in NO_TEXT:
                    continue
                content = io.BytesIO()
                changed = table.with_columns(series.new_from_index(0, table.height).alias(column))
                (changed.write_csv if format == "csv" else changed.write_parquet)(content)
                rewritten(path, name, content.getvalue())
                evidence = (
                    Evidence(groups={1: mapping}, microdata={1: MICRODATA})
                    if len(found) % 2
                    else None
                )
                found.append((f"{column} of {series.dtype}", refusal(path, evidence)))
                (path / NAME).write_bytes(original)
        (path / name).write_bytes(before)
    return found


@pytest.mark.parametrize("kind", ["rows", "boxes compact", "bucketized"])
def test_strange_tables_get_a_verdict(tmp_path, kind):
    """Whatever types and values stand in the columns of a Parquet file, what comes of it is a
    verdict or a sentence, and never a traceback.
    """
    assert sum(said != "" for _, said in strange_tables(tmp_path / "r", kind, "parquet")) > 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "format"),
    [
        ("compact", "parquet"),
        ("shared rows", "parquet"),
        ("boxes rows", "parquet"),
        ("shared compact", "csv"),
        ("rows", "csv"),
        ("boxes compact", "csv"),
        ("bucketized", "csv"),
    ],
)
def test_strange_tables_of_every_kind_get_a_verdict(tmp_path, kind, format):
    """The same in the other forms and layouts, and in CSV."""
    assert sum(said != "" for _, said in strange_tables(tmp_path / "r", kind, format)) > 50


@pytest.mark.parametrize("kind", ["rows", "compact", "bucketized"])
def test_a_bucket_of_a_number_beyond_64_bits(kind: str) -> None:
    """A bucket's number that no sign leaves room for is a fault in words."""
    form, _ = form_of(kind)
    far = pl.when(pl.col("bucket") == 2).then(pl.lit(2**63 + 5, pl.UInt64)).otherwise(1)
    if isinstance(form, Bucketized):
        form = replace(
            form,
            table=form.table.with_columns(bucket=far),
            values=form.values.with_columns(bucket=far),
        )
        assert list(bucketized_faults(form)) == ["the buckets are not numbered 1 to 2"]
    else:
        assert isinstance(form, Sliced)
        form = replace(form, given=tuple(part.with_columns(bucket=far) for part in form.given))
        assert list(sliced_faults(form)) == ["the buckets are not numbered 1 to 2"]
