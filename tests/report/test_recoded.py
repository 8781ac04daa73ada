# SPDX-License-Identifier: Apache-2.0
"""The page of a recoded release says what differential privacy promises and costs, shows how rows
were recoded, and counts nothing that was not released.
"""

import math
import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.sentences import as_promised
from phalanx.methods.safe_sampling.schemes import FixedScheme
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.forms.recoded import Recoded, recode
from phalanx.release.manifest import Manifest, PublishedAttribute
from phalanx.report.figures import Figures
from phalanx.report.page import render
from phalanx.report.privacy import Privacy
from phalanx.report.promises import in_words, warnings
from phalanx.report.recodings import how
from report.reader import Page

EVIL = '<img src=x onerror="alert(1)">'
PROMISE: dict[str, Any] = {
    "name": "differential-privacy", "epsilon": 1, "delta": "1/1000000", "k": 3, "beta": "0.25", "accounting": "tight", "budget": {"epsilon": 3, "delta": "1/100000"},
}  # fmt: skip
HELD = [Verdict(name="differential-privacy: images", bound=3, worst=3, holds=True)]
ROWS = pl.DataFrame({
    "age": [5, 12, 12, 35, 38, 39, 70, 99, 120, 99, None, None, None],
    "zip": ["12345"] * 6 + ["20000"] * 7,
    "pay": [0.5] * 6 + [25.0] * 7,
    "since": [date(2020, 1, 2)] * 13,
    "ill": ["flu"] * 6 + [EVIL] * 7,
})  # fmt: skip
SCHEMA = Schema(
    quasi=["age", "zip", "pay", "since"], sensitive="ill", missing="value",
    hierarchies={"zip": Prefix((5, 3, 0)), "pay": Bands((10, 50)), "ill": Tree.of_paths([["flu", "cold", "*"], [EVIL, "odd", "*"]])},
)  # fmt: skip
SCHEME: dict[str, Any] = {
    "age": {"low": 0, "high": 100, "width": 20}, "zip": 1, "pay": 1, "since": {"low": date(2020, 1, 1), "high": date(2021, 1, 1), "widths": [30], "level": 1},
}  # fmt: skip


def limits(promise: Mapping[str, Any], rows: int) -> dict[str, str]:
    """What differential privacy leaves out in a release of so many rows."""
    manifest = release(recoded(), promise=promise).manifest
    found: Any = from_parameters(promise)
    return dict(found.limits(manifest.model_copy(update={"rows": rows})))


def recoded(
    table: pl.DataFrame = ROWS,
    schema: Schema = SCHEMA,
    scheme: Mapping[str, Any] = SCHEME,
    k: int = 3,
) -> Recoded:
    """All rows of a table, recoded; those of rare images dropped."""
    fixed, microdata = FixedScheme.of(scheme, schema), Microdata.encode(table, schema)
    image, images = fixed.images(microdata, np.arange(table.height))
    counts = np.bincount(image, minlength=images.height)
    kept = np.flatnonzero(counts >= k)
    form, _ = recode(
        images[kept.tolist()], counts[kept], fixed.attributes(microdata), fixed.parameters()
    )
    return form


def release(
    form: Recoded, number: int = 1, promise: Mapping[str, Any] = PROMISE, **more: Any
) -> Release:
    manifest = Manifest(
        series="clinic", number=number, form="recoded", method={"name": "safe-sampling"}, guarantees=[dict(promise)], attributes=list(form.attributes),
        rows=form.rows, groups=form.groups, counterfeits=0, boxes="fixed", files=[], **form.manifest_fields() | more,
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def page(*releases: Release, **summary: Any) -> Page:
    told = {
        "suppressed_rows": None,
        "suppressed_values": {},
        "seconds": 41.7,
    } | summary
    return Page(render(releases, HELD, summary=told))


def test_it_counts_released_rows_and_nothing_else() -> None:
    """Rows and images are those of the file; nothing is told to be suppressed, nor how long it
    took, and the page says why.
    """
    found = page(release(recoded()))
    assert "rows 12 images 4 epsilon 1 delta 1e-6" in found.text
    assert (
        "This page shows what was released, and nothing else." in found.text
        and "4 images of 3 rows." in found.text
    )
    assert "such counts would say more of single rows than the promise covers" in found.text
    assert not re.search(
        "suppressed|Suppressed|41.7|seconds|group|bucket|counterfeit|information loss|mean width",
        found.text,
    )


def test_counts_that_somebody_hands_over_are_not_shown() -> None:
    """Not even where they stand in the summary, as they do for other forms, whose page shows
    them.
    """
    told = {
        "suppressed_rows": {"dropped": 90417},
        "suppressed_values": {"too frequent": 80316},
        "seconds": 41.7,
    }
    assert not re.search(
        "90,?417|dropped:|80,?316|too frequent|41.7", page(release(recoded()), **told).text
    )
    other = Manifest(
        series="s",
        number=1,
        form="perturbed",
        method={"name": "x"},
        guarantees=[],
        attributes=[],
        rows=0,
        groups=0,
        counterfeits=0,
        boxes="exact",
        files=[],
    )
    counted = Release(other, Perturbed(pl.DataFrame(), ()), Path("nowhere"))
    assert "suppressed rows 90,417" in page(counted, **told).text

    class Alone(Perturbed):
        """Of another package, whose promise covers whatever is counted."""

        tells_itself_alone = True

    alone = Release(other, Alone(pl.DataFrame(), ()), Path("nowhere"))
    text = page(alone, **told).text
    assert not re.search("90,?417|dropped:|80,?316|too frequent|41.7|suppressed row", text)


def test_recodings_are_told_with_what_the_rows_show() -> None:
    """Each attribute's cells in words, how many different ones are published, the most frequent
    ones with their shares, and rows without a value.
    """
    text = page(release(recoded())).text
    figures = {r.name: r for r in Figures.of(release(recoded())).recodings}
    assert figures["age"].cells == (("<20", 3), ("20–40", 3), ("≥80", 3), ("missing", 3))
    assert figures["since"].most == (("any", 1.0),) and figures["since"].cells == ()
    assert (
        "age cells of width 20 from 0 to 100; the first and the last hold everything beyond, too 4"
        " <20 25.0% , 20–40 25.0% , ≥80 25.0% 3 " in text
    )
    assert "zip the first 3 of 5 characters 2 123** 50.0% , 200** 50.0% 0 " in text
    assert "pay bands of width 10 2 0–10 50.0% , 20–30 50.0% 0 " in text
    assert "since all values are one 1 any 100% 0 " in text


@pytest.mark.parametrize(
    ("kind", "hierarchy", "said", "words"),
    [
        (
            "numeric",
            None,
            {"low": 0, "high": 9, "widths": [0.5, 1], "level": 1},
            "cells of width 1 from 0 to 9; the first and the last hold everything beyond, too",
        ),
        (
            "numeric",
            None,
            {"low": 0, "high": 9, "widths": [0.5, 1], "level": 2},
            "all values are one",
        ),
        (
            "numeric",
            None,
            {"low": 0, "high": 9, "widths": [1]},
            (
                "cells, wider where rows are few, from 0 to 9; the first and the last hold"
                " everything beyond, too"
            ),
        ),
        (
            "date",
            None,
            {"low": "2020-01-01", "high": "2021-01-01", "widths": [1], "level": 0},
            (
                "cells of one day from 2020-01-01 to 2021-01-01; the first and the last hold"
                " everything beyond, too"
            ),
        ),
        ("numeric", {"kind": "bands", "widths": [5, 10]}, {"level": 2}, "bands of width 10"),
        ("numeric", {"kind": "bands", "widths": [5, 10]}, {"level": 3}, "all values are one"),
        ("categorical", {"kind": "prefix", "lengths": [5, 1, 0]}, {"level": 0}, "as it is"),
        (
            "categorical",
            {"kind": "prefix", "lengths": [5, 1, 0]},
            {"level": 1},
            "the first of 5 characters",
        ),
        (
            "categorical",
            {"kind": "prefix", "lengths": [5, 1, 0]},
            {"level": 2},
            "all values are one",
        ),
        (
            "categorical",
            {"kind": "tree", "paths": [["a", "b", "*"], ["c", "*"]]},
            {"level": 0},
            "as it is",
        ),
        (
            "categorical",
            {"kind": "tree", "paths": [["a", "b", "*"], ["c", "*"]]},
            {"level": 1},
            "level 1 of its hierarchy",
        ),
        (
            "categorical",
            {"kind": "tree", "paths": [["a", "b", "*"], ["c", "*"]]},
            {"level": 2},
            "all values are one",
        ),
        (
            "categorical",
            {"kind": "tree", "paths": [["a", "b", "*"]]},
            {},
            "nodes of its hierarchy, higher where rows are few",
        ),
        ("categorical", None, {}, "as it is, or * where rows are few"),
        ("categorical", None, {"level": 0}, "as it is"),
        ("categorical", None, {"level": 1}, "all values are one"),
    ],
)
def test_every_recoding_is_in_words(
    kind: Any, hierarchy: Any, said: dict[str, Any], words: str
) -> None:
    """Grids, bands, prefixes, trees and plain values, at every kind of level, and where a private
    partition chose the cells.
    """
    assert (
        how(
            PublishedAttribute(
                name="a", role="quasi", type=kind, columns=["a"], hierarchy=hierarchy
            ),
            said,
        )
        == words
    )


def test_the_promise_is_in_plain_words() -> None:
    """Epsilon as a factor and as how sure somebody may get, delta, k, beta and both accountings
    stand on the page.
    """
    text = page(release(recoded())).text
    assert in_words(PROMISE) in text
    assert (
        "at most 2.719 times (e^1) as probable with the row as without it" in text
        and "at most 73.2% sure afterwards" in text
    )
    assert (
        "with probability beta = 0.25" in text
        and "at least k = 3 rows of the sample came out the same" in text
    )
    assert "fewer than about k/beta = 12" in text
    assert re.search(
        r"The delta that this k, beta and epsilon have: [0-9.e-]+ by exact computation, [0-9.e-]+"
        r" by the theorem",
        text,
    )
    assert "The plan counts by exact computation." in text
    assert (
        "counts by the theorem"
        in page(release(recoded(), promise=PROMISE | {"accounting": "theorem"})).text
    )


def test_where_the_theorem_says_nothing_it_is_not_quoted() -> None:
    """A beta above 1 - e^-epsilon has an exact delta and none by the theorem."""
    assert set(Privacy.of(PROMISE).deltas) == {"tight", "theorem"}
    large = PROMISE | {"beta": "0.8"}
    assert set(Privacy.of(large).deltas) == {"tight"}
    text = page(release(recoded(), promise=large)).text
    assert re.search(
        r"epsilon have: [0-9.e-]+ by exact computation\. The plan counts by exact", text
    )
    assert (
        Privacy.of(PROMISE | {"epsilon_scheme": "0.5"}).deltas["tight"]
        > Privacy.of(PROMISE).deltas["tight"]
    )


def test_the_budget_adds_up() -> None:
    """What this release and those before it cost is what the series has spent; without that, the
    sum; and what the plan allows stands beside it.
    """
    first, second = release(recoded()), release(recoded(), 2)
    assert (
        "costs epsilon 1 at delta 1/1,000,000. The plan allows all releases together epsilon 3 at"
        " delta 1/100,000" in page(first).text
    )
    assert (
        "releases 1 to 2 together epsilon 1.735 at delta 1/100,000 (composed exactly, which is less"
        " than their sum)."
        in page(first, second, spent={"epsilon": 1.7346, "delta": 1e-5, "releases": 2}).text
    )
    assert "releases 1 to 2 together epsilon 2 at delta 1/500,000." in page(first, second).text
    alone = release(
        recoded(), promise={key: value for key, value in PROMISE.items() if key != "budget"}
    )
    assert "The plan allows one release." in page(alone).text


def test_what_a_check_says_in_words_is_not_cut_short() -> None:
    """A bound of several words stands there whole; of a digest the beginning is enough."""
    digest = "0" * 64
    verdicts = [
        Verdict(
            name="budget",
            bound="epsilon 3 at delta 0.00001",
            worst="epsilon 2 at delta 0.000002",
            holds=True,
        ),
        Verdict(name="files", bound=digest, worst=digest, holds=True),
    ]
    text = Page(render([release(recoded())], verdicts, summary={})).text
    assert "budget holds epsilon 3 at delta 0.00001 epsilon 2 at delta 0.000002" in text
    assert digest not in text


def test_a_chosen_scheme_is_told_with_its_price() -> None:
    """The page says whether the recodings follow the plan alone, or a private choice, and what that
    cost.
    """
    form = recoded()
    assert "written without looking at any row" in page(release(form)).text
    chosen = Recoded(form.table, form.attributes, dict(form.scheme) | {"chosen": "levels"})
    assert (
        "by a differentially private choice that favours what brings many rows through and costs"
        " epsilon 0.1" in page(release(chosen, promise=PROMISE | {"epsilon_scheme": "1/10"})).text
    )


def test_no_row_at_all_is_a_page() -> None:
    """A release in which nothing was frequent enough is shown, and says so."""
    found = page(release(recoded(k=14)), release(recoded(k=14), 2))
    assert (
        "rows 0 images 0" in found.text
        and "No image came out so often, and no row is published." in found.text
    )
    assert found.open == [] and "0 images of" not in found.text


def test_what_is_not_promised_stands_at_the_top() -> None:
    """Several rows of one person, other publications, rows that tell of each other; and, where it
    holds, a large delta and a seed.
    """
    text = page(release(recoded())).text
    told = dict(warnings(release(recoded()).manifest))
    assert list(told) == ["About one row, and this series alone"]
    assert all(text.index(headline) < text.index("What is promised") for headline in told)
    assert list(limits(PROMISE, rows=999_999)) == list(told)
    assert list(limits(PROMISE, rows=1_000_000)) == ["Delta is large for so many rows", *told]
    assert [
        headline for headline, _ in warnings(release(recoded(), not_for_publication=True).manifest)
    ] == ["Not for publication", *told]


def test_two_rows_cost_more_than_twice_delta() -> None:
    """Of three tables, of which neighbours keep (epsilon, delta) exactly, the outer ones keep 2
    epsilon with (1 + e^epsilon) delta and with nothing less.
    """
    factor, delta, least = Fraction(2), Fraction(1, 100), Fraction(1, 100)  # e^epsilon is 2
    shows = [least, factor * least + delta, factor * (factor * least + delta) + delta]
    both_ways = [(p, q) for pair in pairwise(shows) for p, q in (pair, pair[::-1])]
    assert max(max(p - factor * q, (1 - p) - factor * (1 - q)) for p, q in both_ways) == delta
    excess = shows[2] - factor**2 * shows[0]
    assert excess == (1 + factor) * delta > 2 * delta

    of_two = "About one row, and this series alone"
    assert (
        f"epsilon is 1.387 and delta {as_promised(excess)}: twice"
        in limits(PROMISE | {"epsilon": math.log(2), "delta": "1/100"}, rows=1)[of_two]
    )
    assert (
        "epsilon is 1000 and delta 1: twice" in limits(PROMISE | {"epsilon": 500}, rows=1)[of_two]
    )
    text = limits(PROMISE, rows=1)[of_two]
    assert (
        "exchanged for another, epsilon is 2 and delta 3.719e-6: twice epsilon, and 1 + e^epsilon"
        " times delta." in text
    )


@pytest.mark.parametrize(
    "said",
    [{}, {"epsilon": "x"}, {"delta": "1/0"}, {"beta": 0, "k": "many"}, {"budget": {"epsilon": 1}}],
)
def test_a_promise_that_means_nothing_is_shown_as_it_is(said: dict[str, Any]) -> None:
    """Names and parameters, where no sentence can be made of them; the page still comes."""
    promise = {"name": "differential-privacy", **(PROMISE | said if said else {})}
    assert in_words(promise).startswith("differential-privacy")
    assert page(release(recoded(), promise=promise)).open == []


def test_figures_are_rounded_against_us() -> None:
    """What is promised at most is never shown as less."""
    numbers = [
        Fraction(1, 3),
        Fraction(10, 3),
        Fraction("1.00001"),
        Fraction(7, 10**9),
        Fraction("0.99999"),
    ]
    assert [as_promised(x) for x in numbers] == ["0.3334", "3.334", "1.001", "7e-9", "1"]
    assert all(Fraction(as_promised(x)) >= x for x in numbers)
    assert as_promised(0) == "0" and as_promised(Fraction(1, 999)) == "0.001002"


def test_the_page_stands_alone() -> None:
    """No script and nothing to load; every element is closed in order, ids are unique, and values
    that are markup are shown as text.
    """
    text = render([release(recoded(), 1), release(recoded(), 2)], HELD, summary={})
    found = Page(text)
    assert "script" not in found.tags and "img" not in found.tags and EVIL in found.text
    assert not any(
        name in ("src", "href", "srcset", "action", "data") or name.startswith("on")
        for name, _ in found.attributes
    )
    assert "http" not in text.replace("http-equiv", "") and found.open == []
    ids = [value for name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids)) > 3


def test_a_column_may_be_called_as_our_counts_are() -> None:
    """No name of a column is taken for one of the figures'."""
    table = pl.DataFrame(
        {"low": ["a"] * 3, "high": ["b"] * 3, "count": ["c"] * 3, "len": ["d"] * 3}
    )
    form = recoded(table, Schema(quasi=["low", "high", "count"], sensitive="len"), {})
    assert [r.most for r in Figures.of(release(form)).recodings] == [
        ((letter, 1.0),) for letter in "abcd"
    ]
