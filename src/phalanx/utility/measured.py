# SPDX-License-Identifier: Apache-2.0
"""The figures of a release beside its original, each with what a sample of the same size has."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats
from phalanx.data.column import kind_of, plain_float, typed
from phalanx.data.schema import Type
from phalanx.errors import ReleaseError
from phalanx.estimators.answering import answer, view_of
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All
from phalanx.estimators.draws import drawing
from phalanx.estimators.view import View
from phalanx.exact import whole
from phalanx.randomness import Randomness
from phalanx.release.folder import Release
from phalanx.utility.learning import accuracy
from phalanx.utility.losses import Bins, Coded, phi2, propensity, total_variation
from phalanx.utility.workloads import Rows, errors, workload

_DRAWS: Final = 3
_QUERIES: Final = 100


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
    original: pl.DataFrame,
    *,
    held_out: pl.DataFrame | None = None,
    seed: int | None = None,
) -> Measured:
    """The figures of a release; see ``phalanx.Release.measure``. Tables hold the published
    attributes, and perhaps others.
    """
    view = view_of(release)
    kinds = {a.name: a.type for a in view.attributes if a.type != "set"}
    names = list(kinds)
    table = _chosen(original, kinds, "original")
    seed = None if seed is None else whole(seed, "the seed", 0)
    rng = Randomness.secure() if seed is None else Randomness.seeded(seed)
    rows = int(view.real.sum())
    if not rows or not table.height:
        raise ReleaseError(
            "the release or its original has no row, and nothing can be measured; give the table"
            " that was published."
        )
    sample = table[pl.Series(rng.stream("sample").integers(table.height, rows), dtype=pl.UInt32)]
    sets = len(names) < len(view.attributes)
    drawn: Iterable[pl.DataFrame] = ()
    if not sets:
        tables = drawing(release, _DRAWS, seed=None if seed is None else seed + 1)
        drawn = (each.select(names) for each in tables)  # one at a time, as each is as large
    if held_out is not None:
        drawn = list(drawn)
    notes = ["sets of values are not measured, and nothing is drawn"] if sets else []
    figures = [*_of_form(release, view), *_of_tables(table, drawn, sample)]
    figures.append(_of_queries(release, view, table, sample, rng))
    target = release.form.sensitive
    if target is None or target not in names or sets:
        notes.append("no learning: there is no sensitive attribute of single values")
    elif held_out is None:
        notes.append(
            "no learning: it is measured on rows that the release was not made of, which --held-out"
            " (held_out) gives"
        )
    else:
        figures.append(
            _of_learning(
                table, list(drawn), sample, _chosen(held_out, kinds, "held-out table"), target
            )
        )
    return Measured(figures=tuple(figures), rows=rows, original=table.height, notes=tuple(notes))


def _chosen(table: pl.DataFrame, kinds: Mapping[str, Type], called: str) -> pl.DataFrame:
    """The published columns, their values as a release has them: numbers and days that are of
    another type are made such, and of decimals and short floats what is published.
    """
    if missing := [name for name in kinds if name not in table.columns]:
        raise ReleaseError(
            f"the {called} has no column {missing[0]!r}, which is published; give the table that"
            " the release was made of."
        )
    return table.select(_published(table[name], kind) for name, kind in kinds.items())


def _published(values: pl.Series, kind: Type) -> pl.Series:
    """The values of a column as they are published; of what is kept, infinite ones, too."""
    kind = kind_of(values, kind, None)
    if kind == "numeric" and values.dtype.is_float():
        return plain_float(values.cast(pl.Float64))
    return typed(values, kind)


def _of_form(release: Release, view: View) -> list[Figure]:
    """Figures of the published form alone: how wide intervals are, and how many rows look alike."""
    meaning = "mean width of intervals, as a share of all values of the attribute (NCP)"
    names = [a.name for a in release.form.attribute("quasi")]
    bounds = Bounds(view, {name: view.regions(name, All()) for name in names})
    widths = (
        None
        if view.form == "perturbed" or not names
        else float(np.mean([_width(view, bounds, name) for name in names]))
    )
    groups = (
        None
        if view.form == "perturbed"
        else float((view.real.astype(np.float64) ** 2).sum() / view.real.sum())
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


def _width(view: View, bounds: Bounds, name: str) -> float:
    """The mean width of an attribute's intervals: of numbers the distance, else how many known
    values there are but one.
    """
    facet = next(f for f in view.facets if name in f.ends)
    box, regions = bounds.box(facet, name), bounds.regions[name]
    last = 2 * len(regions.points) - 1  # the region of the last known point; the first one is 1
    low, high = np.clip(box.low, 1, max(last, 1)), np.clip(box.high, 0, max(last, 0))
    if regions.line.kind in ("whole", "number", "day"):
        # halves, as no float may hold how far apart two ends are
        least, greatest = regions.least / 2, regions.greatest / 2
    else:
        least = greatest = (np.arange(last + 3, dtype=np.float64) - 1) // 2
    whole = greatest[last] - least[1] if last > 0 else 0.0
    if whole <= 0:
        return 0.0
    width = np.clip((greatest[high] - least[low]) / whole, 0, 1)
    return float((width * box.sums(facet.count)).sum() / facet.count.sum())


_OF_TABLES: Final = {
    name: f"share of rows to be moved so that shares {what} are the original's (total variation)"
    for name, what in (
        ("marginals", "of single values"),
        ("pairs", "of pairs of values"),
        ("triples", "of combinations of three values"),
    )
} | {
    "phi2": "difference of how strongly pairs of attributes go together, from 0 to 1",
    "propensity": (
        "how well drawn rows are told from the original's by single values, from 0 to 1/4"
        " (propensity MSE)"
    ),
}
"""What the figures of drawn tables mean, by their names."""


def _of_tables(
    table: pl.DataFrame, drawn: Iterable[pl.DataFrame], sample: pl.DataFrame
) -> list[Figure]:
    """Figures of drawn tables, on average over them."""
    bins = Bins.of(table)
    codes = bins.code(table)
    together = phi2(codes)
    of_drawn = [_beside(codes, bins.code(each), bins, together) for each in drawn]
    of_sample = _beside(codes, bins.code(sample), bins, together)
    figures = []
    for name, meaning in _OF_TABLES.items():
        values = [one for each in of_drawn if (one := each[name]) is not None]
        release = float(np.mean(values)) if values else None
        if name != "phi2" or len(together):
            figures.append(
                Figure(name=name, release=release, sample=of_sample[name], meaning=meaning)
            )
    return figures


def _beside(
    codes: Coded, others: Coded, bins: Bins, together: Floats
) -> Mapping[str, float | None]:
    """The figures of one table beside the original, each by its name; ``together``: the original's
    phi^2.
    """
    moved = [total_variation(codes, others, bins, k) for k in (1, 2, 3)]
    apart = float(np.abs(phi2(others) - together).mean()) if len(together) else None
    return dict(zip(_OF_TABLES, [*moved, apart, propensity(codes, others)], strict=True))


def _of_queries(
    release: Release, view: View, table: pl.DataFrame, sample: pl.DataFrame, rng: Randomness
) -> Figure:
    """The median relative error of counts."""
    names: Mapping[str, Any] = {a.name: a for a in view.attributes if a.type != "set"}
    quasi = [a.name for a in release.form.attribute("quasi")]
    sensitive = release.form.sensitive if release.form.sensitive in names else None
    rows, others = Rows(_plain(table, names)), Rows(_plain(sample, names))
    queries = workload(rows, quasi, sensitive, _QUERIES, rng.stream("workload"))
    share = sample.height / table.height
    lost = errors(queries, lambda query: answer(release, query, "").figures[0].estimate or 0.0)
    chance = errors(queries, lambda query: int(others.true_of(query.where).sum()) / share)
    meaning_text = (
        f"median relative error of {len(queries)} random"
        f" counts{f' by {sensitive}' if sensitive else ''}"
    )
    return Figure(
        name="workload",
        release=float(np.median(lost)) if len(lost) else None,
        sample=float(np.median(chance)) if len(chance) else None,
        meaning=meaning_text,
    )


def _plain(table: pl.DataFrame, attributes: Mapping[str, Any]) -> pl.DataFrame:
    """The table with texts where values are published as texts."""
    texts = [
        n
        for n, a in attributes.items()
        if a.type == "categorical" and not (a.role == "sensitive" and table[n].dtype.is_integer())
    ]
    return table.with_columns(pl.col(texts).cast(pl.String))


def _of_learning(
    table: pl.DataFrame,
    drawn: Sequence[pl.DataFrame],
    sample: pl.DataFrame,
    held_out: pl.DataFrame,
    target: str,
) -> Figure:
    """How often naive Bayes names the sensitive value of rows that the release was not made of."""
    bins = Bins.of(table)
    others = bins.code(held_out)
    accuracy_drawn = float(np.mean([accuracy(bins.code(d), others, target, bins) for d in drawn]))
    meaning_text = (
        "share of held-out rows whose sensitive value naive Bayes names, trained on a drawn table"
    )
    return Figure(
        name="learning",
        release=accuracy_drawn,
        sample=accuracy(bins.code(sample), others, target, bins),
        meaning=meaning_text,
        better="higher",
    )
