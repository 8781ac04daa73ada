# SPDX-License-Identifier: Apache-2.0
"""Every command of every how-to page, as it is printed there, on small tables made up here: each of
them does what the page says, or says why it is not tried.
"""

import re
import shlex
import shutil
import sqlite3
from glob import glob
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.plan import Plan

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "how-to").glob("*.md"))
NOT_TRIED = {
    "make demo": "tests/test_demo.py publishes the panel",
    "phalanx demo --to somewhere": "tests/test_demo.py publishes the panel",
    "pip install 'phalanx[estimate]'": "make lowest and make core install extras",
    "pip install 'phalanx[spark]'": "make spark installs it",
    "phalanx verify releases/people-1 --engine spark --spark-master spark://host:7077": (
        "tests/series/test_on_spark.py verifies on a cluster"
    ),
    "make spark-demo": "it needs Java, and runs what tests/engines runs",
    "make spark": "it needs Java, and runs tests/engines",
    "make spark-bench": "it needs Java and a quiet machine",
    "phalanx studio": "tests/studio serves it",
    "phalanx studio plan.toml": "tests/studio serves it",
    "phalanx studio discharges.parquet": "tests/studio serves it",
    "phalanx studio discharges.db": "tests/studio serves it",
    "phalanx warm": "tests/test_warming.py; all kernels take minutes",
}
"""Commands that are not tried here, with the reason."""
INSTEAD = {"postgresql://ann@db.example.org/phalanx": "sqlite:///another.db"}
"""What no machine has, and what stands for it."""
PLAN = """
[series]
name = "discharges"
[source]
path = "discharges.parquet"
[schema]
identifier = "patient"
quasi = ["age", "zip"]
sensitive = "diagnosis"
drop = ["sex"]
[method]
name = "m-invariance"
m = 2
[publish]
to = "releases"
"""


def commands() -> list[tuple[str, str]]:
    """The page and the words of every command in a block of shell."""
    blocks = [
        (page.stem, block)
        for page in PAGES
        for block in re.findall(
            r"^ *```sh\n(.*?)^ *```",
            page.read_text(encoding="utf-8"),
            flags=re.DOTALL | re.MULTILINE,
        )
    ]
    return [
        (page, shlex.join(shlex.split(line, comments=True)))
        for page, block in blocks
        for line in block.splitlines()
        if line.strip()
    ]


COMMANDS = commands()


def people(first: int, n: int = 120) -> pl.DataFrame:
    """Made-up patients, each with the same values in every table that they are in."""
    who = np.arange(first, first + n)
    return pl.DataFrame({
        "patient": [f"p{i}" for i in who],
        "age": 20 + who * 7 % 50,
        "zip": [f"{10000 + i * 131 % 29}" for i in who],
        "sex": ["fm"[i % 2] for i in who],
        "diagnosis": [["flu", "gout", "rash", "ulcer", "acne"][i * 13 % 5] for i in who],
    })  # fmt: skip


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which everything lies that the pages speak of."""
    to = tmp_path_factory.mktemp("how-to")
    quarters = [people(0), people(20), people(40)]
    quarters[0].write_parquet(to / "discharges.parquet", statistics=False)
    (to / "plan.toml").write_text(PLAN)
    schema = px.Schema(
        identifier="patient", quasi=["age", "zip"], sensitive="diagnosis", drop=["sex"]
    )
    series = px.Series("discharges", schema, px.MInvariance(m=2), to=to / "releases")
    for number, quarter in enumerate(quarters, 1):
        if number == 3:
            shutil.copy(to / "discharges.db", to / "older.db")
        quarter.write_parquet(to / f"q{number}.parquet", statistics=False)
        series.publish(quarter)
    with sqlite3.connect(to / "clinic.db") as clinic:
        clinic.execute(
            "create table discharges (patient text, age integer, zip text, sex text, diagnosis"
            " text)"
        )
        clinic.executemany("insert into discharges values (?, ?, ?, ?, ?)", quarters[0].rows())
    clinic.close()
    people(0).with_columns(age=pl.col("age") // 30 * 30, zip=pl.lit("100")).write_csv(
        to / "table.csv"
    )  # by somebody who made it coarse
    claims = people(30)
    claims.write_parquet(to / "claims.parquet", statistics=False)
    for name, folder, table in (
        ("discharges", "hospital", quarters[0]),
        ("claims", "insurer", claims),
    ):
        px.Series(
            name,
            schema,
            px.Mondrian(k=5, l=2),
            to=to / folder,
            ledger=f"sqlite:///{to}/{folder}.db",
        ).publish(table)
    adult = people(0, 240).drop("patient")
    adult.write_csv(to / "adult.csv")
    slicing = px.Slicing(l=2, columns=[["age", "zip"], ["sex", "diagnosis"]], cuts="strict")
    px.Series(
        "adult",
        px.Schema(quasi=["age", "zip", "sex"], sensitive="diagnosis", types={"zip": "categorical"}),
        slicing,
        to=to / "releases",
    ).publish(to / "adult.csv")
    census = people(0).rename({"patient": "person"})
    census.write_parquet(to / "census.parquet", statistics=False)
    cover = px.MutualCover(delta="1/4", keep_tables=True)
    px.Series(
        "census",
        px.Schema(identifier="person", quasi=["age", "zip", "sex"], sensitive="diagnosis"),
        cover,
        to=to / "releases",
    ).publish(census)
    ill = pl.Series(
        [
            ["chlamydia", "syphilis", "flu", "none", "none", "none", "none", "none"][i % 8]
            for i in range(160)
        ]
    )
    visits = px.Series(
        "visits",
        px.Schema(identifier="person", quasi=["age", "sex"], sensitive="illness"),
        px.GlobalGuarantee(l=2, grouping="bottom-up"),
        to=to / "releases",
    )
    for number in (1, 2):
        table = people(0, 160).select(
            person="patient", age="age", sex="sex", illness=ill.shift(number, fill_value="none")
        )
        table.write_csv(to / f"v{number}.csv")
        visits.publish(to / f"v{number}.csv")
    panel = pl.concat(
        [people(20 * wave).with_columns(year=2019 + wave) for wave in range(3)]
    ).rename({"patient": "person", "diagnosis": "illness"})
    panel.write_csv(to / "visits.csv")
    people(0).select("age", "sex", income=pl.lit("N")).with_columns(
        income=pl.when(pl.col("age") < 35).then("income").otherwise(pl.col("age").cast(pl.String))
    ).write_csv(to / "survey.csv")
    (to / "visits.toml").write_text(
        PLAN.replace('discharges.parquet"', 'visits.csv"\nwave = "year"')
        .replace('"discharges"', '"waves"')
        .replace("patient", "person")
        .replace("diagnosis", "illness")
        .replace('"releases"', '"others"')
    )
    for name, first in (("clinic", 0), ("others", 700)):
        patients(first).write_csv(to / f"{name}.csv")
    clinic_schema = px.Schema(
        identifier="patient", quasi=["age", "sex", "income", "education"], sensitive="diagnosis"
    )
    px.Series(
        "clinic",
        clinic_schema,
        px.Mondrian(k=5, l=2),
        to=to / "releases",
        ledger=f"sqlite:///{to}/answers.db",
    ).publish(to / "clinic.csv")
    return to


def patients(first: int, n: int = 600) -> pl.DataFrame:
    """Made-up patients with a number and an ordered word that may be asked about."""
    who = np.arange(first, first + n)
    return people(first, n).select(
        "patient",
        "age",
        pl.col("sex").str.to_uppercase(),
        "diagnosis",
        income=pl.Series(1000 + who * 37 % 90 * 10),
        education=pl.Series([["School", "Bachelor", "Doctorate"][i // 2 % 3] for i in who]),
    )


def test_every_command_is_found() -> None:
    """The pages have commands, and what is not tried is printed there."""
    assert len(COMMANDS) > 30 and {page for page, _ in COMMANDS} == {page.stem for page in PAGES}
    assert set(NOT_TRIED) <= {command for _, command in COMMANDS}


@pytest.mark.parametrize(
    ("page", "command"),
    [each for each in COMMANDS if each[1] not in NOT_TRIED],
    ids=lambda value: value[:60],
)
def test_a_command_does_what_its_page_says(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call, page: str, command: str
) -> None:
    """It is done as printed, in a fresh copy of the folder: exit code 0, and nothing on standard
    error but that reports are passed over.
    """
    here = Path(shutil.copytree(scene, tmp_path / "here"))
    monkeypatch.chdir(here)
    if page == "init":
        Path("plan.toml").unlink()
        Path("visits.toml").unlink()
    if page == "publish" or command.startswith(
        "phalanx check"
    ):  # the first release of a series of its own
        Path("plan.toml").write_text(
            PLAN.replace('"releases"', '"others"').replace('"discharges"', '"others"', 1)
        )
    if "reconcile" in command:
        shutil.move("older.db", "discharges.db")
    if "series import" in command:
        assert (
            call(
                "series",
                "export",
                "discharges",
                "--ledger",
                "discharges.db",
                "--to",
                "discharges.series",
            ).code
            == 0
        )
    words = [INSTEAD.get(word, word) for word in shlex.split(command)[1:]]
    words = [
        path
        for word in words
        for path in (
            sorted(glob(word)) if "*" in word and glob(word) else [word]  # noqa: PTH207 - as a shell does it
        )
    ]
    done = call(*words)
    assert done.code == 0, done.err
    assert (
        "report(s) beside the releases are passed over" in done.err
        if any(word.endswith(".html") and word not in command for word in words)
        else not done.err
    )


@pytest.mark.parametrize("command", [command for page, command in COMMANDS if page == "init"])
def test_a_plan_that_init_wrote_publishes(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call, command: str
) -> None:
    """What the page of init prints, and then publish: the plan is good as it is, and its ledger is
    a file of its own, never the source.
    """
    here = Path(
        shutil.copytree(
            scene,
            tmp_path / "here",
            ignore=shutil.ignore_patterns(
                "plan.toml", "visits.toml", "releases", "discharges.db*", "visits.db*"
            ),
        )
    )
    monkeypatch.chdir(here)
    source = Path("clinic.db").read_bytes()
    words = shlex.split(command)[1:]
    assert call(*words).code == 0
    plan = words[words.index("--to") + 1] if "--to" in words else "plan.toml"
    done = call("publish", plan)
    assert done.code == 0, done.err
    assert Path("clinic.db").read_bytes() == source
    assert Plan.read(plan).ledger_url() != f"sqlite:///{here.resolve()}/clinic.db"


def test_the_source_is_no_ledger(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call
) -> None:
    """A plan whose ledger would be written into its own source is refused, and the source stays as
    it is.
    """
    here = Path(
        shutil.copytree(scene, tmp_path / "here", ignore=shutil.ignore_patterns("releases"))
    )
    monkeypatch.chdir(here)
    source = Path("clinic.db").read_bytes()
    where = 'url = "sqlite:///clinic.db"\nquery = "select * from discharges"'
    Path("plan.toml").write_text(
        PLAN.replace('name = "discharges"', 'name = "clinic"').replace(
            'path = "discharges.parquet"', where
        )
    )
    done = call("publish", "plan.toml")
    assert (done.code, done.out) == (2, "")
    assert (
        "the ledger would be written into the database that is the source; name another one under"
        " [ledger] url" in done.err
    )
    assert Path("clinic.db").read_bytes() == source
