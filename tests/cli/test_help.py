# SPDX-License-Identifier: Apache-2.0
"""Help: of every command, at once, and without loading what only a command needs."""

import subprocess
import sys

import pytest
import typer

from phalanx import cli
from phalanx.adversaries.registry import KNOWN

GROUPS = (["attack"], ["series"])
ADVERSARIES = tuple(["attack", name] for name in ("all", *KNOWN))
COMMANDS = (
    *GROUPS,
    ["init"],
    ["publish"],
    ["verify"],
    ["budget"],
    ["demo"],
    ["warm"],
    ["estimate"],
    ["draw"],
    ["measure"],
    ["series", "list"],
    ["series", "show"],
    *ADVERSARIES,
)
HEAVY = (
    "polars",
    "numpy",
    "pyarrow",
    "numba",
    "cryptography",
    "adbc_driver_manager",
    "jinja2",
    "pandas",
    "scipy",
    "dp_accounting",
    "opendp",
)


@pytest.mark.parametrize("words", [[], *COMMANDS], ids=" ".join)
def test_every_command_explains_itself(call, words: list[str]) -> None:
    """`--help` and `-h` say how to use the command, with exit code 0."""
    said = call(*words, "--help")
    assert said.code == 0
    assert "Usage: phalanx " + " ".join(words) in said.out
    assert call(*words, "-h").out == said.out


@pytest.mark.parametrize("words", [c for c in COMMANDS if c not in GROUPS], ids=" ".join)
def test_every_command_speaks_json(call, words: list[str]) -> None:
    """Every command has --json."""
    assert "--json" in call(*words, "--help").out


def swallowed(written: str, shown: str) -> list[str]:
    """The words that are written and not shown, whatever lines and frames the help is set in; a
    word may be broken after a hyphen.
    """
    plain = "".join(
        character for character in shown if not character.isspace() and character not in "│╭╮╰╯─"
    )
    return [word for word in written.split() if word.replace("─", "") not in plain]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_shown_as_it_is_written(
    call, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """No bracket or star of a help text is taken for markup: whoever copies the line installs the
    extra.
    """
    monkeypatch.setenv("COLUMNS", "200")
    command = typer.main.get_command(cli.app)
    for word in words:
        _, command, _ = command.resolve_command(typer.Context(command), [word])  # type: ignore[attr-defined]
    shown = call(*words, "--help").out
    for text in (command.help, *(getattr(parameter, "help", None) for parameter in command.params)):
        assert swallowed(text or "", shown) == []
    assert words != ["demo"] or "pip install 'phalanx[demo]'" in shown


def test_swallowed_markup_is_seen() -> None:
    """The broken twin: what a frame shows without its brackets is found."""
    assert swallowed("pip install 'phalanx[demo]'", "│ pip install 'phalanx' │") == [
        "'phalanx[demo]'"
    ]


@pytest.mark.parametrize(
    "words",
    [["--help"], ["publish", "--help"], ["attack", "--help"], ["--version"]],
    ids=" ".join,
)
def test_help_is_light(words: list[str]) -> None:
    """Help and version load nothing that a command needs only when it runs."""
    script = (
        "import sys\nfrom phalanx.cli import main\nsys.argv[1:] = " + repr(words) + "\n"
        "try:\n    main()\nexcept SystemExit as left:\n    assert not left.code\n"
        f"print('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.splitlines()[-1].strip() == "loaded:"


def test_a_heavy_import_would_be_seen() -> None:
    """The look into a fresh interpreter sees what is there."""
    run = subprocess.run(
        [sys.executable, "-c", "import phalanx.series.series, sys; print('polars' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "True"


def test_no_command_is_the_help(call) -> None:
    """`phalanx` alone shows what there is, and is wrong use."""
    said = call()
    assert (said.code, said.err) == (2, "")
    assert "publish" in said.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["publsh"], "did you mean 'publish'?"),
        (["verify"], "missing argument 'releases'; phalanx verify --help says how."),
        (["publish", "plan.toml", "--sede", "3"], "no such option"),
        (["publish", "plan.toml", "--seed", "three"], "invalid value for '--seed'"),
        (["init", "t.csv", "--for", "all"], "invalid value for '--for': 'all' is not one of "),
        (["series", "list"], "missing option '--ledger'"),
        (
            ["report", "r", "--to", "p.html"],
            "missing option '--for'; choose from: internal, external; phalanx report --help says",
        ),
        (["verify", "t.csv", "--k", "2"], "--k is about another publisher's table"),
        (
            ["verify", "t.csv", "--quasi", "age", "--ledger", "x.db"],
            "--ledger is about releases of ours",
        ),
        (["verify", "r1", "r2", "--quasi", "age"], "2 tables are named"),
        (
            ["attack", "intersect", "r", "--original", "t.csv", "--identifier", "who"],
            "did you mean 'intersection'?",
        ),
        (["attack", "history", "r", "--adversary", "history"], "no such option: --adversary"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
@pytest.mark.parametrize("as_json", [False, True])
def test_wrong_use_is_one_sentence(call, words: list[str], sentence: str, as_json: bool) -> None:
    """Exit code 2 and one sentence on standard error; with --json the same as an object on standard
    output.
    """
    said = call(*words, *(["--json"] if as_json and len(words) > 1 else []))
    if as_json and len(words) > 1:
        assert (said.code, said.err) == (2, "")
        assert said.out.startswith('{"error": ')
        assert sentence in said.out
    else:
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("phalanx: ")
        assert said.err.count("\n") == 1
        assert sentence in said.err
