# SPDX-License-Identifier: Apache-2.0
"""The omniscient adversary: it knows who is in which group, and the random output tables that rows
were drawn from; the worst case.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from phalanx.adversaries.base import Interval, Looks, asked, wilson
from phalanx.adversaries.disclosure import (
    Disclosed,
    figures,
    numbered,
    of_persons,
    one_release,
    published_table,
    shares,
)
from phalanx.adversaries.records.by_person import ByPerson, by_person
from phalanx.adversaries.records.kinds import kinds_of, pairs_by_group
from phalanx.adversaries.records.outcomes import Outcomes
from phalanx.adversaries.showing import interval, share
from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.exact import of_python, whole
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.guarantees.mutual_cover.output_tables import table_faults
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed

_MOST_PAIRS: Final = 1 << 30
"""Pairs of a kind of persons and one of rows, beyond which an attack would take hours."""
_PER_PAIR: Final = 8
"""A pair costs about as much as so many states: how probable it is, and how it is weighed."""


class TooLargeError(ReleaseError):
    """No group is so small that the budget of an attack suffices for it."""


@dataclass(frozen=True, kw_only=True)
class Inverted(Disclosed):
    """What the omniscient adversary concluded; ``identity`` and ``attribute`` are how often it is
    right if it draws by its probabilities.

    ``success`` is how often it is right if it names the most probable sensitive value, one of them
    where several are. ``histogram`` counts the persons for whom 1, 2, 3, … rows are possible,
    ``exposed`` those for whom their own alone is.
    """

    named: float
    """How often the most probable row is the person's own, one of them where several are."""
    named_interval: Interval
    """Its 95 % confidence interval, by Wilson."""
    largest: float | None
    """The largest probability that it gives any sensitive value of anybody; None where the release
    has no sensitive attribute.
    """
    largest_identity: float
    """The largest probability that it gives any row of anybody."""
    approximate: int
    """Persons whose probabilities are not summed over all that may have happened, but believed."""

    @property
    def named_rightly(self) -> tuple[float, Interval]:
        """How often the most probable row is the person's own, which is more often than a row drawn
        by its probabilities.
        """
        return self.named, self.named_interval

    def _picks(self) -> list[list[object]]:
        first, *rest = super()._picks()
        return [
            first,
            [
                "the same, if it takes the most probable one",
                share(self.named),
                interval(self.named_interval),
                "",
            ],
            *rest,
        ]

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack that links records, and named, named_interval, largest,
        largest_identity, approximate.
        """
        more = {
            "named": round(self.named, 6),
            "named_interval": [round(end, 6) for end in self.named_interval],
            "largest": None if self.largest is None else round(self.largest, 6),
            "largest_identity": round(self.largest_identity, 6),
            "approximate": self.approximate,
        }
        return super().to_json() | more


@dataclass(frozen=True)
class Omniscient:
    """Knows each person's quasi-identifiers and group, and the random output tables of a perturbed
    release: the posterior of whose row is whose.

    For each group, the probability that a person publishes the quasi-identifiers of a row is that
    of the law by which rows were drawn, and all assignments of rows to persons are possible
    beforehand. The posterior of a person's row sums over all assignments, exactly in floating
    point; where too many ways are open among too many persons at once, belief propagation stands in
    for the sum, and these persons are counted (see ``posterior`` in
    adversaries/records/assignments.py). No adversary who knows less, of how the release was made
    and of whom it is about, can know more from it alone.

    With ``sample``, groups are drawn until they have so many persons, and only these are attacked;
    with ``work``, at most so many states are gone through for all of them together, and the persons
    of the largest knots are believed: a pair of unlike persons and unlike rows of a group counts as
    8 of them, and groups whose pairs alone are more are left out.

    Needs ``evidence.microdata``, who was published in which row (``evidence.rows`` or
    ``evidence.groups``), and the random output tables.

    Raises
    ------
    PlanError
        For a sample or work below 1.
    """

    question: ClassVar[str] = "linkability"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    exposes: ClassVar[str] = ""
    no_breach: ClassVar[str] = (
        "no guarantee of this release hides whose row is which from an adversary who knows this"
        " much"
    )
    played_with: ClassVar[Mapping[str, Any]] = {"sample": 2000, "work": 1 << 22}
    stands_for: ClassVar[str] = (
        "Has what the publisher keeps private, and weighs every possibility. An adversary who"
        " knows the quasi-identifiers of all persons in the table comes near to it, as groups are"
        " cut by a public rule. No adversary who knows no more about the people themselves finds"
        " out more from this release alone: judge the release by this adversary."
    )

    sample: int | None = field(
        default=None, metadata={"help": "Attack so many persons, drawn at random."}
    )
    work: int | None = None
    """At most so many states are gone through for all groups together; None: no bound on that."""

    def __post_init__(self) -> None:
        of_python(self)
        for parameter in ("sample", "work"):
            if getattr(self, parameter) is not None:
                whole(getattr(self, parameter), parameter)

    @property
    def name(self) -> str:
        return "omniscient"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values and group, and with which probability each"
            " person published which values"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Inverted:
        """Identity and attribute disclosure; ReleaseError for several releases, other forms, and
        where evidence is missing or of another release.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        form = Perturbed.expect(release.form)
        microdata, row_of = published_table(release, evidence)
        drawn = self._drawn(release, form, microdata, row_of, evidence)
        part, beyond = _part(drawn, self.sample, self.work)
        pairs = int(pairs_by_group(*kinds_of(part)).sum())
        if pairs > _MOST_PAIRS:
            raise ReleaseError(
                f"the groups leave {pairs} pairs of unlike persons and unlike rows, too many to look"
                " at; attack a sample, or smaller groups."
            )
        values = shown = None
        if form.sensitive is not None:
            shown, values = numbered(form.table[form.sensitive], microdata)
        both = None if values is None or shown is None else (values, shown[row_of])
        persons = by_person(part, self._outcomes, both, self.work)
        notes = ["larger groups are beyond the budget"] if beyond else []
        return self._concluded(persons, microdata, drawn, notes, values, shown, form.rows)

    def _drawn(
        self,
        release: Release,
        form: Perturbed,
        microdata: Microdata,
        row_of: Ints,
        evidence: Evidence,
    ) -> DrawnRows:
        """Each person's own and published values; ReleaseError where the tables are missing or not
        those of the release.
        """
        outputs, number = evidence.part(OutputTables, release.number), release.number
        names = [a.name for a in form.attribute("quasi")]
        if outputs is None:
            raise ReleaseError(
                f"the random output tables of release {number} are not known, and the {self.name}"
                " adversary knows them; publish with keep_tables = true, and name the ledger."
            )
        if faults := form_faults(form):
            raise ReleaseError(
                f"the release contradicts itself ({faults[0]}); see what 'phalanx verify' says"
                " of it."
            )
        if faults := table_faults(outputs, names, form.rows):
            raise ReleaseError(
                f"the random output tables are not those of release {number} ({faults[0]}); use the"
                " ledger that it was published with."
            )
        drawn = DrawnRows.of(outputs, microdata, form, row_of + 1)
        if unlike := drawn.unlike_groups():
            raise ReleaseError(
                f"the random output tables are not those of release {number} ({unlike} group(s)"
                " differ from the original table); give the table that was published."
            )
        return drawn

    def _outcomes(self, drawn: DrawnRows) -> Outcomes:
        """How probable each row was, by the law under which rows were drawn."""
        return Outcomes(drawn)

    def _concluded(
        self,
        persons: ByPerson,
        microdata: Microdata,
        drawn: DrawnRows,
        notes: list[str],
        values: Ints | None,
        shown: Ints | None,
        rows: int,
    ) -> Inverted:
        """What is believed about persons, of all those who were ``drawn``; ``values``: of the rows
        of the original table, ``shown``: of all published ``rows``.
        """
        who, row, value = persons.who, persons.row, persons.value
        total, n = len(drawn.classes.who), len(who)
        approximate = int((~persons.exact).sum())
        if n < total:
            notes = [f"{n} of {total} persons were drawn, by groups", *notes]
        if approximate:
            notes = [*notes, f"the probabilities of {approximate} person(s) are approximate"]
        identity, attribute, named, guessed = (
            None if each is None else float(each.sum()) / max(n, 1)
            for each in (
                row.own,
                None if value is None else value.own,
                row.named,
                None if value is None else value.named,
            )
        )
        per_person = {"identity": row.own} | ({} if value is None else {"attribute": value.own})
        # persons of one group are not drawn by themselves
        draws = (
            n
            if n == total
            else len(np.unique(drawn.classes.group[np.isin(drawn.classes.who, who)]))
        )
        return Inverted(
            adversary=self.name,
            knows=self.knows,
            note="; ".join(notes),
            sample=None if n == total else n,
            named=named or 0.0,
            named_interval=wilson(min(named or 0.0, 1.0), draws),
            largest=None if value is None else value.largest,
            largest_identity=row.largest,
            approximate=approximate,
            **of_persons(
                microdata,
                who,
                persons.count,
                persons.count == 1,
                None if values is None else values[who],
                shares(shown, rows),
                rows,
                per_person,
            ),
            **figures(identity or 0.0, attribute, draws) | {"success": guessed},
        )


def _part(drawn: DrawnRows, sample: int | None, work: int | None) -> tuple[DrawnRows, bool]:
    """The persons of groups that are drawn until they have ``sample`` persons, or as many pairs as
    ``work`` suffices for; all persons where both are None, or not less. Also whether groups were
    left out that have more pairs alone; TooLargeError where all have.
    """
    classes, sizes = drawn.classes, np.bincount(drawn.classes.group)
    pairs = pairs_by_group(*kinds_of(drawn))
    sample = len(classes.who) if sample is None else min(sample, len(classes.who))
    most = int(pairs.sum()) if work is None else work // _PER_PAIR
    if sample == len(classes.who) and pairs.sum() <= most:
        return drawn, False
    order = (
        Randomness.seeded(0).stream("groups").permutation(len(sizes))
    )  # measuring protects no person, and who asks again shall see the same figures
    fitting = order[pairs[order] <= most]
    if not len(fitting):
        raise TooLargeError(
            f"each group leaves {int(pairs.min())} pairs or more of unlike persons and unlike rows,"
            f" and its budget suffices for {most}."
        )
    enough = min(
        int(np.searchsorted(np.cumsum(sizes[fitting]), sample)) + 1,
        int(np.searchsorted(np.cumsum(pairs[fitting]), most, side="right")),
    )
    is_chosen = np.isin(classes.group, fitting[:enough])
    return drawn.of_persons(np.flatnonzero(is_chosen)), len(fitting) < len(order)
