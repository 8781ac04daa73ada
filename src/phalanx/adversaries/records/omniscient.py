# SPDX-License-Identifier: Apache-2.0
"""The omniscient adversary: it knows who is in which group, and the random output tables that rows
were drawn from; the worst case.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np

from phalanx.adversaries.base import Interval, Looks, asked, wilson
from phalanx.adversaries.disclosure import (
    MOST_ATTRIBUTES,
    Disclosed,
    figures,
    numbered,
    of_persons,
    one_release,
    published_table,
    shares,
)
from phalanx.adversaries.records.assignments import Believed, Pairs, posterior
from phalanx.adversaries.records.outcomes import Outcomes
from phalanx.adversaries.showing import interval, share
from phalanx.arrays import Floats, Ints, different, in_order
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.exact import whole
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.guarantees.mutual_cover.output_tables import table_faults
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed

_AT_ONCE: Final = 1 << 19
"""Pairs of a person and a row that are held at once."""
_MOST_PAIRS: Final = 1 << 30
"""Pairs of a person and a row of the same group, beyond which an attack would take hours."""
_ROUNDING: Final = 1e-9
"""More than rounding costs a probability: below this, two are equal."""


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
    of the largest knots are believed. Needs ``evidence.microdata``, who was published in which row
    (``evidence.rows`` or ``evidence.groups``), and the random output tables.

    Raises
    ------
    PlanError
        For a sample below 1.
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
        outcomes = self._outcomes(_part(drawn, self.sample))
        believed = _posterior(outcomes, self.work)
        classes, total = outcomes.drawn.classes, len(drawn.classes.who)
        values = shown = None
        if form.sensitive is not None:
            shown, of_person = numbered(form.table[form.sensitive], microdata)
            values = of_person[classes.who]
        return self._concluded(
            believed,
            microdata,
            classes.who,
            (total, len(np.unique(classes.group))),
            row_of,
            values,
            shown,
            form.rows,
        )

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
        if len(names) > MOST_ATTRIBUTES:
            raise ReleaseError(
                f"the {self.name} adversary looks at up to {MOST_ATTRIBUTES} quasi-identifiers, and"
                f" the release has {len(names)}."
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
        believed: Believed,
        microdata: Microdata,
        who: Ints,
        of: tuple[int, int],
        row_of: Ints,
        values: Ints | None,
        shown: Ints | None,
        rows: int,
    ) -> Inverted:
        """What is believed about the rows ``who`` of the original table; ``of``: of how many
        persons these are, and in how many groups they are.
        """
        (total, groups), (pairs, p, n) = of, (believed.pairs, believed.probability, len(who))
        identity = p[pairs.person == pairs.row]
        count = np.bincount(pairs.person, minlength=n)
        named = _named(pairs.person, p, pairs.person == pairs.row, n)
        approximate = int((~believed.exact).sum())
        notes = [f"{n} of {total} persons were drawn, by groups"] if n < total else []
        notes += (
            [f"the probabilities of {approximate} person(s) are approximate"] if approximate else []
        )
        attribute = guessed = largest = None
        if values is not None and shown is not None:
            person, value, mass = _by_value(pairs, p, shown[row_of[who]])
            attribute = np.bincount(
                person, weights=np.where(value == values[person], mass, 0), minlength=n
            )
            guessed = float(_named(person, mass, value == values[person], n).sum()) / max(n, 1)
            largest = float(mass.max(initial=0))
        means = [
            None if each is None else float(each.sum()) / max(n, 1)
            for each in (identity, attribute, named)
        ]
        per_person = (
            {"identity": identity}
            if attribute is None
            else {"identity": identity, "attribute": attribute}
        )
        draws = n if n == total else groups  # persons of one group are not drawn by themselves
        shares_named = figures(means[0] or 0.0, means[1], draws) | {"success": guessed}
        return Inverted(
            adversary=self.name,
            knows=self.knows,
            note="; ".join(notes),
            sample=None if n == total else n,
            named=means[2] or 0.0,
            named_interval=wilson(min(means[2] or 0.0, 1.0), draws),
            largest=largest,
            largest_identity=float(p.max(initial=0)),
            approximate=approximate,
            **of_persons(
                microdata, who, count, count == 1, values, shares(shown, rows), rows, per_person
            ),
            **shares_named,
        )


def _part(drawn: DrawnRows, sample: int | None) -> DrawnRows:
    """The persons of groups that are drawn until they have ``sample`` persons; all persons where
    that is None, or not less.
    """
    classes = drawn.classes
    if sample is None or sample >= len(classes.who):
        return drawn
    sizes = np.bincount(classes.group)
    order = (
        Randomness.seeded(0).stream("groups").permutation(len(sizes))
    )  # measuring protects no person, and who asks again shall see the same figures
    enough = int(np.searchsorted(np.cumsum(sizes[order]), sample)) + 1
    is_chosen = np.isin(classes.group, order[:enough])
    part = replace(
        classes,
        who=classes.who[is_chosen],
        group=classes.group[is_chosen],
        own=classes.own[is_chosen],
    )
    return replace(drawn, classes=part, shown=drawn.shown[is_chosen], table=drawn.table[is_chosen])


def _posterior(outcomes: Outcomes, work: int | None) -> Believed:
    """The posterior over all groups; ReleaseError where groups are too large, and where a person's
    row cannot have been drawn.
    """
    group = outcomes.drawn.classes.group
    if int((np.bincount(group) ** 2).sum()) > _MOST_PAIRS:
        raise ReleaseError(
            f"the largest group has {int(np.bincount(group).max())} rows, which leaves too many"
            " pairs of a person and a row to look at."
        )
    possible = [outcomes.possible(*pairs) for pairs in _pairs(group)]
    person, row, logs = (np.concatenate(side) for side in zip(*possible, strict=True))
    if int((person == row).sum()) < len(group):
        raise ReleaseError(
            f"{len(group) - int((person == row).sum())} row(s) cannot have been drawn from the"
            " random output tables, so that these are those of another release; use the ledger"
            " that it was published with."
        )
    return posterior(Pairs.of(person, row, logs, len(group)), work=work)


def _pairs(group: Ints) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of two persons of one group, some at a time."""
    order = in_order(group)
    size = np.bincount(group)
    starts, length = (np.cumsum(size) - size)[group[order]], size[group[order]]
    ends = np.cumsum(length)
    begin = 0
    while begin < len(order):
        end = max(
            begin + 1,
            int(np.searchsorted(ends, (ends[begin - 1] if begin else 0) + _AT_ONCE, side="right")),
        )
        part = length[begin:end]
        within = np.arange(int(part.sum())) - np.repeat(np.cumsum(part) - part, part)
        yield np.repeat(order[begin:end], part), order[np.repeat(starts[begin:end], part) + within]
        begin = end


def _by_value(pairs: Pairs, probability: Floats, value: Ints) -> tuple[Ints, Ints, Floats]:
    """Persons and the sensitive values that they may have, with their probabilities; ``value``:
    that of every person's row.
    """
    q = int(value.max(initial=0)) + 1
    keys, place = different(pairs.person * q + value[pairs.row])
    return (
        keys // q,
        keys % q,
        np.asarray(np.bincount(place.ravel(), weights=probability), dtype=np.float64),
    )


def _named(person: Ints, probability: Floats, right: np.ndarray, n: int) -> Floats:
    """How often the most probable of each person's possibilities is right, if one of the most
    probable ones is named, shape (n,).
    """
    most = np.zeros(n)
    np.maximum.at(most, person, probability)
    first = probability >= most[person] * (1 - _ROUNDING)
    return np.bincount(person, weights=first & right, minlength=n) / np.bincount(
        person, weights=first, minlength=n
    )
