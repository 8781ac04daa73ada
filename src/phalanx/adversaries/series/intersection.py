# SPDX-License-Identifier: Apache-2.0
"""The intersection adversary: what several releases together leave possible (Xiao & Tao, SIGMOD
2007, Lemma 1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Looks, asked, original_of, where_groups_stand
from phalanx.adversaries.candidates import Values, hold
from phalanx.arrays import Bools, Ints, Sets, sizes
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import GROUP, Generalized

_POSTERIOR: Final = "use the adversary 'posterior' or 'membership'"
_INSTEAD: Final = {
    "perturbed": "use the adversary 'linkage', 'informed' or 'omniscient'",
    "recoded": "differential privacy bounds what any adversary learns, by epsilon",
}
"""What to do instead, by the form of the release."""
_KNOWS: Final = {
    "box": (
        "each person's quasi-identifier values, and in which releases each person is; the groups"
        " that may host a person are those whose box contains them"
    ),
    "person": "in which group of each release each person was published: the worst case",
}
AFFORDABLE: Final = 1_000_000_000
"""So many persons times groups, over all releases, are compared with boxes; beyond, only persons
with one candidate by group (some seconds of a core).
"""


_AT_ONCE: Final = 1 << 24
"""So many words of persons' sets are looked at at once."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """Whom one release shows, and what it leaves possible for each: ``sets[i]`` for
    ``persons[i]``.
    """

    persons: pl.Series
    sets: Sets


@dataclass(frozen=True, eq=False)
class _Concluded:
    """What is left of some persons, shape (n,) each: how many values, whether their own is among
    them, and its number, -1 where no table tells; and how many persons changed their value, or were
    compared with every box.
    """

    persons: pl.Series
    size: Ints
    right: Bools
    true: Ints
    changed: int
    suspects: int


@dataclass(frozen=True)
class Intersection:
    """Intersects, over the releases a person is in, the sensitive values that the person may have
    in each.

    ``view`` "box": a release leaves the values of all groups whose box contains the person's
    quasi-identifiers (the paper's candidate sensitive set; needs ``evidence.microdata`` with
    persons). ``view`` "person": it leaves the values of the person's own group (needs
    ``evidence.groups``); since the own group is among those of the box, this adversary exposes
    each person whom the other one does.

    A person is exposed if one candidate is left and it is theirs, as of the last release that they
    were published in. The lemma is about values that persist: persons whose value changed are
    counted in the note. Who is in a release is what ``evidence.groups`` says of it, and without
    that each person in its original table whom some box contains. Works on any series of
    generalized releases; a group's counterfeits are among its values, as for a real adversary.
    """

    question: ClassVar[str] = "linkability"
    looks_at: ClassVar[Looks] = "series"
    takes_values_to_stay: ClassVar[bool] = True
    asks_for: ClassVar[Mapping[str, bool]] = {"original": True, "identifier": True, "ledger": False}
    sentences: ClassVar[Mapping[str, str]] = {
        "intersection-by-person": "Intersects the values of each person's own groups: the worst"
        " case, where it is known who is in which."
    }
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "intersection-by-person": {"view": "person"}
    }

    view: Literal["box", "person"] = "box"
    """``box``: by quasi-identifiers; ``person``: it knows each person's group."""

    def __post_init__(self) -> None:
        if self.view not in list(_KNOWS):
            raise ReleaseError(
                f"the intersection adversary's view is {self.view!r} and must be 'box' or 'person'."
            )

    @property
    def name(self) -> str:
        return "intersection" if self.view == "box" else "intersection-by-person"

    @property
    def knows(self) -> str:
        return _KNOWS[self.view]

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Attack:
        """The candidates left for every person; ReleaseError where the mapping or a table is
        missing, or does not fit the files.
        """
        releases, evidence = asked(releases, evidence, of_values=True, of_single=self.name)
        series = sorted(releases, key=lambda r: r.number)
        if other := next((r for r in series if r.form.kind != Generalized.kind), None):
            raise ReleaseError(
                f"release {other.number} is {other.form.kind}, and the intersection adversary looks"
                f" at intervals; {_INSTEAD.get(other.form.kind, _POSTERIOR)}."
            )
        if any(r.form.sensitive is None for r in series):
            raise ReleaseError(
                "a release has no sensitive attribute, so there is nothing to expose."
            )
        values = _values(series, evidence)
        pruned = self.view == "box" and not _is_affordable(series, evidence)
        concluded = [
            self._of(series, values, evidence, among, pruned=pruned)
            for among in _some_at_a_time(series, values, evidence)
        ]
        notes = []
        if pruned:
            suspects = sum(some.suspects for some in concluded)
            notes.append(
                "the series is too large to compare all persons with every box: this was done for"
                f" the {suspects} person(s) with one candidate by group, which finds each person"
                " who is exposed; the others' candidates are those of their groups, a part of"
                " those by box, so the success is at most the one given"
            )
        elif self.view == "box" and (
            without := [str(r.number) for r in series if r.number not in evidence.groups]
        ):
            notes.append(
                "without a ledger, each person who fits into some group of release(s)"
                f" {', '.join(without)} is taken for published there"
            )
        return self._conclude(concluded, notes)

    def _of(
        self,
        series: Sequence[Release],
        values: Values,
        evidence: Evidence,
        among: pl.Series | None,
        *,
        pruned: bool,
    ) -> _Concluded:
        """What is left of the persons ``among`` those seen, of all of them where there is none."""
        look = _by_group if self.view == "person" or pruned else _by_box
        seen = [look(r, values, evidence, among) for r in series]
        persons, left = _intersected(seen, values)
        suspects = _prune(persons, left, series, values, evidence) if pruned else 0
        true, changed = _true_values(series, seen, persons, values, evidence)
        return _Concluded(persons, sizes(left), hold(left, true), true, changed, suspects)

    def _conclude(self, concluded: Sequence[_Concluded], notes: list[str]) -> Attack:
        persons = pl.concat([some.persons for some in concluded])
        size, right, true = (
            np.concatenate([getattr(some, name) for some in concluded])
            for name in ("size", "right", "true")
        )
        has_value = true >= 0
        exposed: Bools = (size == 1) & (right | ~has_value)
        if changed := sum(some.changed for some in concluded):
            notes.append(
                f"{changed} person(s) changed the sensitive value between releases, which the lemma"
                " does not speak about"
            )
        if unknown := int((~has_value).sum()):
            notes.append(
                f"the true value of {unknown} person(s) is not given; with one candidate left they"
                " count as exposed"
            )
        if wrong := int(((size == 1) & ~exposed).sum()):
            notes.append(f"the adversary is certain and wrong about {wrong} person(s)")
        given = int(has_value.sum())
        return Attack(
            adversary=self.name,
            knows=self.knows,
            persons=len(persons),
            exposed=int(exposed.sum()),
            success=(
                float((right[has_value] / np.maximum(size[has_value], 1)).sum()) / given
                if given
                else None
            ),
            baseline=int(np.bincount(true[has_value]).max()) / given if given else None,
            histogram={
                int(s): int(n) for s, n in zip(*np.unique(size, return_counts=True), strict=True)
            },
            note="; ".join(notes),
            per_person=pl.DataFrame({"person": persons, "candidates": size, "exposed": exposed}),
        )


def _values(series: Sequence[Release], evidence: Evidence) -> Values:
    """All values that a person may have: what is published, and the truth where it is given."""
    published = [r.generalized.table[str(r.form.sensitive)] for r in series]
    return Values.of(
        published
        + [
            m.sensitive.domain.values
            for r in series
            if (m := evidence.microdata.get(r.number)) is not None
        ]
    )


def _by_group(
    release: Release, values: Values, evidence: Evidence, among: pl.Series | None = None
) -> _Seen:
    """The worst case: each person's own group; of all persons, or of some of them."""
    mapping = evidence.groups.get(release.number)
    if mapping is None:
        raise ReleaseError(
            f"release {release.number} has no person-to-group mapping, without which the worst case"
            f" is unknown; {where_groups_stand(release)}."
        )
    ids = Groups.of(release.generalized).ids
    numbered = pl.DataFrame(
        {GROUP: ids.cast(pl.Int64), "place": np.arange(len(ids), dtype=np.int64)}
    )
    hosted = (
        _published(mapping)
        .with_columns(pl.col(GROUP).cast(pl.Int64))
        .join(numbered, on=GROUP, how="left", maintain_order="left")
    )
    if hosted["place"].null_count() or hosted["person"].n_unique() < hosted.height:
        raise ReleaseError(
            f"the person-to-group mapping does not fit the files of release {release.number}; use"
            " the ledger that it was published with."
        )
    microdata = evidence.microdata.get(release.number)
    with_rows = None if microdata is None or not release.manifest.registered else microdata.persons
    for some in (among, with_rows):
        if some is not None:
            mine = some.alias("person").to_frame()
            hosted = hosted.join(mine, on="person", how="semi", maintain_order="left")
    place = hosted["place"].to_numpy().astype(np.int64)
    sets = values.of_groups(release.generalized, place)
    if with_rows is None:  # who is registered may have no row, and any value
        lists = Groups.of(release.generalized).registered[place] > 0
        sets[lists] = values.every
    return _Seen(hosted["person"], values.opened(sets, release))


def _by_box(
    release: Release, values: Values, evidence: Evidence, among: pl.Series | None = None
) -> _Seen:
    """The public view, of all persons published or of some of them."""
    microdata, mapping = _original(release, evidence), evidence.groups.get(release.number)
    rows = pl.DataFrame({"person": microdata.persons}).with_row_index("row")
    if mapping is not None:
        rows = rows.join(_published(mapping), on="person", how="semi", maintain_order="left")
    if among is not None:
        rows = rows.join(among.to_frame("person"), on="person", how="semi", maintain_order="left")
    sets = values.of_boxes(
        release.generalized, microdata.take(rows["row"].to_numpy().astype(np.int64))
    )
    sets = values.opened(sets, release)
    inside = np.ones(len(sets), dtype=bool) if mapping is not None else sizes(sets) > 0
    return _Seen(rows["person"].filter(pl.Series(inside)), sets[inside])


def _original(release: Release, evidence: Evidence) -> Microdata:
    return original_of(release, evidence, "no quasi-identifiers are known", persons=True)


def _published(mapping: pl.DataFrame) -> pl.DataFrame:
    """Group 0 is no person's group: those rows were suppressed."""
    return mapping.filter(pl.col(GROUP) != 0)


def _is_affordable(series: Sequence[Release], evidence: Evidence) -> bool:
    """Whether all persons can be compared with every box; without every mapping there is nothing to
    prune by.
    """
    work = sum(_original(r, evidence).rows * r.form.groups for r in series)
    return work <= AFFORDABLE or any(r.number not in evidence.groups for r in series)


def _intersected(seen: Sequence[_Seen], values: Values) -> tuple[pl.Series, Sets]:
    """All persons seen, and the values that all of their releases leave possible."""
    persons = (
        pl.concat([s.persons for s in seen]).unique(maintain_order=True)
        if seen
        else pl.Series("person", [], dtype=pl.Binary)
    )
    remaining = np.full((len(persons), values.words), np.iinfo(np.uint64).max, dtype=np.uint64)
    for who, now in _placed(seen, persons):
        remaining[who] &= now
    return persons, remaining


def _placed(seen: Sequence[_Seen], persons: pl.Series) -> Iterator[tuple[Ints, Sets]]:
    numbered = pl.DataFrame({"person": persons, "who": np.arange(len(persons), dtype=np.int64)})
    for s in seen:
        yield (
            s.persons.to_frame("person")
            .join(numbered, on="person", how="left", maintain_order="left")["who"]
            .to_numpy(),
            s.sets,
        )


def _prune(
    persons: pl.Series,
    left: Sets,
    series: Sequence[Release],
    values: Values,
    evidence: Evidence,
) -> int:
    """What is ``left`` by group, by box for those with at most one candidate, whose number is given:
    the sets by box contain those by group.
    """
    few = np.flatnonzero(sizes(left) <= 1)
    suspects = persons.gather(few)
    who, by_box = _intersected([_by_box(r, values, evidence, suspects) for r in series], values)
    place = (
        who.to_frame("person")
        .join(
            pl.DataFrame({"person": suspects, "row": few}),
            on="person",
            how="left",
            maintain_order="left",
        )["row"]
        .to_numpy()
    )
    left[place] = by_box
    return len(few)


def _some_at_a_time(
    series: Sequence[Release], values: Values, evidence: Evidence
) -> Iterator[pl.Series | None]:
    """All persons, some at a time, of whom those who are alike come together; None for all of them,
    where their sets are few words.
    """
    step = max(1, _AT_ONCE // max(1, values.words * len(series)))
    everyone = [persons for release in series for persons in _of_release(release, evidence)]
    if sum(map(len, everyone)) <= step:
        yield None
        return
    persons = pl.concat(everyone).unique(maintain_order=True)
    for start in range(0, len(persons), step):
        yield persons[start : start + step]


def _of_release(release: Release, evidence: Evidence) -> Iterator[pl.Series]:
    """The persons of the original table, by their quasi-identifiers, and those whom a mapping
    names.
    """
    microdata = evidence.microdata.get(release.number)
    mapping = evidence.groups.get(release.number)
    if microdata is not None and microdata.persons is not None:
        codes = [microdata.columns[a.name].codes for a in release.form.attribute("quasi")]
        yield microdata.persons.alias("person").gather(np.lexsort(codes[::-1]))
    if mapping is not None:
        yield mapping["person"].alias("person")


def _true_values(
    series: Sequence[Release],
    seen: Sequence[_Seen],
    persons: pl.Series,
    values: Values,
    evidence: Evidence,
) -> tuple[Ints, int]:
    """The number of each person's value in the last release that published them, -1 where no table
    tells, shape (n,); and how many persons had several.
    """
    true, changed = np.full(len(persons), -1, dtype=np.int64), np.zeros(len(persons), dtype=bool)
    for release, (who, _), s in zip(series, _placed(seen, persons), seen, strict=True):
        microdata = evidence.microdata.get(release.number)
        if microdata is None or microdata.persons is None:
            continue
        places = values.places(microdata.sensitive.domain.values)[microdata.sensitive.codes]
        beside = s.persons.to_frame("person").join(
            pl.DataFrame({"person": microdata.persons, "own": places}),
            on="person",
            how="left",
            maintain_order="left",
        )
        now = beside["own"].fill_null(-1).to_numpy()
        before = true[who]
        changed[who] |= (before >= 0) & (now >= 0) & (before != now)
        true[who] = np.where(now >= 0, now, before)
    return true, int(changed.sum())
