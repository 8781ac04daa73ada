# SPDX-License-Identifier: Apache-2.0
"""The minimality adversary: it replays the method's cuts, and learns from those that were not made
(Wong, Fu, Wang, Pei, VLDB 2007).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Interval, Looks, asked, wilson
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.groups.hosts import original_table
from phalanx.adversaries.groups.posterior import most_frequent, true_values
from phalanx.adversaries.minimality.beliefs import Replay, Shares
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.arrays import in_order
from phalanx.exact import of_python, whole
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, kw_only=True)
class Replayed(Attack):
    """What the minimality adversary concluded. ``success`` is how often it is right if it names the
    most probable value, one of them where several are.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    by_share: float
    """How often an adversary who ignores the method is right, who names the most frequent value of
    the person's group.
    """
    by_share_interval: Interval
    """Its 95 % confidence interval, by Wilson."""
    bound: Fraction | None
    """1/l; None where the method asks for no l."""
    above: int
    """Persons for whom a value is more probable than 1/l (where t alone is asked for, than the
    table's share and t) and than its share in their group.
    """
    above_success: float | None
    """How often it is right about these if it names the most probable value; None where there are
    none.
    """
    above_interval: Interval | None
    """Its 95 % confidence interval, by Wilson."""
    certain: int
    """Persons for whom only one value is possible."""
    largest: Fraction
    """The largest probability that it gives any value of anybody, exactly."""
    groups: int
    cuts: int
    """How many cuts failed by the values of the groups."""
    unused: int
    """How many of these were too many together to be counted, and tell it nothing."""

    def tables(self) -> Iterator[Shown]:
        rows = [
            ["replays the method", share(self.success), interval(self.interval)],
            [
                "ignores it, and names the most frequent value of the group",
                share(self.by_share),
                interval(self.by_share_interval),
            ],
            ["names the most frequent value, without the release", share(self.baseline), ""],
        ]
        yield Shown(["what it does", "right", "95 % interval"], rows, (1,))
        above = "above the bound" if self.bound is None else f"above {self.bound}"
        header = [
            "persons",
            above,
            "of these right",
            "one value possible",
            "largest probability",
            "cuts that failed",
            "not counted",
        ]
        cells = [
            self.persons,
            self.above,
            share(self.above_success, "no person"),
            self.certain,
            f"{float(self.largest):.6g}",
            self.cuts,
            self.unused,
        ]
        yield Shown(header, [cells], range(7))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, by_share, by_share_interval, bound and largest
        (as text), above, above_success, above_interval, certain, groups, cuts, unused.
        """
        more = {
            "interval": [round(end, 6) for end in self.interval],
            "by_share": round(self.by_share, 6),
            "by_share_interval": [round(end, 6) for end in self.by_share_interval],
            "bound": None if self.bound is None else str(self.bound),
            "above": self.above,
            "above_success": None if self.above_success is None else round(self.above_success, 6),
            "above_interval": (
                None
                if self.above_interval is None
                else [round(end, 6) for end in self.above_interval]
            ),
            "certain": self.certain,
            "largest": str(self.largest),
            "groups": self.groups,
            "cuts": self.cuts,
            "unused": self.unused,
        }
        return super().to_json() | more


@dataclass(frozen=True, kw_only=True)
class Minimality:
    """Replays Mondrian, or slicing by Mondrian's strict cuts, and lays on every person's values the
    share of the worlds that the method publishes so.

    It knows each person's quasi-identifiers, who is in the release, the method and its public
    parameters. A world gives every group's values to the group's persons in some order; all are
    equally likely before, and those are left in which every cut that the method tried and did not
    make breaks the requirement. They are counted exactly, in whole numbers. Cuts whose worlds take
    more than ``effort`` steps to count together are taken by fewer, down to none, and those left
    out are noted: what is found is then exactly what an adversary finds who ignores them. Cuts that
    part more than ``together`` groups are left out.

    Needs ``evidence.microdata``, whose sensitive values only tell how often the adversary is right,
    and the whole table that was published (of a release with suppressed rows ``evidence.groups``
    tells who is in it).

    Raises
    ------
    ReleaseError
        Where the method is none that can be replayed: relaxed cuts, another grouping, generalized
        columns, kept cuts, the hierarchical distance, ``min_width`` where it lets boxes overlap.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "release"
    asks_for: ClassVar[Mapping[str, bool]] = {
        "original": True,
        "identifier": False,
        "ledger": False,
    }
    knows_method: ClassVar[bool] = True

    effort: int = 20_000
    """So many steps are spent to count the worlds of a cut."""
    together: int = 4
    """Of at most so many groups a cut is counted together."""

    def __post_init__(self) -> None:
        of_python(self)
        whole(self.effort, "effort")
        whole(self.together, "together")

    @property
    def name(self) -> str:
        return "minimality"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values, who is in the release, and the method, which it"
            " replays"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Replayed:
        """Each person's most probable value and how often it is right; ReleaseError for several
        releases, a missing table or a method that it cannot replay.
        """
        releases, evidence = asked(releases, evidence, of_values=True)
        release = one_release(releases, self.name)
        replay = Replay.of(release, original_table(release, evidence), self.together)
        replay.count(replay.sets, self.effort, self.together)
        return self.conclude(replay)

    def conclude(self, replay: Replay) -> Replayed:
        """Each person's most probable value by what was counted so far; of groups that were not, by
        their shares.

        Parameters
        ----------
        replay : Replay
            A release beside the cuts that its method tried, some or all of them counted.

        Returns
        -------
        Replayed
            What was concluded of all persons of the release.
        """
        hosts, microdata = replay.hosts, replay.microdata
        true, of_tuple = true_values(hosts, microdata), hosts.of_person
        n = len(of_tuple)
        bound = None if replay.requirement.l is None else 1 / replay.requirement.l
        guess, candidates, above = (
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=bool),
        )
        named, by_share, probability = np.zeros(n), np.zeros(n), np.zeros(n)
        largest = Fraction(0)
        order = in_order(of_tuple)
        first = np.searchsorted(of_tuple[order], np.arange(len(hosts.codes) + 1))
        for cell, tuples, shares in replay.beliefs():
            of_group, most = replay.shares[cell], max(shares.values())
            best, common = _best(shares), _best(of_group)
            who = np.concatenate([order[first[t] : first[t + 1]] for t in tuples.tolist()])
            named[who], by_share[who] = (
                np.isin(true[who], best) / len(best),
                np.isin(true[who], common) / len(common),
            )
            guess[who], candidates[who], probability[who] = (
                best[0],
                sum(p > 0 for p in shares.values()),
                float(most),
            )
            above[who] = any(
                p > max(replay.limit(value), of_group[value]) for value, p in shares.items()
            )
            largest = max(largest, most)
        certain = candidates == 1
        values = (
            hosts.groups.values
            if hosts.groups.values is not None
            else pl.Series("guess", [], dtype=pl.Null)
        )
        exposed = certain & (named > 0)
        per_person = pl.DataFrame(
            {
                "candidates": candidates,
                "exposed": exposed,
                "probability": probability,
                "above": above,
                "guess": values.gather(guess),
                "right": named,
                "right_by_share": by_share,
            }
        )
        if microdata.persons is not None:
            per_person.insert_column(0, microdata.persons.alias("person"))
        success, share, over = float(named.mean()), float(by_share.mean()), int(above.sum())
        rightly = float(named[above].mean()) if over else None
        return Replayed(
            adversary=self.name,
            knows=self.knows,
            persons=n,
            exposed=int(exposed.sum()),
            success=success,
            baseline=most_frequent(microdata, np.ones(n, dtype=bool)) / n,
            histogram={
                int(size): int(m)
                for size, m in zip(*np.unique(candidates, return_counts=True), strict=True)
            },
            note=_note(replay),
            per_person=per_person,
            interval=wilson(success, n),
            by_share=share,
            by_share_interval=wilson(share, n),
            bound=bound,
            above=over,
            above_success=rightly,
            above_interval=None if rightly is None else wilson(rightly, over),
            certain=int(certain.sum()),
            largest=largest,
            groups=len(np.unique(replay.persons.group)),
            cuts=replay.cuts,
            unused=replay.unused,
        )


def _best(shares: Shares) -> list[int]:
    """The most probable values."""
    most = max(shares.values())
    return [value for value, p in shares.items() if p == most]


def _note(replay: Replay) -> str:
    if not replay.requirement.about_values:
        return (
            "the method asks nothing of the sensitive values, so that its cuts tell nothing about"
            " them"
        )
    return (
        f"{replay.cuts} cut(s) failed by the values; {replay.unused} of them were too many together"
        " to be counted, and were left out"
    )
