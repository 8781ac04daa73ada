# SPDX-License-Identifier: Apache-2.0
"""The two functions that every engine runs, and the look that comes before them."""

import inspect
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from phalanx import Schema, Tree
from phalanx.engines.cells import Cells, Look, sampled_share
from phalanx.randomness import Randomness

SCHEMA = Schema(
    quasi=["n", "day", "c", "t"],
    sensitive="ill",
    hierarchies={"t": Tree.of_mapping({"north": ["b", "a"], "south": ["c"]})},
    missing="value",
)


def people(rows=4_000):
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "n": pl.Series(rng.integers(0, 90, rows)),
            "day": pl.Series(rng.integers(0, 900, rows)).cast(pl.Date),
            "c": pl.Series(rng.choice(["x", "y", "z"], rows)),
            "t": pl.Series(rng.choice(["a", "b", "c"], rows)),
            "ill": pl.Series(rng.choice(["flu", "gout"], rows)),
        }
    )
    gaps = pl.Series(rng.random(rows) < 0.1)
    return frame.with_columns(
        pl.when(gaps).then(None).otherwise(pl.col(q)).alias(q) for q in ("n", "c")
    )


def stream(task="test"):
    return Randomness.seeded(1).stream(task)


def test_looks_at_parts_add_up_to_one_at_all():
    """Whatever the parts, one of which has no rows, another no value of an attribute: attributes
    reach as far, and rows are in the same cells.
    """
    frame = people()
    whole = Look(SCHEMA, Fraction(1))
    whole.see(frame, stream())
    merged = Look(SCHEMA, Fraction(1))
    nothing = frame[:300].with_columns(n=pl.lit(None, dtype=pl.Int64))
    for part in (frame[300:1_000], nothing, frame[:0], frame[:300], frame[1_000:]):
        look = Look(SCHEMA, Fraction(1) if part is not nothing else Fraction(0))
        look.see(part, stream())
        merged.add(look.reach(), look.drawn())
    merged.add(Look(SCHEMA, Fraction(1)).reach())
    assert merged.reach().equals(whole.reach())
    one, other = whole.cells(4_000, 500), merged.cells(4_000, 500)
    assert one.root.end > 6
    assert one.tag(frame, stream()).tolist() == other.tag(frame, stream()).tolist()
    assert one.tag(frame, stream()).tolist() == merged.along(one.root).tag(frame, stream()).tolist()


def test_a_cell_is_microdata_that_reach_as_far_as_the_table():
    """The rows of a cell, in their order, over domains of the whole table."""
    frame = people()
    look = Look(SCHEMA, sampled_share(frame.height))
    look.see(frame, stream())
    cells = look.cells(frame.height, 500)
    tags = cells.tag(frame, stream())
    part = frame.filter(pl.Series(tags == 2))
    made = cells.microdata(part)
    assert made.persons is None
    for name in SCHEMA.quasi:
        column = made.columns[name]
        assert column.domain.values.gather(column.codes).to_list() == part[name].to_list()
    reach = made.columns["n"].domain.values
    assert (reach.min(), reach.max()) == (frame["n"].min(), frame["n"].max())


def test_a_tag_is_shown_no_sensitive_value():
    """Tags are the same where the sensitive column is not there, and chance needs no column."""
    frame = people()
    look = Look(SCHEMA, Fraction(1, 2))
    look.see(frame.drop("ill"), stream())
    cells = look.cells(frame.height, 500)
    assert (cells.tag(frame, stream()) == cells.tag(frame.drop("ill"), stream())).all()
    assert list(inspect.signature(cells.tag).parameters) == ["batch", "stream"]
    dealt = Cells.by_chance(SCHEMA, 4_000, 500)
    sizes = np.bincount(dealt.tag(pl.DataFrame({"": np.zeros(4_000)}), stream()))
    assert len(sizes) == 8
    assert sizes.min() > 400


@pytest.mark.parametrize("rows", [1, 10, 200_000, 200_001, 10**9])
def test_about_so_many_rows_are_sampled(rows):
    """As many as are there, and at most 200,000 on average."""
    assert sampled_share(rows) * rows == min(rows, 200_000)
