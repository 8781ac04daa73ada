# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG, drawn on the server: no script, nothing to load, readable by a screen
reader, in the dark and on paper.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from phalanx.guarantees.sentences import percent

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 20, 20, 26
_CHARACTER: Final = 8.5
"""How wide a character is at most, at the size that a telephone shows; no two labels touch."""
_LEAST: Final = 2.0
"""A bar is at least so tall: one group among thousands is a fact, and must not look like none."""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A bar per value over a base line at 0; ``key`` names the chart within its page, so that a
    screen reader finds its title.
    """

    key: str
    title: str
    unit: str
    """What is counted, as in ``3: 17 groups``; empty where the title says it."""
    width: int = 480
    height: int = 170
    percent: bool = False
    """The values are shares in [0, 1] and shown as percentages."""

    def by_label(self, labels: Sequence[str], values: Sequence[float]) -> str:
        """One bar per label; an empty text where there is nothing to draw."""
        step = self._inner / max(1, len(values))
        every = max(1, math.ceil((_room(labels) + 8) / step))
        ticks = [(_LEFT + (i + 0.5) * step, labels[i]) for i in range(0, len(labels), every)]
        return self._drawn(
            labels, values, ticks, min(step * 0.8, 44.0), written=_room(self._shown(values)) <= step
        )

    @property
    def _inner(self) -> int:
        return self.width - _LEFT - _RIGHT

    def _shown(self, values: Sequence[float]) -> list[str]:
        return [percent(v) if self.percent else f"{v:,}" for v in values]

    def _drawn(
        self,
        labels: Sequence[str],
        values: Sequence[float],
        ticks: Sequence[tuple[float, str]],
        wide: float,
        *,
        written: bool,
    ) -> str:
        if not values:
            return ""
        most, tall, base = max(values) or 1, self.height - _TOP - _BOTTOM, self.height - _BOTTOM
        step = self._inner / len(values)
        shown = self._shown(values)
        figures = [
            f"{label}: {figure} {self.unit}".rstrip()
            for label, figure in zip(labels, shown, strict=True)
        ]
        parts = [
            f'<line class="grid" x1="{_LEFT}" y1="{_TOP}" x2="{self.width - _RIGHT}" y2="{_TOP}"/>'
        ]
        for i, value in enumerate(values):
            tip = max(_LEAST, tall * value / most) if value else 0.0
            middle = _LEFT + (i + 0.5) * step
            box = (
                f'x="{middle - max(1.0, wide) / 2:.1f}" y="{base - tip:.1f}"'
                f' width="{max(1.0, wide):.1f}" height="{tip:.1f}"'
            )
            parts.append(f'<rect class="bar" {box}><title>{escape(figures[i])}</title></rect>')
            if written:
                parts.append(
                    f'<text x="{middle:.1f}" y="{base - tip - 5:.1f}"'
                    f' text-anchor="middle">{escape(shown[i])}</text>'
                )
        parts.append(
            f'<line class="axis" x1="{_LEFT}" y1="{base}" x2="{self.width - _RIGHT}" y2="{base}"/>'
        )
        if not written:
            parts.append(
                f'<text x="{_LEFT - 6}" y="{_TOP + 4}"'
                f' text-anchor="end">{escape(self._shown([most])[0])}</text>'
            )
            parts.append(f'<text x="{_LEFT - 6}" y="{base + 4}" text-anchor="end">0</text>')
        parts += [
            f'<text x="{x:.1f}" y="{base + 17}" text-anchor="middle">{escape(label)}</text>'
            for x, label in ticks
        ]
        return (
            f'<svg role="img" aria-labelledby="{self.key}-title {self.key}-says" viewBox="0 0'
            f' {self.width} {self.height}"><title'
            f' id="{self.key}-title">{escape(self.title)}</title><desc'
            f' id="{self.key}-says">{escape("; ".join(figures))}</desc>{"".join(parts)}</svg>'
        )


def _room(texts: Sequence[str]) -> float:
    return _CHARACTER * max(map(len, texts), default=0)
