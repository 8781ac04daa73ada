# SPDX-License-Identifier: Apache-2.0
"""``phalanx budget``: what a promise of safe sampling takes and costs, before there is any data."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from phalanx.cli.output import JSON, show_json, show_table, show_text

if TYPE_CHECKING:
    from phalanx.accounting import Accounting, Promise, Together
    from phalanx.report.curves import Curve

_BOTH: "Final[tuple[Accounting, Accounting]]" = ("theorem", "tight")
_KEYS: Final = (
    "epsilon",
    "delta",
    "beta",
    "k",
    "accounting",
    "delta_theorem",
    "delta_tight",
    "epsilon_scheme",
)
_EPSILONS: Final = ("0.01", "0.1", "0.5", "1", "1.5", "2", "3")
_DELTAS: Final = ("1e-3", "1e-5", "1e-6", "1e-8")
_POINTS: Final = 60
"""At so many betas up to the theorem's largest is a curve computed."""


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
        str,
        typer.Option(
            help=(
                "theorem: the paper's bound; tight: the exact delta, which asks for a smaller k. A"
                " plan takes tight unless it says otherwise."
            )
        ),
    ] = "theorem",
    epsilon_scheme: Annotated[
        str, typer.Option(help="What a private choice of the scheme may cost, a part of epsilon.")
    ] = "0",
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
            help="Show the k of 28 promises, each at its largest beta, or at the one given.",
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
    k_theorem, k_tight, published, together (releases, epsilon, delta, tight_epsilon, tight_delta),
    plot; of --table: table (each epsilon, delta, beta, k_theorem, k_tight); of --amplify: epsilon,
    delta, beta, sampled (epsilon, delta), alone (epsilon, delta).
    """
    from phalanx.errors import PlanError, did_you_mean

    if accounting not in _BOTH:
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
        _table(beta, epsilon_scheme, json=json)
    elif amplify is not None:
        _alone(
            "--amplify",
            "is about any method, which has epsilon and delta alone",
            {**asked, **more, "epsilon": None, "delta": None, "amplify": None},
        )
        _amplified(epsilon, delta or "0", amplify, json=json)
    else:
        _check_question(asked, releases, cell, plot)
        _answer(asked, accounting, epsilon_scheme, releases, cell, plot, json=json)


def _alone(option: str, about: str, others: Mapping[str, object]) -> None:
    """PlanError where another option goes with one that is a question of its own."""
    from phalanx.errors import PlanError

    if stray := next((name for name, given in others.items() if given is not None), None):
        raise PlanError(f"{option} {about}; leave --{stray} out.")


def _check_question(
    asked: Mapping[str, Any], releases: int | None, cell: int | None, plot: Path | None
) -> None:
    """PlanError where something is asked for that does not go with what is given; ExtraError where
    it needs more than the core.
    """
    from phalanx.errors import PlanError, require_extra
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
    if releases is not None:
        require_extra("dp", "--releases")


def _answer(
    asked: Mapping[str, Any],
    accounting: "Accounting",
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
    only_drawn = (
        plot is not None
        and releases is None
        and [name for name, given in asked.items() if given is not None] == ["epsilon"]
    )
    promise, other, why = (
        (None, None, "") if only_drawn else _by_both(asked, accounting, epsilon_scheme, cell)
    )
    both = {p.accounting: p for p in (promise, other) if p is not None}
    drawn = None if plot is None else _drawn(plot, asked, epsilon_scheme)
    if json:
        solved = dict.fromkeys(_KEYS) if promise is None else promise.to_json()
        least = {
            f"k_{way}": both[way].k if way in both and asked["k"] is None else None for way in _BOTH
        }
        cost = None if promise is None or releases is None else _cost(promise, releases).to_json()
        published = None if promise is None or cell is None else _published(promise, cell)
        show_json({**solved, **least, "published": published, "together": cost, "plot": drawn})
        return
    if both:
        named = {
            **asked,
            "epsilon_scheme": None if epsilon_scheme == "0" else epsilon_scheme,
            "cell": cell,
        }
        _show_promises(
            ", ".join(f"{name} = {value}" for name, value in named.items() if value is not None),
            both,
            why,
            cell,
        )
    if releases is not None:
        _show_together([_cost(p, releases) for p in both.values()])
    if drawn is not None:
        typer.echo(f"chart: {drawn}")


def _by_both(
    asked: Mapping[str, Any], accounting: "Accounting", epsilon_scheme: str, cell: int | None
) -> "tuple[Promise, Promise | None, str]":
    """The promise by the accounting asked for, and by the other one, or why there is none by that;
    PlanError where there is none by the first.
    """
    from phalanx.errors import PlanError

    promise, other = (
        _solved(asked, accounting, epsilon_scheme, cell),
        _BOTH[1 - _BOTH.index(accounting)],
    )
    try:
        return promise, _solved(asked, other, epsilon_scheme, cell), ""
    except PlanError as error:
        return promise, None, f"{other}: {error}"


def _solved(
    asked: Mapping[str, Any], accounting: "Accounting", epsilon_scheme: str, cell: int | None
) -> "Promise":
    """The promise by one accounting."""
    from phalanx.accounting import best_beta, solve

    if cell is None:
        return solve(**asked, accounting=accounting, epsilon_scheme=epsilon_scheme)
    return best_beta(
        asked["epsilon"], asked["delta"], cell, accounting=accounting, epsilon_scheme=epsilon_scheme
    )


def _show_promises(
    given: str, both: "Mapping[Accounting, Promise]", why: str, cell: int | None
) -> None:
    from phalanx.exact import at_least, at_most
    from phalanx.guarantees.sentences import percent

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


def _published(promise: "Promise", cell: int) -> float:
    """The share of the rows of a cell of so many that is published, on average."""
    from phalanx.accounting.best import log_published

    return math.exp(log_published(cell, promise.k, float(promise.beta)))


def _cost(promise: "Promise", releases: int) -> "Together":
    """What so many releases cost together."""
    from phalanx.accounting import together

    return together(promise, releases)


def _show_together(costs: "Sequence[Together]") -> None:
    from phalanx.exact import at_most

    added = [cost.to_json() for cost in costs]
    epsilon, delta = (max(each[name] for each in added) for name in ("epsilon", "delta"))
    show_table(
        f"\n{costs[0].releases} releases, each of a fresh sample: by addition epsilon"
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


def _amplified(epsilon: str | None, delta: str, beta: str, *, json: bool) -> None:
    """What a method that keeps epsilon and delta by itself keeps on a sample, and what it may keep
    by itself to have them there.
    """
    from phalanx.accounting import amplified, before_sampling
    from phalanx.errors import PlanError
    from phalanx.exact import at_least, at_most, exact

    if epsilon is None:
        raise PlanError(
            "--amplify needs the epsilon of a method; give --epsilon, and --delta where it has one."
        )
    sampled = amplified(epsilon, delta, beta)
    own, ratio = (exact(epsilon, "epsilon"), exact(delta, "delta")), exact(beta, "beta")
    alone = before_sampling(epsilon, delta, beta) if own[1] < ratio else None
    if json:
        pairs = {
            name: None if pair is None else {"epsilon": pair[0], "delta": pair[1]}
            for name, pair in (("sampled", sampled), ("alone", alone))
        }
        show_json({"epsilon": float(own[0]), "delta": float(own[1]), "beta": float(ratio), **pairs})
        return
    rows = [[at_most(own[0]), at_most(own[1]), at_most(sampled[0]), at_most(own[1] * ratio)]]
    if alone is not None:
        rows.append(
            [at_least(alone[0]), at_least(own[1] / ratio), at_most(own[0]), at_most(own[1])]
        )
    show_table(
        f"Any method, on a sample with beta = {beta}",
        ["epsilon alone", "delta alone", "epsilon on the sample", "delta on the sample"],
        rows,
        right=range(4),
    )
    if alone is None:
        show_text("On a sample any method keeps a delta of beta or more.")


def _table(beta: str | None, epsilon_scheme: str, *, json: bool) -> None:
    """The k of 28 promises by both accountings."""
    from phalanx.exact import at_least

    cells = [
        _cell(epsilon, delta, beta, epsilon_scheme)
        for epsilon, delta in product(_EPSILONS, _DELTAS)
    ]
    if json:
        show_json({"table": cells})
        return
    for way, title in zip(_BOTH, ("k by the theorem", "\nk by tight accounting"), strict=True):
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
        show_table(
            title,
            ["epsilon", "beta", *(f"delta {delta}" for delta in _DELTAS)],
            rows,
            right=range(2 + len(_DELTAS)),
        )


def _cell(epsilon: str, delta: str, beta: str | None, epsilon_scheme: str) -> dict[str, Any]:
    """The k of one promise by each accounting; None by the theorem where it says nothing of the
    beta.
    """
    from phalanx.accounting import solve
    from phalanx.errors import PlanError

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


def _drawn(path: Path, asked: Mapping[str, Any], epsilon_scheme: str) -> str:
    """Where the chart was written: k against beta by both accountings, for the delta asked for or
    for four.
    """
    from phalanx.errors import PlanError
    from phalanx.report.curves import Curves

    deltas = _DELTAS if asked["delta"] is None else (asked["delta"],)
    chart = Curves(
        title=f"The k that safe sampling takes at epsilon {asked['epsilon']}",
        x="beta: with what probability a row enters the sample",
        y="k: how often an image must occur in the sample to be published",
    )
    drawn = chart.drawn(
        [
            _curve(asked["epsilon"], delta, way, epsilon_scheme)
            for delta, way in product(deltas, reversed(_BOTH))
        ]
    )
    try:
        path.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise PlanError(
            f"{path} cannot be written ({(error.strerror or 'input/output error').lower()}); name"
            " another file with --plot."
        ) from None
    return str(path)


def _curve(epsilon: str, delta: str, accounting: "Accounting", epsilon_scheme: str) -> "Curve":
    """The k at betas up to the largest that the theorem allows, and by tight accounting somewhat
    further.
    """
    from phalanx.accounting import default_beta, solve
    from phalanx.exact import exact
    from phalanx.report.curves import Curve

    own = exact(epsilon, "epsilon") - exact(epsilon_scheme, "epsilon_scheme")
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
