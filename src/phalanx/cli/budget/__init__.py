# SPDX-License-Identifier: Apache-2.0
"""``phalanx budget``: what a promise of safe sampling takes and costs, before there is any data.

A question has a file: ``promise``, with what releases of it cost together, and its ``chart``;
``amplified``: any method on a sample; ``table``: the k of many promises.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from phalanx.cli.locations import check_ending
from phalanx.cli.output import JSON
from phalanx.errors import PlanError, did_you_mean, require_extra

if TYPE_CHECKING:
    from phalanx.accounting import Accounting

_BOTH: "Final[tuple[Accounting, Accounting]]" = ("theorem", "tight")


def budget(
    epsilon: Annotated[
        str | None,
        typer.Option(help="By what factor, e^epsilon, a row may change the odds of a release."),
    ] = None,
    delta: Annotated[
        str | None, typer.Option(help="The probability with which that factor may be exceeded.")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(help="How often an image must occur in the sample to be published."),
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option(
            help=(
                "With what probability a row enters the sample; if nothing asks for another, 1 -"
                " e^-epsilon, rounded down."
            )
        ),
    ] = None,
    releases: Annotated[
        int | None,
        typer.Option(help="Show what so many releases, each of a fresh sample, cost together."),
    ] = None,
    accounting: Annotated[
        str | None,
        typer.Option(
            help=(
                "theorem: the paper's bound, the default here; tight: the exact delta, which asks"
                " for a smaller k. A plan takes tight unless it says otherwise."
            )
        ),
    ] = None,
    epsilon_scheme: Annotated[
        str | None,
        typer.Option(help="What a private choice of the scheme may cost, a part of epsilon."),
    ] = None,
    cell: Annotated[
        int | None,
        typer.Option(
            help="Take the beta and k that publish most of a cell of so many rows of the table."
        ),
    ] = None,
    amplify: Annotated[
        str | None,
        typer.Option(
            help=(
                "Show what any method promises on a sample with this beta, and what it may promise"
                " by itself."
            )
        ),
    ] = None,
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help=(
                "Show the k of 28 promises (fewer with --epsilon-scheme), each at its largest beta,"
                " or at the one given."
            ),
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw k against beta at this epsilon into an SVG file.")
    ] = None,
    json: bool = JSON,
) -> None:
    """Compute what a promise of safe sampling takes, and what releases cost together, without any
    data.

    Of --epsilon, --delta, --k and --beta give two or more; what is left out is solved for. JSON
    keys: epsilon, delta, beta, k, accounting, delta_theorem, delta_tight, epsilon_scheme,
    k_theorem, k_tight, beta_theorem, beta_tight, published, together (releases, epsilon, delta,
    tight_epsilon, tight_delta), plot; of --table: table (each epsilon, delta, beta, k_theorem,
    k_tight); of --amplify: epsilon, delta, beta, sampled (epsilon, delta), alone (epsilon, delta).
    """
    if accounting is not None and accounting not in _BOTH:
        raise PlanError(
            f"--accounting {accounting} is not"
            f" known{did_you_mean(accounting, _BOTH) or '; use theorem or tight.'}"
        )
    asked = {"epsilon": epsilon, "delta": delta, "k": k, "beta": beta}
    more = {"releases": releases, "cell": cell, "amplify": amplify, "plot": plot}
    if table:
        _alone(
            "--table", "is about epsilons and deltas of its own", {**asked, **more, "beta": None}
        )
        _alone("--table", "shows both", {"accounting": accounting})
        from phalanx.cli.budget.table import show_table_of_k

        show_table_of_k(beta, epsilon_scheme or "0", json=json)
    elif amplify is not None:
        _alone(
            "--amplify",
            "is about any method, which has epsilon and delta alone",
            {
                **asked,
                **more,
                "epsilon": None,
                "delta": None,
                "amplify": None,
                "accounting": accounting,
                "epsilon_scheme": epsilon_scheme,
            },
        )
        from phalanx.cli.budget.amplified import show_amplified

        show_amplified(epsilon, delta or "0", amplify, json=json)
    else:
        _check_question(asked, releases, cell, plot)
        from phalanx.cli.budget.promise import answer

        answer(
            asked,
            accounting or "theorem",
            epsilon_scheme or "0",
            releases,
            cell,
            plot,
            json=json,
        )


def _alone(option: str, about: str, others: Mapping[str, object]) -> None:
    """PlanError where another option goes with one that is a question of its own."""
    if stray := next((name for name, given in others.items() if given is not None), None):
        raise PlanError(f"{option} {about}; leave --{stray.replace('_', '-')} out.")


def _check_question(
    asked: Mapping[str, Any], releases: int | None, cell: int | None, plot: Path | None
) -> None:
    """PlanError where something is asked for that does not go with what is given; ExtraError where
    it needs more than the core.
    """
    from phalanx.exact import whole

    for option, number in (("--releases", releases), ("--cell", cell)):
        if number is not None:
            whole(number, option)
    if cell is not None:
        _alone(
            "--cell",
            "finds k and beta for an epsilon and a delta",
            {"k": asked["k"], "beta": asked["beta"]},
        )
        if asked["epsilon"] is None or asked["delta"] is None:
            raise PlanError("--cell finds k and beta for an epsilon and a delta; give both.")
    if plot is not None and asked["epsilon"] is None:
        raise PlanError("--plot draws k against beta at an epsilon; give --epsilon.")
    if plot is not None:
        check_ending(plot, "--plot", ".svg")
    if releases is not None:
        require_extra("dp", "--releases")
