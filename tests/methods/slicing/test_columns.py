# SPDX-License-Identifier: Apache-2.0
"""Columns hold what belongs together, every attribute in one of them; what cannot be is refused in
one sentence.
"""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.correlation import phi2
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.methods.slicing.columns import check_partition, check_sizes, partition

NAMES = ("age", "sex", "zip", "job", "pay", "ill")


def told(seed: int, d: int, levels: int | None = None) -> npt.NDArray[np.float64]:
    """A symmetric matrix with ones on the diagonal; of few levels, so that distances tie, where
    these are given.
    """
    rng = np.random.default_rng(seed)
    drawn = (
        rng.random((d, d))
        if levels is None
        else rng.integers(0, levels, (d, d)) / max(levels - 1, 1)
    )
    matrix = np.triu(drawn, 1)
    return matrix + matrix.T + np.eye(d)


def apart(
    columns: tuple[tuple[str, ...], ...], names: tuple[str, ...], matrix: npt.NDArray[np.float64]
) -> float:
    """The sum of all attributes' distances to the medoids of their columns, the best that each
    column has.
    """
    places = [[names.index(name) for name in column] for column in columns]
    return sum(
        min(sum(1 - matrix[i, medoid] for i in column) for medoid in column) for column in places
    )


def pam(matrix: npt.NDArray[np.float64], c: int) -> float:
    """PAM as Kaufman and Rousseeuw write it, on a matrix without ties: BUILD, then the best SWAP
    while one helps; the distance in all that is left.
    """
    d = len(matrix)

    def cost(medoids: tuple[int, ...]) -> float:
        return sum(min(1 - matrix[i, medoid] for medoid in medoids) for i in range(d))

    medoids: tuple[int, ...] = ()
    while len(medoids) < c:
        medoids = min(((*medoids, i) for i in range(d) if i not in medoids), key=cost)
    while True:
        swapped = [
            tuple(sorted({*medoids} - {out} | {into}))
            for out in medoids
            for into in range(d)
            if into not in medoids
        ]
        best = min(swapped, key=cost, default=medoids)
        if cost(best) >= cost(medoids) - 1e-12:
            return cost(medoids)
        medoids = best


names_of = st.integers(1, 9).map(lambda d: tuple(f"x{i}" for i in range(d)))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(0, 10**6), st.sampled_from([None, 1, 2, 4]))
def test_every_attribute_has_one_column(data, seed, levels):
    """That many columns, none empty, each attribute in one, in the schema's order; what is
    sensitive last; the same each time, ties or not.
    """
    names = data.draw(names_of)
    d = len(names)
    c = data.draw(st.integers(1, d))
    sensitive = data.draw(st.sampled_from([None, *names]))
    size = data.draw(st.none() | st.integers(1, d - c + 1)) if sensitive and c > 1 else None
    matrix = told(seed, d, levels)
    columns = partition(names, matrix, columns=c, sensitive=sensitive, sensitive_column_size=size)

    assert len(columns) == c and all(columns)
    assert sorted(itertools.chain(*columns)) == sorted(names)
    others = [[name for name in column if name != sensitive] for column in columns]
    assert all(
        [names.index(name) for name in column] == sorted(names.index(name) for name in column)
        for column in others
    )
    plain = columns[:-1] if sensitive else columns
    assert [column[0] for column in plain] == sorted(
        (column[0] for column in plain), key=names.index
    )
    assert sensitive is None or columns[-1][-1] == sensitive
    if size is not None:
        chosen = {matrix[names.index(name), names.index(sensitive)] for name in columns[-1][:-1]}
        left = {
            matrix[names.index(name), names.index(sensitive)]
            for column in columns[:-1]
            for name in column
        }
        assert len(columns[-1]) == size
        assert not chosen or not left or min(chosen) >= max(left)
    assert check_partition(columns, names, sensitive) == columns
    assert (
        partition(names, matrix, columns=c, sensitive=sensitive, sensitive_column_size=size)
        == columns
    )


@settings(max_examples=150, deadline=None)
@given(names_of, st.integers(0, 10**6), st.data())
def test_columns_are_those_of_pam(names, seed, data):
    """No further from their medoids in all than what PAM, written out, comes to."""
    c = data.draw(st.integers(1, len(names)))
    matrix = told(seed, len(names))

    assert apart(partition(names, matrix, columns=c), names, matrix) <= pam(matrix, c) + 1e-12


def test_a_worse_partition_would_be_seen():
    """The distance in all tells columns that belong together from others."""
    matrix = np.array([[1, 0.9, 0, 0], [0.9, 1, 0, 0], [0, 0, 1, 0.9], [0, 0, 0.9, 1]])

    assert apart((("a", "b"), ("c", "d")), ("a", "b", "c", "d"), matrix) == pytest.approx(
        pam(matrix, 2)
    )
    assert apart((("a", "c"), ("b", "d")), ("a", "b", "c", "d"), matrix) > pam(matrix, 2) + 1


def test_attributes_that_tell_each_other_wholly_fill_as_many_columns():
    """Where all distances are 0, or all 1, there are still as many columns as asked for."""
    for matrix in (np.ones((4, 4)), np.eye(4)):
        for c in range(1, 5):
            assert [
                len(column) for column in partition(("a", "b", "c", "d"), matrix, columns=c)
            ].count(0) == 0
            assert len(partition(("a", "b", "c", "d"), matrix, columns=c, sensitive="b")) == c


def test_ties_with_the_sensitive_attribute_go_to_the_earlier():
    """Of attributes that tell as much of the sensitive one, those that the schema names first stand
    beside it.
    """
    matrix = np.eye(4)
    matrix[3, :3] = matrix[:3, 3] = [0.2, 0.5, 0.2]

    assert partition(
        ("a", "b", "c", "s"), matrix, columns=2, sensitive="s", sensitive_column_size=3
    ) == (("c",), ("a", "b", "s"))
    assert partition(
        ("s", "a", "b", "c"), matrix[::-1, ::-1], columns=2, sensitive="s", sensitive_column_size=3
    ) == (("c",), ("a", "b", "s"))


def test_bucketization_is_a_special_case():
    """Two columns with the sensitive attribute alone: the form of Anatomy."""
    assert partition(NAMES, told(1, 6), columns=2, sensitive="ill", sensitive_column_size=1) == (
        NAMES[:5],
        ("ill",),
    )


def test_from_a_table():
    """What goes together in a table goes together in its columns, constant attributes too
    somewhere.
    """
    n = 600
    rng = np.random.default_rng(5)
    age, job = rng.integers(18, 90, n), rng.integers(0, 5, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "job": job.astype(str),
            "retired": (age > 65).astype(str),
            "land": ["x"] * n,
            "pay": 1000 * job + rng.integers(0, 900, n),
            "s": rng.integers(0, 2, n).astype(str),
        }
    )
    data = Microdata.encode(
        frame, Schema(quasi=frame.columns[:-1], sensitive="s", types={"pay": "numeric"})
    )
    columns = partition(
        frame.columns,
        phi2([*data.quasi, data.sensitive]),
        columns=3,
        sensitive="s",
        sensitive_column_size=1,
    )

    assert [set(column) - {"land"} for column in columns] == [
        {"age", "retired"},
        {"job", "pay"},
        {"s"},
    ]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"columns": 7, "sensitive": "ill"}, "columns = 7 and there are 6 attribute"),
        (
            {"columns": 0, "sensitive": "ill"},
            "columns must be a whole number of at least 1, and is 0",
        ),
        ({"columns": True, "sensitive": "ill"}, "columns must be a whole number"),
        (
            {"columns": 2, "sensitive": None, "sensitive_column_size": 2},
            "about the column of the sensitive attribute, and none is declared",
        ),
        ({"columns": 3, "sensitive": "ill", "sensitive_column_size": 5}, "lower it to at most 4"),
        (
            {"columns": 3, "sensitive": "ill", "sensitive_column_size": 0},
            "sensitive_column_size must be a whole number of at least 1",
        ),
        (
            {"columns": 1, "sensitive": "ill", "sensitive_column_size": 2},
            "leaves 4 attribute.s. without a column",
        ),
    ],
)
def test_sizes_that_cannot_be(asked, sentence):
    """More columns than attributes, a sensitive column too large for the others, or one of nothing
    sensitive, are refused in one sentence.
    """
    with pytest.raises(PlanError, match=sentence):
        partition(NAMES, told(0, 6), **asked)
    with pytest.raises(PlanError, match=sentence):
        check_sizes(6, **asked)


def test_explicit_columns_are_put_in_order():
    """The sensitive column comes last, attributes in the schema's order, the others as they were
    named.
    """
    assert check_partition([["ill", "sex"], ["zip", "age"], ["pay", "job"]], NAMES, "ill") == (
        ("age", "zip"),
        ("job", "pay"),
        ("sex", "ill"),
    )
    assert check_partition([["ill", "sex"], ["zip", "age", "pay", "job"]], NAMES) == (
        ("sex", "ill"),
        ("age", "zip", "job", "pay"),
    )


def test_columns_may_overlap_without_a_circle():
    """An attribute of several columns is kept in all of them where they have a join tree."""
    assert check_partition(
        [["age", "sex"], ["ill", "age"], ["age", "zip", "job"], ["job", "pay"]], NAMES, "ill"
    ) == (
        ("age", "sex"),
        ("age", "zip", "job"),
        ("job", "pay"),
        ("age", "ill"),
    )


REST = ["age", "sex", "zip"]
WRONG: list[tuple[Any, str]] = [
    ([["age", "sex"], ["zip", "ill"]], "leaves out 'job', 'pay'; every"),
    ([["age", "sex", "sex"], ["zip", "job", "pay", "ill"]], "column 1 names 'sex' twice"),
    (
        [REST, ["job", "pay", "ilk"]],
        (
            "column 2 names 'ilk', which is no quasi-identifier and not the sensitive attribute;"
            " did you mean 'ill'"
        ),
    ),
    ([REST, ["job", "pay", "ill", 7]], "column 2 names 7, which is no quasi-identifier"),
    ([REST, ["job", "pay", "ill", ["age"]]], r"column 2 names \['age'\], which is no"),
    ([REST, ["job", "ill"], ["pay", "ill"]], "sensitive attribute 'ill' in more than one column"),
    (
        [REST, ["job", "ill"], ["pay", "age"], ["age", "pay"]],
        "column 4 .'age', 'pay'. stands within another",
    ),
    (
        [REST, ["job", "pay", "ill"], ["age", "zip"]],
        "column 3 .'age', 'zip'. stands within another",
    ),
    (
        [["age", "sex"], ["sex", "zip"], ["zip", "age"], ["job", "pay", "ill"]],
        "share attributes .'age', 'sex', 'zip'. in a circle",
    ),
    (["age", "sex"], "a list of them, each a list of at least one attribute"),
    ([], "a list of them"),
    ([REST, [], ["job", "pay", "ill"]], "at least one attribute"),
    ("age", "a list of them"),
    (None, "a list of them"),
]


@pytest.mark.parametrize(("columns", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_explicit_columns_that_cannot_be(columns, sentence):
    """Attributes missed, repeated, unknown or in a circle, the sensitive one twice, and what is no
    list of columns, are refused in one sentence.
    """
    with pytest.raises(PlanError, match=sentence) as refused:
        check_partition(columns, NAMES, "ill")
    assert str(refused.value).startswith("[method] columns") and str(refused.value).endswith(
        (".", "?")
    )


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_a_workload_chooses_without_looking_at_what_is_sensitive(
    seed: int, columns: int, asked: int
) -> None:
    """Whatever goes together with the sensitive attribute, the columns are the same; without a
    workload they are not (broken twin, over some seeds).
    """
    rng = np.random.default_rng(seed)
    workload = [rng.choice(NAMES, 2, replace=False).tolist() for _ in range(asked)]
    one, other = told(seed, 6), told(seed + 1, 6)
    other[:5, :5] = one[:5, :5]
    found = [
        partition(NAMES, matrix, columns=columns, sensitive="ill", workload=workload)
        for matrix in (one, other)
    ]

    assert found[0] == found[1]
    assert sorted(name for column in found[0] for name in column) == sorted(NAMES)
    assert len(found[0]) == columns
    beside = {name for pair in workload if "ill" in pair for name in pair if name != "ill"}
    assert set(found[0][-1]) - {"ill"} == beside or len(beside) > 6 - columns


def test_without_a_workload_what_goes_together_with_the_sensitive_attribute_chooses() -> None:
    """The broken twin: another phi^2 with it, other columns."""
    one, other = told(1, 6), told(2, 6)
    other[:5, :5] = one[:5, :5]
    assert partition(NAMES, one, columns=3, sensitive="ill") != partition(
        NAMES, other, columns=3, sensitive="ill"
    )


def test_what_is_asked_together_stands_together() -> None:
    """Of equal phi^2 the asked pairs; of two that are asked, the one that tells more."""
    even = np.full((6, 6), 0.3) + 0.7 * np.eye(6)
    workload = [["age", "zip"], ["sex", "job"], ["age", "zip", "pay"], ["pay", "ill"]]
    assert partition(NAMES, even, columns=3, sensitive="ill", workload=workload) == (
        ("age", "zip"),
        ("sex", "job"),
        ("pay", "ill"),
    )
    assert partition(
        NAMES, even, columns=2, sensitive="ill", sensitive_column_size=2, workload=[["job", "ill"]]
    ) == (("age", "sex", "zip", "pay"), ("job", "ill"))


def test_a_workload_names_attributes() -> None:
    """Another name is refused, with a hint."""
    with pytest.raises(PlanError, match=r"workload names 'zap'.*zip"):
        partition(NAMES, told(1, 6), columns=2, workload=[["zap", "age"]])
