# SPDX-License-Identifier: Apache-2.0
"""Lines with their spread, and bars, as SVG in panels: what all pictures of the papers are drawn by."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

COLOURS = ("#1b6ca8", "#c2571a", "#3c7d3c", "#7a4d9c", "#8a6d1f", "#555555")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 310, 220, 50, 28, 40, 12

Point = tuple[float, float, float, float]
"""Where it stands, its mean, and the least and the greatest value."""


@dataclass(frozen=True)
class Panel:
    title: str
    across: str
    series: Mapping[str, Sequence[Point]]
    log: bool = False
    """Whether the horizontal axis is logarithmic."""
    log_y: bool = False
    """Whether the vertical axis is; it then begins a little below the least value above 0."""
    places: Sequence[str] = ()
    """What stands below 0, 1, 2 … where the horizontal axis is no number."""
    bars: bool = False
    """Bars beside each other at every place instead of lines; ``places`` are then required."""
    top: float | None = None
    """The end of the vertical axis, which begins at 0; None: where the values end."""
    bottom: float = 0.0


def line(across: Sequence[float], values: Sequence[float]) -> list[Point]:
    """Points without spread."""
    return [(x, y, y, y) for x, y in zip(across, values, strict=True)]


def runs(across: Sequence[float], values: Sequence[Sequence[float]]) -> list[Point]:
    """The mean of several runs at each place, between the least and the greatest."""
    return [
        (x, sum(some) / len(some), min(some), max(some))
        for x, some in zip(across, values, strict=True)
    ]


def draw(path: Path, panels: Sequence[Panel], columns: int) -> None:
    """Write the panels, side by side in so many columns, with one legend."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.series))
    columns = min(columns, len(panels))
    width, height = columns * WIDTH, -(-len(panels) // columns) * HEIGHT + 18 * len(names) + 8
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" viewBox="0 0'
            f' {width} {height}" font-family="sans-serif" font-size="11">'
        )
    ]
    titles = ", ".join(panel.title for panel in panels)
    out.append(
        f'<title>{escape(titles)}</title><rect width="{width}" height="{height}" fill="#ffffff"/>'
    )
    for i, panel in enumerate(panels):
        out.append(
            f'<g transform="translate({i % columns * WIDTH},{i // columns * HEIGHT})">{_panel(panel, names)}</g>'
        )
    for i, name in enumerate(names):
        y = height - 18 * (len(names) - i) + 6
        out.append(
            f'<line x1="{LEFT}" x2="{LEFT + 24}" y1="{y - 4}" y2="{y - 4}" stroke-width="2"'
            f" {_stroke(name, names)}/>"
        )
        out.append(f'<text x="{LEFT + 32}" y="{y}">{escape(name)}</text>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*out, "</svg>\n"]), encoding="utf-8")


def _stroke(name: str, names: Sequence[str]) -> str:
    return f'stroke="{COLOURS[names.index(name) % len(COLOURS)]}"'


def _panel(panel: Panel, names: Sequence[str]) -> str:
    points = [point for series in panel.series.values() for point in series]
    bottom, top = _ends(panel, points)
    left, right = min(x for x, *_ in points), max(x for x, *_ in points)
    if panel.places:
        left, right = -0.5, len(panel.places) - 0.5
    elif left == right:  # a single place stands in the middle
        left, right = left / 2, right * 2 or 1.0
    across = _across(left, right, log=panel.log)
    down = _down(bottom, top, log=panel.log_y)
    out = [f'<text x="{LEFT}" y="16" font-weight="bold">{escape(panel.title)}</text>']
    for tick in _powers(bottom, top) if panel.log_y else _ticks(bottom, top):
        out.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{down(tick):.1f}" y2="{down(tick):.1f}"'
            ' stroke="#e4e4e4"/>'
        )
        out.append(
            f'<text x="{LEFT - 5}" y="{down(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>'
        )
    shown = sorted({x for x, *_ in points})
    across_ticks = (
        [(float(i), label) for i, label in enumerate(panel.places)]
        if panel.places
        else [(x, f"{x:.3g}") for x in (shown if len(shown) <= 5 else _ticks(left, right))]
    )
    out += [
        f'<text x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + 14}"'
        f' text-anchor="middle">{escape(label)}</text>'
        for tick, label in across_ticks
    ]
    out.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - BOTTOM + 28}"'
        f' text-anchor="middle">{escape(panel.across)}</text>'
    )
    wide = 0.8 * (across(1) - across(0)) / len(panel.series) if panel.bars else 0.0
    for i, (name, series) in enumerate(panel.series.items()):
        stroke = _stroke(name, names)
        moved = (i - (len(panel.series) - 1) / 2) * wide
        if panel.bars:
            fill = stroke.replace("stroke=", "fill=")
            out += [
                f'<rect x="{across(x) + moved - wide / 2:.1f}" y="{down(y):.1f}"'
                f' width="{wide:.1f}" height="{down(bottom) - down(y):.1f}" fill-opacity="0.6"'
                f" {fill}/>"
                for x, y, *_ in series
            ]
        elif len(series) > 1:
            path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y, *_ in series)
            out.append(f'<polyline fill="none" stroke-width="1.6" {stroke} points="{path}"/>')
        for x, y, low, high in series:
            if low < high:
                at = across(x) + moved
                out.append(
                    f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{down(low):.1f}"'
                    f' y2="{down(high):.1f}" {stroke}/>'
                )
            if not panel.bars and len(series) <= 15:
                out.append(
                    f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="2" fill="#ffffff"'
                    f" {stroke}/>"
                )
    return "".join(out)


def _ends(panel: Panel, points: Sequence[Point]) -> tuple[float, float]:
    """The ends of the vertical axis."""
    top = max((high for *_, high in points), default=1.0)
    if panel.log_y:
        least = min((low for *_, low, _ in points if low > 0), default=1.0)
        return least / 1.5, max(top, least) * 1.5
    return panel.bottom, panel.top if panel.top is not None else top * 1.05 or 1.0


def _across(left: float, right: float, *, log: bool) -> Callable[[float], float]:
    def place(x: float) -> float:
        share = math.log(x / left) / math.log(right / left) if log else (x - left) / (right - left)
        return LEFT + 10 + share * (WIDTH - LEFT - RIGHT - 20)

    return place


def _down(bottom: float, top: float, *, log: bool) -> Callable[[float], float]:
    def place(y: float) -> float:
        y = min(max(y, bottom), top)
        share = (
            math.log(y / bottom) / math.log(top / bottom) if log else (y - bottom) / (top - bottom)
        )
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    return place


def _powers(low: float, high: float) -> list[float]:
    """Round places of a logarithmic axis, seven at most or so."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, (last - first) // 6)
    digits = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [d * 10.0**e for e in range(first, last + 1, step) for d in digits]
    return [tick for tick in ticks if low <= tick <= high]


def _ticks(low: float, high: float) -> list[float]:
    step = 10 ** math.floor(math.log10(high - low))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if (high - low) / s <= 6)
    return [
        i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]
