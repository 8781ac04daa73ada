# SPDX-License-Identifier: Apache-2.0
"""Rules of tests, and of what is run by hand: that each says what it promises, reads no clock, and
wants what is there.
"""

import ast
import importlib
import pkgutil
from functools import cache
from pathlib import Path

from house.test_source import word

ROOT = Path(__file__).resolve().parents[2]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@cache
def tree_of_each_test() -> dict[str, ast.Module]:
    """Every file of tests, read and parsed once."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in TESTS}


def test_every_test_says_what_is_promised() -> None:
    """Every test has a docstring that says what it promises."""
    assert [
        f"{place}::{node.name}"
        for place, tree in tree_of_each_test().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test")
        and not ast.get_docstring(node)
    ] == []


def clocks(tree: ast.Module) -> list[int]:
    """The lines on which a clock is read."""
    return [
        n.lineno
        for n in ast.walk(tree)
        if isinstance(n, ast.Call)
        and word(n.func).removesuffix("_ns") in {"monotonic", "perf_counter", "process_time"}
    ]


def test_no_test_reads_a_clock() -> None:
    """How long something takes says more about the machine than about the source: benchmarks/
    times, and tests/support/work.py counts.
    """
    assert [
        f"{place}:{line}" for place, tree in tree_of_each_test().items() for line in clocks(tree)
    ] == []


def test_a_clock_is_seen() -> None:
    """However it was imported."""
    assert clocks(ast.parse("began = time.perf_counter()\nassert process_time_ns() < 5")) == [1, 2]


def missing(tree: ast.Module) -> list[str]:
    """The names that a script wants of Phalanx, and that are not there."""
    wanted = [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "phalanx"
        for alias in node.names
    ]
    return [f"{module}.{name}" for module, name in wanted if not is_there(str(module), name)]


def is_there(module: str, name: str) -> bool:
    """Whether a module has a name, or is a folder with a module of that name."""
    found = importlib.import_module(module)
    inside = pkgutil.iter_modules(getattr(found, "__path__", []))
    return hasattr(found, name) or name in {each.name for each in inside}


def test_scripts_import_what_is_there() -> None:
    """Benchmarks and experiments are run by hand, where nobody would see for weeks that a function
    has moved.
    """
    scripts = [
        path for folder in ("benchmarks", "experiments") for path in (ROOT / folder).rglob("*.py")
    ]
    ours = [path for path in scripts if "/." not in str(path.relative_to(ROOT))]
    assert len(ours) > 20
    assert {
        str(path.relative_to(ROOT)): lacking
        for path in ours
        if (lacking := missing(ast.parse(path.read_text(encoding="utf-8"))))
    } == {}


def test_what_is_not_there_is_seen() -> None:
    """A function that moved, and none that stayed."""
    script = "from phalanx.engines.spark.checking import workers, walkers\nfrom phalanx import data"
    assert missing(ast.parse(script)) == ["phalanx.engines.spark.checking.walkers"]
