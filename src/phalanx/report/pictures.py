# SPDX-License-Identifier: Apache-2.0
"""The pictures of a page: shares before and after, pairs kept, errors of questions, risk over the
series; inline SVG like the charts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt
from statistics import median
from typing import Final

from phalanx.guarantees.sentences import percent
from phalanx.report.usefulness import Distribution, Usefulness

_WIDE, _TALL = 340, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 14, 30
_ROOM: Final = _WIDE - _LEFT - _RIGHT
_FLOOR: Final = _TALL - _BOTTOM
_CHARACTER: Final = 7.0
MOST: Final = 6
"""So many attributes are drawn, those first that moved most."""


@dataclass(frozen=True)
class Picture:
    """A drawing, and what stands above it."""

    title: str
    under: str
    """What the title leaves open, in few words."""
    svg: str


def distributions(use: Usefulness) -> list[Picture]:
    """Released shares as bars, and beside each a mark: the original's, or of even intervals; of
    attributes of more than two values.
    """
    other = _beside(use)
    several = [one for one in use.distributions if len(one.labels) > 2]
    return [
        Picture(
            one.name,
            f"bars: released; marks: {other}" if one.beside else "bars: released",
            _bars(
                f"share-{i}", f"Shares of {one.name}", one.labels, one.released, one.beside, other
            ),
        )
        for i, one in enumerate(several[:MOST])
    ]


def of_two_values(use: Usefulness) -> Picture | None:
    """All attributes of two values in one picture, a bar for each: how many have the second one."""
    two = [one for one in use.distributions if len(one.labels) == 2][:MOST]
    if not two:
        return None
    other, left, step = _beside(use), 140, 26
    room = _WIDE - left - 48
    parts, lines = [], []
    for i, one in enumerate(two):
        top, share = 6 + step * i, one.released[1]
        name, says = f"{one.name}: {one.labels[1]}", percent(share)
        parts.append(_text(left - 8, top + 13, _cut(name, 20), "end"))
        if one.beside:
            says += f", {other} {percent(one.beside[1])}"
        lines.append(f"{name}: {says}")
        parts.append(
            f'<rect class="bar" x="{left}" y="{top}" width="{room * share:.1f}" height="17">'
            f"<title>{escape(lines[-1])}</title></rect>"
        )
        parts.append(_text(left + room * share + 8, top + 13, percent(share)))
        if one.beside:
            x = left + room * one.beside[1]
            parts.append(f'<path class="mark" d="M{x:.1f} {top - 2}v21"/>')
    bottom = 6 + step * len(two)
    parts.append(f'<path class="axis" d="M{left} 2V{bottom - 4}"/>')
    under = "share of the second value" + (f"; marks: {other}" if two[0].beside else "")
    drawn = _svg("two", "Attributes of two values", lines, parts, bottom)
    return Picture("Attributes of two values", under, drawn)


def _beside(use: Usefulness) -> str:
    return "original" if use.inside else "evenly filled intervals"


def risk_over_series(
    worst: Sequence[float], mean: Sequence[float], numbers: Sequence[int]
) -> Picture:
    """The prosecutor risk of each release, at worst as a bar and on average as a mark."""
    labels = [str(n) for n in numbers]
    drawn = _bars("risk", "Prosecutor risk by release", labels, worst, mean, "on average")
    return Picture("Prosecutor risk", "by release; bars: at worst; marks: on average", drawn)


def pairs(use: Usefulness) -> Picture | None:
    """A dot for every two attributes: on the line where they tell as much of each other as in the
    original; None outside, and for fewer than two attributes.
    """
    if not use.pairs:
        return None
    most = max(0.05, *(max(was, now) for _, _, was, now in use.pairs))
    parts = [
        _text(_LEFT - 6, _TOP + 4, f"{most:.2f}", "end"),
        _text(_LEFT - 6, _FLOOR + 4, "0", "end"),
    ]
    parts += [
        f'<path class="grid" d="M{_LEFT} {_FLOOR}L{_LEFT + _ROOM} {_TOP}"/>',
        f'<path class="axis" d="M{_LEFT} {_TOP}V{_FLOOR}H{_LEFT + _ROOM}"/>',
        _text(_LEFT + _ROOM, _FLOOR + 17, f"{most:.2f}", "end"),
        _text(_LEFT, _FLOOR + 17, "0 in the original"),
    ]
    lines = []
    for a, b, was, now in use.pairs:
        says = f"{a} and {b}: {was:.3f} in the original, {now:.3f} released"
        lines.append(says)
        x, y = _LEFT + _ROOM * was / most, _FLOOR - (_FLOOR - _TOP) * now / most
        parts.append(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(says)}</title>'
            "</circle>"
        )
    return Picture(
        "Correlation kept",
        "phi² of every two attributes, or of some of many: released (up) against original (across)",
        _svg("pairs", "Correlation kept", lines, parts),
    )


def questions(use: Usefulness) -> Picture | None:
    """Which share of random counts is off by at most so much, and of a plain sample; None
    outside.
    """
    if not use.errors:
        return None
    names = ("this release", "a plain sample of the same size")
    parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{_FLOOR}H{_LEFT + _ROOM}"/>']
    for tick in (0.01, 0.05, 0.2, 0.5, 1.0):
        x = _LEFT + _ROOM * sqrt(tick)
        parts.append(_text(x, _FLOOR + 17, f"{tick:.0%}", "end" if tick == 1 else "middle"))
    for share in (0.5, 1.0):
        y = _FLOOR - (_FLOOR - _TOP) * share
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_LEFT + _ROOM}"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"{share:.0%}", "end"))
    lines = []
    for kind, name, errors in zip(
        ("steps", "steps beside"), names, (use.errors, use.sample_errors), strict=True
    ):
        path, n = f"M{_LEFT} {_FLOOR}", len(errors)
        for i, error in enumerate(errors, 1):
            if error > 1:
                break
            x, y = _LEFT + _ROOM * sqrt(error), _FLOOR - (_FLOOR - _TOP) * i / n
            path += f"H{x:.1f}V{y:.1f}"
        parts.append(
            f'<path class="{kind}" d="{path}H{_LEFT + _ROOM}"><title>{name}</title></path>'
        )
        lines.append(f"{name}: half of the questions are off by at most {percent(median(errors))}")
    return Picture(
        "Error of typical questions",
        "share of random counts (up) off by at most so much (across); dashed: a plain sample",
        _svg("questions", "Error of typical questions", lines, parts),
    )


def _bars(
    key: str,
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    marks: Sequence[float],
    mark: str,
) -> str:
    """A bar for every share and a mark across it for the other one."""
    most = max([*values, *marks, 1e-9])
    step = _ROOM / len(labels)
    wide = min(step * 0.8, 40.0)
    parts = [
        f'<path class="grid" d="M{_LEFT} {_TOP}H{_LEFT + _ROOM}"/>',
        _text(_LEFT - 6, _TOP + 4, percent(most), "end"),
        _text(_LEFT - 6, _FLOOR + 4, "0", "end"),
    ]
    lines = []
    last = len(_cut(labels[-1])) * _CHARACTER / 2 + step * (len(labels) - 0.5)
    beyond = max(0.0, _LEFT + last - _WIDE)  # by so much it is moved to the left
    room = max(len(_cut(label)) for label in labels) * _CHARACTER + 6 + beyond
    every = max(1, -(-int(room) // max(1, int(step))))
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        middle = _LEFT + (i + 0.5) * step
        tall = (_FLOOR - _TOP) * value / most
        says = f"{label}: {percent(value)}"
        if marks:
            says += f", {mark} {percent(marks[i])}"
        lines.append(says)
        parts.append(
            f'<rect class="bar" x="{middle - wide / 2:.1f}" y="{_FLOOR - tall:.1f}" '
            f'width="{wide:.1f}" height="{tall:.1f}"><title>{escape(says)}</title></rect>'
        )
        if marks:
            y = _FLOOR - (_FLOOR - _TOP) * marks[i] / most
            half = min(step * 0.48, wide * 0.65)
            parts.append(f'<path class="mark" d="M{middle - half:.1f} {y:.1f}h{2 * half:.1f}"/>')
        if (len(labels) - 1 - i) % every == 0:  # the last one is seen, which may be all others
            half = len(_cut(label)) * _CHARACTER / 2
            fits = middle + half < _WIDE
            x, anchor = (middle, "middle") if fits else (_WIDE - 2, "end")
            parts.append(_text(x, _FLOOR + 17, _cut(label), anchor))
    parts.append(f'<path class="axis" d="M{_LEFT} {_FLOOR}H{_LEFT + _ROOM}"/>')
    return _svg(key, title, lines, parts)


def _cut(label: str, most: int = 15) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(
    key: str, title: str, lines: Sequence[str], parts: Sequence[str], tall: int = _TALL
) -> str:
    return (
        f'<svg role="img" aria-labelledby="{key}-title {key}-says" viewBox="0 0 {_WIDE} {tall}">'
        f'<title id="{key}-title">{escape(title)}</title>'
        f'<desc id="{key}-says">{escape("; ".join(lines))}</desc>{"".join(parts)}</svg>'
    )


__all__ = [
    "Distribution", "Picture", "distributions", "of_two_values", "pairs", "questions",
    "risk_over_series",
]  # fmt: skip
