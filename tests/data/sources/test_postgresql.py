# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL as a source, on a private server."""

import tempfile
from datetime import date

import polars as pl
import pytest

import phalanx as px
from phalanx.data.sources.source import read_source
from phalanx.engines.fetched import Query
from phalanx.errors import SourceError
from support.postgresql_server import binaries, server

pytest.importorskip(
    "adbc_driver_postgresql",
    reason="the PostgreSQL driver is not installed; pip install 'phalanx[postgres]'",
)
pytestmark = pytest.mark.skipif(
    binaries() is None,
    reason="no PostgreSQL server is installed on this machine (initdb is not found)",
)


@pytest.fixture(scope="module")
def url():
    import adbc_driver_postgresql.dbapi as postgresql

    with (
        tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder,
        server(folder) as url,
    ):  # a socket's path must be short
        with postgresql.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE patients (id bigint, age int, zip text, born date, weight numeric,"
                " share double precision, alive boolean)"
            )
            cursor.execute(
                "INSERT INTO patients VALUES (1, 21, '01234', '2001-02-03', 70.5, 'NaN', true), (2,"
                " NULL, '', NULL, NULL, NULL, false)"
            )
            connection.commit()
        yield url


def test_a_table_comes_with_its_types(url):
    """Numbers, texts, dates and missing values arrive as they are."""
    frame = read_source(
        url, query="SELECT id, age, zip, born, share, alive FROM patients ORDER BY id"
    )

    assert frame["id"].to_list() == [1, 2]
    assert frame["age"].to_list() == [21, None]
    assert frame["zip"].to_list() == ["01234", ""]
    assert frame["born"].to_list() == [date(2001, 2, 3), None]
    assert frame["share"].is_nan().to_list() == [True, None]
    assert [str(v).lower() for v in frame["alive"].to_list()] == ["true", "false"]


def test_exact_decimals_are_numbers_or_refused(url):
    """A numeric column keeps its values."""
    values = read_source(url, query="SELECT weight FROM patients ORDER BY id")["weight"].to_list()

    assert [None if v is None else float(v) for v in values] == [70.5, None]


def test_a_source_is_only_read(url):
    """A query that would change the database is refused, and changes nothing."""
    with pytest.raises(SourceError, match="refuses the query"):
        read_source(url, query="DELETE FROM patients RETURNING id")

    assert read_source(url, query="SELECT count(*) AS n FROM patients")["n"].to_list() == [2]


def test_a_wrong_query_is_one_sentence(url):
    """What the database says about the query is passed on, without the query's own words."""
    with pytest.raises(SourceError, match=r"the query of the source \(no such relation\); try"):
        read_source(url, query="SELECT * FROM patient")


def test_no_server_is_one_sentence():
    """A server that is down gives one sentence without the password."""
    with pytest.raises(SourceError, match="cannot be opened") as refused:
        read_source("postgresql://ann:secret@/postgres?host=/nowhere", query="SELECT 1")

    assert "secret" not in str(refused.value)


def test_rows_that_do_not_fit_are_the_same_on_the_disk(url, tmp_path):
    """Of all types that it has."""
    sql = "SELECT * FROM patients ORDER BY id"
    laid = Query(url, sql).fetch(lambda *_: False, tmp_path)
    assert pl.concat(laid.each(laid.names)).equals(read_source(url, query=sql))


def test_exact_decimals_are_numbers(url):
    """As whole numbers where they are declared so, else as floats; as text where that is declared."""
    exact = (
        "SELECT i::numeric(18,0) AS a, (i % 9 * 1.5)::numeric(6,1) AS b, avg(i) OVER () AS c,"
        " 'NaN'::numeric AS d, NULL::numeric AS e, (i * 0.1)::numeric AS f"
        " FROM generate_series(999999999999999998::bigint, 999999999999999999) i"
    )
    with pytest.raises(SourceError, match=r"column 'c' has decimals beyond 2\^53"):
        read_source(url, query=exact)
    frame = read_source(
        url,
        query=exact.replace("999999999999999998::bigint, 999999999999999999", "1, 2"),
        text=["f"],
    )
    assert dict(frame.schema) == {
        "a": pl.Int64, "b": pl.Float64, "c": pl.Float64, "d": pl.Float64, "e": pl.Float64, "f": pl.String,
    }  # fmt: skip
    assert frame["a"].to_list() == [1, 2] and frame["b"].to_list() == [1.5, 3.0]
    assert frame["c"].to_list() == [1.5, 1.5] and frame["d"].is_nan().all()
    assert frame["e"].to_list() == [None, None] and frame["f"].to_list() == ["0.1", "0.2"]
    large = "SELECT i::numeric(18,0) AS a FROM generate_series(999999999999999998, 999999999999999999) i"
    assert read_source(url, query=large)["a"].to_list() == [10**18 - 2, 10**18 - 1]


def test_intervals_of_decimals_are_of_numbers(url):
    """And not along the alphabet, by which 149 comes before 45."""
    sql = "SELECT i AS id, (40 + i * 37 % 110)::numeric(6,1) AS weight, i % 4 AS ill FROM generate_series(1, 400) i"
    release = px.publish(
        read_source(url, query=sql),
        px.Schema(identifier="id", quasi=["weight"], sensitive="ill"),
        px.Mondrian(k=20),
        seed=1,
    )
    table = release.table
    assert (table["weight_low"] <= table["weight_high"]).all()
    assert (table["weight_high"] - table["weight_low"]).max() < 20


def test_money_is_refused(url):
    """Of which the driver gives cents."""
    with pytest.raises(SourceError, match="column 'm' is of the type money"):
        read_source(url, query="SELECT 1.5::numeric::money AS m")


def test_uuids_are_as_they_are_written(url):
    """As an identifier may be one."""
    uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    frame = read_source(url, query=f"SELECT '{uuid}'::uuid AS u, NULL::uuid AS v")
    assert frame.rows() == [(uuid, None)]
