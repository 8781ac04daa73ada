# SPDX-License-Identifier: Apache-2.0
"""The documentation is kept true by reading it: links lead somewhere, examples run, every command
has its page.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from phalanx.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(text: str) -> set[str]:
    """The anchors that headings of a Markdown page get."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path, text: str) -> list[str]:
    """The relative links of a page that lead nowhere: no such file, or no such heading in it."""
    dead = []
    for target in re.findall(r"\]\((?!https?://|mailto:)([^)]*)\)", text):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        if not there.exists() or (
            anchor
            and anchor not in anchors(text if there == page else there.read_text(encoding="utf-8"))
        ):
            dead.append(target)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of every page leads to a file, and to a heading of it where it names
    one.
    """
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](README.md#nowhere)", "[x](#nowhere)"])
def test_dead_links_are_seen(link: str) -> None:
    """A link to no file or to no heading is found."""
    assert dead_links(ROOT / "page.md", link)


def test_every_page_is_on_the_map() -> None:
    """Every page of docs/ is named by docs/index.md, or by the index of its own folder."""
    maps = [ROOT / "docs" / "index.md", ROOT / "docs" / "reference" / "index.md"]
    named = {
        (where.parent / target).resolve()
        for where in maps
        for target in re.findall(r"\]\(([^)#]*)", where.read_text(encoding="utf-8"))
    }
    assert [
        page.name
        for page in PAGES
        if page.is_relative_to(ROOT / "docs") and page != maps[0] and page not in named
    ] == []


def test_every_command_has_a_page() -> None:
    """Each command has a how-to page, and each page a command."""
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert {page.stem for page in (ROOT / "docs" / "how-to").glob("*.md")} == commands


def test_reference_is_up_to_date() -> None:
    """docs/reference is what the docstrings say now; `make docs-reference` writes it."""
    run = subprocess.run(
        [sys.executable, ROOT / "docs" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
