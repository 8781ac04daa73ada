# SPDX-License-Identifier: Apache-2.0
"""The informed adversary: it knows how rows were made, and links a person to the nearest row that
may be the person's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from phalanx.adversaries.base import Looks, asked
from phalanx.adversaries.disclosure import (
    Disclosed,
    drawn,
    figures,
    numbered,
    of_persons,
    one_release,
    published_table,
    shares,
)
from phalanx.adversaries.records.rows import Records
from phalanx.arrays import Bools, Codes, Floats, Ints, firsts, row_numbers
from phalanx.data.distances import WORDS, Distance, Line, check_asked, distance_of
from phalanx.data.microdata import Microdata
from phalanx.data.not_applicable import is_listed
from phalanx.errors import PlanError, did_you_mean
from phalanx.exact import of_python, whole
from phalanx.release.applicable import lacks_value
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.manifest import Manifest

_BLOCK: Final = 256
"""So many rows are compared with a person rather than put into two blocks."""
_FEW: Final = 64
"""For domains of up to so many values blocks know which of them they hold."""
_AT_ONCE: Final = 1 << 18
"""Pairs of a person and a block that are held at once."""
_LISTED: Final = 4096
"""What lies between a value and all others of its domain is listed where these are no more."""
_LOOKED: Final = 3
"""After so many attributes, rows that are too far off already are left out."""
_ROUNDING: Final = 1e-9
"""More than rounding costs a distance: below this, two are equal."""
_MOST_PAIRS: Final = 1 << 27
"""So many pairs of a person and a row are compared; where there are more, persons are drawn."""
_DRAWN: Final = 2000
"""How many."""


@dataclass(frozen=True)
class Informed:
    """Knows all quasi-identifier values of a person, the method and its parameters, and links the
    person to the nearest rows of a perturbed release.

    It knows that values were changed, and passes over the rows that differ from the person in fewer
    than ``changes`` quasi-identifiers: None for what the manifest says. Nearness is the sum over
    quasi-identifiers of ``distances``: ``l1`` (difference over the width of the domain),
    ``hierarchy`` (the level on which two values meet, over the height), ``equal`` (0 or 1) or a
    matrix by values; where none is given what the manifest says, else l1 for numbers and dates, and
    the hierarchy where there is one. Of several nearest rows each is as likely. Identity disclosure
    is how often it so picks the person's own row, attribute disclosure how often one with the
    person's value.

    Where values are not applicable, it knows whose, and takes no other rows for such a person, nor
    such rows for others.

    Attacks all persons where there are few pairs of a person and a row, else ``sample`` persons
    (2,000 where None), and says so; with ``sample``, so many. Needs ``evidence.microdata`` and who
    was published in which row (``evidence.rows`` or ``evidence.groups``).

    Raises
    ------
    PlanError
        For numbers below 1.
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
    played_with: ClassVar[Mapping[str, Any]] = {"sample": 2000}
    stands_for: ClassVar[str] = (
        "The release folder says by which method it was made, so an adversary who has the folder"
        " and knows a person's quasi-identifiers can do this."
    )

    sample: int | None = field(
        default=None, metadata={"help": "Attack so many persons, drawn at random."}
    )
    changes: int | None = None
    """In at least so many quasi-identifiers a row differs from its person; None: as the manifest
    says.
    """
    distances: Mapping[str, Any] = field(default_factory=dict)
    """By quasi-identifier, ``l1``, ``hierarchy``, ``equal``, or a matrix by values."""

    def __post_init__(self) -> None:
        of_python(self)
        if self.sample is not None:
            whole(self.sample, "sample")
        if self.changes is not None:
            whole(self.changes, "changes")
        check_asked("distances", self.distances)

    @property
    def name(self) -> str:
        return "informed"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values, and how the method changes some of them; it"
            " takes the nearest row that may be the person's"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Disclosed:
        """Both disclosures; ReleaseError for several releases, other forms, or where the original
        table, or who is in which row, is missing.
        """
        releases, evidence = asked(releases, evidence)
        release = one_release(releases, self.name)
        form = Perturbed.expect(release.form)
        microdata, row_of = published_table(release, evidence)
        records = Records.of(form, microdata)
        names = [a.name for a in form.attribute("quasi")]
        asked_distances = self._asked(release.manifest, names)
        distances = [
            distance_of("distances", name, domain, asked_distances.get(name))
            for name, domain in zip(names, records.domains, strict=True)
        ]
        people = np.flatnonzero(row_of >= 0)
        few = len(people) * form.rows <= _MOST_PAIRS
        who = drawn(people, self.sample if self.sample is not None else None if few else _DRAWN)
        values = shown = None
        if form.sensitive is not None:
            shown, of_person = numbered(form.table[form.sensitive], microdata)
            values = of_person[who]
        count, identity, attribute = _picked_apart(
            _who_is_known(form, microdata),
            records,
            distances,
            who,
            row_of[who],
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
                "" if len(who) == len(people) else f"{len(who)} of {len(people)} persons were drawn"
            ),
            sample=None if len(who) == len(people) else len(who),
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
        stated = manifest.method.get("distances", {})
        return {name: word for name, word in stated.items() if word in WORDS} | dict(self.distances)

    def _at_least(self, manifest: Manifest, d: int) -> int:
        """On how many quasi-identifiers each row differs from its person, at least."""
        changes = self.changes
        if changes is None:
            changes = whole(manifest.method.get("changes", 1), "the manifest's number of changes")
        if changes > d:
            raise PlanError(
                f"changes = {changes} and the release has {d} quasi-identifiers; lower it."
            )
        return changes


def _who_is_known(form: Perturbed, microdata: Microdata) -> tuple[Bools, Bools]:
    """Which persons have no value, and which rows, where that is public; none where it is not."""
    listed = [value for a in form.attribute("sensitive") for value in a.not_applicable]
    if not listed or form.sensitive is None:
        return np.zeros(microdata.rows, dtype=np.bool_), np.zeros(form.rows, dtype=np.bool_)
    return lacks_value(microdata, listed), is_listed(form.table[form.sensitive], listed)


def _picked_apart(
    known: tuple[Bools, Bools],
    records: Records,
    distances: Sequence[Distance],
    who: Ints,
    row_of: Ints,
    changes: int,
    values: Ints | None,
    shown: Ints | None,
) -> tuple[Ints, Floats, Floats | None]:
    """What :func:`_picked` finds of persons without a value among rows without one, and of the
    others among the others; ``known``: which persons and which rows have none.
    """
    count = np.zeros(len(who), dtype=np.int64)
    identity, attribute = np.zeros(len(who)), np.zeros(len(who))
    for without in (False, True):
        persons, rows = np.flatnonzero(known[0][who] == without), known[1] == without
        if not len(persons) or not rows.any():
            continue
        place = np.where(rows, np.cumsum(rows) - 1, -1)
        count[persons], identity[persons], same = _picked(
            replace(records, rows=records.rows[rows]),
            distances,
            who[persons],
            place[row_of[persons]],
            changes,
            None if values is None else values[persons],
            None if shown is None else shown[rows],
        )
        if same is not None:
            attribute[persons] = same
    return count, identity, None if values is None else attribute


def _picked(
    records: Records,
    distances: Sequence[Distance],
    who: Ints,
    row_of: Ints,
    changes: int,
    values: Ints | None,
    shown: Ints | None,
) -> tuple[Ints, Floats, Floats | None]:
    """How many rows are nearest to each person, and the chances that one of them is the person's
    ``row_of``, -1 for none of these, and has the person's value.
    """
    q = 1 if shown is None else 1 + int(shown.max(initial=0))
    place = row_numbers(records.rows.T, len(records.rows))
    times, distinct = np.bincount(place), firsts(place)
    cells, counts = np.unique(place * q + (0 if shown is None else shown), return_counts=True)
    nearest_rows = list(
        nearest(Blocks.of(records.rows[distinct], distances), records.persons[who], changes)
    )
    person, row = (
        np.repeat(np.arange(len(who)), [len(rows) for rows in nearest_rows]),
        np.concatenate([np.zeros(0, np.int64), *nearest_rows]),
    )
    count = np.bincount(person, weights=times[row], minlength=len(who)).astype(np.int64)
    own = np.where(row_of < 0, -1, place[row_of])
    identity = np.bincount(person, weights=row == own[person], minlength=len(who))
    if values is None:
        return count, identity / count, None
    wanted = row * q + values[person]
    at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    same = np.where((cells[at] == wanted) & (values[person] < q), counts[at], 0)
    return count, identity / count, np.bincount(person, weights=same, minlength=len(who)) / count


# ---- which rows are nearest


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows in blocks of those that lie together, so that a person need not be compared with all of
    them.
    """

    distances: Sequence[Distance]
    codes: Codes
    """The rows' codes block by block, an attribute after the other, shape (d, n)."""
    row: Ints
    """Which row each of these is, shape (n,)."""
    starts: Ints
    """Where blocks begin, and the end, shape (b + 1,)."""

    @classmethod
    def of(cls, rows: Ints, distances: Sequence[Distance]) -> "Blocks":
        """Halve the rows on the attribute on which they lie farthest apart, while a half is larger
        than a block need be.
        """
        parts, ends, waiting = [np.zeros(0, dtype=np.int64)], [0], [np.arange(len(rows))]
        while waiting:
            some = waiting.pop()
            widths = [] if len(some) <= _BLOCK else _widths(rows[some], distances)
            if max(widths, default=-1) < 0:
                parts.append(some)
                ends.append(ends[-1] + len(some))
                continue
            codes = rows[some, int(np.argmax(widths))]
            cut = np.partition(codes, len(some) // 2)[len(some) // 2]
            left = codes < (cut if cut > codes.min() else cut + 1)
            waiting += [some[~left], some[left]]
        row = np.concatenate(parts)
        codes = np.ascontiguousarray(rows[row].T, dtype=np.int32)
        return cls(distances, codes, row, np.array(ends))

    @cached_property
    def _bounds(self) -> list[Floats | tuple[Floats, Floats]]:
        """By attribute what is the nearest in each block: for every code, or the first and the last
        place; nothing is nearer than 0.
        """
        bounds: list[Floats | tuple[Floats, Floats]] = []
        for a, distance in enumerate(self.distances):
            codes = self.codes[a]
            low, high = (
                each.reduceat(codes, self.starts[:-1]) for each in (np.minimum, np.maximum)
            )
            if isinstance(distance, Line):
                is_bounded = low >= 0
                bounds.append(
                    (
                        np.where(is_bounded, distance.line[np.maximum(low, 0)], -np.inf),
                        np.where(is_bounded, distance.line[high], np.inf),
                    )
                )
            else:
                everything = np.arange(len(distance))
                in_bounds = np.zeros((len(self.starts) - 1, len(everything) + 1), dtype=bool)
                in_bounds[np.repeat(np.arange(len(in_bounds)), np.diff(self.starts)), codes] = (
                    True  # -1 is the last
                )
                few = len(everything) <= _FEW
                away = (
                    [
                        np.where(in_bounds, each, np.inf).min(axis=1)
                        for each in _away(distance, everything)
                    ]
                    if few
                    else [np.zeros(len(in_bounds))]
                )
                bounds.append(np.stack(away))
        return bounds

    def at_least(self, persons: Ints) -> Floats:
        """How far each block is from each of some persons, at least, shape (c, b); ``persons`` (c,
        d) are codes.
        """
        total = np.zeros((len(persons), len(self.starts) - 1))
        for a, (bound, distance) in enumerate(zip(self._bounds, self.distances, strict=True)):
            if isinstance(distance, Line) and isinstance(bound, tuple):
                place = distance.line[persons[:, a], None]
                total += np.maximum(np.maximum(bound[0] - place, place - bound[1]), 0)
            elif len(bound) > 1:
                total += bound[persons[:, a]]
        return total


def nearest(blocks: Blocks, persons: Ints, changes: int) -> Iterator[Ints]:
    """For each person (codes, shape (p, d)) the rows to which no other that differs on ``changes``
    attributes is nearer.

    A distance is the sum over the attributes; a value that no domain has is 1 from all others.
    Where no row differs on so many, all are as near.
    """
    apart = [_Apart.of(*each) for each in zip(blocks.distances, blocks.codes, strict=True)]
    step = max(1, _AT_ONCE // (len(blocks.starts) - 1))
    for start in range(0, len(persons), step):
        some = persons[start : start + step]
        for person, bounds in zip(some, blocks.at_least(some), strict=True):
            yield _nearest(blocks, person, apart, bounds, changes)


@dataclass(frozen=True, eq=False)
class _Apart:
    """How far rows are from a value of one attribute."""

    distance: Distance
    codes: Codes
    """Of all rows, shape (n,); -1 for a value that is in no domain."""
    places: Floats | None
    """Where they are along a line, shape (n,); None where there is none."""
    all_known: bool

    @classmethod
    def of(cls, distance: Distance, codes: Codes) -> "_Apart":
        places = distance.places[codes] if isinstance(distance, Line) and len(distance) else None
        return cls(distance, codes, places, bool((codes >= 0).all()))

    def of_value(self, code: int) -> Floats | None:
        """How far a value is from all values of a small domain, and at the end from one that is in
        none; None where rows are compared with it one by one.
        """
        if self.places is not None or len(self.distance) > _LISTED:
            return None
        from_all: Floats = _away(self.distance, np.array([code]))[0]
        return from_all

    def far(self, code: int, from_all: Floats | None, at: Ints) -> tuple[Floats, Bools]:
        """How far the rows ``at`` (r,) are from a value, of which ``from_all`` is what
        :meth:`of_value` says, and whether they have another one, each of shape (r,).
        """
        codes = self.codes[at]
        if from_all is not None:
            return from_all[codes], codes != code
        if self.places is not None and isinstance(self.distance, Line):
            away = self.distance.apart(self.places[at], self.distance.places[code])
        else:
            away = self.distance.between(np.array(code), codes.astype(np.int64))
        if not self.all_known:
            away[codes < 0] = 1
        return away, codes != code


def _nearest(
    blocks: Blocks, person: Ints, apart: Sequence[_Apart], bounds: Floats, changes: int
) -> Ints:
    """The nearest rows of one person, by looking into one block after the other until all others
    are too far; a row is given up as soon as some of its attributes are.
    """
    order, values = np.argsort(bounds), person.tolist()
    from_all = [each.of_value(code) for each, code in zip(apart, values, strict=True)]
    bounds, least, done, step = bounds[order], np.inf, 0, 4
    nearest_rows: list[tuple[Ints, Floats]] = []
    while done < len(order) and bounds[done] <= _limit(least):
        upto = max(
            done + 1, min(done + step, int(np.searchsorted(bounds, _limit(least), side="right")))
        )
        at = ranges(blocks.starts[order[done:upto]], blocks.starts[order[done:upto] + 1])
        total, differ = np.zeros(len(at)), np.zeros(len(at), dtype=np.int32)
        for a, each in enumerate(apart):
            away, other = each.far(values[a], from_all[a], at)
            total += away
            differ += other
            if a % _LOOKED == _LOOKED - 1 and np.isfinite(least):
                near = np.flatnonzero(total <= _limit(least))
                at, total, differ = at[near], total[near], differ[near]
        may_be = differ >= changes
        at, total = at[may_be], total[may_be]
        least = min(least, float(total.min(initial=np.inf)))
        nearest_rows.append((at, total))
        done, step = upto, 4 * step
    if not np.isfinite(least):
        return blocks.row
    at, total = (np.concatenate(side) for side in zip(*nearest_rows, strict=True))
    return blocks.row[at[total <= _limit(least)]]


def _away(distance: Distance, codes: Ints) -> Floats:
    """The distance of some values to every value of the domain, and at the end to a value that is
    in no domain.
    """
    to_all = distance.between(codes[:, None], np.arange(len(distance))[None, :])
    return np.concatenate([to_all, np.ones((len(codes), 1))], axis=1)


def _widths(codes: Ints, distances: Sequence[Distance]) -> list[float]:
    """How far the first and the last code of each attribute are apart, in order to choose a cut; -1
    where all are the same.
    """
    ends = zip(codes.min(axis=0).tolist(), codes.max(axis=0).tolist(), distances, strict=True)
    return [
        -1.0
        if low == high
        else 1.0
        if low < 0
        else float(distance.between(np.array(low), np.array(high)))
        for low, high, distance in ends
    ]


def _limit(least: float) -> float:
    return least * (1 + _ROUNDING) + _ROUNDING**2


def ranges(starts: Ints, ends: Ints) -> Ints:
    """The whole numbers from each start to below its end, one after the other."""
    length = ends - starts
    places: Ints = np.arange(int(length.sum())) + np.repeat(
        starts - (np.cumsum(length) - length), length
    )
    return places
