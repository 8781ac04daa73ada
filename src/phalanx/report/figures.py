"""The figures of a report, computed from a published form."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.release.folder import Release
from phalanx.release.generalized import GROUP, Generalized
from phalanx.release.manifest import PublishedAttribute

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Width:
    """How wide one attribute's intervals are, as shares of the released domain."""

    name: str
    shares: Floats
    """One share in [0, 1] per published row (all rows of a group have the same)."""
    domain: str
    """The released domain in words."""

    @property
    def mean(self) -> float:
        """The mean share over rows: the information loss of Xiao & Tao (SIGMOD 2006) for this attribute."""
        return float(self.shares.mean()) if len(self.shares) else 0.0

    @property
    def median(self) -> float:
        """The median share over rows."""
        return float(np.median(self.shares)) if len(self.shares) else 0.0


@dataclass(frozen=True, eq=False)
class Figures:
    """What a report tells about one release."""

    number: int
    rows: int
    groups: int
    counterfeits: int
    counterfeit_groups: int
    sizes: npt.NDArray[np.int64]
    """Rows per group, shape (g,)."""
    widths: Sequence[Width]

    @property
    def loss(self) -> float:
        """The mean of the attributes' mean widths."""
        return sum(w.mean for w in self.widths) / len(self.widths) if self.widths else 0.0

    @classmethod
    def of(cls, release: Release) -> "Figures":
        """Compute them; one row per group first, since a group's rows share their intervals."""
        form = release.form
        ends = [c for a in form.attribute("quasi") for c in a.columns[-2:]]
        boxes = form.table.group_by(GROUP, maintain_order=False).agg(pl.len().alias("rows of the group"), *[pl.col(c).first() for c in ends])
        sizes = boxes["rows of the group"].to_numpy().astype(np.int64)
        widths = [_width(a, boxes, sizes) for a in form.attribute("quasi")]
        return cls(release.number, form.rows, form.groups, form.counterfeit_rows, _counterfeit_groups(form), sizes, widths)


def _counterfeit_groups(form: Generalized) -> int:
    return 0 if form.counterfeits is None else form.counterfeits.height


def _width(attribute: PublishedAttribute, boxes: pl.DataFrame, sizes: npt.NDArray[np.int64]) -> Width:
    low, high = (boxes[c] for c in attribute.columns[-2:])
    if attribute.type == "categorical":
        places, domain = _leaf_places(attribute, low, high)
    else:
        places, domain = _line_places(low, high)
    below, upto, span = places
    share = (upto - below) / span if span else np.zeros(len(sizes))
    return Width(attribute.name, np.repeat(share, sizes), domain)


def _line_places(low: pl.Series, high: pl.Series) -> tuple[tuple[Floats, Floats, float], str]:
    """Numbers and days as they are; a missing end counts as the least released value."""
    a, b = (s.to_physical().cast(pl.Float64) for s in (low, high))
    ends = pl.concat([a.alias("end"), b.alias("end")]).drop_nulls()
    if not len(ends):
        return (np.zeros(len(low)), np.zeros(len(low)), 0.0), "all missing"
    least, most = float(ends.min()), float(ends.max())  # type: ignore[arg-type]
    shown = pl.concat([low.alias("end"), high.alias("end")]).drop_nulls().sort()
    return (a.fill_null(least).to_numpy(), b.fill_null(least).to_numpy(), most - least), f"{shown[0]} to {shown[-1]}"


def _leaf_places(attribute: PublishedAttribute, low: pl.Series, high: pl.Series) -> tuple[tuple[Floats, Floats, float], str]:
    """Leaves in the order of the declared tree, else released values in code point order; missing stands first."""
    hierarchy = attribute.hierarchy or {}
    seen = pl.concat([low.alias("end"), high.alias("end")]).cast(pl.String)
    leaves = [path[0] for path in hierarchy["paths"]] if hierarchy.get("kind") == "tree" else seen.drop_nulls().unique().sort().to_list()
    order = [None, *leaves] if seen.null_count() else leaves
    place = pl.DataFrame({"end": order, "place": np.arange(len(order), dtype=np.float64)}, schema={"end": pl.String, "place": pl.Float64})
    below, upto = (
        s.cast(pl.String).to_frame("end").join(place, on="end", how="left", nulls_equal=True, maintain_order="left")["place"].to_numpy() for s in (low, high)
    )
    return (below, upto, float(len(order) - 1)), f"{len(order)} values"


def histogram(values: Floats, bins: int = 20) -> list[tuple[float, float, int]]:
    """Equal bins over [0, 1] as (from, to, count)."""
    counts, edges = np.histogram(values, bins=bins, range=(0.0, 1.0))
    return [(float(a), float(b), int(n)) for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]


def size_histogram(sizes: npt.NDArray[np.int64], most: int = 24) -> list[tuple[str, int]]:
    """Group sizes as (label, groups): each size by itself where they are few, else in equal ranges."""
    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) <= most:
        return [(str(size), int(n)) for size, n in zip(distinct, counts, strict=True)]
    step = -(-int(distinct[-1] - distinct[0] + 1) // most)
    found: dict[int, int] = {}
    for size, n in zip(distinct, counts, strict=True):
        place = int(size - distinct[0]) // step
        found[place] = found.get(place, 0) + int(n)
    first = int(distinct[0])
    return [(f"{first + p * step}–{first + p * step + step - 1}", n) for p, n in sorted(found.items())]
