# SPDX-License-Identifier: Apache-2.0
"""What people get wrong: one clear sentence, exit code not 0, nothing published, nothing changed;
the same sentence as JSON.
"""

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from phalanx import Ledger, Plan
from phalanx.series import staging

ROWS = "".join(f"p{i},{20 + i % 7},{10000 + i * 37 % 9},{'abcd'[i % 4]}\n" for i in range(40))
HEAD = "who,age,zip,ill\n"
SCHEMA = 'identifier = "who"\nquasi = ["age", "zip"]\nsensitive = "ill"'
METHOD = 'name = "m-invariance"\n'


def table(content: str | bytes) -> Callable:
    return lambda ward: ward.table(content)


def plan(**said: str) -> Callable:
    return lambda ward: ward.plan(**said)


def missing(ward) -> None:
    (ward.path / "t.csv").unlink()


def near(ward) -> None:
    ward.plan(path="tt.csv")


def nan_in_parquet(ward) -> None:
    pl.DataFrame(
        {"who": ["a", "b"], "age": [1.0, float("nan")], "zip": [1, 2], "ill": ["x", "y"]}
    ).write_parquet(ward.path / "t.parquet")
    ward.plan(path="t.parquet")


def infinite(ward) -> None:
    pl.DataFrame(
        {"who": ["a", "b"], "age": [1.0, float("inf")], "zip": [1, 2], "ill": ["x", "y"]}
    ).write_parquet(ward.path / "t.parquet")
    ward.plan(path="t.parquet")


def not_parquet(ward) -> None:
    (ward.path / "t.parquet").write_bytes(b"PAR1 but no more")
    ward.plan(path="t.parquet")


def renamed(ward) -> None:
    ward.table((HEAD + ROWS).replace("who", "patient", 1))
    ward.plan(schema=SCHEMA.replace("who", "patient"))


def phone_numbers(ward) -> None:
    ward.table(
        "who,age,phone,ill\n"
        + "".join(f"p{i},{20 + i % 7},{i * 7919},{'abcd'[i % 4]}\n" for i in range(60))
    )
    ward.plan(schema=SCHEMA.replace("zip", "phone"))


WRONG = {
    "a column that nearly names persons": (
        phone_numbers,
        "column 'phone' looks like an identifier (60 distinct values in 60 rows)",
    ),
    "no such file": (missing, "there is no file"),
    "a file of nearly that name": (near, "did you mean 't.csv'?"),
    "the source is a folder": (plan(path="."), "is a folder"),
    "a kind that is not known": (plan(path="plan.toml"), "is not of a known kind"),
    "half a Parquet file": (not_parquet, "is not a whole Parquet file"),
    "an empty file": (table(b""), "is empty"),
    "no rows": (table(HEAD), "has no rows"),
    "one row": (table(HEAD + "px,20,10000,a\n"), "1 of the 1 new rows (100.0%) share one value"),
    "all rows equal, one person": (
        table(HEAD + "px,20,10000,a\n" * 20),
        "19 row(s) repeat a person",
    ),
    "one sensitive value": (
        table(HEAD + "".join(f"x{i},{i},1,a\n" for i in range(20))),
        "20 of the 20 new rows (100.0%) share one value",
    ),
    "a person twice": (
        table(HEAD + ROWS + "p1,20,10000,a\n"),
        "1 row(s) repeat a person in identifier column 'who'",
    ),
    "nobody's row": (
        table(HEAD + ROWS + ",20,10000,a\n"),
        "identifier column 'who' is missing in 1 of 41 rows",
    ),
    "a person named ''": (
        table(HEAD + ROWS + '"",20,10000,a\n'),
        "identifier column 'who' is empty in 1 of 41 rows",
    ),
    "Latin-1": (
        table((HEAD + ROWS).encode() + b"px,20,10000,caf\xe9\n"),
        "line 42 of 't.csv' is not UTF-8",
    ),
    "a short row": (
        table(HEAD + ROWS + "px,20,10000\n"),
        "line 42 of 't.csv' has 3 field(s) where the header has 4",
    ),
    "a long row": (
        table(HEAD + ROWS + "px,20,10000,a,b\n"),
        "line 42 of 't.csv' has 5 field(s) where the header has 4",
    ),
    "a quote that stays open": (table(HEAD + ROWS + 'px,20,10000,"a\n'), "t.csv'"),
    "a missing age": (
        table(HEAD + ROWS + "px,,10000,a\n"),
        "column 'age' is missing in 1 of 41 rows",
    ),
    "an age NaN": (
        table(HEAD + ROWS + "px,NaN,10000,a\n"),
        "column 'age' is missing in 1 of 41 rows",
    ),
    "an age NaN in Parquet": (nan_in_parquet, "column 'age' is missing in 1 of 2 rows"),
    "an infinite age": (infinite, "column 'age' is infinite in some rows"),
    "a missing illness": (
        table(HEAD + ROWS + "px,20,10000,\n"),
        "column 'ill' is missing in 1 of 41 rows",
    ),
    "a column misnamed": (
        plan(schema=SCHEMA.replace('"age"', '"agee"') + '\ndrop = ["age"]'),
        "the quasi column 'agee' is not in the table; did you mean 'age'?",
    ),
    "a column without a role": (
        plan(schema=SCHEMA.replace(', "zip"', "")),
        "column(s) 'zip' have no role",
    ),
    "a column with two roles": (plan(schema=SCHEMA + '\ndrop = ["zip"]'), "both quasi and drop"),
    "no identifier": (
        plan(schema=SCHEMA.replace('identifier = "who"', 'drop = ["who"]')),
        "no identifier is declared",
    ),
    "m of 1": (plan(method=METHOD + "m = 1"), "at least 2"),
    "m in words": (plan(method=METHOD + 'm = "two"'), "must be a whole number"),
    "m with a fraction": (plan(method=METHOD + "m = 2.5"), "must be a whole number"),
    "no parameter at all": (
        plan(method='name = "mondrian"'),
        "[method] mondrian is asked for nothing",
    ),
    "parameters that ask for nothing": (
        plan(method='name = "mondrian"\nk = 1\nl = 1.0\nt = 1'),
        "[method] mondrian is asked for nothing",
    ),
    "no m": (plan(method=METHOD), "needs the key 'm'"),
    "a parameter misspelt": (
        plan(method=METHOD + "m = 2\nremembr = true"),
        "did you mean 'remember'?",
    ),
    "a method misspelt": (
        plan(method='name = "m-invarianc"\nm = 2'),
        "did you mean 'm-invariance'?",
    ),
    "a key misspelt": (plan(more='formts = ["csv"]'), "did you mean 'formats'?"),
    "a section misspelt": (plan(more='[ledgre]\nurl = "sqlite:///x.db"'), "did you mean 'ledger'?"),
    "a number for a path": (plan(more="[ledger]\nurl = 3"), "[ledger] url must be text in quotes"),
    "text for a list": (
        plan(schema=SCHEMA.replace('["age", "zip"]', '"age"')),
        "[schema] quasi must be a list",
    ),
    "no TOML": (plan(more="[["), "is not TOML"),
    "a ledger in no folder": (
        plan(more='[ledger]\nurl = "sqlite:///no/such/x.db"'),
        "cannot be made",
    ),
    "a ledger of a kind unknown": (plan(more='[ledger]\nurl = "mysql:///x.db"'), "[ledger] url"),
    "a ledger that is a table": (
        plan(more='[ledger]\nurl = "sqlite:///t.csv"'),
        "is not a ledger but some other file",
    ),
    "the releases' folder is a file": (plan(to="t.csv"), "cannot be written"),
    "the releases' folder is below a file": (plan(to="t.csv/out"), "cannot be written"),
}


FIRST = {
    "m above the number of values": (plan(method=METHOD + "m = 5"), "lower m to at most 4"),
    "m above everything, suppressed": (
        plan(method=METHOD + 'm = 1000\nnot_eligible = "suppress"'),
        "every row would be suppressed",
    ),
    "k above the number of rows": (plan(method='name = "mondrian"\nk = 1000'), "k"),
}
FIRST["one row, and no m"] = (table(HEAD + "px,20,10000,a\n"), "no m of 2 or more fits")
LATER = {
    "one row, and the m that was promised": (
        table(HEAD + "px,20,10000,a\n"),
        "leave 1 of them out at the source, or begin another series",
    ),
    "another m": (plan(method=METHOD + "m = 5"), "series 'ward' began with another guarantee"),
    "another method": (
        plan(method='name = "mondrian"\nk = 2'),
        "series 'ward' began with another method",
    ),
    "another privacy unit": (
        plan(method=METHOD + 'm = 2\nchanged = "new-record"'),
        "series 'ward' began with another privacy unit (each record under changed",
    ),
    "another identifier": (renamed, "began with another identifier"),
    "another sensitive attribute": (
        plan(schema='identifier = "who"\nquasi = ["age", "ill"]\nsensitive = "zip"'),
        "began with another",
    ),
}
CASES = [
    *(
        pytest.param(*case, before, id=f"{name}, {['first', 'second'][before]}")
        for name, case in WRONG.items()
        for before in (0, 1)
    ),
    *(pytest.param(*case, 0, id=name) for name, case in FIRST.items()),
    *(pytest.param(*case, 1, id=name) for name, case in LATER.items()),
]


@pytest.mark.parametrize(("spoil", "sentence", "before"), CASES)
def test_wrong_input_is_one_sentence_and_changes_nothing(
    ward, spoil: Callable, sentence: str, before: int
) -> None:
    """Exit code 2, the sentence on standard error alone and in JSON alike, every file and folder as
    it was; a ledger that was not there holds nothing.
    """
    for _ in range(before):
        assert ward.publish("--quiet").code == 0
    spoil(ward)
    there = ward.snapshot()

    said = ward.publish()
    as_json = ward.publish("--json")

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("phalanx: ")
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert (as_json.code, as_json.err) == (2, "")
    assert json.loads(as_json.out) == {"error": said.err.removeprefix("phalanx: ").rstrip("\n")}
    unchanged(ward, there, before)


def unchanged(ward, there: dict[str, str], releases: int) -> None:
    """Nothing is new but, where there was no ledger, one without a series, and an empty folder for
    releases.
    """
    now = ward.snapshot()
    allowed = {} if releases else {"ward.db", "ward.db.key", "out"}
    assert {
        name: digest for name, digest in now.items() if there.get(name) != digest
    }.keys() <= set(allowed)
    assert not set(there) - set(now)
    if (ward.path / "ward.db").exists():
        with Ledger.open(f"sqlite:///{ward.path}/ward.db", create=False) as ledger:
            assert [s.releases for s in ledger.series()] == ([releases] if releases else [])


def test_a_change_would_be_seen(ward) -> None:
    """The broken twin: a byte that was changed, a file that is gone and a file that is new are each
    found.
    """
    assert ward.publish("--quiet").code == 0
    there = ward.snapshot()
    for change in (lambda: ward.table(HEAD), (ward.path / "t.csv").unlink, (ward.path / "x").touch):
        change()
        with pytest.raises(AssertionError):
            unchanged(ward, there, 1)
        ward.table(HEAD + ROWS)
        (ward.path / "x").unlink(missing_ok=True)
        unchanged(ward, there, 1)


UNUSUAL = {
    "all rows equal but for the illness": HEAD
    + "".join(f"x{i},20,1,{'ab'[i % 2]}\n" for i in range(20)),
    "-0.0 beside 0.0": HEAD + ROWS + "px,-0.0,10000,a\npy,0.0,10000,b\npz,0,10000,c\n",
    "a byte order mark": "\ufeff" + HEAD + ROWS,
    "Windows line ends": (HEAD + ROWS).replace("\n", "\r\n"),
    "no last line end": (HEAD + ROWS).rstrip("\n"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_input_simply_works(ward, case: str) -> None:
    """What is odd and not wrong is published, and verified from its files."""
    ward.table(UNUSUAL[case])
    assert ward.publish().code == 0
    assert (
        ward.call(
            "verify",
            "out/ward-1",
            "--ledger",
            "ward.db",
            "--original",
            "t.csv",
            "--identifier",
            "who",
        ).code
        == 0
    )


def test_missing_values_as_values(ward) -> None:
    """Where the plan says so, a missing age, NaN and a missing illness are values; the quoted empty
    text is another one.
    """
    ward.plan(schema=SCHEMA + '\nmissing = "value"')
    ward.table(HEAD + ROWS + 'px,,10000,a\npy,NaN,10000,\npz,20,,""\n')
    assert ward.publish().code == 0
    published = pl.read_parquet(ward.path / "out/ward-1/data.parquet")
    assert published["ill"].null_count() == 1
    assert (published["ill"] == "").sum() == 1
    assert (
        ward.call(
            "verify",
            "out/ward-1",
            "--ledger",
            "ward.db",
            "--original",
            "t.csv",
            "--identifier",
            "who",
        ).code
        == 0
    )


AFTERWARDS = {
    "the release removed": (
        lambda p: shutil.rmtree(p / "out/ward-1"),
        "release 1 of 'ward' is not as it was published",
    ),
    "the release moved": (
        lambda p: (p / "out/ward-1").rename(p / "elsewhere"),
        "release 1 of 'ward' is not as it was published",
    ),
    "a file changed": (
        lambda p: (p / "out/ward-1/data.csv").write_text("x"),
        "data.csv was changed after it was published",
    ),
    "all releases removed": (lambda p: shutil.rmtree(p / "out"), "put the published folder back"),
    "the key removed": (
        lambda p: (p / "ward.db.key").unlink(),
        "is missing, and nothing in its ledger can be read without it",
    ),
    "the key of somebody else": (
        lambda p: (p / "ward.db.key").write_text("ab" * 32),
        "does not hold the key",
    ),
    "the key for everybody": (lambda p: (p / "ward.db.key").chmod(0o644), "can be read by others"),
    "the ledger cut short": (lambda p: os.truncate(p / "ward.db", 5000), "ward.db is"),
    "the next folder taken": (
        lambda p: (p / "out/ward-2").mkdir(),
        "exists and is not in the ledger",
    ),
}


@pytest.mark.parametrize("case", AFTERWARDS)
def test_a_past_that_is_not_as_it_was(ward, case: str) -> None:
    """What happened to earlier releases, ledger or key is said, and nothing is published upon
    it.
    """
    spoil, sentence = AFTERWARDS[case]
    assert ward.publish("--quiet").code == 0
    spoil(ward.path)
    there = ward.snapshot()
    said = ward.publish()
    assert said.code == 2
    assert said.err.startswith("phalanx: ")
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert {n for n, d in ward.snapshot().items() if there.get(n) != d} <= {"out"}


LOCK = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_locked_ledger(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program holds the ledger: that is said, and once it lets go, the release is
    published.
    """
    monkeypatch.setattr("phalanx.ledger.sqlite.busy_milliseconds", 50)
    assert ward.publish("--quiet").code == 0
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, "ward.db"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "locked\n"
        said = ward.publish()
        other.stdin.close()
    assert said.code == 2
    assert "is locked by another publisher; try again" in said.err
    assert sorted(p.name for p in (ward.path / "out").iterdir()) == ["reports", "ward-1"]
    assert ward.publish("--quiet").code == 0


@pytest.mark.parametrize("failing", ["fsync", "write"])
def test_a_full_disk(ward, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """No room for the files: one sentence, nothing published, and with room again the same release
    is.
    """
    assert ward.publish("--quiet").code == 0
    there = ward.snapshot()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(
            *((os, "fsync", full) if failing == "fsync" else (pl.DataFrame, "write_parquet", full))
        )
        said = ward.publish()
    assert said.code == 2
    assert "no space left on device" in said.err
    assert "nothing was published" in said.err
    assert ward.snapshot() == there
    assert ward.publish("--quiet").code == 0


def test_a_file_size_limit(ward) -> None:
    """A real limit of the operating system, in a process of its own."""
    assert ward.publish("--quiet").code == 0
    ward.table(
        HEAD
        + "".join(
            f"x{i},{i % 90},{10000 + i * 37 % 9000},{'abcdef'[i % 6]}\n" for i in range(30000)
        )
    )
    there = ward.snapshot()

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [sys.executable, "-c", "from phalanx.cli import main; main()", "publish", "plan.toml"]
    run = subprocess.run(
        command,
        cwd=ward.path,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 2, run.stderr
    assert run.stderr.startswith("phalanx: ")
    assert "nothing was published" in run.stderr
    assert ward.snapshot() == there


def test_a_folder_that_may_not_be_written(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only folder, as the operating system tells of it (whoever is root may write
    anywhere).
    """
    make = Path.mkdir

    def refused(path: Path, *said: object, **named: object) -> None:
        if path.name == "out" or path.parent.name == "out":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        make(path, *said, **named)  # type: ignore[arg-type]

    there = ward.snapshot()
    monkeypatch.setattr(Path, "mkdir", refused)
    said = ward.publish()
    assert said.code == 2
    assert "cannot be written (permission denied); nothing was published" in said.err
    unchanged(ward, there, 0)


def test_the_plans_folder_removed(ward) -> None:
    """A plan that is gone, with all around it."""
    (ward.path / "sub").mkdir()
    said = ward.call("publish", "sub/plan.toml")
    assert (said.code, said.out) == (2, "")
    assert "there is no plan 'sub/plan.toml'" in said.err
    assert "there is no plan 'none/plan.toml'" in ward.call("publish", "none/plan.toml").err


def test_interrupted_by_the_keyboard(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the files are written: exit code 130, a sentence, nothing published."""
    assert ward.publish("--quiet").code == 0
    there = ward.snapshot()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("phalanx.series.drafting.write_folder", interrupted)
        said = ward.publish()
        as_json = ward.publish("--json")
    assert said.code == as_json.code == 130
    assert said.err.startswith("phalanx: interrupted")
    assert "interrupted" in json.loads(as_json.out)["error"]
    assert ward.snapshot() == there


def test_interrupted_by_a_signal(ward) -> None:
    """The same from outside, at whatever moment: no traceback, and no staging folder in the way of
    the next release.
    """
    script = "from phalanx.cli import main; print('up', flush=True); main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "publish", "plan.toml"],
        cwd=ward.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout.readline() == "up\n"
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1]
    assert "Traceback" not in said
    assert run.returncode in (0, 130)
    assert ward.publish("--quiet").code == 0
    assert not list((ward.path / "out").glob(".*.staging"))


def test_nobodys_value_is_in_a_sentence(ward) -> None:
    """Sentences name columns, lines and counts, and no value of a person."""
    for mark, content in {
        "SECRETNAME": HEAD + ROWS + "SECRETNAME,20,1,a\nSECRETNAME,20,1,b\n",
        "SECRETAGE": HEAD + ROWS + "px,SECRETAGE,1\n",
        "SECRETILL": HEAD + ROWS + 'px,20,1,"SECRETILL\n',
    }.items():
        ward.table(content)
        said = ward.publish()
        assert said.code == 2
        assert mark not in said.err
    ward.plan(schema=SCHEMA + '\n[schema.types]\nage = "numeric"')
    ward.table(HEAD + ROWS + "px,SECRETAGE,1,a\n")
    said = ward.publish()
    assert said.code == 2
    assert "SECRETAGE" not in said.err


def test_staging_is_what_the_tests_think() -> None:
    """The suffix that is looked for above is the one that is used."""
    assert staging._SUFFIX == ".staging"


@pytest.mark.parametrize("closing", [False, True])
def test_missing_memory_is_said(ward, monkeypatch, closing):
    """Also where something that was half written could not be closed then: it is no fault of
    ours, and nothing was recorded.
    """

    def publish(*_, **__):
        try:
            raise MemoryError("Zq7Marker")
        finally:
            if closing:
                raise ValueError("I/O operation on closed file.")

    monkeypatch.setattr(Plan, "publish", publish)
    said = ward.publish()
    assert said.code == 2
    assert "the memory ran out" in said.err
    assert "Zq7Marker" not in said.err


@pytest.mark.parametrize(
    ("lack", "words"),
    [
        (OSError("malloc of size 64 failed: Cannot allocate memory"), "needs more memory"),
        (OSError(24, "Too many open files", "Zq7Marker"), "opens no more files"),
        (BlockingIOError(11, "Resource temporarily unavailable"), "starts no more threads"),
    ],
)
def test_what_the_machine_lacks_is_no_file_to_check(ward, monkeypatch, lack, words):
    """Another file would not help, and the sentence does not advise one."""

    def publish(*_, **__):
        raise lack

    monkeypatch.setattr(Plan, "publish", publish)
    said = ward.publish()
    assert said.code == 2
    assert words in said.err
    assert "name another one" not in said.err
