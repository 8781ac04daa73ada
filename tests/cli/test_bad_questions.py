# SPDX-License-Identifier: Apache-2.0
"""What people get wrong when they ask about releases: verify, attack, series, init and demo each
say it in one sentence, and write nothing.
"""

import json
import shutil

import pytest

OURS = ("verify", "out/ward-1")
THEIRS = ("verify", "t.csv")
ATTACK = ("attack", "intersection", "out/ward-1")
ASKED = {
    "no release": (("verify", "out/ward-9"), "is not a release folder"),
    "the folder of the releases": (("verify", "out"), "is not a release folder"),
    "a release twice": ((*OURS, "out/ward-1"), "one release is given twice"),
    "releases of two series": ((*OURS, "out/clinic-1"), "of different series (clinic, ward)"),
    "a report": (("verify", "out/reports/ward-1.html"), "is a file, not a release folder"),
    "a name that no system takes": (("verify", "x" * 300), "cannot be used (file name too long)"),
    "no ledger": ((*OURS, "--ledger", "wrad.db"), "there is no ledger"),
    "a table for a ledger": ((*OURS, "--ledger", "t.csv"), "is not a ledger but some other file"),
    "a folder for a ledger": ((*OURS, "--ledger", "out"), "is a folder"),
    "somebody else's ledger": (
        ("verify", "out/clinic-1", "--ledger", "ward.db"),
        "the ledger knows no series 'clinic'",
    ),
    "an original without an identifier": (
        (*OURS, "--original", "t.csv", "--ledger", "sqlite:///d.db"),
        "name it with --identifier",
    ),
    "an identifier without an original": (
        (*OURS, "--identifier", "who"),
        "name them with --original, or leave it out",
    ),
    "an identifier misspelt": (
        (*OURS, "--original", "t.csv", "--identifier", "whom"),
        "did you mean 'who'?",
    ),
    "an identifier that is another column": (
        (*OURS, "--original", "t.csv", "--identifier", "age"),
        "both identifier and quasi",
    ),
    "too many originals": (
        (*OURS, "--original", "t.csv", "--original", "t.csv", "--identifier", "who"),
        "2 original table(s) are given for 1 release(s)",
    ),
    "an original misspelt": (
        (*OURS, "--original", "tt.csv", "--identifier", "who"),
        "did you mean 't.csv'?",
    ),
    "a folder for an original": (
        (*OURS, "--original", "out", "--identifier", "who"),
        "is a folder",
    ),
    "the original of others": (
        (*OURS, "--original", "half.csv", "--identifier", "who", "--ledger", "ward.db"),
        "lacks 20 of its 40 persons",
    ),
    "a table that is not there": (("verify", "tt.csv", "--quasi", "age"), "did you mean 't.csv'?"),
    "a table in no folder": (("verify", "no/t.csv", "--quasi", "age"), "there is no folder 'no'"),
    "a quasi-identifier misspelt": ((*THEIRS, "--quasi", "agee"), "did you mean 'age'?"),
    "a quasi-identifier twice": (
        (*THEIRS, "--quasi", "age,zip,age"),
        "column 'age' is named 2 times",
    ),
    "a quasi-identifier that is sensitive": (
        (*THEIRS, "--quasi", "age", "--sensitive", "age"),
        "column 'age' is named 2 times",
    ),
    "a quasi-identifier without a name": ((*THEIRS, "--quasi", ""), "has no column ''"),
    "a sensitive column without a name": (
        (*THEIRS, "--quasi", "age", "--sensitive", ""),
        "has no column ''",
    ),
    "a sensitive column misspelt": (
        (*THEIRS, "--quasi", "age", "--sensitive", "il"),
        "did you mean 'ill'?",
    ),
    "quasi-identifiers of which one is none": (
        (*THEIRS, "--quasi", "age,zi"),
        "did you mean 'zip'?",
    ),
    "no sensitive column": ((*THEIRS, "--quasi", "age", "--l", "2"), "name it with --sensitive"),
    "k of 0": ((*THEIRS, "--quasi", "age", "--k", "0"), "k must be a whole number of at least 1"),
    "l that is no number": (
        (*THEIRS, "--quasi", "age", "--sensitive", "ill", "--l", "nan"),
        "l must be a number",
    ),
    "t above 1": ((*THEIRS, "--quasi", "age", "--sensitive", "ill", "--t", "2"), "at most 1"),
    "a ragged table": (
        ("verify", "ragged.csv", "--quasi", "age"),
        "line 3 of 'ragged.csv' has 1 field(s)",
    ),
    "an empty table": (
        ("verify", "empty.csv", "--quasi", "age"),
        "is empty; give a table with a header line",
    ),
    "a table without rows": (("verify", "head.csv", "--quasi", "age"), "has no rows"),
    "one column twice": (("verify", "twice.csv", "--quasi", "age"), "names 'age' twice"),
    "an attack on no release": (
        ("attack", "intersection", "out", "--original", "t.csv", "--identifier", "who"),
        "is not a release folder",
    ),
    "an attack with too few originals": (
        (*ATTACK, "out/ward-2", "--original", "t.csv", "--identifier", "who"),
        "1 original table(s) are given for 2",
    ),
    "an attack by a column that is no identifier": (
        (*ATTACK, "--original", "t.csv", "--identifier", "ill"),
        "both identifier and sensitive",
    ),
    "a series misspelt": (
        ("series", "show", "wrad", "--ledger", "ward.db"),
        "did you mean 'ward'?",
    ),
    "a series without a ledger": (
        ("series", "show", "ward", "--ledger", "w.db"),
        "there is no ledger",
    ),
    "a ledger of a kind unknown": (
        ("series", "list", "--ledger", "mysql://x"),
        "a ledger url starts with sqlite:///",
    ),
    "init of nothing, beside a plan": (("init", "tt.csv"), "did you mean 't.csv'?"),
    "init upon a plan": (("init", "t.csv"), "plan.toml exists and is not overwritten"),
    "init in no folder": (("init", "t.csv", "--to", "no/plan.toml"), "cannot be written"),
    "init of a ragged table": (
        ("init", "ragged.csv", "--to", "new.toml"),
        "line 3 of 'ragged.csv' has 1 field(s)",
    ),
    "init of no rows": (("init", "head.csv", "--to", "new.toml"), "has no rows"),
    "init of a file with a query": (
        ("init", "t.csv", "--query", "select 1", "--to", "new.toml"),
        "a query needs a database",
    ),
    "init of a database without one": (
        ("init", "sqlite:///d.db", "--to", "new.toml"),
        "needs a query",
    ),
    "init of no database": (
        ("init", "sqlite:///d.db", "--query", "select 1", "--to", "new.toml"),
        "there is no database",
    ),
    "the demo in a folder of ours": (
        ("demo", "--to", "out"),
        "was not made by the demo, so it is left alone",
    ),
    "the demo in a file": (
        ("demo", "--to", "t.csv"),
        "was not made by the demo, so it is left alone",
    ),
    "the demo below a file": (("demo", "--to", "t.csv/demo"), "cannot be made"),
    "a plan without an end": (("publish", "/dev/zero"), "is larger than any plan"),
    "a folder for a database": (
        ("init", "sqlite:///out", "--query", "select 1", "--to", "new.toml"),
        "there is no database 'out'; check the url",
    ),
    "a plan misspelt": (("publish", "pln.toml"), "did you mean 'plan.toml'?"),
    "another source, misspelt": (
        ("publish", "plan.toml", "--source", "tt.csv"),
        "did you mean 't.csv'?",
    ),
    "a seed below all": (
        ("publish", "plan.toml", "--seed", "-99"),
        "the seed must be a whole number of at least 0",
    ),
}


@pytest.fixture
def asked_about(ward):
    """Two releases of one series, one of another, and tables with something wrong."""
    for _ in range(2):
        assert ward.publish("--quiet").code == 0
    shutil.copytree(ward.path / "out/ward-1", ward.path / "out/clinic-1")
    manifest = ward.path / "out/clinic-1/release.json"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace('"ward"', '"clinic"'), encoding="utf-8"
    )
    lines = (ward.path / "t.csv").read_text().splitlines(keepends=True)
    for name, content in {
        "half": "".join(lines[:21]),
        "ragged": "age,zip\n1,2\n3\n",
        "empty": "",
        "head": "age,zip\n",
        "twice": "age,age\n1,2\n",
    }.items():
        (ward.path / f"{name}.csv").write_text(content)
    return ward


def test_a_wrong_question_is_one_sentence(asked_about) -> None:
    """Exit code 2, one sentence on standard error and the same as JSON, and not one file written or
    changed; all cases, so that the first wrong one names itself.
    """
    there = asked_about.snapshot()
    for case, (words, sentence) in ASKED.items():
        said = asked_about.call(*words)
        as_json = asked_about.call(*words, "--json")
        assert (said.code, said.out) == (2, ""), case
        assert said.err.startswith("phalanx: "), case
        assert said.err.count("\n") == 1, case
        assert sentence in said.err, case
        assert (as_json.code, as_json.err) == (2, ""), case
        assert json.loads(as_json.out) == {
            "error": said.err.removeprefix("phalanx: ").rstrip("\n")
        }, case
        assert asked_about.snapshot() == there, case


@pytest.mark.parametrize(("bound", "code"), [("3", 0), ("4", 1)])
def test_anybodys_table_keeps_its_k_or_does_not(ward, bound: str, code: int) -> None:
    """Exit code 0 where every group has so many rows, 1 where one has not."""
    (ward.path / "theirs.csv").write_text(
        "age,ill\n" + "2*,flu\n2*,gout\n2*,flu\n3*,flu\n3*,flu\n3*,flu\n3*,gout\n"
    )
    said = ward.call(
        "verify", "theirs.csv", "--quasi", "age", "--sensitive", "ill", "--k", bound, "--json"
    )
    assert (said.code, said.err) == (code, "")
    asked = [check for check in json.loads(said.out)["checks"] if check["bound"] != "none asked"]
    assert [(c["worst"], c["bound"], c["holds"]) for c in asked] == [(3, int(bound), code == 0)]


def test_a_question_writes_nothing(asked_about) -> None:
    """Asking the right questions leaves every file as it was, the ledger among them."""
    there = asked_about.snapshot()
    for words in (
        (
            "verify",
            "out/ward-1",
            "out/ward-2",
            "--ledger",
            "ward.db",
            "--original",
            "t.csv",
            "--original",
            "t.csv",
            "--identifier",
            "who",
        ),
        ("attack", "intersection", "out/ward-1", "--original", "t.csv", "--identifier", "who"),
        ("series", "list", "--ledger", "ward.db"),
        ("series", "show", "ward", "--ledger", "ward.db"),
        ("verify", "t.csv", "--quasi", "age"),
    ):
        assert asked_about.call(*words).code == 0
    assert asked_about.snapshot() == there
