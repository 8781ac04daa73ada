# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in the first hour with the program, and what is said of it."""

import re
import tomllib

import polars as pl
import pytest

import phalanx as px


def test_a_mistyped_value_is_named_before_it_is_unprotected(ward) -> None:
    """A plan that protects HIV where the table says hiv is refused by check and by publish, and
    names what may have been meant; nothing is left.
    """
    ward.table(
        "who,age,zip,ill\n"
        + "".join(
            f"p{i},{20 + i % 7},{10000 + i},{['flu', 'hiv', 'cold', 'gout'][i % 4]}\n"
            for i in range(40)
        )
    )
    ward.plan(method='name = "global-guarantee"\nl = 2\nprotect = ["HIV"]')
    for command in ("check", "publish"):
        said = ward.call(command, "plan.toml")
        assert (said.code, said.out) == (2, "")
        assert (
            "[method] protect names 'HIV', which no row has; did you mean 'hiv'? Correct it, or"
            " list it in expected_later" in said.err
        )
    assert not list((ward.path / "out").iterdir())
    ward.plan(
        method='name = "global-guarantee"\nl = 2\nprotect = ["HIV"]\nexpected_later = ["HIV"]'
    )
    assert ward.publish().code == 0


SAMPLED = """name = "safe-sampling"
epsilon = 1
delta = 1e-6
budget = {{ epsilon = 1, delta = 1e-6 }}
{more}
[method.scheme]
age = {{ low = 0, high = 100, width = 5 }}
zip = {{ low = 10000, high = 10010, width = 1 }}
"""


def test_an_empty_release_is_refused_before_it_costs_anything(ward) -> None:
    """Cells, k and beta are judged by the rows that the plan declares, and no budget is spent on
    nothing.
    """
    for more, why in (
        ("", "expected_rows is not declared"),
        (
            "expected_rows = 40",
            "makes 400 or more cells of about less than one row(s)",
        ),
    ):
        ward.plan(method=SAMPLED.format(more=more))
        for command in ("check", "publish"):
            said = ward.call(command, "plan.toml")
            assert (said.code, said.out) == (2, "") and why in said.err
        assert (
            ward.call("series", "list", "--ledger", "ward.db").code == 2
            or "ward" not in ward.call("series", "list", "--ledger", "ward.db").out
        )


def test_attributes_without_a_range_have_two_values_at_least(ward) -> None:
    """Where nothing is declared but bands and values as they are, cells are counted all the same: a
    release that spends all and publishes nothing is refused.
    """
    ward.plan(
        method='name = "safe-sampling"\nepsilon = 1\ndelta = 1e-6\nexpected_rows = 400\n'
        "scheme = { age = 1 }\n",
        schema=(
            'identifier = "who"\nquasi = ["age", "zip"]\nsensitive = "ill"'
            "\n[schema.hierarchies]\nage = { bands = [5, 20] }"
        ),
    )
    said = ward.call("publish", "plan.toml")
    assert (said.code, said.out) == (2, "")
    assert "or more cells of about" in said.err and "allow_empty = true" in said.err


def test_an_empty_release_is_called_empty(ward) -> None:
    """Where it is asked for, the first word on the terminal and in the report is that nothing is
    published, and neither is green.
    """
    ward.plan(method=SAMPLED.format(more="allow_empty = true"))
    said = ward.publish()
    assert said.code == 0 and said.out.startswith("NO ROW IS PUBLISHED")
    page = (ward.path / "out" / "reports" / "ward-1.html").read_text(encoding="utf-8")
    assert (
        '<p class="status fails">No row is published' in page and 'class="status holds"' not in page
    )


@pytest.mark.parametrize(
    "method",
    [
        'name = "m-invariance"\nm = 2',
        'name = "anatomy"\nl = 2',
        'name = "mutual-cover"\ndelta = "1/4"',
        'name = "mondrian"\nk = 3',
    ],
)
def test_the_terminal_counts_what_the_report_counts(ward, method: str) -> None:
    """A check that was not made holds nowhere: the same number on the terminal and on the page, and
    how many parts were not checked.
    """
    ward.plan(method=method)
    out = ward.publish().out
    page = (ward.path / "out" / "reports" / "ward-1.html").read_text(encoding="utf-8")
    terminal, report = (
        re.search(r"checked: +(\d+) checks of the written files hold(?:; (\d+) part)?", out),
        re.search(r"Yes: all (\d+) checks of the published files hold(?:; (\d+) part)?", page),
    )
    assert terminal is not None and report is not None
    assert terminal.groups() == report.groups()


def test_releases_are_verified_by_the_command_that_one_types(ward) -> None:
    """``releases/name-*`` names the releases and nothing else; of ``releases/*`` the folder of the
    reports is passed over with a note, for verify as for attack.
    """
    assert ward.publish().code == ward.publish().code == 0
    named = sorted(str(path) for path in (ward.path / "out").glob("ward-*"))
    assert len(named) == 2
    said = ward.call("verify", *named)
    assert (said.code, said.err) == (0, "")
    named = sorted(str(path) for path in (ward.path / "out").glob("*"))
    assert len(named) == 3
    said = ward.call("verify", *named)
    assert (said.code, said.err) == (
        0,
        "phalanx: the reports beside the releases are passed over.\n",
    )
    assert ward.call("verify", *named, "--json").code == 0
    said = ward.call(
        "attack",
        "intersection",
        *named,
        "--original",
        "t.csv",
        "--original",
        "t.csv",
        "--identifier",
        "who",
    )
    assert said.code == 0 and "passed over" in said.err
    (ward.path / "other.html").write_text("no report of ours")
    said = ward.call("verify", named[-1], "other.html")
    assert said.code == 2 and "other.html is not a release folder" in said.err


def test_what_fails_is_shown_without_asking(ward) -> None:
    """The first word is that something does not hold, and the table has what does not, and nothing
    else.
    """
    assert ward.publish("--seed", "1").code == 0
    said = ward.call("verify", "out/ward-1")
    assert said.code == 1 and said.out.startswith("This does NOT hold. ")
    assert [line.split()[0] for line in said.out.splitlines() if " FAILS " in line] == [
        "for"
    ] and " holds " not in said.out.partition("--details")[2]


def test_the_first_and_the_last_word_of_an_attack_are_sentences(ward) -> None:
    """What it found, first; and last whether that breaks a promise, and why not where it does
    not.
    """
    assert ward.publish().code == 0
    lines = ward.call(
        "attack", "intersection", "out/ward-1", "--original", "t.csv", "--identifier", "who"
    ).out.splitlines()
    assert lines[0].startswith("intersection is certain, and right, about 0 of 40 persons")
    assert (
        lines[-1]
        == "None of 40 persons: this adversary finds no breach, which is no proof that there is"
        " none."
    )
    ward.plan(method='name = "mondrian"\nk = 3', to="other")
    (ward.path / "ward.db").rename(ward.path / "old.db")
    for left in ("ward.db.key", "ward.db.mark"):
        (ward.path / left).unlink(missing_ok=True)
    ward.table(
        "who,age,zip,ill\n"
        + "".join(f"p{i},{20 + i},{10000 + i * 37 % 9},{'ab'[i // 20]}\n" for i in range(40))
    )
    assert ward.publish().code == 0
    last = ward.call(
        "attack", "intersection", "other/ward-1", "--original", "t.csv", "--identifier", "who"
    ).out.splitlines()[-1]
    assert re.fullmatch(
        r"\d+ of 40 persons: not a breach of what is promised, because no guarantee of this release"
        r" bounds how surely a value is linked with a person\.",
        last,
    )


def test_a_table_of_a_german_hospital_is_published(ward) -> None:
    """Semicolons, decimal commas, dates with points and Windows-1252: init says so in the plan,
    the release is verified beside the very file, and another dialect than stated is refused.
    """
    rows = [
        f"{i};{20 + i % 40};{1 + i % 3},{i % 10};0{1 + i % 9}.0{1 + i % 6}.2024;Köln {i % 5};{'abcd'[i % 4]}"
        for i in range(200)
    ]
    head = "Fallnummer;Alter;Größe;Aufnahme;Wohnort;Diagnose"
    (ward.path / "h.csv").write_bytes("\r\n".join([head, *rows, ""]).encode("windows-1252"))
    options = ("--changes", "no", "--intervals", "--for", "partner")
    assert ward.call("init", "h.csv", "--to", "h.toml", "--name", "h", *options).code == 0

    text = (ward.path / "h.toml").read_text(encoding="utf-8")
    source = tomllib.loads(text)["source"]
    assert source == {"path": "h.csv", "separator": ";", "decimal": ",", "encoding": "windows-1252"}
    assert "look whether its letters are right" in text and "numeric, 30 distinct" in text

    assert ward.call("publish", "h.toml").code == 0
    table = pl.DataFrame(px.Release.read(ward.path / "releases" / "h-1").table)
    assert table["Aufnahme_low"].dtype == pl.Date and table["Größe_low"].dtype == pl.Float64
    beside = ("--original", "h.csv", "--identifier", "Fallnummer")
    assert ward.call("verify", "releases/h-1", *beside).code == 0

    (ward.path / "h.toml").write_text(text.replace('separator = ";"  #', "#"), encoding="utf-8")
    refused = ward.call("check", "h.toml")
    assert refused.code == 2 and 'write separator = ";" under [source]' in refused.err
