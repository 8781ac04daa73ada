# SPDX-License-Identifier: Apache-2.0
"""Slicing as it is offered."""

from typing import Final

from phalanx.methods.base import Asked, Offer

_ALONE: Final = {"l": 2, "sensitive_column_size": 1}
_NAMED: Final = {"l": 2, "columns": [["age", "job", "sex"], ["ill"]]}

OFFER: Final = Offer(
    table="The table is published once, and what goes together matters.",
    promise="No person can be linked with any {it} with more than one chance in {l}, over all"
    " buckets in which they may be.",
    open="Values that stand alone in a column.",
    assumes="As far as the adversary knows, each {it} of a bucket may be anybody's in it; and no "
    "second table about these persons is published.",
    asked=(Asked("l", "l: one chance in so many", "4", whole=False),),
    needs_sensitive=True,
    tried={"l": (2, 3, 5)},
    compiled_by=(
        *(
            _ALONE | {"check": check, "cuts": cuts}
            for check in ("exact", "local")
            for cuts in ("balanced", "strict", "relaxed")
        ),
        _ALONE | {"columns": 2, "check": "local"},
        _NAMED | {"grouping": "random", "bucket_size": 8},
        _NAMED | {"grouping": "membership", "bucket_size": 8},
        _NAMED | {"generalize_columns_k": 2, "compact": True},
        _NAMED | {"c": 3, "diversity": "recursive", "cuts": "strict"},
    ),
)
