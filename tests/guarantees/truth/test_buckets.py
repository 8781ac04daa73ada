# SPDX-License-Identifier: Apache-2.0
"""The rows of a bucket hold the values of its persons; who was suppressed is in none."""

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.guarantees.truth.buckets import check_bucketized, check_sliced
from support.bucket_cases import FRAME, KINDS, MICRODATA, SCHEMA, form_of


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
def test_who_is_not_published_is_not_missed(kind: str) -> None:
    """A ninth person, who was suppressed, changes nothing: what is published is of the others."""
    form, buckets = form_of(kind)
    check = check_bucketized if kind == "bucketized" else check_sliced
    one_more = pl.concat([FRAME, FRAME[:1].with_columns(who=pl.lit("i"))])
    found = check(
        form, Microdata.encode(one_more, SCHEMA, PersonKey(bytes(32))), np.append(buckets, 0)
    )
    assert (found.worst, found.holds) == (0, True)
    assert found.note == "the buckets of 8 row(s) hold their values in each column"
