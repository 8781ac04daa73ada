# SPDX-License-Identifier: Apache-2.0
"""The process that measures points: tasks come in as lines of JSON, and points go out so.

A process of its own, and not a fork: threads of libraries do not survive one, and a point for
which the memory does not suffice takes no other worker down.
"""

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from phalanx.data.sources.source import read_source
from phalanx.errors import fault, lack_behind
from phalanx.exploration.grid import unmarked
from phalanx.exploration.points import Point, measured, warm
from phalanx.plan import Plan
from phalanx.plan_file import PlanFile


@cache
def _tables(paths: tuple[str, ...]) -> tuple[pl.DataFrame, ...]:
    return tuple(read_source(path) for path in paths)


def answer(task: dict[str, Any], warmed: set[str]) -> dict[str, Any]:
    """The point of one task, as JSON, and whether it would be the same again."""
    number, section = task["number"], task["method"]
    schema = Plan(Path(task["path"]), PlanFile.model_validate(task["plan"])).schema()
    tables = _tables(tuple(task["tables"]))
    if section["name"] not in warmed:
        warm(section, schema, tables[0])
        warmed.add(section["name"])
    try:
        return {"point": measured(number, section, schema, tables).to_json(), "lasting": True}
    except Exception as error:  # noqa: BLE001 - its message may quote values of persons
        point = Point(number=number, method=section, refused=fault(error))
        return {"point": point.to_json(), "lasting": lack_behind(error) is None}


def main() -> None:
    """Answer until there are no more tasks."""
    warmed: set[str] = set()
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
        for line in sys.stdin:
            task = json.loads(line, object_hook=unmarked)
            out.write(json.dumps(answer(task, warmed)) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
