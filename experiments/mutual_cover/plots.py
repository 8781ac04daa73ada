# SPDX-License-Identifier: Apache-2.0
"""Box plots and lines as SVG, in panels."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

COLOURS = ("#1b6ca8", "#c2571a", "#3c7d3c", "#7a4d9c", "#8a6d1f")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 300, 210, 52, 26, 30, 10


@dataclass(frozen=True)
class Panel:
    title: str
    places: Sequence[str]
    """What stands below the axis."""
    series: Mapping[str, Sequence[Sequence[float]]]
    """By name and place the values of which a box is drawn; one value is a line."""
    log: bool = False


@dataclass(frozen=True)
class Curves:
    title: str
    across: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    """By name the points (x, y); one point is a cross."""


def boxes(
    path: Path, panels: Sequence[Panel], columns: int = 3, *, one_scale: bool = False
) -> None:
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    values = [
        [v for series in panel.series.values() for some in series for v in some] for panel in panels
    ]
    scaled = [[v for some in values for v in some]] * len(panels) if one_scale else values
    _write(
        path,
        [_boxes(panel, names, some) for panel, some in zip(panels, scaled, strict=True)],
        names,
        columns,
    )


def curves(path: Path, panels: Sequence[Curves], columns: int = 3) -> None:
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    _write(path, [_curves(panel, names) for panel in panels], names, columns)


def _write(path: Path, drawn: Sequence[str], names: Sequence[str], columns: int) -> None:
    columns = min(columns, len(drawn))
    width, height = columns * WIDTH, -(-len(drawn) // columns) * HEIGHT + 22 * len(names)
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0'
            f' {width} {height}" font-family="sans-serif" font-size="11">'
        )
    ]
    out.append(f'<rect width="{width}" height="{height}" fill="#ffffff"/>')
    out += [
        f'<g transform="translate({i % columns * WIDTH},{i // columns * HEIGHT})">{panel}</g>'
        for i, panel in enumerate(drawn)
    ]
    for i, name in enumerate(names):
        y = height - 22 * (len(names) - i) + 10
        out.append(
            f'<rect x="{LEFT}" y="{y - 9}" width="12" height="9"'
            f' fill="{COLOURS[i % len(COLOURS)]}"/>'
        )
        out.append(f'<text x="{LEFT + 18}" y="{y}">{escape(name)}</text>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*out, "</svg>\n"]), encoding="utf-8")


def _axis(
    title: str, low: float, high: float, scale: Callable[[float], float], *, log: bool
) -> str:
    if log:
        ticks = [
            m * 10.0**e
            for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for m in ((1, 2, 5) if high < 200 * low else (1,))
        ]
        ticks = [tick for tick in ticks if low <= tick <= high]
    else:
        step = 10 ** math.floor(math.log10(high - low))
        step = next(s for s in (step / 5, step / 2, step, 2 * step) if (high - low) / s <= 6)
        ticks = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    out = [f'<text x="{LEFT}" y="16" font-weight="bold">{escape(title)}</text>']
    for tick in ticks:
        y = scale(tick)
        out.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        )
        out.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{tick:.3g}</text>')
    return "".join(out)


def _scale(values: Sequence[float], *, log: bool) -> tuple[float, float, Callable[[float], float]]:
    found = [v for v in values if v > 0] if log else list(values)
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    if log:
        low, high = low / 1.5, high * 1.5
    else:
        low, high = (
            min(low, 0.0) if low < 0.5 * high or low == high else low - 0.1 * (high - low),
            (high + 0.05 * (high - low)) or 1.0,
        )

    def place(value: float) -> float:
        share = (
            math.log(max(value, low) / low) / math.log(high / low)
            if log
            else (value - low) / (high - low)
        )
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    return low, high, place


def _boxes(panel: Panel, names: Sequence[str], scaled: Sequence[float]) -> str:
    low, high, place = _scale(scaled, log=panel.log)
    out = [_axis(panel.title, low, high, place, log=panel.log)]
    room = (WIDTH - LEFT - RIGHT) / len(panel.places)
    wide = min(0.8 * room / max(len(panel.series), 1), 22)
    for i, label in enumerate(panel.places):
        middle = LEFT + (i + 0.5) * room
        out.append(
            f'<text x="{middle:.1f}" y="{HEIGHT - BOTTOM + 15}"'
            f' text-anchor="middle">{escape(label)}</text>'
        )
        for j, (name, series) in enumerate(panel.series.items()):
            x, colour = (
                middle + (j - len(panel.series) / 2) * wide,
                COLOURS[names.index(name) % len(COLOURS)],
            )
            if i < len(series) and len(series[i]):
                out.append(
                    _box(
                        [place(q) for q in np.quantile(series[i], (0, 0.25, 0.5, 0.75, 1))],
                        x,
                        wide,
                        colour,
                    )
                )
    return "".join(out)


def _box(five: Sequence[float], x: float, wide: float, colour: str) -> str:
    least, first, median, third, most = five
    middle, end = x + wide / 2, x + wide - 1
    return (
        f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{least:.1f}" y2="{most:.1f}"'
        f' stroke="{colour}"/><rect x="{x + 1:.1f}" y="{third:.1f}" width="{wide - 2:.1f}"'
        f' height="{first - third:.1f}" fill="{colour}" fill-opacity="0.25"'
        f' stroke="{colour}"/><line x1="{x + 1:.1f}" x2="{end:.1f}" y1="{median:.1f}"'
        f' y2="{median:.1f}" stroke="{colour}" stroke-width="2"/>'
    )


def _curves(panel: Curves, names: Sequence[str]) -> str:
    points = [point for series in panel.series.values() for point in series]
    low, high, place = _scale([y for _, y in points], log=False)
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    span = (right - left) or 1.0
    out = [_axis(panel.title, low, high, place, log=False)]
    for share in (0, 0.5, 1):
        x = LEFT + share * (WIDTH - LEFT - RIGHT - 20) + 8
        out.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 13}"'
            f' text-anchor="middle">{left + share * span:.3g}</text>'
        )
    out.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - BOTTOM + 26}"'
        f' text-anchor="end">{escape(panel.across)}</text>'
    )
    for name, series in panel.series.items():
        colour = COLOURS[names.index(name) % len(COLOURS)]
        at = [
            (LEFT + 8 + (x - left) / span * (WIDTH - LEFT - RIGHT - 20), place(y))
            for x, y in series
        ]
        if len(at) > 1:
            out.append(
                f'<polyline fill="none" stroke="{colour}"'
                f' points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in at)}"/>'
            )
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at]
    return "".join(out)
