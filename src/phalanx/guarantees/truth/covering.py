# SPDX-License-Identifier: Apache-2.0
"""Where the persons of an original table fit among published groups, which are looked at one form
after the other: a whole release is one, and of a release in parts each part.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, different, firsts, places_in, row_numbers
from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.guarantees.slicing.posterior import matches
from phalanx.guarantees.truth.kinds import Kinds, Shown
from phalanx.guarantees.truth.weights import sum_is_off, wrong_means
from phalanx.guarantees.views.boxes import ends_of, unfitting
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import group_by_group
from phalanx.guarantees.views.sliced import View
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced
from phalanx.release.manifest import PublishedAttribute


class Covering(Protocol):
    """What is looked for in one form after the other."""

    def add(self, form: Form) -> None:
        """Look at the next form, which has groups of its own."""
        ...

    @property
    def uncovered(self) -> int:
        """How many persons fit no group of all that were looked at."""
        ...

    def faults(self) -> Iterator[str]:
        """What is published of no person."""
        ...


class OfGeneralized:
    """Pairs of kinds of persons (equal in quasi-identifiers and value) and the groups that they may
    be in.

    ``hides_values``: whether rows may show less than their person's value; ``boxes``: what the
    manifest says of their ends, None where it is not known what that means, and ``widths`` of the
    least width of some.
    """

    def __init__(
        self,
        original: Combinations,
        *,
        hides_values: bool,
        boxes: str | None,
        widths: Mapping[str, Fraction],
    ) -> None:
        self._original, self._microdata = original, original.microdata
        self._hides_values, self._boxes, self._widths = hides_values, boxes, widths
        self._kinds: Kinds | None = None
        self._by_value = False
        self._hosts = np.zeros(0, dtype=np.uint8)
        """In how many groups each kind may be, 2 for more, shape (u,)."""
        self._host = np.zeros(0, dtype=np.int64)
        """The number of one of them, shape (u,); groups count on from form to form."""
        self._needed: list[Ints] = []
        """How many persons each group is of, by form."""
        self._short = self._counterfeits = self._loose = 0
        self._registered = False
        self._shown: list[pl.DataFrame] = []
        """(value, rows): how often each value stands in all groups, by form."""
        self._last: tuple[Generalized, Groups] | None = None

    def add(self, form: Form) -> None:
        """Look for all persons among the groups of a form."""
        form = Generalized.expect(form)
        groups, boxes = Groups.of(form), ends_of(self._microdata, form, self._widths)
        kinds = self._of_values(groups, [box.name for box in boxes])
        of_anybody = np.full(len(groups), not self._by_value)
        if self._by_value and self._hides_values:  # a row without a value may be anybody's
            missing = groups.values.is_null().to_numpy()  # type: ignore[union-attr]
            of_anybody[groups.cell_group[missing[groups.cell_value]]] = True
        low, high = (
            np.column_stack([np.zeros((len(groups), 0), np.int64), *ends])
            for ends in ([b.low for b in boxes], [b.high for b in boxes])
        )
        shown = Shown(low, high, groups.cell_group, groups.cell_value, of_anybody)
        kind, at = kinds.hosts(shown)
        before = sum(len(each) for each in self._needed)
        needed = groups.sizes - groups.counterfeits
        self._needed.append(needed)
        self._counterfeits += form.counterfeit_rows
        self._host[kind] = before + at
        many = np.minimum(np.bincount(kind, minlength=len(self._hosts)), 2)
        self._hosts = np.minimum(self._hosts + many, 2).astype(np.uint8)
        fitting = (
            _fitting(groups, kinds, kind, at, hides_values=self._hides_values)
            if self._by_value
            else np.bincount(at, weights=kinds.persons[kind], minlength=len(groups))
        )
        self._short += int(np.maximum(0, needed - fitting.astype(np.int64)).sum())
        if self._by_value:
            self._shown.append(pl.DataFrame({"value": groups.values, "rows": groups.totals}))
        self._registered |= bool(groups.registered.any())
        if self._boxes is not None and not self._registered:
            persons = group_by_group(kinds.example[kind], at)
            self._loose += unfitting(self._microdata, boxes, *persons, perhaps=True)[1]
        self._last = form, groups

    @property
    def uncovered(self) -> int:
        """How many persons fit no group."""
        return 0 if self._kinds is None else int(self._kinds.persons[self._hosts == 0].sum())

    def faults(self) -> Iterator[str]:
        """Rows, values, ends and weights of no person."""
        kinds, needed = self._kinds, np.concatenate(self._needed)
        if kinds is None:
            return
        if self._short:
            yield (
                f"{self._short} row(s) fit no person in the original table, and are not counted as"
                " counterfeits"
            )
        yield from self._beyond(kinds)
        alone = self._hosts == 1
        whole = int(needed.sum()) == self._original.people  # no person is suppressed
        if whole:
            must = np.bincount(
                self._host[alone], weights=kinds.persons[alone], minlength=len(needed)
            ).astype(np.int64)
            if crowded := int(np.maximum(0, must - needed).sum()):
                yield f"{crowded} person(s) fit one group alone, which has no row for them"
        if self._loose and not self._registered:
            yield (
                f"{self._loose} group(s) have an interval with an end that is no person's value, and"
                f" the manifest says that boxes are {self._boxes}"
            )
        if whole:
            yield from self._weight_faults(kinds, needed)

    def _of_values(self, groups: Groups, quasi: Sequence[str]) -> Kinds:
        """The kinds, with their values as places among those of a form."""
        columns = self._microdata.columns
        if self._kinds is None:
            self._by_value = groups.values is not None and not (
                self._hides_values and groups.of_sets
            )
            own = (
                self._microdata.sensitive.codes.astype(np.int64)
                if self._by_value
                else np.zeros(self._microdata.rows, np.int64)
            )
            codes = [columns[name].codes for name in quasi]
            self._kinds = Kinds.of(codes, own, self._original.persons)
            self._hosts = np.zeros(len(self._kinds.persons), dtype=np.uint8)
            self._host = np.zeros(len(self._kinds.persons), dtype=np.int64)
        if not self._by_value:
            return self._kinds
        places = places_of_values(groups.values, self._microdata)
        return replace(self._kinds, value=places[self._kinds.value])

    def _beyond(self, kinds: Kinds) -> Iterator[str]:
        """Values that stand more often in all groups together than the original table has them, and
        not as counterfeits: of each group by itself they may be anybody's in its box.
        """
        if not self._shown:
            return
        shown = (
            pl.concat(self._shown, how="vertical_relaxed")
            .group_by("value", maintain_order=True)
            .agg(pl.col("rows").sum())
        )
        value = places_of_values(shown["value"], self._microdata)[kinds.value]
        persons = np.bincount(value, weights=kinds.persons, minlength=shown.height)
        more = np.maximum(0, shown["rows"].to_numpy() - persons[: shown.height].astype(np.int64))
        if self._hides_values:
            more[shown["value"].is_null().to_numpy()] = 0  # which may be anybody's
        beyond = int(more.sum()) - self._counterfeits
        if beyond > 0:
            form, _ = self._last  # type: ignore[misc]
            yield (
                f"{beyond} published value(s) of {form.sensitive!r} are of no person in the"
                " original table"
            )

    def _weight_faults(self, kinds: Kinds, needed: Ints) -> Iterator[str]:
        """Groups whose weight is not the mean of their rows', as far as it shows who these are:
        where as many persons fit no other group as the group has rows. And a sum that is not the
        table's.
        """
        form, groups = self._last  # type: ignore[misc]
        name = [a.name for a in form.attribute("weight")]
        if not name:
            return
        of_row = np.where(self._hosts == 1, self._host, -1)[kinds.of_row]
        settled = np.bincount(of_row[of_row >= 0], minlength=len(needed)) == needed
        rows = np.flatnonzero((of_row >= 0) & settled[of_row])
        if wrong := wrong_means(form, self._microdata, rows, of_row[rows]):
            yield f"{wrong} group(s) show another weight {name[0]!r} than the mean of their rows'"
        elif sum_is_off(form, groups, self._microdata):
            yield f"the weights {name[0]!r} do not add up to those of the original table"


class OfBucketized:
    """Whether there is a bucket with each person's quasi-identifiers and their value."""

    def __init__(self, original: Combinations, form: Bucketized) -> None:
        self._quasi, self._secret = (
            Exact(original, form.attribute(role), table)
            for role, table in (("quasi", form.table), ("sensitive", form.values))
        )
        own = self._quasi.of_row * len(self._secret) + self._secret.of_row
        self._keys, of_row = different(own)
        self._persons = np.bincount(of_row, weights=original.persons).astype(np.int64)
        self._covered: Bools = np.zeros(len(self._keys), dtype=bool)

    def add(self, form: Form) -> None:
        """Look for all persons among the buckets of a form."""
        form = Bucketized.expect(form)
        sides = [
            pl.DataFrame({BUCKET: table[BUCKET], name: exact.add(table)}).unique()
            for name, exact, table in (
                ("quasi", self._quasi, form.table),
                ("value", self._secret, form.values),
            )
        ]
        shown = (
            sides[0].join(sides[1], on=BUCKET).filter(pl.col("quasi") >= 0, pl.col("value") >= 0)
        )
        keys = shown["quasi"].to_numpy() * len(self._secret) + shown["value"].to_numpy()
        places = places_in(keys, self._keys)
        self._covered[places[places >= 0]] = True

    @property
    def uncovered(self) -> int:
        """How many persons are in no bucket with what they have."""
        return int(self._persons[~self._covered].sum())

    def faults(self) -> Iterator[str]:
        """What is published more often than the original table has it."""
        for side in (self._quasi, self._secret):
            yield from side.faults()


class OfSliced:
    """Whether each person matches a bucket that has their value beside."""

    def __init__(self, original: Combinations, form: Sliced) -> None:
        exact = {a.name: a for a in form.attributes if len(a.columns) == 1}
        self._original = original
        self._covered: Bools = np.zeros(original.microdata.rows, dtype=bool)
        self._exact = [
            Exact(original, [exact[name] for name in column if name in exact], part)
            for column, part in zip(form.columns, form.parts, strict=True)
        ]

    def add(self, form: Form) -> None:
        """Look for all persons among the buckets of a form."""
        form = Sliced.expect(form)
        for side, part in zip(self._exact, form.parts, strict=True):
            side.add(part)
        rows = np.flatnonzero(~self._covered)
        view, microdata = View.of(form), self._original.microdata
        tuples = view.of_people(microdata, rows)
        there = (tuples >= 0).all(axis=1)
        rows, tuples = rows[there], tuples[there]
        if view.sensitive is None:
            for some in matches(view, tuples):
                self._covered[rows[some.tuple]] = True
            return
        own = places_of_values(view.sensitive.values, microdata)[microdata.sensitive.codes[rows]]
        columns = np.column_stack([tuples, own])
        of_row = row_numbers(columns.T, len(columns))
        kinds = columns[firsts(of_row)]
        q, v = len(view.sensitive.values) + 1, len(view.sides[-1].values)  # type: ignore[arg-type]
        group = view.sensitive.cell_group
        cells = np.unique(
            (view.cell_bucket[group] * v + view.cell_value[group]) * q + view.sensitive.cell_value
        )
        covered = np.zeros(len(kinds), dtype=bool)
        for some in matches(view, kinds[:, :-1]):
            wanted = (some.bucket * v + kinds[some.tuple, -2]) * q + kinds[some.tuple, -1]
            covered[some.tuple[places_in(wanted, cells) >= 0]] = True
        self._covered[rows] = covered[of_row]

    @property
    def uncovered(self) -> int:
        """How many persons match no bucket with their value."""
        return int(self._original.persons[~self._covered].sum())

    def faults(self) -> Iterator[str]:
        """What is published more often than the original table has it."""
        for side in self._exact:
            yield from side.faults()


class Exact:
    """How often combinations of exact values are published, beside how often the original table has
    them; ``like``: a table in which they are published, in whose types some values of the original
    may be the same.
    """

    def __init__(
        self, original: Combinations, attributes: Sequence[PublishedAttribute], like: pl.DataFrame
    ) -> None:
        self._names = [a.columns[0] for a in attributes]
        columns = [original.microdata.columns[a.name] for a in attributes]
        self._domains = [column.domain.values for column in columns]
        self._steps: list[Ints] = []
        """What is numbered, one column after the other: those of the number before and the code."""
        self.of_row = np.zeros(original.microdata.rows, dtype=np.int64)
        """The number of each combination of the original, shape (u,)."""
        for name, domain, column in zip(self._names, self._domains, columns, strict=True):
            values = _together(domain, like[name].clear())
            alike = places_of(values, values)
            keys, self.of_row = different(self.of_row * len(domain) + alike[column.codes])
            self._steps.append(keys)
        self._left = np.bincount(self.of_row, weights=original.persons).astype(np.int64)
        """How often each may be published once more."""
        self._strange = 0
        """How often others are published."""

    def __len__(self) -> int:
        return len(self._left)

    def add(self, published: pl.DataFrame) -> Ints:
        """Take off what a form publishes, which has a count or is so many rows; the number of each
        row's combination, -1 for one that the original has not, shape (n,).
        """
        number = np.zeros(published.height, dtype=np.int64)
        for name, domain, keys in zip(self._names, self._domains, self._steps, strict=True):
            code = places_of(published[name], domain)
            there = (code >= 0) & (number >= 0)
            number = np.where(there, places_in(number * len(domain) + code, keys), -1)
        times = (
            published[COUNT].cast(pl.Int64).to_numpy()
            if COUNT in published.columns
            else np.ones(published.height, np.int64)
        )
        there = number >= 0
        np.subtract.at(self._left, number[there], times[there])
        self._strange += int(times[~there].sum())
        return number

    def faults(self) -> Iterator[str]:
        """Combinations that are published more often."""
        if self._names and (more := self._strange - int(np.minimum(self._left, 0).sum())):
            yield (
                f"{more} published value(s) of {', '.join(map(repr, self._names))} are of no person"
                " in the original table"
            )


def _fitting(groups: Groups, kinds: Kinds, kind: Ints, at: Ints, *, hides_values: bool) -> Ints:
    """How many rows of each group fit persons: as many of each value as there are persons with it,
    shape (g,).
    """
    group, value = groups.cell_group, groups.cell_value
    q, shown = len(groups.values) + 1, groups.cell_count  # type: ignore[arg-type]
    cells = group * q + value
    of_pair = places_in(at * q + kinds.value[kind], cells)
    fitting = np.bincount(
        of_pair[of_pair >= 0],
        weights=kinds.persons[kind[of_pair >= 0]],
        minlength=len(cells),
    ).astype(np.int64)
    of_anybody = groups.values.is_null().to_numpy()  # type: ignore[union-attr]
    fitting = np.where(of_anybody[value] & hides_values, shown, np.minimum(shown, fitting))
    return np.bincount(group, weights=fitting, minlength=len(groups)).astype(np.int64)


def places_of_values(values: pl.Series | None, microdata: Microdata) -> Ints:
    """Where each value of the original's domain stands among ``values``; their number for one that
    is not there.
    """
    assert values is not None  # noqa: S101  # for the types: asked where there are values
    places = places_of(microdata.sensitive.domain.values, values)
    return np.where(places < 0, len(values), places)


def places_of(wanted: pl.Series, among: pl.Series) -> Ints:
    """Where each value stands ``among`` others, in a type that holds both; of some that are the same
    in it, as whole numbers may be beside fractions, the first place; -1 for a value that is not there.
    """
    both = _together(among, wanted)
    numbered = pl.DataFrame({"value": both[: len(among)], "place": np.arange(len(among))})
    places = (
        both[len(among) :]
        .to_frame()
        .join(
            numbered.unique("value", keep="first"),
            on="value",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["place"]
    )
    return places.fill_null(-1).to_numpy().astype(np.int64)


def _together(one: pl.Series, other: pl.Series) -> pl.Series:
    """The values of both, in a type that holds them."""
    return pl.concat([one.to_frame("value"), other.to_frame("value")], how="vertical_relaxed")[
        "value"
    ]
