# SPDX-License-Identifier: Apache-2.0
"""`phalanx init` shows how much attributes tell of each other, and what slicing would keep
together; never a value.
"""

import json
import os
import pty
import select
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from naive import correlation as naive
from phalanx.data.sources import batches
from support.work import lines

N = 300
LINES = 10**7


def clinic() -> dict[str, list[Any]]:
    """Attributes in pairs that tell each other: age and work, sex and illness; every text is a
    marker.
    """
    rng = np.random.default_rng(11)
    age, sex = rng.integers(20, 80, N), rng.integers(0, 2, N)
    return {
        "age": age.tolist(),
        "sex": [f"MARKER-S{s}" for s in sex],
        "work": [f"MARKER-W{a // 30}" for a in age],
        "disease": [f"MARKER-D{s + 2 * (i % 10 == 0)}" for i, s in enumerate(sex)],
    }


def looked_at(ward, columns: dict[str, Any], *options: str) -> Any:
    """What init says of a table: its JSON, or the text where asked."""
    pl.DataFrame(columns).write_parquet(ward.path / "t.parquet", statistics=False)
    said = ward.call(
        "init",
        "t.parquet",
        "--to",
        f"{len(list(ward.path.iterdir()))}.toml",
        *(options or ("--json",)),
    )
    assert (said.code, said.err) == (0, "")
    return json.loads(said.out)["correlation"] if not options else said.out


def test_what_slicing_would_keep_together(ward) -> None:
    """phi^2 of every pair with two digits, the sensitive attribute last, and it stands with the one
    attribute that tells most of it.
    """
    columns = clinic()
    found = looked_at(ward, columns)
    cut = {
        name: naive.intervals(values, 10) if name == "age" else values
        for name, values in columns.items()
    }

    assert found["attributes"] == ["age", "sex", "work", "disease"]
    assert found["columns"] == [["age", "work"], ["sex", "disease"]]
    for i, one in enumerate(found["attributes"]):
        assert found["phi2"][i] == [
            round(float(naive.phi2(cut[one], cut[other])), 2) for other in found["attributes"]
        ]


def test_the_table_shows_no_value(ward) -> None:
    """The matrix stands below the profile with names and figures alone."""
    columns = clinic()
    text = looked_at(ward, columns, "--name", "clinic")
    figures = looked_at(ward, columns)["phi2"]

    assert "MARKER" not in text
    assert "Correlation of the attributes (phi²" in text
    assert "Slicing into two columns would keep together: age, work | sex, disease" in text
    (last,) = (line.split() for line in text.splitlines() if line.startswith("4 disease"))
    assert last == ["4", "disease", *(f"{figure:.2f}" for figure in figures[3][:3])]


def test_without_a_sensitive_attribute_all_are_alike(ward) -> None:
    """Where none is recognised, the columns are clusters of all."""
    columns = clinic()
    frame = {
        "age": columns["age"],
        "sex": columns["sex"],
        "work_city": columns["work"],
        "sex_language": ["MARKER-F", *columns["sex"][1:]],
    }

    assert looked_at(ward, frame)["columns"] == [["age", "work_city"], ["sex", "sex_language"]]


def test_many_attributes_many_rows_and_odd_ones(ward) -> None:
    """At most twelve attributes, the sensitive one among them; of many rows some; what cannot be
    encoded is passed over, and nothing is said about it.
    """
    columns = clinic()
    wide = {f"x{i}": [(i + 2) * a % (7 + i) for a in columns["age"]] for i in range(15)}
    odd = {
        "span": [float("inf")] + [1.0] * (N - 1),
        "weight": [None] * N,
        "language": ["MARKER-L"] * N,
    }
    found = looked_at(ward, {"disease": columns["disease"], **odd, **wide})

    assert found["attributes"] == ["language", *(f"x{i}" for i in range(9)), "disease"]
    assert found["phi2"][0] == [1.0] + [0.0] * 10
    assert "Correlation of 11 of the 18 attributes" in looked_at(
        ward, {"disease": columns["disease"], **odd, **wide}, "--name", "x"
    )
    many = {name: values * 1000 for name, values in columns.items()}
    assert looked_at(ward, many)["columns"] == [["age", "work"], ["sex", "disease"]]


SETS = [[f"r{i % 3}", f"r{i % 5}"] for i in range(N)]


@pytest.mark.parametrize(
    "columns",
    [
        {"age": [i % 9 for i in range(N)], "sex": ["f", "m"] * (N // 2)},
        {"age": [1, 2], "sex": ["f", "m"]},
        {**clinic(), "disease": SETS},
    ],
    ids=["two attributes", "two rows", "sets"],
)
def test_what_slicing_does_not_take_is_left_out(ward, columns) -> None:
    """Two attributes, and sets of values, have no correlation, and no word is lost about it."""
    assert looked_at(ward, columns) is None
    assert "orrelation" not in looked_at(ward, columns, "--name", "x")


def test_a_wide_table_takes_one_screen(ward) -> None:
    """Of six hundred columns two hundred are shown, and all are in the plan; each costs a few
    hundred lines of Python.
    """
    columns = {"ill": ["a", "b", "c", "d"] * 10, "age": [20 + i % 7 for i in range(40)]}
    wide = {f"town{j}": [f"t{i * j % 5}" for i in range(40)] for j in range(600)}
    pl.DataFrame({**columns, **wide}).write_csv(ward.path / "t.csv")
    answers = []
    assert lines(lambda: answers.append(ward.call("init", "t.csv", "--to", "wide.toml"))) < LINES
    (said,) = answers
    assert (said.code, said.err) == (0, "")
    assert "town197 " in said.out and "town198" not in said.out
    assert "\n402 more columns are in the plan.\n" in said.out
    assert '"town599"' in (ward.path / "wide.toml").read_text(encoding="utf-8")


def on_a_terminal(folder: Path, typed: str, *options: str) -> str:
    """What init shows on a terminal where ``typed`` is typed; a new process, as a shell starts
    it.
    """
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from phalanx.cli import main; main()", "init", "t.parquet"]
    running = subprocess.Popen(
        [*command, *options],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"},
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # the other end is closed: it is done
            break
    else:
        running.kill()
    os.close(ours)
    assert running.wait() == 0, shown.decode()
    return shown.decode().replace("\r", "")


def method(folder: Path, plan: str = "plan.toml") -> dict[str, Any]:
    return tomllib.loads((folder / plan).read_text(encoding="utf-8"))["method"]


def test_a_terminal_is_asked_what_no_option_says(tmp_path) -> None:
    """Three questions with what each answer means; the first letter is an answer, Enter is the one
    in brackets, and what is none is asked again. What an option says is not asked.
    """
    pl.DataFrame(clinic()).write_parquet(tmp_path / "t.parquet", statistics=False)

    text = on_a_terminal(tmp_path, "maybe\nn\ny\npub\n", "--to", "asked.toml")
    assert text.count("?") == 4
    assert "  persons   people come and go, and what is sensitive stays true of a person" in text
    assert "That is none of no, persons, values." in text
    assert method(tmp_path, "asked.toml")["name"] == "slicing"

    text = on_a_terminal(tmp_path, "\n", "--changes", "no", "--intervals")
    assert "Who receives it?" in text and "Does the table change" not in text
    assert "must it look" not in text.lower()
    assert method(tmp_path) == {"name": "mondrian", "k": 5, "l": 2}


def test_nobody_is_asked_where_nobody_answers(ward) -> None:
    """In a script the options answer, and what they leave open has its documented answer."""
    pl.DataFrame(clinic()).write_parquet(ward.path / "t.parquet", statistics=False)
    for number, (options, expected) in enumerate(
        [
            ((), {"name": "mondrian", "k": 5, "l": 2}),
            (("--for", "public"), {"name": "mondrian", "k": 12, "l": 2}),
            (
                ("--looks-original", "--for", "internal"),
                {"name": "mutual-cover", "delta": "1/3", "bounds": {"omniscient": "1/3"}},
            ),
        ]
    ):
        said = ward.call("init", "t.parquet", "--to", f"{number}.toml", *options)
        assert (said.code, "?" in said.out) == (0, False)
        assert method(ward.path, f"{number}.toml") == expected
    said = ward.call("init", "t.parquet", "--changes", "sometimes")
    assert (said.code, said.out) == (2, "") and "'no', 'persons', 'values'" in said.err


def test_of_a_large_table_some_rows_are_looked_at(ward, monkeypatch) -> None:
    """The table, the JSON and the plan say of how many."""
    monkeypatch.setattr(batches, "memory_left", lambda: 1_000)
    monkeypatch.setattr(batches, "_SAMPLE", 100)
    pl.DataFrame(clinic()).write_parquet(ward.path / "t.parquet")
    said = ward.call("init", "t.parquet", "--to", "1.toml")
    assert said.out.startswith("t.parquet (100 of 300 rows, at equal distances)\n")
    plan = (ward.path / "1.toml").read_text()
    assert plan.startswith("# Proposed from 100 of 300 rows, at equal distances. Read every role")
    said = json.loads(ward.call("init", "t.parquet", "--to", "2.toml", "--json").out)
    assert said["rows"] == 300 and {column["rows"] for column in said["columns"]} == {100}


def test_a_plan_that_exists_is_named_before_anything_is_asked(ward) -> None:
    """No profile is shown and no question asked where the answer could not be written."""
    said = ward.call("init", "t.csv")

    assert (said.code, said.out) == (2, "")
    assert "plan.toml exists and is not overwritten; name another file with --to." in said.err


def test_a_terminal_is_asked_who_may_be_known_to_have_none(tmp_path) -> None:
    """Where what is sensitive holds words for "not applicable", whether everybody may know who has
    them; by an option the same, and only then the plan has the value.
    """
    incomes = [f"{1000 + i % 40}" if i % 3 else "N" for i in range(240)]
    pl.DataFrame(
        {"age": [20 + i % 40 for i in range(240)], "sex": ["f", "m"] * 120, "income": incomes}
    ).write_parquet(tmp_path / "t.parquet", statistics=False)

    for typed, options, values in (
        ("y\n", (), ["N"]),
        ("n\n", (), None),
        ("", ("--not-applicable", "N"), ["N"]),
    ):
        (tmp_path / "plan.toml").unlink(missing_ok=True)
        text = on_a_terminal(
            tmp_path, typed, "--changes", "no", "--intervals", "--for", "internal", *options
        )
        assert ("80 rows of income say 'N'" in text) == (not options)
        plan = tomllib.loads((tmp_path / "plan.toml").read_text(encoding="utf-8"))
        assert plan["schema"].get("not_applicable") == values


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_no_password_is_printed(ward, monkeypatch, options) -> None:
    """It stands in the plan, where it is needed, and nowhere else."""
    table = pl.DataFrame(clinic()).to_arrow()
    monkeypatch.setattr("phalanx.data.sources.databases.read_query", lambda *_: table)
    url = "postgresql://ann:SECRET@host?password=SECRET"
    said = ward.call("init", url, "--query", "select 1", "--to", f"{len(options)}.toml", *options)
    assert said.code == 0 and "SECRET" not in said.out + said.err
    plan = tomllib.loads((ward.path / f"{len(options)}.toml").read_text())
    assert (plan["series"]["name"], plan["source"]["url"]) == ("series", url)
