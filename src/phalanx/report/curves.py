# SPDX-License-Identifier: Apache-2.0
"""Line charts as SVG files of their own, drawn on the server: they carry their colours with them,
load nothing, and are readable by a screen reader.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

_WIDE, _TALL = 860, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 190, 64, 62
_COLOURS: Final = ("#0072b2", "#d55e00", "#007f5f", "#a4508b", "#8a6d00", "#444444")
"""Told apart by those who see no red or green, too (after Okabe and Ito), and dark enough on
white.
"""
_INK, _SOFT, _LINE = "#1c2430", "#566271", "#dfe4ea"


@dataclass(frozen=True)
class Curve:
    """One line: its points from left to right, and what the legend calls its colour and its
    stroke.
    """

    colour: str
    stroke: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Several lines over one x axis from 0, on a logarithmic y axis. Lines of one colour name share
    a colour, those of one stroke name a stroke.
    """

    title: str
    x: str
    """What stands below the x axis."""
    y: str
    """What stands above the y axis."""

    def drawn(self, curves: Sequence[Curve]) -> str:
        """The SVG file as text; ValueError where there is no point to draw."""
        points = [point for curve in curves for point in curve.points]
        if not points:
            raise ValueError("there is nothing to draw")
        right, low, high = (
            _above(max(x for x, _ in points)),
            *_decades(min(y for _, y in points), max(y for _, y in points)),
        )
        colours, strokes = (
            list(dict.fromkeys(c.colour for c in curves)),
            list(dict.fromkeys(c.stroke for c in curves)),
        )

        def at(x: float, y: float) -> tuple[float, float]:
            wide, tall = _WIDE - _LEFT - _RIGHT, _TALL - _TOP - _BOTTOM
            return _LEFT + wide * x / right, _TALL - _BOTTOM - tall * math.log(y / low) / math.log(
                high / low
            )

        parts = [
            f'<rect width="{_WIDE}" height="{_TALL}" fill="#fff"/>',
            _text(_LEFT, 26, self.title, size=17, bold=True),
            _text(_LEFT, 50, self.y),
        ]
        for tick in _ticks(low, high):
            _, y = at(0, tick)
            parts += [
                f'<path d="M{_LEFT} {y:.1f}H{_WIDE - _RIGHT}" stroke="{_LINE}"/>',
                _text(
                    _LEFT - 10, y + 4.5, f"{tick:,.0f}" if tick >= 1 else f"{tick:g}", anchor="end"
                ),
            ]
        for tick in _steps(right):
            x, _ = at(tick, low)
            parts += [
                f'<path d="M{x:.1f} {_TALL - _BOTTOM}v6" stroke="{_SOFT}"/>',
                _text(x, _TALL - _BOTTOM + 22, f"{tick:g}", anchor="middle"),
            ]
        parts += [
            f'<path d="M{_LEFT} {_TALL - _BOTTOM}H{_WIDE - _RIGHT}" stroke="{_SOFT}"/>',
            _text((_LEFT + _WIDE - _RIGHT) / 2, _TALL - 16, self.x, anchor="middle"),
        ]
        for curve in curves:
            path = "L".join(
                f"{x:.1f} {y:.1f}" for x, y in _stairs([at(*point) for point in curve.points])
            )
            look = _look(
                _COLOURS[colours.index(curve.colour) % len(_COLOURS)], strokes.index(curve.stroke)
            )
            parts.append(
                f'<path d="M{path}" fill="none"'
                f" {look}><title>{escape(f'{curve.colour}, {curve.stroke}')}</title></path>"
            )
        legend = [
            (name, _look(_COLOURS[i % len(_COLOURS)], 0)) for i, name in enumerate(colours)
        ] + [(name, _look(_INK, i)) for i, name in enumerate(strokes)]
        for i, (name, look) in enumerate(legend):
            y = _TOP + 12 + 24 * i + (14 if i >= len(colours) else 0)
            parts += [
                f'<path d="M{_WIDE - _RIGHT + 18} {y}h30" {look}/>',
                _text(_WIDE - _RIGHT + 58, y + 4.5, name),
            ]
        description = "; ".join(
            f"{c.colour}, {c.stroke}: {c.points[0][1]:,} at {c.points[0][0]:.3g} to"
            f" {c.points[-1][1]:,} at {c.points[-1][0]:.3g}"
            for c in curves
            if c.points
        )
        return (
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title says"'
            f' viewBox="0 0 {_WIDE} {_TALL}" width="{_WIDE}" height="{_TALL}"'
            " font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\"><title"
            f' id="title">{escape(self.title)}</title><desc'
            f' id="says">{escape(description)}</desc>{"".join(parts)}</svg>\n'
        )


def _look(colour: str, stroke: int) -> str:
    """The attributes of a line: its colour, and solid, dashed or dotted."""
    return (
        f'stroke="{colour}" stroke-width="2"'
        + ("", ' stroke-dasharray="7 4"', ' stroke-dasharray="2 4"')[stroke % 3]
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 14, bold: bool = False
) -> str:
    look = f'text-anchor="{anchor}" font-size="{size}" fill="{_INK if bold else _SOFT}"' + (
        ' font-weight="600"' if bold else ""
    )
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'


def _stairs(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points joined by stairs, each height reaching back to the point before: between two
    points no height is drawn that belongs to neither.
    """
    return [
        *points[:1],
        *(corner for (x, _), (later, y) in pairwise(points) for corner in ((x, y), (later, y))),
    ]


def _above(most: float) -> float:
    """The end of an axis from 0: a round number, ``most`` or not much above it.

    >>> _above(0.632), _above(0.0114), _above(0.8)
    (0.7, 0.012, 0.8)
    """
    power = 10.0 ** math.floor(math.log10(most))
    unit = power * (0.2 if most < 2 * power else 0.5 if most < 5 * power else 1)
    return float(f"{math.ceil(round(most / unit, 9)) * unit:.12g}")


def _steps(right: float) -> list[float]:
    """Five to ten round places from 0 to the end of the axis."""
    unit = 10.0 ** math.floor(math.log10(right))
    step = next(part * unit for part in (0.1, 0.2, 0.5, 1.0) if right / (part * unit) <= 10.000001)
    return [round(i * step, 12) for i in range(math.floor(right / step + 1e-9) + 1)]


def _decades(least: float, most: float) -> tuple[float, float]:
    """The ends of a logarithmic axis, both among its labelled places."""
    places = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 2)
        for digit in (1, 2, 5)
    ]
    low = max(place for place in places if place <= least)
    return low, min(place for place in places if place >= most and place > low)


def _ticks(low: float, high: float) -> list[float]:
    """The labelled places of a logarithmic axis: 1, 2, 5, 10, 20, 50 and so on; powers of ten alone
    where these are many.
    """
    powers = range(math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9) + 1)
    digits = (1, 2, 5) if len(powers) <= 5 else (1,)
    return [
        tick
        for power in powers
        for digit in digits
        if low * 0.999 <= (tick := digit * 10.0**power) <= high * 1.001
    ]
