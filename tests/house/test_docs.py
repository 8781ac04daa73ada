# SPDX-License-Identifier: Apache-2.0
"""The documentation is kept true by reading it: links lead somewhere, examples run, every command
has its page.
"""

import re
import sys
import tomllib
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import typer

import phalanx
from phalanx.cli import app

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
MADE_BY_HAND = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("experiments/**/*.md"),
]
PAGES = sorted(page for page in MADE_BY_HAND if page.parent != REFERENCE)


@cache
def reference() -> dict[Path, str]:
    """The pages and schemas of docs/reference/, as the site has them."""
    spec = spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None and spec.loader is not None
    sys.modules["reference"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return {REFERENCE / name: text for name, text in module.pages().items()}


def text_of(page: Path) -> str | None:
    """What stands on a page; None where there is none."""
    if page.resolve() in reference():
        return reference()[page.resolve()]
    if page.is_file():
        return page.read_text(encoding="utf-8", errors="replace")  # a picture is no text
    return "" if page.is_dir() else None


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
        there = text_of(page.parent / path) if path else text
        if there is None or (anchor and anchor not in anchors(there)):
            dead.append(target)
    return dead


def test_links_lead_somewhere() -> None:
    """Every relative link of every page leads to a file, and to a heading of it where it names
    one.
    """
    dead = {page: dead_links(page, page.read_text(encoding="utf-8")) for page in PAGES}
    assert {page.relative_to(ROOT).as_posix(): links for page, links in dead.items() if links} == {}


@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](README.md#nowhere)", "[x](#nowhere)"])
def test_dead_links_are_seen(link: str) -> None:
    """A link to no file or to no heading is found."""
    assert dead_links(ROOT / "page.md", link)


def test_every_page_is_on_the_map() -> None:
    """Every page of docs/ is named by docs/index.md."""
    index = ROOT / "docs" / "index.md"
    named = {
        (index.parent / target).resolve()
        for target in re.findall(r"\]\(([^)#]*)", index.read_text(encoding="utf-8"))
    }
    docs = [page for page in PAGES if page.is_relative_to(ROOT / "docs") and page != index]
    assert [page.name for page in docs if page not in named] == []


def test_every_command_has_a_page() -> None:
    """Each command has a how-to page, and each page a command; what an engine needs has its own."""
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    pages = {page.stem for page in (ROOT / "docs" / "how-to").glob("*.md")}
    assert pages == commands | {"spark"}


@pytest.mark.parametrize("name", ["plan.schema.json", "release.schema.json"])
def test_schemas_are_up_to_date(name: str) -> None:
    """The JSON schemas in docs/reference are those of the code; `make docs` writes them."""
    assert (REFERENCE / name).read_text(encoding="utf-8") == reference()[REFERENCE / name]


def test_every_public_name_has_a_page() -> None:
    """The reference has a page for each public name, and its index leads to all of them."""
    names = {name for name in phalanx.__all__ if not name.startswith("__")}
    assert {page.stem for page in reference() if page.suffix == ".md"} == names | {"index"}
    index = REFERENCE / "index.md"
    assert dead_links(index, reference()[index]) == []
    assert {f"{name}.md" for name in names} <= set(re.findall(r"\]\(([^)]*)", reference()[index]))


WORDS = """microdata, attribute, identifier, quasi-identifier, sensitive attribute, row, person,
hierarchy, group, equivalence class, bucket, column, signature, counterfeit, cohort, registry,
exposure, survival, cell, recoding, scheme, sample, budget, random output table, release, series,
ledger, memory, method, requirement, guarantee, privacy unit, adversary, re-identification rate,
evidence, suppressed rows, suppressed values, workload, estimate, plan"""
"""The words of the design: one for one thing."""


def unexplained(words: str, glossary: str) -> list[str]:
    """The words that have no line in a glossary, nor stand in one as what other texts say."""
    lines = re.findall(r"^\| (.+?) \| (.+?) \|$", glossary, flags=re.MULTILINE)
    terms = {re.sub(r" \(.*\)", "", term) for line, _ in lines for term in line.split(", ")}
    others = {other for _, text in lines for other in re.findall(r"other texts say ([\w ]+)", text)}
    return [word for word in re.split(r",\s+", words) if word not in terms | others]


def test_every_word_of_the_design_is_explained() -> None:
    """The glossary has a line for each."""
    glossary = (ROOT / "docs" / "explanation" / "glossary.md").read_text(encoding="utf-8")
    assert unexplained(WORDS, glossary) == []
    assert unexplained("microdata, crocodile", glossary) == ["crocodile"]


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
METHODS = sorted(PROJECT["entry-points"]["phalanx.methods"])
FIVE = ["Promise", "Assumptions", "Parameters", "Cost", "What it does not hide"]


def headings(text: str) -> list[str]:
    """The headings of the second level that each page of a method has, in their order there."""
    return [line for line in re.findall(r"^## (.*)$", text, flags=re.MULTILINE) if line in FIVE]


@pytest.mark.parametrize("name", METHODS)
def test_each_method_has_the_same_five_headings(name: str) -> None:
    """What is promised, to whom, by which parameters, at what cost, and what is not hidden."""
    page = ROOT / "docs" / "explanation" / f"{name}.md"
    assert headings(page.read_text(encoding="utf-8")) == FIVE


def test_a_heading_that_is_missing_is_seen() -> None:
    """Four of five are not enough, nor are five in another order."""
    assert headings("".join(f"## {heading}\n" for heading in FIVE[:4])) != FIVE
    assert headings("".join(f"## {heading}\n" for heading in reversed(FIVE))) != FIVE
