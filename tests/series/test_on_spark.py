# SPDX-License-Identifier: Apache-2.0
"""Tables on Spark, by a Spark that is here: `make spark` runs this in an environment of its own."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from phalanx import Mondrian, Schema, Series, Slicing, verify
from phalanx.data.sources.available_memory import memory_held
from phalanx.errors import ExtraError, MethodError, PlanError, SourceError
from phalanx.release.folder import Release, digest_of
from support.scripts import EXPERIMENTS
from support.staying_cases import tables

sys.path.insert(0, str(EXPERIMENTS / "spark"))
from cluster import standalone

MARKER = "Zq7Marker"
SCHEMA = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
HAS_SPARK = importlib.util.find_spec("pyspark") is not None
HAS_JAVA = shutil.which("java") is not None
on_spark = pytest.mark.skipif(
    not (HAS_SPARK and HAS_JAVA),
    reason="no Spark here: PySpark or Java is missing; `make spark` brings PySpark",
)
MEMORY = int(5 * 170 * 2_500 / 0.4) + 1
"""Of a worker, so that a cell has 2,500 rows."""


def people(rows=12_000, marked=False):
    """Persons whose illness goes with their age a little."""
    rng = np.random.default_rng(19)
    age = rng.integers(0, 80, rows)
    mark = MARKER if marked else ""
    return pl.DataFrame(
        {
            "who": pl.Series([f"{mark}{n}" for n in rng.permutation(rows)]),
            "age": age,
            "sex": pl.Series(rng.choice([f"{mark}f", f"{mark}m"], rows)),
            "zip": rng.integers(0, 400, rows) * 25,
            "ill": pl.Series([f"{mark}{n}" for n in (age // 20 + rng.integers(0, 8, rows)) % 9]),
        }
    )


def series(folder, method, **changes):
    settings = {"engine": "spark", "memory_limit": MEMORY, "spark_master": "local[2]"} | changes
    return Series("s", SCHEMA, method, to=folder / "out", **settings)


def run(folder, script, *words, **environment):
    """A script in a process of its own, as each has one Spark; all that it and Spark say."""
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{BEGIN}\n{script}", str(folder), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=os.environ | environment,
    )
    return made.returncode, made.stdout + made.stderr


BEGIN = f"""
import sys
from pathlib import Path
from phalanx import (
    Anatomy, GlobalGuarantee, MInvariance, Mondrian, SafeSampling, Schema, Series, Slicing,
)
here, MEMORY = Path(sys.argv[1]), {MEMORY}
def publish(name, method, **changes):
    schema = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
    settings = dict(engine="spark", memory_limit=MEMORY, spark_master="local[2]", seed=3)
    made = Series(name, schema, method, to=here / "out", **settings | changes)
    return made.publish(here / "t.parquet")
"""


def digests(release):
    return [(file.name, file.sha256) for file in Release.read(release).manifest.files]


def loss(table):
    """The mean width of the published intervals of numbers, of the whole range."""
    return sum(
        (table[f"{name}_high"] - table[f"{name}_low"]).mean() / reach
        for name, reach in (("age", 79), ("zip", 9_975))
    )


KILLED = """
import os, signal
import phalanx.series.on_spark as on_spark
publish("clean", Mondrian(k=5))
draft = on_spark.draft_cell
def killed(of, method, drafts, at, microdata, rng):
    made = draft(of, method, drafts, at, microdata, rng)
    died = here / "died"
    if at == 2 and not died.exists():
        died.write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return made
on_spark.draft_cell = killed
publish("killed", Mondrian(k=5))
"""


@on_spark
@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    """A worker dies just after it wrote a cell: the files are those of a run in which none died, byte
    by byte, so that nothing is in them twice and nothing is lost. Checks hold, the ledger goes on,
    and nothing lies beside the release.
    """
    people().write_parquet(tmp_path / "t.parquet")
    code, said = run(tmp_path, KILLED)
    assert code == 0, said
    assert (tmp_path / "died").exists()
    clean, killed = tmp_path / "out" / "clean-1", tmp_path / "out" / "killed-1"
    assert [d for _, d in digests(clean)] == [d for _, d in digests(killed)]
    assert len(digests(clean)) > 4
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["clean-1", "killed-1"]
    whole = Release.read(killed).form
    assert whole.rows == 12_000
    assert (whole.table["ill"].sort() == people()["ill"].sort()).all()
    checked = verify(killed, ledger=f"sqlite:///{tmp_path}/killed.db", allow_seeded=True)
    assert checked.holds
    assert verify(
        killed, originals=[tmp_path / "t.parquet"], identifier="who", allow_seeded=True
    ).holds


EXECUTOR = """
import os, signal, time
import phalanx.series.on_spark as on_spark
from pyspark.sql import SparkSession
master = sys.argv[2]
spark = SparkSession.builder.master(master).getOrCreate()
publish("clean", Mondrian(k=5), spark_master=master)
draft = on_spark.draft_cell
def killed(of, method, drafts, at, microdata, rng):
    died = here / "died"
    if at == 2 and not died.exists():
        with open(f"/proc/{os.getppid()}/stat") as stat:
            executor = int(stat.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{executor}/cmdline") as command:
            assert "CoarseGrainedExecutorBackend" in command.read()
        died.write_text(str(executor))
        os.kill(executor, signal.SIGKILL)
    return draft(of, method, drafts, at, microdata, rng)
on_spark.draft_cell = killed
publish("killed", Mondrian(k=5), spark_master=master)
"""


@on_spark
@pytest.mark.slow
def test_an_executor_that_is_killed_changes_nothing(tmp_path):
    """On a cluster of two executors one dies while it solves a cell: the publish goes on to its end,
    and the files are those of a run in which none died, byte by byte.
    """
    (tmp_path / "t.parquet").mkdir()
    for number, frame in enumerate(people().iter_slices(3_000)):
        frame.write_parquet(tmp_path / "t.parquet" / f"{number}.parquet")
    with standalone(tmp_path / "cluster") as (master, environment):
        code, said = run(tmp_path, EXECUTOR, master, **environment)
    assert code == 0, said
    assert (tmp_path / "died").exists()
    clean, killed = tmp_path / "out" / "clean-1", tmp_path / "out" / "killed-1"
    assert [d for _, d in digests(clean)] == [d for _, d in digests(killed)]
    assert len(digests(clean)) > 4
    assert (Release.read(killed).form.table["ill"].sort() == people()["ill"].sort()).all()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["clean-1", "killed-1"]


EACH = """
methods = {"diverse": Mondrian(k=5, l=3), "anatomy": Anatomy(l=3), "k": Mondrian(k=5)}
methods |= {"named": Slicing(l=2, columns=[["age", "sex", "zip"], ["ill"]])}
methods |= {"sliced": Slicing(l=2, columns=2, sensitive_column_size=1)}
for name, method in methods.items():
    made = publish(name, method, seed=None, memory_limit=3 * MEMORY)
    assert all(v.holds for v in made.checks), made.checks
    assert isinstance(method, Slicing) or {v.result for v in made.checks} <= {"holds", "stated"}
    assert [v.worst for v in made.checks if v.name == "truth"] == [0]
again = publish("k", Mondrian(k=5), seed=None)
print(again.number, len(again.manifest.parts), again.form.rows)
"""


@on_spark
@pytest.mark.slow
def test_no_row_stands_in_what_spark_writes_down(tmp_path):
    """At the level of all that is logged, with Spark's own record of events: no value of a row is in
    logs, events, plans, names of files, or in what a failed publish says; nor in the files that are
    left.
    """
    events, conf = tmp_path / "events", tmp_path / "conf"
    events.mkdir()
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.dir file:{events}\nspark.log.level ALL\n"
    )
    (conf / "log4j2.properties").write_text(
        "rootLogger.level = all\nrootLogger.appenderRef.file.ref = file\nappender.file.type = File\n"
        f"appender.file.name = file\nappender.file.fileName = {tmp_path}/spark.log\n"
        "appender.file.layout.type = PatternLayout\nappender.file.layout.pattern = %p %c: %m%n%ex\n"
    )
    frame = people(marked=True)
    frame.write_parquet(tmp_path / "t.parquet")
    twice = (
        'publish("s", Mondrian(k=5, l=2)); publish("m", MInvariance(m=2), memory_limit=2 * MEMORY)'
    )
    code, said = run(tmp_path, twice, SPARK_CONF_DIR=str(conf))
    assert code == 0, said
    frame.with_columns(ill=pl.lit(MARKER)).write_parquet(tmp_path / "t.parquet")
    failed, refusal = run(tmp_path, 'publish("f", Mondrian(k=5, l=2))', SPARK_CONF_DIR=str(conf))
    assert failed == 1
    assert "NotEligible" in refusal
    log = (tmp_path / "spark.log").read_bytes()
    assert len(log) > 100_000
    written = [path for path in events.rglob("*") if path.is_file()]
    assert written
    for content in (log, said.encode(), refusal.encode(), *(p.read_bytes() for p in written)):
        assert MARKER.encode() not in content
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["m-1", "s-1"]


FOLLOWED = """
import os, signal
from pyspark.sql import SparkSession
import phalanx.series.staying_on_spark as staying
draft = staying.draft_part
def killed(of, parts, drafts, now, at, microdata, rng):
    made = draft(of, parts, drafts, now, at, microdata, rng)
    died = here / "died"
    if parts.releases == 1 and at == 2 and not died.exists():
        died.write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return made
staying.draft_part = killed
spark = SparkSession.builder.master("local[2,4]").getOrCreate()
for number in range(3):
    for name, method in (("m", MInvariance(m=2)), ("g", GlobalGuarantee(l=3))):
        (here / f"t{number}.parquet").replace(here / "t.parquet")
        publish(name, method, seed=None, memory_limit=4 * MEMORY, spark_master=None)
        (here / "t.parquet").replace(here / f"t{number}.parquet")
import json
from phalanx import verify
for name in ("m", "g"):
    paths = [here / "out" / f"{name}-{number}" for number in (1, 2, 3)]
    checked = verify(paths, ledger=f"sqlite:///{here}/{name}.db", engine="spark")
    (here / f"{name}.json").write_text(json.dumps(checked.to_json()))
"""


@on_spark
@pytest.mark.slow
def test_persons_are_followed_from_release_to_release(tmp_path):
    """Some leave, move and return, and a worker dies just after it wrote a part: every check holds,
    from the ledger and from the tables, and each person is in one row of each table.
    """
    given = tables()
    for number, table in enumerate(given):
        table.write_parquet(tmp_path / f"t{number}.parquet")
    code, said = run(tmp_path, FOLLOWED, PYSPARK_PYTHON=sys.executable)
    assert code == 0, said
    assert (tmp_path / "died").exists()
    for name in ("m", "g"):
        paths = [tmp_path / "out" / f"{name}-{number}" for number in (1, 2, 3)]
        checked = verify(paths, ledger=f"sqlite:///{tmp_path}/{name}.db")
        assert checked.holds
        assert "release 3: persons and parts" in {v.name for v in checked.checks}
        said = json.loads((tmp_path / f"{name}.json").read_text())
        assert said == checked.to_json()
        assert verify(
            paths, ledger=f"sqlite:///{tmp_path}/{name}.db", originals=given, identifier="who"
        ).holds
        for path, table in zip(paths, given, strict=True):
            manifest = Release.read(path).manifest
            assert len(manifest.parts) > 3
            assert manifest.rows - manifest.counterfeits == table.height
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"{name}-{number}" for name in "gm" for number in (1, 2, 3)
    ]


INTERRUPTED = """
import os, signal, threading, time
import phalanx.series.on_spark as on_spark
draft = on_spark.draft_cell
def slow(*words):
    (here / "begun").write_text("")
    time.sleep(5)
    return draft(*words)
def interrupt():
    while not (here / "begun").exists():
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
on_spark.draft_cell = slow
threading.Thread(target=interrupt, daemon=True).start()
try:
    publish("s", Mondrian(k=5))
except KeyboardInterrupt:
    print(signal.getsignal(signal.SIGINT).__name__)
"""


@on_spark
@pytest.mark.slow
def test_an_interruption_is_one(tmp_path):
    """Nothing is said of what Spark was asked meanwhile, and nothing is left."""
    people().write_parquet(tmp_path / "t.parquet")
    assert run(tmp_path, INTERRUPTED) == (0, "default_int_handler\n")
    assert (tmp_path / "begun").exists()
    assert not list((tmp_path / "out").iterdir())


NAMED = """
from phalanx.errors import SchemaError
schema = Schema(identifier="who", quasi=["age", "sex", "zip"], keep=["house no."],
                missing="value", drop=["ill"])
for engine in ("spark", "local"):
    asked = dict(to=here / "out", engine=engine, spark_master="local[2]" if engine == "spark" else None)
    for place in ("named", "not_named", "stored", "measured"):
        try:
            made = Series(f"{engine} {place}", schema, Mondrian(k=5), **asked).publish(
                here / f"{place}.parquet"
            )
            print("published", made.rows)
        except SchemaError as refusal:
            print("refused", refusal)
"""


@on_spark
@pytest.mark.slow
def test_who_is_named_is_asked_of_all_rows(tmp_path):
    """Spark says of a column what is said of it here, missing values aside; one in which
    most values come again, and hardly any in a cell, is published, and so are measures, of which one
    number at least has decimals.
    """
    rng = np.random.default_rng(7)
    for name, many in (("named", 12_000 * 40), ("not_named", 6_000)):
        houses = pl.Series("house no.", rng.integers(0, many, 12_000))
        table = people().with_columns(houses.replace(houses[0], None))
        table.write_parquet(tmp_path / f"{name}.parquet")
    numbers = houses.clone().cast(pl.Float64) * 0 + pl.Series(rng.permutation(12_000))
    for name, one in (("stored", np.nan), ("measured", 0.5)):
        table = people().with_columns(numbers.scatter(5, one))
        table.write_parquet(tmp_path / f"{name}.parquet")
    code, said = run(tmp_path, NAMED)
    assert code == 0, said
    told = [line for line in said.splitlines() if line.startswith(("refused", "published"))]
    assert told[:4] == told[4:]
    assert "'house no.' looks like an identifier" in told[0]
    assert "in 11999 rows" in told[0]
    assert told[1] == "published 12000"
    assert "'house no.' looks like an identifier" in told[2]
    assert "in 11999 rows" in told[2]
    assert told[3] == "published 12000"


SAMPLED = """
levels = {"age": {"low": 0, "high": 80, "width": 20}, "zip": {"low": 0, "high": 10_000, "width": 5_000}}
method = SafeSampling(epsilon=2, beta="1/2", k=24, scheme=levels, expected_rows=12_000,
                      budget={"epsilon": 4, "delta": 1e-3})
for _ in range(2):
    made = publish("d", method, seed=None, memory_limit=3 * MEMORY)
    assert all(v.holds for v in made.checks), made.checks
print(made.spent["releases"], made.rows)
"""


@on_spark
@pytest.mark.slow
def test_a_sample_is_drawn_and_counted_where_rows_are(tmp_path):
    """About half of the rows, other ones in the second release; both check with the ledger."""
    people(marked=True).write_parquet(tmp_path / "t.parquet")
    code, said = run(tmp_path, SAMPLED)
    assert code == 0, said
    releases, rows = said.split()[-2:]
    assert releases == "2"
    assert 4_000 < int(rows) < 7_000
    paths = [tmp_path / "out" / f"d-{number}" for number in (1, 2)]
    assert verify(paths, ledger=f"sqlite:///{tmp_path}/d.db").holds
    first, second = (Release.read(path).form.table for path in paths)
    assert not first.equals(second)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["d-1", "d-2"]


@on_spark
@pytest.mark.slow
def test_the_same_is_promised_and_no_more_is_lost(tmp_path):
    """Every method that divides keeps its guarantee on Spark, and k-anonymity loses no more than 3 %
    more than on one machine, with the same table; a second release follows on the first.
    """
    people(30_000).write_parquet(tmp_path / "t.parquet")
    code, said = run(tmp_path, EACH)
    assert code == 0, said
    assert said.split()[-3] == "2"
    local = series(
        tmp_path / "l",
        Mondrian(k=5),
        engine="local",
        spark_master=None,
        memory_limit=None,
        report=False,
    ).publish(tmp_path / "t.parquet")
    on_spark_too = Release.read(tmp_path / "out" / "k-2")
    assert len(on_spark_too.manifest.parts) > 6
    assert loss(on_spark_too.form.table) <= 1.03 * loss(local.form.table)
    diverse = Release.read(tmp_path / "out" / "diverse-1")
    whole = series(
        tmp_path / "sliced",
        Slicing(l=2, columns=2, sensitive_column_size=1),
        engine="local",
        spark_master=None,
        memory_limit=None,
        report=False,
    ).publish(tmp_path / "t.parquet")
    sliced = Release.read(tmp_path / "out" / "sliced-1")
    assert sliced.manifest.sliced == whole.manifest.sliced
    assert {g["name"] for g in diverse.manifest.guarantees} == {
        "k-anonymity",
        "frequency-l-diversity",
    }


CHECKED = """
import json, os
from pyspark.sql import SparkSession
from phalanx import verify
from phalanx.errors import ReleaseError
def found(name, **where):
    try:
        return verify(name, allow_seeded=True, **where).to_json()
    except ReleaseError as error:
        return str(error)
names = sorted(path.name for path in here.iterdir())
spark = SparkSession.builder.master("local[2]").getOrCreate()
os.chdir(here)
local = {name: found(name) for name in names}
there = {name: found(name, engine="spark") for name in names}
(here.parent / "found.json").write_text(json.dumps([local, there]))
"""


def tampered(folder, honest):
    """What a middleman may do with a release in parts, each in a folder of its own."""

    def copied(name):
        shutil.copytree(honest, folder / name)
        return folder / name, json.loads((folder / name / "release.json").read_text())

    def told(path, manifest, **tables):
        for name, table in tables.items():
            file = path / f"{name}.parquet"
            table.write_parquet(file, compression="zstd", compression_level=1, statistics=False)
        for file in manifest["files"]:
            file["sha256"] = digest_of(path / file["name"])
        (path / "release.json").write_text(json.dumps(manifest, indent=1) + "\n")

    copied("honest")
    path, _ = copied("bytes")
    for name in ("data-00004.parquet", "data-00002.parquet"):
        content = bytearray((path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (path / name).write_bytes(content)
    path, _ = copied("missing")
    (path / "data-00003.parquet").unlink()
    path, manifest = copied("small")
    table = pl.read_parquet(path / "data-00003.parquet")
    mine = pl.col("group") == table["group"][-1]
    fewer = pl.concat([table.filter(~mine), table.filter(mine)[:2]])
    manifest["parts"][2]["rows"] -= table.height - fewer.height
    manifest["rows"] -= table.height - fewer.height
    told(path, manifest, **{"data-00003": fewer})
    path, manifest = copied("moved")
    manifest["parts"][0]["rows"] += 1
    manifest["parts"][1]["rows"] -= 1
    told(path, manifest)


@on_spark
@pytest.mark.slow
def test_a_check_by_workers_finds_what_a_check_here_finds(tmp_path):
    """Honest or not, a release in parts gets the same verdicts, figures, cases and refusals from the
    workers of Spark, who find a relative path although they stand elsewhere; and the command ends
    with the same code and words.
    """
    folder = tmp_path / "checked"
    folder.mkdir()
    table = tmp_path / "t.parquet"
    people().write_parquet(table)
    settings = {"engine": "out-of-core", "spark_master": None, "report": False, "seed": 1}
    room = memory_held() + MEMORY
    made = series(tmp_path, Mondrian(k=5, l=3), memory_limit=room, **settings).publish(table)
    assert len(made.manifest.parts) > 4
    tampered(folder, made.path)
    code, said = run(folder, CHECKED, PYSPARK_PYTHON=sys.executable)
    assert code == 0, said
    here, there = json.loads((tmp_path / "found.json").read_text())
    assert there == here
    assert [name for name in here if isinstance(here[name], dict)] == ["honest", "small"]
    assert here["honest"]["holds"]
    assert not here["small"]["holds"]
    assert "data-00002.parquet was changed" in here["bytes"]
    for name, expected in (("small", 1), ("bytes", 2)):
        words = ["verify", str(folder / name), "--allow-seeded"]
        local, on_spark_too = (
            subprocess.run(
                [sys.executable, "-c", "from phalanx.cli import main; main()", *words, *more],
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            for more in ([], ["--engine", "spark", "--spark-master", "local[2]"])
        )
        assert local.returncode == on_spark_too.returncode == expected
        assert local.stdout == on_spark_too.stdout
        assert local.stderr == on_spark_too.stderr


STRANGE = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
publish("s", Mondrian(k=5), spark_master=None)
"""


@on_spark
@pytest.mark.slow
def test_workers_without_phalanx_are_named(tmp_path):
    """A session of the user's with another interpreter, which has PySpark and nothing of ours."""
    people().write_parquet(tmp_path / "t.parquet")
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    other.chmod(0o700)
    code, said = run(tmp_path, STRANGE, PYSPARK_PYTHON=str(other), PYTHONPATH="")
    assert code == 1
    assert "the workers of Spark do not have Phalanx" in said
    assert not list((tmp_path / "out").iterdir())


UNPACKED = """
import os
os.chdir(here / "unpacked")
publish("s", Mondrian(k=5))
"""


@on_spark
@pytest.mark.slow
def test_workers_take_no_code_from_the_working_folder(tmp_path):
    """A release may have been unpacked there, with a file that is called like a module."""
    people().write_parquet(tmp_path / "t.parquet")
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "unpacked" / "json.py").write_text("raise SystemExit(9)")
    code, said = run(tmp_path, UNPACKED)
    assert code == 0, said


ODDLY_NAMED = """
schema = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
to = here / 'my "releases"%20' / "é"
settings = dict(engine="spark", memory_limit=MEMORY, spark_master="local[2]")
made = Series("s", schema, Mondrian(k=5), to=to, **settings).publish(here / "a b*ä%20[1].parquet")
assert made.rows == 12_000, made.rows
"""


@on_spark
@pytest.mark.slow
def test_paths_mean_themselves(tmp_path):
    """Blanks, quotes, percent signs, letters beyond ASCII and signs of patterns, in the names of the
    source and of the folder of releases: that very file is read, and nothing lies elsewhere.
    """
    for name, rows in (("a b*ä%20[1].parquet", 12_000), ("a b+ä%201.parquet", 900)):
        with (tmp_path / name).open("wb") as file:
            people(rows).write_parquet(file)
    before = {path.name for path in tmp_path.iterdir()}
    code, said = run(tmp_path, ODDLY_NAMED)
    assert code == 0, said
    assert {path.name for path in tmp_path.iterdir()} - before == {'my "releases"%20'}
    to = tmp_path / 'my "releases"%20'
    assert {path.name for path in to.rglob("*") if path.is_dir()} == {"é", "s-1"}


STAMPED = """
schema = Schema(identifier="who", quasi=["age", "seen"], sensitive="ill", drop=["zip", "sex"])
settings = dict(engine="spark", memory_limit=MEMORY, spark_master="local[2]")
made = Series("s", schema, Mondrian(k=5), to=here / "out", **settings).publish(here / "t.parquet")
"""


@on_spark
@pytest.mark.slow
def test_timestamps_are_days_there_too(tmp_path):
    """Those of a published column in UTC, as Spark writes them, and of a dropped one anywhere."""
    hours = pl.datetime(2000, 1, 1) + pl.duration(hours=pl.col("zip"))
    stamped = people().with_columns(
        seen=hours.dt.replace_time_zone("UTC"), zip=hours.dt.replace_time_zone("Asia/Tokyo")
    )
    stamped.write_parquet(tmp_path / "t.parquet")
    code, said = run(tmp_path, STAMPED)
    assert code == 0, said
    made = tmp_path / "out" / "s-1"
    assert verify(made, originals=[tmp_path / "t.parquet"], identifier="who").holds
    assert Release.read(made).form.table["seen_low"].dtype == pl.Date


SESSIONS = """
import os
import threading
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from phalanx.errors import PhalanxError
begun = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
begun.sparkContext.setLogLevel("OFF")
schema = Schema(identifier="who", quasi=["age", "zip"], sensitive="ill", drop=["sex"])
def publish(name, source, schema=schema, **more):
    made = Series(name, schema, Mondrian(k=5), to=here / name, engine="spark", memory_limit=MEMORY, **more)
    return made.publish(source)
def refused(name, source, **more):
    try:
        publish(name, source, **more)
    except PhalanxError as error:
        return str(error)
    raise AssertionError(name)
frame = begun.read.parquet(str(here / "t.parquet"))
for name, source in (("frame", frame), ("path", here / "t.parquet")):
    beside = threading.Thread(target=publish, args=(name, source))
    beside.start()
    beside.join()
    assert (here / name / f"{name}-1").exists(), name
    assert begun.range(3).count() == 3 and frame.count() == 12_000
named = "who string, age long, sex string, zip long, ill string"
other = begun.read.schema(named).parquet(str(here / "named.parquet"))
made = publish("named", other)
assert made.form.table["ill"].null_count() == 0
assert begun.conf.get("spark.sql.caseSensitive") == "false"
assert "two columns called 'zip'" in refused("twice", frame.select("*", f.col("zip")))
stamped = frame.withColumn("zip", f.timestamp_seconds(f.col("zip") * 3600))
begun.conf.set("spark.sql.session.timeZone", "America/New_York")
assert "in the zone America/New_York" in refused("york", stamped)
begun.conf.set("spark.sql.session.timeZone", "UTC")
publish("utc", stamped)
elsewhere = begun.newSession()
elsewhere.conf.set("spark.sql.session.timeZone", "America/New_York")
theirs = elsewhere.read.parquet(str(here / "t.parquet"))
publish("theirs", theirs)
assert elsewhere.conf.get("spark.sql.session.timeZone") == "America/New_York"
begun.stop()
assert "was stopped" in refused("stopped", frame)
assert "does not start" in refused("nowhere", here / "t.parquet", spark_master="local[x]")
publish("again", here / "t.parquet", spark_master="local[2]")
"""


@on_spark
@pytest.mark.slow
def test_a_session_that_was_begun_stays_as_it_was(tmp_path):
    """Whatever thread publishes, and whichever session a frame is of; what its columns are called, and
    when its times are, is as the session sees it, or refused; and one that does not start is no end.
    """
    people().write_parquet(tmp_path / "t.parquet")
    people().rename({"ill": "Ill"}).write_parquet(tmp_path / "named.parquet")
    code, said = run(tmp_path, SESSIONS)
    assert code == 0, said


def test_a_check_where_there_is_no_spark_says_so(tmp_path, monkeypatch):
    """An engine that there is not, a master without its engine, and a missing extra."""
    for words, error, settings in (
        ("runs on local or on spark", PlanError, {"engine": "out-of-core"}),
        ("set engine = 'spark'", PlanError, {"spark_master": "local"}),
        ("needs the extra 'spark'", ExtraError, {"engine": "spark"}),
    ):
        monkeypatch.setitem(sys.modules, "pyspark", None)
        with pytest.raises(error, match=words):
            verify(tmp_path, **settings)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"engine": "local"}, PlanError, "set engine = 'spark'"),
        ({"table": "missing.parquet"}, SourceError, "there is no file"),
        ({"table": people(10)}, PlanError, "reads Parquet, or a data frame of Spark"),
        ({"memory_limit": 10}, MethodError, "too little for parts"),
        ({"method": Mondrian(k=2, t=0.3)}, MethodError, "with these parameters"),
        ({"formats": ("csv",)}, PlanError, "in parts is Parquet"),
    ],
)
def test_what_is_not_for_spark_is_refused_in_a_sentence(
    tmp_path, monkeypatch, changes, error, words
):
    """Before Spark is started, so that none needs to be here."""
    monkeypatch.setattr("phalanx.engines.choosing.require_extra", lambda *_: None)
    people(20).write_parquet(tmp_path / "t.parquet")
    method = changes.pop("method", Mondrian(k=2))
    table = changes.pop("table", tmp_path / "t.parquet")
    with pytest.raises(error, match=words):
        series(tmp_path, method, **changes).publish(table)
    assert not list((tmp_path / "out").glob("*"))


def test_a_missing_spark_is_named_with_its_extra(tmp_path, monkeypatch):
    """One sentence, and nothing is left."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    people(20).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        ExtraError, match=r"needs the extra 'spark'; run pip install 'phalanx\[spark\]'"
    ):
        series(tmp_path, Mondrian(k=2)).publish(tmp_path / "t.parquet")
