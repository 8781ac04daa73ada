"""The intersection adversary: what several releases together leave possible (Xiao & Tao, SIGMOD 2007, Lemma 1)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.base import Attack
from phalanx.errors import ReleaseError
from phalanx.guarantees.boxes import candidate_sets
from phalanx.release.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.generalized import GROUP

Candidates = frozenset[object]

_KNOWS: Final = {
    "box": "everybody's quasi-identifier values, and in which releases everybody is; the groups that may host a person are those whose box contains them",
    "person": "in which group of each release everybody was published: the worst case",
}


@dataclass(frozen=True)
class Intersection:
    """Intersects, over the releases a person is in, the sensitive values that the person may have in each.

    ``view`` "box": a release leaves the values of all groups whose box contains the person's quasi-identifiers (the paper's candidate sensitive set;
    needs ``evidence.microdata`` with persons). ``view`` "person": it leaves the values of the person's own group (needs ``evidence.groups``); since the
    own group is among those of the box, this adversary exposes everybody whom the other one does.

    A person is exposed if one candidate is left and it is theirs. The lemma is about values that persist: persons whose value changed are counted in
    the note. Works on any series of generalized releases; a group's counterfeits are among its values, as for a real adversary.
    """

    view: Literal["box", "person"] = "box"

    def __post_init__(self) -> None:
        if self.view not in _KNOWS:
            raise ReleaseError(f"the intersection adversary's view is {self.view!r} and must be 'box' or 'person'.")

    @property
    def name(self) -> str:
        return "intersection" if self.view == "box" else "intersection-by-person"

    @property
    def knows(self) -> str:
        return _KNOWS[self.view]

    def attack(self, releases: Sequence[Release], evidence: Evidence) -> Attack:
        """The candidates left for every person; ReleaseError where the mapping or a table is missing."""
        if any(r.form.sensitive is None for r in releases):
            raise ReleaseError("a release has no sensitive attribute, so there is nothing to expose.")
        left: dict[bytes, Candidates] = {}
        for release in releases:
            persons, candidates = self._candidates(release, evidence)
            meet: dict[tuple[Candidates, Candidates], Candidates] = {}
            for person, now in zip(persons, candidates, strict=True):
                before = left.get(person)
                if before is None or before == now:
                    left[person] = now
                    continue
                both = meet.get((before, now))
                left[person] = meet.setdefault((before, now), before & now) if both is None else both
        return self._conclude(left, releases, evidence)

    def _candidates(self, release: Release, evidence: Evidence) -> tuple[list[bytes], list[Candidates]]:
        """The published persons of a release, and what it leaves possible for each."""
        mapping, microdata = evidence.groups.get(release.number), evidence.microdata.get(release.number)
        if self.view == "person":
            if mapping is None:
                raise ReleaseError(f"release {release.number} has no person-to-group mapping, without which the worst case is unknown; name its ledger.")
            of_group = _values_of_groups(release)
            return mapping["person"].to_list(), [of_group[g] for g in mapping["group"].to_list()]
        if microdata is None or microdata.persons is None:
            raise ReleaseError(f"release {release.number} has no original table with persons beside it, without which nobody's quasi-identifiers are known.")
        if mapping is not None:
            rows = microdata.persons.to_frame("person").with_row_index("row").join(mapping, on="person", how="semi")["row"]
            microdata = microdata.take(rows.to_numpy().astype(np.int64))
        persons = microdata.persons
        if persons is None:
            return [], []
        return persons.to_list(), _sets(candidate_sets(microdata, release.form), release)

    def _conclude(self, left: dict[bytes, Candidates], releases: Sequence[Release], evidence: Evidence) -> Attack:
        true, changed = _true_values(releases, evidence)
        certain = {p: next(iter(c)) for p, c in left.items() if len(c) == 1}
        known = [p for p in left if p in true]
        exposed = {p for p, value in certain.items() if p not in true or true[p] == value}
        success = sum((true[p] in left[p]) / len(left[p]) for p in known if left[p]) / len(known) if known else None
        baseline = Counter(true[p] for p in known).most_common(1)[0][1] / len(known) if known else None
        notes = []
        if changed:
            notes.append(f"{changed} person(s) changed the sensitive value between releases, which the lemma does not speak about")
        if len(known) < len(left):
            notes.append(f"the true value of {len(left) - len(known)} person(s) is not given; with one candidate left they count as exposed")
        if wrong := len(certain) - len(exposed):
            notes.append(f"the adversary is certain and wrong about {wrong} person(s)")
        sizes = {p: len(c) for p, c in left.items()}
        return Attack(
            adversary=self.name,
            knows=self.knows,
            persons=len(left),
            exposed=len(exposed),
            success=success,
            baseline=baseline,
            histogram=dict(Counter(sizes.values())),
            note="; ".join(notes),
            per_person=pl.DataFrame(
                {"person": list(left), "candidates": list(sizes.values()), "exposed": [p in exposed for p in left]},
                schema={"person": pl.Binary, "candidates": pl.Int64, "exposed": pl.Boolean},
            ),
        )


def _values_of_groups(release: Release) -> dict[int, Candidates]:
    grouped = release.form.table.group_by(GROUP).agg(pl.col(str(release.form.sensitive)).unique())
    same: dict[Candidates, Candidates] = {}
    found = ((g, frozenset(values)) for g, values in grouped.iter_rows())
    return {g: same.setdefault(values, values) for g, values in found}


def _sets(possible: npt.NDArray[np.bool_], release: Release) -> list[Candidates]:
    """The rows of a matrix (n, q) as sets of values; equal rows share one set."""
    from phalanx.guarantees.groups import Groups

    values = Groups.of(release.form).values
    names = [] if values is None else values.to_list()
    packed = np.packbits(possible, axis=1)
    distinct, first, whose = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    sets = [frozenset(names[i] for i in np.flatnonzero(possible[row])) for row in first[: len(distinct)]]
    return [sets[i] for i in whose.ravel()]


def _true_values(releases: Sequence[Release], evidence: Evidence) -> tuple[dict[bytes, object], int]:
    """Everybody's sensitive value in their last release, and how many persons had several."""
    true: dict[bytes, object] = {}
    changed: set[bytes] = set()
    for release in releases:
        microdata = evidence.microdata.get(release.number)
        if microdata is None or microdata.persons is None:
            continue
        values = microdata.sensitive.domain.values.gather(microdata.sensitive.codes)
        for person, value in zip(microdata.persons.to_list(), values.to_list(), strict=True):
            if person in true and true[person] != value:
                changed.add(person)
            true[person] = value
    return true, len(changed)
