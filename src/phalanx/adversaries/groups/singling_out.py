# SPDX-License-Identifier: Apache-2.0
"""The singling-out adversary: predicates of low weight that hold for exactly one row of the
original table (Cohen & Nissim, PNAS 2020).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from phalanx.adversaries.base import (
    Attack,
    Interval,
    Looks,
    asked,
    between,
    original_of,
    percent,
    wilson,
)
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.groups.meeting import containing
from phalanx.adversaries.groups.predicates import Predicates, Regions
from phalanx.adversaries.showing import Shown, interval, share, small
from phalanx.arrays import Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError, ReleaseError
from phalanx.exact import Number, bounded, of_python, whole
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

TRIED: Final = 2000
"""At most so many predicates are tried, one for each of so many regions, drawn at random."""


@dataclass(frozen=True, kw_only=True)
class SingledOut(Attack):
    """What singling out found. ``persons`` counts the rows of the original table, ``exposed`` those
    that some predicate holds for alone.

    ``success`` is the share of predicates that hold for exactly one row, None where no predicate is
    of low enough weight; ``baseline`` the same for predicates of the same weights that are made
    without the release, n w (1 - w)^(n - 1) on average. ``histogram`` counts predicates by the rows
    that they hold for.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    predicates: int
    """How many predicates were tried."""
    weight: float
    """The mean weight of these predicates: how probably a person drawn from the population
    satisfies one.
    """
    expected: Fraction
    """The rows that a predicate may be expected to hold for, at most."""

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        if self.success is None or self.baseline is None:
            return (
                f"finds no predicate that may be expected to hold for at most {self.expected} of a"
                " row, and singles no person out"
            )
        return (
            f"makes {self.predicates} predicates, {percent(self.success)} of which single out one"
            f" row ({between(self.interval)}), where {percent(self.baseline)} of predicates of the"
            " same weights do so by chance"
        )

    def tables(self) -> Iterator[Shown]:
        header = [
            "predicates",
            "hold for one row",
            "95 % interval",
            "of the same weights, without the release",
            "mean weight",
        ]
        baseline = "none" if self.baseline is None else small(self.baseline)
        yield Shown(
            header,
            [
                [
                    self.predicates,
                    share(self.success, "none"),
                    interval(self.interval),
                    baseline,
                    f"{self.weight:.2g}",
                ]
            ],
            range(5),
        )
        yield Shown(
            ["rows of the table", "singled out by some predicate"],
            [[self.persons, self.exposed]],
            (0, 1),
        )
        yield self.binned(
            ["rows it holds for", "predicates"],
            [("none", -1, 0), ("1", 0, 1), ("2 to 5", 1, 5), ("more than 5", 5, inf)],
        )

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, predicates, weight, expected (as text)."""
        more = {
            "interval": [round(end, 6) for end in self.interval],
            "predicates": self.predicates,
            "weight": float(f"{self.weight:.6g}"),
            "expected": str(self.expected),
        }
        return super().to_json() | more


@dataclass(frozen=True)
class SinglingOut:
    """Knows how frequent every attribute's values are, no person's own, and builds from the release
    predicates that single a row out.

    A predicate is a question to one row, as *is age 31 to 38, zip 4790*, and disease gout?* It
    singles a row out if exactly one row of the original table satisfies it. That is an achievement
    only where its weight, the probability that a person drawn from the population satisfies it, is
    low: a predicate of weight w singles out by chance with n w (1 - w)^(n - 1), which is 37 % at
    1/n and nearly nothing far below. The adversary may try predicates that are expected to hold for
    at most ``expected`` of n rows, and makes for each region of the release the one that most
    probably holds for one row:

    - in the box, and with a sensitive value that stands there once; or c times, and with a random
      bit of probability 1/c;
    - in the box, and at an end of it that one record alone is expected to have set (tight boxes);
    - in the box, and with a random bit of probability 1 over its records, as in the paper's theorem
      about k-anonymity, which is right with 37 %.

    A region is a box of a generalized release, a tuple of a bucketized one, an image of a recoded
    one (of a sample: with a bit for those who are not in it). Weights are products over attributes
    of the shares in the original table: where attributes go together, true weights differ from
    these, and more where rows are many. Differential privacy keeps success near the baseline for
    every adversary; k-anonymity and l-diversity do not.

    ``sample``: at most so many regions are tried, drawn at random. Needs ``evidence.microdata``.

    Source: Cohen & Nissim, "Towards formalizing the GDPR's notion of singling out", Definitions 2.5
    and 4.4, and section 5. How we differ: there a table is drawn and one predicate is made; here
    the table is given, and the rate is one over many predicates made from one release, which the
    interval takes for independent.

    Raises
    ------
    ReleaseError
        For several releases, sliced and perturbed ones, or where the original table is missing.
    PlanError
        Where ``expected`` is not above 0 and at most 1.
    """

    question: ClassVar[str] = "singling out"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {"original": True}
    exposes: ClassVar[str] = ""
    no_breach: ClassVar[str] = (
        "no guarantee of this release says that no description fits one row alone"
    )

    expected: Number = field(
        default="1/10",
        metadata={"help": "Try predicates that may be expected to hold for at most so many rows."},
    )
    sample: int | None = field(
        default=TRIED,
        metadata={"help": "Try at most so many predicates, of regions drawn at random."},
    )

    def __post_init__(self) -> None:
        of_python(self)
        if bounded(self.expected, "the expected number of rows", 0, 1) == 0:
            raise PlanError(
                "the expected number of rows must be above 0, for no predicate of weight 0 holds"
                " for a row."
            )
        if self.sample is not None:
            whole(self.sample, "sample")

    @property
    def name(self) -> str:
        return "singling-out"

    @property
    def knows(self) -> str:
        return (
            "how frequent every attribute's values are, and no person's own; it makes predicates of"
            " low weight that hold for one row"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> SingledOut:
        """How often its predicates hold for exactly one row, and how often any of the same weights
        would.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        microdata = original_of(
            release, evidence, "it is not known how many rows a predicate holds for"
        )
        expected = bounded(self.expected, "the expected number of rows", 0, 1)
        regions = Regions.of(release, microdata)
        if not (regions.share(regions.low, regions.high) > 0).any():
            raise ReleaseError(
                f"no row of the original table can lie where release {release.number} has rows; give"
                " the table that was published."
            )
        # measuring protects no person, and who asks again shall see the same figures
        stream = Randomness.seeded(0).stream("singling out")
        tried = np.sort(stream.permutation(len(regions))[: self.sample])
        made = Predicates.best(regions, tried, float(expected) / microdata.rows)
        rows, matched = _matching(made, regions, microdata, key=int(stream.words(1)[0]))
        matches = np.bincount(matched, minlength=len(made))
        alone = rows[(matches == 1)[matched]]
        success = float((matches == 1).mean()) if len(made) else None
        return SingledOut(
            adversary=self.name,
            knows=self.knows,
            persons=microdata.rows,
            exposed=len(np.unique(alone)),
            success=success,
            baseline=by_chance(made.weight, microdata.rows) if len(made) else None,
            histogram={
                int(n): int(predicates)
                for n, predicates in zip(*np.unique(matches, return_counts=True), strict=True)
            },
            note=_note(len(made), len(tried), len(regions)),
            interval=wilson(success or 0.0, len(made)),
            predicates=len(made),
            weight=float(made.weight.mean()) if len(made) else 0.0,
            expected=expected,
        )


def by_chance(weight: Floats, n: int) -> float:
    """How often predicates of these weights, made without looking, hold for exactly one of n rows,
    on average.

    >>> round(by_chance(np.array([0.001]), 1000), 4)
    0.3681
    """
    return float((n * weight * (1 - weight) ** (n - 1)).mean())


def _matching(
    made: Predicates, regions: Regions, microdata: Microdata, key: int
) -> tuple[Ints, Ints]:
    """All pairs of a row and a predicate that holds for it."""
    codes = np.stack([microdata.columns[name].codes for name in regions.names], axis=1).astype(
        np.int64
    )
    value = (
        codes[:, 0] * 0 - 1
        if microdata.schema.sensitive is None
        else microdata.sensitive.codes.astype(np.int64)
    )
    bits = _bits(microdata, key)
    pairs: list[tuple[Ints, Ints]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    for who, predicate in containing(codes, made.low, made.high):
        right: npt.NDArray[np.bool_] = (made.value[predicate] < 0) | (
            value[who] == made.value[predicate]
        )
        right &= bits[who] < made.bit[predicate]
        pairs.append((who[right], predicate[right]))
    rows, matched = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return rows, matched


def _bits(microdata: Microdata, key: int) -> Floats:
    """A number from 0 to 1 for every row, by what stands in it and a key: equal rows have the same,
    as a predicate cannot tell them apart.
    """
    mixed = np.full(microdata.rows, key, dtype=np.uint64)
    for column in microdata.columns.values():
        mixed ^= column.codes.astype(np.uint64)
        for shift, factor in (
            (30, 0xBF58476D1CE4E5B9),
            (27, 0x94D049BB133111EB),
            (31, 0x9E3779B97F4A7C15),
        ):  # splitmix64's finalizer
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) / 2.0**53)


def _note(made: int, tried: int, regions: int) -> str:
    notes = [f"{tried} of {regions} regions were drawn"] if tried < regions else []
    if made < tried:
        notes.append(f"of {tried - made} region(s) no predicate has so low a weight")
    notes.append("weights are products of the attributes' shares")
    return "; ".join(notes)
