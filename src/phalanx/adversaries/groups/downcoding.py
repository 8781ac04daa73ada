# SPDX-License-Identifier: Apache-2.0
"""The downcoding adversary: finer values than were published, because boxes are no wider than they
must be (Cohen, USENIX Security 2022, section 3).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.base import (
    Attack,
    Interval,
    Looks,
    asked,
    between,
    percent,
    where_groups_stand,
    wilson,
)
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.groups.ends import NO_PERSON, Ends
from phalanx.adversaries.groups.hosts import original_table
from phalanx.adversaries.groups.meeting import containing
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.arrays import Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.boxes import box_ends
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import GROUP

_FIXED: Final = (
    "the release is recoded into cells of a scheme that does not follow the rows of a cell, so that"
    " no cell is known to be as small as it could be"
)
_SURE: Final = (
    "a record is one of its group, and not one particular person: who is which of a group's records"
    " is another question"
)


@dataclass(frozen=True, kw_only=True)
class Downcoded(Attack):
    """What downcoding found. ``persons`` counts the published records of the original table,
    ``exposed`` those that it narrowed, and rightly.

    ``success`` is the share of ``exposed`` among all of them, ``baseline`` what is expected of the
    same guess where boxes may be wider than they must be: then an end is the value of a record only
    by the chance that some record has it. ``histogram`` counts records by how many values are left
    for each on the attribute that was narrowed in its group.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    narrowed: int
    """Records that it narrowed to one value of an attribute."""
    groups: int
    """How many groups the release has."""
    by_attribute: dict[str, int]
    """How many records it narrowed on each attribute."""

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        return (
            f"narrows {percent(self.success or 0)} of {self.persons} records to a finer value than"
            f" was published, and rightly ({between(self.interval)}), where"
            f" {percent(self.baseline or 0)} would be right by chance"
        )

    def tables(self) -> Iterator[Shown]:
        rows: list[list[object]] = [
            ["narrowed rightly", self.exposed, share(self.success), interval(self.interval)],
            ["narrowed", self.narrowed, share(self.narrowed / max(self.persons, 1)), ""],
            ["right by chance, if boxes may be wider than they must", "", share(self.baseline), ""],
            ["all", self.persons, "", ""],
        ]
        yield Shown(["records", "", "of all", "95 % interval"], rows, (1, 2))
        if self.by_attribute:
            yield Shown(["narrowed on", "records"], sorted(self.by_attribute.items()), (1,))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, narrowed, groups, by_attribute."""
        more = {
            "interval": [round(end, 6) for end in self.interval],
            "narrowed": self.narrowed,
            "groups": self.groups,
            "by_attribute": self.by_attribute,
        }
        return super().to_json() | more


@dataclass(frozen=True)
class Downcoding:
    """Knows how frequent the values of each quasi-identifier are, and that boxes are minimal: each
    end is the value of a record of the group.

    From a generalized release it makes a finer one. In every group whose interval on an attribute
    has two ends, one record has the lower one and another one the upper; the finer release says so,
    and leaves the other records as they were. This is done on one attribute of a group, the one on
    which the guess would be right least often without minimality; one attribute, because nothing
    tells which record has the end of a second one. Of an attribute with a hierarchy the ends are
    leaves, which are finer than the node that the release calls the group by.

    It knows no person's values. Needs ``evidence.microdata`` to count how often it is right; which
    group each person is in is what ``evidence.groups`` says, and without that the one group whose
    box contains the person. Ends that widening (``min_width``) may have moved are left alone; so
    are those of groups with registered persons. A recoded release has nothing to narrow, which the
    note says.

    Source: Cohen, "Attacks on deidentification's defenses", sections 3 and 4. How we differ: the
    paper shows that some distribution and some hierarchy let downcoding refine a constant share of
    all records; this counts what is certain on any release, by the step that all its proofs begin
    with.

    Raises
    ------
    ReleaseError
        For several releases, forms without boxes, where the original table is missing or another
        one, and where a person fits into several groups and no mapping tells which is theirs.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    exposes: ClassVar[str] = ""
    no_breach: ClassVar[str] = (
        "no guarantee of this release says that intervals are no wider than they look"
    )

    @property
    def name(self) -> str:
        return "downcoding"

    @property
    def knows(self) -> str:
        return (
            "how frequent the values of each quasi-identifier are, no person's own, and that no"
            " box is wider than its records"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Downcoded:
        """How many records it narrows, and how many rightly."""
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        microdata = original_table(release, evidence)
        if release.form.kind == "recoded":
            return self._concluded(microdata.rows, release.form.groups, note=_FIXED)
        if release.form.kind != "generalized":
            raise ReleaseError(
                f"the {self.name} adversary narrows boxes, and a {release.form.kind} release has"
                " none."
            )
        names = [a.name for a in release.form.attribute("quasi")]
        codes = np.stack([microdata.columns[name].codes for name in names], axis=1).astype(np.int64)
        mapping = evidence.groups.get(release.number)
        # whether a person fits into several boxes shows before all of them are found
        if mapping is None or microdata.persons is None:
            member = _by_box(release, microdata, codes)
            ends = Ends.of(release, microdata)
        else:
            ends = Ends.of(release, microdata)
            member = _members(release, microdata.persons, mapping)
        if (member < 0).any():
            raise _unplaced(release)
        shares = [
            np.bincount(codes[:, a], minlength=len(microdata.columns[name].domain)) / microdata.rows
            for a, name in enumerate(names)
        ]
        sizes = np.bincount(member, minlength=len(ends.groups)).astype(np.int64)
        attribute, chance = guesses(ends.codes, sizes, shares)
        claimed = np.flatnonzero(attribute >= 0)
        remaining, records = _values_left(release, microdata, attribute), sizes.copy()
        records[claimed] -= 2
        counted = np.bincount(
            np.append(remaining, 1), weights=np.append(records, 2 * len(claimed))
        ).astype(np.int64)
        return self._concluded(
            microdata.rows,
            len(ends.groups),
            exposed=_right(ends.codes, attribute, member, codes),
            narrowed=2 * len(claimed),
            baseline=float(chance.sum()) / max(microdata.rows, 1),
            histogram={int(values): int(counted[values]) for values in np.flatnonzero(counted)},
            by_attribute={
                name: n for a, name in enumerate(names) if (n := 2 * int((attribute == a).sum()))
            },
            note=_note(release),
        )

    def _concluded(
        self,
        persons: int,
        groups: int,
        *,
        exposed: int = 0,
        narrowed: int = 0,
        baseline: float = 0.0,
        note: str,
        **figures: Any,
    ) -> Downcoded:
        success = exposed / max(persons, 1)
        return Downcoded(
            adversary=self.name,
            knows=self.knows,
            persons=persons,
            exposed=exposed,
            success=success,
            baseline=baseline,
            interval=wilson(success, persons),
            narrowed=narrowed,
            groups=groups,
            note=note,
            histogram=figures.get("histogram", {}),
            by_attribute=figures.get("by_attribute", {}),
        )


def guesses(codes: Ints, sizes: Ints, shares: Sequence[Floats]) -> tuple[Ints, Floats]:
    """The attribute to narrow in every group, -1 where there is none, and how many of its ends
    would be records' values by chance; each of shape (g,).

    ``codes`` (g, d, 2): the readable ends, NO_PERSON elsewhere. ``sizes`` (g,): records.
    ``shares``: of every attribute's values, each by code.
    """
    g, d = codes.shape[:2]
    chance = np.full((g, d), np.inf)
    for a in range(d):
        low, high = codes[:, a, 0], codes[:, a, 1]
        readable = (low != high) & (codes[:, a] != NO_PERSON).all(axis=1) & (sizes > 1)
        below = np.concatenate([[0.0], np.cumsum(shares[a])])
        within = below[high + 1] - below[np.maximum(low, 0)]
        expected = np.zeros(g)
        for end in (low, high):
            share = np.where(
                readable, shares[a][np.maximum(end, 0)] / np.where(within > 0, within, 1), 0
            )
            expected += 1 - (1 - np.minimum(share, 1)) ** sizes
        chance[:, a] = np.where(readable, expected, np.inf)
    best = chance.argmin(axis=1) if d else np.zeros(g, dtype=np.int64)
    least = chance[np.arange(g), best]
    return np.where(np.isfinite(least), best, -1).astype(np.int64), np.where(
        np.isfinite(least), least, 0.0
    )


def _right(ends: Ints, attribute: Ints, member: Ints, codes: Ints) -> int:
    """How many of the ends that are named, two of every group with an attribute, are the value of a
    record of that group.
    """
    at, place = attribute[member], np.arange(len(member))
    true_codes = codes[place, at]
    hit = (at >= 0)[:, None] & (true_codes[:, None] == ends[member, at])
    return sum(len(np.unique(member[hit[:, side]])) for side in (0, 1))


def _members(release: Release, persons: pl.Series, mapping: pl.DataFrame) -> Ints:
    """Each person's group by the mapping, as a place among the groups, shape (n,)."""
    ids = release.generalized.table[GROUP].unique().sort()
    place = pl.DataFrame({GROUP: ids.cast(pl.Int64), "place": np.arange(len(ids))})
    beside = persons.to_frame("person").join(
        mapping.with_columns(pl.col(GROUP).cast(pl.Int64)),
        on="person",
        how="left",
        maintain_order="left",
    )
    places = beside.join(place, on=GROUP, how="left", maintain_order="left")["place"]
    if places.null_count():
        raise ReleaseError(
            f"the person-to-group mapping does not fit the files of release {release.number};"
            " use the ledger that it was published with."
        )
    return places.to_numpy().astype(np.int64)


def _by_box(release: Release, microdata: Microdata, codes: Ints) -> Ints:
    """Each person's group without a mapping: the only one whose box contains the person, -1 where
    none does, shape (n,); ReleaseError as soon as one person fits into several.
    """
    low, high = (
        np.stack(side, axis=1)
        for side in zip(*box_ends(microdata, release.generalized), strict=True)
    )
    member = np.full(len(codes), -1, dtype=np.int64)
    for who, group in containing(codes, low, high):
        if (member[who] >= 0).any() or len(np.unique(who)) < len(who):
            raise _unplaced(release)
        member[who] = group
    return member


def _unplaced(release: Release) -> ReleaseError:
    return ReleaseError(
        f"some persons fit into no group or into several of release {release.number};"
        f" {where_groups_stand(release)}, and the identifier column."
    )


def _values_left(release: Release, microdata: Microdata, attribute: Ints) -> Ints:
    """How many values of the original table each group's interval holds, on the attribute that is
    narrowed, else on the one with the most, shape (g,).
    """
    counts = np.stack(
        [np.maximum(high - low + 1, 1) for low, high in box_ends(microdata, release.generalized)],
        axis=1,
    )
    at = np.where(attribute >= 0, attribute, counts.argmax(axis=1))
    remaining: npt.NDArray[np.int64] = counts[np.arange(len(counts)), at]
    return remaining


def _note(release: Release) -> str:
    notes = [_SURE]
    if release.manifest.boxes == "widened":
        notes.append("boxes were widened: only ends that this cannot have moved are read")
    if release.manifest.registered:
        notes.append("of groups with registered persons, who have no row, no end is read")
    return "; ".join(notes)
