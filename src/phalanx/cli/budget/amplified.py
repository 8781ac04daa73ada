# SPDX-License-Identifier: Apache-2.0
"""What any method promises on a sample, and what it may promise by itself."""

from phalanx.accounting import amplified, before_sampling
from phalanx.cli.output import show_json, show_table, show_text
from phalanx.errors import PlanError
from phalanx.exact import at_least, at_most, exact


def show_amplified(epsilon: str | None, delta: str, beta: str, *, json: bool) -> None:
    """What a method that keeps epsilon and delta by itself keeps on a sample, and what it may keep
    by itself to have them there.
    """
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
