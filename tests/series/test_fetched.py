# SPDX-License-Identifier: Apache-2.0
"""Rows of a query, or of a CSV file, that the memory does not hold are published in parts, as those
of a Parquet file.
"""

import sqlite3

import numpy as np
import pytest

from phalanx import Mondrian, Plan, Schema, Series
from phalanx.data.sources.source import read_source
from phalanx.engines import choosing
from phalanx.errors import MethodError, SourceError
from phalanx.verification.check import verify

METHODS = {
    "mondrian": "k = 5",
    "m-invariance": "m = 2",
    "anatomy": "l = 2",
}
WHOLE = {"mutual-cover": "delta = 0.2\nk = 5"}


def plan(folder, method, more=""):
    """A plan of a query, and its database with 9,000 persons."""
    rng = np.random.default_rng(28)
    rows = zip(range(9_000), *rng.integers(0, [[60], [40], [9]], (3, 9_000)).tolist(), strict=True)
    with sqlite3.connect(folder / "d.db") as database:
        database.execute("create table t (person integer, age integer, zip integer, ill text)")
        database.executemany("insert into t values (?, ?, ?, 'i' || ?)", rows)
    database.close()
    (folder / "plan.toml").write_text(f"""
[series]
name = "s"
[source]
url = "sqlite:///d.db"
query = "select * from t"
[schema]
identifier = "person"
quasi = ["age", "zip"]
sensitive = "ill"
[method]
name = "{method}"
{(METHODS | WHOLE)[method]}
[publish]
to = "out"
{more}
""")
    return Plan.read(folder / "plan.toml")


@pytest.mark.parametrize("method", METHODS)
def test_rows_that_do_not_fit_are_published_in_parts(tmp_path, monkeypatch, method):
    """By the estimate alone, again and again; the check of the releases holds with their ledger."""
    monkeypatch.setattr(choosing, "memory_left", lambda: 8_900 * 4 * 170)
    of = plan(tmp_path, method)
    released = [of.publish(), of.publish()]
    for release in released:
        assert len(release.manifest.parts) > 1
        assert release.manifest.rows - release.manifest.counterfeits == 9_000
    checked = verify([r.path for r in released], ledger=of.ledger_url())
    assert checked.holds
    assert {path.name for path in tmp_path.iterdir()} == {
        *("d.db", "out", "plan.toml", "s.db", "s.db.key", "s.db.mark")
    }


def test_a_csv_file_that_does_not_fit_is_published_in_parts(tmp_path, monkeypatch):
    """As the rows of a query; in one piece where it does."""
    of = plan(tmp_path, "mondrian")
    read_source("sqlite:///" + str(tmp_path / "d.db"), query="select * from t").write_csv(
        tmp_path / "t.csv"
    )
    text = (tmp_path / "plan.toml").read_text()
    source = 'url = "sqlite:///d.db"\nquery = "select * from t"'
    (tmp_path / "plan.toml").write_text(text.replace(source, 'path = "t.csv"'))
    of = Plan.read(tmp_path / "plan.toml")
    assert of.publish().manifest.parts == []
    monkeypatch.setattr(choosing, "memory_left", lambda: 8_900 * 4 * 170)
    release = of.publish()
    assert len(release.manifest.parts) > 1
    assert verify([release.path]).holds


def test_a_csv_file_by_its_path_is_published_in_parts(tmp_path, monkeypatch):
    """Without a plan, too, whose dialect is found in all of the file."""
    plan(tmp_path, "mondrian")
    table = read_source("sqlite:///" + str(tmp_path / "d.db"), query="select * from t")
    table.write_csv(tmp_path / "t.csv", separator=";")
    schema = Schema(identifier="person", quasi=["age", "zip"], sensitive="ill")
    series = Series("one", schema, Mondrian(k=5), to=tmp_path / "out")
    assert series.publish(tmp_path / "t.csv").manifest.parts == []
    monkeypatch.setattr(choosing, "memory_left", lambda: 8_900 * 4 * 170)
    assert len(series.publish(tmp_path / "t.csv").manifest.parts) > 1
    assert series.verify().holds


def test_rows_that_fit_are_in_one_piece(tmp_path):
    """With a page; where the plan asks for parts, there are some."""
    assert plan(tmp_path, "mondrian").publish().manifest.parts == []
    (tmp_path / "other").mkdir()
    of = plan(tmp_path / "other", "mondrian", 'engine = "out-of-core"')
    assert of.check().rows == 9_000
    assert of.publish().manifest.parts


def test_a_method_that_needs_the_whole_table_says_so(tmp_path):
    """Where the plan asks for parts, before a row is read."""
    of = plan(tmp_path, "mutual-cover", 'engine = "out-of-core"')
    with pytest.raises(MethodError, match="needs the whole table in memory"):
        of.publish()


def test_a_query_without_rows_says_so(tmp_path):
    """In parts as in one piece."""
    for more in ("", 'engine = "out-of-core"'):
        plan(tmp_path, "mondrian", more)
        text = (tmp_path / "plan.toml").read_text().replace("from t", "from t where 0")
        (tmp_path / "plan.toml").write_text(text)
        with pytest.raises(SourceError, match="the table has no rows"):
            Plan.read(tmp_path / "plan.toml").publish()
        (tmp_path / "d.db").unlink()
