# SPDX-License-Identifier: Apache-2.0
"""The chart of k against beta."""

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Final

from phalanx.accounting import Accounting, default_beta, solve
from phalanx.cli.budget.table import DELTAS
from phalanx.errors import PlanError
from phalanx.exact import MOST_EPSILON, bounded, exact
from phalanx.report.curves import Curve, Curves
from phalanx.report.writing import write

_POINTS: Final = 60
"""At so many betas up to the theorem's largest is a curve computed."""


def draw(path: Path, asked: Mapping[str, Any], epsilon_scheme: str) -> str:
    """Where the chart was written: k against beta by both accountings, for the delta asked for or
    for four.
    """
    deltas = DELTAS if asked["delta"] is None else (asked["delta"],)
    chart = Curves(
        title=f"The k that safe sampling takes at epsilon {asked['epsilon']}",
        x="beta: with what probability a row enters the sample",
        y="k: how often an image must occur in the sample to be published",
    )
    ways: tuple[Accounting, ...] = ("tight", "theorem")
    drawn = chart.drawn(
        [
            _curve(asked["epsilon"], delta, way, epsilon_scheme)
            for delta, way in product(deltas, ways)
        ]
    )
    try:
        write(path, drawn)
    except OSError as error:
        raise PlanError(
            f"{path} cannot be written ({(error.strerror or 'input/output error').lower()}); name"
            " another file with --plot."
        ) from None
    return str(path)


def _curve(epsilon: str, delta: str, accounting: Accounting, epsilon_scheme: str) -> Curve:
    """The k at betas up to the largest that the theorem allows, and by tight accounting somewhat
    further.
    """
    own = bounded(epsilon, "epsilon", 0, MOST_EPSILON) - bounded(
        epsilon_scheme, "epsilon_scheme", 0, MOST_EPSILON
    )
    most = default_beta(own)
    end = most if accounting == "theorem" else min(most * Fraction(23, 20), (most + 1) / 2)
    betas = [
        beta
        for i in range(1, math.floor(_POINTS * end / most) + 1)
        if (beta := most * i / _POINTS) > exact(delta, "delta")
    ]
    points = [
        (float(beta), solve(epsilon=own, delta=delta, beta=beta, accounting=accounting).k)
        for beta in betas
    ]
    return Curve(colour=f"delta {delta}", stroke=accounting, points=points)
