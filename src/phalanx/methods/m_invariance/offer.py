# SPDX-License-Identifier: Apache-2.0
"""m-invariance as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

OFFER: Final = Offer(
    table="The table changes, and a person's value stays, as a chronic disease does.",
    promise="No person's {it} can be inferred with more than one chance in {m}, over all releases.",
    open="Who is in the table.",
    assumes="A person's {it} stays the same from release to release; and as far as the adversary "
    "knows, persons are alike.",
    asked=(
        Asked("m", "m: at least so many different values cover each person", "4"),
        Asked(
            "changed",
            "whose value is another one than before",
            "refuse",
            choices=("refuse", "suppress", "new-record"),
        ),
        Asked(
            "not_eligible",
            "where a value is too frequent",
            "refuse",
            choices=("refuse", "suppress"),
        ),
    ),
    needs_sensitive=True,
    tried={"m": (2, 3, 5)},
    compiled_by=(
        {"m": 2},
        {"m": 2, "regions": 4},
        {"m": 2, "balancing": "paper"},
        {"m": 2, "not_eligible": "suppress", "changed": "new-record"},
    ),
)
