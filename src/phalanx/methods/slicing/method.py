# SPDX-License-Identifier: Apache-2.0
"""Slicing: attributes that go together in columns, tuples in buckets, and each column shuffled by
itself within every bucket (Li, Li, Zhang, Molloy).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from phalanx.arrays import Ints
from phalanx.data.correlation import BINS, phi2
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError
from phalanx.exact import Number, bounded, exact, is_list, of_python, whole
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.slicing.counting import SlicedCounting
from phalanx.guarantees.slicing.guarantee import (
    SlicedCloseness,
    SlicedDistinct,
    SlicedDiversity,
    SlicedRecursive,
)
from phalanx.methods.base import (
    Division,
    Draft,
    LooksBack,
    Memory,
    Offer,
    Suppressed,
    check_word,
    parameters_of,
)
from phalanx.methods.mondrian.method import Mondrian, balanced_partition
from phalanx.methods.mondrian.method import partition as partition_of_rows
from phalanx.methods.not_applicable import grouped_apart, rows_apart
from phalanx.methods.requirement import Requirement
from phalanx.methods.slicing.column_boxes import column_boxes
from phalanx.methods.slicing.columns import Columns, check_partition, partition
from phalanx.methods.slicing.cuts import Local, by_cuts
from phalanx.methods.slicing.dealing import at_random, group, merged
from phalanx.methods.slicing.eligibility import check_eligible, eligible
from phalanx.methods.slicing.offer import OFFER
from phalanx.methods.slicing.tuples import Coded
from phalanx.randomness import Randomness
from phalanx.release.forms.sliced import slice_into

Check = Literal["exact", "local"]
Cuts = Literal["balanced", "strict", "relaxed"]
Diversity = Literal["frequency", "distinct", "recursive"]
Grouping = Literal["mondrian", "membership", "random"]
Distance = Literal["equal", "ordered"]
Policy = Literal["refuse", "suppress"]
_WORDS = {
    "check": get_args(Check),
    "diversity": get_args(Diversity),
    "cuts": get_args(Cuts),
    "grouping": get_args(Grouping),
    "distance": get_args(Distance),
    "not_eligible": get_args(Policy),
}


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """No sensitive value is linked with anybody's other columns with more than 1/l, and attributes
    of one column keep their correlations.

    Publishes, for each row, its bucket and a value of every column, each column shuffled by itself
    within the bucket: what stands in a row together belongs to the bucket, not to a person. The
    attributes of a column stay together as they are, unless ``generalize_columns_k`` makes
    intervals of them. A missing value counts as a value of its own. Where no attribute is
    sensitive, every column is protected alike.

    ``check = "local"`` cuts a bucket only where both halves keep the promise by themselves.
    ``"exact"`` looks at p(t, s) over all buckets that a tuple of the table matches, weighed by
    shares, by rows, and by counting who must be in which bucket (an estimate, which the manifest
    names as a guarantee of its own). With strict cuts of Mondrian every tuple matches its own
    bucket alone, and the two are the same. Where the exact check lets a bucket pass that breaks the
    promise by itself, the files alone may not show that it is kept, since they leave tuples open
    that are not in the table: ``verify`` then needs the original.

    Source: Li, Li, Zhang, Molloy, "Slicing", sections 4 and 5; how we differ: relaxed cuts, a size
    of buckets, attributes of several columns, closeness and recursive diversity of p(t, s), and the
    grouping against membership disclosure, which the paper leaves open.

    Raises
    ------
    PlanError
        For parameters or columns that cannot be.
    SchemaError
        For attributes that this form has no place for.
    NotEligible
        Where the promise cannot be kept by the table as one bucket.

    Examples
    --------
    >>> Slicing(l=5, columns=2).parameters()  # doctest: +NORMALIZE_WHITESPACE
    {'name': 'slicing', 'l': 5, 'diversity': 'frequency', 'columns': 2, 'check': 'exact',
     'cuts': 'strict', 'grouping': 'mondrian'}
    """

    name: ClassVar[str] = "slicing"
    needs_persons: ClassVar[bool] = False
    looks_back: ClassVar[LooksBack] = "digests"
    takes_registry: ClassVar[bool] = False
    takes_not_applicable: ClassVar[bool] = True
    bytes_per_value: ClassVar[int] = 210
    offer: ClassVar[Offer] = OFFER

    l: Number
    """Diversity of p(t, .), for every tuple t; a whole number for ``distinct`` and
    ``recursive``.
    """
    diversity: Diversity = "frequency"
    """What l counts: no value has more than 1/l of p(t, .), l values have some of it, or recursive
    (c, l).
    """
    columns: int | Sequence[Sequence[str]] = 2
    """How many columns, found by correlation; or the columns themselves, in which an attribute may
    stand more than once.
    """
    sensitive_column_size: int | None = None
    """How many attributes stand in the sensitive attribute's column, itself among them (alpha);
    None: as many as the clusters have.
    """
    workload: Sequence[Sequence[str]] = ()
    """Attributes that will be asked about together, a list for each kind of question, which is
    public. They stand in one column where there is room; beside the sensitive attribute stand those
    that are asked for with it most often, whatever goes together with it.
    """
    generalize_columns_k: int | None = None
    """The quasi-identifiers of each column become intervals that at least so many rows share; a
    sensitive value beside them may still be rare. None: values are published as they are.
    """
    check: Check = "exact"
    """Whether a cut is judged over all matching buckets, or by the two halves alone; the manifest
    says ``local`` where ``exact`` would allow no more.
    """
    cuts: Cuts | None = None
    """``strict``: equal values stay together; ``relaxed``: where no other cut is allowed they may
    fall on either side, so that a tuple may match several buckets; both tell of values to who knows the method.
    ``balanced`` does not, where the sensitive attribute stands alone in its column: the default if
    ``sensitive_column_size`` is 1.
    """
    grouping: Grouping = "mondrian"
    """``mondrian`` cuts the table into boxes where l allows it, which tells something to who knows
    the method; ``random`` deals tuples out, and ``membership``, which hides who is in the table,
    deals and cuts by quasi-identifiers: these tell nothing more.
    """
    bucket_size: int | None = None
    """The least number of tuples in a bucket; needed for ``random`` and ``membership``."""
    not_eligible: Policy = "refuse"
    """Where the table as one bucket does not keep l: ``refuse``, or ``suppress`` as few rows as
    make it, those with the most frequent values, drawn by lot.

    No promise covers suppressed rows: where the distribution is known, who is absent has one of
    these values.
    """
    bins: int | Mapping[str, int] = BINS
    """Into how many intervals of equal width numbers and dates are cut for their correlation."""
    c: Number | None = None
    """Recursive diversity: the largest p(t, s) stays below c times the sum of the l-th largest and
    all smaller ones.
    """
    t: Number | None = None
    """Closeness: the greatest distance between p(t, .) and the table's distribution, beside l."""
    distance: Distance = "equal"
    """Between sensitive values: all alike, or by their order."""
    compact: bool = False
    """Publish one table per column, with counts, instead of one of rows."""

    def __post_init__(self) -> None:
        of_python(self)
        for parameter, allowed in _WORDS.items():
            if parameter != "cuts" or self.cuts is not None:
                check_word(parameter, getattr(self, parameter), allowed)
        if not isinstance(self.compact, bool):
            raise PlanError(f"[method] compact is {self.compact!r} and must be true or false.")
        self._check_columns()
        self._check_grouping()
        self._check_diversity()

    def _check_columns(self) -> None:
        for parameter in ("sensitive_column_size", "generalize_columns_k", "bucket_size"):
            if getattr(self, parameter) is not None:
                whole(getattr(self, parameter), f"[method] {parameter}")
        named = not isinstance(self.columns, int) and is_list(
            self.columns, lambda column: is_list(column, lambda name: isinstance(name, str))
        )
        if not named and (
            isinstance(self.columns, bool) or not isinstance(self.columns, int) or self.columns < 1
        ):
            raise PlanError(
                "[method] columns must be a whole number of at least 1, or a list of columns, and"
                f" is {self.columns!r}."
            )
        if not isinstance(self.columns, int) and self.sensitive_column_size is not None:
            raise PlanError(
                "[method] sensitive_column_size is for a number of columns, and here they are"
                " named; leave it out."
            )
        asked = is_list(
            self.workload,
            lambda names: (
                is_list(names, lambda name: isinstance(name, str)) and len(set(names)) > 1
            ),
        )
        if not asked:
            raise PlanError(
                "[method] workload must be a list of lists of two attributes or more, as in"
                f' [["age", "sex"]], and is {self.workload!r}.'
            )
        if self.workload and not isinstance(self.columns, int):
            raise PlanError(
                "[method] workload chooses columns, and here they are named; leave one of them out."
            )
        for bins in self.bins.values() if isinstance(self.bins, Mapping) else [self.bins]:
            whole(bins, "[method] bins")

    def _check_grouping(self) -> None:
        if self.grouping == "mondrian":
            return
        if self.bucket_size is None:
            raise PlanError(f"[method] grouping = {self.grouping!r} needs bucket_size; add it.")
        if self.grouping == "membership" and (self.diversity != "frequency" or self.t is not None):
            raise PlanError(
                "[method] grouping = 'membership' keeps shares at 1/l; leave diversity and t out,"
                " or choose another grouping."
            )
        if self.grouping == "membership" and bounded(self.l, "[method] l", 1).denominator != 1:
            raise PlanError(
                f"[method] l = {self.l} is not a whole number, and grouping = 'membership' deals"
                " whole sets of l values; round it up."
            )
        if self.cuts is not None:
            raise PlanError(
                f"[method] cuts = {self.cuts!r} is for grouping = 'mondrian'; leave one of them"
                " out."
            )

    def _check_diversity(self) -> None:
        if self.not_eligible == "suppress" and (
            self.diversity != "frequency"
            or self.t is not None
            or self.generalize_columns_k is not None
        ):
            raise PlanError(
                "[method] not_eligible = 'suppress' is for l as a share, without t and"
                " generalize_columns_k; leave one of them out."
            )
        bounded(self.l, "[method] l", 1)
        if self.diversity == "recursive" and self.c is not None and exact(self.c, "c") == 0:
            raise PlanError("[method] c = 0 is met by no table; give a number above 0.")
        self.requirement  # noqa: B018 - validates

    @cached_property
    def requirement(self) -> Requirement:
        """What a bucket must keep by itself."""
        return Requirement(
            k=self.bucket_size or 1,
            l=self.l,
            diversity=self.diversity,
            c=self.c,
            t=self.t,
            distance=self.distance,
        )

    @property
    def holds_if_method_known(self) -> bool:
        """Where neither buckets nor what stands beside the sensitive attribute are chosen by its
        values, as cuts and correlations choose, and a workload does not.
        """
        named = not isinstance(self.columns, int) or bool(self.workload)
        named = named and self.generalize_columns_k is None
        return (self.grouping != "mondrian" or self._used_cuts == "balanced") and (
            named or self.sensitive_column_size == 1
        )

    @property
    def may_suppress(self) -> Sequence[str]:
        return ("not-eligible",) if self.not_eligible == "suppress" else ()

    @property
    def guarantees(self) -> list[Guarantee]:
        l = exact(self.l, "l")
        promised: list[Guarantee] = [SlicedDiversity(l=l)]
        if self._leans and self.not_eligible == "refuse":
            promised.append(SlicedCounting(l=l))  # of those who are suppressed this cannot be told
        if self.c is not None:
            promised = [SlicedRecursive(c=exact(self.c, "c"), l=int(l))]
        elif self.diversity == "distinct":
            promised = [SlicedDistinct(l=int(l))]
        if self.t is not None:
            promised.append(SlicedCloseness(t=exact(self.t, "t"), distance=self.distance))
        return promised

    @property
    def _leans(self) -> bool:
        """Whether a bucket may lean on others that its tuples match: not where values are exact and
        cuts strict, since a tuple then matches its own bucket alone.
        """
        several = self.cuts == "relaxed" or self.generalize_columns_k is not None
        return self._used_check == "exact" and several

    @property
    def divided_by(self) -> Division | None:
        """By regions, where a bucket is cut from its own rows and keeps the promise by itself: a
        tuple that matches buckets of several parts has a mixture of what each of these keeps.
        """
        whole = (
            self.grouping != "mondrian"
            or self._leans
            or self.t is not None
            or self.generalize_columns_k is not None
            or self.not_eligible == "suppress"
        )
        return None if whole else "regions"

    def under(self, schema: Schema) -> "Slicing":
        """With the check of each bucket by itself where no attribute is sensitive, whatever the plan
        says: every column is protected then, and no bucket leans on others.

        Parameters
        ----------
        schema : Schema
            The roles of the columns.

        Returns
        -------
        Slicing
            What is used.
        """
        return self if schema.sensitive is not None else replace(self, check="local")

    @property
    def settles(self) -> bool:
        """Whether columns are found by correlation."""
        return isinstance(self.columns, int)

    def settled(self, sample: Microdata) -> "Slicing":
        """The same method with the columns that a sample's correlations suggest.

        Parameters
        ----------
        sample : Microdata
            Rows that chance drew from the table.

        Returns
        -------
        Slicing
            Its columns are named.
        """
        return replace(
            self,
            columns=self.partition(sample),
            sensitive_column_size=None,
            workload=(),
            cuts=self._used_cuts,
            check="local",
        )

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        self._check_schema(microdata)
        with_value, without = rows_apart(microdata)
        columns = self.partition(microdata.take(with_value) if len(without) else microdata)
        k = self.generalize_columns_k
        boxes = {} if k is None else column_boxes(microdata, columns, k)
        eligible_rows = with_value[self._kept(microdata, with_value, columns, rng)]
        shown_rows = np.sort(np.concatenate([eligible_rows, without]))
        shown = microdata if len(shown_rows) == microdata.rows else microdata.take(shown_rows)

        def in_buckets(part: Microdata) -> Ints:
            of_part = {place: box.take(eligible_rows) for place, box in boxes.items()}
            coded = Coded.of(part, columns, of_part)
            if self.bucket_size is not None and self.bucket_size > coded.rows:
                raise MethodError(
                    f"the table has {coded.rows} row(s) and bucket_size = {self.bucket_size}; lower"
                    " it, or publish when there are more rows."
                )
            if self.diversity == "frequency":
                named = not isinstance(self.columns, int)
                check_eligible(
                    part,
                    coded,
                    columns,
                    self.l,
                    columns_are_named=named,
                    may_suppress=self.t is None and self.generalize_columns_k is None,
                    may_generalize=self.not_eligible == "refuse",
                    whole_l=self.grouping == "membership",
                )
            return self._buckets(part, coded, columns, rng)

        buckets = grouped_apart(shown, in_buckets, self._others, least=self.bucket_size or 1)
        form, published = slice_into(
            shown, columns, buckets, rng.stream("slices"), boxes=boxes, compact=self.compact
        )
        groups = np.zeros(microdata.rows, dtype=np.int64)
        groups[shown_rows] = published[buckets]
        absent = microdata.rows - len(shown_rows)
        return Draft(
            form=form,
            groups=groups,
            suppressed=Suppressed(rows={"not l-eligible": absent} if absent else {}),
        )

    def partition(self, microdata: Microdata) -> Columns:
        """The columns: those of the plan, or those that correlations suggest (sections 4.1.2 and
        4.1.3), of attributes that are asked about together where the plan says which.

        Parameters
        ----------
        microdata : Microdata
            The table, of n rows.

        Returns
        -------
        Columns
            The names of the attributes of each column; the sensitive one stands in the last.

        Raises
        ------
        PlanError
            Where there are none such.
        """
        schema = microdata.schema
        names = [*schema.quasi, *([schema.sensitive] if schema.sensitive is not None else [])]
        if not isinstance(self.columns, int):
            return check_partition(self.columns, names, schema.sensitive)
        matrix = phi2([microdata.columns[name] for name in names], self.bins)
        return partition(
            names,
            matrix,
            columns=self.columns,
            sensitive=schema.sensitive,
            sensitive_column_size=self.sensitive_column_size,
            workload=self.workload,
        )

    def parameters(self) -> dict[str, Any]:
        named = None if isinstance(self.columns, int) else [list(column) for column in self.columns]
        return parameters_of(
            self,
            columns=self.columns if named is None else named,
            check=self._used_check,
            cuts=self._used_cuts if self.grouping == "mondrian" else None,
            not_eligible=None if self.not_eligible == "refuse" else self.not_eligible,
            bins=None if self.bins == BINS else self.bins,
            distance=None if self.t is None else self.distance,
            compact=self.compact or None,
            workload=[list(names) for names in self.workload] or None,
        )

    def _check_schema(self, microdata: Microdata) -> None:
        schema = microdata.schema
        if schema.keep:
            raise SchemaError(
                f"column {schema.keep[0]!r} is kept, and slicing puts every published attribute"
                " into a column; make it quasi, or drop it."
            )
        if schema.sensitive is not None:
            microdata.check_single_valued("slicing")
        elif self.diversity != "frequency" or self.t is not None or self.grouping == "membership":
            raise PlanError(
                "[method] diversity, t and grouping = 'membership' are about a sensitive attribute,"
                " and none is declared; name it, or leave them out."
            )

    def _others(self, microdata: Microdata) -> Ints:
        """The bucket of every row whose value is not applicable, as large as the others' must be at
        least.
        """
        size = max(self.bucket_size or 1, math.ceil(exact(self.l, "l")))
        return partition_of_rows(Mondrian(k=min(size, microdata.rows)), microdata.quasi, None)

    def _kept(self, microdata: Microdata, rows: Ints, columns: Columns, rng: Randomness) -> Ints:
        """Which of these rows to publish: all, or as many as leave them l-eligible, drawn by
        lot.
        """
        if self.not_eligible == "refuse":
            return np.arange(len(rows))
        coded = Coded.of(microdata.take(rows), columns, {})
        if coded.sensitive is None:
            raise PlanError(
                "[method] not_eligible = 'suppress' is about a sensitive attribute, and none is"
                " declared; name it, or leave it out."
            )
        order = rng.stream("suppress").permutation(len(rows))
        kept = np.flatnonzero(
            eligible(coded.values[-1], coded.sensitive, exact(self.l, "l"), order)
        )
        if not len(kept):
            raise NotEligible(
                f"no row could be published with l = {self.l}; lower l, or leave fewer attributes"
                " in the sensitive column."
            )
        return kept

    @property
    def _used_cuts(self) -> Cuts:
        return self.cuts or ("balanced" if self.sensitive_column_size == 1 else "strict")

    @property
    def _used_check(self) -> Check:
        """``exact`` where it may allow more than ``local``: for l as a share, by cuts that look at
        it, where columns share no attribute. Else buckets are asked to keep it by themselves, which
        is enough.
        """
        named = () if isinstance(self.columns, int) else self.columns
        shared = sum(map(len, named)) > len(set().union(*named))
        looking = self.grouping == "mondrian" and self._used_cuts != "balanced"
        by_share = self.diversity == "frequency" and self.t is None
        return "exact" if self.check == "exact" and looking and by_share and not shared else "local"

    def _buckets(
        self, microdata: Microdata, coded: Coded, columns: Columns, rng: Randomness
    ) -> Ints:
        """The bucket of every row, 0 .. g-1, shape (n,); NotEligible where the table as one bucket
        does not keep the promise.
        """
        local, stream = Local.of(self.requirement, microdata, coded, columns), rng.stream("deal")
        if not local.keeps(np.arange(coded.rows)):
            bounds = {"l": self.l, "c": self.c, "t": self.t}
            asked = ", ".join(f"{name} = {n}" for name, n in bounds.items() if n is not None)
            raise NotEligible(
                f"the table as one bucket does not keep {asked}; ask for less, or leave fewer"
                " attributes in the sensitive column."
            )
        if self._used_cuts == "balanced" and self.grouping == "mondrian":
            secret = microdata.schema.sensitive
            if secret is None or (secret,) not in columns:  # rows could not be exchanged
                raise PlanError(
                    "[method] cuts = 'balanced' asks for a sensitive attribute that stands alone in"
                    " its column; set sensitive_column_size = 1, or name the columns."
                )
            quasi, sensitive = microdata.quasi, microdata.sensitive
            return balanced_partition(self.requirement, quasi, sensitive, stream, of=secret)
        if self.grouping == "mondrian":
            return by_cuts(
                local,
                microdata,
                coded,
                stream if self.cuts == "relaxed" else None,
                over_all_buckets=self._leans and coded.sensitive is not None,
            )
        order = stream.permutation(coded.rows)
        size = self.bucket_size or 1
        if self.grouping == "random":
            return merged(at_random(order, size), local.keeps)
        return group(
            coded,
            np.stack([column.codes for column in microdata.quasi]),
            bucket_size=size,
            l=int(exact(self.l, "l")),
            order=order,
        )
