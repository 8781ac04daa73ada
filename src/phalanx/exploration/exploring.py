# SPDX-License-Identifier: Apache-2.0
"""Exploring a plan: points over a grid, measured side by side, shown beside each other."""

import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from phalanx.errors import PlanError, path_of
from phalanx.exact import whole
from phalanx.exploration.adopting import adopted, check_place
from phalanx.exploration.grid import Section, label, sections
from phalanx.exploration.ground import Ground, digest, ground
from phalanx.exploration.keeping import folder_of, make_private
from phalanx.exploration.points import OF_ONE, OF_SEVERAL, Point
from phalanx.exploration.running import answers
from phalanx.plan import Plan
from phalanx.plan_file import write_new
from phalanx.progress import Progress, check_progress, silent
from phalanx.report.multiples import Dot, Multiples, Panel, frontier
from phalanx.temporary import temporary_folder

SAMPLE = "a plain sample of the same size"
BASE = "base rate: without the release"
_DIED = "the process that tried it ended before it was done; the memory may not suffice for it."


@dataclass(frozen=True, kw_only=True, repr=False)
class Exploration:
    """What each point promises, risks and loses, side by side; no figure is made of two."""

    plan: Plan
    ran_on: str
    """On what, in few words."""
    why: str
    """The same as a sentence, and why not on the table."""
    points: tuple[Point, ...]
    resumed: int
    """How many of them had been measured before."""
    folder: Path
    """Where points are kept, so that an interrupted run goes on; private."""
    source: Path | None = field(default=None)
    """The table that an adopted plan publishes in place of the plan's; None where it is that."""

    def __getitem__(self, number: int) -> Point:
        """The point of this number."""
        if not 1 <= number <= len(self.points):
            raise PlanError(f"there is no point {number}; there are 1 to {len(self.points)}.")
        return self.points[number - 1]

    @property
    def adversaries(self) -> tuple[str, ...]:
        """Who was played on some point, in their order."""
        played = {risk.adversary for point in self.points for risk in point.risks}
        return tuple(name for name in (*OF_ONE, *OF_SEVERAL) if name in played)

    @property
    def sample_error(self) -> float | None:
        """The workload's error of a plain sample of the same size, in the middle of the points."""
        errors = [p.sample_error for p in self.points if p.sample_error is not None]
        return median(errors) if errors else None

    def base_rate(self, adversary: str) -> float | None:
        """How often an adversary without the release is right, in the middle of the points.

        Parameters
        ----------
        adversary : str
            Its name.

        Returns
        -------
        float | None
            A share of persons; None where no point has one.
        """
        risks = [point.risk(adversary) for point in self.points]
        rates = [r.base_rate for r in risks if r is not None and r.base_rate is not None]
        return median(rates) if rates else None

    def frontier(self, adversary: str) -> tuple[int, ...]:
        """The numbers of the points of which none is better against this adversary and in error.

        Parameters
        ----------
        adversary : str
            Its name.

        Returns
        -------
        tuple[int, ...]
            The numbers, ascending.
        """
        shown = self._shown(adversary)
        front = frontier([(dot.x, dot.y) for _, dot in shown])
        return tuple(point.number for i, (point, _) in enumerate(shown) if i in front)

    def _shown(self, adversary: str) -> list[tuple[Point, Dot]]:
        """The points that have both figures."""
        shown = []
        for point in self.points:
            risk = point.risk(adversary)
            if risk is None or risk.success is None or point.error is None:
                continue
            says = f"{point.number} {point.label}: {risk.success:.1%} at {point.error:.1%}"
            dot = Dot(
                x=point.error, y=risk.success, between=risk.interval, label=str(point.number),
                of=str(point.method["name"]), says=says,
            )  # fmt: skip
            shown.append((point, dot))
        return shown

    def picture(self, *, link: str = "") -> str:
        """A panel for each adversary.

        Parameters
        ----------
        link : str, optional
            For a page: where a point leads, with ``{}`` for its number; the page has the style.

        Returns
        -------
        str
            The text of an SVG file, or of a part of a page.

        Raises
        ------
        PlanError
            Where there is no point.
        """
        panels = [
            Panel(title=name, dots=dots, base=self.base_rate(name))
            for name in self.adversaries
            if (dots := [dot for _, dot in self._shown(name)])
        ]
        if not panels:
            raise PlanError(
                "no adversary reads any of the points, so that there is no picture; look at the"
                " table of points."
            )
        drawing = Multiples(
            title="What each point risks, and what it loses",
            x="median relative error of random counts; further left is better",
            y="how often the adversary is right, with its 95 % interval; lower is better",
            reference=self.sample_error,
            reference_name=SAMPLE,
            base_name=BASE,
            link=link,
        )
        return drawing.drawn(panels)

    @property
    def is_pictured(self) -> bool:
        """Whether there is a point that some adversary could be played on."""
        return any(self._shown(name) for name in self.adversaries)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of a table of points; the last two are what to compare with."""
        names = self.adversaries
        head = ["", "method", *names, "loss", "error", "suppressed rows", "seconds"]
        rows = [
            [
                str(p.number), p.label, *(_risk(p, name) for name in names), _share(p.loss),
                _share(p.error), "" if p.suppressed_rows is None else f"{p.suppressed_rows:,}",
                "" if p.seconds is None else f"{p.seconds:.1f}",
            ]
            for p in self.points
            if not p.refused
        ]  # fmt: skip
        rates = [_share(self.base_rate(name)) for name in names]
        rows.append(["", "without the release", *rates, "", "", "", ""])
        nothing = ["" for _ in names]
        rows.append(["", SAMPLE, *nothing, "0%", _share(self.sample_error), "0", ""])
        return head, rows

    def adopt(self, number: int, path: str | Path) -> Path:
        """Write the plan with the method of a point, as a new file beside it.

        Parameters
        ----------
        number : int
            The number of the point.
        path : str | Path
            The file, beside the plan, which must not be there yet.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        PlanError
            Where the point could not be published, and where the file is elsewhere or there.
        """
        point, path = self[number], Path(path)
        if point.refused:
            raise PlanError(f"point {number} ({point.label}) cannot be published; adopt another.")
        check_place(self.plan, path)
        text = self.plan.path.read_text(encoding="utf-8-sig")
        why = f"Point {number} of phalanx explore: {point.label}. {self.why}"
        changed = adopted(self.plan, text, point.method, source=self.source, why=why)
        try:
            write_new(path, changed)
        except FileExistsError:
            raise PlanError(f"{path} exists; name a new file for the adopted plan.") from None
        except OSError as error:
            why = (error.strerror or "input/output error").lower()
            raise PlanError(f"{path} cannot be written ({why}); name another one.") from None
        return path

    def to_json(self) -> dict[str, Any]:
        """Stable keys: ran_on, why, resumed, sample_error, base_rates, frontiers, points."""
        return {
            "ran_on": self.ran_on,
            "why": self.why,
            "resumed": self.resumed,
            "sample_error": self.sample_error,
            "base_rates": {name: self.base_rate(name) for name in self.adversaries},
            "frontiers": {name: list(self.frontier(name)) for name in self.adversaries},
            "points": [point.to_json() for point in self.points],
        }

    def __repr__(self) -> str:
        done = sum(not point.refused for point in self.points)
        return (
            f"<Exploration of {len(self.points)} points on {self.ran_on}; {done} can be published>"
        )

    def _repr_html_(self) -> str:
        head, rows = self.table()
        lines = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in [head, *rows]
        )
        return f"<p>{html.escape(self.why)}</p>{self.picture()}<table>{lines}</table>"


def explore(
    plan: Plan | str | Path,
    grid: Sequence[str | Mapping[str, Any]] = (),
    *,
    surrogate: Any = (),
    sample: Any = None,
    on_the_table: bool = False,
    folder: str | Path | None = None,
    workers: int | None = None,
    progress: Progress = silent,
) -> Exploration:
    """Say beforehand what methods and parameters would promise, risk, lose and take.

    Every point publishes into a private folder, is checked, attacked by named adversaries, and
    measured; nothing of it is kept but the figures. By default this runs on a table drawn from the
    last release, which is out already. To choose on the table itself what looks best is a choice
    that depends on it, and no guarantee covers that: it takes ``on_the_table``, and is refused
    under differential privacy. These figures say how private values are distributed in what it ran
    on: they are for the publisher. What a method refuses is said of its point.

    Parameters
    ----------
    plan : Plan | str | Path
        The plan, or its file; its own method is always the first point.
    grid : Sequence[str | Mapping[str, Any]], optional
        Points such as ``"mondrian k=5,10 l=2"`` or ``{"name": "mondrian", "k": 5}``; without, every
        method that the schema has a place for.
    surrogate : frame, path or sequence of these
        A table of the same kind, or several, published one after the other.
    sample : Any, optional
        A share of the rows, drawn once and written to ``folder``, which are spent: an adopted plan
        publishes the others.
    on_the_table : bool, default False
        Run on the table itself.
    folder : str | Path, optional
        Where points are kept so that the next run goes on, by default beside the plan.
    workers : int, optional
        How many processes, by default one per core.
    progress : Progress, optional
        Called with ``points``, how many of them are done, and of how many.

    Returns
    -------
    Exploration
        The points, with their figures.

    Raises
    ------
    PlanError
        Where there is nothing to run on, or the grid is none.
    """
    plan = plan if isinstance(plan, Plan) else Plan.read(plan)
    check_progress(progress)
    count = (os.cpu_count() or 1) if workers is None else whole(workers, "workers")
    method = plan.sections.method_
    plan.method()
    asked = [grid] if isinstance(grid, str | Mapping) else grid
    plan_section = {"name": method.name, **(method.model_extra or {})}
    points = sections(plan_section, plan.schema(), asked)
    where = path_of(
        folder_of(plan) if folder is None else folder, "the folder for points", PlanError
    )
    given = list(surrogate) if isinstance(surrogate, list | tuple) else [surrogate]
    try:
        on = ground(
            plan, points, surrogate=given, sample=sample, on_the_table=on_the_table, folder=where
        )
        make_private(where)
        done = _Done(where / "points.jsonl", plan, on)
        resumed = _measure(plan, points, on, done, count, progress)
    except OSError as error:
        why = (error.strerror or "input/output error").lower()
        raise PlanError(f"{where} cannot be used ({why}); name another folder.") from None
    return Exploration(
        plan=plan,
        ran_on=on.what,
        why=on.why,
        points=tuple(done.point(i, section) for i, section in enumerate(points, 1)),
        resumed=resumed,
        folder=where,
        source=on.source,
    )


def _measure(
    plan: Plan,
    points: Sequence[Section],
    on: Ground,
    done: "_Done",
    workers: int,
    progress: Progress,
) -> int:
    """Measure what is not done; how many were."""
    with temporary_folder() as place:
        tables = []
        for i, table in enumerate(on.tables):
            path = place / f"{i}.parquet"
            table.write_parquet(path, statistics=False)
            tables.append(str(path))
        asked = {
            "path": str(plan.path.absolute()),
            "plan": plan.sections.model_dump(mode="json", by_alias=True, exclude_unset=True),
            "tables": tables,
        }
        unmeasured = [i for i, section in enumerate(points, 1) if not done.has(section)]
        ready = len(points) - len(unmeasured)
        progress("points", ready, len(points))
        tasks = [{**asked, "number": i, "method": dict(points[i - 1])} for i in unmeasured]
        for place_of, answer in answers(tasks, workers):
            number = unmeasured[place_of]
            died = Point(number=number, method=points[number - 1], refused=_DIED).to_json()
            came = answer or {"point": died, "lasting": False}
            done.add(points[number - 1], came["point"], keep=came["lasting"])
            ready += 1
            progress("points", ready, len(points))
    return len(points) - len(unmeasured)


class _Done:
    """The points that were measured on these tables under this schema, in a file of the folder."""

    def __init__(self, path: Path, plan: Plan, on: Ground) -> None:
        self._path = path
        parts = [version("phalanx"), OF_ONE, OF_SEVERAL, digest(on.tables)]
        schema = plan.sections.schema_.model_dump(mode="json")
        self._on = json.dumps([*parts, schema], sort_keys=True)
        self._found: dict[str, Mapping[str, Any]] = {}
        if path.exists():
            for line in path.read_bytes().splitlines():
                with suppress(ValueError, KeyError, TypeError, RecursionError):
                    entry = json.loads(line)  # one that is half written or bent is no point
                    Point.of_json(entry["point"])
                    self._found[entry["key"]] = entry["point"]

    def _key(self, section: Section) -> str:
        text = f"{self._on} {json.dumps(dict(section), sort_keys=True, default=str)}"
        return hashlib.sha256(text.encode()).hexdigest()

    def has(self, section: Section) -> bool:
        """Whether this point was measured."""
        return self._key(section) in self._found

    def add(self, section: Section, point: Mapping[str, Any], *, keep: bool) -> None:
        """Remember a point; ``keep``: the next run need not measure it again."""
        self._found[self._key(section)] = point
        if keep:
            line = json.dumps({"key": self._key(section), "point": point})
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(handle, "a", encoding="utf-8") as file:
                file.write("\n" + line)  # which also ends one that was half written

    def point(self, number: int, section: Section) -> Point:
        """A point that is there, under its number in this grid."""
        stored = self._found[self._key(section)]
        return Point.of_json({**stored, "number": number, "method": dict(section)})


def _share(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.1%}"


def _risk(point: Point, adversary: str) -> str:
    risk = point.risk(adversary)
    if risk is None:
        return ""
    if risk.success is None:
        return "none"
    low, high = risk.interval
    return f"{risk.success:.1%} ({100 * low:.0f}-{100 * high:.0f})"


__all__ = ["Exploration", "explore", "label"]
