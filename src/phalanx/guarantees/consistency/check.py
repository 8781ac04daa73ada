# SPDX-License-Identifier: Apache-2.0
"""Consistency: a release says one thing, in all its files, and follows on the one before it. Always
checked.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from phalanx.errors import PlanError
from phalanx.exact import exact
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.files import file_faults, hidden
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.consistency.order import order_faults
from phalanx.guarantees.strength import weakened
from phalanx.release.applicable import not_applicable, rows_by_group
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import Form

NAME: Final = "consistency"
_LOOKED_AT: Final = {
    "generalized": "groups, intervals, ",
    "sliced": "buckets, ",
    "bucketized": "buckets, ",
    "perturbed": "values, ",
    "recoded": "cells, ",
}


def check(
    release: Release,
    earlier: Sequence[Release] = (),
    *,
    evidence: Evidence | None = None,
    allow_seeded: bool = False,
) -> list[Verdict]:
    """Faults in columns, groups, intervals, nodes, order, files, chain and promises; and whether
    the release may be published at all.
    """
    faults = list(form_faults(release.form))
    faults = faults or order_faults(
        release.form, None if evidence is None else evidence.published_rows(release.number)
    )
    in_bytes, unsettled = hidden(release)
    faults += [
        *file_faults(release),
        *in_bytes,
        *_mixed_faults(release.form, faults),
        *_chain_faults(release, earlier),
        *_promise_faults(release),
    ]
    note = (
        "; ".join(faults)
        or f"columns, {_LOOKED_AT.get(release.form.kind, 'what the form says of itself, ')}order, files, chain"
    )
    if release.number > 1 and not earlier:
        note += (
            f"; not checked: whether it follows on release {release.number - 1}, which was not"
            " given"
        )
    if (
        release.form.has_intervals
        and release.manifest.boxes == "tight"
        and (evidence is None or release.number not in evidence.microdata)
    ):
        note += (
            "; not checked: whether intervals end at values of persons, which the original table"
            " shows"
        )
    if unsettled:
        note += (
            "; not checked: whether anything is hidden within the values of"
            f" {', '.join(unsettled)}, which another version of the writer made"
        )
    seeded = release.manifest.not_for_publication
    return [
        Verdict(
            name=NAME,
            bound=0,
            worst=len(faults),
            holds=not faults,
            note=note,
            worst_cases=pl.DataFrame({"fault": pl.Series(faults, dtype=pl.String)}),
        ),
        Verdict(
            name="for publication",
            bound="no seed",
            worst="a seed" if seeded else "no seed",
            holds=allow_seeded or not seeded,
            note=(
                "it was made with a seed, and whoever guesses the seed undoes its random choices"
                if seeded
                else "random choices cannot be repeated"
            ),
        ),
    ]


def _mixed_faults(form: Form, faults: Sequence[str]) -> Iterator[str]:
    """Groups that hold rows whose value is not applicable beside others; of a form without other
    ``faults``, whose groups can be read.
    """
    if faults or not not_applicable(form):
        return
    mixed = rows_by_group(form).filter((pl.col("without") > 0) & (pl.col("with") > 0)).height
    if mixed:
        yield f"{mixed} {form.group_word}(s) hold values that are not applicable beside others"


def _chain_faults(release: Release, earlier: Sequence[Release]) -> Iterator[str]:
    manifest = release.manifest
    if release.number == 1 and manifest.previous is not None:
        yield "the first release names a release before it"
    if release.number > 1 and manifest.previous is None:
        yield f"release {release.number} does not name the release before it"
    if not earlier:
        return
    before = earlier[-1]
    if manifest.series != before.manifest.series:
        yield (
            f"it belongs to series {manifest.series!r} and the one before it to"
            f" {before.manifest.series!r}"
        )
    if manifest.number != before.number + 1:
        yield (
            f"release {manifest.number} follows on release {before.number}; the releases between"
            " them are missing, or a number is taken twice"
        )
    elif manifest.previous != before.digest:
        yield (
            f"release {before.number} is not the one that release {manifest.number} was published"
            " after (its digest differs)"
        )
    if list(manifest.attributes) != list(before.manifest.attributes):
        yield "its attributes are not those of the release before it"
    if manifest.privacy_unit == "record" and before.manifest.privacy_unit == "person":
        yield "it covers each record and no longer each person, as the release before it does"
    yield from weakened(manifest.guarantees, before.manifest.guarantees)


def _promise_faults(release: Release) -> Iterator[str]:
    """A promise that says another number than the method's own parameter of that name."""
    method = release.manifest.method
    for promise in release.manifest.guarantees:
        for parameter in sorted(
            {"k", "l", "c", "t", "m", "epsilon", "delta", "beta"} & promise.keys() & method.keys()
        ):
            if method[parameter] is None:
                continue
            try:
                differs = exact(promise[parameter], parameter) != exact(
                    method[parameter], parameter
                )
            except PlanError:
                differs = True
            if differs:
                yield (
                    f"the method says {parameter} = {method[parameter]} and the promise"
                    f" {promise.get('name')} says {promise[parameter]}"
                )
