# SPDX-License-Identifier: Apache-2.0
"""A function called in workers, done here: a path means there what it means where it was asked for."""

from functools import partial
from pathlib import Path

import pytest

from phalanx.engines.spark.calling import refusing_spark, there
from phalanx.errors import PlanError, ReleaseError, SourceError


def words(path, number):
    return (path / f"{number}.txt").read_text()


def test_a_relative_path_is_that_of_the_process_that_asks(tmp_path):
    """And the worker stands afterwards where it stood."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "3.txt").write_text("three")
    before = Path.cwd()
    assert there(tmp_path, partial(words, Path("r")), 3) == "three"
    assert Path.cwd() == before


@pytest.mark.parametrize("folder", ["r", "nowhere"])
def test_a_folder_that_workers_do_not_see_is_named(tmp_path, folder):
    """Whether it is the release or the place where it was asked for."""
    (tmp_path / "r").mkdir()
    with pytest.raises(ReleaseError, match=r"the workers of Spark do not see .*; put the release"):
        there(tmp_path / folder, partial(words, Path("s")), 3)


class Sparks(Exception):
    """An error as PySpark raises it, with what it read."""


Sparks.__module__ = "pyspark.errors"


def test_what_spark_says_is_not_told():
    """But for a worker that lacks Phalanx, which is said with what to do."""
    with pytest.raises(SourceError, match=r"^Spark stopped \(Sparks\); its log says more") as told:  # noqa: SIM117
        with refusing_spark():
            raise Sparks("Zq7Marker")
    assert "Zq7Marker" not in str(told.value)
    with pytest.raises(PlanError, match="set PYSPARK_PYTHON"), refusing_spark():
        raise Sparks("ModuleNotFoundError: No module named 'phalanx'")
    with pytest.raises(ZeroDivisionError), refusing_spark():
        1 / 0  # noqa: B018 - a fault of ours stays what it is


def left(first: BaseException) -> None:
    """Something ends a question, and to leave it fails."""
    try:
        raise first
    finally:
        raise Sparks("the way to Java is closed")


def test_an_interruption_stays_one_where_leaving_fails():
    """What is asked of Java while an interrupted question is left may fail, and is not what is said;
    after anything else it is.
    """
    with pytest.raises(KeyboardInterrupt), refusing_spark():
        left(KeyboardInterrupt())
    with pytest.raises(SourceError, match="Spark stopped"), refusing_spark():
        left(ValueError("something else"))
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:  # after which it is tried again
        with pytest.raises(SourceError, match="Spark stopped"), refusing_spark():
            left(ValueError("something else"))


def test_a_source_in_which_spark_sees_nothing_is_named():
    """An empty folder, or a name that Spark passes over: what to do is said."""
    error = Sparks("Zq7Marker")
    error.getCondition = lambda: "UNABLE_TO_INFER_SCHEMA"
    told = r"sees no Parquet in the source.*\(nothing was published\)"
    with pytest.raises(SourceError, match=told), refusing_spark():
        raise error
