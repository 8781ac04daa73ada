# SPDX-License-Identifier: Apache-2.0
"""The defaults on other tables run without any data."""

from support.scripts import run_script, tables_of

MADE_UP = ["skewed", "zero-inflated", "clustered", "few values", "many values", "health panel"]


def test_each_part_has_lines_of_every_table_that_is_there():
    """Without the data folder the made-up tables and the health panel are measured, in order, and
    the patients are left out; cuts at medians are what others stand beside.
    """
    ran = run_script("other_tables/other_tables.py", "--rows", 600, data=None)
    assert ran.returncode == 0, ran.stderr
    found = tables_of(ran.stdout)
    assert list(found) == ["### regions", "### widths", "### cuts"]
    for part in ("### widths", "### cuts"):
        assert list(dict.fromkeys(row[0] for row in found[part])) == MADE_UP
    assert {row[0] for row in found["### regions"]} <= set(MADE_UP)
    assert len(found["### regions"]) > 3
    medians = [row for row in found["### widths"] if row[1:3] == ["strict", "median"]]
    assert {(row[4], row[6]) for row in medians} == {("+0%", "1.0")}
