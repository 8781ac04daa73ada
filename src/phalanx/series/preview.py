# SPDX-License-Identifier: Apache-2.0
"""What a release would be, as figures: nothing that could be handed out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from phalanx.adversaries.disclosure import Disclosed
from phalanx.data.microdata import Microdata
from phalanx.data.not_applicable import is_listed
from phalanx.data.sources.available_memory import memory_taken
from phalanx.guarantees.base import Verdict
from phalanx.series.drafting import Checked


@dataclass(frozen=True, kw_only=True, repr=False)
class Preview:
    """What the next release would be: its figures, and not one row of it, so that no release leaves
    without being recorded.

    Made by ``Series.check`` and ``Plan.check``. Under differential privacy a figure that depends on
    the table would cost a part of the budget, so that all of these are None: only a release that is
    paid for may tell them.

    >>> Preview(series="ward", number=2, method={"name": "mondrian"}, guarantees=(), group="group")
    <Preview of release 2 of ward, by mondrian: its figures are for the release alone to tell>
    """

    series: str
    number: int
    """Which release of the series it would be."""
    wave: str | None = None
    """Of which wave of a panel it would be, where the plan has waves."""
    method: Mapping[str, Any]
    """The method's name and its public parameters."""
    guarantees: Sequence[Mapping[str, Any]]
    """What the release would promise, as its manifest would say it."""
    group: str | None
    """What a group is called in its form, group or bucket; None where it has none, or none that is
    public.
    """
    spent: Mapping[str, float] | None = None
    """What it would cost with those before it, by the plan alone: epsilon, delta, releases; None
    for what is not differentially private.
    """
    rows: int | None = None
    """Published rows, counterfeits among them."""
    groups: int | None = None
    """How many groups there would be; None, too, for a form without."""
    counterfeits: int | None = None
    """Rows that would be no person's; None, too, for a form that has none."""
    registered: int | None = None
    """Registered persons who would be in groups without a row."""
    suppressed_rows: Mapping[str, int] | None = None
    """Rows of the table that would not be published, by reason."""
    suppressed_values: Mapping[str, int] | None = None
    """Sensitive values that would be taken out of published rows, by reason."""
    checks: Sequence[Verdict] | None = None
    """The checks that its files passed, without their worst cases."""
    attacks: Sequence[Disclosed] | None = None
    """What adversaries found, where the plan bounds it or a report shows it, without the
    persons.
    """
    allowed: int | None = None
    """The most that m or l could be, by the most frequent sensitive value of the table; None, too,
    where nothing is sensitive, a person has a set of values, or households count as one.
    """
    seconds: float | None = None
    """How long it took."""
    memory: int | None = None
    """Bytes that the process took at its peak."""

    @classmethod
    def of(cls, checked: Checked, microdata: Microdata | None, seconds: float) -> "Preview":
        """The figures of a draft whose files were checked, and are about to go.

        Parameters
        ----------
        checked : Checked
            The draft, and what the check found.
        microdata : Microdata | None
            The table that it was made of; None where it is larger than the memory.
        seconds : float
            How long it took.

        Returns
        -------
        Preview
            The figures, and no row.
        """
        form, manifest = checked.release.form_type, checked.release.manifest
        plain = cls(
            series=manifest.series,
            number=manifest.number,
            method=dict(manifest.method),
            guarantees=[dict(g) for g in manifest.guarantees],
            group=form.id_column or None,
            spent=checked.spent,
        )
        if form.tells_itself_alone:
            return plain
        return replace(
            plain,
            rows=manifest.rows,
            groups=manifest.groups if form.id_column else None,
            counterfeits=manifest.counterfeits if form.kind == "generalized" else None,
            registered=manifest.registered,
            suppressed_rows=checked.suppressed.rows,
            suppressed_values=checked.suppressed.values,
            checks=[replace(v, worst_cases=pl.DataFrame()) for v in checked.verdicts],
            attacks=[replace(attack, per_person=pl.DataFrame()) for attack in checked.attacks],
            allowed=None if microdata is None else _allowed(microdata),
            seconds=seconds,
            memory=memory_taken(),
        )

    def to_json(self) -> dict[str, Any]:
        """The keys of a release that a preview can have, stable; what is not told is null.

        series, number, wave, method, guarantees, spent, rows, groups, counterfeits, registered,
        suppressed_rows, suppressed_values, allowed, seconds, memory, checks, disclosed.
        """
        return {
            "series": self.series,
            "number": self.number,
            "wave": self.wave,
            "method": dict(self.method),
            "guarantees": [dict(g) for g in self.guarantees],
            "spent": None if self.spent is None else dict(self.spent),
            "rows": self.rows,
            "groups": self.groups,
            "counterfeits": self.counterfeits,
            "registered": self.registered,
            "suppressed_rows": None if self.suppressed_rows is None else dict(self.suppressed_rows),
            "suppressed_values": None
            if self.suppressed_values is None
            else dict(self.suppressed_values),
            "allowed": self.allowed,
            "seconds": None if self.seconds is None else round(self.seconds, 3),
            "memory": self.memory,
            "checks": None if self.checks is None else [v.to_json() for v in self.checks],
            "disclosed": None
            if self.attacks is None
            else [attack.to_json() for attack in self.attacks],
        }

    def __repr__(self) -> str:
        of = f"release {self.number} of {self.series}, by {self.method['name']}"
        if self.rows is None:
            return f"<Preview of {of}: its figures are for the release alone to tell>"
        in_groups = "" if self.groups is None else f" in {self.groups:,} {self.group}s"
        suppressed = sum((self.suppressed_rows or {}).values())
        return f"<Preview of {of}: {self.rows:,} rows{in_groups}; {suppressed:,} rows suppressed>"


def _allowed(microdata: Microdata) -> int | None:
    if (
        microdata.schema.sensitive is None
        or microdata.sensitive.domain.type == "set"
        or microdata.households is not None
    ):
        return None
    column = microdata.sensitive
    times = np.bincount(column.codes, minlength=len(column.domain.values))
    if microdata.schema.not_applicable:  # nothing is promised of who has none
        times[is_listed(column.domain.values, microdata.schema.not_applicable)] = 0
    most = int(times.max(initial=0))
    return int(times.sum()) // most if most else None
