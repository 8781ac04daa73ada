# SPDX-License-Identifier: Apache-2.0
"""Small changes to a source file, each of which a test should notice: where they are, what they
say, and the file with one of them made.

Words are left alone: annotations, decorators, f-strings and the sentences of errors. So is the
``strict=True`` of a zip, which asserts what holds.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

OPERATORS = (
    "comparison flipped",
    "constant moved",
    "not removed",
    "and/or swapped",
    "raise removed",
    "arguments swapped",
    "return value dropped",
)

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_NOT_SWAPPED = {
    "min",
    "max",
    "minimum",
    "maximum",
    "samestat",
    "compare_digest",
    "not_equal",
    "gcd",
    "array_equal",
    "isinstance",
    "add",
    "multiply",
}
"""Calls whose arguments may be swapped without a difference; and one where swapping them is too
easy to notice.
"""
_WORDS = {"annotation", "returns", "decorator_list", "type_params"}
_LONGEST = 150

Slot = tuple[ast.AST, str, int | None]
"""Where a node hangs: its parent, the field, and its place in that field where it is a list."""


@dataclass(frozen=True)
class Mutation:
    """One change of a file, as it is listed."""

    file: str
    number: int
    """Which one of its file, in the order of ``changes``."""
    operator: str
    before: str
    """What stands there, as Python writes it: the statement, or as much of a long one as makes
    sense.
    """
    after: str
    first: int
    last: int
    """The lines of the statement, without those of the statements in it; of a function's defaults
    those of the function, as whoever calls it runs them.
    """
    inside: bool
    """Whether it is in a function, so that whoever runs it can be told from its lines."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by when lines move."""
        return self.file, self.before, self.after


def mutations(file: str, source: str) -> list[Mutation]:
    """All changes of a file."""
    found = []
    for number, (_, operator, trail, old) in enumerate(_changed(source)):
        new, statement = (
            _held(trail[-1]),
            max(i for i, slot in enumerate(trail) if isinstance(_held(slot), ast.stmt)),
        )
        inside = any(
            isinstance(_held(slot), ast.FunctionDef | ast.Lambda) for slot in trail[: statement + 1]
        )
        after = _said(_held(trail[statement]))
        _put(trail[-1], old)
        first, last = _lines(_held(trail[statement]))
        shown, before = trail[statement], _said(_held(trail[statement]))
        if len(before) > _LONGEST:
            shown = next(
                (slot for slot in trail[statement:] if len(_said(_held(slot))) <= _LONGEST),
                trail[-1],
            )
            before = _said(_held(shown))
            _put(trail[-1], new)
            after = _said(_held(shown))
        found.append(Mutation(file, number, operator, before, after, first, last, inside))
    return found


def mutated(source: str, number: int) -> str:
    """The file with that change made."""
    for at, (tree, *_) in enumerate(_changed(source)):
        if at == number:
            return ast.unparse(tree)
    raise IndexError(number)


def _changed(source: str) -> Iterator[tuple[ast.Module, str, list[Slot], ast.AST]]:
    """The tree with one change after the other, each taken back before the next: the operator, the
    way to what was changed, and what stood there.
    """
    tree = ast.parse(source)
    for trail in list(_trails(tree, [])):
        node = _held(trail[-1])
        for operator, new in _replacements(node):
            _put(trail[-1], new)
            yield tree, operator, trail, node
            _put(trail[-1], node)


def _trails(node: ast.AST, trail: list[Slot]) -> Iterator[list[Slot]]:
    """The way to every node that may be changed."""
    for field, value in ast.iter_fields(node):
        if field in _WORDS:
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if (
                isinstance(child, ast.AST)
                and not isinstance(child, ast.JoinedStr)
                and not _is_asserted(node, child)
            ):
                here = [*trail, (node, field, place)]
                yield here
                if not isinstance(child, ast.Raise):
                    yield from _trails(child, here)


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in _COMPARED[type(op)]:
                    yield (
                        "comparison flipped",
                        _with(node, ops=[*ops[:at], other(), *ops[at + 1 :]]),
                    )
        case ast.Constant(value=bool(value)):
            yield "constant moved", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant moved", ast.Constant(value + 1)
            yield "constant moved", ast.Constant(value - 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", operand
        case ast.BoolOp(op=op):
            yield (
                "and/or swapped",
                _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And()),
            )
        case ast.Raise():
            yield "raise removed", ast.Pass()
        case ast.Call(args=args) if _last_word(node.func) not in _NOT_SWAPPED and not any(
            isinstance(a, ast.Starred) for a in args
        ):
            for at, (left, right) in enumerate(pairwise(args)):
                if ast.dump(left) != ast.dump(right):
                    yield (
                        "arguments swapped",
                        _with(node, args=[*args[:at], right, left, *args[at + 2 :]]),
                    )
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and not value.value
        ):
            yield "return value dropped", ast.Return(ast.Constant(None))


def _is_asserted(node: ast.AST, child: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and _last_word(node.func) == "zip"
        and isinstance(child, ast.keyword)
        and ast.unparse(child) == "strict=True"
    )


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _held(slot: Slot) -> ast.AST:
    parent, field, place = slot
    value = getattr(parent, field)
    return value if place is None else value[place]  # type: ignore[no-any-return]


def _put(slot: Slot, node: ast.AST) -> None:
    parent, field, place = slot
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def _lines(statement: ast.AST) -> tuple[int, int]:
    if isinstance(statement, ast.FunctionDef):
        return statement.lineno, statement.end_lineno
    inner = [
        child.lineno for child in getattr(statement, "body", []) if isinstance(child, ast.stmt)
    ]
    last = statement.end_lineno if not inner else max(statement.lineno, inner[0] - 1)
    return statement.lineno, last


def _said(node: ast.AST) -> str:
    """A node on one line; of a statement with others in it, its head."""
    if isinstance(node, ast.stmt) and hasattr(node, "body"):
        emptied = {
            name: []
            for name in ("body", "orelse", "handlers", "finalbody", "cases", "decorator_list")
            if hasattr(node, name)
        }
        text = ast.unparse(
            ast.fix_missing_locations(
                _with(node, **emptied | {"body": [ast.Expr(ast.Constant(...))]})
            )
        )
        return " ".join(text.split()).removesuffix(" ...")
    return " ".join(ast.unparse(node).split())


def _last_word(node: ast.expr) -> str:
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )
