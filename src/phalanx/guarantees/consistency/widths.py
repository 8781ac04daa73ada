# SPDX-License-Identifier: Apache-2.0
"""Least widths: whether boxes are what the manifest says of them, and no interval is narrower."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import polars as pl

from phalanx.guarantees.consistency.intervals import both_ends, in_order
from phalanx.guarantees.views.widening import LIMITS, NEAR, has_widths, physical, widths_of
from phalanx.release.form import Form
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import Manifest, PublishedAttribute


def boxes_faults(manifest: Manifest, form: Form) -> Iterator[str]:
    """Intervals of groups of which the manifest says that there are none, that their ends follow no
    person, or that they have a least width, which it does not say.
    """
    boxes = manifest.boxes
    if form.kind != Generalized.kind or not form.has_intervals:
        return
    if boxes in ("exact", "fixed"):
        yield (
            f"the manifest says that boxes are {boxes}, and quasi-identifiers are intervals, which"
            " are tight or widened"
        )
        return
    if not has_widths(manifest):
        return
    names = {attribute.name for attribute in form.attribute("quasi")}
    widths = manifest.method.get("min_width")
    if (boxes == "widened") != bool(widths):
        least = "a least width" if widths else "no least width"
        yield f"the manifest says that boxes are {boxes}, and the method has {least}"
    elif widths and (
        not isinstance(widths, dict)
        or not widths.keys() <= names
        or len(widths) != len(widths_of(manifest))
    ):
        yield "the least widths of the manifest are no numbers above 0 of quasi-identifiers"


def width_faults(
    manifest: Manifest, attributes: Sequence[PublishedAttribute], all_boxes: pl.DataFrame
) -> Iterator[str]:
    """Intervals that are narrower than the manifest says they are; ``all_boxes`` holds the columns of
    the ``attributes``, whose ends are in order.
    """
    widths = widths_of(manifest)
    for attribute in attributes:
        if (least := widths.get(attribute.name)) is None:
            continue
        low, high = (all_boxes[column] for column in attribute.columns[-2:])
        ends = pl.DataFrame({"low": low, "high": high}).unique().drop_nulls()
        if attribute.type == "categorical":
            narrow = _few_leaves(attribute, ends, math.ceil(least))
        else:
            narrow = sum(_is_narrow(a, b, least) for a, b in physical(ends).iter_rows())
        if narrow:
            yield (
                f"{narrow} interval(s) of {attribute.name!r} are narrower than"
                f" {float(least):g}, which the manifest says is their least width"
            )


def _few_leaves(attribute: PublishedAttribute, ends: pl.DataFrame, least: int) -> int:
    """How many intervals hold fewer leaves; a tree of fewer has one cell."""
    places = in_order(attribute, both_ends(ends["low"], ends["high"])).to_numpy()
    many = places[len(ends) :] - places[: len(ends)] + 1
    paths = (attribute.hierarchy or {}).get("paths")
    leaves = len(paths) if isinstance(paths, list) else least
    return int((many < min(least, leaves)).sum())


def _is_narrow(low: float, high: float, least: Fraction) -> bool:
    """Whether an interval is narrower, by the text of its ends, and by more than floats are apart."""
    if float(high) - float(low) > float(least) * NEAR or (low, high) in LIMITS:
        return False
    apart = Fraction(str(high)) - Fraction(str(low))
    floats = isinstance(low, float) or isinstance(high, float)
    room = Fraction(max(math.ulp(low), math.ulp(high))) if floats else 0
    return apart < least - room


__all__ = ["boxes_faults", "width_faults"]
