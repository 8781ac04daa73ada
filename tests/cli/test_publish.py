# SPDX-License-Identifier: Apache-2.0
"""What `publish` says on a terminal: the counts that the form has, and of a perturbed release how
many rows each adversary names rightly.
"""

import re
from types import SimpleNamespace

import pytest

from phalanx.cli.publish import show_counts
from phalanx.series import bounds

COVER = 'name = "mutual-cover"\ndelta = "1/4"'


@pytest.mark.parametrize(
    ("method", "counted"),
    [
        (
            'name = "m-invariance"\nm = 2',
            ["rows", "groups", "counterfeits", "suppressed rows", "seconds"],
        ),
        ('name = "anatomy"\nl = 2', ["rows", "buckets", "suppressed rows", "seconds"]),
        (COVER, ["rows", "suppressed rows", "seconds"]),
    ],
)
def test_counts_are_those_of_the_form(ward, method: str, counted: list[str]) -> None:
    """Groups, buckets, or neither; every count stands under its word."""
    ward.plan(method=method)
    said = ward.publish()
    title, header, figures = said.out.splitlines()[:3]
    assert (said.code, said.err, title) == (0, "", "Release 1 of ward")
    assert re.split(r" {2,}", header.strip()) == counted
    assert len(figures.split()) == len(counted)


def test_a_column_that_changes_its_type_is_named(ward) -> None:
    """A text in a column of numbers makes all of it text: said before anything is written, and not
    as a failed check of ours; so is a column that is new.
    """
    assert ward.publish("--quiet").code == 0
    there, table = ward.snapshot(), (ward.path / "t.csv").read_text()
    ward.table(table.replace("p3,23,", "p3,unknown,"))
    said = ward.publish("--quiet")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(
        "phalanx: column 'age' is categorical in this table, and was numeric in release 1;"
    )
    ward.table(
        "\n".join(
            f"{line},{'more' if i == 0 else 'x'}" for i, line in enumerate(table.splitlines())
        )
        + "\n"
    )
    ward.plan(
        schema='identifier = "who"\nquasi = ["age", "zip"]\nsensitive = "ill"\nkeep = ["more"]'
    )
    said = ward.publish("--quiet")
    assert said.code == 2
    assert "column 'more' is published now and was not in release 1, and a series" in said.err
    ward.table(table)
    assert ward.snapshot().keys() == there.keys()


@pytest.mark.filterwarnings("error:no person of release")
def test_where_no_person_returns_it_is_said(ward) -> None:
    """Identifiers that are written in another way make new persons of those who stay: before a
    release is made, and with it; not where one returns, nor where no person is followed. It is no
    error, also where Python is asked to make errors of warnings.
    """
    ward.plan(method='name = "m-invariance"\nm = 2')
    table = (ward.path / "t.csv").read_text()
    assert ward.publish("--quiet").err == ""
    others = table.replace("\np", "\nP")
    ward.table(others)
    warned = (
        "phalanx: no person of release 2 was in an earlier one; if identifiers are written in another"
        " way now (007 for 7), who stays is taken for a new person, and not covered.\n"
    )
    for command in ("check", "publish"):
        said = ward.call(command, "plan.toml", "--quiet")
        assert (said.code, said.err) == (0, warned)
    ward.table(others.replace("\nP", "\nQ").replace("\nQ3,", "\np3,"))
    assert ward.publish("--quiet").err == ""
    ward.plan(
        method='name = "mondrian"\nk = 2', to="others", more='[ledger]\nurl = "sqlite:///other.db"'
    )
    for content in (table, others):
        ward.table(content)
        assert ward.publish("--quiet").err == ""


def named(out: str) -> dict[str, str]:
    """What the lines about adversaries say, by adversary."""
    return dict(re.findall(r"^(\w+): +(names .*)$", out, flags=re.MULTILINE))


def test_adversaries_are_told_of_a_perturbed_release(ward) -> None:
    """One line for each, who knows most first, with the share of rows and of sensitive values that
    it names rightly.
    """
    ward.plan(method=COVER)
    lines = named(ward.publish().out)
    assert list(lines) == ["omniscient", "informed", "linkage"]
    assert all(
        re.fullmatch(
            r"names [\d.]+% of the rows rightly, and [\d.]+% of the sensitive values", line
        )
        for line in lines.values()
    )


def test_without_sensitive_values_rows_are_all_that_is_named(ward) -> None:
    """No figure is made up for an attribute that is not published."""
    ward.plan(
        method='name = "mutual-cover"\ndelta = "1/4"',
        schema='identifier = "who"\nquasi = ["age", "zip"]\ndrop = ["ill"]',
    )
    lines = named(ward.publish().out)
    assert len(lines) == 3
    assert all(re.fullmatch(r"names [\d.]+% of the rows rightly", line) for line in lines.values())


def test_drawn_persons_are_told_by_about(ward) -> None:
    """Of a larger table some persons are attacked, and the figures say that they are estimates."""
    ward.table(
        "who,age,zip,ill\n"
        + "".join(f"p{i},{20 + i % 37},{10000 + i * 7 % 29},{'abcd'[i % 4]}\n" for i in range(2500))
    )
    ward.plan(method=COVER)
    lines = named(ward.publish().out)
    assert all(
        re.fullmatch(
            r"names about [\d.]+% of the rows rightly, and about [\d.]+% of the sensitive values",
            line,
        )
        for line in lines.values()
    )


def test_who_is_beyond_the_budget_is_said(ward, monkeypatch) -> None:
    """Where groups are too large for the omniscient adversary's budget the command says that it was
    not played; all others are.
    """
    ward.plan(method=COVER)
    assert "not played" not in ward.publish().out
    monkeypatch.setattr(bounds, "_STATES", 1)
    lines = ward.publish().out
    assert "omniscient: not played, as groups have too many rows for its budget" in lines
    assert set(named(lines)) == {"informed", "linkage"}


def test_what_was_spent_is_rounded_up(capsys: pytest.CaptureFixture[str]) -> None:
    """As the report and `series show` say it: what is printed is no less than what was spent."""
    release = SimpleNamespace(
        rows=8, seconds=1.0, suppressed_rows=None, suppressed_values={}, registered=0, attacks=(),
        checks=(), spent={"epsilon": 1.18529, "delta": 1.0001e-05, "releases": 3},
    )  # fmt: skip
    show_counts(release, "Release 3", None)  # type: ignore[arg-type]
    told = "spent:     epsilon 1.186 at delta 1.001e-5, by 3 release(s) together"
    assert told in capsys.readouterr().out.splitlines()


def test_other_forms_have_no_such_lines(ward) -> None:
    """Of a generalized release no adversary is told."""
    assert named(ward.publish().out) == {}
