# SPDX-License-Identifier: Apache-2.0
"""The least method that takes a registry, for tests of the way of the data: rows are dealt to a few
groups, registered persons to these or none.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from phalanx import Schema
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.methods.base import Draft, Memory, Suppressed
from phalanx.methods.global_guarantee.protected import suppress
from phalanx.randomness import Randomness
from phalanx.release.forms.generalized import generalize

SCHEMA = Schema(identifier="who", quasi=["age", "zip"], sensitive="ill", missing={"ill": "value"})


def rows(n: int = 12, first: int = 0) -> pl.DataFrame:
    """Persons of 20 to 31 years in two places."""
    every = range(first, first + n)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in every],
            "age": [20 + i % 12 for i in every],
            "zip": [f"{400 + i % 2}" for i in every],
            "ill": ["abcd"[i % 4] for i in every],
        }
    )


def registry() -> pl.DataFrame:
    """Five of the first twelve persons, and eight others, older and from elsewhere; with a column
    that is nobody's business.
    """
    known = rows(5).drop("ill")
    others = pl.DataFrame(
        {"who": [f"v{i}" for i in range(8)], "age": [50 + i for i in range(8)], "zip": ["399"] * 8}
    )
    return pl.concat([known, others]).with_columns(secret=pl.lit("MARKER"))


@dataclass(frozen=True, kw_only=True)
class OneGroup:
    """Deals rows to ``groups`` groups, and registered persons to none, the first, the second and so
    on; ``without`` takes the sensitive value out of the first so many rows.
    """

    name: ClassVar[str] = "one-group"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[Literal["all", "last"]] = "all"
    takes_registry: ClassVar[bool] = True
    holds_if_method_known: ClassVar[bool] = True
    may_suppress: ClassVar[tuple[str, ...]] = ()

    groups: int = 1
    without: int = 0

    @property
    def guarantees(self) -> list[Guarantee]:
        return [KAnonymity(k=2)]

    def parameters(self) -> dict[str, Any]:
        return {"name": self.name, "groups": self.groups}

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        taken = {
            i: {microdata.sensitive.domain.values[int(microdata.sensitive.codes[i])]}
            for i in range(self.without)
        }
        shown = suppress(microdata, taken, np.zeros(0, dtype=np.int64))
        listed = microdata.registry
        place = np.arange(microdata.rows) % self.groups
        beside = (
            None if listed is None else (listed, np.arange(listed.rows) % (self.groups + 1) - 1)
        )
        form, published_id = generalize(
            shown, np.arange(microdata.rows), place, rng.stream("generalize"), registry=beside
        )
        listed_place = np.zeros(0, np.int64) if beside is None else beside[1]
        registered = np.where(listed_place >= 0, published_id[listed_place], 0)
        return Draft(
            form=form,
            groups=np.concatenate([published_id[place], registered]),
            suppressed=Suppressed(
                values={"too rare": self.without} if taken else {},
                microdata=shown if taken else None,
            ),
        )
