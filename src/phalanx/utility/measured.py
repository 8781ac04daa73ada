# SPDX-License-Identifier: Apache-2.0
"""The figures of a release beside its original, each with what a sample of the same size has.

Neither table need be in memory: the original is read some rows at a time, twice, and tables are
drawn so; what stays of each row is its bins, a byte or two for each attribute.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Integers
from phalanx.data.column import doubled, kind_of, plain_float, typed
from phalanx.data.schema import Type
from phalanx.data.sources.batches import Batches
from phalanx.errors import ReleaseError
from phalanx.estimators.answering import answer
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All
from phalanx.estimators.draws import drawing
from phalanx.estimators.reading import view_to_ask
from phalanx.estimators.view import View
from phalanx.exact import whole
from phalanx.progress import Progress, check_progress, silent, told_of_rows
from phalanx.randomness import Randomness, Stream
from phalanx.release.folder import Release
from phalanx.release.manifest import PublishedAttribute
from phalanx.utility.bins import Bins, Coded, Seen
from phalanx.utility.learning import accuracy
from phalanx.utility.losses import phi2, propensity, total_variation
from phalanx.utility.workloads import Rows, workload

_DRAWS: Final = 3
_QUERIES: Final = 100
_AT_ONCE: Final = 1 << 20
"""So many rows of a table in memory are looked at at a time."""
_OFTEN: Final = 1_000
"""Where a row of a large table is in a sample so many times on average, it may be in it more often
than a small number says."""
_COMPARED: Final = 1_000_000
"""Of about so many rows of each table, at most, it is asked which table they are of."""
ORIGINAL, DRAWN, COUNTS = "original", "drawn tables", "counts"
"""What is looked at: rows of the original, twice; rows that are drawn; counts that are answered."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure: of the release, and of a sample of the same size."""

    name: str
    release: float | None
    """None where the form has no such figure."""
    sample: float | None
    meaning: str
    better: str = "lower"
    """``lower``, or ``higher``."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: name, release, sample, meaning, better."""
        return {
            "name": self.name,
            "release": self.release,
            "sample": self.sample,
            "meaning": self.meaning,
            "better": self.better,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Measured:
    """What a release lost, beside a sample of the original of the same size, drawn with
    replacement: what chance alone loses.
    """

    figures: tuple[Figure, ...]
    rows: int
    """How many rows are a person's in the release, and in the sample."""
    original: int
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Figure:
        """The figure of this name."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise ReleaseError(
            f"there is no figure {name!r}; there are {', '.join(f.name for f in self.figures)}."
        )

    def to_json(self) -> dict[str, Any]:
        """Stable keys: rows, original, figures (each name, release, sample, meaning, better),
        notes.
        """
        return {
            "rows": self.rows,
            "original": self.original,
            "figures": [f.to_json() for f in self.figures],
            "notes": list(self.notes),
        }

    def lines(self) -> list[list[str]]:
        """Name, release, sample and meaning of every figure, as text."""
        return [
            [f.name, _text(f.release), _text(f.sample), f"{f.meaning}; {f.better} is better"]
            for f in self.figures
        ]

    def __repr__(self) -> str:
        figures_text = ", ".join(
            f"{f.name} {_text(f.release)} (sample {_text(f.sample)})" for f in self.figures
        )
        return f"<Measured of {self.rows:,} rows beside {self.original:,}: {figures_text}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self.lines()
        )
        return (
            "<table><tr><th></th><th>release</th><th>sample of the same"
            f" size</th><th></th></tr>{rows}</table>"
        )


def _text(figure: float | None) -> str:
    return "none" if figure is None else f"{figure:.4g}"


def measure(
    release: Release,
    original: pl.DataFrame | Batches,
    *,
    held_out: pl.DataFrame | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Measured:
    """The figures of a release; see ``phalanx.Release.measure``. Tables hold the published
    attributes, and perhaps others.
    """
    check_progress(progress)
    view = view_to_ask(release, progress)
    kinds = {a.name: a.type for a in view.attributes if a.type != "set"}
    table = _Table(original, kinds, progress)
    seed = None if seed is None else whole(seed, "the seed", 0)
    rng = Randomness.secure() if seed is None else Randomness.seeded(seed)
    rows = view.persons
    if not rows:
        raise ReleaseError("the release has no row, and nothing can be measured.")
    if not table.rows:
        raise ReleaseError("the original has no row; give the table that was published.")
    sets = len(kinds) < len(view.attributes)
    notes = ["sets of values are not measured, and nothing is drawn"] if sets else []
    if max(rows, table.rows) > _COMPARED:
        notes.append(
            f"propensity is that of about {_COMPARED:,} rows, chosen at random, of each table that"
            " has more"
        )
    target = next((a.name for a in view.attributes if a.role == "sensitive"), None)
    others = None
    if target is None or target not in kinds or sets:
        notes.append("no learning: there is no sensitive attribute of single values")
    elif held_out is not None:
        others = _chosen(held_out, kinds, "held-out table")
        if not others.height:
            raise ReleaseError("the held-out table has no row; give one that has some, or none.")
    else:
        notes.append(
            "no learning: it is measured on rows that the release was not made of, which --held-out"
            " (held_out) gives"
        )

    seen = Seen(table.pieces(), table.rows)
    counts = _Counts(view, seen.some, _times(table.rows, rows, rng.stream("sample")), rng)
    bins = seen.bins()
    codes = bins.code_all(counts.through(table.pieces()))
    beside = _Beside(bins, codes, others, target, rng.stream("compared"))
    of_sample = beside.figures(_repeated(codes, counts.times))
    of_drawn = []
    if not sets:
        telling = told_of_rows(DRAWN, _DRAWS * rows, progress)
        for pieces in drawing(release, _DRAWS, seed=None if seed is None else seed + 1):
            drawn = (piece.select([*kinds]) for piece in telling(pieces))
            of_drawn.append(beside.figures(bins.code_all(drawn)))
    of_tables = _of_tables(of_drawn, of_sample)
    figures = [*_of_form(view), *of_tables, counts.figure(release, progress)]
    figures.sort(key=lambda figure: figure.name == LEARNING)  # the last one, where there is one
    return Measured(figures=tuple(figures), rows=rows, original=table.rows, notes=tuple(notes))


class _Table:
    """The original, some rows at a time, as often as is asked: the published columns alone."""

    def __init__(
        self, table: pl.DataFrame | Batches, kinds: Mapping[str, Type], progress: Progress
    ) -> None:
        self._table, self._kinds = table, kinds
        names = table.columns if isinstance(table, pl.DataFrame) else table.names
        _check_columns(names, kinds, "original")
        self.rows = table.height if isinstance(table, pl.DataFrame) else table.rows
        self._telling = told_of_rows(ORIGINAL, 2 * self.rows, progress)

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Its rows in their order."""
        frames = (
            self._table.iter_slices(_AT_ONCE)
            if isinstance(self._table, pl.DataFrame)
            else self._table.each([*self._kinds])
        )
        return (_chosen(frame, self._kinds, "original") for frame in self._telling(frames))


def _check_columns(names: Sequence[str], kinds: Mapping[str, Type], called: str) -> None:
    if missing := [name for name in kinds if name not in names]:
        raise ReleaseError(
            f"the {called} has no column {missing[0]!r}, which is published; give the table that"
            " the release was made of."
        )


def _chosen(table: pl.DataFrame, kinds: Mapping[str, Type], called: str) -> pl.DataFrame:
    """The published columns, their values as a release has them: numbers and days that are of
    another type are made such, and of decimals and short floats what is published.
    """
    _check_columns(table.columns, kinds, called)
    return table.select(_published(table[name], kind) for name, kind in kinds.items())


def _times(height: int, rows: int, stream: Stream) -> Integers:
    """How often each row of a table of ``height`` rows is in a sample of ``rows``, drawn with
    replacement, shape (height,).
    """
    often = height <= _AT_ONCE or rows >= _OFTEN * height
    times: Integers = np.zeros(height, dtype=np.int64 if often else np.uint16)
    for first in range(0, rows, _AT_ONCE):
        np.add.at(times, stream.integers(height, min(_AT_ONCE, rows - first)), 1)
    return times


def _repeated(codes: Coded, times: Integers) -> Coded:
    """Each row so many times."""
    blocks = [slice(at, at + _AT_ONCE) for at in range(0, len(times), _AT_ONCE)]
    return {
        name: np.concatenate([np.repeat(code[block], times[block]) for block in blocks])
        for name, code in codes.items()
    }


def _published(values: pl.Series, kind: Type) -> pl.Series:
    """The values of a column as they are published; of what is kept, infinite ones, too."""
    kind = kind_of(values, kind, None)
    if kind == "numeric" and values.dtype.is_float():
        return plain_float(doubled(values))
    return typed(values, kind)


def _of_form(view: View) -> list[Figure]:
    """Figures of the published form alone: how wide intervals are, and how many rows look alike."""
    meaning = "mean width of intervals, as a share of all values of the attribute (NCP)"
    names = [a.name for a in view.attributes if a.role == "quasi"]
    bounds = Bounds(view, {name: view.regions(name, All()) for name in names})
    widths = (
        None
        if view.form == "perturbed" or not names
        else float(np.mean([_width(bounds, name) for name in names]))
    )
    groups = (
        None
        if view.form == "perturbed"
        else sum(float((part.real.astype(np.float64) ** 2).sum()) for part in view.each())
        / view.persons
    )
    return [
        Figure(name="ncp", release=widths, sample=None if widths is None else 0.0, meaning=meaning),
        Figure(
            name="discernibility",
            release=groups,
            sample=None if groups is None else 1.0,
            meaning="rows in the group of a row, on average",
        ),
    ]


def _width(bounds: Bounds, name: str) -> float:
    """The mean width of an attribute's intervals: of numbers the distance, else how many known
    values there are but one.
    """
    regions = bounds.regions[name]
    last = 2 * len(regions.points) - 1  # the region of the last known point; the first one is 1
    if regions.line.kind in ("whole", "number", "day"):
        points = regions.points
        counted = regions.line.kind != "number" and len(points) > 0
        if counted and int(points[-1]) - int(points[0]) < 2**62:
            regions = replace(regions, points=points - points[0])  # which floats may not hold
        # halves, as no float may hold how far apart two ends are
        least, greatest = regions.least / 2, regions.greatest / 2
    else:
        least = greatest = (np.arange(last + 3, dtype=np.float64) - 1) // 2
    whole = greatest[last] - least[1] if last > 0 else 0.0
    if whole <= 0:
        return 0.0
    widths, rows = 0.0, 0
    for part in bounds.each():
        facet = next(f for f in part.view.facets if name in f.ends)
        box = part.box(facet, name)
        low, high = np.clip(box.low, 1, max(last, 1)), np.clip(box.high, 0, max(last, 0))
        width = np.clip((greatest[high] - least[low]) / whole, 0, 1)
        widths += float((width * box.sums(facet.count)).sum())
        rows += int(facet.count.sum())
    return widths / rows


LEARNING: Final = "learning"
_OF_TABLES: Final = {
    **{
        name: f"share of rows to be moved so that shares {what} are the original's (total variation)"
        for name, what in (
            ("marginals", "of single values"),
            ("pairs", "of pairs of values"),
            ("triples", "of combinations of three values"),
        )
    },
    "phi2": "difference of how strongly pairs of attributes go together, from 0 to 1",
    "propensity": (
        "how well drawn rows are told from the original's by single values, from 0 to 1/4"
        " (propensity MSE)"
    ),
    LEARNING: (
        "share of held-out rows whose sensitive value naive Bayes names, trained on a drawn table"
    ),
}
"""What the figures of drawn tables mean, by their names."""


class _Beside:
    """The original's bins, that those of other tables are laid beside."""

    def __init__(
        self,
        bins: Bins,
        codes: Coded,
        held_out: pl.DataFrame | None,
        target: str | None,
        stream: Stream,
    ) -> None:
        self._bins, self._codes, self._target, self._stream = bins, codes, target, stream
        self._together = phi2(codes)
        self._compared = self._some(codes)
        self._held_out = None if held_out is None else bins.code(held_out)

    def figures(self, others: Coded) -> Mapping[str, float | None]:
        """The figures of one table, each by its name; None where there is none."""
        codes, bins = self._codes, self._bins
        moved = [total_variation(codes, others, bins, k) for k in (1, 2, 3)]
        apart = float(np.abs(phi2(others) - self._together).mean()) if len(self._together) else None
        told_apart = propensity(self._compared, self._some(others))
        learned = (
            None
            if self._held_out is None or self._target is None
            else accuracy(others, self._held_out, self._target, bins)
        )
        return dict(zip(_OF_TABLES, [*moved, apart, told_apart, learned], strict=True))

    def _some(self, codes: Coded) -> Coded:
        """All rows, or about as many of them as are compared, by chance, none twice."""
        n = len(next(iter(codes.values())))
        if n <= _COMPARED:
            return codes
        rows = self._stream.bernoulli(Fraction(_COMPARED, n), n)
        return {name: code[rows] for name, code in codes.items()}


def _of_tables(
    of_drawn: Sequence[Mapping[str, float | None]], of_sample: Mapping[str, float | None]
) -> list[Figure]:
    """Figures of drawn tables, on average over them, and of the sample."""
    figures = []
    for name, meaning in _OF_TABLES.items():
        values = [one for each in of_drawn if (one := each[name]) is not None]
        sample = of_sample[name]
        if sample is not None or name not in ("phi2", LEARNING):
            release = float(np.mean(values)) if values else None
            better = "higher" if name == LEARNING else "lower"
            figures.append(
                Figure(name=name, release=release, sample=sample, meaning=meaning, better=better)
            )
    return figures


class _Counts:
    """Random counts: what is true of the original, which comes in pieces, and of a sample in which
    each of its rows is so many ``times``.
    """

    def __init__(self, view: View, some: pl.DataFrame, times: Integers, rng: Randomness) -> None:
        self.times = times
        self._asked_of = {
            a.name: a
            for a in view.attributes
            if a.role in ("quasi", "sensitive") and a.type != "set"
        }
        quasi = [name for name, a in self._asked_of.items() if a.role == "quasi"]
        self._sensitive = next((name for name in self._asked_of if name not in quasi), None)
        rows = Rows(as_published(some, self._asked_of))
        asked = workload(rows, quasi, self._sensitive, _QUERIES, rng.stream("workload"))
        self._queries = [query for query, _ in asked]
        self._truth = np.zeros(len(asked), dtype=np.int64)
        self._sampled = np.zeros(len(asked), dtype=np.int64)

    def through(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The same pieces, whose rows are counted as they go through."""
        before = 0
        for piece in pieces:
            rows, times = (
                Rows(as_published(piece, self._asked_of)),
                self.times[before:][: piece.height],
            )
            before += piece.height
            for i, query in enumerate(self._queries):
                true = rows.true_of(query.where)
                self._truth[i] += np.count_nonzero(true)
                self._sampled[i] += times[true].sum()
            yield piece

    def figure(self, release: Release, progress: Progress) -> Figure:
        """The median relative error of counts."""
        share = int(self.times.sum()) / len(self.times)
        answers = []
        for i, query in enumerate(self._queries):
            progress(COUNTS, i, len(self._queries))
            answers.append(answer(release, query, "").figures[0].estimate or 0.0)
        progress(COUNTS, len(answers), len(answers))
        lost, chance = (
            np.abs(each - self._truth) / self._truth
            for each in (np.array(answers), self._sampled / share)
        )
        by = f" by {self._sensitive}" if self._sensitive else ""
        return Figure(
            name="workload",
            release=float(np.median(lost)) if answers else None,
            sample=float(np.median(chance)) if answers else None,
            meaning=f"median relative error of {len(answers)} random counts{by}",
        )


def as_published(table: pl.DataFrame, attributes: Mapping[str, PublishedAttribute]) -> pl.DataFrame:
    """Some attributes of the table, with texts where values are published as texts."""
    texts = [
        n
        for n, a in attributes.items()
        if a.type == "categorical" and not (a.role == "sensitive" and table[n].dtype.is_integer())
    ]
    return table.select([*attributes]).with_columns(pl.col(texts).cast(pl.String))
