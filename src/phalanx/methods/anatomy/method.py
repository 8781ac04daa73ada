# SPDX-License-Identifier: Apache-2.0
"""Anatomy: quasi-identifiers as they are, and beside them what sensitive values a bucket of persons
has (Xiao & Tao, VLDB 2006).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from phalanx.arrays import Ints
from phalanx.data.column import Column
from phalanx.data.microdata import Microdata
from phalanx.errors import NotEligible, SchemaError, lower_to
from phalanx.exact import Number, bounded, exact, of_python
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.guarantees.base import Guarantee
from phalanx.kernels.picking import SPARE
from phalanx.methods.anatomy import kernels as kernel
from phalanx.methods.anatomy.offer import OFFER
from phalanx.methods.base import Division, Draft, LooksBack, Memory, Offer, parameters_of
from phalanx.methods.not_applicable import grouped_apart
from phalanx.randomness import Randomness, Stream
from phalanx.release.forms.bucketized import bucketize
from phalanx.release.forms.generalized import by_group


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """No person is linked with a sensitive value with more than 1/l, while all quasi-identifiers
    are published as they are.

    Publishes two tables: every row's quasi-identifiers and bucket, and how often each sensitive
    value stands in each bucket; rows and bucket ids are in random order. A bucket holds each value
    at most once, hence at least l rows, rounded up. A missing value counts as a value of its own.
    That a person is in the table is not hidden at all, and the promise is about one release: two
    releases of a changing table may expose people together (see m-invariance).

    Source: Xiao, Tao, VLDB 2006, the algorithm Anatomize; how we differ: l may be a fraction, and
    ties between values of equally many rows are decided at random.

    Raises
    ------
    PlanError
        For an l below 1.
    SchemaError
        Where no sensitive attribute is declared, where it holds sets, or where columns are kept.
    NotEligible
        Where a value stands in more than 1/l of the rows, l rounded up.

    Examples
    --------
    >>> Anatomy(l=3).parameters()
    {'name': 'anatomy', 'l': 3}
    """

    name: ClassVar[str] = "anatomy"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[LooksBack] = "digests"
    takes_registry: ClassVar[bool] = False
    takes_not_applicable: ClassVar[bool] = True
    offer: ClassVar[Offer] = OFFER
    holds_if_method_known: ClassVar[bool] = True
    may_suppress: ClassVar[Sequence[str]] = ()
    bytes_per_value: ClassVar[int] = 170
    divided_by: ClassVar[Division] = "chance"

    l: Number
    """No value has more than 1/l of a bucket; 1 or more."""

    def __post_init__(self) -> None:
        of_python(self)
        bounded(self.l, "[method] l", 1)

    @property
    def guarantees(self) -> list[Guarantee]:
        return [AnatomyDiversity(l=exact(self.l, "l"))]

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        if keep := microdata.schema.keep:
            raise SchemaError(
                f"column {keep[0]!r} is kept, and anatomy publishes quasi-identifiers as they are,"
                " beside which a kept column would be one more; make it quasi, or drop it."
            )
        microdata.check_single_valued("anatomy")
        of = microdata.schema.sensitive
        buckets = grouped_apart(
            microdata,
            lambda part: bucketization(self, part.sensitive, rng.stream("anatomy"), of=of),
            lambda part: np.zeros(part.rows, dtype=np.int64),
        )
        form, published = bucketize(microdata, buckets, rng.stream("bucketize"))
        return Draft(form=form, groups=published[buckets])

    def parameters(self) -> dict[str, Any]:
        return parameters_of(self)


def bucketization(
    method: Anatomy, sensitive: Column, stream: Stream, *, of: str | None = None
) -> Ints:
    """The bucket of every row, 0 .. g-1, shape (n,); ``of`` names the sensitive attribute in
    errors.
    """
    n, size = len(sensitive.codes), math.ceil(exact(method.l, "l"))
    counts = np.bincount(sensitive.codes, minlength=len(sensitive.domain)).astype(np.int64)
    if size * int(counts.max()) > n:
        raise _not_eligible(method, size, counts, of)
    shuffled = stream.permutation(n)
    order = shuffled[by_group(sensitive.codes[shuffled].astype(np.int64))]
    draws = (stream.words(n + SPARE) >> np.uint64(1)).astype(np.int64)
    buckets: Ints = kernel.bucketization(counts, order, size, draws)
    return buckets


def _not_eligible(method: Anatomy, size: int, counts: Ints, of: str | None) -> NotEligible:
    """By how much the table fails, and the ways out."""
    n, most = int(counts.sum()), int(counts.max())
    rounded = (
        ""
        if exact(method.l, "l") == size
        else f", rounded up to {size} as a bucket holds each value once at most"
    )
    return NotEligible(
        f"the most frequent value of column {of!r} stands in {most} of {n} rows"
        f" ({100 * most / n:.1f} %) and l = {method.l} allows at most 1/l{rounded};"
        f" {lower_to('l', n // most)}suppress rows with that value, or make the values coarser at"
        " the source."
    )
