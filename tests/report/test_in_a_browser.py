# SPDX-License-Identifier: Apache-2.0
"""The page of a release in a real browser, narrow and wide, light and dark, and on paper."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import phalanx as px
from support.chromium import browser

METHODS = [px.Mondrian(k=3, l=2), px.Slicing(l=2), px.MutualCover(delta="1/3")]
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LIGHTNESS = """() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor
  .match(/[0-9.]+/g).map(Number); return (r + g + b) / 765 }"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pages of three forms, for both who may read them."""
    to = tmp_path_factory.mktemp("pages")
    people = pl.DataFrame(
        {
            "age": [20 + i * 7 % 40 for i in range(90)],
            "a rather long name of an attribute": [f"a long value {i % 4}" for i in range(90)],
            "ill": [["flu", "gout", "rash"][i % 3] for i in range(90)],
        }
    )
    schema = px.Schema(quasi=people.columns[:2], sensitive="ill")
    return [
        px.publish(people, schema, method).report(to / f"{i}-{audience}.html", audience=audience)
        for i, method in enumerate(METHODS)
        for audience in ("internal", "external")
    ]


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_fits_and_can_be_read(
    chromium: Any, pages: list[Path], width: int, scheme: str
) -> None:
    """It is no wider than the window, loads nothing but itself, complains of nothing, and is as
    light or dark as its reader wants it; every picture is there to be seen.
    """
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
    )
    for path in pages:
        page = context.new_page()
        asked: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request, to=asked: to.append(request.url))
        page.on("console", lambda message, to=complaints: to.append(message.text))
        page.goto(path.as_uri())
        assert page.evaluate(WIDE) <= 0, path.name
        assert (asked, complaints) == ([path.as_uri()], [])
        assert (page.evaluate(LIGHTNESS) > 1 / 2) == (scheme == "light")
        drawn = page.evaluate("[...document.querySelectorAll('svg')].map(e => e.clientWidth)")
        assert drawn and min(drawn) > 0
        page.close()
    context.close()


def test_a_page_is_printed_whole(chromium: Any, pages: list[Path]) -> None:
    """On paper nothing has to be scrolled to: what is wider than the window is shown, too."""
    page = chromium.new_page(viewport={"width": 700, "height": 800})
    for path in pages:
        page.goto(path.as_uri())
        page.emulate_media(media="print")
        shown = "[...document.querySelectorAll('.scroll')].map(e => getComputedStyle(e).overflowX)"
        assert set(page.evaluate(shown)) == {"visible"}
        page.emulate_media(media="screen")
        assert set(page.evaluate(shown)) == {"auto"}
    page.close()
