# SPDX-License-Identifier: Apache-2.0
"""What is asked of a plan before there is a release: points of a grid on one ground or another, in
a folder that an earlier run left, and that somebody bent or an interruption cut off.
"""

import json
import random
import shlex
from pathlib import Path
from typing import Any

import polars as pl

from fuzz import commands, plans, scene
from fuzz.damage import NUMBERS, any_json, spoiled
from fuzz.releases import bend
from phalanx.exploration.ground import digest

TRIED = [
    "mondrian k=2", "anatomy l=2", "slicing l=2", "mutual-cover delta=1/3", "m-invariance m=2", "global-guarantee l=2", "safe-sampling epsilon=1", "nobody k=1", "mondrian k", "mondrian k=",
    "mondrian =1", "mondrian k=1,,2", "mondrian k=1\nk=2", "mondrian name=anatomy", "mondrian k=[1", "mondrian k={a=1}", "mondrian k=1979-05-27", "mondrian k=inf", "mondrian k=nan", "", " ",
    "mondrian k=" + "9" * 5000, "mondrian k=" + "[" * 30_000, "mondrian k=" + ",".join(map(str, range(300))), "mondrian k=" + ",".join(["1"] * 9999) + " l=" + ",".join(["1"] * 9999),
    "mondrian k=" + ",".join(map(str, range(9999))) + " l=" + ",".join(map(str, range(9999))),
]  # fmt: skip
"""Grids, few of them of points that can be published."""
FOLDER = Path("mondrian.explore")
"""What a run left that was made with the scene."""
RESUMED = shlex.split(scene.EXPLORED)


def explore(fate: random.Random) -> list[str]:
    """A grid, a plan, a ground, or what an earlier run left, of which one is odd."""
    more = fate.choice([[], [], ["--json"], ["--quiet"]])
    if fate.random() < 0.3:
        number = str(fate.choice([*NUMBERS[:18], 1, 1, 2]))
        more += ["--adopt", number, fate.choice(["new.toml", "out", "out/x.toml", "t1.csv"])]
    if fate.random() < 0.2:
        more += ["--picture", fate.choice(["chart.svg", "out", "nowhere/x.svg", "/dev/full"])]
    match fate.randrange(8):
        case 0 | 1 | 2:
            _cut(FOLDER / "points.jsonl", fate)
            return [*RESUMED, *more]
        case 3:
            return [*RESUMED[:2], *_sampled(fate), "--workers", "1", *more]
        case 4:
            bend([Path("out/mondrian-1")], fate)
            return ["explore", "mondrian.toml", "--try", "mondrian k=4", "--workers", "1", *more]
        case 5:
            plans.plan(fate)
            return ["explore", "plan.toml", "--on-the-table", "--try", "anatomy l=2", *more]
        case 6:
            workers = fate.choice(["1", "0", "-1", "9" * 30, "x"])
            other = fate.choice(["bomb.arrow", "nowhere", "out", "/dev/null", commands.value(fate)])
            ground = fate.choice([["--surrogate", other], ["--sample", commands.value(fate)]])
            return [*RESUMED[:2], *ground, "--try", "anatomy l=2", "--workers", workers, *more]
        case _:
            tried = fate.choice([*TRIED, commands.value(fate)])
            return [*RESUMED[:3], "--try", tried, "--workers", "1", *more]


def _cut(kept: Path, fate: random.Random) -> None:
    """Points of an earlier run: cut off, damaged, bent, or no file at all."""
    lines = kept.read_bytes().splitlines()
    match fate.randrange(6):
        case 0:
            kept.write_bytes(spoiled(kept.read_bytes(), fate))
        case 1:
            kept.write_bytes(kept.read_bytes()[: fate.randrange(kept.stat().st_size)])
        case 2:
            kept.write_bytes(fate.choice([b"", b"\xff\n", b"[" * 30_000, b"\0" * 99, b"{}\n7\n"]))
        case 3:
            kept.unlink()
            if fate.random() < 0.7:
                fate.choice([kept.mkdir, lambda: kept.symlink_to("nowhere/x")])()
        case 4:
            FOLDER.chmod(0o500)
        case _:
            bent = [_bent(json.loads(line), fate) for line in lines if line]
            kept.write_text("\n".join(map(json.dumps, bent)), encoding="utf-8")


def _bent(entry: Any, fate: random.Random) -> Any:
    """A point with something else in one place, under the key that it had."""
    inside = entry["point"]
    while isinstance(inside, dict | list) and inside:
        at = fate.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        if not isinstance(inside[at], dict | list) or fate.random() < 0.4:
            inside[at] = any_json(fate)
            break
        inside = inside[at]
    return entry


def _sampled(fate: random.Random) -> list[str]:
    """A sample that was spent earlier, with something damaged of it."""
    table = pl.read_csv("t1.csv").drop("note")
    table.write_parquet(FOLDER / "spent.parquet")
    table.write_parquet(FOLDER / "rest.parquet")
    mark = json.dumps({"table": digest([table]), "share": "1/2"}).encode()
    (FOLDER / "spent.json").write_bytes(mark)
    damaged = FOLDER / fate.choice(["spent.parquet", "rest.parquet", "spent.json"])
    if fate.random() < 0.3:
        damaged.unlink()
    else:
        damaged.write_bytes(spoiled(damaged.read_bytes(), fate))
    return ["--sample", "1/2", "--try", "anatomy l=2"]
