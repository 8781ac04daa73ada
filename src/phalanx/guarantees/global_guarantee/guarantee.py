# SPDX-License-Identifier: Apache-2.0
"""The global guarantee: no person is ever linked to a protected value with more than 1/l (Wong, Fu,
Liu, Wang, Xu, ICDE 2010).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.arrays import Bools
from phalanx.errors import PlanError
from phalanx.exact import Number, bounded, exact, largest_ratio, plain
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.global_guarantee import NAME, cohorts
from phalanx.guarantees.global_guarantee.breach import Series, SoFar
from phalanx.guarantees.global_guarantee.carried import Exposed
from phalanx.guarantees.global_guarantee.recalled import Recalled
from phalanx.guarantees.sentences import lacking, named, one_in
from phalanx.guarantees.views.groups import Groups, tells_values
from phalanx.guarantees.views.members import counted_faults, mapping_faults, members
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest


@dataclass(frozen=True)
class GlobalGuarantee:
    """For every person and protected value, p = 1 - prod (1 - n_s / n) over the groups that linked
    them is at most 1/l (Lemma 4).

    n counts a group's rows and the registered persons in it, n_s the rows that hold the value.
    ``protected``: ``all`` values but the ``unprotected`` ones, or a list; a missing value is none.
    ``permanent`` values are protected too, and stand in cohorts, whose members carry them with the
    cohort's share (docs/explanation/cohorts.md). The files alone show each release by itself; p
    over the series needs ``evidence.groups``, or for the last release alone what the series carried
    ``before`` it and carries ``after`` it. What cannot be checked is a verdict that says ``not
    checked``. PlanError where l is not above 1 or the values are not lists.
    """

    name: ClassVar[str] = NAME
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("values",)
    over_series: ClassVar[bool] = True
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
        for key in ("protected", "unprotected", "permanent"):
            if (listed := getattr(self, key)) != "all" and not _are_values(listed):
                raise PlanError(f"{key} must be a list of values, each a text or a number.")

    @property
    def of_each_person(self) -> bool:
        """Whether it is about every person by themselves; cohorts are about several."""
        return not self.permanent

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        shown: dict[str, Any] = {
            "name": self.name,
            "l": plain(self.l),
            "protected": (
                self.protected if isinstance(self.protected, str) else list(self.protected)
            ),
        }
        for key in ("unprotected", "permanent"):
            if getattr(self, key):
                shown[key] = list(getattr(self, key))
        return shown

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence, with the values that it is about."""
        these = "all values" if self.protected == "all" else named(self.protected)
        if self.unprotected and self.protected == "all":
            these += f" but {named(self.unprotected)}"
        if self.permanent:
            these += (
                f"; permanent: {named(self.permanent)} (a person who stood in one group with a"
                " permanent value stands with the same people ever after)"
            )
        return (
            "For each person and each protected sensitive value, the probability of having been"
            " linked to it in at least one release of this series so far is at most"
            f" {one_in(self.l)}, even for an adversary who knows in which group of every release"
            f" each person is (global guarantee). Protected: {these}."
        )

    def limits(
        self,
        manifest: Manifest,
        earlier: Sequence[Manifest] = (),
        *,
        reidentified: float | None = None,
    ) -> Iterator[tuple[str, str]]:
        """What the promise leaves out (docs/explanation/known-limits.md)."""
        if any(other.registered for other in (*earlier, manifest)):
            yield (
                "Only against those who do not know who is in the table",
                (
                    "Registered persons without a row count as members of groups. An adversary who"
                    " knows that they are absent knows that only the rows of a group are left, and"
                    " may link its members to a value with more than is promised."
                ),
            )
        if self.protected != "all" or self.unprotected:
            yield (
                "Unprotected values are promised nothing",
                (
                    "All rows of a group may hold the same unprotected value, which then tells it"
                    " of all persons in the group."
                ),
            )
        lasting = (
            "Values that stay are named as permanent: covered is what was so when a person's cohort"
            " was founded; what comes later is not published."
            if self.permanent
            else (
                "No value is named as permanent: one that stays with a person, such as a chronic"
                " disease, is not covered."
            )
        )
        yield (
            "For values that come and go",
            (
                "What a person has in one release is taken to be independent of what they have in"
                f" the next. {lasting}"
            ),
        )

    @staticmethod
    def no_breach(public: Mapping[str, Any], _: Manifest) -> str:
        """Which values the promise is not about."""
        if public.get("protected") == "all" and not public.get("unprotected"):
            return ""
        return (
            "some values are not protected, and which ones are certain is not told apart here; ask"
            " history about the protected ones"
        )

    @staticmethod
    def not_of_lasting(public: Mapping[str, Any]) -> str:
        """Why it is no breach that values which stay with their persons are found; empty where all
        protected ones are permanent.
        """
        protected, permanent = public.get("protected"), public.get("permanent", ())
        if protected != "all" and set(protected or ()) <= set(permanent):
            return ""
        return (
            "it is about values that come and go, and this adversary is right where they stay; name"
            " in permanent those that do"
        )

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """Each release alone, persons and groups, ever linked, and what is carried on or permanent
        values.
        """
        evidence = evidence or Evidence()
        mapping = evidence.groups.get(release.number)
        by_state = evidence.state is not None and mapping is not None and not self.permanent
        series = [release] if by_state else [*earlier, release]
        if not all(map(tells_values, series)):
            note = "no sensitive attribute is published, and this promise is about one"
            return [Verdict(name=self.name, bound=self._bound, worst=None, holds=False, note=note)]
        if by_state and evidence.state is not None and mapping is not None:
            return [
                self._alone(series),
                *self._persons_and_groups(series, evidence),
                *self._last(release, mapping, evidence),
            ]
        return [
            self._alone(series),
            *self._persons_and_groups(series, evidence),
            *self._ever(series, evidence),
            *self._permanent(series, evidence),
        ]

    def check_each(
        self, releases: Sequence[Release], evidence: Evidence | None = None
    ) -> Iterator[list[Verdict]]:
        """For each release of a series, in order, what ``check`` finds of it and those before it;
        in one pass, but for permanent values, whose cohorts are followed from the first release on.
        """
        evidence = replace(evidence or Evidence(), state=None)
        if self.permanent or not all(map(tells_values, releases)):
            for place, release in enumerate(releases):
                yield self.check(release, releases[:place], evidence)
            return
        given = [r for r in releases if r.number in evidence.groups]
        linked: SoFar | None = None
        each = iter(
            Series.of(given, evidence.groups, self.passes, self.added).each(
                [r.number for r in given]
            )
            if given
            else []
        )
        counted: list[str] = []
        mapped: list[str] = []
        alone: list[Verdict] = []
        for place, release in enumerate(releases, start=1):
            series = releases[:place]
            alone.append(self._alone([release]))
            counted += _counted(release)
            if release.number in evidence.groups:
                mapped += _mapped(release, evidence)
                linked = next(each)
            yield [
                self._worst_alone(alone),
                *self._of_mappings(series, evidence, [*counted, *mapped]),
                *self._linked(series, evidence, linked),
            ]

    def protects(self, values: pl.Series) -> Bools:
        """Which values the promise is about, shape of ``values``."""
        if isinstance(self.protected, list):
            return _among(values, [*self.protected, *self.permanent])
        return values.is_not_null().to_numpy() & (
            ~_among(values, self.unprotected) | self.lasts(values)
        )

    def lasts(self, values: pl.Series) -> Bools:
        """Which values are permanent, shape of ``values``."""
        return _among(values, self.permanent)

    def passes(self, values: pl.Series) -> Bools:
        """Which protected values come and go, shape of ``values``."""
        return self.protects(values) & ~self.lasts(values)

    def added(self, groups: Groups) -> Bools:
        """The groups of cohorts where rows hold sets, shape (g,): their links in several releases
        depend on each other, so that shares are added up.
        """
        if not (self.permanent and groups.of_sets):
            return np.zeros(len(groups), dtype=bool)
        return cohorts.shown(groups.members, self.lasts)

    @property
    def _bound(self) -> Fraction:
        return 1 / exact(self.l, "l")

    def _named(self, part: str) -> str:
        return f"{self.name}: {part}"

    def _faultless(self, part: str, faults: Sequence[str], looked: str) -> Verdict:
        shown = [*faults[:8], *([f"and {len(faults) - 8} more"] if len(faults) > 8 else [])]
        return Verdict(
            name=self._named(part),
            bound=0,
            worst=len(faults),
            holds=not faults,
            note="; ".join(shown) or looked,
        )

    def _not_checked(self, part: str, bound: Fraction | int, why: str) -> Verdict:
        return Verdict(
            name=self._named(part), bound=bound, worst=None, holds=True, note=f"not checked: {why}"
        )

    def _alone(self, series: Sequence[Release]) -> Verdict:
        """The local guarantee, which the global one implies: no group has a larger share than
        1/l.
        """
        worst, cases = None, pl.DataFrame()
        for release in series:
            groups = Groups.of(release).members
            if groups.values is None or not len(
                cell := np.flatnonzero(self.protects(groups.values)[groups.cell_value])
            ):
                continue
            n = members(groups)
            share, where = largest_ratio(groups.cell_count[cell], n[groups.cell_group[cell]])
            if worst is None or share > worst:
                worst, at = share, int(groups.cell_group[cell[where]])
                cases = groups.cases(
                    np.array([at]),
                    members=[int(n[at])],
                    holding=[int(groups.cell_count[cell[where]])],
                )
        holds = worst is None or worst <= self._bound
        note = (
            f"{len(series)} release(s)"
            if worst is not None
            else "not covered: no protected value is published, and of others nothing is promised"
        )
        return Verdict(
            name=self._named("each release alone"),
            bound=self._bound,
            worst=worst,
            holds=holds,
            note=note,
            worst_cases=cases,
        )

    def _worst_alone(self, alone: Sequence[Verdict]) -> Verdict:
        """The verdicts about releases, each alone, as one."""
        shares = [v for v in alone if isinstance(v.worst, Fraction)]
        if not shares:
            return alone[-1]
        worst = max(shares, key=lambda verdict: verdict.worst)  # type: ignore[arg-type,return-value]
        return replace(worst, note=f"{len(alone)} release(s)")

    def _persons_and_groups(
        self, series: Sequence[Release], evidence: Evidence
    ) -> Iterator[Verdict]:
        """The counts beside the data are counts, and the mapping names each person once, in groups
        that are as large as they say.
        """
        faults = [fault for r in series for fault in _counted(r)]
        faults += [
            fault for r in series if r.number in evidence.groups for fault in _mapped(r, evidence)
        ]
        yield from self._of_mappings(series, evidence, faults)

    def _of_mappings(
        self, series: Sequence[Release], evidence: Evidence, faults: Sequence[str]
    ) -> Iterator[Verdict]:
        part, given = "persons and groups", [r for r in series if r.number in evidence.groups]
        if given or faults:
            yield self._faultless(part, faults, f"{len(given)} release(s)")
        if len(given) < len(series):
            yield self._not_checked(part, 0, _unmapped(series, evidence))

    def _ever(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """The exact p of every person and value that comes and goes, over all releases with a
        mapping.
        """
        given = [r for r in series if r.number in evidence.groups]
        linked = None
        if given:
            links = Series.of(given, evidence.groups, self.passes, self.added)
            worst, cases, pairs = None, pl.DataFrame(), 0
            for some in links.parts():
                p, pair = some.worst()
                pairs += int(some.persons.sum())
                if worst is None or p > worst:
                    worst, cases = p, some.cases(pair)
            linked = SoFar(len(links.persons), pairs, worst, cases)
        yield from self._linked(series, evidence, linked)

    def _linked(
        self, series: Sequence[Release], evidence: Evidence, linked: SoFar | None
    ) -> Iterator[Verdict]:
        """What was found of all links; None where no release has a mapping."""
        part, given = "ever linked", [r for r in series if r.number in evidence.groups]
        if linked is not None:
            yield Verdict(
                name=self._named(part),
                bound=self._bound,
                worst=linked.worst,
                holds=linked.worst is None or linked.worst <= self._bound,
                note=(
                    f"{len(given)} release(s), {linked.persons} person(s) linked to something,"
                    f" {linked.pairs} pair(s) of person and value"
                ),
                worst_cases=linked.cases,
            )
        if len(given) < len(series):
            yield self._not_checked(part, self._bound, _unmapped(series, evidence))
        if absent := lacking([r.number for r in series]):
            yield self._not_checked(part, self._bound, absent)

    def _last(
        self, release: Release, mapping: pl.DataFrame, evidence: Evidence
    ) -> Iterator[Verdict]:
        """The exact p after the last release, from what was carried before it; and that what is
        carried on understates nothing.
        """
        part = "carried memory"
        before, after = evidence.state or ({}, {})
        recalled = Recalled.of(before, after, evidence.added)
        if not isinstance(recalled, Recalled):
            yield self._faultless(part, recalled, "")
            return
        exposed = Exposed.of(release, mapping, recalled, self.passes)
        looked = exposed.looked_at()
        name, note = (
            self._named("ever linked"),
            f"{looked.links} pair(s) of person and value, with what was carried before",
        )
        if looked.worst is not None:
            cases = pl.DataFrame(
                {
                    column: getattr(exposed.cells, column)[[looked.cell]]
                    for column in ("release", "group", "members", "holding")
                }
            )
            yield Verdict(
                name=name,
                bound=self._bound,
                worst=looked.worst,
                holds=looked.worst <= self._bound,
                note=note,
                worst_cases=cases,
            )
        else:
            yield Verdict(
                name=name,
                bound=self._bound,
                worst=None,
                holds=True,
                note="this release links no person to a protected value",
            )
        yield self._faultless(
            part,
            looked.faults,
            f"{recalled.after.links} pair(s) of person and value",
        )

    def _permanent(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """Cohorts are as they should be; then a member carries a permanent value with the share
        that the cohort shows, which ``_alone`` looks at.
        """
        if not self.permanent:
            return
        part = "permanent values"
        if any(r.number not in evidence.groups for r in series):
            yield self._not_checked(part, 0, _unmapped(series, evidence))
        elif absent := lacking([r.number for r in series]):
            yield self._not_checked(
                part, 0, f"cohorts are followed from the first release on, and {absent}"
            )
        else:
            yield self._faultless(
                part,
                list(cohorts.faults(series, evidence.groups, self.lasts)),
                f"{len(series)} release(s)",
            )


def _are_values(listed: Any) -> bool:
    return isinstance(listed, list | tuple) and all(
        v is None or isinstance(v, str | int | float) for v in listed
    )


def _among(values: pl.Series, listed: Sequence[Any]) -> Bools:
    """Which values are in a list; a missing one never is, and a date is by its text."""
    same = np.zeros(len(values), dtype=bool)
    for kind in {type(value) for value in listed if value is not None}:
        of_kind = pl.Series([v for v in listed if type(v) is kind], strict=False)
        as_values = _as(of_kind, values.dtype).drop_nulls().implode()
        same |= values.is_in(as_values).fill_null(value=False).to_numpy()
    return same


def _as(listed: pl.Series, dtype: pl.DataType) -> pl.Series:
    """The same in the type of a column; null for a number that such a column cannot hold."""
    if dtype == pl.Date:
        if listed.dtype != pl.String:
            return pl.Series([], dtype=dtype)
        return listed.str.to_date("%Y-%m-%d", strict=False)
    read = listed.cast(dtype, strict=False)
    if listed.dtype.is_numeric() and dtype.is_numeric():
        return read.filter((read.cast(listed.dtype, strict=False) == listed).fill_null(value=False))
    return read


def _counted(release: Release) -> Iterator[str]:
    for fault in counted_faults(release):
        yield f"release {release.number}: {fault}"


def _mapped(release: Release, evidence: Evidence) -> Iterator[str]:
    for fault in mapping_faults(release, evidence.groups[release.number]):
        yield f"release {release.number}: {fault}"


def _unmapped(series: Sequence[Release], evidence: Evidence) -> str:
    numbers = [str(r.number) for r in series if r.number not in evidence.groups]
    return f"no person-to-group mapping was given for release(s) {', '.join(numbers[:8])}" + (
        f" and {len(numbers) - 8} more" if len(numbers) > 8 else ""
    )
