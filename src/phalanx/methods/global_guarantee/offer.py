# SPDX-License-Identifier: Apache-2.0
"""The global guarantee as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

OFFER: Final = Offer(
    table="The table changes, and a person's values come and go, as a flu does.",
    promise="No person can be linked to any {it} they ever had with more than one chance in {l}.",
    open="Who is in the table.",
    assumes="Values of {it} come and go, and the plan names as permanent those that do not; as far "
    "as the adversary knows, each value of a group may be anybody's in it.",
    asked=(Asked("l", "l: one chance in so many, over all releases", "4", whole=False),),
    needs_sensitive=True,
    tried={"l": (2, 3, 5)},
    compiled_by=(
        {"l": 2},
        {"l": 2, "grouping": "bottom-up"},
        {"l": 2, "strategy": "geometric", "alpha": 2},
        {"l": 2, "strategy": "constant-ratio", "horizon": 3},
        {"l": 2, "protect": ["a"], "k": 2},
    ),
)
