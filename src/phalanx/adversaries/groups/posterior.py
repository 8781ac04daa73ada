# SPDX-License-Identifier: Apache-2.0
"""The posterior adversary: what one release makes of each person's sensitive value for an adversary
who knows all quasi-identifiers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.base import Attack, Interval, Looks, asked, between, percent, wilson
from phalanx.adversaries.candidates import Values
from phalanx.adversaries.groups.hosts import Hosts, original_table
from phalanx.adversaries.groups.learning import afford, learned
from phalanx.adversaries.naming import ROUNDING, are_most, named_rightly
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.arrays import Floats, Ints, in_order, places_in
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError, ReleaseError
from phalanx.exact import Number, bounded
from phalanx.guarantees.slicing.counting import unsettled
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

_KNOWS: Final = {
    "law": (
        "each person's quasi-identifier values, and who is in the release; it finds every"
        " arrangement of a bucket's values equally likely, and counts who must be where"
    ),
    "learning": (
        "each person's quasi-identifier values, and who is in the release; it learns from the"
        " release which values go with which quasi-identifiers"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one way to weigh the buckets or groups that may host a person makes of each person."""

    above: int
    """Persons for whom some value is more probable than the bound."""
    share: float
    """Their share."""
    largest: float
    """The largest probability that it gives any value of anybody."""
    success: float
    """How often an adversary who names the most probable value is right."""


@dataclass(frozen=True, kw_only=True)
class Inferred(Attack):
    """What the posterior adversary concluded. ``success`` is how often it is right if it names the
    most probable value, one of them where several are.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    drawing: float
    """How often it is right if it draws a value by its probabilities: the mean of p(t, s) of the
    right values.
    """
    drawing_interval: Interval
    """The 95 % confidence interval of ``drawing``, by Wilson."""
    bound: Fraction
    """The probability above which persons are counted."""
    above: int
    """Persons for whom it finds some value more probable than the bound, by more than rounding
    costs.
    """
    above_success: float | None
    """How often it is right about these if it names the most probable value; None where there are
    none.
    """
    largest: float
    """The largest probability that it gives any value of anybody."""
    reading: str
    """Which of the readings this is: the worst, by ``above`` and then by ``largest``."""
    readings: Mapping[str, Reading]
    """All of them: of a sliced release by "shares", "rows" and "counting", else "law"; "learning"
    where it learns.
    """

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        return (
            f"is right about {percent(self.success or 0)} of {self.persons} persons if it names the"
            f" most probable value ({between(self.interval)}), where {percent(self.baseline or 0)}"
            f" would be without the release, and finds a value more probable than {self.bound} of"
            f" {self.above}"
        )

    def tables(self) -> Iterator[Shown]:
        rows = [
            ["names the most probable value", share(self.success), interval(self.interval)],
            [
                "draws a value by its probability",
                share(self.drawing),
                interval(self.drawing_interval),
            ],
            ["names the most frequent value, without the release", share(self.baseline), ""],
        ]
        yield Shown(["what it does", "right", "95 % interval"], rows, (1,))
        yield Shown(
            [
                "persons",
                f"a value above {self.bound}",
                "of these right",
                "certain, and right",
                "largest probability",
            ],
            [
                [
                    self.persons,
                    self.above,
                    share(self.above_success, "no person"),
                    self.exposed,
                    f"{self.largest:.6g}",
                ]
            ],
            range(5),
        )
        yield Shown(["values possible", "persons"], sorted(self.histogram.items()), (0, 1))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, drawing, drawing_interval, bound (as text),
        above, above_success, largest, reading, readings.
        """
        more = {
            "interval": [round(end, 6) for end in self.interval],
            "drawing": round(self.drawing, 6),
            "drawing_interval": [round(end, 6) for end in self.drawing_interval],
            "bound": str(self.bound),
            "above": self.above,
            "above_success": None if self.above_success is None else round(self.above_success, 6),
            "largest": round(self.largest, 6),
            "reading": self.reading,
            "readings": {
                name: {
                    "above": of.above,
                    "share": round(of.share, 6),
                    "largest": round(of.largest, 6),
                    "success": round(of.success, 6),
                }
                for name, of in self.readings.items()
            },
        }
        return super().to_json() | more


@dataclass(frozen=True)
class Posterior:
    """Lays a probability on every sensitive value of every person of the original table, from one
    sliced, bucketized or generalized release.

    ``by`` "law": p(t, s) as the promises have it, which takes every arrangement of values within a
    bucket for equally likely. Of a sliced release it is the mean over all matching buckets of the
    share of s among the rows with t's quasi-identifiers of the sensitive column, in three readings,
    of which the worst is reported: weighted by *shares* f(t, B), the law of Li, Li, Zhang, Molloy;
    by *rows*, |B| f(t, B); and by *counting*, where there are as many persons as published rows:
    how often each tuple is in each bucket over all ways to put all persons into one
    (:mod:`phalanx.guarantees.slicing.counting`). Of a bucketized one: the share of s in the buckets
    of the rows that equal t, each row as likely as the other. Of a generalized one: the share of s
    in the groups whose box contains t, weighted by their rows.

    ``by`` "learning": in the manner of the deFinetti attack (Kifer, SIGMOD 2009). It gives up that
    assumption and learns from all groups together which values go with which quasi-identifiers,
    assuming that these are independent of each other given the sensitive value (naive Bayes), and
    of the group. It begins with the law, and learns from what it believes and believes what it
    learned in turns, such that each group always holds the values that are published for it. The
    promises do not bound what it finds, and what it believes may be far too sure.

    Needs ``evidence.microdata``, whose sensitive values only tell how often the adversary is right;
    where ``evidence.groups`` is there, too, a person who was not published is left out. Persons
    whom no group can host are left out and noted.

    Raises
    ------
    PlanError
        Where ``bound`` is not between 0 and 1.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    sentences: ClassVar[Mapping[str, str]] = {
        "posterior-learning": "Learns from one release which values go with which (deFinetti), and"
        " lays a probability on every sensitive value of every person."
    }
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {"posterior-learning": {"by": "learning"}}

    by: Literal["law", "learning"] = "law"
    """``law``: as the guarantees have it; ``learning``: from all groups together."""
    bound: Number = field(
        default="1/2",
        metadata={"help": "Count the persons of whom some value is more probable than this."},
    )

    def __post_init__(self) -> None:
        if self.by not in list(_KNOWS):
            raise PlanError(
                f"the posterior adversary infers by 'law' or by 'learning', and not by {self.by!r}."
            )
        bounded(self.bound, "the bound", 0, 1)

    @property
    def name(self) -> str:
        return "posterior" if self.by == "law" else "posterior-learning"

    @property
    def knows(self) -> str:
        return _KNOWS[self.by]

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Inferred:
        """Each person's most probable value and how often it is right; ReleaseError for several
        releases, or where the original table is missing.
        """
        releases, evidence = asked(releases, evidence, of_values=True, of_single=self.name)
        if len(releases) != 1:
            raise ReleaseError(
                f"the {self.name} adversary looks at one release at a time, and {len(releases)} are"
                " given; name one of them."
            )
        microdata = original_table(releases[0], evidence)
        release, learns = releases[0], self.by == "learning"
        hosts = Hosts.of(release, microdata, afford) if learns else Hosts.of(release, microdata)
        if learns:
            concluded = {"learning": self._conclude(hosts, microdata, "learning", learned(hosts))}
        else:
            shares = (
                ({"shares": hosts.share} | dict(hosts.others))
                if hosts.others
                else {"law": hosts.share}
            )
            concluded = {
                name: self._conclude(
                    hosts, microdata, name, hosts.probabilities(partial(hosts.law, share=share))
                )
                for name, share in shares.items()
            }
        worst = max(concluded.values(), key=lambda one: (one.above, one.largest))
        readings = {
            name: Reading(
                above=one.above,
                share=one.above / max(one.persons, 1),
                largest=one.largest,
                success=one.success or 0.0,
            )
            for name, one in concluded.items()
        }
        return replace(worst, readings=readings)

    def _conclude(
        self,
        hosts: Hosts,
        microdata: Microdata,
        reading: str,
        parts: Iterator[tuple[slice, Ints, Ints, Floats]],
    ) -> Inferred:
        bound = bounded(self.bound, "the bound", 0, 1)
        true = true_values(hosts, microdata)
        order = in_order(hosts.of_person)
        begins = np.concatenate([[0], np.cumsum(hosts.persons)])
        n = len(order)
        candidates, guess = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        largest, drawn, named = np.zeros(n), np.zeros(n), np.zeros(n)
        for tuples, at, value, p in parts:
            who = order[begins[tuples.start] : begins[tuples.stop]]
            local, own = hosts.of_person[who] - tuples.start, true[who]
            q = int(max(value.max(initial=0), own.max(initial=0))) + 1
            mine = np.where(own >= 0, places_in(local * q + own, at * q + value), -1)
            most = np.zeros(tuples.stop - tuples.start)
            np.maximum.at(most, at, p)
            first = np.flatnonzero(are_most(p, most[at]))[::-1]
            guessed = np.zeros(len(most), dtype=np.int64)
            guessed[at[first]] = value[first]  # of several, the first stays
            candidates[who] = np.bincount(at[p > 0], minlength=len(most))[local]
            guess[who], largest[who] = guessed[local], most[local]
            drawn[who] = np.append(p, 0)[mine]
            named[who] = named_rightly(at, p, mine, local)
        attacked = hosts.hosted[hosts.of_person]
        above = attacked & (largest > float(bound) + ROUNDING)
        exposed = attacked & (candidates == 1) & (drawn > 0)
        persons = int(attacked.sum())
        success, drawing = (float(x[attacked].sum()) / max(persons, 1) for x in (named, drawn))
        values = (
            hosts.groups.values
            if hosts.groups.values is not None
            else pl.Series("guess", [], dtype=pl.Null)
        )
        per_person = pl.DataFrame(
            {
                "candidates": candidates,
                "exposed": exposed,
                "probability": largest,
                "guess": values.gather(guess),
            }
        )
        if microdata.persons is not None:
            per_person.insert_column(0, microdata.persons.alias("person"))
        return Inferred(
            adversary=self.name,
            knows=self.knows,
            persons=persons,
            exposed=int(exposed.sum()),
            success=success,
            baseline=most_frequent(microdata, attacked) / max(persons, 1),
            histogram={
                int(size): int(m)
                for size, m in zip(
                    *np.unique(candidates[attacked], return_counts=True), strict=True
                )
            },
            note="; ".join([*self._notes(n - persons), *unsettled(hosts.off)]),
            per_person=per_person.filter(pl.Series(attacked)),
            interval=wilson(success, persons),
            drawing=drawing,
            drawing_interval=wilson(drawing, persons),
            bound=bound,
            above=int(above.sum()),
            above_success=float(named[above].mean()) if above.any() else None,
            largest=float(largest[attacked].max(initial=0)),
            reading=reading,
            readings={},
        )

    def _notes(self, outside: int) -> list[str]:
        notes = (
            [f"{outside} person(s) of the original table fit into no group, and are left out"]
            if outside
            else []
        )
        if self.by == "learning":
            notes.append(
                "its probabilities are its own belief, and may be far too sure; how often it is"
                " right is counted"
            )
        return notes


def true_values(hosts: Hosts, microdata: Microdata) -> Ints:
    """The place of each person's value among the published ones, -1 where it is not published,
    shape (n,).
    """
    published, domain = hosts.groups.values, microdata.sensitive.domain.values
    if published is None:
        return np.full(microdata.rows, -1, dtype=np.int64)
    values = Values.of([published, domain])
    place = np.full(len(values.domain), -1, dtype=np.int64)
    place[values.places(published)] = np.arange(len(published))
    return place[values.places(domain)][microdata.sensitive.codes]


def most_frequent(microdata: Microdata, attacked: npt.NDArray[np.bool_]) -> int:
    """How many of the attacked rows have the value that most of them have."""
    return int(np.bincount(microdata.sensitive.codes[attacked], minlength=1).max())
