# SPDX-License-Identifier: Apache-2.0
"""Mutual cover as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

OFFER: Final = Offer(
    table="The table is published once, and must look like the original.",
    promise="Every published value could come from at least 1/delta persons.",
    open="Any {it}; and rows can be found, at a rate that is measured.",
    assumes="The adversary looks at one value of one release, and does not reason about how the "
    "rows were made.",
    asked=(
        Asked("delta", "delta: the greatest part of one person, as in 1/6", "1/6", whole=False),
        Asked("k", "k: persons in a group", "6"),
    ),
    tried={"delta": ("1/3", "1/5", "1/10")},
    compiled_by=(
        {"delta": 0.5},
        {"delta": 0.5, "outputs": "least-cost"},
        {"delta": 0.5, "grouping": "mondrian", "outputs": "least-cost", "changes": 2},
        {"delta": 0.4, "k": 4, "outputs": "least-cost", "changes": 2},
        # one group with so many values that it is solved in turns
        {"delta": 0.5, "k": 250, "outputs": "least-cost"},
    ),
)
