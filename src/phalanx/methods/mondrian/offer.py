# SPDX-License-Identifier: Apache-2.0
"""Mondrian as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

OFFER: Final = Offer(
    table="The table is published once, and simple groups will do.",
    promise="Each person is one of at least {k} persons who look alike; with l, no {it} has more"
    " than 1/l of such a group.",
    open="Anything once a second table about the same persons is published.",
    assumes="As far as the adversary knows, each value of a group may be anybody's in it; and no "
    "second table about these persons is published.",
    asked=(
        Asked("k", "k: persons who look alike", "5"),
        Asked(
            "l",
            "l: no value in more than 1/l of a group; empty: no value is covered",
            "",
            whole=False,
        ),
    ),
    tried={"k": (5, 10, 20)},
    tried_beside={"l": 2},
    compiled_by=(
        {"k": 3, "l": 2, "cuts": "balanced"},
        *(
            {"k": 3, "l": 2, "cuts": cuts, "diversity": d}
            for cuts in ("strict", "relaxed")
            for d in ("frequency", "distinct", "entropy")
        ),
        {"k": 2, "l": 2, "c": 3, "diversity": "recursive"},
        *({"k": 2, "t": 0.6, "distance": distance} for distance in ("equal", "ordered")),
        {"k": 3, "min_width": {"age": 5}},
        {"k": 3, "cuts": "strict", "cut_at": "median"},
    ),
)
