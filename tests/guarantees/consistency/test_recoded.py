# SPDX-License-Identifier: Apache-2.0
"""Recoded releases: their cells are those of the scheme and hold the rows that they count, and
whatever is not so is found.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.consistency import recoded
from phalanx.guarantees.consistency.recoded import Images, cell_faults
from phalanx.guarantees.consistency.recodings import Banded
from phalanx.guarantees.truth import check as truth
from phalanx.release.forms.recoded import Recoded
from support.perturbed_cases import of_form
from support.recoded_cases import (
    DAYS,
    LEVELS,
    LOWEST,
    PROMISE,
    SCHEMA,
    TOPS,
    attributes,
    beside,
    columns,
    encoded,
    image,
    people,
    publish,
    verdicts,
)
from support.work import lines

ROWS = people(400)
FEW = {"age": 2, "dose": 1, "since": 2, "job": 1, "zip": 2, "income": 3, "sex": 0, "ill": 0}
"""Levels at which many rows are alike."""


def of_levels(seed):
    """Levels at random, the whole range or the top among them."""
    rng = np.random.default_rng(seed)
    return {name: int(rng.integers(LOWEST.get(name, 0), top + 1)) for name, top in TOPS.items()}


def half(frame, seed=1):
    return np.flatnonzero(np.random.default_rng(seed).random(frame.height) < 0.5).tolist()


@pytest.mark.parametrize("seed", range(25))
def test_what_the_slow_twin_publishes_is_sound(tmp_path, seed):
    """At whatever levels, rows with missing values and values beyond the ranges among them: no cell
    is foreign, and every row is where it is said to be.
    """
    levels, frame = of_levels(seed), people(150, seed)
    made, groups = publish(frame, half(frame, seed), levels, 1 + seed % 3)
    release = made.written(tmp_path / "r")
    assert cell_faults(release.form) == [] and Images.of(release.form).strays == 0
    assert truth.check(release, encoded(frame), groups).holds
    assert verdicts(release)["consistency"].note == "columns, cells, order, files, chain"
    originals = Counter(image(row, levels) for row in frame.rows(named=True))
    images = Images.of(release.form)
    assert images.originals(Combinations.of(encoded(frame))).tolist() == [
        originals[row] for row in images.table.rows()
    ]


@pytest.mark.parametrize(("dense", "keys"), [(1, 1 << 62), (1, 1), (1 << 22, 1 << 62)])
def test_originals_are_counted_in_whatever_way(monkeypatch, dense, keys):
    """Few combinations of cells, many, and more than whole numbers can name give the same counts,
    of one level and of a partition.
    """
    monkeypatch.setattr(recoded, "_DENSE", dense)
    monkeypatch.setattr(recoded, "_MOST_KEYS", keys)
    microdata = encoded(ROWS)
    for levels in (FEW, LEVELS):
        made, _ = publish(ROWS, half(ROWS), levels, 1)
        originals = Counter(image(row, levels) for row in ROWS.rows(named=True))
        images = Images.of(made.form)
        assert images.originals(Combinations.of(microdata)).tolist() == [
            originals[row] for row in images.table.rows()
        ]


def test_originals_of_many_attributes_are_counted():
    """A hundred attributes, most of them whole, are told apart as few are: by the keys of their
    pieces, the last attribute first.
    """
    rng = np.random.default_rng(3)
    sizes = [3 if i in (4, 50, 99) else 1 for i in range(100)]
    codes = [rng.integers(0, 6, 500) for _ in sizes]
    piece_of = [np.arange(6) % size for size in sizes]
    pieces, times = recoded._counted(codes, piece_of, sizes, np.ones(len(codes[0]), dtype=np.int64))
    rows = zip(*(piece[code] for code, piece in zip(codes, piece_of, strict=True)), strict=True)
    assert dict(zip(map(tuple, pieces.tolist()), times.tolist(), strict=True)) == Counter(
        tuple(map(int, row)) for row in rows
    )


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_no_rows_are_a_sound_table(tmp_path, format):
    """A sample that shows nothing is a possible outcome, in either format."""
    made, groups = publish(ROWS, half(ROWS), LEVELS, 10**6)
    release = made.written(tmp_path / "r", (format,))
    assert release.form.rows == 0 and verdicts(release)["consistency"].holds
    assert truth.check(release, encoded(ROWS), groups).holds
    assert not truth.check(release, encoded(ROWS), np.ones(ROWS.height, dtype=np.int64)).holds


def test_a_csv_says_the_same(tmp_path):
    """Read from its CSV a release has the same cells, also where a column is empty."""
    made, groups = publish(ROWS, half(ROWS), LEVELS | {"income": 3}, 1)
    release = made.written(tmp_path / "r", ("csv",))
    assert (
        verdicts(release)["consistency"].holds and truth.check(release, encoded(ROWS), groups).holds
    )


STRAYS = {
    "age": [(25, 35), (20, 40), (20, 70), (90, 100), (10, 20), (None, None)],
    "dose": [(0.5, 1.9), (0.6, 1.2), (7.5, 8.2)],
    "job": ["judge", "*", "elsewhere"],
    "zip": ["0037", "*", "003**", "0***"],
    "income": [(0, 20000), (5000, 15000), (1, 10001)],
    "sex": ["*"],
    "ill": ["*"],
}
"""Cells that the levels of the scheme do not have: off the grid, of another level, too wide, cut at
the wrong end; and a null where 20 to 95 is all.
"""


@pytest.mark.parametrize(
    ("name", "cell"), [(name, cell) for name, cells in STRAYS.items() for cell in cells]
)
def test_cells_that_are_none_of_the_scheme(tmp_path, name, cell):
    """A row with one such cell is counted as a stray, and no other row is."""
    levels = LEVELS | ({"age": 2} if cell == (None, None) else {})
    made, _ = publish(ROWS, half(ROWS), levels, 1)
    row = dict(zip(made.form.table.columns, made.form.table.row(0), strict=True))
    row |= (
        dict(zip([f"{name}_low", f"{name}_high"], cell, strict=True))
        if isinstance(cell, tuple)
        else {name: cell}
    )
    release = made.with_rows([*made.form.table.rows(), tuple(row.values())]).written(tmp_path / "r")
    assert cell_faults(release.form) == [] and Images.of(release.form).strays == 1


def test_days_off_the_grid(tmp_path):
    """Days are looked at like numbers: an interval of one year is none of the cells of two."""
    made, _ = publish(ROWS, half(ROWS), LEVELS | {"since": 0}, 1)
    as_level_1 = made.with_scheme(
        "fixed", made.form.scheme["attributes"] | {"since": DAYS | {"level": 1}}
    )
    assert (
        Images.of(as_level_1.written(tmp_path / "r").form).strays
        == as_level_1.form.table["since_low"].is_not_null().sum()
    )


def broken_form(made, what):
    """A form that says something of its cells that cannot be, and what is said of it."""
    table, scheme = made.form.table, made.form.scheme
    entries = scheme["attributes"]
    return {
        "a column of another type": (
            replace(
                made.form, table=table.with_columns(pl.col("age_low", "age_high").cast(pl.Float64))
            ),
            "holds Float64 and not Int64",
        ),
        "a cell with one end": (
            replace(made.form, table=table.with_columns(age_high=pl.lit(None, dtype=pl.Int64))),
            "have one end",
        ),
        "no number": (
            replace(made.form, table=table.with_columns(dose_low=pl.lit(float("nan")))),
            "no end of a cell",
        ),
        "another order": (
            replace(made.form, table=table.reverse()),
            "not in the order of what they say",
        ),
        "a column more": (
            replace(made.form, table=table.with_columns(note=pl.lit("x"))),
            "columns of data are not those of the manifest",
        ),
        "an attribute that is kept": (
            replace(
                made.form,
                attributes=(
                    *made.form.attributes[:-1],
                    made.form.attributes[-1].model_copy(update={"role": "keep"}),
                ),
            ),
            "kept as it is",
        ),
        "an attribute without a recoding": (
            replace(made.form, scheme=scheme | {"attributes": dict(list(entries.items())[:-1])}),
            "not those that are published",
        ),
        "a recoding too many": (
            replace(made.form, scheme=scheme | {"attributes": entries | {"more": {"level": 0}}}),
            "not those that are published",
        ),
        "a word that is no choice": (
            replace(made.form, scheme=scheme | {"chosen": "well"}),
            "does not say how it was chosen",
        ),
        "a level too high": (
            replace(
                made.form,
                scheme=scheme | {"attributes": entries | {"age": entries["age"] | {"level": 3}}},
            ),
            "no recoding of 'age'",
        ),
        "no level": (
            replace(made.form, scheme=scheme | {"attributes": entries | {"sex": {}}}),
            "no recoding of 'sex'",
        ),
        "bands at level 0": (
            replace(made.form, scheme=scheme | {"attributes": entries | {"income": {"level": 0}}}),
            "no recoding of 'income'",
        ),
        "bands above their top": (
            replace(
                made.form,
                scheme=scheme | {"attributes": entries | {"income": {"level": TOPS["income"] + 1}}},
            ),
            "no recoding of 'income'",
        ),
        "nodes above their root": (
            replace(
                made.form,
                scheme=scheme | {"attributes": entries | {"sex": {"level": TOPS["sex"] + 1}}},
            ),
            "no recoding of 'sex'",
        ),
        "a level below 0": (
            replace(made.form, scheme=scheme | {"attributes": entries | {"sex": {"level": -1}}}),
            "no recoding of 'sex'",
        ),
        "widths that do not nest": (
            replace(
                made.form,
                scheme=scheme
                | {"attributes": entries | {"age": entries["age"] | {"widths": [10, 25]}}},
            ),
            "no recoding of 'age'",
        ),
        "a key that nobody knows": (
            replace(
                made.form,
                scheme=scheme | {"attributes": entries | {"age": entries["age"] | {"least": 17}}},
            ),
            "no recoding of 'age'",
        ),
    }[what]


BROKEN = [
    "a column of another type", "a cell with one end", "no number", "another order", "a column more", "an attribute that is kept",
    "an attribute without a recoding", "a recoding too many", "a word that is no choice", "a level too high", "no level", "bands at level 0",
    "bands above their top", "nodes above their root", "a level below 0", "widths that do not nest", "a key that nobody knows",
]  # fmt: skip


def test_bands_share_places_just_where_they_share_numbers():
    """Bands of 10 and of 20 beside each other and in each other, and the top, where all are."""
    ends = [(0, 10), (10, 20), (0, 20), (-20, 0), (-10, 0), (None, None)]
    cells = pl.DataFrame(ends, schema=["a_low", "a_high"], orient="row")
    low, high = Banded("a", (Fraction(10), Fraction(20)), None).places(cells)
    for (i, one), (j, other) in product(enumerate(ends), repeat=2):
        meet = None in (*one, *other) or max(one[0], other[0]) < min(one[1], other[1])
        assert (max(low[i], low[j]) <= min(high[i], high[j])) == meet


@pytest.mark.parametrize("what", BROKEN)
def test_forms_that_contradict_themselves(what):
    """Each is a fault in one sentence; the form from which it was made has none."""
    made, _ = publish(ROWS, half(ROWS), LEVELS, 1)
    assert cell_faults(made.form) == []
    form, said = broken_form(made, what)
    assert any(said in fault for fault in cell_faults(form)), cell_faults(form)


def test_a_contradiction_is_inconsistent_and_keeps_no_promise(tmp_path):
    """What is wrong with cells is said once, under consistency, and nothing else of the release is
    believed.
    """
    made, _ = publish(ROWS, half(ROWS), FEW, 3, [PROMISE])
    form, _ = broken_form(made, "another order")
    found = verdicts(replace(made, form=form).written(tmp_path / "r"), beside(encoded(ROWS)))
    assert not found["consistency"].holds and "not in the order" in found["consistency"].note
    assert (
        not found["differential-privacy"].holds
        and "see consistency" in found["differential-privacy"].note
    )


def lies(groups):
    """Mappings of rows to images that are not true."""
    shown = np.flatnonzero(groups)
    one = shown[groups[shown] != groups[shown[0]]][0]
    elsewhere, twice, missing = groups.copy(), groups.copy(), groups.copy()
    elsewhere[shown[0]], elsewhere[one] = groups[one], groups[shown[0]]
    twice[np.flatnonzero(groups == 0)[0]] = groups[one]
    missing[one] = 0
    return {
        "two rows in each other's image": elsewhere,
        "a row too many": twice,
        "a row too few": missing,
    }


@pytest.mark.parametrize(
    ("lie", "worst"),
    [("two rows in each other's image", 2), ("a row too many", 2), ("a row too few", 1)],
)
def test_rows_that_are_elsewhere(tmp_path, lie, worst):
    """A published row whose person is elsewhere, a row that is published twice, and a row of nobody
    are found, however few.
    """
    made, groups = publish(ROWS, half(ROWS), FEW, 2)
    release, microdata = made.written(tmp_path / "r"), encoded(ROWS)
    good = truth.check(release, microdata, groups)
    assert (good.worst, good.holds) == (0, True)
    found = truth.check(release, microdata, lies(groups)[lie])
    assert (found.worst, found.holds) == (worst, False)


def test_rows_that_say_nothing():
    """Rows of which everything is missing are an image like others, also where the table begins
    with them.
    """
    table = pl.DataFrame({"sex": [None] * 3}, schema=columns(("sex",)))
    images = Images.of(
        Recoded(
            table, attributes(("sex",)), {"chosen": "fixed", "attributes": {"sex": {"level": 0}}}
        )
    )
    assert images.counts.tolist() == [3] and images.strays == 0


def test_images_that_are_not_there(tmp_path):
    """A number beyond the images, below 0, or a mapping of other rows is refused, as are persons
    whom the table does not have.
    """
    made, groups = publish(ROWS, half(ROWS), FEW, 2)
    release, microdata = made.written(tmp_path / "r"), encoded(ROWS)
    for wrong in (np.where(groups > 0, groups + release.form.groups, 0), groups - 1, groups[1:]):
        assert not truth.check(release, microdata, wrong).holds
    assert not truth.check(release, microdata, groups, registered=np.array([1])).holds


@pytest.mark.parametrize(
    "change",
    [
        {"types": {"ill": "categorical", "age": "categorical"}},
        {"quasi": ["age"], "drop": ["dose", "since", "job", "zip", "income", "sex"]},
    ],
)
def test_another_table_is_told(tmp_path, change):
    """A table without an attribute of the release, or with one of another type, is not what it was
    made of: no check breaks down over it.
    """
    made, groups = publish(ROWS, half(ROWS), FEW, 3, [PROMISE])
    release = made.written(tmp_path / "r")
    schema = replace(SCHEMA, hierarchies={} if "quasi" in change else SCHEMA.hierarchies, **change)
    other = Microdata.encode(ROWS, schema)
    assert "the original table has no" in truth.check(release, other, groups).note
    found = verdicts(release, beside(other))["counts"]
    assert not found.holds and "the original table has no" in found.note


def test_another_hierarchy_is_told(tmp_path):
    """A table that orders leaves by another hierarchy than the release's cannot be laid beside
    it.
    """
    made, groups = publish(ROWS, half(ROWS), LEVELS | {"job": 1}, 1)
    other = made.form.attributes[3].hierarchy | {
        "paths": [
            ["judge", "far", "*"],
            ["farmer", "far", "*"],
            ["clerk", "office", "*"],
            ["pilot", "*"],
        ]
    }
    form = replace(
        made.form,
        attributes=tuple(
            a.model_copy(update={"hierarchy": other}) if a.name == "job" else a
            for a in made.form.attributes
        ),
    )
    release = replace(made, form=form).written(tmp_path / "r")
    with pytest.raises(ReleaseError, match="another hierarchy in the original table"):
        truth.check(release, encoded(ROWS), groups)


def test_no_value_of_a_row_is_looked_at():
    """A hundred times as many rows are laid beside their images with as many lines of Python: rows
    are counted by whole columns.
    """
    frame = people(2000)
    made, groups = publish(frame, half(frame), FEW, 2)

    def laid(times):
        microdata = encoded(frame).take(np.tile(np.arange(frame.height), times))
        form = replace(
            made.form, table=made.form.table[np.repeat(np.arange(made.form.rows), times)]
        )
        found = []
        run = lines(
            lambda: found.append(truth.check(of_form(form), microdata, np.tile(groups, times)))
        )
        assert found[0].holds
        return run

    laid(1)  # what is imported, or remembered, is so now
    assert laid(100) < laid(1) + 2000


def test_every_column_is_covered():
    """The cases of this file publish all kinds of columns."""
    assert len(columns()) == 12
