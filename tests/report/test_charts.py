"""Charts show every figure, in shape and in words, and nothing else."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from phalanx.report import charts


def drawn(text):
    """The chart as a tree; a chart that is not well-formed fails here."""
    return ET.fromstring(text)  # noqa: S314 - our own text


def bars_of(tree):
    return [(float(b.get("x")), float(b.get("y")), float(b.get("width")), float(b.get("height"))) for b in tree.iter("rect")]


def test_bars_are_as_tall_as_their_counts():
    """Heights go with the counts, bars stand on the base line side by side, and the description says all figures."""
    tree = drawn(charts.bars("Groups by size", ["2", "3", "4"], [10, 5, 20], unit="groups"))
    found = bars_of(tree)

    assert [h / found[2][3] for *_, h in found] == pytest.approx([0.5, 0.25, 1.0], abs=0.01)
    assert len({round(y + h, 1) for _, y, _, h in found}) == 1
    assert all(a[0] + a[2] <= b[0] for a, b in pairwise(found))
    assert (tree.get("role"), tree.findtext("title"), tree.findtext("desc")) == ("img", "Groups by size", "2: 10; 3: 5; 4: 20")
    assert [b.findtext("title") for b in tree.iter("rect")] == ["2: 10 groups", "3: 5 groups", "4: 20 groups"]


def test_one_among_thousands_is_seen_and_none_is_not():
    """A count of one has a visible bar; a count of zero has none."""
    _, one, none = bars_of(drawn(charts.bars("Groups", ["2", "3", "4"], [100_000, 1, 0], unit="groups")))

    assert one[3] >= 1.5
    assert none[3] == 0


def test_a_line_runs_through_its_values():
    """Each value at its height, the largest at the top; fewer than two values are no line."""
    tree = drawn(charts.line("Loss", ["1", "2", "3"], [0.1, 0.2, 0.05], percent=True))
    heights = [float(c.get("cy")) for c in tree.iter("circle")]

    base = float(next(tree.iter("line")).get("y1"))
    assert [(base - y) / (base - heights[1]) for y in heights] == pytest.approx([0.5, 1.0, 0.25], abs=0.01)
    assert tree.findtext("desc") == "1: 10.0%; 2: 20.0%; 3: 5.0%"
    assert charts.line("Loss", ["1"], [0.1]) == ""
    assert charts.bars("Groups", [], [], unit="groups") == ""


@pytest.mark.parametrize("values", [[0, 0], [0.0, 0.0]])
def test_all_zero_is_drawn(values):
    """Nothing is divided by nothing."""
    assert drawn(charts.bars("None", ["1", "2"], [0, 0], unit="rows")) is not None
    assert drawn(charts.line("None", ["1", "2"], values)) is not None


def test_labels_do_not_crowd():
    """Of a hundred labels about a dozen are written, all are told."""
    tree = drawn(charts.bars("Many", [f"n{i}" for i in range(100)], list(range(1, 101)), unit="rows"))

    assert sum((t.text or "").startswith("n") for t in tree.iter("text")) <= 12
    assert tree.findtext("desc").count(";") == 99


def test_markup_is_text():
    """Titles and labels that are markup are shown as they are."""
    evil = '<img src=x onerror="alert(1)">&'
    for chart in (charts.bars(evil, [evil], [1], unit=evil), charts.line(evil, [evil, "b"], [1, 2])):
        tree = drawn(chart)
        assert tree.findtext("title") == evil
        assert not list(tree.iter("img"))
        assert evil in tree.findtext("desc")
