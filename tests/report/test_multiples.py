# SPDX-License-Identifier: Apache-2.0
"""Small multiples show every point of every panel over the same axes."""

from xml.etree import ElementTree as ET

import pytest

from phalanx.report.multiples import Dot, Multiples, Panel, frontier

SVG = "{http://www.w3.org/2000/svg}"


def dot(x: float, y: float, label: str = "1", of: str = "a") -> Dot:
    return Dot(x=x, y=y, between=(y / 2, y), label=label, of=of, says=f"{label} at {x}")


def drawn(panels: list[Panel], reference: float | None = 0.05) -> ET.Element:
    drawing = Multiples(
        title="T <b>",
        x="error",
        y="risk",
        reference=reference,
        reference_name="sample",
        base_name="base",
    )
    return ET.fromstring(drawing.drawn(panels))  # noqa: S314 - our own text


def test_the_frontier_is_what_nothing_beats() -> None:
    """By definition, also where two are equal."""
    points = [(0.1, 0.5), (0.2, 0.2), (0.3, 0.3), (0.2, 0.2), (0.4, 0.1), (0.4, 0.2)]
    beaten = {
        i
        for i, p in enumerate(points)
        for q in points
        if q[0] <= p[0] and q[1] <= p[1] and (q[0] < p[0] or q[1] < p[1])
    }
    assert frontier(points) == set(range(6)) - beaten == {0, 1, 3, 4}


def test_every_dot_is_drawn_where_it_belongs() -> None:
    """Further right is more, higher is more, one scale for all panels, and nothing leaves its panel."""
    dots = [dot(0.0, 0.1, "1"), dot(0.1, 0.4, "2", "b"), dot(0.4, 0.2, "3")]
    tree = drawn(
        [Panel(title="one", dots=dots, base=0.3), Panel(title="two", dots=dots[:2], base=None)]
    )
    circles = [
        [
            (float(c.get("cx")), float(c.get("cy")))
            for c in g.iter(f"{SVG}circle")
            if c.get("r") == "4.5"
        ]
        for g in tree.findall(f"{SVG}g")
    ]
    one, two = circles[:2]
    assert (
        one[:2] == two and one[0][0] < one[1][0] < one[2][0] and one[1][1] < one[2][1] < one[0][1]
    )
    assert all(46 <= x <= 296 and 30 <= y <= 210 for x, y in one)
    labels = [
        t.text
        for g in tree.findall(f"{SVG}g")[:1]
        for gg in g.findall(f"{SVG}g")
        for t in gg.iter(f"{SVG}text")
    ]
    assert labels == ["1", "2", "3"]


def test_the_references_are_lines_where_they_are_known() -> None:
    """The base rate in its panel, the sample in all, and neither where there is none."""
    panels = [
        Panel(title="one", dots=[dot(0.1, 0.2)], base=0.3),
        Panel(title="two", dots=[dot(0.1, 0.2)], base=None),
    ]
    for reference, uprights in ((0.05, 2), (None, 0)):
        panes = drawn(panels, reference).findall(f"{SVG}g")[:2]
        kinds = [p.get("class") for pane in panes for p in pane.iter(f"{SVG}path")]
        assert kinds.count("plain") == uprights and kinds.count("base") == 1


def test_it_is_told_in_words_and_escapes_them() -> None:
    """A screen reader has every point, and markup is text."""
    tree = drawn([Panel(title="one", dots=[dot(0.1, 0.2)], base=None)])
    assert (
        tree.findtext(f"{SVG}title") == "T <b>" and tree.findtext(f"{SVG}desc") == "one: 1 at 0.1"
    )
    assert "prefers-color-scheme: dark" in tree.findtext(f"{SVG}style")
    with pytest.raises(ValueError, match="nothing to draw"):
        drawn([])


def test_a_dot_leads_to_its_page() -> None:
    """In a page each dot is a link with its words, reachable, and the style is the page's."""
    drawing = Multiples(
        title="T", x="x", y="y", reference=None, reference_name="s", base_name="b", link="?p={}&a"
    )
    dots = [dot(0.1, 0.2, "7"), dot(0.2, 0.1, "8")]
    tree = ET.fromstring(drawing.drawn([Panel(title="one", dots=dots, base=None)]))  # noqa: S314
    links = list(tree.iter(f"{SVG}a"))
    assert [link.get("href") for link in links] == ["?p=7&a", "?p=8&a"]
    assert links[0].get("aria-label") == "7 at 0.1"
    assert tree.get("role") == "group"
    assert tree.find(f"{SVG}style") is None
