# SPDX-License-Identifier: Apache-2.0
"""The k of many promises."""

from contextlib import suppress
from itertools import groupby, product
from operator import itemgetter
from typing import Any, Final

from phalanx.accounting import solve
from phalanx.cli.output import show_json, show_table, show_text
from phalanx.errors import PlanError
from phalanx.exact import at_least, exact

EPSILONS: Final = ("0.01", "0.1", "0.5", "1", "1.5", "2", "3")
DELTAS: Final = ("1e-3", "1e-5", "1e-6", "1e-8")


def show_table_of_k(beta: str | None, epsilon_scheme: str, *, json: bool) -> None:
    """The k of 28 promises by both accountings; of fewer where choosing the scheme takes all of an
    epsilon.
    """
    scheme = exact(epsilon_scheme, "epsilon_scheme")
    left = [epsilon for epsilon in EPSILONS if exact(epsilon, "epsilon") > scheme] or EPSILONS
    cells = [
        _cell(epsilon, delta, beta, epsilon_scheme) for epsilon, delta in product(left, DELTAS)
    ]
    if json:
        show_json({"table": cells})
        return
    for way, title in (("theorem", "k by the theorem"), ("tight", "k by tight accounting")):
        rows = []
        for epsilon, of_epsilon in groupby(cells, key=itemgetter("epsilon")):
            line = list(of_epsilon)
            rows.append(
                [
                    f"{epsilon:g}",
                    at_least(line[0]["beta"]),
                    *("none" if cell[f"k_{way}"] is None else cell[f"k_{way}"] for cell in line),
                ]
            )
        if way == "tight":
            show_text("")
        show_table(
            title,
            ["epsilon", "beta", *(f"delta {delta}" for delta in DELTAS)],
            rows,
            right=range(2 + len(DELTAS)),
        )


def _cell(epsilon: str, delta: str, beta: str | None, epsilon_scheme: str) -> dict[str, Any]:
    """The k of one promise by each accounting; None by the theorem where it says nothing of the
    beta.
    """
    tight = solve(
        epsilon=epsilon, delta=delta, beta=beta, accounting="tight", epsilon_scheme=epsilon_scheme
    )
    theorem = None
    with suppress(PlanError):  # this beta is more than the theorem allows
        theorem = solve(
            epsilon=epsilon,
            delta=delta,
            beta=beta,
            accounting="theorem",
            epsilon_scheme=epsilon_scheme,
        ).k
    return {
        "epsilon": float(epsilon),
        "delta": float(delta),
        "beta": float(tight.beta),
        "k_theorem": theorem,
        "k_tight": tight.k,
    }
