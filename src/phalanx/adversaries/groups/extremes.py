# SPDX-License-Identifier: Apache-2.0
"""The adversary who reads the ends of boxes: who must be in the table, in which group, with which
value (Li, Qardaji, Su, section 3.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.base import Attack, Looks, asked, original_of
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.groups.ends import NO_PERSON, Ends
from phalanx.adversaries.showing import Shown, share
from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

_SIDES: Final[tuple[Literal["smallest", "largest"], ...]] = ("smallest", "largest")
_NO_BOXES: Final = {
    "bucketized": (
        "a bucketized release has no boxes: it shows each person's quasi-identifiers as they are,"
        " so that nothing need be inferred of who is in it."
    ),
    "perturbed": (
        "a perturbed release has no boxes, and nothing to read off their ends: it shows values that"
        " its persons may not have; play 'informed' on it."
    ),
    "sliced": (
        "a sliced release has no boxes of groups, and nothing to read off their ends; play"
        " 'membership' on it."
    ),
}
_RECODED: Final = (
    "the release is recoded into cells of a fixed scheme: no end follows any person's value, so"
    " that there is nothing to infer from ends"
)


@dataclass(frozen=True, kw_only=True)
class Extreme:
    """A value that one person of the population has and no person is beyond, and that stands in the
    release as the end of a box.

    An adversary who knows just one thing, that this person alone is beyond some bound, reads off
    the files that the person is in the table, and all of this.
    """

    attribute: str
    end: Literal["smallest", "largest"]
    value: str
    """The person's exact value, as it is published."""
    group: int
    rows: int
    """How many rows the group has."""
    sensitive: str | None
    """The most frequent sensitive value of the group; None where none is published, or it is
    missing.
    """
    share: float | None
    """Its share of the group's rows."""


@dataclass(frozen=True, kw_only=True)
class Proven(Attack):
    """What the ends of boxes prove. ``persons`` are those of the original table who fit into a box,
    ``success`` and ``baseline`` are None.

    ``histogram`` counts them by the fewest persons who can have set an end that they can have set,
    0 where they can have set none; ``exposed`` are those who alone can: they are in the table, in
    that group.
    """

    groups: int
    """How many groups the release has."""
    proving: int = 0
    """How many of them have an end that one person alone can have set."""
    extremes: tuple[Extreme, ...] = ()
    """The extremes of the whole population that are published and one person's alone."""
    alone: int = 0
    """How many different persons these are."""
    largest: float | None = None
    """The largest share that some sensitive value has in the group of a person who is proven to be
    there; None where there is no person or no such value.
    """

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        return (
            f"proves of {self.exposed} of {self.persons} persons that they are in the table, and in"
            " which group; no person would be proven to without the release"
        )

    def tables(self) -> Iterator[Shown]:
        header = [
            "persons",
            "certainly in the table",
            "groups",
            "with such an end",
            "largest share of a value",
        ]
        largest = "none" if self.largest is None else share(self.largest)
        yield Shown(
            header, [[self.persons, self.exposed, self.groups, self.proving, largest]], range(5)
        )
        if self.extremes:
            rows = [
                [
                    e.attribute,
                    e.end,
                    e.value,
                    e.group,
                    e.rows,
                    e.sensitive or "",
                    share(e.share, ""),
                ]
                for e in self.extremes
            ]
            yield Shown(
                [
                    "one person's alone",
                    "",
                    "is exactly",
                    "in group",
                    "of rows",
                    "most frequent value",
                    "its share",
                ],
                rows,
                (2, 3, 4, 6),
            )
        bins = [
            ("1", 0, 1),
            ("2 to 5", 1, 5),
            ("6 to 10", 5, 10),
            ("more than 10", 10, inf),
            ("no end can be theirs", -1, 0),
        ]
        yield self.binned(["who can have set an end beside them", "persons"], bins)

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and groups, proving, extremes (each attribute, end, value,
        group, rows, sensitive, share), alone, largest.
        """
        more = {
            "groups": self.groups,
            "proving": self.proving,
            "extremes": [
                vars(extreme) | {"share": _rounded(extreme.share)} for extreme in self.extremes
            ],
            "alone": self.alone,
            "largest": _rounded(self.largest),
        }
        return super().to_json() | more


@dataclass(frozen=True)
class Extremes:
    """Knows each person's quasi-identifiers, not who is in the table, and reads the ends of a
    generalized release's boxes.

    A tight box ends at values of its group. An end that one person of the population alone can have
    set, having its value and lying in the box on all other attributes, proves that this person is
    in the table, and in that group. ``extremes`` need less: that a person is known to be alone
    beyond some bound, as the one person of a town who owns more than 10 million. Every group is
    looked at by itself and rows are not counted, so that what is claimed is certain, and holds for
    whichever persons the others of a group are; an adversary who puts groups together may find
    more.

    Needs ``evidence.microdata``: with its registry, where it has one, it is the population. An end
    that several can have set there proves nothing. Of widened boxes only ends are read that cannot
    have been moved; of groups that hold registered persons without a row none. A recoded release
    has no ends that follow a person, which the note says.

    Raises
    ------
    ReleaseError
        For other forms.
    """

    question: ClassVar[str] = "singling out"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    exposes: ClassVar[str] = ""
    no_breach: ClassVar[str] = "no guarantee of this release hides who is in the table"

    @property
    def name(self) -> str:
        return "extremes"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values, and not who is in the table; it looks for ends"
            " of boxes that one person alone can have set"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Proven:
        """Whom the ends prove to be there; ReleaseError for several releases, forms without boxes,
        or where the original table is missing or another one.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        microdata = original_of(release, evidence, "no quasi-identifiers are known")
        kind: str = release.form.kind
        if kind in _NO_BOXES:
            raise ReleaseError(_NO_BOXES[kind])
        if kind == "recoded":
            none_exposed = np.zeros(microdata.rows, dtype=np.int64)
            return self._concluded(
                microdata, none_exposed, none_exposed, note=_RECODED, groups=release.form.groups
            )
        ends = Ends.of(release, microdata)
        of, a, side = np.nonzero(ends.only != NO_PERSON)
        proving = np.unique(of)
        group = np.zeros(len(ends.population), dtype=np.int64)
        group[ends.only[of, a, side]] = ends.groups.ids.to_numpy()[of]
        extremes = _extremes(release, ends, microdata)
        fitting = np.flatnonzero(ends.hosted[: microdata.rows])
        return self._concluded(
            microdata.take(fitting),
            ends.fewest[fitting],
            group[fitting],
            note=_note(release, microdata.rows - len(fitting)),
            groups=len(ends.groups),
            proving=len(proving),
            extremes=tuple(extreme for _, extreme in extremes),
            alone=len({person for person, _ in extremes}),
            largest=(
                float(_shares(ends.groups)[proving].max())
                if len(proving) and ends.groups.values is not None
                else None
            ),
        )

    def _concluded(self, microdata: Microdata, fewest: Ints, group: Ints, **figures: Any) -> Proven:
        """``fewest`` (n,): the fewest candidates for an end of each person's; ``group`` (n,): where
        the person is who is the only one.
        """
        exposed = fewest == 1
        per_person = pl.DataFrame(
            {
                "candidates": fewest,
                "exposed": exposed,
                "group": pl.Series(group).set(pl.Series(~exposed), None),
            }
        )
        if microdata.persons is not None:
            per_person.insert_column(0, microdata.persons.alias("person"))
        return Proven(
            adversary=self.name,
            knows=self.knows,
            persons=microdata.rows,
            exposed=int(exposed.sum()),
            success=None,
            baseline=None,
            histogram={
                int(number): int(persons)
                for number, persons in zip(*np.unique(fewest, return_counts=True), strict=True)
            },
            per_person=per_person,
            **figures,
        )


def _extremes(release: Release, ends: Ends, microdata: Microdata) -> list[tuple[int, Extreme]]:
    """The published extremes of every attribute that are one person's alone, each with the person;
    a missing value is none.
    """
    extremes = []
    for a, attribute in enumerate(release.form.attribute("quasi")):
        population_codes = ends.population[:, a]
        population_codes = population_codes[
            population_codes >= int(microdata.columns[attribute.name].domain.has_missing)
        ]
        for side, extreme in enumerate(
            (
                population_codes.min(initial=np.iinfo(np.int32).max),
                population_codes.max(initial=NO_PERSON),
            )
        ):
            at = np.flatnonzero(
                (ends.codes[:, a, side] == extreme) & (ends.only[:, a, side] != NO_PERSON)
            )
            if len(at) and (population_codes == extreme).sum() == 1:
                g = int(at[0])
                value = release.form.table[attribute.columns[side - 2]][int(ends.rows[g])]
                extremes.append(
                    (
                        int(ends.only[g, a, side]),
                        Extreme(
                            attribute=attribute.name,
                            end=_SIDES[side],
                            value=str(value),
                            **_group(ends.groups, g),
                        ),
                    )
                )
    return extremes


def _group(groups: Groups, g: int) -> dict[str, Any]:
    """What the release says of one group: its id, its rows, and its most frequent sensitive value
    with its share.
    """
    shown = {
        "group": int(groups.ids[g]),
        "rows": int(groups.sizes[g]),
        "sensitive": None,
        "share": None,
    }
    members = groups.members
    cells = np.flatnonzero(members.cell_group == g)
    if members.values is None or not len(cells):
        return shown
    most = cells[members.cell_count[cells].argmax()]
    value = members.values[int(members.cell_value[most])]
    return shown | {
        "sensitive": None if value is None else str(value),
        "share": float(_shares(groups)[g]),
    }


def _shares(groups: Groups) -> npt.NDArray[np.float64]:
    """The share of the most frequent sensitive value among the rows of every group, shape (g,)."""
    return np.asarray(groups.members.largest / groups.sizes)


def _note(release: Release, outside: int) -> str:
    notes = (
        [f"{outside} person(s) of the original table fit into no group, and are left out"]
        if outside
        else []
    )
    if release.manifest.boxes == "widened":
        notes.append("boxes were widened: only ends that this cannot have moved are read")
    if release.manifest.registered:
        notes.append("of groups with registered persons, who have no row, no end is read")
    return "; ".join(notes)


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)
