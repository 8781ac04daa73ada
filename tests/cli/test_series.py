# SPDX-License-Identifier: Apache-2.0
"""The whole way on the command line: init, publish, publish, verify, attack, series; on the tables
of the m-invariance paper; in either kind of ledger.
"""

import json
from itertools import product
from pathlib import Path

import pytest

from phalanx import cli
from phalanx.ledger import Ledger
from support import postgresql_server

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
T2 = (
    "".join(line + "\n" for line in T1.splitlines() if line.startswith(("patient", *STAY)))
    + "Emily,25,21000,flu\nMary,46,30000,gastritis\nRay,54,31000,dyspepsia\nTom,60,44000,gastritis\nVince,65,36000,flu\n"
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
    """init, publish and publish again leave two releases side by side, their reports, and a ledger
    that knows both.
    """
    assert sorted(p.name for p in Path("releases").iterdir()) == [
        "clinic-1",
        "clinic-2",
        "reports",
    ]
    assert sorted(p.name for p in Path("releases/reports").iterdir()) == [
        "clinic-1.html",
        "clinic-2.html",
    ]
    listed = json.loads(clinic("series", "list", "--ledger", "clinic.db", "--json").out)
    assert [(s["name"], s["releases"]) for s in listed["series"]] == [("clinic", 2)]
    shown = json.loads(clinic("series", "show", "clinic", "--ledger", "clinic.db", "--json").out)
    assert [(r["number"], r["rows"] - r["counterfeits"]) for r in shown["releases"]] == [
        (1, 11),
        (2, 11),
    ]
    text = clinic("series", "show", "clinic", "--ledger", "clinic.db").out
    assert [line.split() for line in text.splitlines() if "clinic-" in line] == [
        [*map(str, (r["number"], r["day"], r["rows"], r["groups"], r["counterfeits"], 0)), r["digest"][:12], f"clinic-{r['number']}"]
        for r in shown["releases"]
    ]  # fmt: skip


def test_verify_takes_everything_into_account(clinic) -> None:
    """With ledger and originals nothing is left unchecked, and everything holds."""
    said = clinic(
        "verify",
        "releases/clinic-1",
        "releases/clinic-2",
        "--ledger",
        "clinic.db",
        *ORIGINALS,
        "--json",
    )
    found = json.loads(said.out)
    assert said.code == 0
    assert found["holds"]
    assert not [c for c in found["checks"] if "not checked" in c["note"]]


def test_originals_go_with_the_releases_as_named(clinic) -> None:
    """Releases named backwards take their originals backwards, and give the same; swapped tables do
    not.
    """
    backwards = (
        "--original",
        "t2.csv",
        "--original",
        "t1.csv",
        "--identifier",
        "patient",
        "--ledger",
        "clinic.db",
    )
    assert clinic("verify", "releases/clinic-2", "releases/clinic-1", *backwards).code == 0
    attacked = clinic(
        "attack", "intersection", "releases/clinic-2", "releases/clinic-1", *backwards, "--json"
    )
    assert (
        attacked.out
        == clinic(
            "attack",
            "intersection",
            "releases/clinic-1",
            "releases/clinic-2",
            *ORIGINALS,
            "--ledger",
            "clinic.db",
            "--json",
        ).out
    )
    swapped = clinic(
        "attack", "intersection", "releases/clinic-1", "releases/clinic-2", *backwards, "--json"
    )
    assert swapped.code == 2
    assert "the original table given for release 1 lacks 5 of its 11 persons" in swapped.out


@pytest.mark.parametrize("adversary", ["intersection", "intersection-by-person"])
def test_nobody_is_exposed(clinic, adversary: str) -> None:
    """The intersection adversary learns nothing certain, in either view."""
    said = clinic(
        "attack",
        adversary,
        "releases/clinic-1",
        "releases/clinic-2",
        *ORIGINALS,
        "--ledger",
        "clinic.db",
        "--json",
    )
    found = json.loads(said.out)
    assert (said.code, found["adversary"], found["persons"], found["exposed"]) == (
        0,
        adversary,
        16,
        0,
    )


def test_what_does_not_hold_is_exit_code_1(clinic) -> None:
    """A promise that is not kept, a seeded release: exit code 1, and the check that fails is
    named.
    """
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
        (
            clinic("verify", "releases/clinic-1", "--details"),
            ["Release 1", "m-uniqueness", "holds", "not checked"],
        ),
        (
            clinic(
                "attack",
                "intersection",
                "releases/clinic-1",
                *ORIGINALS[:2],
                "--identifier",
                "patient",
            ),
            ["exposed", "candidates left"],
        ),
        (
            clinic("series", "show", "clinic", "--ledger", "clinic.db"),
            ["promises: m-invariance", "clinic-2"],
        ),
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
    """Where those who were published are not among the originals, that is said, not a share of
    nobody.
    """
    Path("t3.csv").write_text(T1.replace("\n", "\nX").removesuffix("X"))
    said = clinic(
        "attack",
        "intersection",
        "releases/clinic-1",
        "--original",
        "t3.csv",
        "--identifier",
        "patient",
        "--ledger",
        "clinic.db",
    )
    assert (said.code, said.out) == (2, "")
    assert "the original table given for release 1 lacks 11 of its 11 persons" in said.err


def test_a_fault_of_ours_quotes_nobody(clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw names its place and not its message, which may hold values of
    persons.
    """

    def broken(*_: object, **__: object) -> None:
        raise KeyError("Bob")

    monkeypatch.setattr("phalanx.series.series.read_table", broken)
    said = clinic("publish", "plan.toml")
    assert said.code == 70
    assert "KeyError in test_series.py" in said.err
    assert "Bob" not in said.err
    assert cli.main  # the same door as in pyproject.toml


@pytest.fixture
def ledger_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes the URL of a ledger that does not exist yet, in a kind of database."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def make(kind: str, name: str) -> str:
        if kind == "postgresql" and (why := postgresql_server.missing()):
            pytest.skip(why)
        return (
            f"sqlite:///{tmp_path}/{name}.db"
            if kind == "sqlite"
            else postgresql_server.fresh_schema()
        )

    return make


@pytest.fixture
def steward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call):
    """The tables of the paper and the plan that init wrote; publishes one of them into a ledger."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t1.csv").write_text(T1)
    (tmp_path / "t2.csv").write_text(T2)
    assert call("init", "t1.csv", "--name", "clinic").code == 0
    plan = (tmp_path / "plan.toml").read_text()

    def publish(table: str, ledger: str):
        (tmp_path / "plan.toml").write_text(f'{plan}\n[ledger]\nurl = "{ledger}"\n')
        return call("publish", "plan.toml", "--source", table, "--json")

    return publish


def check_two_releases(call, ledger: str) -> None:
    """Everything holds, with nothing left unchecked; the ledger knows both releases, and each of
    the 16 persons once, under one signature.
    """
    said = call(
        "verify", "releases/clinic-1", "releases/clinic-2", "--ledger", ledger, *ORIGINALS, "--json"
    )
    found = json.loads(said.out)
    assert (said.code, found["holds"]) == (0, True), said
    assert not [c for c in found["checks"] if "not checked" in c["note"]]
    shown = json.loads(call("series", "show", "clinic", "--ledger", ledger, "--json").out)
    assert [(r["number"], r["rows"] - r["counterfeits"]) for r in shown["releases"]] == [
        (1, 11),
        (2, 11),
    ]
    with Ledger.open(ledger, create=False) as opened:
        persons = opened.remembered("clinic")["persons"]
        groups = [opened.groups("clinic", number) for number in (1, 2)]
    assert persons["person"].n_unique() == persons.height == 16
    assert groups[0].join(groups[1], on="person").height == len(STAY)


def test_a_ledger_in_postgresql(steward, ledger_of, call) -> None:
    """A plan whose ledger is in PostgreSQL publishes two releases, which verify; list and show know
    them; nothing is written beside the plan but the releases.
    """
    ledger = ledger_of("postgresql", "clinic")
    for number, table in enumerate(("t1.csv", "t2.csv"), start=1):
        said = steward(table, ledger)
        assert (said.code, json.loads(said.out)["number"]) == (0, number)
    check_two_releases(call, ledger)
    listed = call("series", "list", "--ledger", ledger)
    assert (listed.code, "clinic" in listed.out) == (0, True)
    assert sorted(p.name for p in Path.cwd().iterdir()) == [
        "config",
        "plan.toml",
        "releases",
        "t1.csv",
        "t2.csv",
    ]


def test_a_password_is_not_shown(steward, ledger_of, tmp_path: Path) -> None:
    """The password of a ledger that cannot be reached is in no word of the program, and nothing is
    left.
    """
    ledger_of("sqlite", "unused")
    said = steward("t1.csv", "postgresql://ann:hunter2@127.0.0.1:1/clinic")
    assert said.code == 2
    assert "the ledger postgresql://127.0.0.1:1/clinic cannot be reached" in said.out
    assert "hunter2" not in said.out + said.err
    assert not list((tmp_path / "releases").glob("*"))


@pytest.mark.parametrize(("source", "target"), [*product(("sqlite", "postgresql"), repeat=2)])
def test_a_moved_series_remembers_its_persons(
    steward, ledger_of, call, source: str, target: str
) -> None:
    """After export and import the next release gives everybody who stayed the signature that they
    had, and both releases verify with the new ledger.
    """
    old, new = ledger_of(source, "old"), ledger_of(target, "new")
    assert steward("t1.csv", old).code == 0
    said = call("series", "export", "clinic", "--ledger", old, "--to", "clinic.series", "--json")
    here = str(Path.cwd() / "releases" / "clinic-1")
    expected = {
        "series": "clinic",
        "releases": 1,
        "folders": [here],
        "file": "clinic.series",
        "key": "clinic.series.key",
        "copy": False,
        "reconcile": False,
    }
    assert (said.code, json.loads(said.out)) == (0, expected)
    said = call("series", "import", "clinic.series", "--ledger", new, "--json")
    assert (said.code, json.loads(said.out)) == (0, expected)

    refused = steward("t2.csv", old)
    assert (refused.code, list(json.loads(refused.out))) == (2, ["error"])
    assert "was moved to another ledger" in refused.out
    assert sorted(p.name for p in Path("releases").iterdir()) == ["clinic-1", "reports"]
    assert steward("t2.csv", new).code == 0
    check_two_releases(call, new)
    assert call("verify", "releases/clinic-1", "--ledger", old).code == 0


def test_a_move_as_text(clinic) -> None:
    """What to do with file and key, what a move and a copy mean, and what is missing, is said on
    the way.
    """
    copied = clinic("series", "export", "clinic", "--ledger", "clinic.db", "--to", "copy", "--copy")
    moved = clinic("series", "export", "clinic", "--ledger", "clinic.db", "--to", "moved")
    taken = clinic("series", "import", "copy", "--ledger", "second.db")
    Path("elsewhere").mkdir()
    Path("moved.key").rename("elsewhere/key")
    mapped = clinic(
        "series",
        "import",
        "moved",
        "--ledger",
        "third.db",
        "--key",
        "elsewhere/key",
        "--folder",
        "elsewhere",
    )
    for said, words in (
        (copied, ["2 release(s)", "copy.key", "by different ways", "the series goes on here"]),
        (moved, ["moved.key", "refuses to publish it from now on"]),
        (
            taken,
            [
                "Series clinic (2 release(s)) is in this ledger.",
                "It came from a copy",
                "run 'phalanx series reconcile clinic' with this ledger",
                "Now remove copy and copy.key.",
            ],
        ),
        (
            mapped,
            [
                "goes on here with its next publish",
                f"missing: {Path.cwd() / 'elsewhere' / 'clinic-2'}",
            ],
        ),
        (
            clinic("series", "show", "clinic", "--ledger", "clinic.db"),
            ["moved to another ledger on"],
        ),
        (clinic("series", "list", "--ledger", "clinic.db"), ["moved away"]),
    ):
        assert said.code == 0, said
        assert not [word for word in words if word not in said.out]
    assert "missing" not in taken.out and "next publish" not in taken.out
    assert "reconcile" not in mapped.out
    assert "moved" not in clinic("series", "list", "--ledger", "second.db").out


def test_a_wrong_import_makes_no_ledger(clinic) -> None:
    """A file that cannot be opened, for whatever reason, leaves no new ledger and no key behind,
    and exit code 2.
    """
    assert clinic("series", "export", "clinic", "--ledger", "clinic.db", "--to", "moved").code == 0
    Path("wrong.key").touch(0o600)
    Path("wrong.key").write_text("0" * 64)
    Path("cut").write_bytes(Path("moved").read_bytes()[:99])
    before = sorted(Path.cwd().iterdir())
    for words in (
        ["none"],
        ["t1.csv"],
        ["moved", "--key", "wrong.key"],
        ["moved", "--key", "none"],
        ["cut", "--key", "moved.key"],
    ):
        said = clinic("series", "import", *words, "--ledger", "new.db")
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1), said
        assert sorted(Path.cwd().iterdir()) == before
    said = clinic("series", "export", "clinc", "--ledger", "clinic.db", "--to", "other")
    assert (said.code, "knows no series 'clinc'" in said.err) == (2, True)
    assert sorted(Path.cwd().iterdir()) == before


def test_what_a_private_series_has_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call
) -> None:
    """`series show` says of each release what it and those before it cost, and not how many rows
    were left out; other series have no such figure.
    """
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(
        "who,sex,ill\n"
        + "".join(f"p{i},{'fm'[i % 2]},{'flu' if i % 3 else 'gout'}\n" for i in range(400))
    )
    plan = (
        '[series]\nname = "{}"\n[source]\npath = "t.csv"\n[schema]\nidentifier = "who"\nquasi ='
        ' ["sex"]\nsensitive = "ill"\n[method]\nname = {}\n[publish]\nto = "out"\n'
    )
    private = (
        '"safe-sampling"\nepsilon = 1\ndelta = 1e-6\nexpected_rows = 600\naccounting ='
        ' "theorem"\nbudget = { epsilon = 2, delta = 2e-6 }'
    )
    Path("private.toml").write_text(plan.format("private", private))
    Path("other.toml").write_text(plan.format("other", '"mondrian"\nk = 5'))
    for name in ("private", "private", "other"):
        said = call("publish", f"{name}.toml")
        assert said.code == 0, said.err
    found = json.loads(call("series", "show", "private", "--ledger", "private.db", "--json").out)
    assert [release["spent"]["releases"] for release in found["releases"]] == [1, 2]
    assert [release["spent"]["epsilon"] for release in found["releases"]] == pytest.approx(
        [1, 2], rel=1e-5
    )
    assert [release["spent"]["delta"] for release in found["releases"]] == pytest.approx(
        [1e-6, 2e-6]
    )
    assert all(release["suppressed_rows"] is None for release in found["releases"])
    lines = [
        line.split()
        for line in call("series", "show", "private", "--ledger", "private.db").out.splitlines()
    ]
    head = "number day rows images epsilon spent delta spent digest folder"
    assert head.split() in lines
    assert [line[4:6] for line in lines if line[:1] == ["2"]] == [["2", "2e-6"]]
    (other,) = json.loads(call("series", "show", "other", "--ledger", "other.db", "--json").out)[
        "releases"
    ]
    assert other["spent"] is None and other["suppressed_rows"] == {}
    assert "spent" not in call("series", "show", "other", "--ledger", "other.db").out
