# SPDX-License-Identifier: Apache-2.0
"""A set of values is one text: the same for equal sets, different for different ones, and its
values come back out of it.
"""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.sets import SEPARATOR, canonical, members
from phalanx.errors import SourceError

value = st.text(min_size=1, max_size=5).filter(
    lambda t: (
        max(t) < "\ud800"
        and ";" not in t
        and t == t.strip()
        and pl.Series([t]).str.strip_chars()[0] == t
    )
)
some_sets = st.lists(
    st.one_of(
        st.none(),
        st.frozensets(st.one_of(st.sampled_from(["a", "b", "ab", "é", "z z"]), value), max_size=4),
    ),
    max_size=12,
)


def lists_of(sets, seed=0):
    """The sets as lists, in an order that depends on ``seed``, some values twice."""
    turned = [
        None if s is None else sorted(s, key=lambda v: v[::-1], reverse=seed > 0) for s in sets
    ]
    return pl.Series(
        "x", [None if s is None else s + s[:seed] for s in turned], dtype=pl.List(pl.String)
    )


@given(some_sets, st.integers(0, 2))
def test_the_text_is_the_sorted_values_joined(sets, seed):
    """The definition, from lists in any order and with repeats; a missing set stays missing and the
    empty one is the empty text.
    """
    expected = [None if s is None else SEPARATOR.join(sorted(s)) for s in sets]

    assert canonical(lists_of(sets, seed)).to_list() == expected


@given(some_sets, st.integers(0, 2), st.sampled_from([";", "; ", " ;  ", ";;", " ; ; "]))
def test_a_text_with_semicolons_is_the_same_set(sets, seed, separator):
    """Order, repeats, and spaces and empty places around semicolons mean nothing."""
    loose = pl.Series(
        [
            None if s is None else separator + separator.join(s) + separator
            for s in lists_of(sets, seed).to_list()
        ],
        dtype=pl.String,
    )

    assert canonical(loose).to_list() == canonical(lists_of(sets)).to_list()


@given(some_sets)
def test_canonical_is_idempotent(sets):
    """A canonical text is its own."""
    texts = canonical(lists_of(sets))

    assert canonical(texts).equals(texts)


@given(some_sets)
def test_members_are_what_was_put_in(sets):
    """Exploding the texts gives every pair of set and value once, by place and value."""
    expected = [(i, v) for i, s in enumerate(sets) if s is not None for v in sorted(s)]

    assert (
        members(canonical(lists_of(sets))).rows() == expected == members(lists_of(sets, 1)).rows()
    )


def test_whole_numbers_are_texts_in_order_of_code_points():
    """Numbers are kept as their text, so 10 stands before 9; a number by itself is a set of one, as
    where a text source has no larger sets.
    """
    assert canonical(pl.Series([[9, 10], [], None, [9, 9]])).to_list() == ["10; 9", "", None, "9"]
    assert canonical(pl.Series([9, None])).to_list() == ["9", None]


@pytest.mark.parametrize(
    "dtype",
    [
        pl.List(pl.Categorical),
        pl.List(pl.Enum(["b", "a"])),
        pl.Array(pl.String, 2),
        pl.List(pl.String),
    ],
)
def test_lists_of_any_kind_of_text(dtype):
    """Categories and arrays of one length are lists of texts like any other."""
    assert canonical(pl.Series([["b", "a"], ["a", "a"]], dtype=dtype)).to_list() == ["a; b", "a"]


def test_nothing_but_empty_sets():
    """Columns without a value, without a row, and without a type."""
    assert canonical(pl.Series([[], None], dtype=pl.List(pl.Null))).to_list() == ["", None]
    assert canonical(pl.Series([], dtype=pl.String)).to_list() == []
    assert members(pl.Series(["", " ; ", None])).rows() == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([None], "are missing"),
        ([""], "are empty"),
        ([" secret"], "spaces"),
        (["secret\t"], "spaces"),
        (["secret;b"], "';'"),
        (["; "], "spaces"),
    ],
)
def test_values_that_a_text_cannot_hold_are_refused(wrong, says):
    """The sentence has the count and the column and never the value; a twin without the value
    passes.
    """
    with pytest.raises(SourceError, match=r"1 of the values in the lists of column 'x'") as refused:
        canonical(pl.Series("x", [["fine", *wrong], ["fine"]]))

    assert says in str(refused.value)
    assert "secret" not in str(refused.value)
    assert canonical(pl.Series("x", [["fine"], ["fine"]])).to_list() == ["fine", "fine"]


@pytest.mark.parametrize(
    "wrong",
    [
        pl.Series("x", [[1.5]]),
        pl.Series("x", [[["a"]]]),
        pl.Series("x", [1.5]),
        pl.Series("x", [[True]]),
    ],
)
def test_other_columns_are_no_sets(wrong):
    """Lists of numbers with fractions, of lists, of booleans, and plain numbers with fractions."""
    with pytest.raises(SourceError, match="column 'x' holds"):
        canonical(wrong)
