# SPDX-License-Identifier: Apache-2.0
"""What a point would be, at once, for a person who moves a figure and looks: some rows of the
ground are grouped in memory. Nothing is written, checked, attacked or remembered.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from phalanx.data.microdata import Microdata
from phalanx.data.ordering import written_down
from phalanx.data.persons import PersonKey
from phalanx.errors import PhalanxError
from phalanx.exploration.grid import Section
from phalanx.exploration.ground import Ground, check_private, ground
from phalanx.exploration.keeping import folder_of
from phalanx.methods.base import Draft, Memory, Method, make
from phalanx.plan import Plan
from phalanx.randomness import Randomness
from phalanx.report.classes import Classes
from phalanx.report.figures import Figures
from phalanx.report.promises import in_words

_FIRST: Final = 500
_GROWTH: Final = 4


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One point on some rows of the ground, as shares, which more rows change less than counts."""

    rows: int
    """So many rows were grouped."""
    of: int
    """So many rows the ground has."""
    promised: tuple[str, ...] = ()
    """Its guarantees, a sentence each."""
    loss: float | None = None
    """The mean width of intervals (NCP); None where the form has none."""
    suppressed: float | None = None
    """The share of suppressed rows; None under differential privacy."""
    worst_risk: float | None = None
    """How often at worst the row of a person is found by the quasi-identifiers; None where a row is
    not a person's.
    """
    mean_risk: float | None = None
    """The same on average over rows."""
    seconds: float | None = None
    """How long the rows took to be grouped."""
    refused: str = ""
    """Why there is none; empty where there is one."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: rows, of, promised, loss, suppressed, worst_risk, mean_risk, seconds,
        refused.
        """
        return asdict(self)


class Estimator:
    """Estimates on one ground, each method always on the same rows, so that figures of one method
    can be compared.

    So many rows are taken as the method groups within ``seconds``, all of them if it can. They are
    drawn at random, once; of fewer rows intervals are wider. Bounds of the plan on adversaries are
    not looked at, and a release is always the first one.
    """

    def __init__(self, plan: Plan, on: Ground, *, on_the_table: bool, seconds: float) -> None:
        schema = written_down(plan.schema(), on.tables[-1], {})
        self.ground = on
        self._on_the_table, self._seconds = on_the_table, seconds
        self._sensitive = schema.sensitive is not None
        self._microdata = Microdata.encode(on.tables[-1], schema, PersonKey(bytes(32)))
        drawn = Randomness.seeded(0).stream("estimated")  # an estimate protects no person
        self._order = drawn.permutation(self._microdata.rows)
        self._parts: dict[int, Microdata] = {}
        self._rows: dict[str, int] = {}
        self._done: dict[str, Estimate] = {}

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        surrogate: Sequence[Any] = (),
        sample: Any = None,
        on_the_table: bool = False,
        seconds: float = 0.1,
    ) -> "Estimator":
        """On what ``explore`` would run on, where a ``sample`` is spent, too; the same PlanError where
        there is nothing.
        """
        on = ground(
            plan,
            [],
            surrogate=surrogate,
            sample=sample,
            on_the_table=on_the_table,
            folder=folder_of(plan),
        )
        return cls(plan, on, on_the_table=on_the_table or sample is not None, seconds=seconds)

    def estimate(self, section: Section) -> Estimate:
        """One point; PlanError where it is differentially private and the ground is the table."""
        if self._on_the_table:
            check_private([section])
        asked = json.dumps(section, sort_keys=True, default=str)
        if asked not in self._done:
            self._done[asked] = self._estimated(section)
        return self._done[asked]

    def _estimated(self, section: Section) -> Estimate:
        n = self._microdata.rows
        try:
            method = make(str(section["name"]), _parameters(section))
            rows = self._rows_of(method)
            began = time.perf_counter()
            draft = self._drafted(method, rows)
            seconds = time.perf_counter() - began
        except PhalanxError as wrong:
            return Estimate(rows=0, of=n, refused=str(wrong))
        figures, classes = Figures.of_form(draft.form), Classes.of_form(draft.form)
        suppressed = draft.suppressed.rows
        return Estimate(
            rows=rows,
            of=n,
            promised=tuple(
                in_words(g.parameters(), sensitive=self._sensitive)
                for g in draft.guarantees or method.guarantees
            ),
            loss=figures.loss if figures.widths else None,
            suppressed=None if suppressed is None else sum(suppressed.values()) / rows,
            worst_risk=None if classes is None else classes.worst,
            mean_risk=None if classes is None else classes.average,
            seconds=round(seconds, 3),
        )

    def _rows_of(self, method: Method) -> int:
        """On how many rows a method is estimated: found once, by taking more and more."""
        if method.name not in self._rows:
            n = self._microdata.rows
            rows = min(_FIRST, n)
            self._drafted(method, rows)  # loads what the method needs
            while rows < n:
                began = time.perf_counter()
                self._drafted(method, rows)
                if _GROWTH * (time.perf_counter() - began) > self._seconds:
                    break
                rows = min(n, rows * _GROWTH)
            self._rows[method.name] = rows
        return self._rows[method.name]

    def _drafted(self, method: Method, rows: int) -> Draft:
        if rows not in self._parts:
            self._parts[rows] = self._microdata.take(np.sort(self._order[:rows]))
        return method.publish(self._parts[rows], Memory(), Randomness.seeded(0))


def _parameters(section: Section) -> Mapping[str, Any]:
    return {key: value for key, value in section.items() if key != "name"}
