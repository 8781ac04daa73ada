# SPDX-License-Identifier: Apache-2.0
"""The rows of a bucket hold the values of its persons; who was suppressed is in none."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.guarantees.truth import buckets
from phalanx.guarantees.truth.buckets import check_bucketized, check_sliced
from support.bucket_cases import FRAME, KINDS, MICRODATA, SCHEMA, form_of


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_suppressed_is_in_no_bucket(kind: str) -> None:
    """All eight are in their buckets. Where the mapping says of one person that they were
    suppressed, their values are of nobody: one in every column of a sliced release, and in each of
    the two tables of a bucketized one.
    """
    form, of_rows = form_of(kind)
    check = check_bucketized if kind == "bucketized" else check_sliced
    whole = check(form, MICRODATA, of_rows)
    assert (whole.name, whole.bound, whole.worst, whole.holds) == ("truth", 0, 0, True)
    assert whole.note == "the buckets of 8 row(s) hold their values in each column"
    columns = 2 if kind == "bucketized" else len(form.columns)
    for suppressed in range(8):
        without = np.where(np.arange(8) == suppressed, 0, of_rows)
        told = check(form, MICRODATA, without)
        assert (told.worst, told.holds) == (columns, False)
        assert told.note == (
            f"{columns} value(s) of persons are not in their bucket, or are there too often"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_not_published_is_not_missed(kind: str) -> None:
    """A ninth person, who was suppressed, changes nothing: what is published is of the others."""
    form, of_rows = form_of(kind)
    check = check_bucketized if kind == "bucketized" else check_sliced
    one_more = pl.concat([FRAME, FRAME[:1].with_columns(who=pl.lit("i"))])
    found = check(
        form, Microdata.encode(one_more, SCHEMA, PersonKey(bytes(32))), np.append(of_rows, 0)
    )
    assert (found.worst, found.holds) == (0, True)
    assert found.note == "the buckets of 8 row(s) hold their values in each column"


_NUMBERS = st.one_of(st.integers(0, 3), st.integers(-(2**62), 2**62))


@given(
    own=st.lists(st.tuples(_NUMBERS, _NUMBERS, _NUMBERS), max_size=6),
    more=st.lists(st.tuples(_NUMBERS, _NUMBERS, _NUMBERS), max_size=2),
    lacking=st.integers(0, 2),
    times=st.one_of(st.none(), st.integers(-1, 2)),
    most=st.sampled_from([1, 7, 1 << 20, 1 << 62]),
)
@settings(deadline=None)
def test_tuples_are_compared_whatever_their_numbers(own, more, lacking, times, most) -> None:
    """Beside a count in plain Python: however far their numbers are apart, and wherever keys would
    be larger than they may.
    """
    published = [*own[lacking:], *more]
    counts = Counter(own)
    counts.subtract(
        {row: n * (1 if times is None else times) for row, n in Counter(published).items()}
    )
    pairs = (
        tuple(np.array([row[a] for row in rows], dtype=np.int64) for rows in (own, published))
        for a in range(3)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "_MOST", most)
        unlike = buckets._unlike(pairs, None if times is None else np.full(len(published), times))
    assert unlike == max(
        sum(n for n in counts.values() if n > 0), -sum(n for n in counts.values() if n < 0)
    )
