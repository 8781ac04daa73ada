# SPDX-License-Identifier: Apache-2.0
"""Hierarchies as a steward writes them: in the plan, in a CSV of paths, in a TOML of nested
tables.
"""

import csv
import io
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from phalanx.data.hierarchies.hierarchy import Bands, ByFrequency, Hierarchy, Prefix, Tree
from phalanx.errors import SchemaError, did_you_mean

_KINDS = ("prefix", "bands", "tree", "order")
_LARGEST: Final = 1 << 28
"""So many bytes of a file are read: ten million lines."""


def hierarchy_of(declared: Any, folder: Path) -> Hierarchy:
    """The hierarchy that a plan declares: ``{prefix = [5, 3, 0]}``, ``{bands = [5, 10]}``, ``{tree
    = …}``, ``{order = "frequency"}``, or the path of a tree.

    A tree is a path (CSV or TOML, relative to ``folder``), nested tables with leaves in lists, or a
    list of paths from leaf to root. Raises SchemaError.

    >>> hierarchy_of({"bands": [5, 10]}, Path())
    Bands(widths=(5, 10))
    """
    if isinstance(declared, str):
        declared = {"tree": declared}
    if not isinstance(declared, Mapping) or len(declared) != 1:
        raise SchemaError(
            "a hierarchy is one of { prefix = [5, 3, 0] }, { bands = [5, 10] }, { tree = {…} }, {"
            ' order = "frequency" } or the path of a CSV or TOML tree.'
        )
    kind, value = next(iter(declared.items()))
    if kind not in _KINDS:
        raise SchemaError(
            f"{kind!r} is no kind of"
            f" hierarchy{did_you_mean(kind, _KINDS) or '; known are ' + ', '.join(_KINDS) + '.'}"
        )
    if kind == "prefix":
        return Prefix(tuple(_numbers(value, whole=True)))
    if kind == "bands":
        return Bands(tuple(_numbers(value)))
    if kind == "order":
        if value != "frequency":
            raise SchemaError(
                "the only order that is counted is 'frequency'; write any other into a tree."
            )
        return ByFrequency()
    if isinstance(value, str):
        return read_tree(folder / value)
    if isinstance(value, Mapping):
        return Tree.of_mapping(value)
    if isinstance(value, list) and all(isinstance(path, list) for path in value):
        return Tree.of_paths([[str(node) for node in path] for path in value])
    raise SchemaError(
        "a tree is the path of a CSV or TOML file, nested tables with leaves in lists, or a list of"
        " paths from leaf to root."
    )


def read_tree(path: Path) -> Tree:
    """A tree from a CSV whose lines read ``leaf;parent;…;*``, or from nested tables in TOML;
    SchemaError with file and line.

    The CSV has no header, is UTF-8 and separated by semicolons; fields may be quoted. Lines may
    differ in length. In TOML leaves stand in lists.
    """
    try:
        text = _text(path)
    except UnicodeDecodeError:
        raise SchemaError(f"the hierarchy {str(path)!r} is not UTF-8; save it as UTF-8.") from None
    except (OSError, ValueError):  # no file has a name with a zero byte
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise SchemaError(
            "there is no hierarchy file"
            f" {str(path)!r}{did_you_mean(path.name, siblings) or '; check its path, which is relative to the plan.'}"
        ) from None
    try:
        if path.suffix.lower() == ".toml":
            return Tree.of_mapping(tomllib.loads(text))
        return Tree.of_paths(_paths(text))
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as wrong:
        raise SchemaError(
            f"the hierarchy {str(path)!r} is not TOML: {_plain(wrong)}; repair it there."
        ) from None
    except SchemaError as wrong:
        raise SchemaError(f"in {str(path)!r} {wrong}") from None


def _text(path: Path) -> str:
    """What stands in a file; what is named by mistake may be a device or a pipe, which has no end."""
    if not path.is_file():
        raise FileNotFoundError
    with path.open("rb") as opened:
        content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise SchemaError(
            f"{str(path)!r} is larger than any hierarchy; name the file that has one line for each"
            " leaf."
        )
    return content.decode("utf-8-sig")


def _paths(text: str) -> list[list[str]]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True)
    paths = []
    try:
        for row in rows:
            if len(row) == 1:
                raise SchemaError(
                    f"line {rows.line_num} has no parent; write 'leaf;parent;…;*', separated by"
                    " semicolons."
                )
            if row:
                paths.append(row)
    except csv.Error:
        raise SchemaError(
            f"line {rows.line_num} has quotes that do not pair up; close them, and double the"
            " quotes inside."
        ) from None
    return paths


def _numbers(value: Any, *, whole: bool = False) -> list[Any]:
    kinds = int if whole else int | float
    if not isinstance(value, list) or any(
        isinstance(x, bool) or not isinstance(x, kinds) for x in value
    ):
        raise SchemaError(
            f"{'prefix' if whole else 'bands'} takes a list of {'whole ' if whole else ''}numbers,"
            f" as in {'[5, 3, 0]' if whole else '[5, 10, 20]'}."
        )
    return value


def _plain(wrong: Exception) -> str:
    if not isinstance(wrong, tomllib.TOMLDecodeError):
        return "it nests too deeply or holds a number that is too long"
    text = str(wrong)
    return text[:1].lower() + text[1:].rstrip(".")
