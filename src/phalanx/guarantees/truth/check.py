# SPDX-License-Identifier: Apache-2.0
"""Truth: what was published about each person is so. An error here protects no person and misleads
its readers.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.column import Column
from phalanx.data.microdata import Microdata
from phalanx.data.sets import SEPARATOR
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency import perturbed, recoded
from phalanx.guarantees.global_guarantee import NAME as GLOBAL
from phalanx.guarantees.truth import buckets as bucket_truth
from phalanx.guarantees.truth.weights import wrong_means
from phalanx.guarantees.views.boxes import Ends, ends_of, unfitting
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import group_by_group, place
from phalanx.guarantees.views.widening import follow_persons, widths_of
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.recoded import Recoded
from phalanx.release.part import Part

_AT_ONCE: Final = 1 << 20
"""So many rows, on average, are compared with their groups at once."""


def check(
    release: Release,
    microdata: Microdata,
    groups: Ints,
    shown: Microdata | None = None,
    registered: Ints | None = None,
) -> Verdict:
    """Every published person lies in the box of their group, and the group has their sensitive
    value as often as its persons do, and as its weight the mean of theirs.

    ``groups`` (n,): the group id in which each row of ``microdata`` was published, 0 for a row that
    was suppressed; of a perturbed release, in which no group is published and each row has its
    person's sensitive value, the number of its row; of a recoded one, of its image. ``shown``: the
    same rows with suppressed values taken out, which may be no other values than theirs. Only the
    publisher has it: without it, under the global guarantee, which suppresses, each value that a
    group lacks may be shown less by a row of its own in the group, one that is left when all equal
    values are taken off: a missing value, or some of a set. How many are is the least that can be.
    ``registered`` (r,): the same as ``groups`` of persons without a row, None for no person, whom
    their groups count; they lie in the boxes too, which shows where ``microdata`` holds a registry,
    of just these persons. The worst figure is the number of rows, of values, and of counts that are
    not so.
    """
    strangers = 0 if registered is None else int((registered > 0).sum())
    if release.form.kind != Generalized.kind:
        look = _BY_KIND.get(release.form.kind, _as_it_says)
        return look(release.form, microdata, groups, strangers)
    published = np.flatnonzero(groups > 0)
    of_release = Groups.of(release.form)
    at, there = place(of_release, pl.Series(groups[published]))
    if strangers := int((~there).sum()):
        note = f"{strangers} row(s) are said to stand in groups that are not published"
        return Verdict(name="truth", bound=0, worst=strangers, holds=False, note=note)
    published, at = group_by_group(published, at)
    boxes = ends_of(microdata, release.generalized, _widths(release))
    outside, loose = unfitting(microdata, boxes, published, at)
    if not _follows_persons(release) or of_release.registered.any():
        loose = 0  # intervals of registered persons may be wider than rows show
    wrong, remarks = _registry(of_release, microdata, boxes, registered)
    suppressed, invented = (
        (0, 0)
        if shown is None or shown is microdata or of_release.values is None
        else _changed(microdata.sensitive, shown.sensitive, published)
    )
    unlike = _lacking(of_release, shown or microdata, published, at) + invented
    if shown is None and unlike and suppresses(release):
        suppressed = _shown_less(of_release, microdata.sensitive, published, at)
        unlike -= suppressed
    unnamed = int(
        (
            np.bincount(at, minlength=len(of_release)) != of_release.sizes - of_release.counterfeits
        ).sum()
    )
    note = f"{len(published)} row(s) lie in the box of their group, which has their value" + (
        f"; {suppressed} show it not or in part" if suppressed else ""
    )
    if outside + unlike:
        note = (
            f"{outside} row(s) lie outside the box of their group, and {unlike} value(s) of persons"
            " are not in their group"
        )
    if unnamed:
        remarks += f"; {unnamed} group(s) have another number of rows than persons and counterfeits"
    if loose:
        remarks += (
            f"; {loose} group(s) have an interval with an end that is no person's value, and the"
            f" manifest says that boxes are {release.manifest.boxes}"
        )
    weights = wrong_means(release.form, microdata, published, at)
    if weights:
        remarks += f"; {weights} group(s) show another weight than the mean of their rows'"
    wrong += outside + unlike + unnamed + loose + weights
    return Verdict(name="truth", bound=0, worst=wrong, holds=wrong == 0, note=note + remarks)


def check_of_images(release: Release, rows: Iterable[tuple[Microdata, Ints]]) -> Verdict:
    """The same of a recoded release whose table is larger than the memory; ``rows``: some at a
    time, and the number of the image of each, 0 for one that is not published.
    """
    numbers = range(len(release.manifest.parts))
    parts = (Part.read_part(release.path, release.manifest, number) for number in numbers)
    images = [
        recoded.Images.of(Recoded.expect(part.form)) for part in (parts if numbers else [release])
    ]
    return recoded.check_truth_of(recoded.Images.together(images), rows)


def _as_it_says(form: Form, microdata: Microdata, groups: Ints, _: int) -> Verdict:
    """Truth of a form of another package, which alone can read it."""
    wrong = form.untrue(microdata, groups)
    if wrong is None:
        return Verdict(
            name="truth",
            bound=0,
            worst=None,
            holds=True,
            note=(
                f"not checked: nothing tells how a {form.kind} release is compared with the"
                " original table"
            ),
        )
    note = (
        f"{wrong} value(s) of persons are not published as they are, by the package that reads"
        f" {form.kind} releases"
    )
    return Verdict(name="truth", bound=0, worst=wrong, holds=wrong == 0, note=note)


_BY_KIND: Final[Mapping[str, Callable[[Any, Microdata, Ints, int], Verdict]]] = {
    "perturbed": perturbed.check_truth,
    "recoded": recoded.check_truth,
    "sliced": bucket_truth.check_sliced,
    "bucketized": bucket_truth.check_bucketized,
}


def _follows_persons(release: Release) -> bool:
    """Whether a release says that its intervals end at values of persons, or on a grid beside them; a
    form without a manifest says nothing.
    """
    return isinstance(release, Release) and follow_persons(release.manifest)


def _widths(release: Release) -> Mapping[str, Fraction]:
    return widths_of(release.manifest) if isinstance(release, Release) else {}


def _registry(
    of_release: Groups,
    microdata: Microdata,
    boxes: Sequence[Ends],
    registered: Ints | None,
) -> tuple[int, str]:
    """How much of what is published about registered persons is not so, and in words."""
    named = np.zeros(0, dtype=np.int64) if registered is None else registered
    listed = np.flatnonzero(named > 0)
    at, here = place(of_release, pl.Series(named[listed]))
    outside = int((~here).sum())
    if microdata.registry is not None:
        persons = group_by_group(listed[here], at[here])
        outside += unfitting(microdata.registry, boxes, *persons)[0]
    other = int((np.bincount(at[here], minlength=len(of_release)) != of_release.registered).sum())
    if outside + other:
        return (
            outside + other,
            (
                f"; {outside} registered person(s) lie outside the box of their group, and {other}"
                " group(s) count another number of them"
            ),
        )
    if not len(listed):
        return 0, ""
    return 0, f"; {len(listed)} registered person(s) are counted" + (
        " and lie in the box of their group" if microdata.registry is not None else ""
    )


def _changed(own: Column, shown: Column, published: Ints) -> tuple[int, int]:
    """How many rows show less than their own value, and how many show something that is not
    theirs.
    """
    values = [own.domain.values, shown.domain.values]
    if any(each.dtype == pl.String for each in values):  # so that 5 is "5"
        values = [each.cast(pl.String) for each in values]
    pairs = pl.DataFrame(
        {
            "own": values[0].gather(own.codes[published]),
            "shown": values[1].gather(shown.codes[published]),
        }
    )
    changed = pairs.filter(~pl.col("own").eq_missing(pl.col("shown"))).group_by(pairs.columns).len()
    less = [
        _says_less(now, before, of_sets=own.domain.type == "set")
        for before, now in changed.select("own", "shown").iter_rows()
    ]
    rows = changed["len"].to_numpy()
    return int(rows[less].sum()), int(rows[~np.array(less, dtype=bool)].sum())


def _says_less(shown: Any, own: Any, *, of_sets: bool) -> bool:
    """Whether what is shown is missing, or some of the own set; nothing says less than a missing
    value.
    """
    return own is not None and (shown is None or (of_sets and _members(shown) < _members(own)))


def _members(text: Any) -> set[str]:
    return set(str(text).split(SEPARATOR)) - {""}


def _lacking(shown: Groups, microdata: Microdata, published: Ints, at: Ints) -> int:
    """How many values of persons, group by group, their groups lack, each counted as often as it is
    lacking.
    """
    if shown.values is None:
        return 0
    column = microdata.sensitive
    q = len(shown.values)
    kind = _common(shown.values, column.domain.values)
    numbered = pl.DataFrame({"value": shown.values.cast(kind), "number": np.arange(q)})
    number = (
        column.domain.values.cast(kind)
        .to_frame("value")
        .join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")["number"]
    )
    value_of = number.fill_null(-1).to_numpy()
    lacking, many = 0, 1 + len(at) // _AT_ONCE
    bounds = np.linspace(0, len(shown), many + 1).astype(np.int64)
    for low, high in pairwise(bounds):  # some groups at a time
        some = slice(*np.searchsorted(at, [low, high]).tolist())
        value = value_of[column.codes[published[some]]]
        unknown = value < 0  # nowhere in the release, so in no group
        first, last = np.searchsorted(shown.cell_group, [low, high])
        cells = shown.cell_group[first:last] * q + shown.cell_value[first:last]
        needed, times = np.unique((at[some] * q + value)[~unknown], return_counts=True)
        cell = np.minimum(np.searchsorted(cells, needed), len(cells) - 1)
        there = np.where(cells[cell] == needed, shown.cell_count[first:last][cell], 0)
        lacking += int(unknown.sum()) + int(np.maximum(times - there, 0).sum())
    return lacking


def _common(one: pl.Series, other: pl.Series) -> pl.DataType:
    """The type in which the values of both can be compared."""
    return pl.concat(
        [one.head(0).to_frame("value"), other.head(0).to_frame("value")], how="vertical_relaxed"
    )["value"].dtype


def suppresses(release: Release) -> bool:
    """Whether the release promises the global guarantee, under which alone values are suppressed; a
    form without a manifest promises nothing.
    """
    return isinstance(release, Release) and any(
        public.get("name") == GLOBAL for public in release.manifest.guarantees
    )


def _shown_less(shown: Groups, column: Column, published: Ints, at: Ints) -> int:
    """How many of the values that groups lack can be shown by rows of their group that say less,
    each by another row, and by none that shows a person's value.

    What is equal is taken off first, which costs no match: a row that shows a person's value and
    stands for a larger set can stand for that person, and the row that stood for the person says
    less than the larger set too.
    """
    if shown.values is None:
        return 0
    kind = _common(shown.values, column.domain.values)
    own = pl.DataFrame(
        {"group": at, "value": column.domain.values.cast(kind).gather(column.codes[published])}
    ).with_columns(count=pl.lit(1, dtype=pl.Int64))
    rows = pl.DataFrame(
        {
            "group": shown.cell_group,
            "value": shown.values.cast(kind).gather(shown.cell_value),
            "count": -shown.cell_count,
        }
    )
    unshown = (
        pl.concat([own, rows])
        .group_by("group", "value")
        .agg(pl.col("count").sum())
        .filter(pl.col("count") != 0)
    )
    needed: dict[int, Counter[Any]] = {}
    offered: dict[int, Counter[Any]] = {}
    for group, value, count in unshown.iter_rows():
        (needed if count > 0 else offered).setdefault(group, Counter())[value] = abs(count)
    of_sets = column.domain.type == "set"
    return sum(
        _matched(lacked, offered.get(group, Counter()), of_sets=of_sets)
        for group, lacked in needed.items()
    )


def _matched(needed: Mapping[Any, int], offered: Mapping[Any, int], *, of_sets: bool) -> int:
    """The most pairs of a needed value and an offered one that says less, each value in as many
    pairs at most as its count.

    A missing value fits every other one, so only sets in part are matched, along shortest
    augmenting paths, and missing values fill up.
    """
    wanting = {value: count for value, count in needed.items() if value is not None}
    pairs = (
        _matched_in_part(
            wanting, {value: count for value, count in offered.items() if value is not None}
        )
        if of_sets
        else 0
    )
    return min(sum(wanting.values()), pairs + offered.get(None, 0))


def _matched_in_part(needed: Mapping[Any, int], offered: Mapping[Any, int]) -> int:
    needs, offers = dict(needed), dict(offered)
    fits = {
        value: [part for part in offers if _says_less(part, value, of_sets=True)] for value in needs
    }
    flow: dict[Any, Counter[Any]] = {
        part: Counter() for part in offers
    }  # how many of each needed value an offered one stands for
    while path := _augmenting(needs, offers, fits, flow):
        steps = list(
            zip(path[::2], path[1::2], strict=True)
        )  # a needed value, and the offered one that is to stand for it
        back = list(
            zip(path[1::2], path[2::2], strict=False)
        )  # an offered value, and the needed one that it no longer stands for
        times = min(
            [needs[path[0]], offers[path[-1]], *(flow[part][value] for part, value in back)]
        )
        for value, part in steps:
            flow[part][value] += times
        for part, value in back:
            flow[part][value] -= times
        needs[path[0]] -= times
        offers[path[-1]] -= times
    return sum(needed.values()) - sum(needs.values())


def _augmenting(
    needs: Mapping[Any, int],
    offers: Mapping[Any, int],
    fits: Mapping[Any, Sequence[Any]],
    flow: Mapping[Any, Counter[Any]],
) -> list[Any]:
    """A shortest path from a needed value that is left to an offered one that is left, needed and
    offered in turn; empty where there is none.
    """
    queue = deque([value] for value, count in needs.items() if count)
    seen_needs, seen_offers = {path[0] for path in queue}, set()
    while queue:
        path = queue.popleft()
        for part in fits[path[-1]]:
            if part in seen_offers:
                continue
            seen_offers.add(part)
            if offers[part]:
                return [*path, part]
            for value, count in flow[part].items():
                if count and value not in seen_needs:
                    seen_needs.add(value)
                    queue.append([*path, part, value])
    return []
