# SPDX-License-Identifier: Apache-2.0
"""Limits of the guarantees: those that the manifest states, which no file shows, and values that
look alike, each of which is counted as another one.
"""

from collections.abc import Collection, Iterator
from typing import Final

import polars as pl

from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.method import is_of_this_package
from phalanx.guarantees.lookalikes import lookalikes
from phalanx.guarantees.registry import from_parameters
from phalanx.release.applicable import not_applicable, rows_by_group
from phalanx.release.folder import Release
from phalanx.release.form import Form

_WHY: Final = {
    "not-eligible": "those whose value is too frequent for the guarantee",
    "changed-value": "those of persons whose value changed",
    "no-group": "those for which no group was found",
    "spent-budget": (
        "values of persons whose budget is spent, and of others so that these hold no value with"
        " more than 1/l"
    ),
}


ALIKE: Final = "values that look alike"


def check(release: Release) -> Iterator[Verdict]:
    """Which adversary, which rows and which values the guarantees do not cover; nothing is
    compared, and nothing fails.
    """
    yield from _limits(release)
    yield from alike(sensitive_values(release.form))


def _limits(release: Release) -> Iterator[Verdict]:
    holds_if_known, suppressed = (
        release.manifest.holds_if_method_known,
        release.manifest.may_suppress,
    )
    kept = release.form.attribute("keep")
    lasting = [
        p for p in release.manifest.guarantees if getattr(from_parameters(p), "over_series", False)
    ]
    if holds_if_known and kept and lasting:
        note = (
            "not covered: it is stated that the guarantees hold also against an adversary who runs the"
            " method on every table that could have been this one, and where kept values stay with"
            " persons they may not"
        )
        yield _stated("adversary who knows the method", note)
    elif holds_if_known and release.manifest.registered:
        note = (
            "not covered: it is stated that the guarantees hold also against an adversary who runs the"
            " method on every table that could have been this one, and beside registered persons"
            " they may not"
        )
        yield _stated("adversary who knows the method", note)
    elif holds_if_known:
        note = (
            "stated: the guarantees hold also against an adversary who runs the method on every"
            " table that could have been this one"
        ) + "; its package says so, and nothing here tells whether they do" * (
            not is_of_this_package(release.manifest)
        )
        yield _stated("adversary who knows the method", note)
    elif holds_if_known is not None:
        note = (
            "not covered: an adversary who runs the method on every table that could have been this"
            " one may infer more than is promised"
        )
        yield _stated("adversary who knows the method", note)
    if suppressed:
        why = ", ".join(_WHY[reason] for reason in suppressed)
        yield _stated(
            "suppressed rows",
            f"not covered: rows may have been suppressed ({why}), and no guarantee is about a row"
            " that is not published",
        )
    if kept:
        names = ", ".join(repr(a.name) for a in kept)
        note = (
            f"not covered: {names}, kept as they are in each row; an adversary who knows such a value"
            " of a person may find their row by it, and no guarantee is about that"
        )
        if lasting:
            note += (
                "; where such a value stays with a person, it tells which rows of several releases are"
                " the same person's, to all who see them"
            )
        yield _stated("kept columns", note)
    declared = [v for a in release.form.attribute("sensitive") for v in a.not_applicable]
    if declared and not release.form.id_column:
        values = " or ".join(map(repr, declared))
        note = (
            f"stated: rows with {values}, which says that there is no value, cover for each other"
            " alone, and the others do; who these persons are is taken to be public"
            if release.form.is_drawn
            else f"stated: rows with {values}, which says that there is no value, are covered as all"
            " others, also where it is known whose they are"
        )
        yield _stated("values that are not applicable", note)
    if listed := not_applicable(release.form):
        without = rows_by_group(release.form)["without"]
        note = (
            f"not covered: {without.sum()} row(s) in {(without > 0).sum()} group(s) of their own"
            f" have {' or '.join(map(repr, listed))}, which says that there is no value; who these"
            " persons are is taken to be public, and the guarantees about sensitive values are"
            " about the others"
        )
        yield _stated("values that are not applicable", note)


def sensitive_values(form: Form) -> frozenset[str]:
    """The published sensitive values that are text."""
    column = next(
        (t[name] for t in form.tables().values() if (name := form.sensitive) in t.columns),
        None,
    )
    if column is None or column.dtype != pl.String:
        return frozenset()
    return frozenset(column.drop_nulls().unique().to_list())


def alike(values: Collection[str]) -> Iterator[Verdict]:
    """Published sensitive values that look alike, which are shown."""
    groups = lookalikes(sorted(values))
    if groups:
        note = (
            f"not covered: {len({value for group in groups for value in group})} sensitive values"
            " look like another one (case, blanks, letters of another script) and count as"
            " different; if they mean the same, the guarantees promise less"
        )
        yield Verdict(
            name=ALIKE,
            bound="none",
            worst=None,
            holds=True,
            note=note,
            worst_cases=pl.DataFrame({"values": [repr(group)[1:-1] for group in groups]}),
        )


def _stated(name: str, note: str) -> Verdict:
    return Verdict(name=name, bound="none", worst=None, holds=True, note=note)
