"""`phalanx attack --adversary`: what each asks for, what it prints, and the keys that the documentation promises."""

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "attack.md"
RELEASES = ("out/ward-1", "out/ward-2")
POSTERIOR = ("attack", "out/ward-1", "--original", "t.csv", "--adversary", "posterior")
MEMBERSHIP = (*POSTERIOR[:-1], "membership")
HISTORY = ("attack", *RELEASES, "--adversary", "history", "--ledger", "ward.db")


def keys(heading):
    """The keys in the table under a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(heading, 1)[1].split("\n## ")[0]
    return re.findall(r"^\| `([a-z_]+)` \|", section, flags=re.MULTILINE)


@pytest.fixture
def twice(ward):
    """Two releases of one table by Mondrian, which looks at each by itself."""
    ward.plan(method='name = "mondrian"\nk = 4\nl = 2')
    for _ in RELEASES:
        assert ward.publish("--quiet").code == 0
    return ward


def test_the_keys_are_those_of_the_page(twice) -> None:
    """The keys of every attack, and those that the page lists for this one; two releases link persons more than one alone."""
    cells = keys("## `--json`\n") + keys("## `--json` of the history adversary\n")
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
        (
            ("attack", "out/ward-1", "--original", "t.csv", "--identifier", "who", "--bound", "1/2"),
            "--bound is about the history and the posterior adversaries",
        ),
        (("attack", "out/ward-1", "--original", "t.csv", "--identifier", "who", "--value", "a"), "--value is about the history adversary"),
        ((*POSTERIOR, "--value", "a"), "--value is about the history adversary"),
        ((*POSTERIOR, "--bound", "2"), "the bound must be at least 0 and at most 1"),
        (("attack", "out/ward-1", "--adversary", "posterior"), "posterior knows the original table; name it with --original"),
        (
            ("attack", *RELEASES, "--original", "t.csv", "--adversary", "posterior-learning"),
            "posterior-learning looks at one release at a time, and 2 are given; name one of them",
        ),
        ((*POSTERIOR, "--ledger", "ward.db"), "needs its identifier column"),
        ((*MEMBERSHIP, "--bound", "1/2"), "--bound is about the history and the posterior adversaries"),
        (MEMBERSHIP, "ranks the tuples that a sliced release leaves open, and this one is generalized"),
        (("attack", *RELEASES, *MEMBERSHIP[2:]), "membership looks at one release at a time"),
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


METHODS = {
    "generalized": 'name = "mondrian"\nk = 4\nl = 2',
    "sliced": 'name = "slicing"\ncolumns = 2\nsensitive_column_size = 1\nl = 2',
}


@pytest.mark.parametrize("form", METHODS)
def test_the_posterior_of_one_release(ward, form) -> None:
    """Its keys are those of the page; it needs no identifier, and the law keeps the promise of 1/l, which learning may pass."""
    ward.plan(method=METHODS[form])
    assert ward.publish("--quiet").code == 0
    by_law, by_learning = (json.loads(ward.call(*POSTERIOR[:-1], name, "--bound", "1/2", "--json").out) for name in ("posterior", "posterior-learning"))
    assert list(by_law) == list(by_learning) == keys("## `--json`\n") + keys("## `--json` of the posterior adversaries\n")
    assert (by_law["adversary"], by_law["persons"], by_law["bound"], by_law["above"]) == ("posterior", 40, "1/2", 0)
    assert by_law["largest"] <= 0.5
    assert (by_learning["adversary"], by_learning["candidates"]) == ("posterior-learning", by_law["candidates"])


def test_the_posterior_in_words(ward) -> None:
    """How often it is right with its interval, who is above the bound, and what it knows; with the ledger it says the same."""
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    said = ward.call(*POSTERIOR)
    assert said.code == 0
    for words in ("posterior knows everybody's quasi-identifier values", "95 % interval", "a value above 1/2", "nobody", "values possible"):
        assert words in said.out
    assert ward.call(*POSTERIOR, "--ledger", "ward.db", "--identifier", "who").out == said.out


def test_the_posterior_of_another_table(ward) -> None:
    """An original table that nobody of is in the release is refused in one sentence."""
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    (ward.path / "other.csv").write_text("who,age,zip,ill\nq,90,99999,a\nr,91,99998,b\n", encoding="utf-8")
    said = ward.call("attack", "out/ward-1", "--original", "other.csv", "--adversary", "posterior")
    assert (said.code, said.out) == (2, "")
    assert "nobody of the original table is in the release; check that it is the table that was published" in said.err


def test_who_is_in_a_sliced_release(ward) -> None:
    """Its keys are those of the page; in words, both areas, fake tuples, and the bins of matching buckets that the paper has."""
    ward.plan(method=METHODS["sliced"])
    assert ward.publish("--quiet").code == 0
    found = json.loads(ward.call(*MEMBERSHIP, "--json").out)
    assert list(found) == keys("## `--json`\n") + keys("## `--json` of the membership adversary\n")
    assert found["persons"] == sum(found["candidates"].values()) > 0
    assert found["fakes"] == sum(found["fake_candidates"].values())
    said = ward.call(*MEMBERSHIP)
    assert said.code == 0
    for words in ("membership knows", "the number of matching buckets", "the matching degree", "fake tuples", "more than 20"):
        assert words in said.out
