# SPDX-License-Identifier: Apache-2.0
"""The informed adversary: it knows how rows were made, and links a person to the nearest row that
may be the person's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from phalanx.adversaries.base import Looks, asked
from phalanx.adversaries.disclosure import (
    Disclosed,
    Floats,
    drawn,
    figures,
    numbered,
    of_persons,
    one_release,
    published_table,
    shares,
)
from phalanx.adversaries.records.nearness import WORDS, Blocks, Distance, distance_of, nearest
from phalanx.adversaries.records.rows import Records
from phalanx.adversaries.records.subsets import renumbered
from phalanx.errors import PlanError, ReleaseError, did_you_mean
from phalanx.exact import Ints, whole
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.manifest import Manifest

_MOST_PAIRS: Final = 1 << 27
"""So many pairs of a person and a row are compared; where there are more, persons are drawn."""
_DRAWN: Final = 2000
"""How many."""


@dataclass(frozen=True)
class Informed:
    """Knows all quasi-identifier values of a person, the method and its parameters, and links the
    person to the nearest rows of a perturbed release.

    It knows that values were changed, and passes over the rows that differ from the person in fewer
    than ``changes`` quasi-identifiers: None for what the manifest says (1 where rows were changed
    only if they had come out unchanged). Nearness is the sum over quasi-identifiers of
    ``distances``: ``l1`` (difference over the width of the domain), ``hierarchy`` (the level on
    which two values meet, over the height), ``equal`` (0 or 1) or a matrix by values; where none is
    given what the manifest says, else l1 for numbers and dates, and the hierarchy where there is
    one. Of several nearest rows each is as likely. Identity disclosure is how often it so picks the
    person's own row, attribute disclosure how often one with the person's value.

    Attacks everybody where there are few pairs of a person and a row, else ``sample`` persons
    (2,000 where None), and says so; with ``sample``, so many. Needs ``evidence.microdata`` and who
    was published in which row (``evidence.rows`` or ``evidence.groups``). PlanError for numbers
    below 1.
    """

    question: ClassVar[str] = "linkability"
    looks_at: ClassVar[Looks] = "release"
    played_with: ClassVar[Mapping[str, Any]] = {"sample": 2000}
    stands_for: ClassVar[str] = (
        "The release folder says by which method it was made, so whoever has the folder and knows"
        " somebody's quasi-identifiers can do this: judge the release by this adversary."
    )

    sample: int | None = None
    changes: int | None = None
    distances: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sample is not None:
            whole(self.sample, "sample")
        if self.changes is not None:
            whole(self.changes, "changes")
        if not isinstance(self.distances, Mapping):
            raise PlanError(
                f"distances = {self.distances!r} must be a table with a distance for each"
                " quasi-identifier."
            )

    @property
    def name(self) -> str:
        return "informed"

    @property
    def knows(self) -> str:
        return (
            "everybody's quasi-identifier values, and how the method changes some of them; it takes"
            " the nearest row that may be the person's"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Disclosed:
        """Both disclosures; ReleaseError for several releases, other forms, or where the original
        table, or who is in which row, is missing.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        form = release.form
        if not isinstance(form, Perturbed):
            raise ReleaseError(
                f"the {self.name} adversary looks for rows that were changed, as in a perturbed"
                f" release, and this one is {form.kind}."
            )
        microdata, own = published_table(release, evidence, self.name)
        records = Records.of(form, microdata)
        names = [a.name for a in form.attribute("quasi")]
        distances = [
            distance_of(name, domain, self._asked(release.manifest, names).get(name))
            for name, domain in zip(names, records.domains, strict=True)
        ]
        everybody = np.flatnonzero(own >= 0)
        few = len(everybody) * form.rows <= _MOST_PAIRS
        who = drawn(everybody, self.sample if self.sample is not None else None if few else _DRAWN)
        values = shown = None
        if form.sensitive is not None:
            shown, of_person = numbered(form.table[form.sensitive], microdata)
            values = of_person[who]
        count, identity, attribute = _picked(
            records,
            distances,
            who,
            own[who],
            self._at_least(release.manifest, len(names)),
            values,
            shown,
        )
        per_person = (
            {"identity": identity}
            if attribute is None
            else {"identity": identity, "attribute": attribute}
        )
        n = max(len(who), 1)
        return Disclosed(
            adversary=self.name,
            knows=self.knows,
            note=(
                ""
                if len(who) == len(everybody)
                else f"{len(who)} of {len(everybody)} persons were drawn"
            ),
            sample=None if len(who) == len(everybody) else len(who),
            **of_persons(
                microdata,
                who,
                count,
                (count == 1) & (identity == 1),
                values,
                shares(shown, form.rows),
                form.rows,
                per_person,
            ),
            **figures(
                float(identity.sum()) / n,
                None if attribute is None else float(attribute.sum()) / n,
                len(who),
            ),
        )

    def _asked(self, manifest: Manifest, names: Sequence[str]) -> Mapping[str, Any]:
        """The distances that are given, and those that the manifest names in words."""
        for name in self.distances:
            if name not in names:
                raise PlanError(
                    f"distances names {name!r}, which is no"
                    f" quasi-identifier{did_you_mean(name, names) or '; remove it.'}"
                )
        said = manifest.method.get("distances", {})
        return {name: word for name, word in said.items() if word in WORDS} | dict(self.distances)

    def _at_least(self, manifest: Manifest, d: int) -> int:
        """On how many quasi-identifiers each row differs from its person, at least."""
        said = (
            manifest.method.get("changes", 1)
            if manifest.method.get("unchanged") == "coupled"
            else 1
        )
        changes = (
            whole(said, "the manifest's number of changes")
            if self.changes is None
            else self.changes
        )
        if changes > d:
            raise PlanError(
                f"changes = {changes} and the release has {d} quasi-identifiers; lower it."
            )
        return changes


def _picked(
    records: Records,
    distances: Sequence[Distance],
    who: Ints,
    own: Ints,
    changes: int,
    values: Ints | None,
    shown: Ints | None,
) -> tuple[Ints, Floats, Floats | None]:
    """How many rows are nearest to each person, and the chances that one of them is the person's
    ``own`` and has the person's value.
    """
    q = 1 if shown is None else 1 + int(shown.max(initial=0))
    distinct, place = _different(records.rows)
    times = np.bincount(place)
    cells, held = np.unique(place * q + (0 if shown is None else shown), return_counts=True)
    found = list(
        nearest(Blocks.of(records.rows[distinct], distances), records.persons[who], changes)
    )
    person, row = (
        np.repeat(np.arange(len(who)), [len(rows) for rows in found]),
        np.concatenate([np.zeros(0, np.int64), *found]),
    )
    count = np.bincount(person, weights=times[row], minlength=len(who)).astype(np.int64)
    identity = np.bincount(person, weights=row == place[own][person], minlength=len(who))
    if values is None:
        return count, identity / count, None
    wanted = row * q + values[person]
    at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    same = np.where((cells[at] == wanted) & (values[person] < q), held[at], 0)
    return count, identity / count, np.bincount(person, weights=same, minlength=len(who)) / count


def _different(rows: Ints) -> tuple[Ints, Ints]:
    """A row of every kind, and the kind of every row; equal rows are of one."""
    number = np.zeros(len(rows), dtype=np.int64)
    for a in range(rows.shape[1]):
        codes = rows[:, a] + 1
        number = renumbered(number * (int(codes.max(initial=0)) + 1) + codes)
    _, first = np.unique(number, return_index=True)
    return first, number
