# SPDX-License-Identifier: Apache-2.0
"""The changes are those that are said, and a mutant that a test notices is told from one that none
does.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.__main__ import between, sample, sources, survivors
from mutants.mutations import OPERATORS, mutated, mutations

HERE = Path(__file__).parent

CHANGES = {
    "x = a < b": {"x = a <= b", "x = a >= b"},
    "x = a == b != c": {"x = a != b != c", "x = a == b == c"},
    "x = a in b": {"x = a not in b"},
    "x = 5": {"x = 6", "x = 4"},
    "x = not a": {"x = a"},
    "x = True": {"x = False"},
    "x = a and b and c": {"x = a or b or c"},
    "x = f(a, b, c)": {"x = f(b, a, c)", "x = f(a, c, b)"},
    "x = f(a, a) + min(a, b) + f(*a, b)": set(),
    "x = zip(a, b, strict=True)": {"x = zip(b, a, strict=True)"},
    "x = zip(*a, strict=False)": {"x = zip(*a, strict=True)"},
    "if a:\n    raise ValueError(f(a, 1))": {"if a:\n    pass"},
    "def f(n: 'a[1]'=2) -> 'b[1]':\n    g()": {"def f(n: 'a[1]'=3) -> 'b[1]':\n    g()", "def f(n: 'a[1]'=1) -> 'b[1]':\n    g()"},
    "def f(n):\n    return n": {"def f(n):\n    return None"},
    "def f():\n    return False": {"def f():\n    return True"},
    "x = f'{a:{1}} of {b > c}'": set(),
}  # fmt: skip


@pytest.mark.parametrize("source", CHANGES)
def test_the_changes_are_those_that_are_said(source: str) -> None:
    """Each kind of change in a few lines, and nothing else; words are left alone."""
    assert {mutated(source, m.number) for m in mutations("f.py", source)} == {
        ast.unparse(ast.parse(text)) for text in CHANGES[source]
    }


def test_what_is_listed_is_what_is_done() -> None:
    """Of every file every kind of change is found, each is one of the file, and the text that is
    shown before it is in the file.
    """
    kinds = set()
    for file, text in sources():
        if Path(file).name in {"groups.py", "best.py", "marks.py"}:
            plain = " ".join(ast.unparse(ast.parse(text)).split())
            for m in mutations(file, text):
                kinds.add(m.operator)
                assert m.before.removesuffix(" ...") in plain and m.before != m.after
                assert m.first <= m.last
    assert kinds == set(OPERATORS)


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason=(
        "survivors.toml holds lines as Python 3.11 writes a syntax tree; later ones quote otherwise"
    ),
)
def test_listed_survivors_are_there() -> None:
    """An entry whose line was changed or removed since is taken out of the list, and a reason is
    more than a word.
    """
    listed = survivors()
    files = {file for file, _, _ in listed}
    there = {m.key for file, text in sources() if file in files for m in mutations(file, text)}
    assert set(listed) <= there
    assert all(len(why.split()) > 3 for why in listed.values())


def test_a_sample_stays_where_the_source_changes_elsewhere() -> None:
    """What changed before it in the file, and where else, does not decide about a mutant."""
    one = mutations("one.py", "x = 1\ny = 2\ny = 2\nz = a < b\n")
    other = mutations("one.py", "w = 7\nx = 1\ny = 2\ny = 2\nz = a < b\n")
    kept = [m.key for m in sample(list(other), 3) if "7" not in m.before]
    assert kept == [m.key for m in sample(list(one), 3)]
    assert kept != [m.key for m in sample(list(one), 4)]


def test_the_interval_is_wilsons() -> None:
    """Where the share is p, what was seen is just as far off as 1.96 deviations; at an end, too."""
    for seen, number in ((90, 100), (300, 300), (1, 7)):
        for p in between(seen, number):
            off = abs(seen / number - p)
            assert off == pytest.approx(1.959964 * (p * (1 - p) / number) ** 0.5, abs=1e-9)


TOY = '''
def larger(a, b):
    """The larger of two numbers."""
    if a > b:
        return a
    return b


def forever(n):
    """Counts down."""
    while n > 0:
        n = n - 1
    return n
'''
GOOD = """
from phalanx.guarantees.toy import forever, larger

def test_larger():
    assert larger(2, 1) == 2 and larger(1, 2) == 2 and larger(0, 0) == 0

def test_forever():
    assert forever(3) == 0
"""
WEAK = """
from phalanx.guarantees.toy import larger

def test_larger():
    larger(2, 1)
"""


def tried(folder: Path, test: str, *words: str, listed: str = "") -> tuple[int, dict]:
    """What becomes of all mutants of the toy."""
    for name in (
        "src/phalanx/guarantees",
        "src/phalanx/ledger",
        "src/phalanx/accounting",
        "tests/guarantees",
    ):
        (folder / name).mkdir(parents=True)
    for package in (folder / "src/phalanx", *(folder / "src/phalanx").iterdir()):
        (package / "__init__.py").touch()
    (folder / "src/phalanx/guarantees/toy.py").write_text(TOY)
    (folder / "tests/guarantees/test_toy.py").write_text(test)
    shutil.copytree(HERE, folder / "tests/mutants", ignore=shutil.ignore_patterns("__pycache__"))
    support = folder / "tests/support"
    support.mkdir()
    for name in ("postgresql_server.py", "thoroughly.py"):
        shutil.copy(HERE.parent / "support" / name, support)
    (folder / "tests/seconds.json").write_text("{}")
    (folder / "tests/mutants/survivors.toml").write_text(listed)
    where = {"PYTHONPATH": str(folder / "tests"), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "mutants", "--json", *words]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **where},
    )
    assert ran.stdout, ran.stderr
    return ran.returncode, {
        (o["mutation"]["before"], o["mutation"]["after"]): o
        for o in json.loads(ran.stdout)["outcomes"]
    }


@pytest.mark.slow
def test_a_change_that_a_test_notices_is_told_from_one_that_none_does(tmp_path: Path) -> None:
    """A good test notices all changes but those that change nothing; one that asks nothing notices
    none, and lines that it does not run neither.
    """
    code, found = tried(tmp_path / "good", GOOD)
    survived = {key for key, outcome in found.items() if not outcome["noticed"]}
    assert survived == {("if a > b:", "if a >= b:")}
    assert found["n = n - 1", "n = n - 0"]["by"] == "(it hangs or dies)"
    assert found["return a", "return None"]["by"] == "tests/guarantees/test_toy.py::test_larger"
    assert code == 1, "nobody has listed the survivor"

    reason = (
        '[[survivor]]\nfile = "guarantees/toy.py"\nbefore = "if a > b:"\nafter = "if a >= b:"\nwhy'
        ' = "equal numbers are the same, whichever is given"\n'
    )
    code, found = tried(tmp_path / "listed", GOOD, "--only", "if a > b", listed=reason)
    assert {outcome["noticed"] for outcome in found.values()} == {True, False}
    assert code == 1, "one of two is less than nine of ten"

    code, found = tried(tmp_path / "weak", WEAK)
    assert code == 1
    assert not any(outcome["noticed"] for outcome in found.values())
