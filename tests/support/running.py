# SPDX-License-Identifier: Apache-2.0
"""Which tests of a file run, for the tables that say what is tested where."""

import ast
import re
from functools import cache
from pathlib import Path


@cache
def running(file: Path) -> set[str]:
    """The tests of a file that run: functions called ``test_…`` that nobody skips for good."""
    if not file.is_file():
        return set()
    tree = ast.parse(file.read_text())
    if any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "pytestmark"
        and "mark.skip(" in ast.unparse(node.value)
        for node in tree.body
    ):
        return set()
    functions = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    return {
        f.name
        for f in functions
        if not any(
            re.match(r"pytest\.mark\.(skip\b|xfail)", ast.unparse(mark))
            for mark in f.decorator_list
        )
    }
