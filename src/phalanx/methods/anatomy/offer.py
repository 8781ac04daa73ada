# SPDX-License-Identifier: Apache-2.0
"""Anatomy as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

OFFER: Final = Offer(
    table="The table is published once, and exact quasi-identifiers matter.",
    promise="No person can be linked with any {it} with more than one chance in {l}, while all"
    " else is published as it is.",
    open="Who is in the table, and everything about a person but {it}.",
    assumes="As far as the adversary knows, each {it} of a bucket may be anybody's in it; and no "
    "second table about these persons is published.",
    asked=(Asked("l", "l: one chance in so many", "4", whole=False),),
    needs_sensitive=True,
    tried={"l": (2, 3, 5)},
    compiled_by=({"l": 2},),
)
