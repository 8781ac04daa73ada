# SPDX-License-Identifier: Apache-2.0
"""Pages name what there is: every option of a command, every key of a method, every adversary and every
extra, and no other.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
import tomlkit
import typer

from house.test_docs import METHODS, PROJECT
from phalanx.adversaries.registry import KNOWN
from phalanx.cli import app
from phalanx.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "how-to").glob("*.md")
}
EVERYWHERE = {"--help", "--json", "--quiet"}
"""Options of all commands, which need no page."""


def options(commands: Iterable[typer.core.TyperCommand]) -> set[str]:
    """The options of some commands together."""
    return {
        option
        for command in commands
        for parameter in command.get_params(typer.Context(command))
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    } - EVERYWHERE


def of_each_page() -> dict[str, set[str]]:
    """The options that the page of each command is about; of `attack`, those of all adversaries."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        below = list(getattr(command, "commands", {}).values())
        if name == "attack":
            context = typer.Context(command)
            below = [command.resolve_command(context, [each])[1] for each in ("all", *KNOWN)]
        found[name] = options(below or [command])
    return found


def named(text: str) -> set[str]:
    """The options that a page names."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def unnamed(of_each: Mapping[str, set[str]], pages: Mapping[str, str]) -> dict[str, set[str]]:
    """By command, the options that its page lacks."""
    return {name: lacks for name, asked in of_each.items() if (lacks := asked - named(pages[name]))}


def test_every_option_is_on_its_page() -> None:
    """The page of a command names each of its options."""
    assert unnamed(of_each_page(), PAGES) == {}


def test_every_option_of_a_page_is_there() -> None:
    """No page names an option that no command has."""
    known = set().union(*of_each_page().values()) | EVERYWHERE
    assert {name: more for name, text in PAGES.items() if (more := named(text) - known)} == {}


def test_an_option_that_is_missing_is_seen() -> None:
    """Also where a longer one, or one that only looks like it, is there."""
    asked = {"x": {"--to", "--k"}}
    assert unnamed(asked, {"x": "`--top` and `a--to`, `--k`"}) == {"x": {"--to"}}


def keys(text: str, method: str) -> set[str]:
    """The keys in the table that a page has for a method."""
    part = text.split(f"\n## The plan's `[method]` for {method}\n")[1].split("\n#", maxsplit=1)[0]
    cells = re.findall(r"^\| (`.*?) \|", part, flags=re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("method", METHODS)
def test_every_key_of_a_method_is_in_its_table(method: str) -> None:
    """The page of publish has all keys of a plan's method, and none that there is not."""
    module, _, name = PROJECT["entry-points"]["phalanx.methods"][method].partition(":")
    there = {field.name for field in fields(getattr(import_module(module), name))}
    assert keys(PAGES["publish"], method) == there


def test_every_adversary_is_counted_and_asked_something() -> None:
    """The README says how many there are, and the page of attack which question each is about."""
    (counted,) = re.findall(r"^\| adversaries that are played \| (\d+) \|", README, re.MULTILINE)
    assert int(counted) == len(KNOWN)
    questions = PAGES["attack"].split("three questions\n")[1].split("\n## ")[0]
    lists = re.findall(r"^- \*\*.*?(?=^- |\n\n)", questions, flags=re.DOTALL | re.MULTILINE)
    asked = [name for each in lists for name in re.findall(r"\*([\w-]+)\*(?!\*)", each)]
    assert sorted(name for name in asked if name in KNOWN) == sorted(KNOWN)


def test_every_extra_is_in_the_table() -> None:
    """The page about installing has the extras of users, and what each installs."""
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| (`.*`) \|$", page, flags=re.MULTILINE)
    there = {
        name: {re.split(r"[\[>=~]", package)[0] for package in packages}
        for name, packages in PROJECT["optional-dependencies"].items()
        if name not in {"all", "test", "check"}
    }
    assert {name: set(re.findall(r"`([\w-]+)`", cell)) for name, cell in rows} == there


BLOCKS = {
    f"{page.relative_to(ROOT).as_posix()}, block {i}": block
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for i, block in enumerate(
        re.findall(
            r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ),
        1,
    )
    if "entry-points" not in block
}
"""Every part of a plan on every page, by where it stands."""
SOME: Mapping[str, Mapping[str, object]] = {
    "series": {"name": "some"},
    "source": {"path": "some.csv"},
    "schema": {"identifier": "who", "quasi": ["age", "sex", "zip", "town", "education"], "sensitive": "ill"},
    "method": {"name": "m-invariance", "m": 2},
    "publish": {"to": "releases"},
}  # fmt: skip
"""What a part of a plan needs around it."""


def completed(block: str) -> dict[str, dict[str, object]]:
    """A plan with what a block says of it; keys of a block without a section are of the schema."""
    written = tomllib.loads(block)
    if not set(written) <= {*SOME, "ledger"}:
        written = {"schema": written}
    plan = {name: dict(section) for name, section in SOME.items()}
    for name, section in written.items():
        base = {} if name == "method" and "name" in section else plan.get(name, {})
        if name == "method" and "bounds" in section and "name" not in section:
            base = {"name": "mutual-cover", "delta": "1/4"}
        plan[name] = {**base, **section}
    return plan


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS.keys())
def test_every_part_of_a_plan_is_one(block: str) -> None:
    """What stands on a page can be copied into a plan: its keys are known, and their values taken."""
    plan = Plan.parse(tomlkit.dumps(completed(block)), Path("plan.toml"))
    assert plan.schema().quasi and plan.method().guarantees and plan.publish_to()


def nowhere(text: str) -> list[str]:
    """The paths of ours that a text names, and where nothing is."""
    paths = re.findall(r"`((?:src|docs|tests|experiments|benchmarks|\.ci)/[\w./-]*)`", text)
    return [path for path in paths if not (ROOT / path).exists()]


def test_every_path_is_there() -> None:
    """Files and folders of the repository that pages name are there."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert [path for page in pages for path in nowhere(page.read_text(encoding="utf-8"))] == []
    assert nowhere("see `tests/house/` and `tests/nothing.py`") == ["tests/nothing.py"]
