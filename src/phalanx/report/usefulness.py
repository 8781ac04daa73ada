# SPDX-License-Identifier: Apache-2.0
"""What a reader can do with a release: how far shares, pairs and counts are from the original.

Inside, where the original table is at hand, beside it. Outside there are released values alone, and
distributions stand beside those of a reader who takes every interval for evenly filled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Integers
from phalanx.data.microdata import Microdata
from phalanx.errors import PhalanxError
from phalanx.estimators.answering import answer
from phalanx.estimators.draws import draw
from phalanx.estimators.reading import view_of
from phalanx.estimators.view import View
from phalanx.randomness import Randomness, Stream
from phalanx.release.folder import Release
from phalanx.release.kinds import form_class
from phalanx.utility.bins import Bins, Coded
from phalanx.utility.losses import pairs, phi2
from phalanx.utility.measured import as_published
from phalanx.utility.workloads import Rows, errors, workload

MOST_ROWS: Final = 50_000
"""A larger release is not drawn from for its page; the limit is on published rows alone."""
_QUESTIONS: Final = 20
_MOST_BARS: Final = 12
_DIGITS: Final = (6, 9, 12, 17)
_PLAIN: Final = 1e15
"""Numbers below are written without an exponent."""


@dataclass(frozen=True)
class Distribution:
    """The shares of one attribute's values, in bins."""

    name: str
    labels: tuple[str, ...]
    released: tuple[float, ...]
    beside: tuple[float, ...]
    """The original's; outside, those of evenly filled intervals. Empty where there are none."""
    within: float = 0.0
    """How much further apart the shares of values are that one bin holds together."""

    @property
    def moved(self) -> float:
        """The share of rows that would have to be moved to make the two equal."""
        if not self.beside:
            return 0.0
        apart = sum(abs(a - b) for a, b in zip(self.released, self.beside, strict=True))
        return (apart + self.within) / 2


@dataclass(frozen=True)
class Usefulness:
    """What was computed, from a table drawn from the release."""

    inside: bool
    """Whether the original table was at hand."""
    distributions: tuple[Distribution, ...] = ()
    pairs: tuple[tuple[str, str, float, float], ...] = ()
    """Two attributes, and how much they tell of each other in the original and in the release."""
    errors: tuple[float, ...] = ()
    """Relative errors of typical questions, ascending; inside only."""
    sample_errors: tuple[float, ...] = ()
    """The same of a plain sample of the same size."""
    why_not: str = ""
    """Why there is nothing; empty where there is something."""

    @property
    def error(self) -> float | None:
        """The median error of questions."""
        return float(np.median(self.errors)) if self.errors else None

    @property
    def sample_error(self) -> float | None:
        """The same of a plain sample of the same size."""
        return float(np.median(self.sample_errors)) if self.sample_errors else None

    @property
    def moved(self) -> float | None:
        """How far shares of values are from the original's, on average over attributes."""
        shares = [d.moved for d in self.distributions if d.beside]
        return float(np.mean(shares)) if shares and self.inside else None

    @property
    def correlation_lost(self) -> float | None:
        """How far pairs are from what they told of each other, on average."""
        if not self.pairs:
            return None
        return float(np.mean([abs(after - before) for _, _, before, after in self.pairs]))

    @classmethod
    def of(cls, release: Release, microdata: Microdata | None) -> "Usefulness":
        """Computed from the release and, inside, its original; nothing of a release without rows,
        with sets of values, or of more than ``MOST_ROWS`` rows.

        A differentially private release is measured beside nothing: what its original says is
        not told.
        """
        kind, rows = form_class(release.manifest.form), release.manifest.rows
        inside = microdata is not None and not kind.tells_itself_alone
        if not rows:
            return cls(inside, why_not="the release has no row")
        if rows > MOST_ROWS:
            return cls(
                inside,
                why_not=(
                    f"beyond the budget of a page: the release has {rows:,} rows, and up to"
                    f" {MOST_ROWS:,} are drawn for it; 'phalanx measure' computes this"
                ),
            )
        try:
            view = view_of(release)
            drawn = draw(release, 1, seed=0)[0]
        except PhalanxError as error:
            return cls(inside, why_not=str(error).rstrip("."))
        if microdata is None or not inside:
            return cls(inside=False, distributions=_beside_even(view, drawn))
        names = [n for n in drawn.columns if n in microdata.columns or n in microdata.kept.columns]
        original = _decoded(microdata, names)
        bins = Bins.of(drawn.select(names))  # no value is named that was not released
        before, after = bins.code(original), bins.code(drawn.select(names))
        errors_found, chance = _errors(release, view, original)
        return cls(
            inside=True,
            distributions=_distributions(bins, before, after, drawn.schema),
            pairs=_pairs(before, after),
            errors=errors_found,
            sample_errors=chance,
        )


def _decoded(microdata: Microdata, names: Sequence[str]) -> pl.DataFrame:
    """The original's values of some attributes."""
    columns = [
        microdata.columns[n].domain.values.gather(microdata.columns[n].codes).alias(n)
        if n in microdata.columns
        else microdata.kept[n]
        for n in names
    ]
    return pl.DataFrame(columns)


def _distributions(
    bins: Bins, before: Coded, after: Coded, kinds: Mapping[str, pl.DataType]
) -> tuple[Distribution, ...]:
    """Shares by bin, the attributes that moved most first; ``kinds``: what their values are."""
    drawn = []
    for name in after:
        shares = [
            np.bincount(table[name], minlength=bins.size(name)) / max(1, len(table[name]))
            for table in (after, before)
        ]
        labels = _labels(bins, name, kinds[name])
        shown = [i for i in range(bins.size(name)) if shares[0][i] or shares[1][i]]
        if len(shown) > _MOST_BARS:  # the most frequent ones, and the others as one
            unnamed = -1 if name in bins.edges else bins.size(name) - 1
            order = sorted(shown, key=lambda i: (i == unnamed, -shares[1][i]))
            frequent, rest = sorted(order[: _MOST_BARS - 1]), order[_MOST_BARS - 1 :]
            more = [float(of[rest].sum()) for of in shares]
            apart = float(np.abs(shares[0] - shares[1])[rest].sum())
            drawn.append(
                Distribution(
                    name,
                    (*(labels[i] for i in frequent), "other"),
                    (*(float(shares[0][i]) for i in frequent), more[0]),
                    (*(float(shares[1][i]) for i in frequent), more[1]),
                    apart - abs(more[0] - more[1]),
                )
            )
        else:
            drawn.append(
                Distribution(
                    name,
                    tuple(labels[i] for i in shown),
                    tuple(float(shares[0][i]) for i in shown),
                    tuple(float(shares[1][i]) for i in shown),
                )
            )
    return tuple(sorted(drawn, key=lambda d: -d.moved))


def _labels(bins: Bins, name: str, kind: pl.DataType) -> list[str]:
    """What every bin is called, the missing value first and other values last."""
    if name not in bins.edges:
        return ["missing", *bins.values[name].to_list(), "other"]
    edges = _edges(bins.edges[name], kind)
    parts = [f"to {edges[0]}", *(f"to {edge}" for edge in edges[1:]), f"over {edges[-1]}"]
    return ["missing", *parts]


def _edges(edges: Floats, kind: pl.DataType) -> list[str]:
    """The ends of bins, in as few digits as tell them apart; a day by its date."""
    if kind.is_temporal():
        return pl.Series(np.floor(edges).astype(np.int64)).cast(kind).cast(pl.String).to_list()
    texts: list[str] = []
    for digits in _DIGITS:
        texts = [f"{edge:.{digits}g}" for edge in edges.tolist()]
        if (np.diff([float(text) for text in texts]) > 0).all():
            break
    plain = float(np.abs(edges).max(initial=0)) < _PLAIN
    return [f"{Decimal(text):f}" for text in texts] if plain else texts


def _beside_even(view: View, drawn: pl.DataFrame) -> tuple[Distribution, ...]:
    """Released distributions beside those of evenly filled intervals."""
    bins = Bins.of(drawn)
    stream = Randomness.seeded(0).stream("even")  # a picture protects no person
    even = {name: _even(view, name, stream) for name in drawn.columns}
    after = bins.code(drawn)
    flat: dict[str, Any] = {}
    for name, values in even.items():
        alone = Bins(
            {n: edges for n, edges in bins.edges.items() if n == name},
            {n: by_even for n, by_even in bins.values.items() if n == name},
        )
        flat[name] = after[name] if values is None else alone.code(values.to_frame(name))[name]
    moved = []
    for one in _distributions(bins, flat, after, drawn.schema):
        by_even = even[one.name] is not None
        moved.append(one if by_even else Distribution(one.name, one.labels, one.released, ()))
    return tuple(moved)


def _even(view: View, name: str, stream: Stream) -> pl.Series | None:
    """A value anywhere in the interval of each row; None where values stand as they are."""
    facet = next((f for f in view.believed if name in f.ends), None)
    if facet is None:  # a weight, of which each group has one
        return None
    ends, line = facet.ends[name], view.line(name)
    if ends.exact or view.form != "generalized":
        return None
    place: Integers = np.arange(len(facet.count)) if ends.which is None else ends.which
    has_ends = ~(ends.low.is_null() | ends.high.is_null()).to_numpy()[place]
    place, times = place[has_ends], facet.count[has_ends]
    low, high = (np.repeat(line.keys(end)[place], times) for end in (ends.low, ends.high))
    at = (stream.words(len(low)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if line.kind == "number":
        return pl.Series(low + at * (high - low))
    if line.kind in ("leaf", "text"):
        texts: Any = np.array([*line.tree], dtype=object)
        if line.kind == "text":
            texts, both = np.unique(np.concatenate([low, high]), return_inverse=True)
            low, high = both[: len(low)], both[len(low) :]
        place = np.floor(low + at * (high - low + 1)).astype(np.int64)
        return pl.Series([str(texts[i]) for i in place.tolist()], dtype=pl.String)
    most = np.nextafter(2.0**63, 0)  # the largest whole number that is a float
    wide = high.astype(np.float64) - low + 1
    whole = pl.Series(np.minimum(np.floor(low + at * wide), most).astype(np.int64))
    return whole.cast(pl.Int32).cast(pl.Date) if line.kind == "day" else whole


def _pairs(before: Coded, after: Coded) -> tuple[tuple[str, str, float, float], ...]:
    """What every two attributes tell of each other, before and after; of many attributes some."""
    names = list(after)
    two = zip(phi2({n: before[n] for n in names}), phi2(after), strict=True)
    return tuple(
        (a, b, float(was), float(now)) for (a, b), (was, now) in zip(pairs(names), two, strict=True)
    )


def _errors(
    release: Release, view: View, original: pl.DataFrame
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Relative errors of random counts, and of a plain sample of the same size."""
    rng = Randomness.seeded(0)  # measuring protects no person, and who asks again sees the same
    table = as_published(
        original, {a.name: a for a in view.attributes if a.name in original.columns}
    )
    quasi = [a.name for a in release.form.attribute("quasi") if a.name in table.columns]
    target = release.form.sensitive if release.form.sensitive in table.columns else None
    rows, published = Rows(table), int(view.real.sum())
    asked = workload(rows, quasi, target, _QUESTIONS, rng.stream("workload"))
    picked, share = rng.stream("sample").integers(table.height, published), published / table.height
    of_release = errors(asked, lambda query: answer(release, query, "").figures[0].estimate or 0.0)
    chance = errors(asked, lambda query: int(rows.true_of(query.where)[picked].sum()) / share)
    return tuple(sorted(map(float, of_release))), tuple(sorted(map(float, chance)))
