"""The whole way on the command line: init, publish, publish, verify, attack, series; on the tables of the m-invariance paper."""

import json
from pathlib import Path

import pytest

from phalanx import cli

T1 = """patient,age,zip,disease
Bob,21,12000,dyspepsia
Alice,22,14000,bronchitis
Andy,24,18000,flu
David,23,25000,gastritis
Gary,41,20000,flu
Helen,36,27000,gastritis
Jane,37,33000,dyspepsia
Ken,40,35000,flu
Linda,43,26000,gastritis
Paul,52,33000,dyspepsia
Steve,56,34000,gastritis
"""
STAY = ("Bob", "David", "Gary", "Jane", "Linda", "Steve")
T2 = "".join(line + "\n" for line in T1.splitlines() if line.startswith(("patient", *STAY))) + (
    "Emily,25,21000,flu\nMary,46,30000,gastritis\nRay,54,31000,dyspepsia\nTom,60,44000,gastritis\nVince,65,36000,flu\n"
)


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call):
    """Two releases, published by the plan that init wrote."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t1.csv").write_text(T1)
    (tmp_path / "t2.csv").write_text(T2)
    assert call("init", "t1.csv", "--name", "clinic").code == 0
    assert call("publish", "plan.toml").code == 0
    assert call("publish", "plan.toml", "--source", "t2.csv").code == 0
    return call


ORIGINALS = ("--original", "t1.csv", "--original", "t2.csv", "--identifier", "patient")


def test_two_releases_and_their_ledger(clinic) -> None:
    """init, publish and publish again leave two releases side by side, their reports, and a ledger that knows both."""
    assert sorted(p.name for p in Path("releases").iterdir()) == ["clinic-1", "clinic-1.html", "clinic-2", "clinic-2.html"]
    listed = json.loads(clinic("series", "list", "--ledger", "clinic.db", "--json").out)
    assert [(s["name"], s["releases"]) for s in listed["series"]] == [("clinic", 2)]
    shown = json.loads(clinic("series", "show", "clinic", "--ledger", "clinic.db", "--json").out)
    assert [(r["number"], r["rows"] - r["counterfeits"]) for r in shown["releases"]] == [(1, 11), (2, 11)]


def test_verify_takes_everything_into_account(clinic) -> None:
    """With ledger and originals nothing is left unchecked, and everything holds."""
    said = clinic("verify", "releases/clinic-1", "releases/clinic-2", "--ledger", "clinic.db", *ORIGINALS, "--json")
    found = json.loads(said.out)
    assert said.code == 0
    assert found["holds"]
    assert not [c for c in found["checks"] if "not checked" in c["note"]]


def test_originals_go_with_the_releases_as_named(clinic) -> None:
    """Releases named backwards take their originals backwards, and give the same; swapped tables do not."""
    backwards = ("--original", "t2.csv", "--original", "t1.csv", "--identifier", "patient", "--ledger", "clinic.db")
    assert clinic("verify", "releases/clinic-2", "releases/clinic-1", *backwards).code == 0
    attacked = clinic("attack", "releases/clinic-2", "releases/clinic-1", *backwards, "--json")
    assert attacked.out == clinic("attack", "releases/clinic-1", "releases/clinic-2", *ORIGINALS, "--ledger", "clinic.db", "--json").out
    swapped = clinic("attack", "releases/clinic-1", "releases/clinic-2", *backwards, "--json")
    assert swapped.code == 2
    assert "the original table given for release 1 lacks 5 of its 11 persons" in swapped.out


@pytest.mark.parametrize("adversary", ["intersection", "intersection-by-person"])
def test_nobody_is_exposed(clinic, adversary: str) -> None:
    """The intersection adversary learns nothing certain, in either view."""
    said = clinic("attack", "releases/clinic-1", "releases/clinic-2", *ORIGINALS, "--ledger", "clinic.db", "--adversary", adversary, "--json")
    found = json.loads(said.out)
    assert (said.code, found["adversary"], found["persons"], found["exposed"]) == (0, adversary, 16, 0)


def test_what_does_not_hold_is_exit_code_1(clinic) -> None:
    """A promise that is not kept, a seeded release: exit code 1, and the check that fails is named."""
    said = clinic("verify", "t1.csv", "--quasi", "age,zip", "--sensitive", "disease", "--k", "2")
    assert said.code == 1
    assert "FAILS" in said.out
    assert clinic("publish", "plan.toml", "--source", "t2.csv", "--seed", "1").code == 0
    three = [f"releases/clinic-{i}" for i in (1, 2, 3)]
    assert clinic("verify", *three).code == 1
    assert clinic("verify", *three, "--allow-seeded").code == 0


def test_every_text_form_says_the_same(clinic) -> None:
    """Without --json: the counts, the checks and the ways on, as text."""
    for said, words in (
        (clinic("verify", "releases/clinic-1"), ["Release 1", "m-uniqueness", "holds", "not checked"]),
        (clinic("attack", "releases/clinic-1", *ORIGINALS[:2], "--identifier", "patient"), ["exposed", "candidates left"]),
        (clinic("series", "show", "clinic", "--ledger", "clinic.db"), ["promises: m-invariance", "clinic-2"]),
        (clinic("series", "list", "--ledger", "sqlite:///clinic.db"), ["clinic", "m-invariance"]),
        (clinic("publish", "plan.toml"), ["Release 3 of clinic", "hand out:", "report:"]),
    ):
        assert said.code == 0
        assert not [word for word in words if word not in said.out]


def test_progress_is_for_terminals_and_silence_for_those_who_ask(clinic) -> None:
    """Nothing of the progress is in standard output or in a log."""
    assert clinic("publish", "plan.toml").err == ""
    assert clinic("publish", "plan.toml", "--quiet").err == ""


def test_the_original_of_somebody_else(clinic) -> None:
    """Where those who were published are not among the originals, that is said, not a share of nobody."""
    Path("t3.csv").write_text(T1.replace("\n", "\nX").removesuffix("X"))
    said = clinic("attack", "releases/clinic-1", "--original", "t3.csv", "--identifier", "patient", "--ledger", "clinic.db")
    assert (said.code, said.out) == (2, "")
    assert "the original table given for release 1 lacks 11 of its 11 persons" in said.err


def test_a_fault_of_ours_quotes_nobody(clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw names its place and not its message, which may hold values of persons."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("Bob")

    monkeypatch.setattr("phalanx.data.sources.read_source", broken)
    said = clinic("publish", "plan.toml")
    assert said.code == 70
    assert "KeyError in test_series.py" in said.err
    assert "Bob" not in said.err
    assert cli.main  # the same door as in pyproject.toml
