# SPDX-License-Identifier: Apache-2.0
"""A publication loads what it needs and no more: to load is most of what a small table waits for."""

import gc
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
from typer.testing import CliRunner

from phalanx.cli import app

NOT_NEEDED = (
    "scipy.linalg",
    "pandas",
    "pyarrow.compute",
    "numba.np.arraymath",
    "pyspark",
    "phalanx.engines.spark.running",
    "phalanx.series.on_spark",
    "phalanx.guarantees.global_guarantee.guarantee",
    "phalanx.adversaries.groups.posterior",
    "phalanx.adversaries.minimality.adversary",
    "opendp",
    "sklearn",
)
RUN = """
import atexit, gc, sys
from phalanx import cli
atexit.register(lambda: print("kept from the search for cycles:", gc.get_freeze_count() > 10_000))
named = sys.argv[2:]
del sys.argv[2:]
sys.argv[:] = ["phalanx", "publish", sys.argv[1], "--quiet"]
try:
    cli.main()
finally:
    print("loaded:", *(name for name in named if name in sys.modules))
"""


def test_a_publication_loads_what_it_needs(ward) -> None:
    """Of a table of Parquet, here, with k alone, its check, its ledger and its report; where kernels
    were compiled before.
    """
    rows = range(2_000)  # of fewer than 1,001 a report plays adversaries
    table = {"who": rows, "age": [i % 50 for i in rows], "zip": [i % 7 for i in rows]}
    pl.DataFrame(table | {"ill": ["abcd"[i % 4] for i in rows]}).write_parquet(
        ward.path / "t.parquet"
    )
    ward.plan(path="t.parquet", method='name = "mondrian"\nk = 2')

    shutil.copytree(ward.path, ward.path / "first")

    def loaded(folder: Path) -> list[str]:
        made = subprocess.run(
            [sys.executable, "-c", RUN, "plan.toml", "numba", "phalanx.report", *NOT_NEEDED],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert made.stderr == ""
        *_, modules, end = made.stdout.splitlines()
        assert end == "kept from the search for cycles: True"
        return modules.split()[1:]

    loaded(ward.path / "first")  # compiles, where nobody did before
    assert loaded(ward.path) == ["numba", "phalanx.report"]


def test_the_python_that_is_named_takes_no_module_of_the_working_folder(tmp_path: Path) -> None:
    """``python -m phalanx``, where what lies beside a table has the name of a library."""
    (tmp_path / "typer.py").write_text("raise SystemExit('a stranger')")
    made = subprocess.run(
        [sys.executable, "-m", "phalanx", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("phalanx ")


def test_the_studio_looks_for_cycles_as_any_program_that_runs_for_hours(monkeypatch) -> None:
    """A command that is soon done looks for them rarely; the studio would keep them."""
    from phalanx.studio import serving

    before, seen = gc.get_threshold(), []
    monkeypatch.setattr(serving, "place_of", lambda *_, **__: None)
    monkeypatch.setattr(serving, "serve", lambda *_, **__: seen.append(gc.get_threshold()))
    gc.set_threshold(100_000, 20, 100)
    try:
        assert CliRunner().invoke(app, ["studio"]).exit_code == 0
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
    assert [each[0] for each in seen] == [700]
