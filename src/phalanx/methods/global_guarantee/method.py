# SPDX-License-Identifier: Apache-2.0
"""The global guarantee: no person is ever linked to a value that comes and goes (Wong, Fu, Liu,
Wang, Xu, ICDE 2010).

How we differ from the paper. Groups are cut so that they do not point at holders
(methods/mondrian/balanced.py), and a person whose budget is spent is published without a value,
holder or not; the paper leaves the grouping open, and ``bottom-up`` grows groups around holders. A
third strategy, ``adaptive``, spends what is left of each person's budget by how likely further
exposures are (methods/global_guarantee/ratios.py). Permanent values, which the paper leaves open,
are published in cohorts (``cohorts``).
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from math import ceil
from typing import Any, ClassVar, Literal

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, did_you_mean
from phalanx.exact import Number, bounded, exact, is_list, of_python, plain
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee as Promise
from phalanx.methods.base import (
    Division,
    Draft,
    LooksBack,
    Memory,
    Offer,
    check_min_width,
    check_widths,
)
from phalanx.methods.global_guarantee.draft import draft
from phalanx.methods.global_guarantee.offer import OFFER
from phalanx.methods.global_guarantee.phases import decide, expose, recall
from phalanx.methods.global_guarantee.protected import check_named
from phalanx.methods.global_guarantee.ratios import (
    Adaptive,
    ConstantRatio,
    Geometric,
    Strategy,
    again_of_horizon,
    again_of_series,
)
from phalanx.methods.global_guarantee.state import Rules
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.methods.not_applicable import is_not_applicable, published_apart
from phalanx.randomness import Randomness
from phalanx.release.evidence.exposures import LEFT, Exposures

StrategyName = Literal["adaptive", "constant-ratio", "geometric"]
Grouping = Literal["balanced", "bottom-up"]


def _is_value(value: object) -> bool:
    return isinstance(value, str | int | float | date | Decimal)


def _written(values: Sequence[Any]) -> list[Any]:
    """Values as a manifest has them: a date as its text, a decimal as the number of a column."""
    return [
        value.isoformat()
        if isinstance(value, date)
        else float(value)
        if isinstance(value, Decimal)
        else value
        for value in values
    ]


@dataclass(frozen=True, kw_only=True)
class GlobalGuarantee:
    """For each person and every protected value, the probability of having ever been linked to it,
    in any release so far, stays at most 1/l.

    Assumes that the adversary knows who is in which group of which release, and that values come
    and go; ``permanent`` names those that do not. A value for which no group is large enough is
    suppressed: the row is published without it.

    Raises
    ------
    PlanError
        For parameters that mean nothing.

    Examples
    --------
    >>> GlobalGuarantee(l=2, strategy="constant-ratio", horizon=20).parameters()["horizon"]
    20
    """

    name: ClassVar[str] = "global-guarantee"
    needs_persons: ClassVar[bool] = True
    takes_registry: ClassVar[bool] = True
    takes_not_applicable: ClassVar[bool] = True
    bytes_per_value: ClassVar[int] = 600  # in later releases, for what each person was exposed to
    stays: ClassVar[Sequence[str]] = ("protect",)
    offer: ClassVar[Offer] = OFFER

    l: Number
    """No person is ever linked to a protected value with a probability above 1/l; above 1."""
    strategy: StrategyName = "geometric"
    """How the budget is spent: by expected exposures, in equal steps for ``horizon`` exposures, or
    ``alpha`` times what is least needed.
    """
    horizon: int | Sequence[float] | None = None
    """At most so many exposures of a person to a value (the paper's k'), or the probabilities of at
    least 1, 2, … of them; adaptive estimates them.
    """
    alpha: float | None = None
    """Geometric: how much larger than the least ratio; above 1."""
    protect: str | Sequence[Any] | Mapping[str, float] = "all"
    """``all`` values, those listed, or ``{least_frequent = 0.1}`` of the values by how often they
    stand in the first release (and later newcomers).
    """
    permanent: Sequence[Any] = ()
    """Protected values that stay with a person once they are true."""
    expected_later: Sequence[Any] = ()
    """Values that ``protect`` or ``permanent`` name and that the first release need not have; any
    other that no row has is taken for mistyped.
    """
    grouping: Grouping = "balanced"
    """Cut the table evenly, which tells nothing of who holds what; or grow groups around holders,
    which are narrower and open to who knows the method.
    """
    k: int | None = None
    """The least size of any group; l, rounded up, where none is given."""
    min_width: Mapping[str, float] = field(default_factory=dict)
    """Per quasi-identifier the least width of a published interval, in its own unit."""

    def __post_init__(self) -> None:
        of_python(self)
        if bounded(self.l, "[method] l", 1) == 1:
            raise PlanError("[method] l = 1 promises nothing; give a number above 1.")
        for key, allowed in (
            ("strategy", ("adaptive", "constant-ratio", "geometric")),
            ("grouping", ("balanced", "bottom-up")),
        ):
            word = getattr(self, key)
            if word not in allowed:
                raise PlanError(
                    f"[method] {key} = {word!r} is not"
                    f" known{did_you_mean(str(word), allowed) or '; use one of ' + ', '.join(allowed) + '.'}"
                )
        self._check_horizon()
        if (self.alpha is not None) and self.strategy != "geometric":
            raise PlanError(
                "[method] alpha belongs to strategy = 'geometric', and the strategy is"
                f" {self.strategy!r}; remove it."
            )
        if self.alpha is not None and (
            isinstance(self.alpha, bool)
            or not isinstance(self.alpha, int | float)
            or not 1 < self.alpha <= sys.float_info.max
        ):
            raise PlanError(
                f"[method] alpha = {self.alpha!r} must be a number above 1, for at 1 the first"
                " exposure would be the last (Theorem 2)."
            )
        if self.k is not None and (
            isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1
        ):
            raise PlanError(f"[method] k = {self.k!r} must be a whole number of at least 1.")
        self._check_protect()
        check_widths(self.min_width)

    def _check_horizon(self) -> None:
        h = self.horizon
        if h is None:
            return
        if self.strategy == "geometric":
            raise PlanError(
                "[method] horizon is of no use to strategy = 'geometric', which needs none;"
                " remove it."
            )
        if isinstance(h, int) and not isinstance(h, bool):
            if h < 1:
                raise PlanError(f"[method] horizon = {h} must be at least 1 exposure.")
            return
        if (
            self.strategy == "constant-ratio"
            or isinstance(h, str | bool)
            or not isinstance(h, Sequence)
        ):
            also = ", or probabilities such as [1, 0.5, 0.2]" if self.strategy == "adaptive" else ""
            raise PlanError(f"[method] horizon = {h!r} must be a whole number of exposures{also}.")
        numbers = [x for x in h if isinstance(x, int | float) and not isinstance(x, bool)]
        if (
            len(numbers) < len(h)
            or not h
            or not all(1 >= a >= b >= 0 for a, b in zip([1, *numbers], numbers, strict=False))
        ):
            raise PlanError(
                "[method] horizon must be probabilities that do not grow, such as [1, 0.5, 0.2]."
            )

    def _check_protect(self) -> None:
        p = self.protect
        if isinstance(p, Mapping):
            share = p.get("least_frequent")
            if (
                set(p) != {"least_frequent"}
                or isinstance(share, bool)
                or not isinstance(share, int | float)
                or not 0 < share <= 1
            ):
                raise PlanError(
                    '[method] protect must be "all", a list of values, or { least_frequent = 0.1 }'
                    " with a share above 0 and at most 1."
                )
        elif isinstance(p, str):
            if p != "all":
                raise PlanError(
                    f'[method] protect = {p!r} must be "all", a list of values, or {{'
                    " least_frequent = 0.1 }."
                )
        elif not is_list(p, _is_value):
            raise PlanError(
                f'[method] protect = {p!r} must be "all", a list of values, or {{ least_frequent ='
                " 0.1 }."
            )
        elif not p:
            raise PlanError(
                "[method] protect lists no value, so nothing would be protected; name values, or"
                ' say "all".'
            )
        for key in ("permanent", "expected_later"):
            if not is_list(getattr(self, key), _is_value):
                raise PlanError(f"[method] {key} must be a list of values.")
        named = [value for values in self._named.values() for value in values]
        if stray := [value for value in self.expected_later if value not in named]:
            raise PlanError(
                f"[method] expected_later lists {stray[0]!r}, which neither protect nor permanent"
                " names; name it there, or take it out."
            )

    @property
    def _named(self) -> dict[str, Sequence[Any]]:
        """The values that the plan names, by the key that names them."""
        return {
            "protect": () if isinstance(self.protect, str | Mapping) else self.protect,
            "permanent": self.permanent,
        }

    @property
    def looks_back(self) -> LooksBack:
        """Cohorts are checked over the whole series; everything else builds on what the last
        release carries.
        """
        return "all" if self.permanent else "last"

    @property
    def divided_by(self) -> Division | None:
        """By regions; not with what is asked of all rows: which values are rare, whether the plan's
        are there, and cohorts.
        """
        unasked = [v for v in self._named["protect"] if v not in self.expected_later]
        whole = isinstance(self.protect, Mapping) or self.permanent or unasked
        return None if whole else "regions"

    def known(self, memory: Memory) -> pl.Series:
        """All persons who were ever linked to a value.

        Parameters
        ----------
        memory : Memory
            What a series remembers, or a part of one.

        Returns
        -------
        pl.Series
            The keyed hash of each, of those who left as often as they did.
        """
        here = Exposures.of_tables(memory.state).persons.alias("person")
        return pl.concat([here, memory.tables[LEFT]["person"]]) if LEFT in memory.tables else here

    @property
    def holds_if_method_known(self) -> bool:
        """Balanced groups follow from quasi-identifiers and earlier releases. What cohorts do not show
        is told to anyone who knows how often a permanent value stands in the table. A release with
        a registry does not say so: who is not in the table has no row, and hides no person whose value
        is not shown.
        """
        return self.grouping == "balanced" and not self.permanent

    @property
    def may_suppress(self) -> Sequence[str]:
        """Whose budget is spent is published without a value, and suppressed where too few of them
        are left for a group and no other can take them.
        """
        return ("spent-budget", "no-group") if self.grouping == "balanced" else ("no-group",)

    @property
    def guarantees(self) -> list[Guarantee]:
        return [self.promise(())]

    def promise(self, unprotected: Sequence[Any]) -> Promise:
        """What a release promises, once it is known which values are too frequent to be protected.

        Parameters
        ----------
        unprotected : Sequence[Any]
            These values.

        Returns
        -------
        Promise
            The guarantee.
        """
        listed = "all" if isinstance(self.protect, str | Mapping) else _written(self.protect)
        return Promise(
            l=exact(self.l, "l"),
            protected=listed,
            unprotected=_written(unprotected),
            permanent=_written(self.permanent),
        )

    def parameters(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "name": self.name,
            "l": plain(exact(self.l, "l")),
            "strategy": self.strategy,
        }
        if self.horizon is not None or self.strategy == "constant-ratio":
            shown["horizon"] = (
                self._horizon
                if self.strategy == "constant-ratio"
                else self.horizon
                if isinstance(self.horizon, int)
                else list(self.horizon or ())
            )
        if self.strategy == "geometric":
            shown["alpha"] = self._alpha
        shown["protect"] = (
            self.protect
            if isinstance(self.protect, str)
            else dict(self.protect)
            if isinstance(self.protect, Mapping)
            else _written(self.protect)
        )
        if self.permanent:
            shown["permanent"] = _written(self.permanent)
        shown |= {"grouping": self.grouping, "k": self.least}
        return shown | ({"min_width": dict(self.min_width)} if self.min_width else {})

    @property
    def least(self) -> int:
        """The least size of any group."""
        return self.k if self.k is not None else ceil(exact(self.l, "l"))

    @property
    def _horizon(self) -> int:
        return self.horizon if isinstance(self.horizon, int) else 20  # the paper's default

    @property
    def _alpha(self) -> float:
        return 2.0 if self.alpha is None else float(self.alpha)  # the paper's default

    @property
    def rules(self) -> Rules:
        """What the phases need of these parameters."""
        return Rules(
            bound=exact(self.l, "l"),
            least=self.least,
            balanced=self.grouping == "balanced",
            protect=self.protect,
            permanent=self.permanent,
            min_width=self.min_width,
            spending=self.spending,
        )

    def spending(self, exposures: Sequence[int], releases: int) -> Strategy:
        """The strategy; the adaptive one by the plan's horizon, or by the exposures that a series
        shows after so many releases.

        Parameters
        ----------
        exposures : Sequence[int]
            Those that the series shows.
        releases : int
            How many releases there were.

        Returns
        -------
        Strategy
            Which ratio a group must have for a member.
        """
        l = exact(self.l, "l")
        if self.strategy == "constant-ratio":
            return ConstantRatio(l, self._horizon)
        if self.strategy == "geometric":
            return Geometric(l, self._alpha)
        return Adaptive(
            l,
            (
                again_of_series(exposures, releases)
                if self.horizon is None
                else again_of_horizon(self.horizon)
            ),
        )

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        """Recall what each person was exposed to, group under what they demand, count the new
        exposures.

        PlanError where the plan names a value that no row of the first release has, MethodError
        where nothing is left.
        """
        check_min_width(self.min_width, microdata)
        self._check_applicable(microdata.schema)
        return published_apart(
            microdata,
            lambda part: self._publish(part, memory, rng),
            lambda part: partition(Mondrian(k=self.least), part.quasi, None),
            rng.stream("apart"),
            least=self.least,
            min_width=self.min_width,
        )

    def _publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        """The same of rows whose values are applicable."""
        if not memory.releases:  # later, what comes and goes may be gone
            check_named(microdata.sensitive, self._named, self.expected_later)
        table = recall(self.rules, microdata, memory)
        state = decide(table, rng)
        proposed = draft(table, state, expose(table, state), rng.stream("generalize"))
        return replace(proposed, guarantees=[self.promise(table.unprotected.to_list())])

    def _check_applicable(self, schema: Schema) -> None:
        """PlanError where the plan protects a value that is not applicable."""
        for key, values in self._named.items():
            for value in values:
                if is_not_applicable(value, schema):
                    raise PlanError(
                        f"[method] {key} names {value!r}, and the schema lists it as not"
                        " applicable; take it out of one of them."
                    )
