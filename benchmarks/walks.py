# SPDX-License-Identifier: Apache-2.0
"""How far a reader walks through the code who follows one call from its first line to its last.

Run ``python benchmarks/walks.py``. It prints, for each walk: functions, each counted where it is
entered first; stays, after each of which another file is opened; files; climbs, to a file that
imports (itself, or through others) the one before; returns, to a file that was left already. With
``--way`` it prints every function too, in order. Functions are interpreted, so that kernels count.
"""

import ast
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np
import polars as pl

import phalanx as px
from phalanx.cli import app
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness

ROOT = Path(px.__file__).parent
PERSONS = 200


def walk(call: Callable[[], object]) -> list[tuple[str, str]]:
    """The functions of ours that a call enters, as (file, name), in the order of their first
    lines read.
    """
    entered: dict[tuple[str, str], None] = {}

    def enter(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_flags & 2:
            return  # an expression, or the body of a class or of a file
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT) and path.suffix == ".py":
            entered.setdefault((str(path.relative_to(ROOT)), code.co_qualname))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


def figures(way: Sequence[tuple[str, str]]) -> tuple[int, int, int, int, int]:
    """Functions, stays, files, climbs and returns."""
    files = [file for file, _ in way]
    stays = [file for i, file in enumerate(files) if i == 0 or file != files[i - 1]]
    climbs = sum(before in _below(after) for before, after in pairwise(stays))
    return len(way), len(stays), len(set(stays)), climbs, len(stays) - len(set(stays))


@cache
def _imports(file: str) -> frozenset[str]:
    """The files of ours that a file imports itself, wherever it does."""
    named = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    paths = (
        "/".join(name.split(".")[1:]) for name in named if name.split(".")[0] == "phalanx" != name
    )
    return frozenset(
        file
        for path in paths
        for file in (f"{path}.py", f"{path}/__init__.py")
        if (ROOT / file).is_file()
    )


@cache
def _below(file: str) -> frozenset[str]:
    """All files that a file imports, itself or through others."""
    reached, left = {file}, [file]
    while left:
        new = _imports(left.pop()) - reached
        reached |= new
        left += new
    return frozenset(reached - {file})


def walks(folder: Path) -> dict[str, Callable[[], object]]:
    """The four ways that are measured, each ready to be gone."""
    lots = np.random.default_rng(1)
    people = pl.DataFrame(
        {
            "id": np.arange(PERSONS),
            "age": lots.integers(20, 80, PERSONS),
            "zip": lots.integers(100, 200, PERSONS),
            "disease": lots.choice(list("abcdefgh"), PERSONS),
        }
    )
    schema = px.Schema(identifier="id", quasi=["age", "zip"], sensitive="disease")
    series = px.Series("people", schema, px.Mondrian(k=5, l=3), to=folder / "releases")
    path = series.publish(people).path
    microdata = Microdata.encode(people, schema, PersonKey(bytes(32)))
    slicing = px.Slicing(l=3, sensitive_column_size=1)
    return {
        "a table through Series.publish": lambda: series.publish(people),
        "microdata through slicing": lambda: slicing.publish(
            microdata, Memory(), Randomness.seeded(1)
        ),
        "a release through verify": lambda: px.verify(path),
        "epsilon through budget": lambda: app(
            ["budget", "--epsilon", "1", "--delta", "1e-6"], standalone_mode=False
        ),
    }


def main() -> None:
    """Print the figures, and with ``--way`` the functions."""
    print(f"{'':36}functions  stays  files  climbs  returns")
    with TemporaryDirectory() as folder:
        for name, call in walks(Path(folder)).items():
            with redirect_stdout(StringIO()):
                way = walk(call)
            print(f"{name:36}" + "{:9}{:7}{:7}{:8}{:9}".format(*figures(way)))
            if "--way" in sys.argv:
                for file, function in way:
                    print(f"    {file} {function}")


if __name__ == "__main__":
    main()
