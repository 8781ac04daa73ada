# SPDX-License-Identifier: Apache-2.0
"""What is said beside the figures of an answer: what they leave out, and why one is not there."""

from collections.abc import Iterator, Sequence
from typing import Final

from phalanx.estimators.answers import Figures
from phalanx.estimators.conditions import Condition, Query, comparisons
from phalanx.estimators.entries import Ends
from phalanx.estimators.view import View, Weights

MANY_BESIDE: Final = 0.15
"""Where more rows may be missing, intervals have to be wider (experiments/answers)."""
_MOST_BESIDE: Final = 0.5
"""Where more rows may be missing, intervals held too seldom in experiments/answers."""


def asked_of(asked: Query) -> list[str]:
    """The attributes that a query tests or adds up, each once."""
    of = [] if asked.of is None else [asked.of]
    return list(dict.fromkeys([*(test.attribute for test in comparisons(asked.where)), *of]))


def said_of(
    view: View, asked: Query, weights: Weights | None, *, has_model: bool
) -> tuple[str, ...]:
    """What is said of a query beside its figures. ``has_model``: whether the model's error was
    measured for the method.
    """
    notes = []
    names = asked_of(asked)
    if weights is not None:
        notes.append(
            f"weighted by {weights.name!r}, whose mean is published for each group: bounds hold"
            " however a group's weight lies on its rows, and the survey's own error is in no figure"
        )
    if view.unpublished is None:
        notes.append(
            f"{view.why_unpublished}: bounds of the table are missing, and the estimate is of"
            f" {'cells that were published' if view.form == 'recoded' else 'published rows'}"
        )
    elif view.unpublished and asked.aggregate != "count":
        notes.append(
            "what suppressed rows hold is not known, so that nothing bounds a sum or a mean of the"
            " table"
        )
    notes.extend(filter(None, (_others(view, name) for name in asked.by)))
    notes.extend(
        f"the release says nothing of {name!r}, so that there is no estimate"
        for name in names
        if says_nothing(view, name)
    )
    notes.extend(
        f"where {name!r} is empty it may be missing or suppressed, and is taken for suppressed"
        for name in names
        if hides_why(view, name)
    )
    notes.extend(
        f"the first and the last cell of {name!r} hold what is beyond them, too, and their rows are"
        " taken to be inside"
        for name in names
        if _has_edges(view, name)
    )
    hidden = [name for name in names if hides_missing(view, name)]
    if weights is not None:
        notes.append("no interval: none was measured for weighted answers")
    elif view.unpublished is None:
        notes.append("no interval: what is not published is in no model")
    elif not has_model:
        notes.append(
            "no interval: none was found that holds the truth as often as it says for this method"
        )
    elif hidden:
        notes.append(
            f"no interval: of most rows it is not told whether they have a value of {hidden[0]!r}"
        )
    return tuple(notes)


def said_of_tests(view: View, where: Condition) -> tuple[str, ...]:
    """What is said of a condition whose figures are not certain."""
    named = {
        test.attribute: test.kind
        for kind in ("upto", "in")
        for test in comparisons(where)
        if test.kind == kind
    }
    notes = (_of_one(view, name, kind) for name, kind in sorted(named.items()))
    return tuple(note for note in notes if note is not None)


def _others(view: View, name: str) -> str | None:
    """What is said of an attribute that may have values which no group of a query is about."""
    kind, parts = view.line(name).kind, view.parts or (view,)
    if kind == "leaf":
        return None
    facets = [
        [part.facets[i].ends[name] for part in parts]
        for i, facet in enumerate(parts[0].facets)
        if name in facet.ends
    ]
    if all(any((e.unbounded[0] | e.unbounded[1]).any() for e in ends) for ends in facets):
        return (
            f"of some rows the release does not say between which values {name!r} is, so that it may"
            " have others than those of the groups"
        )
    if is_text_between(view, name):
        return (
            f"{name!r} is published in intervals, so that it may have values that are no end of one;"
            " the groups are those that are known"
        )
    return None


def is_text_between(view: View, name: str) -> bool:
    """Whether an attribute is texts, of some of which it is said between which they are."""

    def between(ends: Ends) -> bool:
        return not ends.exact and bool((ends.low != ends.high).any())

    return view.line(name).kind == "text" and any(
        between(facet.ends[name])
        for part in view.parts or (view,)
        for facet in part.believed
        if name in facet.ends
    )


def _of_one(view: View, name: str, kind: str) -> str | None:
    """What is said of an attribute that is asked about by single values, or up to one and it."""
    if kind == "in" and is_text_between(view, name):
        return (
            f"{name!r} is published in intervals of texts, and which others lie between their ends is"
            " not known: of a single text little is known but the bounds"
        )
    if view.line(name).kind == "number" and any(
        facet.ends[name].half_open for facet in view.facets_with(name)
    ):
        return (
            f"{name!r} is published in cells, in which numbers are taken to lie evenly, whole or not,"
            " so that no rows are expected to have a single one; ask for a range by >= and <"
        )
    return None


def says_nothing(view: View, name: str) -> bool:
    """Whether the release names no value of an attribute, and no other bounds; of trees the leaves
    are known.
    """
    return view.line(name).kind != "leaf" and all(
        ends.low.null_count() == len(ends.low)
        and ends.high.null_count() == len(ends.high)
        and not ends.nothing.all()
        for ends in _ends(view, name)
    )


def hides_why(view: View, name: str) -> bool:
    """Whether a value of an attribute that is published as it is may be missing or suppressed, where
    there is none.
    """
    return name == view.sensitive and any(
        ends.exact and bool(ends.unbounded[0].any()) for ends in _ends(view, name)
    )


def unbounded(asked: Query, figures: Sequence[Figures], notes: Sequence[str]) -> tuple[str, ...]:
    """What is said where a sum or a mean has no interval and nothing else says why."""
    without = any(each.estimate is not None and each.interval is None for each in figures)
    if asked.of is None or not without or any(note.startswith("no interval") for note in notes):
        return ()
    return (f"no interval: of some rows nothing bounds {asked.of!r}",)


def hides_missing(view: View, name: str) -> bool:
    """Whether of most rows it is not told whether they have a value of an attribute."""
    return beside_missing(view, name) > _MOST_BESIDE


def beside_missing(view: View, name: str) -> float:
    """The share of rows that are believed to be in boxes that hold the missing value of an attribute
    beside others, of which it is not told where they begin.
    """
    rows = beside = 0
    for part in view.parts or (view,):
        for facet in part.believed:
            if name in facet.ends:
                ends = facet.ends[name]
                hides = ends.missing & ~ends.nothing & (not ends.exact)
                rows += int(facet.count.sum())
                if hides.any():
                    hides = hides if ends.which is None else hides[ends.which]
                    beside += int(facet.count[hides].sum())
    return beside / max(rows, 1)


def _has_edges(view: View, name: str) -> bool:
    """Whether the cells of a number or a day go on beyond the ends that they name."""
    return view.line(name).kind in ("number", "day") and any(
        ends.half_open
        and bool(
            ((ends.unbounded[0] | ends.unbounded[1]) & (ends.low.is_not_null().to_numpy())).any()
        )
        for ends in _ends(view, name)
    )


def _ends(view: View, name: str) -> Iterator[Ends]:
    return (facet.ends[name] for facet in view.facets_with(name))
