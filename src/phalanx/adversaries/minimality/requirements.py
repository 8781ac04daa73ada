# SPDX-License-Identifier: Apache-2.0
"""What a group must keep, by the manifest of the method that made it, judged value by value:
written anew, for anyone who replays the method.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any, Final

from phalanx.errors import ReleaseError
from phalanx.exact import bounded, exact, whole
from phalanx.guarantees.t_closeness import domain_places
from phalanx.guarantees.views.groups import Groups

State = tuple[Any, Any]
"""What is known of one side of a cut after some values: for the diversity and for the closeness."""

_MARGIN: Final = 1e-9
"""The method declines a side whose entropy is nearer than this to the bound, unless its values are
equally frequent.
"""
_REPLAYED: Final = ("mondrian", "slicing")
_DIVERSITIES: Final = ("frequency", "distinct", "entropy", "recursive")


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """k, and l or t: what both sides of a cut must keep, or the method does not make it.

    Values are places among the published ones and come in ascending order, those without a row
    among them where ``closeness`` is asked.
    """

    least: int
    """The least size of a group."""
    l: Fraction | None = None
    diversity: str = "frequency"
    c: Fraction | None = None
    t: Fraction | None = None
    ordered: bool = False
    least_width: bool = False
    """Whether cuts of least width are tried before those at medians."""
    rows: int = 0
    """All rows of the table."""
    totals: tuple[int, ...] = ()
    """How often each value stands in the table."""
    steps: tuple[int, ...] = ()
    """Of the ordered distance: how many places of the domain there are from each value to the next
    one.
    """
    longest: int = 2
    """What the distance is scaled by: of the ordered one the way through the domain, of the equal
    one 2, as each row that moves is missed and met.
    """

    @classmethod
    def of(cls, method: Mapping[str, Any], groups: Groups) -> "Requirement":
        """The requirement of a release's method; ReleaseError where it is a method, or an option of
        one, that this adversary cannot replay.
        """
        name = method.get("name")
        if name not in _REPLAYED or method.get("grouping", "mondrian") != "mondrian":
            grouping = f" with grouping = {method['grouping']!r}" if "grouping" in method else ""
            raise ReleaseError(
                f"the release was made by {name!r}{grouping}, which cuts no table at medians; this"
                " adversary replays mondrian and slicing."
            )
        if (cuts := method.get("cuts", "strict")) != "strict":
            raise ReleaseError(
                f"{cuts} cuts are decided by lot in part, which cannot be replayed; this adversary"
                " is about strict ones."
            )
        options = [name for name in ("generalize_columns_k", "keep_cuts") if name in method]
        if method.get("distance") == "hierarchical":
            options.append("distance = 'hierarchical'")
        if options:
            raise ReleaseError(
                f"this adversary does not replay a method with {options[0]}; look at a release"
                " without it."
            )
        if (diversity := method.get("diversity", "frequency")) not in _DIVERSITIES:
            raise ReleaseError(
                f"the manifest says diversity = {diversity!r}, which is none; see what 'phalanx"
                " verify' says of it."
            )
        l = bounded(method["l"], "l", 1) if "l" in method else None
        about = l is not None or "t" in method
        least = whole(method.get("k", method.get("bucket_size", 1)), "k")
        ordered = method.get("distance") == "ordered"
        domain, place_of = domain_places(groups) if ordered else ((), ())
        places = [int(place) for place in place_of]
        return cls(
            # slicing asks l of the rows with the same values beside the sensitive one, and its
            # bucket is no smaller either
            least=max(least, ceil(l)) if l is not None else least,
            l=l,
            diversity=diversity,
            c=exact(method["c"], "c") if "c" in method else None,
            t=exact(method["t"], "t") if "t" in method else None,
            ordered=ordered,
            least_width=method.get("cut_at") == "least-width",
            rows=groups.rows,
            totals=tuple(groups.totals.tolist()) if about else (),
            steps=tuple(
                b - a
                for a, b in zip(places, [*places[1:], len(domain)][: len(places)], strict=True)
            ),
            longest=len(domain) - 1 if ordered else 2,
        )

    @property
    def about_values(self) -> bool:
        """Whether a cut can fail by what its sides hold."""
        return self.l is not None or self.t is not None

    @property
    def only_shares(self) -> bool:
        """Whether every value is judged by itself, so that the others need not be told apart."""
        return self.diversity == "frequency" and self.t is None

    def most(self, size: int) -> int:
        """How many rows of a side of this size may have one value, of those that are judged by
        shares.
        """
        return size if self.l is None else size * self.l.denominator // self.l.numerator

    def start(self) -> State:
        """Before the first value."""
        return (() if self.diversity in ("entropy", "recursive") else 0), (0, 0)

    def add(self, state: State, value: int, count: int, size: int) -> State:
        """After one more value, of which a side of this size has so many rows."""
        diverse, (carried, work) = state
        if self.l is not None and count:
            if self.diversity == "frequency":
                diverse = diverse or count > self.most(size)
            elif self.diversity == "distinct":
                diverse = min(diverse + 1, ceil(self.l))
            else:
                diverse = tuple(sorted((*diverse, count), reverse=True))
        if self.t is not None:
            gap = count * self.rows - self.totals[value] * size
            carried = carried + gap if self.ordered else 0
            work += abs(carried) * self.steps[value] if self.ordered else abs(gap)
        return diverse, (carried, work)

    def keeps(self, state: State, size: int) -> bool:
        """Whether a side of this size keeps the requirement, after the last value."""
        if size == 0:
            return True
        diverse, (_, work) = state
        if self.t is not None and work > self.t * self.longest * size * self.rows:
            return False
        return self.l is None or self._diverse(diverse, size, self.l)

    def _diverse(self, state: Any, size: int, l: Fraction) -> bool:
        if self.diversity == "frequency":
            return not state
        if self.diversity == "distinct":
            return bool(state >= l)
        if self.diversity == "entropy":
            if state[0] == state[-1]:
                return len(state) >= l
            return bool(log(size) - sum(r * log(r) for r in state) / size >= log(l) + _MARGIN)
        return (
            len(state) >= l
            and self.c is not None
            and bool(state[0] < self.c * sum(state[int(l) - 1 :]))
        )
