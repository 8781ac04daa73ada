# SPDX-License-Identifier: Apache-2.0
"""The page of a sliced or bucketized release speaks of buckets and columns, of what is published as
it is, and shows released figures only.
"""

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness
from phalanx.release.folder import Release, write_folder
from phalanx.release.forms.bucketized import bucketize
from phalanx.release.forms.sliced import Boxes, slice_into
from phalanx.report import write_report
from phalanx.report.correlations import Correlations
from phalanx.report.promises import in_words
from phalanx.series.series import Series
from report.reader import Page

EVIL = '<img src=x onerror="alert(1)">'
TWO = [("age", "sex"), ("town", "ill")]
BUCKETS = (np.arange(40) // 8).astype(np.int64)


def people(n=40):
    return pl.DataFrame(
        {
            "who": [f"marker-person-{i}" for i in range(n)],
            "age": [20 + (i * 7) % 41 for i in range(n)],
            "sex": [["F", "M"][i % 2] for i in range(n)],
            "town": [["Aachen", "Bonn", "Celle"][i % 3] for i in range(n)],
            "notes": [f"marker-note-{i}" for i in range(n)],
            "ill": [["flu", "gout", "acne", "ulcer"][i // 2 % 4] for i in range(n)],
        }
    )


def encoded(table, *, sensitive="ill"):
    quasi = [name for name in table.columns if name not in (sensitive, "who", "notes")]
    return Microdata.encode(
        table, Schema(identifier="who", quasi=quasi, sensitive=sensitive, drop=["notes"])
    )


def written(path, form, *, number=1, boxes="exact", formats=("parquet",), promise=None):
    promise = promise or SlicedDiversity(l=2)
    path.mkdir(parents=True)
    write_folder(
        path,
        form,
        formats,
        series="clinic",
        number=number,
        method={"name": "by hand"},
        guarantees=[promise.parameters()],
        boxes=boxes,
        not_for_publication=False,
    )
    return Release.read(path)


def sliced(
    path, columns=TWO, *, table=None, sensitive="ill", boxes=None, compact=False, number=1, **said
):
    microdata = encoded(people() if table is None else table, sensitive=sensitive)
    form, _ = slice_into(
        microdata, columns, BUCKETS, Randomness.seeded(1).stream("x"), boxes=boxes, compact=compact
    )
    return written(path, form, number=number, boxes="tight" if boxes else "exact", **said)


def bucketized(path):
    form, _ = bucketize(encoded(people()), BUCKETS, Randomness.seeded(1).stream("x"))
    return written(path, form, promise=AnatomyDiversity(l=2))


def page_of(releases, verdicts=(), **summary):
    path = releases[-1].path.parent / "page.html"
    write_report(
        path,
        releases,
        verdicts or [Verdict(name="truth", bound=0, worst=0, holds=True)],
        summary=summary,
    )
    text = path.read_text(encoding="utf-8")
    return Page(text), text


@pytest.mark.parametrize("make", [sliced, bucketized])
def test_it_speaks_of_buckets(tmp_path, make):
    """There are no groups, intervals, counterfeits or information loss in a release of exact values
    in buckets; values are published as they are.
    """
    page, _ = page_of([make(tmp_path / "clinic-1")])

    assert not re.search(
        "group|interval|counterfeit|information loss|mean width",
        page.text.replace("10 intervals of equal width", "").replace("they are intervals", ""),
    )
    assert "5 buckets of 8 rows" in page.text
    assert "Buckets by their number of rows" not in page.text  # one bar tells less than this
    assert (
        "Quasi-identifiers, published as they are: age, sex, town. Sensitive attribute: ill."
        in page.text
    )
    assert (
        page.text.index("One release at a time")
        < page.text.index("can be seen")
        < page.text.index("What is promised")
    )


@pytest.mark.parametrize("make", [sliced, bucketized])
def test_the_page_stands_alone(tmp_path, make):
    """No script and nothing to load; every element is closed in order; the only styles in the text
    are shades of the matrix.
    """
    page, text = page_of([make(tmp_path / "clinic-1")])

    assert "script" not in page.tags and not any(
        name in ("src", "href", "srcset", "action", "data") or name.startswith("on")
        for name, _ in page.attributes
    )
    assert (
        "http" not in text.replace("http-equiv", "")
        and "url(" not in text
        and "@import" not in text
    )
    assert page.open == []
    assert all(
        re.fullmatch(r"--shade: \d{1,3}", value)
        for name, value in page.attributes
        if name == "style"
    )
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_columns_are_told_in_words(tmp_path):
    """Which attributes stand together, how the files are to be read, and which attributes stand
    more than once.
    """
    page, _ = page_of([sliced(tmp_path / "a" / "clinic-1")])
    assert "age and sex town and ill A row of the file data is not a person" in page.text
    page, _ = page_of(
        [sliced(tmp_path / "b" / "clinic-1", [("age",), ("sex", "town", "ill")], compact=True)]
    )
    assert (
        "age sex, town and ill The files column-1 to column-2 say which values each bucket holds"
        in page.text
    )
    assert "random order" not in page.text and "A row of the file" not in page.text
    page, _ = page_of(
        [sliced(tmp_path / "c" / "clinic-1", [("age", "sex", "town"), ("sex", "ill")])]
    )
    assert (
        "sex stands in more than one column; the number of the column is added to the later names,"
        " as in sex_in_2 ." in page.text
    )
    page, _ = page_of(
        [sliced(tmp_path / "d" / "clinic-1", [("age", "sex", "town"), ("sex", "town", "ill")])]
    )
    assert "sex and town stand in more than one column" in page.text
    page, _ = page_of([sliced(tmp_path / "e" / "clinic-1", [("age", "sex", "town", "ill")])])
    assert "All attributes stand in one column" in page.text and "Not framed" not in page.text
    page, _ = page_of([bucketized(tmp_path / "f" / "clinic-1")])
    assert (
        "the file sensitive says which values of ill each bucket holds" in page.text
        and "Columns" not in page.text
    )


def test_without_a_sensitive_attribute_every_column_is_promised_about(tmp_path):
    """The sentence is another one, and nothing is said of a sensitive attribute that is not
    published.
    """
    page, _ = page_of([sliced(tmp_path / "clinic-1", sensitive=None)])

    assert (
        "every column is treated as if it were: in no bucket do more than 1/2 of the persons"
        in page.text
    )
    assert (
        "No attribute is named as sensitive." in page.text
        and "Sensitive attribute:" not in page.text
    )


def test_generalized_columns_have_intervals(tmp_path):
    """Attributes that are intervals and those that are not are told apart; widths are shown of the
    former, and their share is a mean over all.
    """
    ends = {
        "age": (np.array([0, 20]), np.array([19, 39])),
        "sex": (np.array([0, 0]), np.array([1, 1])),
    }
    microdata = encoded(people())
    order = microdata.columns["age"].codes
    release = sliced(tmp_path / "clinic-1", boxes={0: Boxes((order > 19).astype(np.int64), ends)})
    page, _ = page_of([release])
    low, high = release.form.table["age_low"], release.form.table["age_high"]
    age = float(((high - low) / (high.max() - low.min())).mean())

    assert (
        "published as intervals: age, sex. Quasi-identifiers, published as they are: town."
        " Sensitive" in page.text
    )
    assert "Intervals are tight: their ends are values of persons in the table." in page.text
    assert (
        "those that are published as intervals, by their intervals" in page.text
        and "count by their low end" in page.text
    )
    assert f"The mean of the quasi-identifiers is {(age + 1) / 3:.1%}." in page.text
    assert f"mean interval width {(age + 1) / 3:.1%}" in page.text
    assert "information loss" not in page.text


@pytest.mark.parametrize("make", [sliced, bucketized])
def test_the_matrix_shows_every_figure(tmp_path, make):
    """A row and a column per attribute; figures are those computed from the release, and those
    within a column say so in words.
    """
    release = make(tmp_path / "clinic-1")
    page, _ = page_of([release])
    found = Correlations.of(release.form)
    words = "in one row" if make is bucketized else "in one column"

    for x, name in enumerate(found.names):
        shown = [
            f"{found.phi2[x, y]:.2f}" + (f" {words}" if found.together[x, y] else "")
            for y in range(4)
            if y != x
        ]
        assert f"{name} {' '.join(shown)} " in page.text
    a, b, share = found.strongest(together=False)
    assert f"Highest: {a} and {b}, {share:.2f}. An adversary who learns" in page.text
    shades = [
        int(value.removeprefix("--shade: ")) for name, value in page.attributes if name == "style"
    ]
    off = found.phi2[~np.eye(4, dtype=bool)]
    assert sorted(shades) == sorted(s for s in (round(100 * x**0.5) for x in off) if s)


def test_what_cannot_be_computed_is_a_dash(tmp_path):
    """An attribute of one value tells nothing, and the page says what the dash means; more than
    fifteen attributes are counted.
    """
    page, _ = page_of(
        [sliced(tmp_path / "a" / "clinic-1", table=people().with_columns(sex=pl.lit("F")))]
    )
    assert "sex – in one column – – " in page.text and "A dash stands where" in page.text
    page, _ = page_of([sliced(tmp_path / "b" / "clinic-1")])
    assert "A dash stands where" not in page.text and "not shown" not in page.text
    names = [f"a{i}" for i in range(17)]
    wide = (
        people()
        .with_columns(pl.col("sex").alias(name) for name in names)
        .select("who", "notes", *names, "ill")
    )
    page, _ = page_of([sliced(tmp_path / "c" / "clinic-1", [tuple(names), ("ill",)], table=wide)])
    assert "3 more attributes not shown." in page.text


def test_everything_is_escaped(tmp_path):
    """An attribute whose name is markup is shown as text wherever it is named."""
    table = people().rename({"town": EVIL})
    page, text = page_of(
        [sliced(tmp_path / "clinic-1", [("age", "sex", EVIL), (EVIL, "ill")], table=table)]
    )

    assert "img" not in page.tags and "<img" not in text
    assert page.text.count("onerror") >= 6


def test_a_series_is_shown_in_buckets(tmp_path):
    """The table of releases counts buckets; a width is shown only where there are intervals."""
    releases = [sliced(tmp_path / f"clinic-{number}", number=number) for number in (1, 2)]
    page, _ = page_of(releases)

    assert "release rows buckets 1 40 5 2 40 5 " in page.text
    assert "width" not in page.text.replace("equal width", "")


def test_it_says_where_the_original_was_looked_at(tmp_path):
    """A check that used the original table is not told as one of the files alone."""
    release = sliced(tmp_path / "clinic-1")
    verdict = Verdict(
        name="l-diverse-slicing",
        bound=1,
        worst=1,
        holds=True,
        note="p(t, s) was computed for the 3 different tuples of the original table",
    )
    page, _ = page_of([release], [verdict])
    plain, _ = page_of([release])

    assert "the original table was looked at, too" in page.text
    assert "original table" not in plain.text


@pytest.mark.parametrize(
    "method",
    [
        Slicing(l=2, columns=2, sensitive_column_size=1),
        Slicing(l=2, columns=4, compact=True),
        Slicing(l=2, columns=2, sensitive_column_size=1, generalize_columns_k=5, t=0.9),
        Anatomy(l=3),
    ],
    ids=["two columns", "compact", "generalized", "anatomy"],
)
def test_only_released_values_are_shown(tmp_path, method):
    """Identifiers, dropped columns, the source's and the ledger's places appear nowhere; values
    only in the pictures, and only those that were released, inside and outside.
    """
    schema = Schema(identifier="who", quasi=["age", "sex", "town"], sensitive="ill", drop=["notes"])
    published = Series("clinic", schema=schema, method=method, to=tmp_path / "out").publish(
        people()
    )
    text = published.page.read_text(encoding="utf-8")
    page, form = Page(text), published.form

    assert all(v.holds for v in published.checks) and "do not hand" not in page.text
    assert "marker" not in text and str(tmp_path) not in text and ".db" not in text
    values, drawn = re.compile("Aachen|Bonn|Celle|flu|gout|acne|ulcer"), "(?s)<svg.*?</svg>"
    assert not values.search(re.sub(drawn, "", text)) and "town" in text
    released = {str(v) for t in form.tables().values() for c in t for v in c.unique()}
    assert set(values.findall(text)) <= released
    outside = published.report(tmp_path / "outside.html", audience="external").read_text("utf-8")
    assert not values.search(re.sub(drawn, "", outside)) and "marker" not in outside
    assert set(values.findall(outside)) <= released
    assert ("20 to 60" in page.text) == form.has_intervals
    sizes = Counter(form.table["bucket"].to_list()).values()
    least, most = min(sizes), max(sizes)
    told = f"{most} rows" if least == most else f"{least} to {most} rows"
    assert f"{len(sizes)} buckets of {told}." in page.text
    assert all(in_words(g.parameters()) in page.text for g in method.guarantees)


def test_csv_alone_gives_the_same_page(tmp_path):
    """The figures do not depend on the format that the release was written in; the digest of the
    manifest, which names the files, does.
    """
    pages = []
    for name in ("csv", "parquet"):
        release = sliced(tmp_path / name / "clinic-1", formats=(name,))
        text = page_of([release])[0].text
        assert text.count(release.digest) == 1
        pages.append(text.replace(release.digest, ""))
    assert pages[0] == pages[1]
