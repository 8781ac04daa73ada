# SPDX-License-Identifier: Apache-2.0
"""What a command prints with --json, its help and its page name the same keys."""

import json
import re
from pathlib import Path

import pytest
import typer

from cli.test_json import made_up_demo
from phalanx import cli, demo, warming

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
ORIGINAL = ("--original", "t.csv", "--identifier", "who")
LEDGER = ("--ledger", "ward.db")
CALLS = {
    "init": ("t.csv", "--to", "new.toml"),
    "check": ("plan.toml",),
    "publish": ("plan.toml",),
    "verify": ("out/ward-1",),
    "report": ("out/ward-1", "--for", "external", "--to", "p.html"),
    "estimate": ("out/ward-1", "count(*) group by ill"),
    "draw": ("out/ward-1", "--to", "drawn", "--times", "1"),
    "measure": ("out/ward-1", "--original", "t.csv"),
    "budget": ("--epsilon", "1", "--k", "20"),
    "demo": (),
    "warm": (),
    "attack all": ("out/ward-1", *ORIGINAL),
    "series list": LEDGER,
    "series show": ("ward", *LEDGER),
    "series export": ("ward", *LEDGER, "--copy", "--to", "new.series"),
    "series import": ("ward.series", "--ledger", "other.db"),
    "series backup": (*LEDGER, "--to", "copies"),
    "series reconcile": ("ward", *LEDGER),
    "series rotate-key": LEDGER,
}
"""Every command whose help names keys, with words that it takes."""
ELSEWHERE = {"attack", "explore", "studio"}
"""Commands whose keys are tested elsewhere: of each adversary, of what takes seconds, and of lines that
go on.
"""


def help_of(command: str) -> str:
    """The help of a command."""
    found = typer.main.get_command(cli.app)
    for word in command.split():
        found = found.commands[word]  # type: ignore[attr-defined]
    return " ".join((found.help or "").split())


def named(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """The keys that a help names, and by key those of the objects in its list."""
    keys = text.split("JSON keys: ")[1]
    inner = {
        key: re.findall(r"\w+", of_each)
        for key, of_each in re.findall(r"(\w+) \(each:? ([\w, ]+)\)", keys)
    }
    outer = re.split(r"[;.]", re.sub(r" \([^()]*\)", "", keys))[0]
    return re.findall(r"\w+", outer), inner


def shown(answer: dict[str, object]) -> tuple[list[str], dict[str, list[str]]]:
    """The same of what was printed."""
    return list(answer), {
        key: list(value[0])
        for key, value in answer.items()
        if isinstance(value, list) and value and isinstance(value[0], dict)
    }


@pytest.fixture
def scene(ward, monkeypatch: pytest.MonkeyPatch):
    """A release, its series in a file, and a demo and kernels that take no time."""
    ward.plan(method='name = "mondrian"\nk = 4\nl = 2')
    assert ward.publish().code == 0
    export = ("series", "export", "ward", *LEDGER, "--copy", "--to", "ward.series")
    assert ward.call(*export).code == 0
    monkeypatch.setattr(demo, "run", lambda to, _: made_up_demo(to))
    warmed = warming.Warmed(ward.path, kept=True, seconds={"anatomy": 1.0}, kernels=3)
    monkeypatch.setattr(warming, "warm", lambda *_: warmed)
    return ward


@pytest.mark.parametrize("command", CALLS)
def test_help_page_and_output_name_the_same_keys(scene, command: str) -> None:
    """The help names the keys in the order in which they are printed, and the page each of them."""
    if command == "series reconcile":
        (scene.path / "ward.db.mark").unlink()
    said = scene.call(*command.split(), *CALLS[command], "--json")
    assert (said.code, said.err) == (0, "")
    outer, inner = shown(json.loads(said.out))
    of_help, of_each = named(help_of(command))
    assert of_help == outer
    assert {key: sorted(of_each[key]) for key in inner if key in of_each} == {
        key: sorted(names) for key, names in inner.items() if key in of_each
    }
    page = (HOW_TO / f"{command.split(maxsplit=1)[0]}.md").read_text(encoding="utf-8")
    assert {f"`{key}`" for key in outer} <= set(re.findall(r"`\w+`", page))


def test_every_help_with_keys_is_looked_at() -> None:
    """No command is forgotten whose help names keys."""
    top = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    commands = {
        " ".join([name, *more])
        for name, command in top.items()
        for more in ([[each] for each in getattr(command, "commands", {})] or [[]])
    }
    with_keys = {command for command in commands if "JSON keys: " in help_of(command)}
    assert with_keys - ELSEWHERE == set(CALLS)
    assert {command.split()[0] for command in commands - with_keys} <= ELSEWHERE


def test_a_key_that_is_missing_is_seen() -> None:
    """In the help's list, and in that of an inner object."""
    assert named("Do it. JSON keys: a, b (each x, y), c (null where none); of --table: d.") == (
        ["a", "b", "c"],
        {"b": ["x", "y"]},
    )
    assert shown({"a": 1, "b": [{"x": 1}], "c": []}) == (["a", "b", "c"], {"b": ["x"]})
