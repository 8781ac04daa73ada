# SPDX-License-Identifier: Apache-2.0
"""Small multiples as an SVG file of its own: one panel for each figure, all over the same axes.

Drawn on the server: it carries its colours with it, in the light and in the dark, loads nothing,
and is readable by a screen reader.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from phalanx.guarantees.sentences import percent

_PANEL: Final = (310, 250)
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 30, 40
_HEAD: Final = 70
_ACROSS: Final = 3
_COLOURS: Final = (
    ("#0072b2", "#56b4e9"), ("#d55e00", "#f0904d"), ("#007f5f", "#40c9a2"), ("#a4508b", "#d992c5"),
    ("#8a6d00", "#e0c040"), ("#444444", "#bbbbbb"), ("#9c2f2f", "#f08a84"),
)  # fmt: skip
"""In the light and in the dark, told apart by those who see no red or green, too."""
_STYLE: Final = """
.multiples { --ink: #1c2430; --soft: #566271; --line: #dfe4ea; --paper: #fff; background: var(--paper);
  font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif }
.multiples text { fill: var(--soft); paint-order: stroke; stroke: var(--paper); stroke-width: 3px }
.multiples .ink { fill: var(--ink); font-weight: 600 }
.multiples .line { stroke: var(--line); fill: none } .multiples .axis { stroke: var(--soft); fill: none }
.multiples .front { stroke: var(--ink); fill: none; stroke-width: 1.5 }
.multiples .base { stroke: var(--ink); stroke-dasharray: 7 4; fill: none }
.multiples .plain { stroke: var(--ink); stroke-dasharray: 2 3; fill: none }
.multiples a { cursor: pointer }
.multiples a:hover circle, .multiples a:focus-visible circle { stroke: var(--ink); stroke-width: 3 }
.multiples .touch { fill: transparent }
"""
_DARK: Final = ".multiples { --ink: #e4e8ee; --soft: #9aa6b5; --line: #333c49; --paper: #14181e }"
_STEPS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One point of a panel."""

    x: float
    y: float
    between: tuple[float, float]
    """The interval of y."""
    label: str
    """What stands beside it: its number."""
    of: str
    """Whose colour it has."""
    says: str
    """What it is, in words."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One figure of all points."""

    title: str
    dots: Sequence[Dot]
    base: float | None
    """A line across: what y is without the release."""


@dataclass(frozen=True, kw_only=True)
class Multiples:
    """Panels beside each other; x and y are shares, and less of both is better."""

    title: str
    x: str
    y: str
    reference: float | None
    """A line upright in each panel: what x is of a plain sample."""
    reference_name: str
    base_name: str
    link: str = ""
    """For a page: a dot leads there, ``{}`` is its label, and the page has the ``style``."""

    def drawn(self, panels: Sequence[Panel]) -> str:
        """The SVG file as text; ValueError where there is no dot to draw."""
        dots = [dot for panel in panels for dot in panel.dots]
        if not dots:
            raise ValueError("there is nothing to draw")
        places = _Places.of(dots, panels, self.reference)
        colours = {
            name: i % len(_COLOURS) for i, name in enumerate(dict.fromkeys(d.of for d in dots))
        }
        across = min(_ACROSS, len(panels))
        wide, tall = max(across, 2) * _PANEL[0], -(-len(panels) // across) * _PANEL[1]
        parts = [
            f'<text class="ink" x="14" y="26" font-size="17">{escape(self.title)}</text>',
            f'<text x="14" y="46">across: {escape(self.x)}</text>',
            f'<text x="14" y="62">up: {escape(self.y)}</text>',
        ]
        for i, panel in enumerate(panels):
            at = (i % across * _PANEL[0], _HEAD + i // across * _PANEL[1])
            parts.append(f'<g transform="translate({at[0]} {at[1]})">')
            parts += self._panel(panel, places, colours)
            parts.append("</g>")
        legend, lines = self._legend(colours, _HEAD + tall + 14, wide)
        height = _HEAD + tall + 18 * lines + 14
        says = "; ".join(f"{p.title}: {', '.join(d.says for d in p.dots)}" for p in panels)
        role = "group" if self.link else "img"  # what is in an image cannot be reached
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="multiples" role="{role}" '
            f'aria-labelledby="multiples-title multiples-says" '
            f'viewBox="0 0 {wide} {height}" width="{wide}" height="{height}">'
            f'<title id="multiples-title">{escape(self.title)}</title>'
            f'<desc id="multiples-says">{escape(says)}</desc>'
            f"{'' if self.link else f'<style>{style()}</style>'}{''.join(parts)}{legend}</svg>\n"
        )

    def _panel(self, panel: Panel, to: "_Places", colours: Mapping[str, int]) -> list[str]:
        right, floor = _PANEL[0] - _RIGHT, _PANEL[1] - _BOTTOM
        parts = [f'<text class="ink" x="{_LEFT}" y="{_TOP - 10}">{escape(panel.title)}</text>']
        for tick in to.ups:
            y = to.up(tick)
            parts += [
                f'<path class="line" d="M{_LEFT} {y:.1f}H{right}"/>',
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.0%}</text>',
            ]
        for tick in to.acrosses:
            parts.append(
                f'<text x="{to.across(tick):.1f}" y="{floor + 16}" text-anchor="middle">'
                f"{_percent(tick)}</text>"
            )
        parts.append(f'<path class="axis" d="M{_LEFT} {floor}H{right}"/>')
        if panel.base is not None:
            parts.append(
                _line(
                    "base",
                    f"M{_LEFT} {to.up(panel.base):.1f}H{right}",
                    f"{self.base_name}: {percent(panel.base)}",
                )
            )
        if self.reference is not None:
            parts.append(
                _line(
                    "plain",
                    f"M{to.across(self.reference):.1f} {_TOP}V{floor}",
                    f"{self.reference_name}: {percent(self.reference)}",
                )
            )
        front = frontier([(dot.x, dot.y) for dot in panel.dots])
        corners = sorted({(panel.dots[i].x, panel.dots[i].y) for i in front})
        if len(corners) > 1:
            steps = "".join(
                f"H{to.across(b[0]):.1f}V{to.up(b[1]):.1f}" for _, b in pairwise(corners)
            )
            first = corners[0]
            parts.append(
                _line(
                    "front",
                    f"M{to.across(first[0]):.1f} {to.up(first[1]):.1f}{steps}",
                    "the frontier: no point is better in both",
                )
            )
        taken: list[tuple[float, float]] = [(to.across(d.x), to.up(d.y)) for d in panel.dots]
        for i, dot in enumerate(panel.dots):
            x, y = to.across(dot.x), to.up(dot.y)
            low, high = (to.up(end) for end in dot.between)
            look = f"c{colours[dot.of]}"
            ring = f'<circle class="front" cx="{x:.1f}" cy="{y:.1f}" r="7"/>' if i in front else ""
            tx, ty = _free(x, y, taken, (right, floor))
            taken.append((tx, ty - 4))
            drawn = (
                f"<g><title>{escape(dot.says)}</title>{ring}"
                f'<path class="{look} stroke" d="M{x:.1f} {low:.1f}V{high:.1f}"/>'
                f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
                f'<text x="{tx:.1f}" y="{ty:.1f}" text-anchor="middle" font-size="11">'
                f"{escape(dot.label)}</text></g>"
            )
            if self.link:
                to_page = escape(self.link.format(dot.label))
                touch = f'<circle class="touch" cx="{x:.1f}" cy="{y:.1f}" r="12"/>'
                drawn = f'<a href="{to_page}" aria-label="{escape(dot.says)}">{touch}{drawn}</a>'
            parts.append(drawn)
        return parts

    def _legend(self, colours: Mapping[str, int], top: float, wide: float) -> tuple[str, int]:
        """What colours and lines mean, and on how many lines that stands."""
        marks = [
            *((f'<circle class="c{i}" cx="6" cy="-4" r="4.5"/>', n) for n, i in colours.items()),
            ('<path class="front" d="M0 -4h14"/>', "frontier: no point is better in both"),
            ('<path class="base" d="M0 -4h14"/>', self.base_name),
            ('<path class="plain" d="M0 -4h14"/>', self.reference_name),
        ]
        x, line, parts = 14.0, 0, []
        for mark, name in marks:
            if x > 14 and x + 32 + 6.6 * len(name) > wide:
                x, line = 14.0, line + 1
            parts.append(
                f'<g transform="translate({x:.0f} {top + 18 * line:.0f})">{mark}'
                f'<text x="19">{escape(name)}</text></g>'
            )
            x += 38 + 6.6 * len(name)
        return "".join(parts), line + 1


def style() -> str:
    """How it looks, in the light and in the dark."""
    dark = f"@media (prefers-color-scheme: dark) {{ {_DARK} {_coloured(1)} }}"
    return _STYLE + _coloured(0) + dark


def frontier(points: Sequence[tuple[float, float]]) -> set[int]:
    """The places of the points than which none is less in one and not more in the other.

    >>> sorted(frontier([(1, 3), (2, 2), (3, 3), (2, 2)]))
    [0, 1, 3]
    """
    return {
        i
        for i, (x, y) in enumerate(points)
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
    }


@dataclass(frozen=True)
class _Places:
    """Where a figure stands: across by its square root, so that small ones do not lie together."""

    most_x: float
    most_y: float
    acrosses: Sequence[float]
    ups: Sequence[float]

    @classmethod
    def of(cls, dots: Sequence[Dot], panels: Sequence[Panel], reference: float | None) -> "_Places":
        """Axes from 0 to the greatest figure that is shown."""
        x = max([0.01, reference or 0.0, *(d.x for d in dots)]) * 1.05
        y = max([0.05, *(p.base or 0.0 for p in panels), *(d.between[1] for d in dots)])
        step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if y / s <= 5 or s == 0.25)
        ups = [i * step for i in range(math.ceil(y / step - 1e-9) + 1)]
        wide = _PANEL[0] - _LEFT - _RIGHT
        acrosses = [0.0]
        for tick in _STEPS:
            gap = wide * (math.sqrt(tick / x) - math.sqrt(acrosses[-1] / x))
            if tick <= x and gap > 34:
                acrosses.append(tick)
        return cls(x, ups[-1], acrosses, ups)

    def across(self, x: float) -> float:
        """The place of x from the left."""
        return _LEFT + (_PANEL[0] - _LEFT - _RIGHT) * math.sqrt(x / self.most_x)

    def up(self, y: float) -> float:
        """The place of y from the top."""
        floor = _PANEL[1] - _BOTTOM
        return floor - (floor - _TOP) * y / self.most_y


def _coloured(dark: int) -> str:
    return "".join(
        f".multiples .c{i} {{ fill: {pair[dark]} }}"
        f".multiples .c{i}.stroke {{ stroke: {pair[dark]} }}"
        for i, pair in enumerate(_COLOURS)
    )


def _line(kind: str, path: str, says: str) -> str:
    return f'<path class="{kind}" d="{path}"><title>{escape(says)}</title></path>'


def _percent(share: float) -> str:
    return f"{100 * share:g}%"


def _free(
    x: float, y: float, taken: Sequence[tuple[float, float]], within: tuple[float, float]
) -> tuple[float, float]:
    """Where the label of a dot touches least: beside, above or below it."""
    places = [(x + 13, y + 4), (x - 13, y + 4), (x, y - 9), (x, y + 17), (x + 12, y - 7),
              (x + 12, y + 15), (x - 12, y - 7), (x - 12, y + 15)]  # fmt: skip
    inside = [p for p in places if p[0] - 6 > _LEFT and p[0] + 6 < within[0] and p[1] < within[1]]

    def room(place: tuple[float, float]) -> float:
        others = [(a, b) for a, b in taken if (a, b) != (x, y)]
        near = min((math.hypot(a - place[0], b - place[1] + 4) for a, b in others), default=99.0)
        return min(near, 14.0)

    return max(inside or places, key=room)
