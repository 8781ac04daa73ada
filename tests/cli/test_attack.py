"""`phalanx attack --adversary history`: what it asks for, what it prints, and the keys that the documentation promises."""

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "attack.md"
RELEASES = ("out/ward-1", "out/ward-2")
HISTORY = ("attack", *RELEASES, "--adversary", "history", "--ledger", "ward.db")


@pytest.fixture
def twice(ward):
    """Two releases of one table by Mondrian, which looks at each by itself."""
    ward.plan(method='name = "mondrian"\nk = 4\nl = 2')
    for _ in RELEASES:
        assert ward.publish("--quiet").code == 0
    return ward


def test_the_keys_are_those_of_the_page(twice) -> None:
    """The keys of every attack, and those that the page lists for this one; two releases link persons more than one alone."""
    cells = re.findall(r"^\| `([a-z]+)` \|", PAGE.read_text(encoding="utf-8").split("## `--json`", 1)[1], flags=re.MULTILINE)
    both, one = (json.loads(twice.call("attack", *releases, *HISTORY[3:], "--json").out) for releases in (RELEASES, RELEASES[:1]))
    assert list(both) == cells
    assert (both["persons"], both["bound"], both["success"]) == (40, "1/2", None)
    assert both["above"] > one["above"] == 0


def test_bound_and_values(twice) -> None:
    """A higher bound leaves fewer above, 1 nobody; fewer values link to fewer."""
    above = {bound: json.loads(twice.call(*HISTORY, "--bound", bound, "--json").out)["above"] for bound in ("0", "1/2", "0.7", "1")}
    assert above["0"] == 40 >= above["1/2"] >= above["0.7"] >= above["1"] == 0
    some = json.loads(twice.call(*HISTORY, "--value", "a", "--value", "b", "--json").out)
    assert max(map(int, some["candidates"])) <= 2
    assert "looked for 2 value(s)" in some["note"]


def test_it_is_said_in_words(twice) -> None:
    """Persons above the bound, and how many are linked with how much."""
    said = twice.call(*HISTORY)
    assert said.code == 0
    for words in ("history knows in which group", "linked with more than 1/2", "linked with up to", "values that come and go"):
        assert words in said.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("attack", *RELEASES, "--adversary", "history"), "name it with --ledger"),
        ((*HISTORY, "--bound", "2"), "the bound must be at least 0 and at most 1"),
        ((*HISTORY, "--value", "aa"), "no release shows the value 'aa'"),
        (("attack", *RELEASES), "name one for each release with --original, and --identifier"),
        (("attack", *RELEASES, "--original", "t.csv"), "name one for each release with --original, and --identifier"),
        (("attack", "out/ward-1", "--original", "t.csv", "--identifier", "who", "--bound", "1/2"), "are about the history adversary"),
        (("attack", *RELEASES, "--adversary", "histroy"), "did you mean 'history'?"),
    ],
    ids=str,
)
def test_wrong_questions(twice, words, sentence) -> None:
    """One sentence each."""
    said = twice.call(*words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert said.err.count("\n") == 1
