# SPDX-License-Identifier: Apache-2.0
"""What a person reads: tables of 80 columns in which no word is split; in a pipe, a row to a
line.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable

import polars as pl
import pytest

from phalanx import demo
from phalanx.cli import output


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch):
    """Calls what writes to a terminal of 80 columns that knows no colours; gives the lines."""
    for name, value in {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)

    def shown(write: Callable[..., object], *words: object, **said: object) -> list[str]:
        with contextlib.redirect_stdout(Terminal()) as terminal:
            write(*words, **said)
        return terminal.getvalue().splitlines()

    return shown


def split_words(lines: list[str], words: list[str]) -> list[str]:
    """The words that no line holds whole."""
    shown = {word for line in lines for word in line.split()}
    return [word for word in words if word not in shown]


HEADER = ["method", "by box", "at worst", "counterfeits", "suppressed rows", "verified"]
ROWS = [[way, 1406, 1406, "0 0 1 6 12", 170, "holds"] for way in demo.WAYS]
WORDS = [word for row in [HEADER, *ROWS] for cell in row for word in str(cell).split()]


def test_the_table_of_the_demo_fits(on_terminal) -> None:
    """Every row of the demo's table is one line of at most 80 columns; the header alone takes
    two.
    """
    lines = on_terminal(output.show_table, "Persons exposed", HEADER, ROWS, right=(1, 2, 3, 4))
    assert len(lines) == 3 + len(ROWS)
    assert [line.startswith(way) for line, way in zip(lines[3:], demo.WAYS, strict=True)] == [
        True
    ] * len(ROWS)
    assert max(map(len, lines)) <= 80
    assert split_words(lines, WORDS) == []


def test_a_wide_table_breaks_between_words(on_terminal) -> None:
    """Where a row does not fit, cells take several lines, each word whole."""
    header = [*HEADER, "verified from the files alone"]
    rows = [[*row, "holds in every one of the five releases"] for row in ROWS]
    lines = on_terminal(output.show_table, "", header, rows)
    assert max(map(len, lines)) <= 80
    assert split_words(lines, [*WORDS, *" ".join([header[-1], rows[0][-1]]).split()]) == []


def test_split_words_are_seen() -> None:
    """The broken twin: words folded in the middle are found."""
    assert split_words(["counterfei", "ts"], ["counterfeits"]) == ["counterfeits"]


def test_what_is_wider_than_the_terminal_is_folded(on_terminal) -> None:
    """A word that no terminal holds loses no letter."""
    assert "".join(on_terminal(output.show_table, "", ["folder"], [["y" * 200]])).count("y") == 200


def test_in_a_pipe_a_row_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """However wide; whoever greps finds all of it."""
    output.show_table("t", ["a", "b"], [["one two " * 10, "three " * 10]])
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_the_checks_of_a_series(ward, on_terminal) -> None:
    """`verify` on a terminal: a sentence, and what was not checked in one line for each reason,
    with how many releases it is of; on demand a table per release.
    """
    assert ward.publish().code == 0
    assert ward.publish().code == 0
    short = on_terminal(ward.call, "verify", "out/ward-1", "out/ward-2", "--ledger", "ward.db")
    assert " ".join(short[:2]).startswith(
        "Everything that was checked holds. 14 checks of 2 releases, 2 parts not checked; --details"
        " shows them."
    )
    assert len(short) < 12 and not any(line.startswith("Release") for line in short)
    lines = on_terminal(
        ward.call, "verify", "out/ward-1", "out/ward-2", "--ledger", "ward.db", "--details"
    )
    assert [line for line in lines if line.startswith("Release")] == ["Release 1", "Release 2"]
    assert max(map(len, lines)) <= 80
    unlooked = [line for line in lines if line.startswith("not checked")]
    assert unlooked == ["not checked in 2 of 2 releases: no microdata with persons was given "]
    assert "(m-invariance: candidate sets by box)" in lines
    assert not any(line.startswith("m-invariance: candidate sets by box") for line in lines)
    assert " ".join(lines[:2]).startswith("Everything that was checked holds. ")


def test_values_are_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A column called [bold] is shown as it is called."""
    output.show_table("[red]t", ["[bold]", "b"], [["[/x]", "[link=x]y"]])
    shown = capsys.readouterr().out
    assert [word for word in ("[red]t", "[bold]", "[/x]", "[link=x]y") if word not in shown] == []


def test_arrow_takes_no_more_memory_than_it_needs():
    """Its own pool would reserve a gigabyte, which counts where the memory of a process has a
    limit; a user who names another pool gets it.
    """
    code = (
        "import sys, contextlib, phalanx.cli\n"
        "sys.argv = ['phalanx', 'verify', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):\n"
        "    phalanx.cli.main()\n"
        "import pyarrow\n"
        "print(pyarrow.default_memory_pool().backend_name)"
    )
    for named, expected in ((None, "system"), ("mimalloc", "mimalloc")):
        rest = {k: v for k, v in os.environ.items() if k != "ARROW_DEFAULT_MEMORY_POOL"}
        given = rest if named is None else rest | {"ARROW_DEFAULT_MEMORY_POOL": named}
        run = subprocess.run(
            [sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True
        )
        assert run.stdout.split()[-1] == expected


@pytest.mark.parametrize("quiet", [False, True])
def test_what_is_done_is_counted_on_a_terminal(monkeypatch: pytest.MonkeyPatch, quiet) -> None:
    """How many of how many, on standard error; nothing where quiet is asked for."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with output.watching("tables", quiet=quiet) as progress:
        progress("tables", 3, 7)
    assert ("tables" in terminal.getvalue() and "3/7" in terminal.getvalue()) is not quiet


@pytest.mark.parametrize("quiet", [False, True])
def test_what_is_looked_at_is_named_on_a_terminal(monkeypatch: pytest.MonkeyPatch, quiet) -> None:
    """First one thing and then another, each counted from its own beginning."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with output.watching("read", quiet=quiet) as progress:
        progress("files", 5, 5)
        progress("persons", 3, None)
    shown = terminal.getvalue()
    assert ("persons" in shown and "3/?" in shown) is not quiet


def test_the_parts_of_the_next_release_are_counted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of the same once more: the bar is not taken for one that has come to its end."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with output.watching("read", quiet=False) as progress:
        for step in (("parts", 5, 5), ("parts", 0, 5), ("parts", 1, 5)):
            progress(*step)
    *_, last = re.findall(r"1/5.*", terminal.getvalue())
    assert "-:--:--" in last


def test_a_step_that_counts_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a line below the steps, which the next step that counts nothing takes away."""
    monkeypatch.setenv("COLUMNS", "80")
    for further, counted in ((False, True), (True, False)):
        monkeypatch.setattr("sys.stderr", terminal := Terminal())
        with output.steps(["read", "group", "check"], quiet=False) as progress:
            progress("read", 0, None)
            progress("group", 3, 7)
            if further:
                progress("check", 0, None)
        _, _, last = terminal.getvalue().rpartition("check" if further else "group")
        assert ("2/3" if further else "1/3") in last
        assert (re.search(r"rows .*3/7", last) is not None) is counted


HOSTILE = "flu\x1b[2J\rholds\nholds \x9b2J \u202etxt\udcff"
SHOWN = r"flu\x1b[2J\rholds\nholds \x9b2J \u202etxt\udcff"


@pytest.mark.parametrize(
    "write",
    [
        lambda: output.show_table(HOSTILE, [HOSTILE], [[HOSTILE], [HOSTILE]]),
        lambda: output.show_text(HOSTILE),
        lambda: output.show_line(HOSTILE),
        lambda: output.complain(HOSTILE, as_json=False),
    ],
    ids=["table", "text", "line", "complaint"],
)
def test_a_terminal_obeys_no_value(write, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and values of a release that a stranger made clear no terminal, and add no line that
    looks like ours.
    """
    write()
    written = "".join(capsys.readouterr())
    assert written.count(SHOWN) == written.count("flu") == len(written.splitlines())
    assert written.replace("\n", "").isprintable()


def test_a_terminal_obeys_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    """It says the same to who reads it as JSON."""
    output.show_json({HOSTILE: "käse"})
    output.complain(HOSTILE, as_json=True)
    written = capsys.readouterr().out
    assert written.replace("\n", "").isprintable()
    first, brace, second = written.rpartition("{")
    assert (json.loads(first), json.loads(brace + second)) == (
        {HOSTILE: "käse"},
        {"error": HOSTILE},
    )
    assert "käse" in written


def test_a_line_is_not_wrapped(on_terminal) -> None:
    """A path that is longer than the terminal is wide can be copied."""
    path = "/".join(["folder"] * 40)
    assert on_terminal(output.show_line, f"hand out:  {path}") == [f"hand out:  {path}"]


@pytest.mark.parametrize(("stream", "as_json"), [("stderr", False), ("stdout", True)])
def test_a_complaint_has_no_place_where_its_stream_is_closed(monkeypatch, stream, as_json):
    """The exit code stays that of what is wrong, and is none of a check that does not hold."""
    monkeypatch.setattr(sys, stream, None)
    output.complain("there is no plan.", as_json=as_json)


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_command_runs_without_a_standard_stream(closed, tmp_path):
    """Its exit code is that of what is wrong, and no file gets the number of the stream."""
    code = (
        "import os, sys; from phalanx import cli; from phalanx.cli import output;"
        " sys.argv[1:] = ['publish', 'none.toml']; leave = sys.exit;"
        " sys.exit = lambda code: leave(code if open('file', 'w').fileno() > 2 else 1); cli.main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        preexec_fn=lambda: os.close(closed),
        check=False,
    )
    assert run.returncode == 2


def test_output_without_a_reader_is_no_verdict():
    """As in a pipe whose end has left: typer makes 1 of it, with which a check says that something
    does not hold.
    """
    reads, writes = os.pipe()
    os.close(reads)
    script = "from phalanx.cli import main; main()"
    with os.fdopen(writes, "wb") as pipe:
        run = subprocess.run(
            [sys.executable, "-c", script, "--help"],
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (run.returncode, run.stderr) == (141, b"")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_an_encoding_lacks(ward, encoding: str) -> None:
    """As of a pipe on another system: escapes, and JSON is JSON."""
    table = {"Łódź": range(40), "ä": [f"ł{i % 4}" for i in range(40)], "ill": [*"abcd"] * 10}
    pl.DataFrame(table).write_csv(ward.path / "ł.csv")

    def said(*words: str) -> tuple[int, str]:
        run = subprocess.run(
            [sys.executable, "-m", "phalanx", *words],
            cwd=ward.path,
            env=os.environ | {"PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        return run.returncode, (run.stdout + run.stderr).decode(encoding)

    code, text = said("init", "ł.csv", "--to", "1.toml", "--name", "l")
    assert (code, "\\u0141\\xf3d\\u017a" in text or "\\u0141ód\\u017a" in text) == (0, True)
    code, text = said("init", "ł.csv", "--to", "2.toml", "--name", "l", "--json")
    assert (code, json.loads(text)["columns"][0]["name"]) == (0, "Łódź")
    assert said("check", "ł.toml") == (
        2, "phalanx: there is no plan '\\u0142.toml' that can be read; did you mean '2.toml'?\n"
    )  # fmt: skip
