# SPDX-License-Identifier: Apache-2.0
"""Tables and curves of what a promise takes: for those who choose one."""

from collections.abc import Sequence
from fractions import Fraction

from phalanx.accounting.promise import Accounting
from phalanx.accounting.solve import solve
from phalanx.exact import Number, exact


def trade_offs(
    epsilons: Sequence[Number], deltas: Sequence[Number], accounting: Accounting = "theorem"
) -> list[list[int]]:
    """The smallest k for each epsilon (a row each) and delta (a column each), at beta = 1 -
    e^-epsilon.

    >>> trade_offs(["0.5", 1], ["1e-3", "1e-6"])
    [[27, 63], [34, 74]]
    """
    return [
        [solve(epsilon=epsilon, delta=delta, accounting=accounting).k for delta in deltas]
        for epsilon in epsilons
    ]


def k_by_beta(
    epsilon: Number, delta: Number, betas: Sequence[Number], accounting: Accounting = "theorem"
) -> list[tuple[Fraction, int]]:
    """Each beta with the smallest k that keeps epsilon and delta with it.

    >>> [k for _, k in k_by_beta(2, "1e-6", ["0.1", "0.25", "0.5", "0.75"])]
    [7, 12, 24, 66]
    """
    return [
        (
            exact(beta, "beta"),
            solve(epsilon=epsilon, delta=delta, beta=beta, accounting=accounting).k,
        )
        for beta in betas
    ]
