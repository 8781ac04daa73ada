# SPDX-License-Identifier: Apache-2.0
"""How the source is divided: rooms, arrows between them, circles, files, lines and the arguments of
kernels, of this checkout or of earlier commits.

    python benchmarks/house.py [COMMIT …]

A room is a file or a folder right below a folder, an arrow one room that imports another (once,
however often), a circle rooms that reach each other. A kernel is what numba compiles.
"""

import ast
import io
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
FOLDERS = ("", "methods", "guarantees", "adversaries", "kernels", "accounting", "ledger", "series")
MANY = 10


def imported(tree: ast.AST) -> Iterator[tuple[str, ...]]:
    """The names that a file imports, those of types alone among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                yield tuple(f"{node.module}.{name.name}".split("."))
        elif isinstance(node, ast.Import):
            for name in node.names:
                yield tuple(name.name.split("."))


def arrows_of(folder: str, files: Mapping[tuple[str, ...], ast.AST]) -> dict[str, set[str]]:
    """Which rooms of a folder import which others."""
    inside = tuple(folder.split("/")) if folder else ()
    at = len(inside)
    arrows: dict[str, set[str]] = defaultdict(set)
    for name, tree in files.items():
        if name[:at] != inside or len(name) <= at or name[at] == "__init__":
            continue
        arrows[name[at]]
        for whole in imported(tree):
            target = whole[1:]
            if whole[0] == "phalanx" and target[:at] == inside and len(target) > at:
                arrows[name[at]].add(target[at])
    rooms = set(arrows)
    return {room: (others & rooms) - {room} for room, others in arrows.items()}


def circles(arrows: dict[str, set[str]]) -> int:
    """How many sets of two rooms or more there are that reach each other."""

    def reached(start: str) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            for other in arrows[waiting.pop()] - seen:
                seen.add(other)
                waiting.append(other)
        return seen

    reach = {room: reached(room) for room in arrows}
    return len(
        {
            frozenset(b for b in arrows if b in reach[a] and a in reach[b])
            for a in arrows
            if a in reach[a]
        }
    )


def many_arguments(tree: ast.AST) -> int:
    """Kernels of a file with ten positional arguments or more."""
    return sum(
        len(node.args.args) + len(node.args.posonlyargs) >= MANY
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(
            word in ast.unparse(decorator)
            for decorator in node.decorator_list
            for word in ("njit", "compiled", "kernel")
        )
    )


def show(source: Path) -> None:
    """The table of one state of the source."""
    texts = {path.relative_to(source): path.read_text() for path in sorted(source.rglob("*.py"))}
    trees = {path.with_suffix("").parts: ast.parse(text) for path, text in texts.items()}
    lines = [line for text in texts.values() for line in text.splitlines()]
    print(f"{'folder':<14}{'rooms':>7}{'arrows':>8}{'circles':>9}{'files':>7}{'lines':>8}")
    for folder in FOLDERS:
        below = [text for path, text in texts.items() if path.is_relative_to(folder or ".")]
        if below:
            arrows = arrows_of(folder, trees)
            print(
                f"{folder or 'phalanx':<14}{len(arrows):>7}{sum(map(len, arrows.values())):>8}"
                f"{circles(arrows):>9}{len(below):>7}{sum(text.count(chr(10)) for text in below):>8}"
            )
    print(
        f"lines of over 100 columns: {sum(len(line) > 100 for line in lines)}; kernels with {MANY}"
        f" arguments or more: {sum(map(many_arguments, trees.values()))}\n"
    )


def run() -> None:
    """Each commit that is named, and the checkout."""
    for commit in sys.argv[1:]:
        packed = subprocess.run(
            ["git", "archive", commit, "src/phalanx"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        with TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
            print(commit)
            show(Path(folder) / "src" / "phalanx")
    print("this checkout")
    show(ROOT / "src" / "phalanx")


if __name__ == "__main__":
    run()
