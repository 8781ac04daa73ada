# SPDX-License-Identifier: Apache-2.0
"""Safe sampling: differential privacy by hiding in a sampled crowd (Li, Qardaji, Su, "Sampling +
safe k-anonymization").
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
import polars as pl

from phalanx.accounting import Accounting, Promise, solve
from phalanx.accounting.directed import float_kept
from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, PlanError, did_you_mean, require_extra
from phalanx.exact import Number, at_most, bounded, exact, of_python, readable, whole
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.methods.base import Division, Draft, LooksBack, Memory, Offer, Suppressed
from phalanx.methods.safe_sampling.counts import Counts, lowest_cells
from phalanx.methods.safe_sampling.kernels import images as kernel
from phalanx.methods.safe_sampling.offer import OFFER
from phalanx.methods.safe_sampling.schemes import (
    Axes,
    FixedScheme,
    Scheme,
    published_attributes,
)
from phalanx.randomness import Randomness, Stream
from phalanx.release.form import Form
from phalanx.release.forms.recoded import Recoded, cuts, in_order, recode
from phalanx.release.manifest import PublishedAttribute

Choice = Literal["levels", "partition"]

_SPENT: Final = "spent"
"""The table of the memory that says what each release cost, and marks its sample."""
_SAMPLE: Final = "safe sampling: sample"
_AT_LEAST: Final = 2
"""So many values an attribute has at least that is worth publishing, where none are declared."""
_DIGITS: Final = Context(prec=7, rounding=ROUND_CEILING)
"""A delta that was computed is promised to so many digits, rounded up."""


@dataclass(frozen=True, kw_only=True)
class SafeSampling:
    """An adversary who sees all releases can hardly tell whether any one row was in the table: each
    release is (epsilon, delta)-differentially private.

    Every row enters a fresh sample with probability beta, by itself. A sampled row is recoded by a
    scheme that follows no person; rows whose image occurs fewer than k times in the sample are
    dropped whole, and nothing else of the sample leaves: no stars, no counts of what was left out.
    All published attributes are covered, sensitive or not. Of epsilon, delta, k and beta give two
    or more; the rest is solved for, beta as large as the theorem allows. A missing value is a value
    of its own. The promise is about one row: where a person may have several, name the identifier,
    of which each may occur once.

    Releases of a series compose, as each draws its own sample: ``budget`` is what they may cost
    together, by default what one costs. A sample answers once: it is forgotten, and a release from
    randomness that was used before is refused.

    How many rows the table has is not looked at, since that would tell of it. So ``expected_rows``
    is declared, and scheme, k and beta are judged by it before anything is spent: a release that is
    likely to be empty, or nearly so, is refused unless ``allow_empty`` asks for it.

    Source: Li, Qardaji, Su, Theorems 3.9 and 3.11; how we differ: ``tight`` accounting takes the
    exact hockey-stick divergence where the theorem bounds it, and a scheme is chosen from the whole
    table, not from the sample, so that plain composition covers it.

    Raises
    ------
    PlanError
        For parameters that do not determine a promise, contradict each other, or are likely to
        publish nothing.
    SchemaError
        Where columns are kept, or an attribute has no recoding that follows no person.
    MethodError
        Where the budget is spent, or a sample would answer twice.

    Examples
    --------
    >>> SafeSampling(epsilon=2, delta=1e-6, beta="1/2", accounting="theorem").parameters()["k"]
    24
    """

    name: ClassVar[str] = "safe-sampling"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[LooksBack] = "last"
    takes_registry: ClassVar[bool] = False
    takes_not_applicable: ClassVar[bool] = True
    bytes_per_value: ClassVar[int] = 170
    offer: ClassVar[Offer] = OFFER
    holds_if_method_known: ClassVar[bool] = True
    may_suppress: ClassVar[Sequence[str]] = ()

    epsilon: Number | None = None
    """By what factor, e^epsilon, a row may change the odds of any outcome; what the choice of a
    scheme costs is a part of it.
    """
    delta: Number | None = None
    """The probability with which the factor may be exceeded."""
    k: int | None = None
    """How often an image occurs in the sample, at least, to be published."""
    beta: Number | None = None
    """With what probability a row enters the sample."""
    accounting: Accounting = "tight"
    """How delta is computed: ``tight``, exactly; ``theorem``, by the paper's bound, which asks for
    a larger k.
    """
    scheme: Mapping[str, Any] = field(default_factory=dict)
    """Per attribute a level of its hierarchy, or a range ``{ low, high, width }``, for numbers and
    dates; those not named are published as they are.
    """
    epsilon_scheme: Number = 0
    """What the choice of the recodings that ``scheme`` leaves open may cost, a part of epsilon; 0:
    nothing is chosen by the data.
    """
    choose: Choice = "levels"
    """What is chosen under epsilon_scheme: ``levels`` of the attributes, or a ``partition`` of
    their ranges that is finer where rows are many.
    """
    depth: int = 10
    """Of a partition, how often a part may be divided."""
    budget: Mapping[str, Number] = field(default_factory=dict)
    """What all releases of the series may cost together, ``{ epsilon, delta }``."""

    expected_rows: int | None = None
    """How many rows the table has, about, as anyone may know: from what is public, and never
    counted in the table.
    """
    allow_empty: bool = False
    """Publish also where few rows or none can be expected, or where ``expected_rows`` is not
    declared.
    """

    def __post_init__(self) -> None:
        of_python(self)
        if self.expected_rows is not None:
            whole(self.expected_rows, "[method] expected_rows")
        if not isinstance(self.allow_empty, bool):
            raise PlanError(
                f"[method] allow_empty = {self.allow_empty!r} must be true or false; write one of"
                " them."
            )
        for parameter, allowed in (
            ("accounting", get_args(Accounting)),
            ("choose", get_args(Choice)),
        ):
            if (word := getattr(self, parameter)) not in allowed:
                raise PlanError(
                    f"[method] {parameter} = {word!r} is not"
                    f" known{did_you_mean(str(word), allowed) or '; use ' + ' or '.join(allowed) + '.'}"
                )
        paid = bounded(self.epsilon_scheme, "[method] epsilon_scheme", 0)
        if self.choose != "levels" and paid == 0:
            raise PlanError(
                f"[method] choose = {self.choose!r} is paid for by epsilon_scheme, and that is 0;"
                " give it a part of epsilon, or leave choose out."
            )
        whole(self.depth, "[method] depth")
        for parameter in ("scheme", "budget"):
            if not isinstance(getattr(self, parameter), Mapping):
                raise PlanError(
                    f"[method] {parameter} = {getattr(self, parameter)!r} is no table; write"
                    f" [method.{parameter}] and its keys below."
                )
        if paid == 0:
            self._check_widths()
        if self.budget and self.budget.keys() != {"epsilon", "delta"}:
            raise PlanError(
                "[method] budget needs the keys epsilon and delta, and no others; complete it, as"
                " in { epsilon = 4, delta = 1e-5 }."
            )
        object.__setattr__(self, "_promise", self._solved())
        for parameter, value in (
            ("epsilon_scheme", self.promise.epsilon_scheme),
            ("budget", self.budget),
        ):
            if value:
                require_extra(
                    "dp", f"[method] {parameter}"
                )  # already of the first release, which would do without
        if self.budget and not self._within(1):
            raise PlanError(
                f"[method] budget is less than what one release costs (epsilon"
                f" {at_most(self._epsilon)}, delta {at_most(self._delta)}); raise it."
            )

    def _solved(self) -> Promise:
        """The promise with all parameters; of a plan, errors say so."""
        try:
            return solve(
                epsilon=self.epsilon,
                delta=self.delta,
                k=self.k,
                beta=self.beta,
                accounting=self.accounting,
                epsilon_scheme=exact(self.epsilon_scheme, "epsilon_scheme"),
            ).checkable()
        except PlanError as wrong:
            raise PlanError(f"[method] safe-sampling: {wrong}") from None
        except ArithmeticError:
            raise PlanError(
                "[method] safe-sampling: these numbers are beyond what can be computed; give an"
                " epsilon of at most 100."
            ) from None

    def _check_widths(self) -> None:
        for name, recoding in self.scheme.items():
            widths = recoding.get("widths") if isinstance(recoding, Mapping) else None
            several = isinstance(widths, list | tuple) and len(widths) > 1
            if several and recoding.get("level") is None:
                raise PlanError(
                    f"[method] scheme of {name} offers several widths, and nothing chooses among them;"
                    " give it a level or one width, or epsilon_scheme a part of epsilon."
                )

    @property
    def promise(self) -> Promise:
        """All parameters, those that were solved for among them."""
        solved: Promise = self._promise  # type: ignore[attr-defined]
        return solved

    @property
    def guarantees(self) -> list[Guarantee]:
        return [self._guarantee(None)]

    def _guarantee(self, budget: Mapping[str, Number] | None) -> DifferentialPrivacy:
        p = self.promise
        return DifferentialPrivacy(
            epsilon=p.epsilon,
            delta=self._delta_exactly,
            k=p.k,
            beta=p.beta,
            accounting=self.accounting,
            epsilon_scheme=p.epsilon_scheme,
            budget=budget,
        )

    @property
    def _delta_exactly(self) -> Fraction:
        """The promised delta: the plan's, or the computed one, rounded up."""
        return (
            exact(self.delta, "delta")
            if self.delta is not None
            else Fraction(_DIGITS.create_decimal(Decimal(self.promise.delta)))
        )

    @property
    def _epsilon(self) -> float:
        return float_kept(self.promise.epsilon)

    @property
    def _delta(self) -> float:
        return float_kept(self._delta_exactly)

    @property
    def divided_by(self) -> Division | None:
        """By counts in one reading; a partition looks at the rows again and again."""
        chosen = self.promise.epsilon_scheme > 0
        return None if chosen and self.choose == "partition" else "counts"

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        mark = self.admitted(microdata.schema, memory, rng)
        scheme = self._scheme(microdata)
        sample = rng.stream(_SAMPLE).bernoulli(self.promise.beta, microdata.rows)
        form, groups = publish_sample(microdata, sample, scheme, self.promise.k)
        return self._draft(form, groups, mark)

    def publish_counted(
        self,
        read: Callable[[], Iterable[Microdata]],
        memory: Memory,
        rng: Randomness,
        *,
        most: int,
        at_once: int | None = None,
    ) -> tuple[Iterator[Draft], Iterable[tuple[Microdata, Ints]]]:
        """Publish a table that is read some rows at a time: the same release as of all of them.

        Parameters
        ----------
        read : Callable[[], Iterable[Microdata]]
            Reads the table from its beginning, the same rows at a time whenever it is called.
        memory : Memory
            What the releases before remembered.
        rng : Randomness
            The one source of chance.
        most : int
            So many different images, or cells of the lowest levels, may be held.
        at_once : int, optional
            So many published rows are in a draft, or one image alone; all in one if not given.

        Returns
        -------
        tuple[Iterator[Draft], Iterable[tuple[Microdata, Ints]]]
            What is proposed, draft by draft in the order of the release, with groups of no row; and
            for the check all rows once more, some at a time, with the image of each, 0 for one that
            is not published.

        Raises
        ------
        MethodError
            Where the budget is spent, a sample would answer twice, or there are more to hold.
        """
        first = next(iter(read()))
        mark = self.admitted(first.schema, memory, rng)
        scheme = self._scheme_counted(first, read, most)
        counts = Counts(most)
        for microdata, sample in self._sampled(read, rng):
            image, images = scheme.images(microdata, sample)
            counts.add(images, np.bincount(image, minlength=images.height))
        attributes = scheme.attributes(first)
        images, times = _crowds(counts, self.promise.k, attributes)

        def drafts() -> Iterator[Draft]:
            """Whole images, as many as there is room for."""
            for at, end in pairwise(cuts(times, at_once)):
                form, _ = recode(images[at:end], times[at:end], attributes, scheme.parameters())
                yield self._draft(form, np.zeros(0, dtype=np.int64), mark)

        def once_more() -> Iterator[tuple[Microdata, Ints]]:
            """The same sample, drawn again by the same name."""
            numbered = images.with_columns(pl.Series("", np.arange(1, images.height + 1)))
            for microdata, sample in self._sampled(read, rng):
                image, here = scheme.images(microdata, sample)
                number = here.join(
                    numbered, on=here.columns, how="left", nulls_equal=True, maintain_order="left"
                )[""].fill_null(0)
                groups = np.zeros(microdata.rows, dtype=np.int64)
                groups[sample] = number.to_numpy()[image]
                yield microdata, groups

        return drafts(), once_more()

    @property
    def sums(self) -> bool:
        """Whether counts of parts add up: where no scheme is chosen, which takes all of them."""
        return self.promise.epsilon_scheme == 0

    def admitted(self, schema: Schema, memory: Memory, rng: Randomness) -> str:
        """The mark of the next sample, where the budget has room for it and it was never drawn.

        Parameters
        ----------
        schema : Schema
            The role of each column.
        memory : Memory
            What the releases before remembered.
        rng : Randomness
            The one source of chance.

        Returns
        -------
        str
            The mark, which no release had.

        Raises
        ------
        MethodError
            Where the budget is spent, or a sample would answer twice.
        PlanError
            Where hardly anything would be published.
        """
        spent = memory.tables.get(_SPENT)
        self._check_budget(1 if spent is None else spent.height + 1)
        self._check_expected(schema)
        mark = rng.stream("safe sampling: mark").words(4).tobytes().hex()
        if spent is not None and mark in spent["mark"]:
            raise MethodError(
                "this sample was published before in this series, and a sample answers once;"
                " publish without a seed, or with another, so that a fresh one is drawn."
            )
        return mark

    def counted(self, microdata: Microdata, stream: Stream) -> tuple[pl.DataFrame, Ints, Ints]:
        """Draw the sample of some rows, and count its images by the fixed scheme.

        Parameters
        ----------
        microdata : Microdata
            The rows, n of them.
        stream : Stream
            Draws the sample.

        Returns
        -------
        tuple[pl.DataFrame, Ints, Ints]
            The different images, how often each occurs, shape (g,), and that of each row, from 0,
            -1 for one that is not in the sample, shape (n,).

        Raises
        ------
        SchemaError
            Where a column is of another type than its recoding is for.
        """
        self._axes(microdata)
        scheme = FixedScheme.of(self.scheme, microdata.schema)
        sample = stream.bernoulli(self.promise.beta, microdata.rows)
        image, images = scheme.images(microdata, sample)
        of_row = np.full(microdata.rows, -1, dtype=np.int64)
        of_row[sample] = image
        return images, np.bincount(image, minlength=images.height), of_row

    def crowded(
        self, counted: Iterable[tuple[pl.DataFrame, Ints]], schema: Schema, most: int
    ) -> tuple[pl.DataFrame, Ints]:
        """The images of at least k rows of all parts.

        Parameters
        ----------
        counted : Iterable[tuple[pl.DataFrame, Ints]]
            Of each part the images and how often they occur.
        schema : Schema
            The role of each column.
        most : int
            So many different images may be held.

        Returns
        -------
        tuple[pl.DataFrame, Ints]
            In the order of what they say, and how often each occurs, shape (g,).

        Raises
        ------
        MethodError
            Where there are more to hold.
        """
        counts, axes = Counts(most), FixedScheme.of(self.scheme, schema).axes
        for images, times in counted:
            counts.add(images, times)
        return _crowds(counts, self.promise.k, published_attributes(axes, schema))

    def drafted(self, images: pl.DataFrame, times: Ints, schema: Schema, mark: str) -> Draft:
        """The draft of some of these images.

        Parameters
        ----------
        images : pl.DataFrame
            Different ones, in their order, shape (g, columns).
        times : Ints
            How often each is published, shape (g,).
        schema : Schema
            The role of each column.
        mark : str
            Of the sample.

        Returns
        -------
        Draft
            What is proposed, with groups of no row.
        """
        scheme = FixedScheme.of(self.scheme, schema)
        attributes = published_attributes(scheme.axes, schema)
        form, _ = recode(images, times, attributes, scheme.parameters())
        return self._draft(form, np.zeros(0, dtype=np.int64), mark)

    def _sampled(
        self, read: Callable[[], Iterable[Microdata]], rng: Randomness
    ) -> Iterator[tuple[Microdata, Ints]]:
        """Some rows at a time, and which of them are in the sample."""
        stream = rng.stream(_SAMPLE)
        for microdata in read():
            yield microdata, stream.bernoulli(self.promise.beta, microdata.rows)

    def _draft(self, form: Form, groups: Ints, mark: str) -> Draft:
        cost = {
            "mark": [mark],
            "epsilon": [str(self.promise.epsilon)],
            "delta": [str(self._delta_exactly)],
        }
        return Draft(
            form=form,
            groups=groups,
            suppressed=Suppressed(rows=None),
            remember={_SPENT: pl.DataFrame(cost)},
            guarantees=[self._guarantee(self.budget or None)],
        )

    @staticmethod
    def recollect(
        digest: str, guarantees: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, pl.DataFrame]:
        """What a release spent, which its manifest says; its randomness it does not, so that a seed
        that is used again is not noticed.
        """
        (guarantee,) = (g for g in guarantees if g["name"] == DifferentialPrivacy.name)
        return {
            _SPENT: pl.DataFrame(
                {
                    "mark": [f"entered again {digest}"],
                    "epsilon": [str(guarantee["epsilon"])],
                    "delta": [str(guarantee["delta"])],
                }
            )
        }

    def _scheme(self, microdata: Microdata) -> Scheme:
        """The fixed scheme of the plan, or one chosen under epsilon_scheme."""
        axes = self._axes(microdata)
        if axes is None:
            return FixedScheme.of(self.scheme, microdata.schema)
        epsilon, crowd = self.promise.epsilon_scheme, self._crowd
        if self.choose == "levels":
            from phalanx.methods.safe_sampling.private_levels import choose_levels

            return choose_levels(axes, microdata, epsilon, crowd)
        from phalanx.methods.safe_sampling.private_partition import choose_partition

        return choose_partition(axes, microdata, epsilon, crowd, self.depth, self.promise.k)

    def _scheme_counted(
        self, first: Microdata, read: Callable[[], Iterable[Microdata]], most: int
    ) -> Scheme:
        """The same, of a table that is read some rows at a time; a choice sees how often each cell
        of the lowest levels occurs, which is all that it goes by.
        """
        axes = self._axes(first)
        if axes is None:
            return FixedScheme.of(self.scheme, first.schema)
        from phalanx.methods.safe_sampling.private_levels import choose_levels

        cells, times = lowest_cells(axes, first.schema, read(), most)
        return choose_levels(axes, cells, self.promise.epsilon_scheme, self._crowd, times)

    def _axes(self, microdata: Microdata) -> Axes | None:
        """The recodings among which there is a choice; None where nothing is chosen."""
        epsilon = self.promise.epsilon_scheme
        axes = Axes.of(self.scheme, microdata.schema, choose=epsilon > 0)
        axes.check_fits(microdata)
        if epsilon == 0:
            return None
        if all(level is not None for level in axes.levels.values()):
            raise PlanError(
                "[method] epsilon_scheme pays for a choice, and [method.scheme] leaves none;"
                " take the levels out there, or set epsilon_scheme = 0."
            )
        return axes

    @property
    def _crowd(self) -> int:
        """About so many rows of the table must have an image for it to be published: k / beta,
        rounded up.
        """
        return math.ceil(self.promise.k / self.promise.beta)

    def _check_expected(self, schema: Schema) -> None:
        """PlanError where the plan lets no or hardly any row be expected, by what it declares and
        by nothing that the table holds.
        """
        if self.allow_empty:
            return
        if self.expected_rows is None:
            raise PlanError(
                "[method] expected_rows is not declared; give the table's rows as anyone may know"
                " them, or allow_empty = true."
            )
        axes = Axes.of(self.scheme, schema, choose=self.promise.epsilon_scheme > 0)
        levels = [
            (axis, axis.top if (level := axes.levels[axis.name]) is None else level)
            for axis in axes.axes
        ]
        cells = math.prod(axis.declared_cells(level) or _AT_LEAST for axis, level in levels)
        if self.expected_rows < cells * self._crowd:
            raise PlanError(
                f"[method.scheme] makes {cells:,} or more cells of about"
                f" {_rows(self.expected_rows, cells)} row(s), and one is published from about"
                f" {self._crowd:,} on. Recode more coarsely, or say allow_empty = true."
            )

    def _within(self, releases: int) -> bool:
        """Whether so many releases together are within the budget; without one, whether it is one
        release.
        """
        if not self.budget:
            return releases == 1
        epsilon, delta = (
            exact(self.budget["epsilon"], "[method] budget epsilon"),
            exact(self.budget["delta"], "[method] budget delta"),
        )
        if releases * self.promise.epsilon <= epsilon and releases * self._delta_exactly <= delta:
            return True
        cost = self._together(releases, float(delta)) if releases > 1 else math.inf
        if not math.isfinite(cost) or Fraction(repr(cost)) > epsilon:
            return False
        # which the check will say once more by bounds of its own, when the sample has been drawn
        return self._guarantee(self.budget).together(releases)[1] <= delta

    def _together(self, releases: int, delta: float) -> float:
        """The epsilon of so many releases at a delta, by composition; infinite where there is
        none.
        """
        from phalanx.accounting import together  # a library that is slow to import

        return together(self.promise, releases).epsilon_at(delta)

    def _check_budget(self, releases: int) -> None:
        if self._within(releases):
            return
        cost = self.cost(releases)
        allowed = (
            f"epsilon {self.budget['epsilon']} at delta {self.budget['delta']}"
            if self.budget
            else "no more than one release"
        )
        way = "stop here, as a series keeps its budget" if self.budget else "give [method] a budget"
        raise MethodError(
            f"release {releases} and those before it would cost epsilon"
            f" {at_most(cost['epsilon'])} at delta {at_most(cost['delta'])}, and the plan allows"
            f" {allowed}; {way}."
        )

    def cost(self, releases: int) -> dict[str, float]:
        """What so many releases cost together: by plain addition, or less where tight accounting at
        the budget's delta shows less.

        Parameters
        ----------
        releases : int
            How many.

        Returns
        -------
        dict[str, float]
            Epsilon, delta and releases.
        """
        epsilon = float_kept(releases * self.promise.epsilon)
        delta = float_kept(releases * self._delta_exactly)
        if releases > 1 and self.budget:
            at = float(exact(self.budget["delta"], "delta"))
            less = self._together(releases, at)
            if math.isfinite(less) and (less < epsilon or delta > at):
                epsilon, delta = less, at
        return {"epsilon": epsilon, "delta": delta, "releases": releases}

    def parameters(self) -> dict[str, Any]:
        p = self.promise
        shown = {
            "name": self.name,
            "epsilon": readable(p.epsilon),
            "delta": readable(self._delta_exactly),
            "k": p.k,
            "beta": readable(p.beta),
        }
        shown["accounting"] = self.accounting
        if p.epsilon_scheme:
            shown |= {"epsilon_scheme": readable(p.epsilon_scheme), "choose": self.choose}
        return shown


def _crowds(
    counts: Counts, k: int, attributes: Sequence[PublishedAttribute]
) -> tuple[pl.DataFrame, Ints]:
    """The images that occur ``k`` times or more, in the order of what they say, and how often, shape
    (g,).
    """
    images, times = counts.crowds(k)
    order = in_order(images, attributes)
    return images[order], times[order.to_numpy()]


def _rows(rows: int, cells: int) -> str:
    """The rows of an average cell, for a sentence."""
    return f"{rows // cells:,}" if rows >= cells else "less than one"


def publish_sample(
    microdata: Microdata, sample: Ints, scheme: Scheme, k: int
) -> tuple[Recoded, Ints]:
    """The safe k-anonymization of a sample: its rows (s,) recoded, those dropped whose image occurs
    fewer than ``k`` times.

    Returns the form, and the image of every row of the microdata, from 1, 0 for a row that is not
    published, shape (n,), for the check that forgets it.
    """
    image, images = scheme.images(microdata, sample)
    counts, is_published = kernel.crowded(image, np.zeros(images.height, dtype=np.int64), k)
    crowds = np.flatnonzero(counts)
    form, place = recode(
        images[pl.Series(crowds, dtype=pl.UInt32)],
        counts[crowds],
        scheme.attributes(microdata),
        scheme.parameters(),
    )
    number = np.zeros(images.height + 1, dtype=np.int64)
    number[crowds] = place
    groups = np.zeros(microdata.rows, dtype=np.int64)
    groups[sample] = number[is_published]
    return form, groups
