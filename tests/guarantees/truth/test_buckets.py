# SPDX-License-Identifier: Apache-2.0
"""The rows of a bucket hold the values of its persons; who was suppressed is in none."""

import numpy as np
import pytest

from phalanx.guarantees.truth.buckets import check_bucketized, check_sliced
from support.bucket_cases import KINDS, MICRODATA, form_of


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_suppressed_is_in_no_bucket(kind: str) -> None:
    """All eight are in their buckets. Where the mapping says of one person that they were
    suppressed, their values are of nobody: one in every column of a sliced release, and in each of
    the two tables of a bucketized one.
    """
    form, buckets = form_of(kind)
    check = check_bucketized if kind == "bucketized" else check_sliced
    whole = check(form, MICRODATA, buckets)
    assert (whole.name, whole.bound, whole.worst, whole.holds) == ("truth", 0, 0, True)
    assert whole.note == "the buckets of 8 row(s) hold their values in each column"
    columns = 2 if kind == "bucketized" else len(form.columns)
    for suppressed in range(8):
        without = np.where(np.arange(8) == suppressed, 0, buckets)
        told = check(form, MICRODATA, without)
        assert (told.worst, told.holds) == (columns, False)
        assert told.note == (
            f"{columns} value(s) of persons are not in their bucket, or are there too often"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_two_who_changed_places(kind: str) -> None:
    """One person of each bucket in the other's: each column has two values that nobody there has,
    unless the two have the same.
    """
    form, buckets = form_of(kind)
    check = check_bucketized if kind == "bucketized" else check_sliced
    for one in range(4):
        for other in range(4, 8):
            changed = buckets.copy()
            changed[[one, other]] = changed[[other, one]]
            verdict = check(form, MICRODATA, changed)
            assert verdict.worst in range(0, 9, 1) and verdict.holds is (verdict.worst == 0)
    assert not verdict.holds
