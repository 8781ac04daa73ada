# SPDX-License-Identifier: Apache-2.0
"""The promise that is asked for, by both accountings, and what releases of it cost together."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from phalanx.accounting import Accounting, Promise, Together, best_beta, solve, together
from phalanx.accounting.best import log_published
from phalanx.cli.output import show_json, show_table, show_text
from phalanx.errors import PlanError
from phalanx.exact import at_least, at_most
from phalanx.guarantees.sentences import percent


def answer(
    asked: Mapping[str, Any],
    accounting: Accounting,
    epsilon_scheme: str,
    releases: int | None,
    cell: int | None,
    plot: Path | None,
    *,
    json: bool,
) -> None:
    """The promise by both accountings, what releases of it cost together, and the chart, where they
    are asked for.
    """
    both, why = dict[Accounting, Promise](), ""
    given = {name: value for name, value in asked.items() if value is not None}
    if plot is None or releases is not None or given.keys() != {"epsilon"}:
        both, why = _by_both(asked, accounting, epsilon_scheme, cell)
    drawn = None
    if plot is not None:
        from phalanx.cli.budget.chart import draw

        drawn = draw(plot, asked, epsilon_scheme)
    if json:
        promise = both.get(accounting)
        show_json(
            {
                **(
                    dict.fromkeys(one.name for one in fields(Promise))
                    if promise is None
                    else promise.to_json()
                ),
                **{
                    f"{name}_{way}": (
                        both[way].to_json()[name] if way in both and asked[name] is None else None
                    )
                    for name in ("k", "beta")
                    for way in ("theorem", "tight")
                },
                "published": _published(promise, cell) if promise and cell else None,
                "together": together(promise, releases).to_json() if promise and releases else None,
                "plot": drawn,
            }
        )
        return
    if both:
        if epsilon_scheme != "0":
            given["epsilon_scheme"] = epsilon_scheme
        if cell is not None:
            given["cell"] = cell
        _show_promises(", ".join(f"{n} = {value}" for n, value in given.items()), both, why, cell)
    if releases is not None:
        _show_together([together(promise, releases) for promise in both.values()])
    if drawn is not None:
        typer.echo(f"chart: {drawn}")


def _by_both(
    asked: Mapping[str, Any], accounting: Accounting, epsilon_scheme: str, cell: int | None
) -> tuple[dict[Accounting, Promise], str]:
    """The promise by the accounting asked for, then by the other one, or why there is none by that;
    PlanError where there is none by the first.
    """
    other: Accounting = "tight" if accounting == "theorem" else "theorem"
    both = {accounting: _solved(asked, accounting, epsilon_scheme, cell)}
    try:
        both[other] = _solved(asked, other, epsilon_scheme, cell)
    except PlanError as error:
        return both, f"{other}: {error}"
    return both, ""


def _solved(
    asked: Mapping[str, Any], accounting: Accounting, epsilon_scheme: str, cell: int | None
) -> Promise:
    """The promise by one accounting."""
    if cell is None:
        return solve(**asked, accounting=accounting, epsilon_scheme=epsilon_scheme)
    return best_beta(
        asked["epsilon"], asked["delta"], cell, accounting=accounting, epsilon_scheme=epsilon_scheme
    )


def _show_promises(
    given: str, both: Mapping[Accounting, Promise], why: str, cell: int | None
) -> None:
    header = [
        "accounting",
        "epsilon",
        "beta",
        "k",
        "delta",
        "an image needs about" if cell is None else f"published of a cell of {cell:,}",
    ]
    rows = []
    for way, p in sorted(both.items()):
        delta = p.delta_tight if way == "tight" else p.delta_theorem
        last = f"{math.ceil(p.k / p.beta):,} rows" if cell is None else percent(_published(p, cell))
        rows.append(
            [
                way,
                at_most(p.epsilon),
                at_least(p.beta),
                p.k,
                "" if delta is None else at_most(delta),
                last,
            ]
        )
    show_table(f"Safe sampling with {given}", header, rows, right=range(1, 6))
    show_text(
        why
        or 'A plan takes the tight one, unless it says accounting = "theorem"'
        f"{'' if cell is None else '; it needs to be told the beta'}."
    )
    for way in [way for way, p in sorted(both.items()) if not p.can_be_checked]:
        show_text(
            f"No check of a release ends with the {way} one, so that a plan with it is refused."
        )


def _published(promise: Promise, cell: int) -> float:
    """The share of the rows of a cell of so many that is published, on average."""
    return math.exp(log_published(cell, promise.k, float(promise.beta)))


def _show_together(costs: Sequence[Together]) -> None:
    added = [cost.to_json() for cost in costs]
    epsilon, delta = (max(each[name] for each in added) for name in ("epsilon", "delta"))
    show_text("")
    show_table(
        f"{costs[0].releases} releases, each of a fresh sample: by addition epsilon"
        f" {at_most(epsilon)} at delta {at_most(delta)}; composed:",
        [
            "accounting",
            "k",
            f"epsilon at delta {at_most(delta)}",
            f"delta at epsilon {at_most(epsilon)}",
        ],
        [
            [
                cost.promise.accounting,
                cost.promise.k,
                at_most(cost.epsilon_at(delta)),
                at_most(cost.delta_at(epsilon)),
            ]
            for cost in costs
        ],
        right=(1, 2, 3),
    )
