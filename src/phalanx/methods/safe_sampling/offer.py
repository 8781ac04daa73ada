# SPDX-License-Identifier: Apache-2.0
"""Safe sampling as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

_WAY: Final = {
    "epsilon": 2,
    "delta": 0.01,
    "scheme": {"age": {"low": 0, "high": 100, "width": 10}},
    "allow_empty": True,
    "budget": {"epsilon": 4, "delta": 0.02},
}
_CHOSEN: Final = _WAY | {
    "scheme": {"age": {"low": 0, "high": 100, "widths": [10]}},
    "choose": "partition",
    "epsilon_scheme": 1,
}

OFFER: Final = Offer(
    table="The release must be differentially private.",
    promise="An adversary who sees the release can hardly tell whether any one row was in the"
    " table.",
    open="What a whole population has in common.",
    assumes="A person has one row, and the number of rows comes from what is public. What the "
    "adversary knows does not matter.",
    asked=(
        Asked("epsilon", "epsilon: less protects more", "1", whole=False),
        Asked("delta", "delta: how often the bound may fail", "1e-6", whole=False),
        Asked("expected_rows", "rows of the table, from what is public", ""),
    ),
    tried={"epsilon": (0.5, 1, 2)},
    compiled_by=(_WAY, _CHOSEN),
)
