# SPDX-License-Identifier: Apache-2.0
"""The membership adversary: how well an adversary tells from a sliced release who is in the table
(Li, Li, Zhang, Molloy, section 5).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.adversaries.base import Attack, Looks, asked, between, percent
from phalanx.adversaries.disclosure import one_release
from phalanx.adversaries.groups.hosts import original_table
from phalanx.adversaries.groups.matching import Area, Column, matched, rank
from phalanx.adversaries.showing import Shown
from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.views.sliced import own_values
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced

_KEY: Final = "\0"
"""No published column is called so."""


@dataclass(frozen=True, kw_only=True)
class Ranked(Attack):
    """What the membership adversary concluded about ``persons``, of whom ``histogram`` says how
    many buckets their tuples match.

    ``exposed`` are those whose tuple must be in the table, however the columns are put together;
    ``success`` and ``baseline`` are None.
    """

    tuples: int
    """Different original tuples: persons with equal ones cannot be told apart."""
    fakes: float
    """Fake tuples: candidates that some bucket leaves open and that are not in the table."""
    drawn: bool
    """Whether these were too many to list, so that figures about them are estimates from a
    sample.
    """
    by_number: Area
    """How well persons' tuples are told from fake ones by how many buckets they match: the area
    under the ROC curve, with its 95 % interval.
    """
    by_degree: Area
    """The same by their matching degree f(t)."""
    of_fakes: Mapping[int, float]
    """Number of matching buckets -> fake tuples."""

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        best = max(self.by_number, self.by_degree, key=lambda area: area.area)
        return (
            f"tells an original tuple from a fake one in {percent(best.area)} of cases"
            f" ({between((best.low, best.high))}), where 50 % is chance, and is certain that"
            f" {self.exposed} of {self.persons} tuples are in the table"
        )

    def tables(self) -> Iterator[Shown]:
        ways = [
            ("the number of matching buckets", self.by_number),
            ("the matching degree", self.by_degree),
        ]
        rows = [
            [way, f"{area.area:.3f}", f"{area.low:.3f} to {area.high:.3f}"] for way, area in ways
        ]
        yield Shown(
            ["candidates ranked by", "area under the ROC curve", "95 % interval"], rows, (1,)
        )
        header = ["original tuples", "fake tuples", "certainly in the table"]
        yield Shown(
            header,
            [[self.persons, f"{'about ' if self.drawn else ''}{self.fakes:.0f}", self.exposed]],
            range(3),
        )
        bins = [("1 to 10", 0, 10), ("11 to 20", 10, 20), ("more than 20", 20, inf)]
        counts = [
            [
                sum(n for number, n in of.items() if above < number <= upto)
                for of in (self.histogram, self.of_fakes)
            ]
            for _, above, upto in bins
        ]
        yield Shown(
            ["matching buckets", "original", "fake"],
            [[bins[i][0], f"{a:.0f}", f"{b:.0f}"] for i, (a, b) in enumerate(counts)],
            (1, 2),
        )

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and tuples, fakes, drawn, by_number and by_degree (each with
        area and interval), fake_candidates.
        """
        more = {
            "tuples": self.tuples,
            "fakes": round(self.fakes),
            "drawn": self.drawn,
            "by_number": _plain(self.by_number),
            "by_degree": _plain(self.by_degree),
            "fake_candidates": {
                str(number): round(fakes, 1) for number, fakes in sorted(self.of_fakes.items())
            },
        }
        return super().to_json() | more


@dataclass(frozen=True)
class Membership:
    """Ranks all candidate tuples of a sliced release, original and fake, by the number of buckets
    that they match, and by their matching degree f(t).

    A candidate takes a value of every column of one bucket, of the sensitive column with its
    sensitive value, as in the paper's experiment. The area under the ROC curve is the chance that a
    person's tuple stands before a fake one: 0.5 hides all persons, 1 none. Needs
    ``evidence.microdata``, which says which candidates are original; where ``evidence.groups`` is
    there, too, a person who was not published is none.

    Raises
    ------
    ReleaseError
        Where columns share attributes.
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
        return "membership"

    @property
    def knows(self) -> str:
        return (
            "every tuple that might be in the table, with all of its values; it looks for those"
            " that are"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Ranked:
        """How originals and fake tuples rank; ReleaseError for several releases, other forms, or
        where the original table is missing.
        """
        releases, evidence = asked(releases, evidence)
        form = Sliced.expect(one_release(releases, self.name).form)
        if faults := form_faults(form):
            raise ReleaseError(
                f"the release contradicts itself ({faults[0]}); see what 'phalanx verify' says"
                " of it."
            )
        if sum(map(len, form.columns)) > len(form.attributes):
            raise ReleaseError(
                f"columns of the release share attributes, and the {self.name} adversary takes"
                " every column by itself."
            )
        microdata = original_table(releases[0], evidence)
        sizes = form.sizes[COUNT].to_numpy().astype(np.int64)
        columns, own = _columns(form, microdata)
        originals, of_person, persons = np.unique(
            own, axis=0, return_inverse=True, return_counts=True
        )
        number = np.zeros(len(originals), dtype=np.int64)
        is_original = (originals >= 0).all(axis=1)
        number[is_original] = matched(columns, sizes, originals[is_original])[0]
        is_published = number > 0
        # measuring protects no person, and who asks again shall see the same figures
        ranked = (
            rank(
                columns,
                sizes,
                originals[is_published],
                persons[is_published],
                Randomness.seeded(0).stream("candidates"),
            )
            if is_published.any()
            else None
        )
        nothing = Area(area=0.5, low=0.0, high=1.0)
        exposed = is_published & _among(originals, _certain(columns, sizes))
        per_person = pl.DataFrame(
            {"candidates": number[of_person.ravel()], "exposed": exposed[of_person.ravel()]}
        )
        if microdata.persons is not None:
            per_person.insert_column(0, microdata.persons.alias("person"))
        return Ranked(
            adversary=self.name,
            knows=self.knows,
            persons=int(persons[is_published].sum()),
            exposed=int(persons[exposed].sum()),
            success=None,
            baseline=None,
            histogram=dict(
                sorted(
                    Counter(
                        number[of_person.ravel()][is_published[of_person.ravel()]].tolist()
                    ).items()
                )
            ),
            note=_note(
                int(persons[~is_published].sum()), drawn=ranked is not None and ranked.drawn
            ),
            per_person=per_person,
            tuples=int(is_published.sum()),
            fakes=0.0 if ranked is None else ranked.fakes,
            drawn=ranked is not None and ranked.drawn,
            by_number=nothing if ranked is None else ranked.by_number,
            by_degree=nothing if ranked is None else ranked.by_degree,
            of_fakes=(
                {} if ranked is None else _weighed(ranked.numbers_of_fakes, ranked.weights_of_fakes)
            ),
        )


def _columns(form: Sliced, microdata: Microdata) -> tuple[list[Column], Ints]:
    """What the buckets hold in every column, its values numbered; and each person's values, shape
    (n, c), -1 for one that is not published.
    """
    by_name = {a.name: a for a in form.attributes}
    columns, own = [], []
    for i, part in enumerate(form.parts):
        names = form.published(i)
        values = part.select(names).unique().sort(names)
        numbered = part.join(values.with_row_index(_KEY), on=names, nulls_equal=True).sort(
            _KEY, BUCKET
        )
        bucket, value, count = (
            numbered[c].to_numpy().astype(np.int64) for c in (BUCKET, _KEY, COUNT)
        )
        columns.append(Column(bucket - 1, value, count))  # buckets are numbered from 1
        own.append(
            own_values(
                [by_name[name] for name in form.columns[i]],
                values,
                microdata,
                np.arange(microdata.rows),
            )
        )
    return columns, np.stack(own, axis=1)


def _certain(columns: Sequence[Column], sizes: Ints) -> Ints:
    """The tuples that stand in some bucket however its columns are put together, shape (m, c).

    So it is where the tuple's values stand together n_1 + ... + n_c > (c - 1) |B| times. Then at
    most one of them has no majority in its column, so that it is enough to try each value of each
    column beside the most frequent values of the others.
    """
    most = [_most_frequent(column, len(sizes)) for column in columns]
    certain = []
    for i, column in enumerate(columns):
        lacking = (len(columns) - 1) * sizes[column.bucket] - column.count
        for j in range(len(columns)):
            if j != i:
                lacking -= most[j][1][column.bucket]
        sure = lacking < 0
        bucket = column.bucket[sure]
        certain.append(
            np.stack(
                [
                    column.value[sure] if j == i else value[bucket]
                    for j, (value, _) in enumerate(most)
                ],
                axis=1,
            )
        )
    return np.concatenate(certain)


def _most_frequent(column: Column, buckets: int) -> tuple[Ints, Ints]:
    """The most frequent value of every bucket, and how often it stands there."""
    order = np.lexsort((column.count, column.bucket))
    last = order[np.searchsorted(column.bucket[order], np.arange(buckets), side="right") - 1]
    return column.value[last], column.count[last]


def _among(tuples: Ints, others: Ints) -> npt.NDArray[np.bool_]:
    """Which tuples are among the others, shape (n,)."""
    combinations = set(map(tuple, others.tolist()))
    return np.fromiter(
        (tuple(t) in combinations for t in tuples.tolist()), dtype=bool, count=len(tuples)
    )


def _weighed(numbers: Ints, weights: npt.NDArray[np.float64]) -> dict[int, float]:
    """How many fake tuples match each number of buckets."""
    distinct, place = np.unique(numbers, return_inverse=True)
    return dict(
        zip(
            distinct.tolist(),
            np.bincount(place.ravel(), weights=weights, minlength=len(distinct)).tolist(),
            strict=True,
        )
    )


def _note(outside: int, *, drawn: bool) -> str:
    notes = (
        [f"{outside} person(s) of the original table match no bucket, and are left out"]
        if outside
        else []
    )
    if drawn:
        notes.append(
            "fake tuples are too many to list: their figures are estimated from a sample of"
            " candidates, and the intervals include that"
        )
    return "; ".join(notes)


def _plain(area: Area) -> dict[str, Any]:
    return {"area": round(area.area, 6), "interval": [round(area.low, 6), round(area.high, 6)]}
