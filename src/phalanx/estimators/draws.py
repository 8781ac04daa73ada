# SPDX-License-Identifier: Apache-2.0
"""Tables drawn from what a release leaves possible, in the schema of the original: values, not
intervals.

The facets of a group are put side by side in random order, and counterfeits taken out, any of a
group's rows as likely as another. In a box one row stands at each tight end, and the others where
the model believes values to lie. What the model learned is uncertain, too: each draw weighs the
boxes anew (the Bayesian bootstrap, Rubin 1981), so that draws differ by what is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Floats, Integers, Ints, in_order
from phalanx.errors import ReleaseError, shown
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All, Comparison, Condition, comparisons
from phalanx.estimators.entries import Facet
from phalanx.estimators.expressions import read_expression
from phalanx.estimators.queries import read_query
from phalanx.estimators.reading import check_room, view_to_ask
from phalanx.estimators.regions import Regions
from phalanx.estimators.spreading import Boxes, maximized
from phalanx.estimators.view import Box, View
from phalanx.exact import is_list, of_numpy, whole
from phalanx.progress import Progress, silent
from phalanx.randomness import Randomness, Stream
from phalanx.release.folder import Release

_OF_A_ROW, _OF_A_VALUE = 64, 32
"""About so many bytes a row of a piece takes while it is drawn, and each of its values."""
_AT_ONCE: Final = 1 << 20
"""About so many rows are drawn at a time, so that a table may be larger than the memory."""
_TRIES: Final = 30
"""How often groups with rows that cannot be are drawn again."""


def draw(
    release: Release,
    times: int = 20,
    *,
    never: "Sequence[str | pl.Expr] | str | pl.Expr" = (),
    seed: int | None = None,
) -> list[pl.DataFrame]:
    """So many tables that the release leaves possible, in the original's columns, rows in random
    order, of a large one groups that chance chose after others; see ``phalanx.Release.draw``.
    """
    return [pl.concat(pieces) for pieces in drawing(release, times, never=never, seed=seed)]


def drawing(
    release: Release,
    times: int,
    *,
    never: "Sequence[str | pl.Expr] | str | pl.Expr" = (),
    seed: int | None = None,
    progress: Progress = silent,
) -> Iterator[Iterator[pl.DataFrame]]:
    """The same tables one after the other, each in pieces that are drawn when they are asked for,
    at least one; what is wrong is refused before. In a piece are the rows of groups that chance
    chose. ``progress``: called with ``parts`` of the release as they are read.
    """
    times = of_numpy(times)
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise ReleaseError(
            f"times = {shown(times)} is no number of tables; give a whole number from 1."
        )
    view = view_to_ask(release, progress)
    if sets := [attribute.name for attribute in view.attributes if attribute.type == "set"]:
        raise ReleaseError(
            f"{sets[0]!r} holds sets of values, and no table with sets is drawn; ask 'phalanx"
            " estimate' about the other attributes."
        )
    listed = [never] if isinstance(never, str | pl.Expr) else never
    if not is_list(listed, lambda rule: isinstance(rule, str | pl.Expr)):
        raise ReleaseError(
            "never takes conditions, each a text such as 'age < 16' or a Polars expression; give one,"
            " or a list."
        )
    rules = [_rule(view, rule) for rule in listed]
    if seed is not None:
        whole(seed, "the seed", 0)
    rng = Randomness.secure() if seed is None else Randomness.seeded(seed)
    piece = min(view.persons, _AT_ONCE) * (_OF_A_ROW + _OF_A_VALUE * len(view.attributes))
    ends = view.points(a.name for a in view.attributes)
    check_room(release, ends, "a drawn table", piece)
    regions = {a.name: view.regions(a.name, All(tuple(rules))) for a in view.attributes}
    bounds = Bounds(view, regions)
    return (_pieces(view, bounds, rules, rng.stream(f"draw {i}")) for i in range(times))


def _rule(view: View, rule: "str | pl.Expr") -> Condition:
    """A condition that no row fulfils."""
    query = (
        read_expression(rule)
        if isinstance(rule, pl.Expr)
        else read_query(f"count(*) where {rule}", [a.name for a in view.attributes])
    )
    if query.by:
        raise ReleaseError(f"never takes a condition alone, and has 'group by': {shown(rule)}.")
    for test in comparisons(query.where):
        view.attribute(test.attribute)
    return query.where


def _pieces(
    view: View, bounds: Bounds, rules: Sequence[Condition], stream: Stream
) -> Iterator[pl.DataFrame]:
    """One table, some of its groups at a time."""
    first = view.parts[0] if view.parts else view
    weights = {
        (i, name): _weights(bounds, i, name, stream)
        for i, facet in enumerate(first.believed)
        for name in facet.ends
    }
    return (
        _piece(bounds if some is view else Bounds(some, bounds.regions), weights, rules, stream)
        for some in _chosen(view, stream)
    )


def _chosen(view: View, stream: Stream) -> Iterator[View]:
    """What is believed of all groups, some at a time: chance says which, of each part alike, as
    groups that are near each other in a release are alike, and a reader may look at the first rows
    of a table alone.
    """
    pieces = -(-view.persons // _AT_ONCE)
    if pieces <= 1:
        yield view.whole() if view.parts else view
        return
    dealt = [_dealt(part, pieces, stream) for part in view.parts or (view,)]
    for number in range(pieces):
        some = [
            (np.flatnonzero(groups == number), [np.flatnonzero(each == number) for each in entries])
            for groups, entries in dealt
        ]
        if any(len(groups) for groups, _ in some):  # one beyond a piece leaves others without any
            yield view.taken(some)


def _dealt(part: View, pieces: int, stream: Stream) -> tuple[Integers, Sequence[Integers]]:
    """The piece of every group, shape (g,), and of each entry of the facets that are believed,
    shape (e,). Each piece has as many rows; a group that goes beyond stays whole.
    """
    order = stream.permutation(len(part.rows))
    real = part.real[order].astype(np.int64)
    piece: Integers = np.empty(len(order), dtype=np.min_scalar_type(pieces))
    piece[order] = (np.cumsum(real) - real) * pieces // max(int(real.sum()), 1)
    return piece, [piece[facet.group] for facet in part.believed]


def _piece(
    bounds: Bounds,
    weights: Mapping[tuple[int, str], Floats],
    rules: Sequence[Condition],
    stream: Stream,
) -> pl.DataFrame:
    """The rows of all groups, in random order; groups with rows that cannot be are drawn again, and
    what is left of such rows is left out.
    """
    view = bounds.view
    group = np.repeat(np.arange(len(view.rows)), view.real)
    codes = _codes(bounds, weights, stream)
    wrong = _wrong(bounds.regions, rules, codes, len(group))
    for _ in range(_TRIES if rules else 0):
        if not wrong.any():
            break
        again = np.isin(group, np.unique(group[wrong]))
        fresh = _codes(bounds, weights, stream)
        codes = {
            name: np.where(again, fresh[name], codes_before) for name, codes_before in codes.items()
        }
        wrong = _wrong(bounds.regions, rules, codes, len(group))
    right_rows = np.flatnonzero(~wrong)
    order = right_rows[stream.permutation(len(right_rows))] if len(right_rows) else right_rows
    drawn = pl.DataFrame(
        [
            _values(bounds.regions[a.name], codes[a.name][order], stream).alias(a.name)
            for a in view.attributes
        ]
    )
    if view.weights is None:
        return drawn
    return drawn.with_columns(pl.Series(view.weights.name, view.weights.means[group[order]]))


def _weights(bounds: Bounds, place: int, name: str, stream: Stream) -> Floats:
    """Where a model that was learned from boxes of random weight believes values to lie, shape (2K
    + 2,). ``place``: that of the facet among those that are believed.
    """
    boxes, exact, regions = [], True, bounds.regions[name]
    for each in bounds.each():
        facet = each.view.believed[place]
        boxes.append(_boxes(each.box(facet, name), facet.count, stream))
        exact &= facet.ends[name].exact
    together = Boxes.together(boxes)
    return together.points(regions) if exact else maximized(together, regions.drawable, ends=True)


def _boxes(box: Box, count: Ints, stream: Stream) -> Boxes:
    """Boxes whose entries have random weights, by how many rows they have; some at a time, as there
    may be one for each row.
    """
    rows = tight = np.zeros(len(box.low))
    for first in range(0, len(count), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        one = Boxes.of(replace(box, which=box.which[some]), _chance(stream, count[some]))
        rows, tight = rows + one.rows, tight + one.tight
    return Boxes(box.low, box.high, box.missing, rows, tight)


def _chance(stream: Stream, count: Ints) -> Floats:
    """The random weights of boxes with so many rows, shape of ``count``."""
    return -np.log(_uniform(stream, len(count))) * count


def _codes(
    bounds: Bounds, weights: Mapping[tuple[int, str], Floats], stream: Stream
) -> dict[str, Ints]:
    """The region of every attribute of every row, rows by groups, shape (n,) each."""
    codes: dict[str, Ints] = {}
    for i, facet in enumerate(bounds.view.believed):
        entry = _shuffled(bounds.view, facet, stream)
        for name in facet.ends:
            if name not in codes:
                codes[name] = _drawn(bounds, facet, name, weights[i, name], entry, stream)
    return codes


def _shuffled(view: View, facet: Facet, stream: Stream) -> Ints:
    """The entry of every row, rows by groups and within them at random; as many rows as are a
    person's.
    """
    entry = np.repeat(np.arange(len(facet.count)), facet.count)
    order = stream.permutation(len(entry)) if len(entry) else entry
    entry = entry[order][in_order(facet.group[entry[order]])]
    of = facet.group[entry]
    return entry[_place(of) < view.real[of]]


def _place(of: Ints) -> Ints:
    """The place of each of some numbers among those alike, which stand together, shape (n,)."""
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    return np.arange(len(of)) - np.repeat(begins, np.diff(begins, append=len(of)))


def _drawn(
    bounds: Bounds, facet: Facet, name: str, weights: Floats, entry: Ints, stream: Stream
) -> Ints:
    """A region for every row, within the box of its entry, shape (n,)."""
    box, n = bounds.box(facet, name), len(entry)
    of = box.which[entry]
    low, high, missing = box.low[of], box.high[of], box.missing[of]
    size = len(weights) - 1
    upto = np.concatenate([[0.0], np.cumsum(weights[:-1])])
    some = low <= high
    first, last = upto[np.clip(low, 0, size)], upto[np.clip(high + 1, 0, size)]
    mass = np.where(some, last - first, 0)
    total = mass + missing * weights[-1]
    at = _uniform(stream, n) * total
    inside, wide = low.copy(), np.flatnonzero(low < high)
    inside[wide] = np.clip(
        np.searchsorted(upto, (first + at)[wide], side="right") - 1, low[wide], high[wide]
    )
    code = np.where((at >= mass) & missing, size, inside)
    coin = _uniform(stream, n) < 0.5
    code = np.where(total > 0, code, np.where(some, np.where(coin, low, high), size))
    if not box.tight.any():
        return code.astype(np.int64)
    order = stream.permutation(n)
    order = order[in_order(entry[order])]
    place = _place(entry[order])
    ends = box.tight[of[order]] & (facet.count[entry[order]] >= 2)
    for which, values in ((0, np.where(missing, size, low)), (1, high)):
        there = order[ends & (place == which)]
        code[there] = values[there]
    return code.astype(np.int64)


def _wrong(
    regions: Mapping[str, Regions], rules: Sequence[Condition], codes: Mapping[str, Ints], n: int
) -> Bools:
    """The rows that cannot be, shape (n,)."""
    wrong = np.zeros(n, dtype=bool)
    for rule in rules:
        wrong |= _fulfils(regions, rule, codes, n)
    return wrong


def _fulfils(
    regions: Mapping[str, Regions], condition: Condition, codes: Mapping[str, Ints], n: int
) -> Bools:
    if isinstance(condition, Comparison):
        return np.asarray(regions[condition.attribute].mask(condition)[codes[condition.attribute]])
    every = isinstance(condition, All)
    fulfils = np.full(n, every)
    for part in condition.parts:
        fulfils = (
            fulfils & _fulfils(regions, part, codes, n)
            if every
            else fulfils | _fulfils(regions, part, codes, n)
        )
    return fulfils


def _values(regions: Regions, codes: Ints, stream: Stream) -> pl.Series:
    """Values in the regions: points as they are, in a gap any number or day, a text near its
    end.
    """
    kind, points = regions.line.kind, regions.points
    missing = codes == regions.missing
    if kind in ("leaf", "text"):
        names: Any = np.array([*regions.line.tree], dtype=object) if kind == "leaf" else points
        missing |= len(names) == 0  # no value is published: nothing says what it could be
        place = np.clip(codes // 2, 0, max(len(names) - 1, 0))
        texts = pl.Series([*map(str, names), None], dtype=pl.String)
        return texts.gather(np.where(missing, len(names), place))
    at = _uniform(stream, len(codes))
    if not len(points):  # the same
        numbers, missing = np.zeros(len(codes), dtype=points.dtype), missing | True
    else:
        numbers = regions.value_in(np.where(missing, 1, codes), at)
    values = pl.Series(numbers).set(pl.Series(missing), None)
    return values.cast(pl.Int32).cast(pl.Date) if kind == "day" else values


def _uniform(stream: Stream, n: int) -> Floats:
    """Numbers above 0 and below 1, shape (n,)."""
    return (stream.words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
