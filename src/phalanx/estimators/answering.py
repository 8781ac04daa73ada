# SPDX-License-Identifier: Apache-2.0
"""From the folder of a release and a query to the answer, whatever the form."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.errors import ReleaseError, kind_of
from phalanx.estimators.answers import Estimate, Figures
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All, Comparison, Condition, Query, both, comparisons
from phalanx.estimators.crossing import crossed, left_over, middle_of
from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.expressions import read_expression
from phalanx.estimators.models import Model, can_be_estimated
from phalanx.estimators.notes import (
    MANY_BESIDE,
    beside_missing,
    hides_missing,
    hides_why,
    is_text_between,
    said_of,
    said_of_tests,
    says_nothing,
    unbounded,
)
from phalanx.estimators.queries import read_query
from phalanx.estimators.reading import check_room, view_of, view_to_ask
from phalanx.estimators.regions import Regions
from phalanx.estimators.sharing import Shared
from phalanx.estimators.view import View
from phalanx.estimators.weighted import WeighedBounds
from phalanx.estimators.weighted import figures as weighed
from phalanx.exact import exact, of_numpy
from phalanx.progress import Progress, check_progress, silent
from phalanx.release.folder import Release

ERROR: Final[Mapping[str, float]] = {
    "anatomy": 0.45,
    "m-invariance": 0.5,
    "mondrian": 0.4,
    "mutual-cover": 0.05,
    "slicing": 0.45,
}
"""The model's error as a share of the distance between hard bounds, by method: what
experiments/answers found enough for 95 %; no interval for others.
"""
OF_TEXTS: Final = 0.8
"""The same at least where texts are published in intervals: which others lie between their ends no
one knows.
"""
OF_MISSING: Final = 0.8
"""The same at least where it is asked whether a value is missing: boxes that hold the missing value
beside others do not say how often.
"""
OF_HEAPS: Final = 1.0
"""The same at least where it is asked apart about a value at which most boxes begin, as no income is:
boxes that hold it do not say how often.
"""
OF_SUMS: Final = 0.8
"""The same at least of a sum or a mean of a number that goes by what stands in another facet, or in rows
that were mixed: what depends on each other there, no group tells.
"""
OF_COUNTERFEITS: Final = 0.8
"""The same at least where nothing but counterfeits makes a count uncertain: of few there is no mean."""

GROUPS: Final = "groups"
"""What is told of."""
_Z: Final = 1.959963984540054
_MOST_GROUPS: Final = 1000


def estimate(
    release: Release,
    query: "str | pl.Expr",
    *,
    suppressed: int | None = None,
    weighted: bool = True,
    beside: Sequence[Release] = (),
    progress: Progress = silent,
) -> Estimate:
    """Answer a query about the table behind a release, from the release's folder alone.

    ``suppressed``: how many rows were suppressed, where the publisher says it. ``weighted``: whether
    rows count as many times as the release's survey weights say, where it has some. ``beside``: other
    releases of the series, of which the distribution of values is learned, too. ``progress``: called
    with ``parts`` as they are read and ``groups`` as they are answered, how many, and of how many.
    ReleaseError where the query is none that a release can answer, ExtraError without the extra that
    reads SQL.
    """
    check_progress(progress)
    if not isinstance(query, str | pl.Expr):
        raise ReleaseError(
            f"the query is {kind_of(query)}; give a text such as 'count(*) where age < 40', or a"
            " Polars expression."
        )
    names = [attribute.name for attribute in release.manifest.attributes]
    asked = read_expression(query) if isinstance(query, pl.Expr) else read_query(query, names)
    return answer(
        release,
        asked,
        str(query).strip(),
        suppressed=suppressed,
        weighted=weighted,
        beside=beside,
        progress=progress,
    )


def answer(
    release: Release,
    asked: Query,
    text: str,
    *,
    suppressed: int | None = None,
    weighted: bool = False,
    beside: Sequence[Release] = (),
    progress: Progress = silent,
) -> Estimate:
    """Answer a query that was read; ``text`` is what it is called."""
    view = _told(view_to_ask(release, progress), suppressed)
    if weighted and view.weights:  # whose bounds are of all groups at once
        view = _told(view_of(release), suppressed)
    _check_answer(release, view, asked)
    weights = view.weights if weighted else None
    others = [view_to_ask(other) for other in beside]
    method = str(release.manifest.method.get("name"))
    notes = said_of(view, asked, weights, has_model=method in ERROR)
    if asked.of is not None and not view.line(asked.of).numeric:
        raise ReleaseError(
            f"{asked.of!r} holds no numbers, so that it has no {asked.aggregate}; ask for count(*),"
            " or for another attribute."
        )
    asking = _Asking(view, others, method, weights is not None, Shared(), _mixed(release))
    groups, figures = list(_groups(view, asked)), list[Figures]()
    for values, where in groups:
        progress(GROUPS, len(figures), len(groups))
        figures.append(_figures(asking, replace(asked, where=where), values))
    progress(GROUPS, len(figures), len(groups))
    if any(each.low is None or each.low != each.high for each in figures):
        notes += said_of_tests(view, asked.where)
    notes += unbounded(asked, figures, notes)
    return Estimate(
        query=text,
        by=asked.by,
        figures=tuple(figures),
        model=view.model + (", each row of its group's mean weight" if weights else ""),
        notes=notes,
        weight=weights.name if weights else None,
    )


def _mixed(release: Release) -> float:
    """How far rows of mutual cover are mixed with others', by delta: what depends on each other does so
    less in its tables, and how much less is the more uncertain, the less of it is left.
    """
    if release.manifest.method.get("name") != "mutual-cover":
        return 0.0
    delta = exact(release.manifest.method.get("delta"), "delta")  # type: ignore[arg-type]
    if delta <= 0:
        raise ReleaseError(f"delta of the manifest is {delta}; it must be above 0.")
    return float(1 / (2 * delta))


def _check_answer(release: Release, view: View, asked: Query) -> None:
    """MachineError where what is asked of has more different ends than the memory holds."""
    names = {*asked.by, *(test.attribute for test in comparisons(asked.where))}
    summed = {asked.of} if asked.of is not None else set()
    ends = view.points(names - summed) + 4 * view.places(summed)
    check_room(release, ends, f"an answer about {', '.join(sorted(names | summed))}")


def _told(view: View, suppressed: int | None) -> View:
    """The view with what the publisher says of suppressed rows; ReleaseError where that cannot
    be.
    """
    if suppressed is None:
        return view
    suppressed = of_numpy(suppressed)
    if isinstance(suppressed, bool) or not isinstance(suppressed, int) or suppressed < 0:
        raise ReleaseError(
            f"suppressed = {suppressed!r} is no number of rows; give a whole number from 0."
        )
    if view.form == "recoded":
        raise ReleaseError(
            "of a sample it may not be said how many rows are missing; leave 'suppressed' out."
        )
    if view.unpublished == 0 and suppressed:
        raise ReleaseError(
            "the manifest says that no row may be suppressed; leave 'suppressed' out."
        )
    return replace(view, unpublished=suppressed, why_unpublished="")


def _groups(view: View, asked: Query) -> Iterator[tuple[dict[str, Any], Condition]]:
    """Each group's values and condition."""
    if twice := [name for name in asked.by if asked.by.count(name) > 1]:
        raise ReleaseError(f"the query groups by {twice[0]!r} twice; name it once.")
    lists = [_values(view, name) for name in asked.by]
    if math.prod(len(values) for values in lists) > _MOST_GROUPS:
        raise ReleaseError(
            f"grouping by {', '.join(asked.by)} makes more than {_MOST_GROUPS} groups; ask by WHERE"
            " about those that you need."
        )
    for combination in product(*lists):
        where = asked.where
        for name, value in zip(asked.by, combination, strict=True):
            where = both(
                where,
                Comparison(name, "missing") if value is None else Comparison(name, "in", (value,)),
            )
        yield dict(zip(asked.by, combination, strict=True)), where


def _values(view: View, name: str) -> list[Any]:
    """All values that an attribute may have, in order, where that can be said."""
    view.attribute(name)
    line = view.line(name)
    facets = list(view.facets_with(name))
    missing = [None] if any(_has_missing(facet.ends[name]) for facet in facets) else []
    exact = line.kind == "text" or all(_exactly(facet, name) for facet in facets)
    if line.kind == "leaf":
        return [*line.tree, *missing]
    published = (
        pl.concat(
            [end.drop_nulls().to_frame("") for end in view.ends(name)], how="vertical_relaxed"
        )[""]
        .unique()
        .sort()
    )
    if exact:
        return [*published.to_list(), *missing]
    if line.kind in ("whole", "day") and len(published):
        keys = line.keys(published)
        first, last = int(keys[0]), int(keys[-1])
        if last - first < _MOST_GROUPS:
            all_of_them = pl.Series(range(first, last + 1), dtype=pl.Int64)
            return [
                *(
                    all_of_them.cast(pl.Int32).cast(pl.Date) if line.kind == "day" else all_of_them
                ).to_list(),
                *missing,
            ]
    raise ReleaseError(
        f"which values {name!r} has the release does not say, since it is published in intervals;"
        " ask by WHERE about those that you need."
    )


def _has_missing(ends: Ends) -> bool:
    """Whether the missing value is said to be there, other than by saying nothing."""
    return bool((ends.missing & ~(ends.unbounded[0] & ends.unbounded[1])).any())


def _exactly(facet: Facet, name: str) -> bool:
    """Whether a facet shows values of an attribute as they are, or nothing of it."""
    ends = facet.ends[name]
    nothing = ends.low.null_count() == len(ends.low) == ends.high.null_count()
    return ends.exact or (nothing and bool(ends.unbounded[0].all()))


@dataclass(frozen=True, eq=False)
class _Asking:
    """What all groups of a query are answered from."""

    view: View
    others: Sequence[View]
    """Other releases of the series."""
    method: str
    weighted: bool
    shared: Shared
    mixed: float
    """How many times as far as a count is from what chance would have made of it, the truth may be from
    the count.
    """

    def regions(self, name: str, where: Condition) -> Regions:
        """The regions of an attribute for a condition; the same ones wherever its constants are
        published ends, or cut as those of the group before did.
        """
        whole = self.shared.of(
            ("regions", name), lambda: self.view.regions(name, All(), self.others)
        )
        new = frozenset(whole.new(t for t in comparisons(where) if t.attribute == name))
        if not new:
            return whole
        return self.shared.of(
            ("regions", name, new), lambda: self.view.regions(name, where, self.others)
        )


@np.errstate(over="ignore", invalid="ignore")  # of numbers whose squares no float holds
def _figures(asking: _Asking, asked: Query, values: Mapping[str, Any]) -> Figures:
    """The figures of one group."""
    view, others, method, shared = asking.view, asking.others, asking.method, asking.shared
    shared.next_group()
    names = dict.fromkeys(
        [*(t.attribute for t in comparisons(asked.where)), *([asked.of] if asked.of else [])]
    )
    regions = {name: asking.regions(name, asked.where) for name in names}
    bounds = (WeighedBounds if asking.weighted else Bounds)(view, regions, shared)
    beside = [Bounds(other, regions, shared) for other in others]
    model = Model(view, bounds, beside=beside, shared=shared)
    if isinstance(bounds, WeighedBounds):
        return weighed(model, bounds, asked, values)
    hard: tuple[float, float] | None = None
    variance, crossing = 0.0, None
    if asked.aggregate == "count":
        hard, rows, variance = _counted(model, asked.where)
        crossing = crossed(model, asked.where) if hard[0] < hard[1] else None
        rows, variance = (rows, variance) if crossing is None else (crossing[0], crossing[1] ** 2)
        point: float | None = rows / view.share
    elif asked.of is not None:
        rows, total, variance, crossing = _added_up(model, asked, asked.of)
        hard = (
            bounds.means(asked.of, asked.where)
            if asked.aggregate == "mean"
            else bounds.sums(asked.of, asked.where)
        )
        hard = hard if hard is not None and all(map(math.isfinite, hard)) else None
        point = (
            total / view.share if asked.aggregate == "sum" else total / rows if rows > 0 else None
        )
    if point is not None and not can_be_estimated(view, asked.of, point, hard):
        point = None
    silent_about = any(says_nothing(view, name) for name in names) or any(
        hides_why(view, test.attribute)
        for test in comparisons(asked.where)
        if test.kind == "missing" and not (test.negated and test.attribute == asked.of)
    )
    if silent_about and (hard is None or hard[0] < hard[1]):
        point = None
    if point is not None and hard is not None and view.form != "recoded":
        point = min(max(point, hard[0]), hard[1])
    interval = None
    if (
        point is not None
        and method in ERROR
        and view.unpublished is not None
        and not any(hides_missing(view, name) for name in names)
        and (asked.aggregate == "count" or not view.unpublished)
    ):
        error = 0.0 if crossing else max(ERROR[method], _least_error(model, asked, names))
        if asked.aggregate == "mean" and asked.of is not None and not crossing:
            rows, _, variance = _spread(model, asked.where, asked.of, point)  # around it
        interval = _interval(bounds, asked, point, rows, variance, hard, error)
        if interval is not None and not crossing:
            half = interval[1] - point + _off_by_dependence(asking, model, asked, rows)
            interval = point - half, point + half
    of_table = _of_table(view, asked, hard)
    if interval is not None:
        if asked.aggregate == "count":  # of no other number of rows is there any
            interval = math.floor(interval[0]), math.ceil(interval[1])
        interval = _within((interval[0], interval[1] + (view.unpublished or 0)), of_table)
    whole = asked.aggregate == "count"
    low_high = tuple(None if x is None else int(x) if whole else x for x in of_table)
    published = None if hard is None else (int(hard[0]), int(hard[1])) if whole else hard
    return Figures(
        low=low_high[0],
        high=low_high[1],
        published=published,
        estimate=point,
        interval=interval,
        values=values,
    )


def _off_by_dependence(asking: _Asking, model: Model, asked: Query, rows: float) -> float:
    """How far an answer may be off because attributes depend on each other more than what is published
    of them.
    """
    if asking.method == "slicing":
        if asked.of is None:
            return left_over(model, asked.where)
        middle = middle_of(model, asked.where, asked.of)
        off = left_over(model, asked.where, asked.of, middle)
        if asked.aggregate == "mean":
            return off / max(rows, 1.0)
        return off + abs(middle) * left_over(model, asked.where)
    if asked.of is None and asking.mixed:
        return asking.mixed * abs(rows - model.alone(asked.where))
    return 0.0


def _least_error(model: Model, asked: Query, names: Iterable[str]) -> float:
    """The least error of the model where little is told of an attribute of a query."""
    view = model.view
    beside = {name: beside_missing(view, name) for name in names}
    hidden = any(share > MANY_BESIDE for share in beside.values()) or any(
        test.kind == "missing"
        and (beside[test.attribute] > 0 or not (test.negated and test.attribute == asked.of))
        for test in comparisons(asked.where)
    )  # a sum and a mean are of the values that are there
    texts = any(is_text_between(view, name) for name in names)
    heaps = model.at_heap(asked.where)
    fakes = {*names} == {view.sensitive} and any(p.view.counterfeits.any() for p in model.each())
    beyond = asked.of is not None and (
        view.form == "perturbed" or not model.is_in_one(asked.where, asked.of)
    )
    return max(
        OF_SUMS if beyond else 0,
        OF_TEXTS if texts else 0,
        OF_MISSING if hidden else 0,
        OF_HEAPS if heaps else 0,
        OF_COUNTERFEITS if fakes else 0,
    )


def _of_table(
    view: View, asked: Query, hard: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """Bounds of the published rows as bounds of the table's."""
    if hard is None:
        return None, None
    if view.unpublished == 0:
        return hard
    if asked.aggregate != "count":
        return None, None
    return hard[0], None if view.unpublished is None else hard[1] + view.unpublished


def _counted(model: Model, where: Condition) -> tuple[tuple[float, float], float, float]:
    """Between how many rows the condition is true of, of how many it is expected to be, and the
    variance of that if members of a group are drawn by themselves.
    """
    least = most = expected = variance = 0.0
    for part in model.each():
        low, high = part.bounds.rows(where)
        rows = part.rows(where)
        of_group = np.maximum(rows - rows**2 / np.maximum(part.view.real, 1), 0)
        least, most = least + float(low.sum()), most + float(high.sum())
        expected, variance = (
            expected + float(rows.sum()),
            variance + float(of_group[low < high].sum()),
        )
    return (least, most), expected, variance


def _spread(model: Model, where: Condition, name: str, shift: float) -> tuple[float, float, float]:
    """The expected rows, the expected sum of a number less ``shift``, and the variance of that if
    members of a group are drawn by themselves.
    """
    expected = total = variance = 0.0
    for part in model.each():
        rows, sums, squares = part.moments(name, where, shift)
        of_group = np.maximum(squares - sums**2 / np.maximum(part.view.real, 1), 0)
        expected, total = expected + float(rows.sum()), total + float(sums.sum())
        variance += float(of_group[part.bounds.open_sums(name, where)].sum())
    return expected, total, variance


def _added_up(
    model: Model, asked: Query, name: str
) -> tuple[float, float, float, tuple[float, float] | None]:
    """The expected rows, the expected sum of a number, the variance of the sum, or for a mean of the sum
    around it, and what all groups together tell of what it is off from a middle, where they do; where
    they do not, the variance for a mean is not known yet.
    """
    middle = middle_of(model, asked.where, name)
    crossing = crossed(model, asked.where, name, middle)
    counted = crossed(model, asked.where)
    mean = asked.aggregate == "mean"
    if crossing is None or counted is None or counted[0] <= 0:
        if mean:
            return *model.totals(name, asked.where), 0.0, None
        return *_spread(model, asked.where, name, 0.0), None
    (off, deviation), (rows, of_rows) = crossing, counted
    each = off / rows if mean else middle  # so much is a row that is there too many
    return rows, rows * middle + off, deviation**2 + (each * of_rows) ** 2, crossing


def _interval(
    bounds: Bounds,
    asked: Query,
    point: float,
    rows: float,
    variance: float,
    hard: tuple[float, float] | None,
    error: float,
) -> tuple[float, float] | None:
    """The point and on both sides chance (1.96 standard deviations) and the model's error (a share
    of the distance between hard bounds) together.
    """
    if hard is None:
        return None
    width, per = hard[1] - hard[0], 1.0
    if asked.of is not None:
        around = 0.0
        if asked.aggregate == "mean":  # off by what its numbers are off from it, over how many
            around, per = point, max(rows, 1.0)
        width = bounds.width(asked.of, asked.where, around)
    if not math.isfinite(width):
        return None
    half = math.hypot(_Z * math.sqrt(variance), error * width) / per
    if math.isnan(half):  # of numbers whose squares no float holds
        half = math.inf
    return point - half, point + half


def _within(
    interval: tuple[float, float], bounds: tuple[float | None, float | None]
) -> tuple[float, float]:
    """The part of an interval that is possible."""
    low, high = bounds
    return (interval[0] if low is None else max(interval[0], low)), (
        interval[1] if high is None else min(interval[1], high)
    )
