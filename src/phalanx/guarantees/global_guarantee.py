"""The global guarantee: nobody is ever linked to a protected value with more than 1/l (Wong, Fu, Liu, Wang, Xu, ICDE 2010)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.errors import PlanError
from phalanx.guarantees import cohorts
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.breach import Links, Series, linked, links, members, share_left
from phalanx.guarantees.exact import Ints, Number, bounded, exact, largest_ratio, plain
from phalanx.guarantees.groups import Groups
from phalanx.release.evidence import Evidence
from phalanx.release.exposures import SCALE, Exposures
from phalanx.release.folder import Release

Bools = npt.NDArray[np.bool_]
_NEAR = 1e-9


@dataclass(frozen=True)
class GlobalGuarantee:
    """For every person and protected value, p = 1 - prod (1 - n_s / n) over the groups that linked them is at most 1/l (Lemma 4).

    ``protected``: ``all`` values but the ``unprotected`` ones, or a list; a missing value is none. ``permanent`` values stand in cohorts, whose members
    carry them with the cohort's share (docs/explanation/cohorts.md). The files alone show each release by itself; p over the series needs
    ``evidence.groups``, or for the last release what the series carried ``before`` it. PlanError where l is not above 1.
    """

    name: ClassVar[str] = "global guarantee"
    l: Number
    protected: "str | list[Any]" = "all"
    unprotected: Sequence[Any] = ()
    permanent: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if bounded(self.l, "l", 1) == 1:
            raise PlanError("l = 1 promises nothing; give a number above 1.")
        object.__setattr__(self, "l", exact(self.l, "l"))
        if self.protected != "all" and not isinstance(self.protected, list):
            raise PlanError('protected must be "all" or a list of values.')

    def public(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        said: dict[str, Any] = {"name": self.name, "l": plain(self.l), "protected": self.protected if isinstance(self.protected, str) else list(self.protected)}
        for key in ("unprotected", "permanent"):
            if getattr(self, key):
                said[key] = list(getattr(self, key))
        return said

    def check(self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None) -> list[Verdict]:
        """Each release alone, persons and groups, ever linked, what is carried on, and permanent values."""
        evidence = evidence or Evidence()
        if release.form.sensitive is None:
            note = "no sensitive attribute is published, and this promise is about one"
            return [Verdict(name=self.name, bound=self._bound, worst=None, holds=False, note=note)]
        if evidence.before is not None and evidence.after is not None and release.number in evidence.groups:
            return [
                self._alone([release]),
                *self._persons_and_groups([release], evidence),
                *self._last(release, evidence.groups[release.number], evidence.before, evidence.after),
            ]
        series = [*earlier, release]
        return [self._alone(series), *self._persons_and_groups(series, evidence), *self._ever(series, evidence), *self._cohorts(series, evidence)]

    @property
    def _bound(self) -> Fraction:
        return 1 / exact(self.l, "l")

    def _named(self, part: str) -> str:
        return f"{self.name}: {part}"

    def protects(self, values: pl.Series) -> Bools:
        """Which values the promise is about."""
        return self._chosen(values, [*self.permanent, *self.protected] if isinstance(self.protected, list) else None)

    def transient(self, values: pl.Series) -> Bools:
        """Which values come and go."""
        return self.protects(values) & ~_among(values, self.permanent)

    def _chosen(self, values: pl.Series, listed: Sequence[Any] | None) -> Bools:
        present = values.is_not_null().to_numpy()
        return present & (_among(values, listed) if listed is not None else ~_among(values, self.unprotected))

    def _added(self, groups: Groups) -> Bools:
        """Groups of a cohort, where rows hold sets: links of several releases depend on each other there."""
        found = np.zeros(len(groups), dtype=bool)
        if self.permanent and groups.of_sets and groups.values is not None:
            found[groups.cell_group[_among(groups.values, self.permanent)[groups.cell_value]]] = True
        return found

    def _alone(self, series: Sequence[Release]) -> Verdict:
        """The local guarantee, which the global one implies: no group has a larger share than 1/l."""
        worst, cases = None, pl.DataFrame()
        for release in series:
            groups = Groups.of(release).members
            if groups.values is None or not len(cell := np.flatnonzero(self.protects(groups.values)[groups.cell_value])):
                continue
            n = members(groups)
            share, where = largest_ratio(groups.cell_count[cell], n[groups.cell_group[cell]])
            if worst is None or share > worst:
                worst, at = share, int(groups.cell_group[cell[where]])
                cases = groups.cases(np.array([at]), members=[int(n[at])], holding=[int(groups.cell_count[cell[where]])])
        holds = worst is None or worst <= self._bound
        note = f"{len(series)} release(s)" if worst is not None else "no protected value is published"
        return Verdict(name=self._named("each release alone"), bound=self._bound, worst=worst, holds=holds, note=note, worst_cases=cases)

    def _persons_and_groups(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """The mapping names everybody once, in groups that exist, as many as these have real rows and registered persons."""
        part, given = "persons and groups", [r for r in series if r.number in evidence.groups]
        if given:
            faults = [f"release {r.number}: {fault}" for r in given for fault in _mapping_faults(r, evidence.groups[r.number])]
            note = "; ".join(faults) or f"{len(given)} release(s)"
            yield Verdict(name=self._named(part), bound=0, worst=len(faults), holds=not faults, note=note)
        if len(given) < len(series):
            yield self._not_checked(part, 0, series, evidence)

    def _not_checked(self, part: str, bound: Fraction | int, series: Sequence[Release], evidence: Evidence) -> Verdict:
        without = ", ".join(str(r.number) for r in series if r.number not in evidence.groups)
        note = f"not checked: no person-to-group mapping was given for release(s) {without}"
        return Verdict(name=self._named(part), bound=bound, worst=None, holds=True, note=note)

    def _ever(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """The exact p of every person and transient value over all releases with a mapping."""
        part, given = "ever linked", [r for r in series if r.number in evidence.groups]
        if given:
            found = Series.of(given, evidence.groups, self.transient, self._added)
            if not len(found.person):
                yield Verdict(name=self._named(part), bound=self._bound, worst=None, holds=True, note=f"{len(given)} release(s), nobody is linked to anything")
            else:
                worst, pair = found.worst()
                note = f"{len(given)} release(s), {len(found.persons)} person(s), {len(found.person)} pairs of person and value"
                yield Verdict(name=self._named(part), bound=self._bound, worst=worst, holds=worst <= self._bound, note=note, worst_cases=found.cases(pair))
        if len(given) < len(series):
            yield self._not_checked(part, self._bound, series, evidence)

    def _last(self, release: Release, mapping: pl.DataFrame, before: Exposures, after: Exposures) -> Iterator[Verdict]:
        """P after the last release, from what was carried before it; and that what is carried on understates nothing."""
        carried = self._named("carried memory")
        p0, v0 = len(before.persons), len(before.values)
        if not after.persons.head(p0).equals(before.persons, check_names=False) or not _same(after.values.head(v0), before.values):
            yield Verdict(name=carried, bound=0, worst=None, holds=False, note="persons or values that were carried before are lost or in other places")
            return
        known = pl.DataFrame({"person": after.persons, "place": np.arange(len(after.persons), dtype=np.int64)})
        place = mapping.select("person").join(known, on="person", how="left", maintain_order="left")["place"].fill_null(-1).to_numpy()
        link = links(release, mapping, place, after.values, self.transient, self._added)
        if (forgotten := int(((link.person < 0) | (link.value < 0)).sum())) or after.persons.n_unique() < len(after.persons):
            yield Verdict(
                name=carried, bound=0, worst=forgotten, holds=False, note=f"{forgotten} exposure(s) of persons or to values that nothing is carried about"
            )
            return
        width = max(len(after.values), 1)
        pairs, pairs_before = _keys(after, width), _keys(before, width)
        exposed = link.person * width + link.value
        at, at_before = np.searchsorted(pairs, exposed), np.searchsorted(pairs, pairs_before)
        lost = int((_at(pairs, at) != exposed).sum() + (_at(pairs, at_before) != pairs_before).sum())
        disorder = int((pairs[1:] <= pairs[:-1]).sum())
        if lost or disorder or len(np.unique(exposed)) < len(exposed):
            yield Verdict(name=carried, bound=0, worst=lost + disorder, holds=False, note=f"{lost} pair(s) of person and value are not carried on")
            return
        survival, times = np.full(len(pairs), SCALE, dtype=np.int64), np.zeros(len(pairs), dtype=np.int64)
        survival[at_before], times[at_before] = before.survival, before.times
        yield self._worst_now(link, survival[at])
        survival[at], times[at] = share_left(survival[at], link), times[at] + 1
        wrong = int((after.survival > survival).sum() + (after.times != times).sum() + (times == 0).sum() + (after.survival < 0).sum())
        note = f"{wrong} pair(s) of person and value are carried on as less exposed than they are" if wrong else f"{len(pairs)} pairs of person and value"
        yield Verdict(name=carried, bound=0, worst=wrong, holds=not wrong, note=note)

    def _worst_now(self, link: Links, survival: Ints) -> Verdict:
        """The largest p among those whom the last release linked; the others' did not change."""
        name = self._named("ever linked")
        if not len(survival):
            return Verdict(name=name, bound=self._bound, worst=None, holds=True, note="this release links nobody to a protected value")
        share = link.holding / link.members
        left = np.where(link.added, survival / SCALE - share, survival / SCALE * (1 - share))
        near = np.flatnonzero(left <= left.min() + _NEAR)
        kinds = np.stack([survival[near], link.members[near], link.holding[near], link.added[near]], axis=1)
        each, first = np.unique(kinds, axis=0, return_index=True)
        p, where = max((_after(*row), int(near[i])) for row, i in zip(each.tolist(), first.tolist(), strict=True))
        cases = pl.DataFrame({"group": [int(link.group[where])], "members": [int(link.members[where])], "holding": [int(link.holding[where])]})
        note = f"{len(survival)} pairs of person and value, with what was carried before"
        return Verdict(name=name, bound=self._bound, worst=p, holds=p <= self._bound, note=note, worst_cases=cases)

    def _cohorts(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """Permanent values: cohorts are as they should be, and no carrier's share is above 1/l."""
        if not self.permanent:
            return
        part = "permanent values"
        worst = cohorts.worst_share(series, self.permanent)
        yield Verdict(name=self._named(part), bound=self._bound, worst=worst, holds=worst <= self._bound, note=f"{len(series)} release(s)")
        if any(r.number not in evidence.groups for r in series):
            yield self._not_checked("cohorts", 0, series, evidence)
        elif series[0].number != 1:
            yield Verdict(name=self._named("cohorts"), bound=0, worst=None, holds=True, note="not checked: the first release of the series was not given")
        else:
            faults = list(cohorts.faults(series, evidence.groups, self.permanent))
            yield Verdict(name=self._named("cohorts"), bound=0, worst=len(faults), holds=not faults, note="; ".join(faults[:5]) or f"{len(series)} release(s)")


def _after(survival: int, n: int, n_s: int, added: int) -> Fraction:
    left = Fraction(survival, SCALE)
    return 1 - (left - Fraction(n_s, n) if added else left * (1 - Fraction(n_s, n)))


def _among(values: pl.Series, listed: Sequence[Any]) -> Bools:
    """Which values are in a list; a missing one never is."""
    if not len(listed):
        return np.zeros(len(values), dtype=bool)
    kind = values.dtype
    same = pl.Series([v for v in listed if v is not None], strict=False).cast(kind, strict=False).drop_nulls()
    return values.is_in(same.implode()).fill_null(value=False).to_numpy()


def _same(a: pl.Series, b: pl.Series) -> bool:
    return not len(b) or a.cast(b.dtype, strict=False).equals(b, check_names=False)


def _keys(exposures: Exposures, width: int) -> Ints:
    owner = np.repeat(np.arange(len(exposures.persons), dtype=np.int64), np.diff(exposures.starts))
    return owner * width + exposures.value


def _at(pairs: Ints, at: Ints) -> Ints:
    """The pairs at some places, -1 beyond the end."""
    return np.where(at < len(pairs), pairs[np.minimum(at, len(pairs) - 1)], -1) if len(pairs) else np.full(len(at), -1)


def _mapping_faults(release: Release, mapping: pl.DataFrame) -> list[str]:
    groups = Groups.of(release)
    hosted = mapping.filter(pl.col("group") != 0)
    ids = groups.ids.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    wanted = hosted["group"].cast(pl.Int64).to_numpy()
    at = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
    known = ids[at] == wanted if len(ids) else np.zeros(len(wanted), dtype=bool)
    faults = []
    if twice := hosted.height - hosted["person"].n_unique():
        faults.append(f"the mapping names {twice} person(s) more than once")
    if unknown := int((~known).sum()):
        faults.append(f"the mapping puts {unknown} person(s) into groups that are not in the data")
    persons = np.bincount(at[known], minlength=len(groups))
    if wrong := int((persons != groups.persons).sum()):
        faults.append(f"{wrong} group(s) have another number of persons in the mapping than real rows and registered persons in the data")
    return faults


__all__ = ["GlobalGuarantee", "linked"]
