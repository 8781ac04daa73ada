# SPDX-License-Identifier: Apache-2.0
"""Restoring, backing up and changing the key on the command line; and no word of the program holds
a password, however it was typed.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

T = "patient,age,disease\n" + "".join(
    f"p{i},{20 + i * 3 % 40},{['flu', 'cold', 'ulcer', 'gout'][i % 4]}\n" for i in range(60)
)
AT = ("--ledger", "clinic.db")


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Any) -> Any:
    """A series of a method that remembers nothing, with one release."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(T)
    Path("plan.toml").write_text(
        '[series]\nname = "clinic"\n[source]\npath = "t.csv"\n[schema]\nidentifier ='
        ' "patient"\nquasi = ["age"]\nsensitive = "disease"\n[method]\nname = "mondrian"\nk ='
        ' 3\n[publish]\nto = "releases"\n'
    )
    assert call("publish", "plan.toml").code == 0
    return call


def test_a_ledger_is_restored(clinic: Any) -> None:
    """The message of a ledger that went back names the command, and the command does what is
    needed.
    """
    shutil.copy("clinic.db", "old.db")
    assert clinic("publish", "plan.toml").code == 0
    shutil.copy("old.db", "clinic.db")
    refused = clinic("publish", "plan.toml")
    assert refused.code == 2
    assert "older than what was published of series 'clinic': it has 1 releases" in refused.err
    assert "phalanx series reconcile" in refused.err
    assert clinic("series", "show", "clinic", *AT).err == refused.err
    missing = clinic("series", "reconcile", "clinic", *AT)
    assert (missing.code, "release 2 of series 'clinic' was published on" in missing.err) == (
        2,
        True,
    )
    said = json.loads(
        clinic(
            "series", "reconcile", "clinic", "releases/clinic-1", "releases/clinic-2", *AT, "--json"
        ).out
    )
    assert (said["number"], said["entered"], said["forgotten"]) == (2, [2], False)
    assert "reconciled on" in clinic("series", "show", "clinic", *AT).out
    shown = json.loads(clinic("series", "show", "clinic", *AT, "--json").out)
    assert [(r["number"], r["day"] <= said["day"]) for r in shown["releases"]] == [
        (1, True),
        (2, True),
    ]
    assert shown["reconciled"] == [said]
    assert clinic("publish", "plan.toml").code == 0


def test_waves_are_told_when_releases_are_entered(clinic: Any) -> None:
    """No folder says which wave it is, and a wave that is not known could be published twice."""
    rows = [f"{row},{year}" for year in range(2018, 2022) for row in T.splitlines()[1:]]
    Path("panel.csv").write_text("\n".join(["patient,age,disease,year", *rows]) + "\n")
    plan = Path("plan.toml").read_text().replace('"clinic"', '"panel"')
    plan = plan.replace('path = "t.csv"', 'path = "panel.csv"\nwave = "year"')
    Path("panel.toml").write_text(plan)
    ledger = ("--ledger", "panel.db")
    assert clinic("publish", "panel.toml").code == 0
    shutil.copy("panel.db", "old.db")
    assert clinic("publish", "panel.toml").code == 0
    shutil.copy("old.db", "panel.db")
    again = ("series", "reconcile", "panel", "releases/panel-2", *ledger)
    for words, sentence in (
        ((), "no folder tells which; say it of release 2 by --wave 2=WAVE."),
        (("--wave", "2018"), "--wave 2018 names no wave of a release"),
        (("--wave", "2=2018"), "wave '2018' was published as release 1"),
        (("--wave", "2=2018.0"), "wave '2018' was published as release 1"),
        (("--wave", "2=2019", "--wave", "2=2017"), "--wave names release 2 twice"),
        (
            ("--wave", "2=2019", "--wave", "3=2020"),
            "a wave is given for release 3 of series 'panel'",
        ),
    ):
        refused = clinic(*again, *words)
        assert (refused.code, sentence in refused.err) == (2, True), refused.err
    assert clinic(*again, "--wave", "2=2019").code == 0
    shown = clinic("series", "show", "panel", *ledger)
    assert "2019" in shown.out and "None" not in shown.out
    assert (
        "wave '2019' was published as release 2"
        in clinic("publish", "panel.toml", "--wave", "2019").err
    )
    assert "Release 3 of panel, wave 2020" in clinic("publish", "panel.toml").out


def test_a_ledger_that_is_lost(clinic: Any) -> None:
    """Where its mark is left, no command takes the series for one that never was."""
    Path("clinic.db").unlink()
    refused = clinic("publish", "plan.toml")
    assert (refused.code, "it has 0 releases, its mark" in refused.err) == (2, True)
    for again in (("show", "clinic"), ("show", "clinics"), ("list",)):
        shown = clinic("series", *again, *AT)
        assert (shown.code, shown.err) == (2, refused.err)


def test_a_restore_as_text(clinic: Any) -> None:
    """What was entered, what the steward says by it, and what is said where the mark is missing."""
    Path("clinic.db.mark").unlink()
    assert "may be an old one" in clinic("publish", "plan.toml").err
    assert "you say that there are no more" in clinic("series", "reconcile", "clinic", *AT).out
    assert "nothing to reconcile" in clinic("series", "reconcile", "clinic", *AT).err
    assert clinic("publish", "plan.toml").code == 0


def test_a_backup_comes_back(clinic: Any) -> None:
    """A backup of all series, into a ledger that is made for it; it goes on once a steward says
    what left since.
    """
    assert "clinic: 1 release(s) in" in clinic("series", "backup", *AT, "--to", "backup").out
    assert "exists already" in clinic("series", "backup", *AT, "--to", "backup").err
    made = json.loads(clinic("series", "backup", *AT, "--to", "another", "--json").out)
    assert (made["folder"], [each["series"] for each in made["series"]]) == ("another", ["clinic"])
    for path in Path().glob("clinic.db*"):
        path.unlink()
    taken = clinic("series", "import", "backup/clinic.series", *AT)
    assert "'phalanx series reconcile clinic'" in taken.out
    assert "next publish" not in taken.out
    assert "may be an old one" in clinic("publish", "plan.toml").err
    assert clinic("series", "reconcile", "clinic", *AT).code == 0
    assert clinic("publish", "plan.toml").code == 0


def test_a_copy_says_whether_it_has_to_be_reconciled(clinic: Any) -> None:
    """Where no mark is, or the mark has more; and not where it has what was copied."""
    assert clinic("series", "export", "clinic", *AT, "--to", "copy", "--copy").code == 0
    new = ("--ledger", "new.db")
    assert json.loads(clinic("series", "import", "copy", *new, "--json").out)["reconcile"] is True
    assert clinic("series", "reconcile", "clinic", *new).code == 0
    Path("clinic.db").unlink()
    said = clinic("series", "import", "copy", *AT)
    assert "goes on here with its next publish" in said.out and "reconcile" not in said.out
    assert clinic("publish", "plan.toml").code == 0
    Path("clinic.db").unlink()
    again = json.loads(clinic("series", "import", "copy", *AT, "--json").out)
    assert again["reconcile"]
    refused = clinic("publish", "plan.toml")
    assert (refused.code, "Use the newest, or 'phalanx series reconcile'" in refused.err) == (
        2,
        True,
    )


def test_a_key_is_changed(clinic: Any) -> None:
    """The key file holds another key, and the series goes on."""
    old = Path("clinic.db.key").read_text()
    assert "clinic.db.key" in clinic("series", "rotate-key", *AT).out
    assert Path("clinic.db.key").read_text() != old
    assert "key" in json.loads(clinic("series", "rotate-key", *AT, "--json").out)
    assert clinic("publish", "plan.toml").code == 0


SECRET = "s3cr3t"  # noqa: S105 - a marker
MISTYPED = [
    "postgresql:/ann:{}@db/x", "postgresql:ann:{}@db/x", "postgresql//ann:{}@db/x", "POSTGRESQL://ann:{}@db/x", "postgres:///ann:{}@db/x", "ann:{}@db/x",
    "postgresql://ann:a@b{}@db/x", "postgresql://ann:/{}@db/x", "postgresql://ann@db/x?password={}", "mysql://ann:{}@db/x", "sqlite:/ann:{}@db",
    "postgresql://ann:{} pw@127.0.0.1:1/db", "postgresql://ann:pw {}@127.0.0.1:1/db", "password = '{}'", "postgresql://h/db?options=-c%20password%3D{}",
    "pass={}", "pwd = {}", "passwd: {}", 'token="{}"',
]  # fmt: skip
PLACES = [
    ("series", "list", "--ledger", "{}"), ("series", "show", "clinic", "--ledger", "{}"), ("series", "list", "{}"), ("{}",), ("publish", "{}"),
    ("publish", "plan.toml", "--source", "{}"), ("publish", "plan.toml", "{}"), ("init", "{}"), ("verify", "{}"), ("verify", "releases/clinic-1", "--ledger", "{}"),
    ("publish", "plan.toml", "--seed", "{}"), ("budget", "--epsilon", "{}"), ("series", "import", "{}", "--ledger", "clinic.db"),
    ("series", "reconcile", "clinic", "{}", "--ledger", "clinic.db"), ("series", "backup", "--ledger", "clinic.db", "--to", "x/{}"),
    ("attack", "releases/clinic-1", "--original", "{}", "--identifier", "patient"), ("publish", "plan.toml", "--{}"),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_no_password_is_shown(clinic: Any, place: tuple[str, ...]) -> None:
    """Wherever a url with a password stands, and however it is mistyped."""
    for url in MISTYPED:
        for more in ((), ("--json",)):
            said = clinic(*[word.format(url.format(SECRET)) for word in place], *more)
            assert said.code == 2, (url, said.err)
            assert SECRET not in said.out + said.err, (url, said.err)


@pytest.mark.parametrize("file", ["/", "."])
def test_a_folder_is_no_series_that_was_exported(call, tmp_path: Path, file: str) -> None:
    """Also one without a name, beside which no key can have it; no ledger is made for it."""
    said = call("series", "import", file, "--ledger", tmp_path / "l.db")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"phalanx: {file} cannot be read (Is a directory); name the file that 'series export' wrote.\n"
    )
    assert list(tmp_path.iterdir()) == []
