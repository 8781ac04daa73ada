# SPDX-License-Identifier: Apache-2.0
"""The linkage adversary: it matches records by the quasi-identifier values that it knows of a
person (Li, Ma, Xi, Zhang, Xie, Shang, section 5.1).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, Final

from phalanx.adversaries.base import Looks, Z, asked
from phalanx.adversaries.disclosure import (
    Disclosed,
    figures,
    of_persons,
    one_release,
    published_table,
)
from phalanx.adversaries.groups.hosts import original_table
from phalanx.adversaries.records.linking import (
    Matching,
    Subsets,
    by_boxes,
    by_buckets,
    by_rows,
    weights,
)
from phalanx.adversaries.showing import Shown, share
from phalanx.arrays import Floats
from phalanx.errors import PlanError, ReleaseError
from phalanx.exact import Number, bounded, of_python, whole
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import by_kind

P_MATCH: Final = ("3/10", "1/2", "7/10", "4/5", "9/10", "1")
"""The probabilities of the paper's experiments."""


@dataclass(frozen=True, kw_only=True)
class Matched(Disclosed):
    """What the linkage adversary concluded.

    ``histogram`` counts the persons whom 0, 1, 2, … records match on all quasi-identifiers,
    ``exposed`` those whom their own record alone does.
    """

    p_match: Fraction
    """The probability with which it uses each quasi-identifier."""
    by_identity: tuple[Floats, Floats] = field(repr=False, compare=False)
    """Identity disclosure if it uses 0, 1, .. d quasi-identifiers, and the variance of each figure
    where sets of attributes were drawn.
    """
    by_attribute: tuple[Floats, Floats] | None = field(repr=False, compare=False)
    """The same of attribute disclosure."""

    def at(self, p_match: Number) -> "Matched":
        """What it would have concluded with another ``p_match``, without looking at the release
        again.
        """
        p = _probability(p_match)
        weight = weights(len(self.by_identity[0]) - 1, float(p))
        (identity, off), (attribute, also_off) = (
            _weighed(weight, figure) for figure in (self.by_identity, self.by_attribute)
        )
        return replace(
            self,
            p_match=p,
            knows=_knows(p),
            **figures(identity or 0.0, attribute, self.persons, (off, also_off)),
        )

    def _more(self) -> Iterator[Shown]:
        others = [self.at(p) for p in P_MATCH]
        rows = [
            [f"{float(other.p_match):.1f}", share(other.identity), share(other.attribute, "")]
            for other in others
        ]
        yield Shown(["if it uses each value with", "own record", "person's value"], rows, range(3))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack that links records, and p_match (as text)."""
        return super().to_json() | {"p_match": str(self.p_match)}


@dataclass(frozen=True)
class Linkage:
    """Knows all quasi-identifier values of a person, and uses each of them with probability
    ``p_match`` to match records, as in the experiments of Li et al.

    Of a perturbed release a record matches where the values used are equal; of a generalized one
    where its intervals contain them; of a bucketized one where they are equal, and then it stands
    for the shares of the values in its bucket. Identity disclosure is 1 over the number of matching
    records if the person's own is among them, else 0; attribute disclosure is the share of matching
    records with the person's sensitive value, 0 if none matches. Both are means over all persons
    and over what the adversary may use, exactly: every set of attributes is gone through, and
    weighed by ``p_match``. With more than ten quasi-identifiers about ``subsets`` sets are drawn,
    so many of each size. ``sample`` persons are drawn if it is given, and fewer than all where a
    generalized release leaves too many pairs of a person and a group, and its attributes too many
    combinations of values to count boxes on. Both are said.

    Needs ``evidence.microdata``, and of a perturbed release who was published in which row
    (``evidence.rows`` or ``evidence.groups``). Of other releases a person who matches no record on
    all quasi-identifiers cannot be in it, and is left out.

    Raises
    ------
    PlanError
        Where ``p_match`` is not above 0 and at most 1.
    """

    question: ClassVar[str] = "linkability"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    exposes: ClassVar[str] = "records"
    no_breach: ClassVar[str] = (
        "no guarantee of this release hides whose row is which from an adversary who knows this"
        " much"
    )
    played_with: ClassVar[Mapping[str, Any]] = {"sample": 2000}
    stands_for: ClassVar[str] = (
        "Takes every value as it stands, as if none had been changed, and names no person where no"
        " row matches. The authors of the method measured it so; it is the least to expect."
    )

    p_match: Number = field(
        default=1, metadata={"help": "Use each quasi-identifier with this probability."}
    )
    subsets: int = 1024
    """About so many sets of attributes are drawn, where there are more than ten."""
    sample: int | None = field(
        default=None, metadata={"help": "Attack so many persons, drawn at random."}
    )

    def __post_init__(self) -> None:
        of_python(self)
        _probability(self.p_match)
        whole(self.subsets, "subsets")
        if self.sample is not None:
            whole(self.sample, "sample")

    @property
    def name(self) -> str:
        return "linkage"

    @property
    def knows(self) -> str:
        return _knows(_probability(self.p_match))

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Matched:
        """Both disclosures; ReleaseError for several releases, sliced ones, or where the original
        table, or who is in which row, is missing.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        form, d = release.form, len(release.form.attribute("quasi"))
        if d == 0:
            raise ReleaseError(
                "the release has no quasi-identifier, so there is nothing to link it by."
            )
        # measuring protects no person, and who asks again shall see the same figures
        chosen = Subsets.of(d, self.subsets, Randomness.seeded(0).stream("subsets"))
        match = by_kind(form, _MATCH)
        table = (
            published_table(release, evidence)
            if form.is_drawn
            else (original_table(release, evidence),)
        )
        matching = match(form, *table, chosen, self.sample)
        return _concluded(matching, chosen, form.rows).at(self.p_match)


_MATCH: Final[Mapping[str, Callable[..., Matching]]] = {
    "perturbed": by_rows,
    "bucketized": by_buckets,
    "generalized": by_boxes,
}


def _concluded(matching: Matching, chosen: Subsets, rows: int) -> Matched:
    return Matched(
        adversary="linkage",
        knows="",
        note=_note(matching, chosen),
        sample=matching.drawn,
        p_match=Fraction(1),
        by_identity=chosen.by_size(matching.identity),
        by_attribute=None if matching.values is None else chosen.by_size(matching.attribute),
        **of_persons(
            matching.microdata,
            matching.who,
            matching.count,
            matching.alone,
            matching.values,
            matching.shares,
            rows,
            {},
        ),
        **figures(0.0, None, len(matching.who)),
    )


def _note(matching: Matching, chosen: Subsets) -> str:
    notes = []
    if matching.outside:
        notes.append(
            f"{matching.outside} person(s) match no record on all quasi-identifiers, so that none is"
            " theirs, and are left out"
        )
    if matching.drawn is not None:
        notes.append(f"{matching.drawn} persons were drawn")
    if chosen.sampled.any():
        notes.append(
            f"the sets of quasi-identifiers are too many: {len(chosen)} of them were drawn, and the"
            " intervals include that"
        )
    return "; ".join(notes)


def _weighed(weight: Floats, figure: tuple[Floats, Floats] | None) -> tuple[float | None, float]:
    """The mean over sets of attributes, and the half of its 95 % interval that comes of drawing
    them.
    """
    return (
        (None, 0.0)
        if figure is None
        else (float(weight @ figure[0]), Z * sqrt(float(weight**2 @ figure[1])))
    )


def _probability(p_match: Number) -> Fraction:
    p = bounded(p_match, "p_match", 0, 1)
    if p == 0:
        raise PlanError(
            "p_match must be above 0 and at most 1, for without a quasi-identifier no person is"
            " linked."
        )
    return p


def _knows(p_match: Fraction) -> str:
    return (
        f"each person's quasi-identifier values, and uses each of them with probability {p_match}"
        " to match records"
    )
