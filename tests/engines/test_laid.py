# SPDX-License-Identifier: Apache-2.0
"""Tables that wait on the disk are what they were, in any order, and leave no file."""

import polars as pl

from phalanx.engines.laid import Laid


def test_tables_are_read_back_as_they_were(tmp_path):
    """One without rows, keyed hashes, texts; while they wait, no file has a name."""
    tables = {
        "none": pl.DataFrame(schema={"person": pl.Binary, "group": pl.Int64}),
        "hashes": pl.DataFrame({"person": [bytes(16), b"x" * 16], "group": [1, 2]}),
        "texts": pl.DataFrame({"value": ["a value of many letters", None]}),
    }
    with Laid[str](tmp_path) as laid:
        for name, table in tables.items():
            laid.lay(name, table)
        assert list(laid) == list(tables)
        assert len(laid) == 3
        assert list(tmp_path.iterdir()) == []
        for name in reversed(tables):
            assert laid[name].equals(tables[name])
            assert laid[name].schema == tables[name].schema
