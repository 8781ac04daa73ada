# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/reference/, from the docstrings of the public names; the site is made with them.

Reads the source and not the running objects, so that every Python version writes the same pages.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import phalanx
from phalanx.release.manifest import Manifest

PAGES = Path(__file__).resolve().parent / "reference"
Described = ast.FunctionDef | ast.ClassDef


def pages() -> dict[str, str]:
    """Every page by its file name: an index, and one page for each public name."""
    names = [name for name in phalanx.__all__ if not name.startswith("__")]
    found = {name: page(name) for name in names}
    index = [
        "# Reference",
        "",
        "Written by `make docs` from the docstrings; change those, not these pages.",
        "",
    ]
    index += [f"- [`phalanx.{name}`]({name}.md): {summary(name)}" for name in names]
    schemas = {
        "release.schema.json": Manifest.model_json_schema(),
        "plan.schema.json": phalanx.Plan.json_schema(),
    }
    index += [
        "",
        (
            "JSON Schemas, for editors and other programs: [the manifest of a"
            " release](release.schema.json), [the plan](plan.schema.json)."
        ),
    ]
    texts = {
        name: json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }
    return (
        {"index.md": "\n".join(index) + "\n"}
        | {f"{name}.md": text for name, text in found.items()}
        | texts
    )


def summary(name: str) -> str:
    """The first paragraph of what a public name says about itself, on one line."""
    said = prose(inspect.getdoc(getattr(phalanx, name)) or "")
    return " ".join(said.split("\n\n")[0].split())


def page(name: str) -> str:
    """One public name: its signature, what it promises, and for a class its fields and methods."""
    thing = inspect.unwrap(getattr(phalanx, name))
    if isinstance(thing, ModuleType):
        return f"# `phalanx.{name}`\n\n{prose(inspect.getdoc(thing) or '')}\n"
    source = Path(inspect.getsourcefile(thing) or "").read_text(encoding="utf-8")
    node = next(
        n for n in ast.parse(source).body if isinstance(n, Described) and n.name == thing.__name__
    )
    return "\n".join(lines(name, node)).rstrip() + "\n"


def lines(name: str, node: Described) -> Iterator[str]:
    """The lines of a page."""
    yield f"# `phalanx.{name}`"
    yield ""
    for maker in (
        [node]
        if isinstance(node, ast.FunctionDef)
        else [m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"]
    ):
        yield from signature(maker, f"phalanx.{name}")
    yield prose(ast.get_docstring(node) or "")
    if isinstance(node, ast.ClassDef):
        yield from fields(node)
        for method in node.body:
            if (
                isinstance(method, ast.FunctionDef)
                and not method.name.startswith("_")
                and ast.get_docstring(method)
            ):
                yield f"\n## `{method.name}`\n"
                if "property" not in {ast.unparse(d).split(".")[-1] for d in method.decorator_list}:
                    yield from signature(method, f"{name}.{method.name}")
                yield prose(ast.get_docstring(method) or "")


def fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields of a dataclass, each with the text that stands under it."""
    following = [*node.body[1:], None]
    heading = "\n| field | type | default | |\n| --- | --- | --- | --- |"
    for statement, below in zip(node.body, following, strict=True):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and not statement.target.id.startswith("_")
        ):
            if ast.unparse(statement.annotation).startswith("ClassVar"):
                continue
            text = (
                below.value.value
                if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                else ""
            )
            default = (
                f"`{ast.unparse(statement.value)}`".replace("field(default_factory=dict)", "{}")
                if statement.value
                else ""
            )
            cells = [
                f"`{statement.target.id}`",
                f"`{ast.unparse(statement.annotation)}`",
                default,
                " ".join(prose(str(text)).split()),
            ]
            if heading:
                yield heading
                heading = ""
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def signature(node: ast.FunctionDef, name: str) -> Iterator[str]:
    """How it is called, as Python source."""
    arguments = (
        ast.unparse(node.args)
        .removeprefix("self, ")
        .removeprefix("cls, ")
        .removeprefix("self")
        .removeprefix("cls")
    )
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    yield f"```python\n{name}({arguments}){returns}\n```\n"


def prose(text: str) -> str:
    """A docstring as Markdown: what stands under Parameters, Returns and Raises is a list."""
    first, *sections = re.split(r"^(\w+)\n-+\n", text.replace("``", "`"), flags=re.MULTILINE)
    out = [fenced(first)]
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        out.append(f"**{name}**\n\n{fenced(body) if name == 'Examples' else listed(body)}")
    return "".join(out)


def listed(body: str) -> str:
    """Entries such as ``name : type``, each with what is said of it below."""
    lines = []
    for line in body.splitlines():
        name, colon, kind = line.partition(" : ")
        entry = f"- `{name}`" + (f" (`{kind}`)" if colon else "")
        lines.append(line[2:] if line.startswith(" ") or not line else entry)
    return "\n".join([*lines, ""])


def fenced(text: str) -> str:
    """Examples stand in a fence."""
    out: list[str] = []
    example = False
    for line in text.splitlines():
        if line.startswith(">>> ") and not example:
            out.append("```pycon")
            example = True
        elif example and not line.strip():
            out.append("```")
            example = False
        out.append(line)
    return "\n".join([*out, *(["```"] if example else []), ""])


def write() -> None:
    """Write the pages and the schemas, and remove what is stale."""
    written = pages()
    PAGES.mkdir(exist_ok=True)
    for path in PAGES.glob("*.*"):
        if path.name not in written:
            path.unlink()
    for name, text in written.items():
        path = PAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
