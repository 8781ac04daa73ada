# SPDX-License-Identifier: Apache-2.0
"""Charts show every figure, in shape and in words, and nothing else."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from phalanx.guarantees.sentences import percent
from phalanx.report.charts import Bars


def drawn(text):
    """The chart as a tree; a chart that is not well-formed fails here."""
    return ET.fromstring(text)  # noqa: S314 - our own text


def chart(labels, values, *, title="Groups by size", unit="groups", **settings):
    return Bars(key="sizes", title=title, unit=unit, **settings).by_label(labels, values)


def bars_of(tree):
    return [
        (float(b.get("x")), float(b.get("y")), float(b.get("width")), float(b.get("height")))
        for b in tree.iter("rect")
    ]


def test_bars_are_as_tall_as_their_counts():
    """Heights go with the counts, bars stand on the base line side by side, and the description
    says all figures.
    """
    tree = drawn(chart(["2", "3", "4"], [10, 5, 20]))
    found = bars_of(tree)

    assert [h / found[2][3] for *_, h in found] == pytest.approx([0.5, 0.25, 1.0], abs=0.01)
    assert [y + h for _, y, _, h in found] == pytest.approx(
        [found[0][1] + found[0][3]] * 3, abs=0.11
    )
    assert all(a[0] + a[2] <= b[0] for a, b in pairwise(found))
    said = ["2: 10 groups", "3: 5 groups", "4: 20 groups"]
    assert (tree.get("role"), tree.findtext("title"), tree.findtext("desc")) == (
        "img",
        "Groups by size",
        "; ".join(said),
    )
    assert [b.findtext("title") for b in tree.iter("rect")] == said


def test_a_screen_reader_finds_title_and_description():
    """The chart is labelled by its own title and description, whose ids are its key's."""
    tree = drawn(chart(["2"], [10]))

    assert (
        tree.get("aria-labelledby").split()
        == [tree.find("title").get("id"), tree.find("desc").get("id")]
        == ["sizes-title", "sizes-says"]
    )


def test_one_among_thousands_is_seen_and_none_is_not():
    """A count of one has a visible bar; a count of zero has none."""
    _, one, none = bars_of(drawn(chart(["2", "3", "4"], [100_000, 1, 0])))

    assert one[3] >= 1.5
    assert none[3] == 0


def test_shares_are_percentages():
    """Shares as values are told and written in percent."""
    tree = drawn(chart(["1", "2", "3"], [0.1, 0.2, 0.00001], title="Loss", unit="", percent=True))

    assert tree.findtext("desc") == "1: 10.0%; 2: 20.0%; 3: <0.1%"
    assert [percent(x) for x in (0, 0.0004, 0.0006, 0.5, 0.9996, 1, 1.0)] == [
        "0%",
        "<0.1%",
        "0.1%",
        "50.0%",
        ">99.9%",
        "100%",
        "100%",
    ]


@pytest.mark.parametrize("values", [[0, 0], [0.0, 0.0]])
def test_all_zero_is_drawn(values):
    """Nothing is divided by nothing, and nothing is drawn of nothing."""
    assert all(h == 0 for *_, h in bars_of(drawn(chart(["1", "2"], values))))
    assert chart([], []) == ""


@pytest.mark.parametrize("label", ["n{}", "n{0}000–{0}999"])
@pytest.mark.parametrize("many", [5, 24, 100, 400])
def test_labels_do_not_touch(label, many):
    """However many and long they are, written labels keep a distance and stay in the picture; all
    are told.
    """
    tree = drawn(
        chart(
            [label.format(i) for i in range(many)],
            [i * 1000 for i in range(1, many + 1)],
            unit="rows",
        )
    )
    written = [
        (float(t.get("x")), len(t.text) * 7) for t in tree.iter("text") if t.text.startswith("n")
    ]

    assert written
    assert all(a + wide / 2 <= b - other / 2 for (a, wide), (b, other) in pairwise(written))
    assert all(x - wide / 2 >= 0 for x, wide in written)
    assert tree.findtext("desc").count(";") == many - 1


def test_markup_is_text():
    """Titles, labels and units that are markup are shown as they are."""
    evil = '<img src=x onerror="alert(1)">&'
    tree = drawn(chart([evil, "b"], [1, 2], title=evil, unit=evil))

    assert tree.findtext("title") == evil
    assert not list(tree.iter("img"))
    assert tree.findtext("desc").startswith(f"{evil}: 1 {evil}; ")
