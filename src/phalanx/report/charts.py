"""Charts as inline SVG, drawn on the server: no script, nothing to load, readable by a screen reader, in the dark and on paper."""

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 12, 36
_LEAST = 2.0
"""A bar is at least so tall: one group among thousands is a fact, and must not look like none."""


def bars(title: str, labels: Sequence[str], counts: Sequence[int], *, unit: str) -> str:
    """A bar per label; an empty text where there is nothing to draw. The description says all figures in words."""
    if not counts:
        return ""
    most = max(counts) or 1
    inner, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    step = inner / len(counts)
    every = max(1, -(-len(labels) // 12))
    parts = [_ruler(most, tall)]
    for i, (label, count) in enumerate(zip(labels, counts, strict=True)):
        height = max(_LEAST, tall * count / most) if count else 0.0
        x, y = _LEFT + i * step, _TOP + tall - height
        width = max(1.0, min(step * 0.82, 48.0))
        hint = escape(f"{label}: {count:,} {unit}")
        parts.append(f'<rect class="bar" x="{x + (step - width) / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"><title>{hint}</title></rect>')
        if i % every == 0:
            parts.append(f'<text x="{x + step / 2:.1f}" y="{_HEIGHT - 16}" text-anchor="middle">{escape(label)}</text>')
    told = "; ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True))
    return _svg(title, told, parts)


def line(title: str, labels: Sequence[str], values: Sequence[float], *, percent: bool = False) -> str:
    """One value per label, joined by a line; needs two."""
    if len(values) < 2:
        return ""
    most = max(values) or 1.0
    inner, tall = _WIDTH - _LEFT - _RIGHT - 24, _HEIGHT - _TOP - _BOTTOM
    points = [(_LEFT + 12 + inner * i / (len(values) - 1), _TOP + tall * (1 - v / most)) for i, v in enumerate(values)]
    shown = [f"{v:.1%}" if percent else f"{v:,.0f}" for v in values]
    every = max(1, -(-len(labels) // 12))
    parts = [_ruler(most, tall, percent=percent), '<polyline class="line" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>']
    for i, ((x, y), label, value) in enumerate(zip(points, labels, shown, strict=True)):
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{escape(f"{label}: {value}")}</title></circle>')
        if i % every == 0:
            parts.append(f'<text x="{x:.1f}" y="{_HEIGHT - 16}" text-anchor="middle">{escape(label)}</text>')
    return _svg(title, "; ".join(f"{label}: {value}" for label, value in zip(labels, shown, strict=True)), parts)


def _ruler(most: float, tall: float, *, percent: bool = False) -> str:
    """The base line, and the largest value at its height."""
    top = f"{most:.1%}" if percent else f"{most:,.0f}"
    return (
        f'<line class="axis" x1="{_LEFT}" y1="{_TOP + tall}" x2="{_WIDTH - _RIGHT}" y2="{_TOP + tall}"/>'
        f'<line class="grid" x1="{_LEFT}" y1="{_TOP}" x2="{_WIDTH - _RIGHT}" y2="{_TOP}"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{top}</text>'
        f'<text x="{_LEFT - 6}" y="{_TOP + tall + 4}" text-anchor="end">0</text>'
    )


def _svg(title: str, told: str, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="xMidYMid meet">'
        f"<title>{escape(title)}</title><desc>{escape(told)}</desc>{''.join(parts)}</svg>"
    )
