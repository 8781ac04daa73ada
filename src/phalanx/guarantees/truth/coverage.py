# SPDX-License-Identifier: Apache-2.0
"""Whether each person of the original table is published, or counted as suppressed, as far as that
shows without knowing who is in which group.

Published rows that are no counterfeits are of one person each. So the original table has as many
persons more as were suppressed; and persons who fit no group, by their quasi-identifiers and their
value, are among those. What is looked for is necessary, and not enough: who is in which of several
groups only the ledger tells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints, places_in
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.slicing.posterior import matches
from phalanx.guarantees.truth.kinds import Kinds, Shown
from phalanx.guarantees.truth.weights import sum_is_off, wrong_means
from phalanx.guarantees.views.boxes import Ends, ends_of, unfitting
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import group_by_group
from phalanx.guarantees.views.sliced import View
from phalanx.release.folder import Release
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced
from phalanx.release.manifest import PublishedAttribute

NAME: Final = "persons of the original"
_OF_ROWS: Final = frozenset({"changed-value", "no-group", "not-eligible"})
"""The reasons of a manifest for which rows may be missing; a spent budget takes values out of rows
that are published.
"""


def check_mapped(release: Release, microdata: Microdata, published: int) -> Verdict:
    """The same where a mapping says how many rows of the original table were ``published``, of
    which :func:`truth.check` asks more.
    """
    faults = list(suppression_faults(release, microdata.rows - published))
    note = f"{microdata.rows} person(s); {_suppressed(microdata.rows - published)}"
    return Verdict(
        name=NAME, bound=0, worst=len(faults), holds=not faults, note="; ".join(faults) or note
    )


def check(release: Release, microdata: Microdata, *, hides_values: bool) -> Verdict | None:
    """What the original table shows of a sound release without a mapping; None for a form of which
    other checks show it.

    ``hides_values``: whether rows may show less than their person's value. The worst figure is the
    number of persons and rows that fit nowhere.
    """
    form = release.form
    if lacking := [
        a.name
        for a in form.attributes
        if (a.role == "weight" and microdata.weights is None)
        or (a.role in ("quasi", "sensitive") and a.name not in microdata.columns)
    ]:
        return Verdict(
            name=NAME,
            bound=0,
            worst=None,
            holds=False,
            note=f"the original table has no column {lacking[0]!r}",
        )
    real = form.rows - form.counterfeit_rows
    faults = list(suppression_faults(release, microdata.rows - real))
    look = _UNCOVERED.get(form.kind)
    if look is None:
        return None
    uncovered, unlike = look(release, microdata, hides_values=hides_values)
    faults += unlike
    if uncovered > max(0, microdata.rows - real):
        faults.append(
            f"{uncovered} person(s) of the original table fit no group, and"
            f" {max(0, microdata.rows - real)} can be suppressed by the number of rows"
        )
    note = (
        f"{microdata.rows} person(s); {_suppressed(microdata.rows - real)}; not checked: who is in"
        " which group, which the ledger tells"
    )
    return Verdict(
        name=NAME, bound=0, worst=len(faults), holds=not faults, note="; ".join(faults) or note
    )


def _of_generalized(
    release: Release, microdata: Microdata, *, hides_values: bool
) -> tuple[int, list[str]]:
    """How many persons fit no group, and what is published of no person."""
    fits = _Fits.of(release.generalized, microdata, hides_values=hides_values)
    return fits.uncovered, [
        *fits.faults(tight=release.manifest.boxes == "tight"),
        *fits.weight_faults(),
    ]


def _of_bucketized(
    release: Release, microdata: Microdata, *, hides_values: bool
) -> tuple[int, list[str]]:
    del hides_values
    form = Bucketized.expect(release.form)
    return _in_no_bucket(form, microdata), [
        *_beyond(form.table.drop(BUCKET), microdata, form.attribute("quasi")),
        *_beyond(form.values, microdata, form.attribute("sensitive")),
    ]


def _of_sliced(
    release: Release, microdata: Microdata, *, hides_values: bool
) -> tuple[int, list[str]]:
    del hides_values
    form = Sliced.expect(release.form)
    exact = {a.name: a for a in form.attributes if len(a.columns) == 1}
    faults: list[str] = []
    for column, part in zip(form.columns, form.parts, strict=True):
        faults += _beyond(part, microdata, [exact[name] for name in column if name in exact])
    return _unmatched(form, microdata), faults


_UNCOVERED: Final = {
    "generalized": _of_generalized,
    "bucketized": _of_bucketized,
    "sliced": _of_sliced,
}


def suppression_faults(release: Release, absent: int) -> Iterator[str]:
    """More rows than persons, or persons without a row where the manifest allows none to be
    suppressed.
    """
    if absent < 0:
        yield (
            f"the release shows {-absent} person(s) more than the original table has, so that"
            " counterfeits are not counted or it is another table"
        )
        return
    reasons = release.manifest.may_suppress
    if absent and reasons is not None and _OF_ROWS.isdisjoint(reasons):
        yield (
            f"{absent} person(s) of the original table are not published, and the manifest says"
            " that none may be suppressed"
        )


def _suppressed(absent: int) -> str:
    return f"{absent} of them suppressed" if absent else "none of them suppressed"


@dataclass(frozen=True, eq=False)
class _Fits:
    """Pairs of kinds of persons (equal in quasi-identifiers and value) and the groups that they may
    be in.
    """

    form: Generalized
    microdata: Microdata
    groups: Groups
    boxes: Sequence[Ends]
    kinds: Kinds
    kind: Ints
    at: Ints
    """Shape (p,), pairs: the kind, and the place of the group."""
    by_value: bool
    hides_values: bool

    @classmethod
    def of(cls, form: Generalized, microdata: Microdata, *, hides_values: bool) -> "_Fits":
        groups, boxes = Groups.of(form), ends_of(microdata, form)
        by_value = groups.values is not None and not (hides_values and groups.of_sets)
        own = _own_values(groups, microdata) if by_value else np.zeros(microdata.rows, np.int64)
        kinds = Kinds.of([microdata.columns[b.name].codes for b in boxes], own)
        of_anybody = np.full(len(groups), not by_value)
        if by_value and hides_values:  # a row without a value may be anybody's
            missing = groups.values.is_null().to_numpy()  # type: ignore[union-attr]
            of_anybody[groups.cell_group[missing[groups.cell_value]]] = True
        low, high = (
            np.column_stack([np.zeros((len(groups), 0), np.int64), *ends])
            for ends in ([b.low for b in boxes], [b.high for b in boxes])
        )
        shown = Shown(low, high, groups.cell_group, groups.cell_value, of_anybody)
        return cls(
            form, microdata, groups, boxes, kinds, *kinds.hosts(shown), by_value, hides_values
        )

    @property
    def uncovered(self) -> int:
        """How many persons fit no group."""
        return int(
            self.kinds.persons[np.bincount(self.kind, minlength=len(self.kinds.persons)) == 0].sum()
        )

    def faults(self, *, tight: bool) -> Iterator[str]:
        g, rows = len(self.groups), self.groups.sizes
        needed = rows - self.groups.counterfeits
        if self.by_value:
            group, value = self.groups.cell_group, self.groups.cell_value
            q, shown = len(self.groups.values) + 1, self.groups.cell_count  # type: ignore[arg-type]
            cells = group * q + value
            of_pair = places_in(self.at * q + self.kinds.value[self.kind], cells)
            fitting = np.bincount(
                of_pair[of_pair >= 0],
                weights=self.kinds.persons[self.kind[of_pair >= 0]],
                minlength=len(cells),
            ).astype(np.int64)
            of_anybody = self.groups.values.is_null().to_numpy()  # type: ignore[union-attr]
            fitting = np.where(
                of_anybody[value] & self.hides_values, shown, np.minimum(shown, fitting)
            )
            fitting = np.bincount(group, weights=fitting, minlength=g).astype(np.int64)
        else:
            fitting = np.bincount(
                self.at, weights=self.kinds.persons[self.kind], minlength=g
            ).astype(np.int64)
        if short := int(np.maximum(0, needed - fitting).sum()):
            yield (
                f"{short} row(s) fit no person in the original table, and are not counted as"
                " counterfeits"
            )
        yield from self._beyond()
        if int(needed.sum()) == self.microdata.rows:  # no person is suppressed
            alone = np.bincount(self.kind, minlength=len(self.kinds.persons))[self.kind] == 1
            must = np.bincount(
                self.at[alone], weights=self.kinds.persons[self.kind[alone]], minlength=g
            ).astype(np.int64)
            if crowded := int(np.maximum(0, must - needed).sum()):
                yield f"{crowded} person(s) fit one group alone, which has no row for them"
        if tight and not self.groups.registered.any():
            persons = group_by_group(self.kinds.example[self.kind], self.at)
            if loose := unfitting(self.microdata, self.boxes, *persons)[1]:
                yield (
                    f"{loose} group(s) have an interval with an end that is no person's value, and"
                    " the manifest says that boxes are tight"
                )

    def _beyond(self) -> Iterator[str]:
        """Values that stand more often in all groups together than the original table has them, and
        not as counterfeits: of each group by itself they may be anybody's in its box.
        """
        values = self.groups.values
        if values is None or not self.by_value:
            return
        persons = np.bincount(self.kinds.value, weights=self.kinds.persons, minlength=len(values))
        more = np.maximum(0, self.groups.totals - persons[: len(values)].astype(np.int64))
        if self.hides_values:
            more[values.is_null().to_numpy()] = 0  # which may be anybody's
        beyond = int(more.sum()) - self.form.counterfeit_rows
        if beyond > 0:
            yield (
                f"{beyond} published value(s) of {self.form.sensitive!r} are of no person in the"
                " original table"
            )

    def weight_faults(self) -> Iterator[str]:
        """Groups whose weight is not the mean of their rows', as far as it shows who these are:
        where as many persons fit no other group as the group has rows. And a sum that is not the
        table's.
        """
        g, name = len(self.groups), [a.name for a in self.form.attribute("weight")]
        needed = self.groups.sizes - self.groups.counterfeits
        if not name or int(needed.sum()) != self.microdata.rows:
            return
        place = np.full(len(self.kinds.persons), -1, dtype=np.int64)
        place[self.kind] = self.at
        place[np.bincount(self.kind, minlength=len(self.kinds.persons)) != 1] = -1
        of_row = place[self.kinds.of_row]
        settled = np.bincount(of_row[of_row >= 0], minlength=g) == needed
        rows = np.flatnonzero((of_row >= 0) & settled[of_row])
        if wrong := wrong_means(self.form, self.microdata, rows, of_row[rows]):
            yield f"{wrong} group(s) show another weight {name[0]!r} than the mean of their rows'"
        elif sum_is_off(self.form, self.groups, self.microdata):
            yield f"the weights {name[0]!r} do not add up to those of the original table"


def _own_values(groups: Groups, microdata: Microdata) -> Ints:
    """Each person's value as its place among those of the release; one more than there are for a
    value that it does not show.
    """
    column, values = microdata.sensitive, groups.values
    assert values is not None  # noqa: S101  # for the types: asked where there are values
    both = pl.concat(
        [values.to_frame("value"), column.domain.values.to_frame("value")], how="vertical_relaxed"
    )["value"]
    numbered = pl.DataFrame({"value": both[: len(values)], "place": np.arange(len(values))})
    places = (
        both[len(values) :]
        .to_frame()
        .join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")["place"]
    )
    return places.fill_null(len(values)).to_numpy().astype(np.int64)[column.codes]


def _own(microdata: Microdata, attributes: Sequence[PublishedAttribute]) -> pl.DataFrame:
    """Each person's values, under the names of the release."""
    return pl.DataFrame(
        {
            a.columns[0]: (
                microdata.columns[a.name].domain.values.gather(microdata.columns[a.name].codes)
            )
            for a in attributes
        }
    )


def _alike(one: pl.DataFrame, other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both tables in types that can be compared."""
    both = pl.concat([one, other.select(one.columns)], how="vertical_relaxed")
    return both[: one.height], both[one.height :]


def _beyond(
    published: pl.DataFrame, microdata: Microdata, attributes: Sequence[PublishedAttribute]
) -> list[str]:
    """The fault of combinations of exact values that are published more often than the original
    table has them.
    """
    if not attributes:
        return []
    names = [a.columns[0] for a in attributes]
    times = (
        published[COUNT].cast(pl.Int64)
        if COUNT in published.columns
        else pl.Series(COUNT, np.ones(published.height, np.int64))
    )
    mine, theirs = _alike(published.select(names), _own(microdata, attributes))
    counted = pl.concat(
        [
            mine.with_columns(times.alias("\0n")),
            theirs.with_columns(pl.lit(-1, dtype=pl.Int64).alias("\0n")),
        ]
    )
    more = int(counted.group_by(names).agg(pl.col("\0n").sum())["\0n"].clip(lower_bound=0).sum())
    return (
        [
            (
                f"{more} published value(s) of {', '.join(map(repr, names))} are of no person in"
                " the original table"
            )
        ]
        if more
        else []
    )


def _in_no_bucket(form: Bucketized, microdata: Microdata) -> int:
    """How many persons of the original table are in no bucket with their quasi-identifiers and
    their value.
    """
    quasi, secret = form.attribute("quasi"), form.attribute("sensitive")
    persons = _own(microdata, [*quasi, *secret]).group_by(pl.all()).len("\0n")
    names, value = [a.columns[0] for a in quasi], secret[0].columns[0]
    shown = (
        form.table.unique()
        .join(form.values.select(BUCKET, value), on=BUCKET)
        .select(*names, value)
        .unique()
    )
    mine, theirs = _alike(persons.drop("\0n"), shown)
    return int(
        mine.with_columns(persons["\0n"])
        .join(theirs, on=[*names, value], how="anti", nulls_equal=True)["\0n"]
        .sum()
    )


def _unmatched(form: Sliced, microdata: Microdata) -> int:
    """How many persons of the original table match no bucket with their value."""
    view = View.of(form)
    tuples = view.of_people(microdata, np.arange(microdata.rows))
    if view.sensitive is None:
        covered = np.zeros(microdata.rows, dtype=bool)
        for some in matches(view, tuples):
            covered[some.tuple] = True
        return int((~covered).sum())
    own = _own_values(view.sensitive, microdata)
    kinds, persons = np.unique(np.column_stack([tuples, own]), axis=0, return_counts=True)
    q, v = len(view.sensitive.values) + 1, len(view.sides[-1].values)  # type: ignore[arg-type]
    group = view.sensitive.cell_group
    cells = np.unique(
        (view.cell_bucket[group] * v + view.cell_value[group]) * q + view.sensitive.cell_value
    )
    covered = np.zeros(len(kinds), dtype=bool)
    for some in matches(view, kinds[:, :-1]):
        wanted = (some.bucket * v + kinds[some.tuple, -2]) * q + kinds[some.tuple, -1]
        there = cells[np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)] == wanted
        covered[some.tuple[there]] = True
    return int(persons[~covered].sum())
