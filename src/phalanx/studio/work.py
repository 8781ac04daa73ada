# SPDX-License-Identifier: Apache-2.0
"""What takes time: to check a plan, to publish, to verify, to attack, and to measure.

Run as a program, it does one piece of work: what to do stands on standard input, and how far it is
and what came of it go to standard output, a line of JSON each.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import polars as pl

from phalanx.adversaries.base import Attack, attacked_by
from phalanx.adversaries.registry import KNOWN, made
from phalanx.adversaries.verdict import verdict
from phalanx.data.sources.source import read_source
from phalanx.data.waves import one_wave
from phalanx.errors import PhalanxError, PlanError, ReleaseError, fault, unusable
from phalanx.exploration import explore as tried_on
from phalanx.ledger import Ledger
from phalanx.plan import Plan
from phalanx.release.evidence.evidence import Evidence
from phalanx.report.usefulness import Usefulness
from phalanx.series.released import Release
from phalanx.studio import findings
from phalanx.verification import gather_evidence, verify, verify_table
from phalanx.verification.originals import refuse_others


class Step(Protocol):
    """Called with a step as it begins, and with how much of it is done, and of how much."""

    def __call__(self, step: str, done: int = 0, of: int | None = None, /) -> None: ...


_MOST_FOUND: Final = 20
"""So many of the persons whom an adversary found are named."""


def check(step: Step, *, plan: str) -> dict[str, Any]:
    """Everything but publishing, and what a release would be."""
    return Plan.read(plan).check(progress=step).to_json()


def publish(step: Step, *, plan: str, number: int, stamp: str) -> dict[str, Any]:
    """Publish release ``number``, and no other: the person who asked saw that it is the next one.

    ``stamp``: the plan that they saw. PlanError where the plan or the series is another one now.
    """
    from phalanx.studio.place import Place

    if Place(Path(plan)).stamp() != stamp:
        raise PlanError("the plan was changed since it was looked at; nothing was published.")
    read = Plan.read(plan)

    def watched(name: str, done: int, of: int | None) -> None:
        if name == "record":  # the last moment before it is recorded, when its number is decided
            _check_next(read, number)
        step(name, done, of)

    _check_next(read, number)
    return read.publish(progress=watched).to_json()


def _check_next(plan: Plan, number: int) -> None:
    url = plan.ledger_url()
    published = 0
    if Ledger.exists(url):
        with Ledger.open(url, create=False) as ledger:
            published = len(ledger.releases(plan.name))
    if published + 1 != number:
        raise PlanError(
            f"release {number} of {plan.name} was published meanwhile; nothing was published now, "
            "so look at the timeline."
        )


def explore(
    step: Step,
    *,
    plan: str,
    tried: Sequence[str],
    surrogate: Sequence[str],
    sample: str | None,
    on_the_table: bool,
) -> dict[str, Any]:
    """Points over a grid, each with what it promises, risks and loses; and their picture."""
    exploration = tried_on(
        plan,
        tried,
        surrogate=surrogate,
        sample=sample,
        on_the_table=on_the_table,
        workers=1,
        progress=step,
    )
    source = None if exploration.source is None else str(exploration.source)
    head, rows = exploration.table()
    picture = exploration.picture(link="?points={}#beside") if exploration.adversaries else ""
    fields: dict[str, Any] = exploration.to_json()
    return fields | {"picture": picture, "head": head, "rows": rows, "source": source}


def check_again(step: Step, *, folders: Sequence[str], ledger: str, digest: str) -> dict[str, Any]:
    """Verify releases from their files, against the ledger; ``digest``: what the last one had when
    it was published.
    """
    step("check")
    fields = verify(list(folders), ledger=ledger).to_json()
    failed = [check["name"] for check in fields["checks"] if not check["holds"]]
    unmade = sum(check["holds"] and check["worst"] is None for check in fields["checks"])
    finding = {"checks": len(fields["checks"]), "failed": failed, "unmade": unmade}
    findings.keep(folders[-1], digest, findings.CHECK, finding)
    return fields


def check_foreign(
    step: Step,
    *,
    source: str,
    folder: bool,
    quasi: Sequence[str] = (),
    sensitive: str | None = None,
    group: str | None = None,
    bounds: Mapping[str, int | str] | None = None,
) -> dict[str, Any]:
    """Check another publisher's release folder or table; ``asked``: whether it could fail."""
    step("check")
    if folder:
        return verify(source).to_json() | {"asked": True}
    limits: dict[str, Any] = dict(bounds or {})
    verification = verify_table(source, quasi=quasi, sensitive=sensitive, group=group, **limits)
    return verification.to_json() | {"asked": bool(limits)}


def report(step: Step, *, folders: Sequence[str], to: str) -> dict[str, Any]:
    """Write the page for those who receive the last of these releases."""
    step("read")
    *earlier, last = (Release.read(folder) for folder in folders)
    step("write")
    page = replace(last, _earlier=earlier).report(to, audience="external")
    return {"page": page.name, "digest": last.digest}


def attack(
    step: Step,
    *,
    adversary: str,
    folders: Sequence[str],
    ledger: str,
    originals: Sequence[tuple[str, str | None, Sequence[str] | None]],
    identifier: str | None,
    knows: Mapping[str, Any],
) -> dict[str, Any]:
    """Play one adversary, ``knows`` what it is told, and say what it found: a sentence, figures, and
    some of the persons whom it found.
    """
    step("read")
    releases = [Release.read(folder) for folder in folders]
    alone = getattr(KNOWN[adversary], "looks_at", "series") == "release"
    tables = [_table(release, *of) for release, of in zip(releases, originals, strict=False)]
    refuse_others(releases, tables)
    evidence, _ = gather_evidence(
        releases,
        ledger=None if alone and identifier is None else ledger,
        originals=tables,
        identifier=identifier,
        persons=not alone,
    )
    step("attack")
    attack_result = attacked_by(made(adversary, **knows), releases, evidence)
    if not attack_result.persons:
        raise ReleaseError("no person of the original table is in the release; name its own table.")
    step("judge")
    fields: dict[str, Any] = attack_result.to_json()
    finding = {
        "played": adversary,
        "adversary": attack_result.adversary,
        "knows": attack_result.knows,
        "sentence": f"{attack_result.adversary} {attack_result.sentence}.",
        "verdict": verdict(attack_result, releases),
        "breach": "A BREACH" in verdict(attack_result, releases),
    }
    findings.keep(folders[-1], releases[-1].digest, f"{findings.ATTACK}{adversary}", finding)
    return (
        fields
        | finding
        | {
            "found": _persons(
                attack_result, list(zip(releases, tables, strict=False)), evidence, identifier
            ),
            "tables": [
                {"header": list(header), "rows": [list(map(str, row)) for row in rows]}
                for header, rows, _ in attack_result.tables()
            ],
        }
    )


def _persons(
    attack: Attack,
    tables: Sequence[tuple[Release, Any]],
    evidence: Evidence,
    identifier: str | None,
) -> list[str]:
    """Some of the persons of whom an adversary is certain, and right, by their identifier."""
    if identifier is None or not {"person", "exposed"} <= {*attack.per_person.columns}:
        return []
    exposed = attack.per_person.filter(pl.col("exposed").cast(pl.Boolean)).select("person")
    names: list[str] = []
    for release, table in tables:
        persons = evidence.microdata[release.number].persons
        of_table = pl.DataFrame({"person": persons, "name": table[identifier].cast(pl.String)})
        names += of_table.join(exposed, on="person", how="semi")["name"].to_list()
    return list(dict.fromkeys(names))[:_MOST_FOUND]


def measure(
    step: Step,
    *,
    folder: str,
    original: str,
    identifier: str | None,
    query: str | None = None,
    wave: Sequence[str] | None = None,
) -> dict[str, Any]:
    """What a release lost, beside a sample of the same size; and what any two attributes tell of
    each other, before and after.
    """
    step("read")
    release = Release.read(folder)
    table = _table(release, original, query, wave)
    refuse_others([release], [table])
    step("measure")
    fields: dict[str, Any] = release.measure(table).to_json()
    step("pairs")
    followed = identifier if identifier in table.columns else None
    evidence, _ = gather_evidence(
        [release], ledger=None, originals=[table], identifier=followed, persons=False
    )
    use = Usefulness.of(release, evidence.microdata.get(release.number))
    fields |= {
        "pairs": [
            {"attributes": [a, b], "original": round(was, 4), "release": round(now, 4)}
            for a, b, was, now in use.pairs
        ],
        "why_no_pairs": use.why_not,
    }
    findings.keep(folder, release.digest, findings.LOSS, fields)
    return fields


def _table(
    release: Release, source: str, query: str | None, wave: Sequence[str] | None = None
) -> Any:
    """The table behind a release, whatever other columns it has; ``wave``: a column and its value,
    where the source holds several tables.
    """
    texts = [a.name for a in release.form.attributes if a.type == "categorical"]
    table = read_source(source, query=query, drop=None, text=texts)
    if wave is None:
        return table
    column, value = wave
    return one_wave(table, column, value, ())[1]


WORK: Final[Mapping[str, Callable[..., dict[str, Any]]]] = {
    "check": check,
    "publish": publish,
    "explore": explore,
    "verify": check_again,
    "foreign": check_foreign,
    "report": report,
    "attack": attack,
    "measure": measure,
}
"""By the name under which a job asks for it."""


def _say(
    tell: Callable[[Mapping[str, Any]], None], step: str, done: int = 0, of: int | None = None
) -> None:
    """Tell of a step."""
    tell({"step": step, "part": None if of is None else {"done": done, "of": of}})


def perform(asked: Mapping[str, Any], tell: Callable[[Mapping[str, Any]], None]) -> None:
    """Do one piece of work, and tell its steps and its result, or why there is none."""
    try:
        result = WORK[asked["kind"]](partial(_say, tell), **asked["arguments"])
    except PhalanxError as error:
        tell({"error": str(error)})
    except OSError as error:
        tell({"error": unusable(error)})
    except MemoryError:
        tell({"error": "the memory ran out; close what else runs, or use a larger machine."})
    except BaseException as error:  # noqa: BLE001 - whatever it is, its message may quote values
        tell({"error": fault(error)})
    else:
        tell({"result": result})


def main() -> None:
    """One piece of work, as a program."""
    lines = os.dup(1)
    os.dup2(2, 1)  # whatever else prints, prints elsewhere
    perform(
        json.loads(sys.stdin.buffer.read()),
        lambda report: _write(lines, json.dumps(report, default=str).encode() + b"\n"),
    )


def _write(to: int, content: bytes) -> None:
    while content:
        content = content[os.write(to, content) :]


if __name__ == "__main__":
    main()
