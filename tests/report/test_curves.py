# SPDX-License-Identifier: Apache-2.0
"""A chart of lines is a file of its own, shows every line where its points are, and says so."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from phalanx.report.curves import Curve, Curves

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '<img src=x onerror="alert(1)">&'


def chart(*curves: Curve, title: str = "k by beta") -> ET.Element:
    """The chart as a tree; one that is not well-formed fails here."""
    return ET.fromstring(Curves(title=title, x="beta", y="k").drawn(curves))  # noqa: S314 - our own text


def texts(tree: ET.Element) -> list[str | None]:
    return [text.text for text in tree.iter(f"{SVG}text")]


def lines(tree: ET.Element) -> list[list[tuple[float, float]]]:
    """The corners of every line of the chart."""
    paths = [
        path.get("d", "")[1:].split("L")
        for path in tree.iter(f"{SVG}path")
        if path.find(f"{SVG}title") is not None
    ]
    return [
        [(float(x), float(y)) for x, y in (corner.split() for corner in path)] for path in paths
    ]


TWO = (
    Curve("delta 1e-3", "tight", [(0.1, 2), (0.2, 20), (0.4, 200)]),
    Curve("delta 1e-3", "theorem", [(0.1, 5), (0.2, 50)]),
)


def test_points_stand_where_the_axes_say() -> None:
    """Equal factors are equal heights, x begins at 0, and stairs end in every point."""
    first, second = lines(chart(*TWO))
    assert [y for _, y in first] == pytest.approx(
        [first[0][1], first[2][1], first[2][1], first[4][1], first[4][1]]
    )
    assert (
        first[0][1] - first[2][1]
        == pytest.approx(first[2][1] - first[4][1], abs=0.11)
        == pytest.approx(second[0][1] - second[2][1], abs=0.11)
    )
    xs = [first[0][0], first[2][0], first[4][0]]
    zero = float(next(text.get("x") for text in chart(*TWO).iter(f"{SVG}text") if text.text == "0"))  # type: ignore[arg-type]
    assert [x - zero for x in xs] == pytest.approx([(xs[0] - zero) * f for f in (1, 2, 4)], abs=0.3)


def test_axes_and_legend_are_written() -> None:
    """Round places on both axes, what they measure, and each colour and stroke once."""
    written = texts(chart(*TWO))
    assert [text for text in written if text in {"2", "5", "10", "20", "50", "100", "200"}] == [
        "2",
        "5",
        "10",
        "20",
        "50",
        "100",
        "200",
    ]
    assert {"0", "0.1", "0.2", "0.3", "0.4", "beta", "k", "k by beta"} <= set(written)
    assert written[-3:] == ["delta 1e-3", "tight", "theorem"]
    assert "1,000,000" in texts(chart(Curve("a", "b", [(1, 1), (2, 900_000)])))


def test_a_screen_reader_finds_title_and_description() -> None:
    """The chart is an image with a title, and its description says where each line begins and
    ends.
    """
    tree = chart(*TWO)
    assert tree.get("role") == "img" and tree.get("aria-labelledby") == "title says"
    assert tree.findtext(f"{SVG}title") == "k by beta"
    assert (
        tree.findtext(f"{SVG}desc")
        == "delta 1e-3, tight: 2 at 0.1 to 200 at 0.4; delta 1e-3, theorem: 5 at 0.1 to 50 at 0.2"
    )


def test_a_single_point_is_drawn_and_none_is_refused() -> None:
    """One point, and one height, still make axes; no point makes no chart."""
    assert lines(chart(Curve("a", "b", [(0.5, 7)])))
    assert lines(chart(Curve("a", "b", [(0.001, 10), (0.002, 10)])))
    with pytest.raises(ValueError, match="nothing to draw"):
        chart(Curve("a", "b", []))


def test_markup_is_text_and_nothing_is_loaded() -> None:
    """Names that are markup are shown as they are; the file refers to nothing."""
    tree = chart(Curve(EVIL, EVIL, [(1, 1)]), title=EVIL)
    assert EVIL in texts(tree) and not list(tree.iter("img"))
    text = Curves(title="t", x="x", y="y").drawn(TWO)
    assert (
        "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        and "script" not in text
        and "url(" not in text
    )


def test_it_is_a_file_of_its_own(tmp_path: Path) -> None:
    """Written and read as a file, it has its size and its background."""
    (tmp_path / "c.svg").write_text(Curves(title="t", x="x", y="y").drawn(TWO), encoding="utf-8")
    root = ET.parse(tmp_path / "c.svg").getroot()  # noqa: S314
    assert (root.get("width"), root.get("height")) == ("860", "520")
    assert root.find(f"{SVG}rect").get("fill") == "#fff"  # type: ignore[union-attr]
