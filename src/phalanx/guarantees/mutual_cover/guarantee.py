# SPDX-License-Identifier: Apache-2.0
"""Mutual cover: every published value of a quasi-identifier could stem from many tuples (Li, Ma,
Xi, Zhang, Xie, Shang, "MuCo", section 3).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np

from phalanx.arrays import Bools, Ints
from phalanx.data.microdata import Microdata
from phalanx.data.not_applicable import is_listed
from phalanx.errors import PlanError
from phalanx.exact import Number, bounded, exact, plain, whole
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.guarantees.mutual_cover.originals import Beside, rows_fault
from phalanx.guarantees.mutual_cover.output_tables import Columns, table_faults
from phalanx.guarantees.sentences import percent
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.manifest import Manifest

_NO_TABLES: Final = (
    "groups and their random output tables were not given; they are private, and the ledger keeps"
    " them where the plan says so"
)
_NO_ORIGINAL: Final = "no original table was given"
_NO_ROWS: Final = "nothing tells who is in which row"


@dataclass(frozen=True)
class MutualCover:
    """No tuple gives more than ``delta`` of what its group gives to a published value, and every
    row differs from its person's.

    The paper's delta-probability (Definition 3): ``max_i p_ij <= delta * sum_i p_ij`` for every
    column of every random output table. So each published value could stem from at least
    ``ceil(1/delta)`` tuples (Corollary 3.2). It is a promise about one value by itself.
    ``changes``: so many quasi-identifiers of every row differ from its person's, which is part of
    how rows are drawn, so that the tables say what was published.

    The file alone shows how many rows there are. What was changed needs the original table, and the
    probabilities need the random output tables; what cannot be checked is a verdict that starts
    with ``not checked``. PlanError for parameters that mean nothing.
    """

    name: ClassVar[str] = "mutual-cover"
    forms: ClassVar[tuple[str, ...]] = ("perturbed",)
    delta: Number
    changes: int = 1

    def __post_init__(self) -> None:
        delta = bounded(self.delta, "delta", 0, 1)
        if delta == 0:
            raise PlanError(
                "delta = 0 is met by no table, as every value stems from a person; give a fraction"
                " above 0."
            )
        object.__setattr__(self, "delta", delta)
        whole(self.changes, "changes")

    @property
    def tuples(self) -> int:
        """From how many tuples each published value could stem, at least."""
        return math.ceil(1 / exact(self.delta, "delta"))

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """Rows, values of the original, changed rows, random output tables, delta-probability,
        tuples behind a value, drawing.
        """
        evidence, form = evidence or Evidence(), Perturbed.expect(release.form)
        microdata, outputs, rows = (
            evidence.microdata.get(release.number),
            evidence.part(OutputTables, release.number),
            evidence.published_rows(release.number),
        )
        quasi = [a.name for a in form.attribute("quasi")]
        k = release.manifest.method.get("k")
        faults = (
            []
            if outputs is None
            else table_faults(
                outputs,
                quasi,
                form.rows,
                changes=self.changes,
                k=k if isinstance(k, int) else 1,
            )
        )
        return [
            self._file(form),
            *self._original(form, microdata, rows),
            *self._tables(outputs, faults),
            *self._apart(form, outputs, sound=not faults),
            *self._drawing(form, microdata, outputs, rows, sound=not faults),
        ]

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        return {
            "name": self.name,
            "delta": plain(exact(self.delta, "delta")),
            "changes": self.changes,
        }

    def in_words(self, *, sensitive: bool) -> str:
        """What stands behind a published value, and how rows were kept from coming out as they went
        in.
        """
        cover = (
            "A published value of a quasi-identifier need not be that of the row's person: it was"
            f" drawn among the values of a group of similar persons, from at least {self.tuples} of"
            f" whom it could stem, and no single person accounts for more than {self.delta} of the"
            " chance that the group publishes it (mutual cover). Which rows are a group is not"
            " published. Of sensitive values nothing is promised."
        )
        least = (
            "at least one quasi-identifier shows"
            if self.changes == 1
            else f"at least {self.changes} quasi-identifiers show"
        )
        return (
            f"{cover} In every row {least} another value than the person's own, which is part of"
            " how values are drawn and costs none of that cover."
        )

    def limits(
        self,
        manifest: Manifest,
        earlier: Sequence[Manifest] = (),
        *,
        reidentified: float | None = None,
    ) -> Iterator[tuple[str, str]]:
        """What the promise leaves out (docs/explanation/mutual-cover.md): how many rows were found,
        where that was measured; it stands before what delta means.
        """
        if reidentified is None:
            return
        measured = (
            "The strongest adversary that was played, who knows the quasi-identifiers of all persons"
            f" and how this release was made, names the right row for {percent(reidentified)} of"
            " the persons."
        )
        if bounds := manifest.method.get("bounds", {}):
            allowed = " and ".join(f"{name} {share}" for name, share in bounds.items())
            yield "How many rows are found", f"{measured} The plan allows {allowed}."
        elif reidentified <= exact(self.delta, "delta"):
            yield "How many rows are found", f"{measured} Delta does not bound this."
        else:
            yield (
                "Rows can be recognised",
                (
                    f"{measured} Delta does not bound this: it bounds how much of one value may stem"
                    " from one person. Where it is too much, bound it by [method.bounds], or lower"
                    " delta."
                ),
            )

    def _verdict(
        self,
        part: str,
        bound: int | Fraction,
        worst: int | Fraction | None,
        *,
        holds: bool,
        note: str,
    ) -> Verdict:
        return Verdict(
            name=f"{self.name}: {part}", bound=bound, worst=worst, holds=holds, note=note
        )

    def _not_checked(self, part: str, bound: int | Fraction, why: str) -> Verdict:
        return self._verdict(part, bound, None, holds=True, note=f"not checked: {why}")

    def _file(self, form: Perturbed) -> Verdict:
        """What the file alone shows: rows enough for a group, of each kind, and quasi-identifiers
        enough to change.
        """
        without = self._without(form)
        kinds = [int(rows.sum()) for rows in (without, ~without) if rows.any()]
        fewest, quasi = min(kinds, default=0), len(form.attribute("quasi"))
        note = "a group has at least so many" if form.rows else "the table has no rows"
        if len(kinds) > 1:
            note = f"{note}, of rows whose value is applicable and of others each"
        if changes := self.changes > quasi:
            note = f"{self.changes} quasi-identifiers change in every row, and there are {quasi}"
        enough = (fewest >= self.tuples or not form.rows) and not changes
        return self._verdict("rows", self.tuples, fewest or None, holds=enough, note=note)

    def _original(
        self, form: Perturbed, microdata: Microdata | None, rows: Ints | None
    ) -> Iterator[Verdict]:
        """Values and sensitive values that are those of the original table, and rows that differ
        from their person's.
        """
        parts, least = ("values of the original", "changed rows"), self.changes
        if microdata is None:
            yield self._not_checked(parts[0], 0, _NO_ORIGINAL)
            yield self._not_checked(parts[1], least, _NO_ORIGINAL)
            return
        if fault := rows_fault(form, microdata, rows):
            yield self._verdict(parts[0], 0, None, holds=False, note=fault)
            return
        beside = Beside.of(form, microdata, rows)
        faults = list(beside.value_faults())
        note = (
            "; ".join(text for text, _ in faults)
            or "rows, sensitive values and published values are those of the original table"
        )
        yield self._verdict(
            parts[0], 0, sum(count for _, count in faults), holds=not faults, note=note
        )
        if rows is not None:
            fewest = beside.fewest_changes()
            note = (
                "each row was compared with its own person's of the original table;"
                f" {beside.below(least)} row(s) differ in fewer quasi-identifiers"
            )
            yield self._verdict(
                parts[1], least, fewest, holds=fewest is None or fewest >= least, note=note
            )
            return
        others = (
            f" fewer than {least} changes are seen of values of one row alone;" if least > 1 else ""
        )
        sure = None if faults else beside.surely_unchanged() + beside.surely_below(least)
        note = (
            "rows of the original table that must have come out unchanged, whichever person is in"
            f" which row;{others} which row is whose was not given"
            if sure is not None
            else (
                "the release has other values or rows than the original table, so that unchanged"
                " rows cannot be counted"
            )
        )
        yield self._verdict(parts[1], 0, sure, holds=sure == 0, note=note)

    def _tables(self, outputs: OutputTables | None, faults: Sequence[str]) -> Iterator[Verdict]:
        """Tables that are any, delta-probability, and the tuples behind each value."""
        delta = exact(self.delta, "delta")
        if outputs is None:
            yield self._not_checked("delta-probability", delta, _NO_TABLES)
            return
        note = (
            "; ".join(faults)
            or "each row of each random output table sums to 1 exactly, and each group has as many"
            " rows as its tables have tuples"
        )
        yield self._verdict("random output tables", 0, len(faults), holds=not faults, note=note)
        if faults:
            return
        columns = Columns.of(outputs)
        share, fewest = columns.share(), columns.fewest()
        note = (
            "the largest share of a published value that one tuple gives, by the random output"
            " tables"
        )
        yield self._verdict(
            "delta-probability", delta, share, holds=share is None or share <= delta, note=note
        )
        note = "from so many tuples a published value could stem, by the random output tables"
        yield self._verdict(
            "tuples behind a value",
            self.tuples,
            fewest,
            holds=fewest is None or fewest >= self.tuples,
            note=note,
        )

    @staticmethod
    def _without(form: Perturbed) -> Bools:
        """Which rows have a value that is not applicable, shape (n,)."""
        listed = [value for a in form.attribute("sensitive") for value in a.not_applicable]
        if not listed or form.sensitive is None:
            return np.zeros(form.rows, dtype=np.bool_)
        return is_listed(form.table[form.sensitive], listed)

    def _apart(
        self, form: Perturbed, outputs: OutputTables | None, *, sound: bool
    ) -> Iterator[Verdict]:
        """Groups that hold rows without a value beside others, who would not cover for each other,
        as anyone may know which a person is.
        """
        part = "rows without a value"
        if not any(a.not_applicable for a in form.attribute("sensitive")):
            return
        if outputs is None or not sound:
            why = _NO_TABLES if outputs is None else "the random output tables are not sound"
            yield self._not_checked(part, 0, why)
            return
        without = self._without(form)
        groups = len(outputs.of)
        held = np.bincount(outputs.group, weights=without, minlength=groups)
        mixed = int(((held > 0) & (held < np.bincount(outputs.group, minlength=groups))).sum())
        note = (
            f"{mixed} group(s) hold rows whose value is not applicable beside others"
            if mixed
            else f"{int(without.sum())} row(s) stand in groups of their own"
        )
        yield self._verdict(part, 0, mixed, holds=not mixed, note=note)

    def _drawing(
        self,
        form: Perturbed,
        microdata: Microdata | None,
        outputs: OutputTables | None,
        rows: Ints | None,
        *,
        sound: bool,
    ) -> Iterator[Verdict]:
        """Whether the tables are those of the original table, and the rows may have been drawn from
        them.
        """
        part = "drawing"
        if outputs is None or microdata is None or rows is None:
            yield self._not_checked(
                part,
                0,
                _NO_TABLES if outputs is None else _NO_ORIGINAL if microdata is None else _NO_ROWS,
            )
            return
        if not sound or rows_fault(form, microdata, rows):
            yield self._verdict(
                part,
                0,
                None,
                holds=False,
                note="not looked at, since what was given beside the release is not sound",
            )
            return
        drawn = DrawnRows.of(outputs, microdata, form, rows)
        if unlike := drawn.unlike_groups():
            note = (
                f"{unlike} group(s) have other tuples in the original table than in the random"
                " output tables"
            )
            yield self._verdict(part, 0, unlike, holds=False, note=note)
            return
        still, impossible = drawn.too_still(self.changes), drawn.impossible()
        note = (
            f"{still} row(s) change too seldom for {self.changes} change(s) each time, and"
            f" {impossible} row(s) cannot have been drawn from their tables"
        )
        if not still + impossible:
            note = (
                "each row may have been drawn from its random output tables, which are those of the"
                " original table"
            )
        yield self._verdict(part, 0, still + impossible, holds=not still + impossible, note=note)
