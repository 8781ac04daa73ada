# SPDX-License-Identifier: Apache-2.0
"""What a form does: each changes the plan or begins some work, and says which page is next."""

import os
from collections.abc import Mapping
from pathlib import Path

import tomlkit

from phalanx.data.sources.batches import columns_of, read_or_sample
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.source import csv_dialect
from phalanx.errors import PlanError
from phalanx.plan_file import write_new
from phalanx.profile.proposal import propose_plan, series_of
from phalanx.profile.table import profile
from phalanx.profile.use import Changes, Receiver, Use
from phalanx.studio import planfile
from phalanx.studio.pages import attack as attack_page
from phalanx.studio.pages import checking, data, handover, sliders
from phalanx.studio.pages import explore as explore_page
from phalanx.studio.pages import promise as promise_page
from phalanx.studio.place import Original, Place

Form = Mapping[str, str]


def bring(place: Place, form: Form) -> str:
    """Propose a plan for a table and for what becomes of it, and write it where there is none."""
    path, (source, query), use = place.plan_path, _named(place, form), _use(form)
    if path.exists():
        raise PlanError(f"{path.name} exists and is not overwritten; open it instead.")
    dialect = csv_dialect(source)
    frame, rows = read_or_sample(source, query=query, dialect=dialect)
    columns = profile(frame)
    location = source if "://" in source else os.path.relpath(source, path.parent)
    series = series_of(source)
    text = propose_plan(location, columns, series, query=query, use=use, dialect=dialect, rows=rows)
    try:
        write_new(path, text)
    except FileExistsError:
        raise PlanError(f"{path.name} exists and is not overwritten; open it instead.") from None
    except OSError as error:
        why = (error.strerror or "input/output error").lower()
        raise PlanError(
            f"{path.name} cannot be written ({why}); start in another folder."
        ) from None
    return "/data"


def _use(form: Form) -> Use:
    """The answers to the three questions; what was not answered is as ``phalanx init`` takes it."""
    changes, receiver = form.get("changes"), form.get("receiver")
    try:
        return Use(
            changes=Changes(changes) if changes else None,
            looks_original=form.get("looks_original") == "yes",
            receiver=Receiver(receiver) if receiver else Use.receiver,
        )
    except ValueError:
        raise PlanError("there is no such answer; choose one of the page.") from None


def role(place: Place, form: Form) -> str:
    """Give a column a role."""
    name, chosen = _column(place, form.get("column", "")), form.get("role", "")
    planfile.change(
        place, form.get("stamp", ""), lambda plan: planfile.set_role(plan, name, chosen)
    )
    return "/data#columns"


def missing(place: Place, form: Form) -> str:
    """Whether missing values of a column count as a value of their own."""
    name, counts = _column(place, form.get("column", "")), form.get("counts") == "value"
    planfile.change(
        place, form.get("stamp", ""), lambda plan: planfile.set_missing(plan, name, counts)
    )
    return "/data#columns"


def not_applicable(place: Place, form: Form) -> str:
    """Say which values of the sensitive attribute say that a person has none."""
    offered = data.frequent(place.table(), planfile.schema_of(place))
    texts = [form[key] for key in form if key.startswith("value.")]
    if any(text not in offered for text in texts):
        raise PlanError("the sensitive attribute has no such value; look at the page again.")
    values = [offered[text][0] for text in texts]
    planfile.change(
        place, form.get("stamp", ""), lambda plan: planfile.set_not_applicable(plan, values)
    )
    return "/data#applicable"


def hierarchy(place: Place, index: int, form: Form) -> str:
    """Give a column a hierarchy, if it covers every value of the table."""
    name = _column(place, str(index))
    declared = data.parsed(form.get("kind", ""), form.get("levels", ""))
    if declared:
        data.levels(place, declared, data.with_hierarchy(place, name))
    planfile.change(
        place, form.get("stamp", ""), lambda plan: planfile.set_hierarchy(plan, name, declared)
    )
    return f"/data/column/{index}"


def source(place: Place, form: Form) -> str:
    """Read another table, as for the next release of a series; the plan's columns must be in it."""
    named, query = _named(place, form)
    dialect = csv_dialect(named)
    columns = columns_of(named, query=query, dialect=dialect)
    plan = place.plan()
    needed = [*plan.schema().columns, *([] if plan.wave is None else [plan.wave])]
    if absent := [name for name in needed if name not in columns]:
        raise PlanError(f"the table has no column {absent[0]!r}, which the plan names.")
    location = named if "://" in named else os.path.relpath(named, place.plan_path.parent)
    planfile.change(
        place,
        form.get("stamp", ""),
        lambda plan: planfile.set_source(plan, location, query, dialect),
    )
    return "/data"


def _named(place: Place, form: Form) -> tuple[str, str | None]:
    """A table as a person names it, from the plan's folder."""
    source, query = form.get("source", "").strip(), form.get("query", "").strip() or None
    if not source:
        raise PlanError("no table is named; name a file, or a database and a query.")
    if "://" not in source:
        source = str(place.plan_path.parent / os.path.expanduser(source))  # noqa: PTH111 - Path's raises where no user has the name
    return source, query


def _column(place: Place, index: str) -> str:
    columns = place.table().columns
    if not (index.isascii() and index.isdecimal()) or len(index) > 6 or int(index) >= len(columns):
        raise PlanError("the table has no such column; look at the page again.")
    return columns[int(index)].name


def promise(place: Place, form: Form) -> str:
    """Adopt a method and its figures."""
    name = form.get("method", "")
    promise_page.with_method(place, name, form).series()
    planfile.change(place, form.get("stamp", ""), lambda plan: promise_page.adopt(plan, name, form))
    return "/promise"


def series(place: Place, form: Form) -> str:
    """Begin another series, which promises what it likes."""
    name = form.get("name", "")
    planfile.change(place, form.get("stamp", ""), lambda plan: planfile.set_series(plan, name))
    return "/promise"


def ground(place: Place, form: Form) -> str:
    """Say on what points are tried; another table is read, and no copy is kept on disk."""
    chosen = form.get("ground", "")
    if chosen not in sliders.GROUNDS:
        raise PlanError("there is no such choice; choose one of the page.")
    source = _named(place, form)[0] if chosen == "other" else None
    if source is not None:
        columns_of(source)
    place.ground = (chosen, source)
    return "/explore"


def explore(place: Place, form: Form) -> str:
    """Begin to try points on what was chosen."""
    plan, (on, source) = place.plan(), place.ground
    if on == "other" and source is None:
        raise PlanError("no table is named to try points on; name one first.")
    other = [source] if on == "other" else []
    tried = [line.strip() for line in form.get("tried", "").splitlines() if line.strip()]
    arguments = {
        "plan": str(place.plan_path),
        "tried": tried,
        "surrogate": other,
        "sample": sliders.SAMPLE if on == "sample" else None,
        "on_the_table": on == "table",
    }
    job = place.jobs.start("explore", f"Points of {plan.name}", arguments)
    return f"/work/{job.number}"


def adopt(place: Place, work: int, form: Form) -> str:
    """Write the method of a point into the plan."""
    number = form.get("point", "")
    if not (number.isascii() and number.isdecimal()):
        raise PlanError("there is no such point; choose one of the page.")
    method = dict(explore_page.point(place, work, int(number[:6])))
    name = str(method.pop("name"))
    rest = explore_page.rest(place, work)

    def adopted(plan: tomlkit.TOMLDocument) -> None:
        planfile.set_method(plan, name, method, list(method))
        if rest is not None:
            planfile.set_source(plan, rest, None, Dialect())

    planfile.change(place, form.get("stamp", ""), adopted)
    return "/promise"


def check(place: Place, form: Form) -> str:
    """Begin a dry run."""
    plan = place.plan()
    plan.series()
    job = place.jobs.start("check", f"Dry run of {plan.name}", {"plan": str(place.plan_path)})
    return f"/work/{job.number}"


def publish(place: Place, form: Form) -> str:
    """Begin to publish the release that the person saw is next, by the plan that they saw."""
    if form.get("sure") != "yes":
        raise PlanError("a release that has left cannot be called back; say that you are sure.")
    plan, number = place.plan(), form.get("number", "")
    plan.series()
    upcoming = 1 + len(place.entries(plan.name))
    if form.get("stamp") != place.stamp() or number != str(upcoming):
        raise PlanError("the plan or the series is another one by now; look at the page again.")
    arguments = {"plan": str(place.plan_path), "number": upcoming, "stamp": place.stamp()}
    title = f"Release {upcoming} of {plan.name}"
    if plan.wave is None:  # the ledger says which wave a release is of
        place.named[plan.name, upcoming] = Original(plan.source_path(), plan.query)
    job = place.jobs.start("publish", title, arguments, about=(plan.name, upcoming))
    return f"/work/{job.number}"


def cancel(place: Place, work: int, form: Form) -> str:
    """End some work."""
    place.jobs.cancel(work)
    return f"/work/{work}"


def original(place: Place, series: str, number: int, form: Form) -> str:
    """Say where the table behind a release is; it is read, and no copy is kept on disk."""
    place.entry(series, number)
    source, query = _named(place, form)
    columns_of(source, query=query)
    place.named[series, number] = Original(source, query)
    return f"/release/{series}/{number}/compare"


def verify(place: Place, series: str, number: int, form: Form) -> str:
    """Begin to check a release, and those before it, from their files."""
    entries = place.up_to(series, number)
    arguments = {
        "folders": [e.folder for e in entries],
        "ledger": place.ledger_url(),
        "digest": entries[-1].digest,
    }
    title = f"Check of release {number} of {series}"
    job = place.jobs.start("verify", title, arguments, about=(series, number))
    return f"/work/{job.number}"


def bring_foreign(place: Place, form: Form) -> str:
    """Name what others published: a table that is read, or a release folder."""
    named, _ = _named(place, form)
    if "://" in named:
        raise PlanError("what is checked is a file or a folder; write the table to a file first.")
    if not Path(named).is_dir():
        checking.columns(named)
    place.foreign = named
    return "/verify"


def check_foreign(place: Place, form: Form) -> str:
    """Begin to check what others published."""
    arguments = checking.arguments(place, form)
    title = f"Check of {Path(arguments['source']).name}"
    job = place.jobs.start("foreign", title, arguments)
    return f"/work/{job.number}"


def report(place: Place, series: str, number: int, form: Form) -> str:
    """Begin to write the page for those who receive a release."""
    folders = [entry.folder for entry in place.up_to(series, number)]
    to = handover.report_path(place, series, number, "external")
    title = f"The page for those who receive release {number} of {series}"
    arguments = {"folders": folders, "to": str(to)}
    job = place.jobs.start("report", title, arguments, about=(series, number))
    return f"/work/{job.number}"


def attack(place: Place, series: str, number: int, form: Form) -> str:
    """Begin to play an adversary."""
    name = form.get("adversary", "")
    if not attack_page.is_offered(name):
        raise PlanError("there is no such adversary; choose one of the page.")
    arguments = attack_page.arguments(place, series, number, name, form)
    title = f"{name} against release {number} of {series}"
    job = place.jobs.start("attack", title, arguments, about=(series, number))
    return f"/work/{job.number}"


def measure(place: Place, series: str, number: int, form: Form) -> str:
    """Begin to measure what a release lost."""
    entry, of = place.entry(series, number), place.original_source(series, number)
    if of is None:
        raise PlanError("the original table is not known here; name its file.")
    arguments = {
        "folder": entry.folder,
        "original": of.source,
        "query": of.query,
        "identifier": place.promise(series).get("identifier"),
        "wave": of.wave,
    }
    title = f"What release {number} of {series} lost"
    job = place.jobs.start("measure", title, arguments, about=(series, number))
    return f"/work/{job.number}"
