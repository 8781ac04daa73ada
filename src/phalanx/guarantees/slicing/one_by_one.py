# SPDX-License-Identifier: Apache-2.0
"""The verdict about p(t, s): from the buckets alone where each keeps the promise by itself, else tuple
by tuple.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.slicing.posterior import (
    MOST_CANDIDATES,
    Figure,
    candidates,
    matches,
)
from phalanx.guarantees.views.sliced import View
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import Sliced

Sources = Release | Sliced
Search = Callable[[Ints], tuple[Figure, int]]
"""Of some tuples the worst figure, and the row of a tuple that has it, -1 where none matches a
bucket.
"""


def one_by_one(
    name: str,
    bound: Fraction,
    release: Sources,
    view: View,
    bad: np.ndarray,
    search: Search,
    evidence: Evidence | None,
    *,
    holds: Callable[[Figure], bool],
) -> Verdict:
    """The verdict over the tuples that match a bucket in which the promise is not kept for their
    part of the sensitive column; all others keep it.
    """
    bucket, value = view.cell_bucket[bad], view.cell_value[bad]
    microdata = (
        None
        if evidence is None or not isinstance(release, Release)
        else evidence.microdata.get(release.number)
    )
    beside = f"{len(bucket)} of {len(bad)} parts of buckets do not keep it by themselves"
    if microdata is not None:
        people = view.of_people(microdata, np.arange(microdata.rows))
        if lacking := _lacking(view, people, microdata):
            return Verdict(
                name=name, bound=bound, worst=None, holds=False, note=f"{beside}, and {lacking}"
            )
        concerned = pl.DataFrame(people).unique(maintain_order=True).to_numpy()
        concerned = concerned[(concerned >= 0).all(axis=1) & np.isin(concerned[:, -1], value)]
        note = (
            f"{beside}; p(t, s) was computed by shares and by rows for the {len(concerned)}"
            " different tuples of the original table that may match one"
        )
    else:
        pairs = candidates(view, bucket, value)
        if pairs is None:
            note = (
                f"{beside}, and more than {MOST_CANDIDATES} candidate tuples match them: the files"
                " alone do not show the promise; give the original table"
            )
            return Verdict(name=name, bound=bound, worst=None, holds=False, note=note)
        concerned = pairs
        note = (
            f"{beside}; p(t, s) was computed by shares and by rows for all {len(pairs)} candidate"
            " tuples that match one, whether they are in the table or not"
        )
    figure, row = search(concerned)
    kept = holds(figure)
    if not kept and microdata is None:
        note += "; whether anybody is such a tuple, only the original table shows"
    where = next(matches(view, concerned[[row]])).bucket if row >= 0 else bucket
    cases = _case(view, int(where[np.argmax(np.isin(where, bucket))]), figure)
    return Verdict(
        name=name,
        bound=bound,
        worst="infinite" if figure == math.inf else figure,
        holds=kept,
        note=note,
        worst_cases=cases,
    )


def kept_by_buckets(
    name: str, bound: Fraction, figure: Fraction, view: View, where: int
) -> Verdict:
    """Each bucket by itself keeps the promise, for anyone who has some quasi-identifiers of the
    sensitive column there.
    """
    note = (
        f"each of {len(view.sizes)} buckets keeps it by itself, so every tuple does that may be in"
        " the table"
    )
    cases = _case(view, int(view.cell_bucket[where]), figure)
    return Verdict(name=name, bound=bound, worst=figure, holds=True, note=note, worst_cases=cases)


def _case(view: View, bucket: int, figure: Figure) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "bucket": view.ids.gather([bucket]),
            "size": view.sizes[[bucket]],
            "figure": [_said(figure)],
        }
    )


def _said(figure: Figure) -> str:
    return "infinite" if figure == math.inf else str(figure)


def _lacking(view: View, people: Ints, microdata: Microdata) -> str:
    """What of the release the original table does not have, so that it is another table's; empty
    where it has all.
    """
    if microdata.rows < view.sizes.sum():
        return (
            f"the original table that was given has {microdata.rows} rows, fewer than the release"
        )
    for i, side in enumerate(view.sides):
        there = np.bincount(people[people[:, i] >= 0, i], minlength=len(side.values))
        if (there < np.bincount(side.value, weights=side.count, minlength=len(side.values))).any():
            return (
                "the original table that was given lacks values of"
                f" {', '.join(a.name for a in side.attributes)} that are published; give that of"
                " this release"
            )
    return ""
