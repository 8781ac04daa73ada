# SPDX-License-Identifier: Apache-2.0
"""A query as a Polars expression: a condition on rows, or ``pl.len()``, a sum or a mean of a
column, filtered by one.
"""

import datetime as dt
import io
import json
from decimal import Decimal
from typing import Any, Final

import polars as pl

from phalanx.errors import ReleaseError
from phalanx.estimators.conditions import All, Comparison, Condition, Either, Query, both, negate
from phalanx.estimators.queries import between, joined

_COMPARED: Final = {
    "Eq": ("in", False),
    "NotEq": ("in", True),
    "Lt": ("below", False),
    "LtEq": ("upto", False),
    "Gt": ("upto", True),
    "GtEq": ("below", True),
}
_TURNED: Final = {
    "Lt": "Gt",
    "Gt": "Lt",
    "LtEq": "GtEq",
    "GtEq": "LtEq",
    "Eq": "Eq",
    "NotEq": "NotEq",
}


def read_expression(expression: pl.Expr) -> Query:
    """A condition counts the rows of which it is true; ``pl.len()``, ``.sum()`` and ``.mean()`` may
    be filtered. ReleaseError for anything else.

    >>> read_expression(pl.col("income").filter(pl.col("age") >= 30).mean()).aggregate
    'mean'
    """
    try:
        return _query(json.loads(_json(expression)))
    except RecursionError:
        raise ReleaseError(
            "the expression has too many parts one in another; ask by is_in, or write the query as"
            " text."
        ) from None


def _query(node: Any) -> Query:
    if "Agg" in node and (kind := next(iter(node["Agg"]))) in ("Sum", "Mean"):
        inner = node["Agg"][kind]
        of, where = _filtered(inner.get("input", inner))
        return Query(
            "sum" if kind == "Sum" else "mean",
            of,
            both(where, Comparison(str(of), "missing", negated=True)),
        )
    if node == "Len" or "Filter" in node or "Len" in node:
        of, where = _filtered(node)
        if of is None:
            return Query("count", None, where)
        raise _refusal()
    return Query("count", None, _condition(node))


def _json(expression: pl.Expr) -> str:
    return str(expression.meta.undo_aliases().meta.serialize(format="json"))


def _filtered(node: Any) -> tuple[str | None, Condition]:
    """The column, none for a number of rows, and the condition that filters it."""
    if isinstance(node, dict) and "Filter" in node:
        of, where = _filtered(node["Filter"]["input"])
        return of, both(_condition(node["Filter"]["by"]), where)
    return (None if node == "Len" or "Len" in node else _column(node)), All()


def _condition(node: Any) -> Condition:
    if "BinaryExpr" in node:
        left, op, right = (node["BinaryExpr"][part] for part in ("left", "op", "right"))
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            return joined(
                All if op.endswith("And") else Either, [_condition(left), _condition(right)]
            )
        if op in _COMPARED:
            if "Column" in right and "Column" not in left:
                left, right, op = right, left, _TURNED[op]
            kind, negated = _COMPARED[op]
            return Comparison(_column(left), kind, (_value(right),), negated)  # type: ignore[arg-type]
    if "Function" in node:
        return _function(node["Function"])
    if "Column" in node:
        return Comparison(_column(node), "in", (True,))
    raise _refusal()


def _function(node: Any) -> Condition:
    inputs, function = node["input"], node["function"]
    kind = function.get("Boolean") if isinstance(function, dict) else None
    if kind == "Not":
        return negate(_condition(inputs[0]))
    if kind in ("IsNull", "IsNotNull"):
        return Comparison(_column(inputs[0]), "missing", negated=kind == "IsNotNull")
    if isinstance(kind, dict) and "IsIn" in kind and not kind["IsIn"].get("nulls_equal"):
        return Comparison(_column(inputs[0]), "in", tuple(map(_plain, _listed(inputs[1]))))
    if isinstance(kind, dict) and "IsBetween" in kind and kind["IsBetween"]["closed"] == "Both":
        return between(_column(inputs[0]), _value(inputs[1]), _value(inputs[2]))
    if isinstance(function, dict) and function.get("StringExpr") == "StartsWith":
        return Comparison(_column(inputs[0]), "prefix", (_value(inputs[1]),))
    raise _refusal()


def _column(node: Any) -> str:
    if isinstance(node, dict) and isinstance(node.get("Column"), str):
        return str(node["Column"])
    raise _refusal()


def _value(node: Any) -> Any:
    """The one value that a literal says."""
    literal = _literal(node)
    if "Series" in node["Literal"]:
        raise _refusal()
    number = _float(node["Literal"])
    return _plain(literal[0] if number is None else number)


def _float(literal: Any) -> float | None:
    """A float as it was written down: Polars reads some of those that it wrote as their neighbours."""
    inner = literal.get("Dyn") or literal.get("Scalar") if isinstance(literal, dict) else None
    number = inner.get("Float", inner.get("Float64")) if isinstance(inner, dict) else None
    return number if isinstance(number, float) else None


def _listed(node: Any) -> list[Any]:
    """The values that a literal lists: a list, a series, or one value."""
    literal = _literal(node)
    if "Series" in node["Literal"]:
        return literal.to_list()
    return list(literal[0]) if isinstance(literal[0], pl.Series) else [literal[0]]


def _literal(node: Any) -> pl.Series:
    """What a literal says, by Polars itself, which writes NaN and infinity as what it cannot
    read.
    """
    if not isinstance(node, dict) or "Literal" not in node:
        raise _refusal()
    try:
        literal = pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")
    except pl.exceptions.ComputeError:
        raise _no_constant() from None
    return pl.select(literal).to_series()


def _plain(value: Any) -> Any:
    """A value that may stand in a published column, or ReleaseError."""
    if value is None:
        raise ReleaseError("nothing is equal to a missing value; ask by is_null().")
    if (
        not isinstance(value, bool | int | float | Decimal | str | dt.date)
        or isinstance(value, dt.datetime)
        or value != value  # noqa: PLR0124 - so that NaN is told
    ):
        raise _no_constant()
    return value


def _no_constant() -> ReleaseError:
    return ReleaseError(
        "the expression holds a constant that no release can be compared with; give a finite"
        " number, a text, a date or a boolean."
    )


def _refusal() -> ReleaseError:
    return ReleaseError(
        "this expression cannot be asked of a release; compare columns with values and join by"
        " &, | and ~, or write the query as text."
    )
