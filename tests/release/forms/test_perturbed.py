# SPDX-License-Identifier: Apache-2.0
"""The perturbed form: rows with the schema of the original, read again as written, in an order that
tells nothing; what anybody changes is refused.
"""

import io
import itertools
import json
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from guarantees.consistency.test_hostile_buckets import NO_TEXT, STRANGE
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import ReleaseError
from phalanx.guarantees.consistency.perturbed import codes_of, row_faults
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.truth import check as truth
from phalanx.guarantees.verify import verify
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.perturbed import Perturbed, perturb
from phalanx.release.manifest import NAME, Manifest, PublishedAttribute
from support.bucket_cases import refusal, rewritten, say

TREE = Tree.of_mapping({"care": ["nurse", "doctor"], "craft": ["baker", "smith"]})
FRAME = pl.DataFrame({
    "who": range(6),
    "age": [22, 22, 33, None, 54, 60],
    "born": [date(1999, 1, 1), None, date(1, 1, 1), date(9999, 12, 31), date(1964, 1, 2), date(1960, 1, 1)],
    "name": ["", "a,b", 'say "no"', "line\nbreak", "0012", None],
    "weight": [0.1, 1e300, 5e-324, None, -0.0, 3.0],
    "job": ["nurse", "baker", "smith", None, "nurse", "doctor"],
    "zip": ["123", "124", "223", "224", "333", "334"],
    "ill": ["flu", "gout", None, "flu", "gout", ""],
})  # fmt: skip
SCHEMA = Schema(
    identifier="who",
    quasi=["age", "born", "name", "weight", "job", "zip"],
    sensitive="ill",
    hierarchies={"job": TREE, "zip": Prefix((3, 1, 0)), "age": Bands((10, 20))},
    missing="value",
)
FORMATS = [("parquet", "csv"), ("parquet",), ("csv",)]
PROMISE = {"name": "mutual-cover", "delta": "1/6"}


def encoded(frame=FRAME, schema=SCHEMA):
    return Microdata.encode(frame, schema, PersonKey(bytes(32)))


def turned(microdata):
    """Everybody gets the quasi-identifiers of the next."""
    return {name: np.roll(microdata.columns[name].codes, 1) for name in microdata.schema.quasi}


def made(microdata=None, stream=None):
    microdata = microdata or encoded()
    return perturb(microdata, turned(microdata), stream or Randomness.secure().stream("test"))


def issue(path, form, formats=("parquet",), promise=None):
    path.mkdir()
    said = {
        "series": "s",
        "number": 1,
        "method": {"name": "by hand"},
        "boxes": "exact",
        "not_for_publication": False,
        "previous": None,
    }
    write_folder(path, form, formats, guarantees=[promise or PROMISE], **said)
    return path


@pytest.mark.parametrize("formats", FORMATS, ids="-".join)
def test_what_is_written_is_read_again(tmp_path, formats):
    """Missing values, empty and strange text, dates and floats come back as they were, hold as
    consistent, and are known again beside the original.
    """
    microdata = encoded()
    form, rows = made(microdata)
    release = Release.read(issue(tmp_path / "r", form, formats))
    assert isinstance(release.form, Perturbed)
    assert release.form.table.equals(form.table) and release.form.attributes == form.attributes
    assert (release.manifest.rows, release.manifest.groups, release.manifest.counterfeits) == (
        6,
        0,
        0,
    )
    evidence = Evidence(
        groups={1: pl.DataFrame({"person": microdata.persons, "group": rows})},
        microdata={1: microdata},
    )
    found = verify([release], evidence)
    assert all(v.holds for v in found), [v.note for v in found if not v.holds]
    figures = {v.name.split(": ")[-1]: v.worst for v in found}
    assert (figures["truth"], figures["values of the original"], figures["changed rows"]) == (
        0,
        0,
        5,
    )


@pytest.mark.parametrize("kind", ["date", "numeric", "categorical", "set", None])
@pytest.mark.parametrize("formats", FORMATS[1:], ids="-".join)
def test_sensitive_values_of_every_type(tmp_path, kind, formats):
    """Sensitive numbers, dates, sets and whole numbers as categories keep what they say, and a
    release without any is one, too.
    """
    values = {
        "date": [date(2020, 1, 1), None, date(2021, 1, 1), None], "numeric": [1.5, 2.5, None, 2.5], "categorical": [7, 8, 7, 8], "set": ["a;b", "b", "", "b"],
    }  # fmt: skip
    frame = pl.DataFrame({"who": range(4), "age": [1, 2, 3, 4]})
    schema = Schema(identifier="who", quasi=["age"])
    if kind is not None:
        frame = frame.with_columns(ill=pl.Series(values[kind]))
        schema = Schema(
            identifier="who", quasi=["age"], sensitive="ill", types={"ill": kind}, missing="value"
        )
    microdata = encoded(frame, schema)
    form, rows = made(microdata)
    release = Release.read(
        issue(tmp_path / "r", form, formats, {"name": "mutual-cover", "delta": "1/4"})
    )
    evidence = Evidence(
        groups={1: pl.DataFrame({"person": microdata.persons, "group": rows})},
        microdata={1: microdata},
    )
    assert [v.note for v in verify([release], evidence) if not v.holds] == []


def test_rows_are_told_apart():
    """Each row of the microdata has its sensitive value and what was drawn for it in the published
    row of its number.
    """
    microdata = encoded()
    form, rows = made(microdata)
    drawn = turned(microdata)
    for i, row in enumerate(rows.tolist()):
        shown = form.table.row(row - 1, named=True)
        assert shown["ill"] == FRAME["ill"][i]
        assert all(
            shown[name] == microdata.columns[name].domain.values[int(codes[i])]
            for name, codes in drawn.items()
        )
    assert sorted(rows.tolist()) == [1, 2, 3, 4, 5, 6]


THREE = pl.DataFrame({"who": range(3), "age": [1, 2, 3], "ill": ["flu", "gout", "rash"]})
BOUND = 38.4
"""What chi-square of 5 degrees of freedom exceeds with probability below 4 in 10 million: the false
alarm rate of a test here, whose seeds are fixed.
"""


def chi_square(seen, orders):
    expected = seen.total() / len(orders)
    assert not set(seen) - set(orders)
    return sum((seen[order] - expected) ** 2 / expected for order in orders)


def test_rows_are_in_random_order():
    """All orders of three rows are equally frequent, and rows in the order of the source are seen
    not to be.
    """
    microdata = encoded(THREE, Schema(identifier="who", quasi=["age"], sensitive="ill"))
    orders = list(itertools.permutations([1, 2, 3]))
    seen = Counter(
        tuple(perturb(microdata, {}, Randomness.seeded(i).stream("t"))[0].table["age"])
        for i in range(1200)
    )
    assert chi_square(seen, orders) < BOUND
    assert chi_square(Counter({(1, 2, 3): 100}), orders) > BOUND


def test_a_table_without_rows(tmp_path):
    """An empty table is a form like others."""
    form, _ = made()
    for number, formats in enumerate(FORMATS):
        path = issue(tmp_path / str(number), replace(form, table=form.table.clear()), formats)
        assert Release.read(path).form.rows == 0 and refusal(path) == ""


def put(column, value, row=0):
    """Another value in one row."""
    return lambda t: t.with_columns(
        pl.when(pl.int_range(pl.len()) == row)
        .then(pl.lit(value, dtype=t[column].dtype))
        .otherwise(pl.col(column))
        .alias(column)
    )


def table(change):
    return lambda form: replace(form, table=change(form.table))


def attribute(name, **said):
    return lambda form: replace(
        form,
        attributes=tuple(
            a.model_copy(update=said) if a.name == name else a for a in form.attributes
        ),
    )


def without_quasi(form):
    return replace(form, table=form.table.select("ill"), attributes=form.attributes[-1:])


CHANGES = {
    "no quasi-identifier": (without_quasi, "there is no quasi-identifier"),
    "two sensitive attributes": (attribute("name", role="sensitive"), "there are several sensitive attributes"),
    "a kept attribute": (attribute("name", role="keep"), "a perturbed release has one column for each attribute"),
    "a column of another name": (attribute("name", columns=["nom"]), "a perturbed release has one column for each attribute, under its own name"),
    "text as numbers": (attribute("name", type="numeric"), "column 'name' holds String and is declared numeric"),
    "dates as text": (table(lambda t: t.with_columns(pl.col("born").cast(pl.String))), "column 'born' holds String and is declared date"),
    "numbers as categories": (attribute("age", type="categorical"), "column 'age' holds Int64 and is declared categorical"),
    "a list": (table(lambda t: t.with_columns(name=pl.concat_list("name"))), "column 'name' holds List(String) and is declared categorical"),
    "nothing but lists": (table(lambda t: t.with_columns(name=pl.lit(None, dtype=pl.List(pl.String)))), "column 'name' holds List(String)"),
    "NaN": (table(put("weight", float("nan"))), "column 'weight' holds NaN or an infinite number, which no person has; a missing value is null"),
    "an infinite number": (table(put("weight", float("inf"))), "column 'weight' holds NaN or an infinite number"),
    "a node of the tree": (table(put("job", "care")), "column 'job' holds a value that the hierarchy in the manifest does not name"),
    "a value outside of the tree": (table(put("job", "poet")), "column 'job' holds a value that the hierarchy in the manifest does not name"),
    "a shorter code": (table(put("zip", "12")), "column 'zip' holds a value that the hierarchy in the manifest does not name"),
    "no hierarchy": (attribute("job", hierarchy={"kind": "ladder"}), "the hierarchy of 'job' in the manifest is none that Phalanx knows"),
    "sets of quasi-identifiers": (attribute("name", type="set"), "'name' is declared a set, which only a sensitive attribute without a hierarchy may be"),
    "loose sets": (lambda form: attribute("ill", type="set")(table(put("ill", "b;a"))(form)), "1 set(s) of 'ill' are not written as different values in order"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "what"), CHANGES.values(), ids=CHANGES)
def test_a_changed_release_is_refused(tmp_path, change, what):
    """Whatever is changed in the table or the manifest, with digests that fit, is named; and
    nothing is said to be kept.
    """
    said = refusal(issue(tmp_path / "r", change(made()[0])), Evidence(microdata={1: encoded()}))
    assert what in said
    if "mutual-cover" in said:
        assert "mutual-cover: not checked, since the release contradicts itself" in said


def test_a_form_that_was_not_read_is_looked_at_too():
    """What reading refuses is a fault of a form in memory: kept attributes, several columns, other
    columns.
    """
    form, _ = made()
    assert "'name' is kept as it is" in " ".join(row_faults(attribute("name", role="keep")(form)))
    assert "'name' does not stand in one column of its name" in row_faults(
        attribute("name", columns=["name", "name_2"])(form)
    )
    assert "the columns of data are not those of the manifest" in row_faults(
        table(lambda t: t.rename({"name": "nom"}))(form)
    )
    assert row_faults(form) == []
    age = PublishedAttribute(
        name="age", role="quasi", type="numeric", columns=["age_low", "age_high"]
    )
    described = Manifest(
        series="s", number=1, form="perturbed", method={}, guarantees=[], attributes=[age], rows=1, groups=0, counterfeits=0, boxes="exact", files=[],
    )  # fmt: skip
    with pytest.raises(ReleaseError, match="one column for each attribute"):
        Perturbed.of_folder(described, {"data": form.table})


@pytest.mark.parametrize("stem", ["counterfeits", "registered", "sensitive", "column-1", "groups"])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_too_many_is_refused(tmp_path, stem, format):
    """There is one table, and no place for another."""
    path = issue(tmp_path / "r", made()[0])
    content = io.BytesIO()
    (pl.DataFrame.write_csv if format == "csv" else pl.DataFrame.write_parquet)(
        pl.DataFrame({"group": [1], "count": [1]}), content
    )
    (path / f"{stem}.{format}").write_bytes(content.getvalue())
    say(
        path,
        lambda m: m["files"].append(
            {
                "name": f"{stem}.{format}",
                "sha256": __import__("hashlib").sha256(content.getvalue()).hexdigest(),
            }
        ),
    )
    assert "is not part of the release" in refusal(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("groups", 2),
        ("rows", 5),
        ("counterfeits", 1),
        ("registered", 1),
        ("form", "generalized"),
        ("form", "sliced"),
    ],
)
def test_counts_and_forms_that_are_not_so(tmp_path, key, value):
    """A manifest that speaks of groups, other rows or another form is refused."""
    path = issue(tmp_path / "r", made()[0])
    say(path, lambda m: m.update({key: value}))
    assert refusal(path) != ""


@pytest.mark.parametrize("changes", [{"delta": "1/5"}, {"delta": "x"}])
def test_a_promise_that_is_not_the_methods(tmp_path, changes):
    """A delta in the promise that is not the method's own is told."""
    path = issue(tmp_path / "r", made()[0])
    say(path, lambda m: m.update(method={"name": "mutual-cover", "delta": "1/6"}))
    assert refusal(path) == ""
    say(path, lambda m: m["method"].update(changes))
    assert (
        f"the method says delta = {changes['delta']} and the promise mutual-cover says 1/6"
        in refusal(path)
    )


def strange_tables(path: Path, format: str):
    """For every column, and every strange content of it: what is said."""
    form, rows = made()
    issue(path, form, (format,))
    original = (path / NAME).read_bytes()
    microdata = encoded()
    evidence = Evidence(
        groups={1: pl.DataFrame({"person": microdata.persons, "group": rows})},
        microdata={1: microdata},
    )
    found = []
    for column in form.table.columns:
        for series in STRANGE:
            if format == "csv" and series.dtype in NO_TEXT:
                continue
            content = io.BytesIO()
            changed = form.table.with_columns(series.new_from_index(0, form.rows).alias(column))
            (changed.write_csv if format == "csv" else changed.write_parquet)(content)
            rewritten(path, f"data.{format}", content.getvalue())
            value = (
                None if format == "csv" and column == "born" and series[0] == "" else series[0]
            )  # no date, as an empty field is
            held = not series.dtype.is_nested() and value in FRAME[column].to_list()
            found.append(
                (
                    f"{column} of {series.dtype} {series[0]!r}",
                    held,
                    refusal(path, evidence),
                    refusal(path),
                )
            )
            (path / NAME).write_bytes(original)
    return found


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_strange_tables_get_a_verdict(tmp_path, format):
    """Whatever types and values stand in a column, what comes of it is a verdict or a sentence, and
    beside the original nothing passes that nobody has.
    """
    found = strange_tables(tmp_path / "r", format)
    assert len(found) > 100
    assert [what for what, held, beside, _ in found if beside == "" and not held] == []
    assert sum(alone != "" for *_, alone in found) > 50


def test_truth():
    """A row with another sensitive value, a row of two persons, of nobody, or of somebody who is
    not there: each is counted.
    """
    microdata = encoded()
    form, rows = made(microdata)

    def check(rows=rows, form=form, **said):
        verdict = truth.check(form_of(form), microdata, rows, **said)
        assert verdict.holds == (verdict.worst == 0)
        return verdict.worst

    def form_of(form):
        return Shown(form)

    assert check() == 0
    assert check(form=table(put("ill", "rash"))(form)) == 1
    assert check(form=table(put("ill", None, int(rows[0]) - 1))(form)) == 1
    swapped = rows.copy()
    swapped[[0, 1]] = rows[[1, 0]]
    assert check(swapped) == 2
    same = rows.copy()
    same[3] = rows[0]
    assert check(same) == 2  # a row of two persons, a row of nobody; both have the flu
    assert check(np.where(rows == 6, 7, rows)) == 2
    assert check(np.where(rows == 6, -6, rows)) == 2
    assert check(np.where(rows == 6, 0, rows)) == 1
    assert check(rows[:-1]) == 1
    assert check(np.append(rows, 3)) == 1
    assert check(registered=np.array([3, 0])) == 1


class Shown:
    """A form as it is about to be written."""

    def __init__(self, form):
        self.form = form


@pytest.mark.parametrize(
    ("values", "published", "codes"),
    [
        ([1, 3, None], pl.Series([3, None, 2, 1]), [2, 0, -1, 1]),
        ([1, 3], pl.Series([None, 3], dtype=pl.Int64), [-1, 1]),
        ([1.5, -0.0], pl.Series([0.0, 1.5, 1.4999999999999998]), [0, 1, -1]),
        ([1, 3], pl.Series([3.0, 1.5, 1.0]), [1, -1, 0]),
        ([1, 3], pl.Series([1, 2**100, None], dtype=pl.Int128), [0, -1, -1]),
        ([2**53, 2**53 + 1], pl.Series([2.0**53, 2.0**53 + 2]), [0, -1]),
        ([1, None], pl.Series([None, None], dtype=pl.Binary), [0, 0]),
        ([7, 8], pl.Series(["7", "07", None]), [0, -1, -1]),
        (["b", "a", None], pl.Series(["a", None, "A", "b"]), [1, 0, -1, 2]),
        (
            [date(2020, 1, 2), date(2020, 1, 1)],
            pl.Series([date(2020, 1, 2), date(2020, 1, 3)]),
            [1, -1],
        ),
    ],
)
def test_published_values_have_codes(values, published, codes):
    """The code of a value in the original's domain, missing ones among them, across types that
    compare; -1 for what it does not have.
    """
    frame = pl.DataFrame({"x": values})
    domain = Microdata.encode(frame, Schema(quasi=["x"], missing="value")).columns["x"].domain
    assert codes_of(domain, published.alias("x")).tolist() == codes


def test_the_manifest_is_json(tmp_path):
    """Promises stand in it as they are compared."""
    path = issue(tmp_path / "r", made()[0], promise=MutualCover(delta="1/6").parameters())
    said = json.loads((path / NAME).read_bytes())
    assert (said["form"], said["guarantees"][0]["delta"], said["groups"]) == ("perturbed", "1/6", 0)
