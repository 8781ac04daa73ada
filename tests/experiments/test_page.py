# SPDX-License-Identifier: Apache-2.0
"""The page of the five papers: every figure is on it, made or not; what does not hold is said; and
it says what was measured.
"""

import importlib
import json
import re
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from support.scripts import EXPERIMENTS, run_script

SHARED = ("charts", "claims", "page")
FIGURES = {
    "m_invariance": (9, 5),
    "global_guarantee": (9, 1),
    "slicing": (7, 2),
    "mutual_cover": (10, 1),
    "safe_sampling": (6, 2),
}
"""How many figures and tables each paper has."""


@pytest.fixture(scope="module")
def scripts():
    """The modules that all papers share, under their own names for as long as these tests run."""
    sys.path.insert(0, str(EXPERIMENTS))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in SHARED})
    finally:
        sys.path.remove(str(EXPERIMENTS))
        for name in SHARED:
            sys.modules.pop(name, None)


def made_up(scripts, found, **claim):
    """A paper of one figure with one claim about what was found."""
    asked = scripts.claims.Claim(
        **({"says": "it grows", "ours": lambda f: f"a|b {f}", "holds": lambda f: f > 1} | claim)
    )
    return scripts.claims.Figure(
        name="Figure 1",
        shows="a figure",
        measured=lambda variant: found if variant == "full" else found / 10,
        claims=[asked],
        setting="Everything.",
        quickly="a tenth.",
        panels=lambda f: [scripts.charts.Panel("drawn", "x", {"ours": [(0, f, f, f)] * 2})],
    )


DECLARED = """
import json, paper
figures = [[f.name, len(f.claims), f.setting] for f in paper.PAPER.figures]
print(json.dumps([figures, list(paper.PAPER.not_made)]))
"""


@pytest.mark.parametrize("folder", FIGURES)
def test_every_figure_and_table_is_made_or_listed(folder):
    """Each of the paper's numbers is declared, with claims and a setting, or with a reason why
    not.
    """
    paths = [str(path) for path in (EXPERIMENTS / folder, EXPERIMENTS)]
    code = f"import sys; sys.path[:0] = {paths}{DECLARED}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    figures, not_made = json.loads(ran.stdout)
    listed = {"Figure": set(), "Table": set()}
    for name in [name for name, *_ in figures] + not_made:
        for kind, first, last in re.findall(r"(Figure|Table)s? (\d+)(?: (?:to|and) (\d+))?", name):
            listed[kind] |= set(range(int(first), int(last or first) + 1))
    for kind, most in zip(("Figure", "Table"), FIGURES[folder], strict=True):
        assert listed[kind] >= set(range(1, most + 1)), (folder, kind)
    assert all(claims and setting for _, claims, setting in figures)


def test_the_page_is_what_was_measured(scripts):
    """README.md is written from the kept results, and from nothing else."""
    lines = scripts.page.page(scripts.page.kept(EXPERIMENTS / "figures"))
    written = (EXPERIMENTS / "README.md").read_text(encoding="utf-8")
    assert written == "\n".join(lines).rstrip() + "\n"


def test_every_failed_claim_has_a_reason(scripts):
    """A claim that does not hold says why, on the page that is kept."""
    papers = scripts.page.kept(EXPERIMENTS / "figures")
    failed = [c for p in papers for f in p["figures"] for c in f["claims"] if c["why"]]
    assert failed
    assert [claim["says"] for claim in failed if claim["why"] == "not explained"] == []


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (2, "holds"),
        (1, "**does not hold**"),
        (np.float64(1), "**does not hold**"),
        (0, "not judged"),
    ],
)
def test_the_verdict_is_the_rules(scripts, tmp_path, found, verdict):
    """What was found decides; the reason is given only where the claim does not hold, and nothing
    is said of what was not measured.
    """
    figure = made_up(scripts, found, why="because", holds=lambda f: None if f == 0 else f > 1)
    made = scripts.page._figure(figure, tmp_path / "paper", "full")
    (claim,) = made["claims"]
    assert claim["verdict"] == verdict
    assert claim["why"] == ("because" if found == 1 else "")


def test_what_nobody_explained_says_so(scripts, tmp_path):
    """A failed claim without a reason is not left blank."""
    made = scripts.page._figure(made_up(scripts, 0), tmp_path / "paper", "full")
    assert made["claims"][0]["why"] == "not explained"


def test_a_reason_may_depend_on_what_was_found(scripts, tmp_path):
    """An excuse that what was found does not bear is not given."""
    for found, why in ((1, "noise"), (0, "not explained")):
        figure = made_up(scripts, found, why=lambda f: "noise" if f else "")
        made = scripts.page._figure(figure, tmp_path / "paper", "full")
        assert made["claims"][0]["why"] == why


TOLD = """
from types import SimpleNamespace
import paper
print(paper.apart([2.0003, 2.0015, 2.003], 2), paper.apart([2.0, 2.0], 2), paper.apart([1, 3], 0))
for seconds in ((3, 1, 2), (3, 2, 1)):
    rounds = {str(i): SimpleNamespace(seconds=[s]) for i, s in enumerate(seconds)}
    print(bool(paper.unordered(rounds)))
"""


def test_means_are_told_apart_and_noise_is_called_so():
    """Two means that differ do not read the same; that seconds are in no order is said where
    they are in none, and not where they fall.
    """
    paths = [str(path) for path in (EXPERIMENTS / "global_guarantee", EXPERIMENTS)]
    code = f"import sys; sys.path[:0] = {paths}{TOLD}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:3] == ["2.000, 2.002, 2.003 2.00, 2.00 1, 3", "True", "False"]


def test_the_quick_variant_is_named(scripts, tmp_path):
    """Less is measured, and the figure says what is less; the full one does not."""
    figure = made_up(scripts, 20)
    quick, full = (scripts.page._figure(figure, tmp_path / "p", v) for v in ("quick", "full"))
    assert quick["claims"][0]["ours"] == "a|b 2.0"
    assert "Quick: a tenth." in quick["setting"]
    assert "Quick" not in full["setting"]
    section = "\n".join(scripts.page.section(whole(quick)))
    assert "The quick variant" in section
    assert "a\\|b 2.0" in section  # a bar within a cell does not end it
    assert "(figures/p-figure-1.svg)" in section


def whole(figure):
    return {
        "title": "A paper",
        "figures": [figure],
        "not_made": {"Table 1": "a list"},
        "variant": "quick",
        "day": "1 January 2026",
        "phalanx": "0",
        "cores": 2,
    }


def test_the_page_counts_verdicts(scripts, tmp_path):
    """The first table says of each paper and of all how many claims hold, how many do not, and how
    many minutes it took.
    """
    figures = [scripts.page._figure(made_up(scripts, f), tmp_path / "p", "full") for f in (0, 2, 3)]
    paper = whole(figures[0]) | {"figures": [f | {"seconds": 90} for f in figures]}
    text = "\n".join(scripts.page.page([paper] * 2))
    assert text.count("| A paper | quick | 3 | 2 | 1 | 1 | 4.5 |") == 2
    assert "| all |  | 6 | 4 | 2 | 2 | 9.0 |" in text
    assert "- **Table 1**: a list" in text


def test_safe_sampling_is_measured_without_data(tmp_path):
    """One paper from beginning to end: its results, its pictures, and a page with it alone."""
    ran = run_script("page.py", "--quick", "--only", "safe_sampling", "--to", tmp_path, data=None)
    assert ran.returncode == 0, ran.stderr
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "### Theorem 2.4" in text
    assert all(f"a ratio of {known}" in text for known in ("1.008", "24.7"))
    assert "## m-invariance" not in text
    for name in re.findall(r"\]\((figures/[^)]*)\)", text):
        ET.fromstring((tmp_path / name).read_text(encoding="utf-8"))  # noqa: S314 ours
    came_out, committed = (
        claims_by_figure(place / "figures" / "safe_sampling.json")
        for place in (tmp_path, EXPERIMENTS)
    )
    for figure, claims in committed.items():  # nothing is drawn, and nothing timed
        assert came_out[figure] == claims, "the page is stale: page.py --only safe_sampling"
    assert came_out.keys() == committed.keys()


def claims_by_figure(kept):
    """What is claimed of each figure, what came out here, and the verdict."""
    found = json.loads(kept.read_text(encoding="utf-8"))
    return {figure["name"]: figure["claims"] for figure in found["figures"]}


def test_without_the_data_one_sentence_says_what_to_set(tmp_path):
    """Code 2, one line, no page."""
    ran = run_script("page.py", "--only", "m_invariance", "--to", tmp_path, data=None)
    assert ran.returncode == 2
    assert "PHALANX_DATA" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not (tmp_path / "README.md").exists()


def heights(svg):
    return [
        float(bar.get("height"))
        for bar in svg.iter("{http://www.w3.org/2000/svg}rect")
        if bar.get("fill-opacity")
    ]


def drawn(scripts, tmp_path, **panel):
    charts = scripts.charts
    series = {"one": charts.line((0, 1), (10, 20)), "two": charts.line((0, 1), (20, 40))}
    charts.draw(tmp_path / "x.svg", [charts.Panel("title", "x", series, **panel)], 2)
    return ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))  # noqa: S314 ours


def test_bars_are_as_tall_as_their_values(scripts, tmp_path):
    """From 0, so that twice the value is twice the height."""
    one, other, two, both = heights(drawn(scripts, tmp_path, bars=True, places=("a", "b")))
    assert other == pytest.approx(2 * one, abs=0.2)
    assert (two, both) == pytest.approx((2 * one, 4 * one), abs=0.4)


def test_a_logarithmic_axis_has_equal_steps(scripts, tmp_path):
    """Ten to twenty is as far as twenty to forty."""
    root = drawn(scripts, tmp_path, log_y=True)
    (one, two) = [
        [float(point.split(",")[1]) for point in line.get("points").split()]
        for line in root.iter("{http://www.w3.org/2000/svg}polyline")
    ]
    assert one[0] - one[1] == pytest.approx(two[0] - two[1], abs=0.2)
    assert one[1] == pytest.approx(two[0], abs=0.2)


def test_several_runs_are_a_mean_between_the_ends(scripts):
    """The mean, the least and the greatest of each place."""
    assert scripts.charts.runs((3,), ([1, 2, 6],)) == [(3, 3.0, 1, 6)]
