# SPDX-License-Identifier: Apache-2.0
"""Differential privacy: whether any one row was in the table hardly changes what is published (Li,
Qardaji, Su, "Sampling + safe k-anonymization").
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
import polars as pl

from phalanx.data.combinations import Combinations
from phalanx.errors import PlanError
from phalanx.exact import MOST_EPSILON, Number, bounded, exact, readable, whole
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.consistency.recoded import Images, unlike_attributes
from phalanx.guarantees.differential_privacy.composed import (
    MOST_ROWS,
    theorem_together,
    tight_together,
)
from phalanx.guarantees.differential_privacy.hockey_stick import (
    Bound,
    theorem_applies,
    theorem_delta,
    tight_delta,
)
from phalanx.guarantees.differential_privacy.logarithms import exp_bounds
from phalanx.guarantees.sentences import as_promised
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.recoded import Recoded
from phalanx.release.manifest import Manifest

Accounting = Literal["tight", "theorem"]

_RELEASES: Final = 1 << 32
"""No series has more; of their number nothing is composed beyond it."""
_SHOWN: Final = 5
"""So many of the smallest images are shown."""


@dataclass(frozen=True)
class DifferentialPrivacy:
    """For tables that differ by one row, any outcome is at most e^``epsilon`` times as probable
    under one as under the other, but for ``delta``.

    **Promise**: ``Pr(M(D) in S) <= e^epsilon Pr(M(D') in S) + delta`` for all sets S of outcomes
    and all tables D, D' of which one has one row more. It is about all published attributes,
    sensitive ones too. Where one row is exchanged for another, ``2 epsilon`` and ``(1 + e^epsilon)
    delta`` are left. Each row enters a fresh sample with probability ``beta`` by itself, sampled
    rows are recoded by a scheme that follows no row, and an image is published as often as the
    sample has it, if that is ``k`` times or more; else not at all.

    Where the scheme was chosen from the table by ``epsilon_scheme``-differential privacy, this is a
    part of epsilon. ``accounting`` says by what reckoning delta is enough at what is left,
    epsilon': ``theorem``: ``d(k, beta, epsilon')`` of Theorem 3.9 (3.11 with a chosen scheme),
    which asks for ``epsilon' >= -ln(1 - beta)``; ``tight``: the hockey-stick divergence of the
    mechanism itself, which is the smallest delta there is. Both are computed here by whole numbers,
    rounded against the release (``hockey_stick``). ``budget``: the most that all releases of the
    series together may cost, ``{"epsilon": ..., "delta": ...}``.

    A file shows that images are crowds and cells of the scheme, and the parameters whether they
    keep the promise. That the sample was fresh, and that nothing else chose the scheme, no file can
    show; these are verdicts that start with ``not checked``. PlanError for parameters that mean
    nothing.

    Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy: or,
    k-anonymization meets differential privacy" (ASIACCS 2012), Theorems 3.9 and 3.11; the tight
    reckoning is ours.

    >>> DifferentialPrivacy(epsilon="0.5", delta="2.1e-5", k=10, beta="0.1", accounting="theorem").parameters()
    {'name': 'differential-privacy', 'epsilon': 0.5, 'delta': 2.1e-05, 'k': 10, 'beta': 0.1, 'accounting': 'theorem'}
    """

    name: ClassVar[str] = "differential-privacy"
    forms: ClassVar[tuple[str, ...]] = ("recoded",)
    over_series: ClassVar[bool] = True
    of_each_group: ClassVar[bool] = True
    counts_parts: ClassVar[bool] = True
    epsilon: Number
    delta: Number
    k: int
    beta: Number
    accounting: Accounting = "tight"
    epsilon_scheme: Number = 0
    budget: Mapping[str, Number] | None = None

    def __post_init__(self) -> None:
        epsilon = bounded(self.epsilon, "epsilon", 0, MOST_EPSILON)
        scheme = bounded(self.epsilon_scheme, "epsilon_scheme", 0)
        if scheme > epsilon:
            raise PlanError(
                f"epsilon_scheme = {self.epsilon_scheme} is a part of epsilon = {self.epsilon} and"
                " cannot be more; lower it."
            )
        delta, beta = bounded(self.delta, "delta", 0, 1), bounded(self.beta, "beta", 0, 1)
        if beta in (0, 1):
            raise PlanError(
                f"beta = {self.beta} draws no sample; give a probability above 0 and below 1."
            )
        whole(self.k, "k")
        if self.accounting not in get_args(Accounting):
            raise PlanError(
                f"accounting must be one of {', '.join(get_args(Accounting))}, and is"
                f" {self.accounting!r}."
            )
        for parameter, number in (
            ("epsilon", epsilon),
            ("delta", delta),
            ("beta", beta),
            ("epsilon_scheme", scheme),
        ):
            object.__setattr__(self, parameter, number)
        if self.budget is not None:
            object.__setattr__(self, "budget", _budget(self.budget))

    @staticmethod
    def no_breach(_: Mapping[str, Any], __: Manifest) -> str:
        """What certainty says of it."""
        return (
            "differential privacy bounds how much one row changes a release, and not what is"
            " concluded from all of them"
        )

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """Crowd, scheme, delta, budget, counts of the original, and what no file can show: sample,
        and choice of the scheme.
        """
        evidence, form = evidence or Evidence(), Recoded.expect(release.form)
        if faults := form_faults(form):
            verdicts = [
                self._verdict("scheme", 0, len(faults), holds=False, note="; ".join(faults))
            ]
        else:
            images = Images.of(form)
            verdicts = [
                self._crowd(images),
                self._scheme(form, images),
                self._original(images, _original_of(evidence, release.number)),
            ]
        return [*verdicts, self._delta(), *self._together(release, earlier), *self._unseen(form)]

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        shown: dict[str, Any] = {
            "name": self.name,
            "epsilon": readable(self.epsilon),
            "delta": readable(self.delta),
            "k": self.k,
            "beta": readable(self.beta),
        }
        shown["accounting"] = self.accounting
        if self.epsilon_scheme:
            shown["epsilon_scheme"] = readable(self.epsilon_scheme)
        if self.budget is not None:
            shown["budget"] = {key: readable(most) for key, most in self.budget.items()}
        return shown

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence that says what it means for one row."""
        epsilon, delta = exact(self.epsilon, "epsilon"), as_promised(exact(self.delta, "delta"))
        factor, sure = exp_bounds(epsilon)[1], 1 / (1 + math.exp(-epsilon))
        return (
            "This release tells hardly anything of whether any one row was in the table"
            f" (differential privacy, epsilon = {as_promised(epsilon)}, delta = {delta}). Whatever"
            f" it could show is at most {as_promised(factor)} times (e^{as_promised(epsilon)}) as"
            " probable with the row as without it, and without as with, but for an excess of"
            f" {delta} in probability. So an adversary who held it for as likely as not that the"
            f" row is there is at most {math.ceil(1000 * sure) / 10:g}% sure afterwards, whatever"
            " else they know."
        )

    def limits(
        self,
        manifest: Manifest,
        earlier: Sequence[Manifest] = (),
        *,
        reidentified: float | None = None,
    ) -> Iterator[tuple[str, str]]:
        """What differential privacy of one row leaves out."""
        epsilon, delta = exact(self.epsilon, "epsilon"), exact(self.delta, "delta")
        if manifest.rows * delta >= 1:
            yield (
                "Delta is large for so many rows",
                (
                    f"With a delta of {as_promised(delta)} a method could publish some of"
                    f" {manifest.rows:,} rows as they are and keep its promise. This method does"
                    " not do that, but the figure promises little; choose a delta far below 1"
                    " divided by the number of rows."
                ),
            )
        of_two = as_promised(min(Fraction(1), (1 + exp_bounds(epsilon)[1]) * delta))
        yield (
            "About one row, and this series alone",
            (
                "A person with several rows in the table is promised less. With two, or where one"
                f" row is exchanged for another, epsilon is {as_promised(2 * epsilon)} and delta"
                f" {of_two}: twice epsilon, and 1 + e^epsilon times delta. What is published"
                " elsewhere about the same table comes on top, and is in none of the figures here."
                " Where rows say much of each other, as those of relatives may, the rows of one"
                " tell of the other. What the release teaches about people in general may be"
                " believed of anybody, in the table or not."
            ),
        )

    def _verdict(
        self, part: str, bound: float | Fraction | str, worst: Any, *, holds: bool, note: str
    ) -> Verdict:
        name = f"{self.name}: {part}"
        return Verdict(name=name, bound=bound, worst=worst, holds=holds, note=note)

    def _crowd(self, images: Images) -> Verdict:
        """Whether every image occurs k times."""
        if not len(images.counts):
            return self._verdict(
                "crowd",
                self.k,
                None,
                holds=True,
                note="the table has no rows, which is a possible outcome",
            )
        worst = int(images.counts.min())
        smallest = (
            images.table.with_columns(rows=pl.Series(images.counts))
            if "rows" not in images.table.columns
            else images.table
        )
        cases = smallest[pl.Series(images.counts.argsort(kind="stable")[:_SHOWN])]
        note = f"the rarest of {len(images.counts)} image(s)"
        verdict = self._verdict("crowd", self.k, worst, holds=worst >= self.k, note=note)
        return replace(verdict, worst_cases=cases)

    def _scheme(self, form: Recoded, images: Images) -> Verdict:
        """Whether every row is an image of the scheme, the scheme was paid for, and no row fits two
        images.
        """
        worst: int | None = None
        holds = False
        if form.scheme["chosen"] != "fixed" and not self.epsilon_scheme:
            note = (
                "the scheme was chosen from the table, and the promise has no epsilon_scheme for"
                " that"
            )
        elif images.strays:
            worst, note = images.strays, "row(s) that are not an image of the declared scheme"
        elif images.overlaps:
            note = "there are images that overlap, and a partition has none"
        else:
            worst, holds = 0, True
            note = (
                "every row is an image of the declared scheme, which covers every published"
                " attribute"
            )
        return self._verdict("scheme", 0, worst, holds=holds, note=note)

    def _original(self, images: Images, original: Combinations | None) -> Verdict:
        """Whether the original table has every image as often as it is published, or more often."""
        part, bound = "counts", 0
        if original is None:
            return self._verdict(
                part, bound, None, holds=True, note="not checked: no original table was given"
            )
        if images.strays or images.overlaps:
            return self._verdict(
                part,
                bound,
                None,
                holds=False,
                note="not looked at, since the images are not those of the scheme",
            )
        if unlike := unlike_attributes(images, original.microdata):
            return self._verdict(part, bound, None, holds=False, note=unlike)
        more = np.maximum(0, images.counts - images.originals(original))
        note = "published rows beyond those of the original table that have their image"
        return self._verdict(part, bound, int(more.sum()), holds=not more.any(), note=note)

    def _delta(self) -> Verdict:
        """Whether the promised delta is not below what the parameters give, whatever the table."""
        delta, beta = exact(self.delta, "delta"), exact(self.beta, "beta")
        of_sample = exact(self.epsilon, "epsilon") - exact(self.epsilon_scheme, "epsilon_scheme")
        tight = tight_delta(self.k, beta, of_sample)
        theorem = (
            theorem_delta(self.k, beta, of_sample) if theorem_applies(beta, of_sample) else None
        )
        by_theorem = (
            _shown(theorem)
            if theorem
            else "none, which asks for a smaller beta or a larger epsilon"
        )
        note = f"by the tight reckoning {_shown(tight)}, by the theorem {by_theorem}"
        least_delta = tight if self.accounting == "tight" else theorem
        if beta <= delta:
            return self._verdict(
                "delta",
                delta,
                None,
                holds=False,
                note=f"delta is not below beta, so that the sample protects no person; {note}",
            )
        if least_delta is None or not least_delta.whole:
            why = (
                "the theorem does not apply"
                if least_delta is None
                else "not settled, as the sums over numbers of rows are too long"
            )
            return self._verdict("delta", delta, None, holds=False, note=f"{why}; {note}")
        holds = least_delta.delta <= delta
        return self._verdict(
            "delta", delta, _above(least_delta.delta, delta), holds=holds, note=note
        )

    def _together(self, release: Release, earlier: Sequence[Release]) -> Iterator[Verdict]:
        """Whether all releases of the series up to this one cost no more than the budget, where
        there is one.
        """
        if self.budget is None:
            return
        most, delta = (exact(self.budget[key], key) for key in ("epsilon", "delta"))
        bound = f"epsilon {_text(most)} at delta {_text(delta)}"
        if unlike := [before.number for before in earlier if not self._is_promised_by(before)]:
            note = (
                f"release {unlike[0]} does not make the same promise, so that its cost is not known"
            )
            yield self._verdict("budget", bound, None, holds=False, note=note)
            return
        added = self._added(release.number)
        note = (
            f"by plain addition {release.number} release(s) cost epsilon {_text(added[0])} and"
            f" delta {_text(added[1])}"
        )
        worst = self.together(release.number)
        if worst != added:
            note += (
                f"; composed they cost no more than delta {_text(worst[1])} at epsilon"
                f" {_text(worst[0])}"
            )
        yield self._verdict(
            "budget",
            bound,
            f"epsilon {_text(worst[0])} at delta {_text(worst[1])}",
            holds=worst[0] <= most and worst[1] <= delta,
            note=note,
        )

    def _added(self, releases: int) -> tuple[Fraction, Fraction]:
        epsilon, delta = exact(self.epsilon, "epsilon"), exact(self.delta, "delta")
        return releases * epsilon, releases * delta

    def together(self, releases: int) -> tuple[Fraction, Fraction]:
        """The epsilon and delta that so many releases cost together at most, where there is a
        budget: by plain addition if that is in it, else composed, at the budget's epsilon.
        """
        added = self._added(releases)
        most, delta = (exact((self.budget or {})[key], key) for key in ("epsilon", "delta"))
        if added[0] <= most and added[1] <= delta:
            return added
        if most <= 0 or delta <= 0:
            return most, Fraction(1)
        return most, Fraction(self._composed(releases, most, delta))

    def _composed(self, releases: int, most: Fraction, delta: Fraction) -> float:
        """An upper bound of the delta of so many releases at the budget's epsilon, by this
        promise's accounting; 1 of more than there can be.
        """
        if releases > _RELEASES:
            return 1.0
        epsilon, delta_each, beta, scheme = (
            exact(getattr(self, name), name)
            for name in ("epsilon", "delta", "beta", "epsilon_scheme")
        )
        most = min(most, Fraction(MOST_EPSILON))
        if self.accounting == "theorem" or self.k > beta * MOST_ROWS:
            return theorem_together(epsilon - scheme, delta_each, scheme, releases, most, delta)
        return tight_together(self.k, beta, scheme, releases, most, delta)

    def _is_promised_by(self, release: Release) -> bool:
        """Whether a release makes this promise, but perhaps for another budget."""
        mine = self.parameters() | {"budget": None}
        return any({**promise, "budget": None} == mine for promise in release.manifest.guarantees)

    def _unseen(self, form: Recoded) -> Iterator[Verdict]:
        """What cannot be seen from a file."""
        note = (
            "not checked: no file shows that each row entered the sample by chance alone, and that"
            " nothing else was answered from this sample"
        )
        yield self._verdict("sample", "fresh and uniform", None, holds=True, note=note)
        note = "not checked: no file shows that the scheme never saw the table"
        if form.scheme.get("chosen") != "fixed":
            note = (
                "not checked: no file shows that the choice of the scheme cost no more than"
                f" epsilon_scheme = {readable(self.epsilon_scheme)}"
            )
        yield self._verdict(
            "choice of the scheme", readable(self.epsilon_scheme), None, holds=True, note=note
        )


def _original_of(evidence: Evidence, number: int) -> Combinations | None:
    """The original table of a release, where it is given."""
    microdata = evidence.microdata.get(number)
    return evidence.combinations.get(number) if microdata is None else Combinations.of(microdata)


def _budget(budget: Mapping[str, Number]) -> dict[str, Fraction]:
    """What all releases together may cost; PlanError where it is not an epsilon and a delta."""
    if not isinstance(budget, Mapping) or budget.keys() != {"epsilon", "delta"}:
        raise PlanError(f"budget must have the keys epsilon and delta, and is {budget!r}.")
    return {
        "epsilon": bounded(budget["epsilon"], "the budget's epsilon", 0),
        "delta": bounded(budget["delta"], "the budget's delta", 0, 1),
    }


def _shown(bound: Bound) -> str:
    """A delta with seven digits; or from what on it lies, where that is all that is known."""
    return _text(bound.delta) if bound.whole else f"at least {_text(bound.delta)}"


def _text(number: Fraction) -> str:
    """A number with seven digits, however small it is."""
    return f"{Context(prec=7).divide(Decimal(number.numerator), Decimal(number.denominator)):g}"


def _above(delta: Fraction, promised: Fraction) -> float | Fraction:
    """A float that is not below ``delta``; the promised delta, where that lies between them."""
    nearest = float(delta)
    above = nearest if Fraction(nearest) >= delta else math.nextafter(nearest, math.inf)
    return promised if delta <= promised < above else above
