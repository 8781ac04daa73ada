# SPDX-License-Identifier: Apache-2.0
"""The text of a query, read by sqlglot: what can be asked of a release, and the reason where
something cannot.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from phalanx.errors import ReleaseError, require_extra, shortened
from phalanx.estimators.conditions import (
    Aggregate,
    All,
    Comparison,
    Condition,
    Either,
    Query,
    both,
    negate,
)

_DAY: Final = re.compile(r"'([0-9]{4}) - ([0-9]{1,2}) - ([0-9]{1,2})'")
"""A date without quotes, as it is read."""
_EXAMPLE: Final = "count(*) where age between 30 and 40"
_AGGREGATES: Final[dict[str, Aggregate]] = {"Sum": "sum", "Avg": "mean"}
_COMPARED: Final = {
    "EQ": ("in", False),
    "NEQ": ("in", True),
    "LT": ("below", False),
    "LTE": ("upto", False),
    "GT": ("upto", True),
    "GTE": ("below", True),
}
"""The test that a comparison is, and whether it is its negation."""
_ONE: Final = frozenset({"this"})
_TWO: Final = frozenset({"this", "expression"})
_PARTS: Final[Mapping[str, AbstractSet[str]]] = {
    **dict.fromkeys((*_COMPARED, "Is", "And", "Or"), _TWO),
    **dict.fromkeys(("Sum", "Avg", "Not", "Neg", "Paren", "From", "Where", "TableAlias"), _ONE),
    "Between": {"this", "low", "high"},
    "Cast": {"this", "to", "safe"},
    "Column": {"this", "table", "db", "catalog"},
    "Count": {"this", "expressions", "big_int"},
    "Group": {"expressions"},
    "In": {"this", "expressions", "query"},
    "Like": {"this", "expression", "negate"},
    "Table": {"this", "db", "catalog", "alias"},
}
"""What is read of each kind of node; a node that has more asks for more than is read."""
_TURNED: Final = {"LT": "GT", "GT": "LT", "LTE": "GTE", "GTE": "LTE", "EQ": "EQ", "NEQ": "NEQ"}


def read_query(text: str, names: Collection[str] = ()) -> Query:
    """A query such as ``count(*) where sex = 'F' and age between 30 and 40 group by diagnosis``; a
    whole SELECT is read, too. ``names`` are the release's attributes: ``marital.status`` is one of
    them where it stands there, and else the column of a table.

    ReleaseError where it is no SQL, or asks what no release can answer: joins, subqueries, two
    columns compared with each other, functions of columns. ExtraError without the extra that reads
    SQL.

    >>> read_query("avg(income) where age >= 30 group by sex").by
    ('sex',)
    """
    require_extra("estimate", "a query")
    import sqlglot
    from sqlglot.errors import SqlglotError

    asked = text.strip().rstrip(";")
    if not asked.lower().startswith(("select", "with")):
        asked = f"select {asked}"
    try:
        tree = sqlglot.parse_one(asked, dialect="duckdb")
    except (SqlglotError, RecursionError):
        raise ReleaseError(
            f"the query {_short(text)} is no SQL that can be read; write it as in {_EXAMPLE!r}."
        ) from None
    _join_dots(tree, names)
    return _query(tree)


def _join_dots(tree: Any, names: Collection[str]) -> None:
    """Make one name of a table's and a column's that are an attribute's together."""
    from sqlglot import expressions as sql

    for column in [*tree.find_all(sql.Column)]:
        parts = [part.name for part in column.parts]
        joined_names = (".".join(parts[i:]) for i in range(len(parts) - 1))
        if name := next((name for name in joined_names if name in names), None):
            column.replace(sql.column(name, quoted=True))


def _query(tree: Any) -> Query:
    from sqlglot import expressions as sql

    if not isinstance(tree, sql.Select):
        raise ReleaseError(
            f"a query asks for a count, a sum or a mean; write it as in {_EXAMPLE!r}."
        )
    allowed = {
        "expressions",
        "where",
        "group",
        "from",
        "from_",
        "kind",
        "hint",
        "distinct",
        "limit",
        "operation_modifiers",
    }
    if extra := [
        part
        for part, given in tree.args.items()
        if given and part not in allowed - {"distinct", "limit"}
    ]:
        raise _refusal(f"the part {extra[0].strip('_')!r}")
    group = tree.args.get("group")
    if group is not None and not group.expressions:
        raise ReleaseError(
            "the query's 'group by' names no attribute; write it as in 'count(*) group by sex'."
        )
    by = tuple(_column(part) for part in (group.expressions if group is not None else ()))
    answers = [
        part
        for part in tree.expressions
        if not (isinstance(part.unalias(), sql.Column) and part.unalias().name in by)
    ]
    if len(answers) != 1:
        raise ReleaseError(
            f"a query asks for one figure at a time, and this one for {len(answers)}; ask once for"
            " each."
        )
    aggregate, of = _aggregate(answers[0].unalias())
    _check_parts(tree)
    where = tree.args.get("where")
    condition = _condition(where.this) if where is not None else All()
    if (
        of is not None
    ):  # as in SQL, a row without the value is not among those that are counted or added up
        condition = both(condition, Comparison(of, "missing", negated=True))
    return Query(aggregate, None if aggregate == "count" else of, condition, by)


def _check_parts(tree: Any) -> None:
    """ReleaseError where a node has a part that is not read, or rows come from what is no table."""
    from sqlglot import expressions as sql

    for node in tree.walk():
        parts = _PARTS.get(type(node).__name__)
        if parts is not None:
            for part, given in node.args.items():
                if given and part not in parts:
                    raise _refusal(f"the part {part!r} of {_short(node.sql())}")
        if isinstance(node, sql.From) and not (
            isinstance(node.this, sql.Table) and isinstance(node.this.this, sql.Identifier)
        ):
            raise _refusal(_short(node.sql().strip()))


def _aggregate(node: Any) -> tuple[Aggregate, str | None]:
    from sqlglot import expressions as sql

    if isinstance(node, sql.Count):
        if node.args.get("expressions") or isinstance(node.this, sql.Distinct):
            raise ReleaseError(
                "how many different values there are in the table no release says; count rows, as"
                " in count(*)."
            )
        return "count", (
            None if node.this is None or isinstance(node.this, sql.Star) else _column(node.this)
        )
    if (name := type(node).__name__) in _AGGREGATES:
        return _AGGREGATES[name], _column(node.this)
    if (
        isinstance(node, sql.Anonymous)
        and node.name.lower() == "mean"
        and len(node.expressions) == 1
    ):
        return "mean", _column(node.expressions[0])
    raise ReleaseError(
        f"{_short(node.sql())} is not what a release can answer; ask for count(*), sum(column) or"
        " mean as avg(column)."
    )


def _condition(node: Any) -> Condition:  # noqa: PLR0911 - one line for each kind of condition
    from sqlglot import expressions as sql

    if isinstance(node, sql.Paren):
        return _condition(node.this)
    if isinstance(node, sql.And | sql.Or):
        kind = All if isinstance(node, sql.And) else Either
        return joined(kind, [_condition(part) for part in node.flatten()])
    if isinstance(node, sql.Not):
        return negate(_condition(node.this))
    name = type(node).__name__
    if name in _COMPARED:
        return _comparison(node, name)
    if isinstance(node, sql.Between):
        low, high = (_constant(node.args[side]) for side in ("low", "high"))
        return between(_column(node.this), low, high)
    if isinstance(node, sql.In) and not node.args.get("query"):
        return Comparison(
            _column(node.this), "in", tuple(_constant(value) for value in node.expressions)
        )
    if isinstance(node, sql.Is) and isinstance(node.expression, sql.Null):
        return Comparison(_column(node.this), "missing")
    if isinstance(node, sql.Like):
        return _prefix(node, negated=bool(node.args.get("negate")))
    if isinstance(node, sql.Column):
        return Comparison(node.name, "in", (True,))
    raise _refusal(_short(node.sql()))


def _comparison(node: Any, name: str) -> Comparison:
    from sqlglot import expressions as sql

    left, right = node.this, node.expression
    if isinstance(right, sql.Column) and not isinstance(left, sql.Column):
        left, right, name = right, left, _TURNED[name]
    kind, negated = _COMPARED[name]
    return Comparison(_column(left), kind, (_constant(right),), negated)  # type: ignore[arg-type]


def _prefix(node: Any, *, negated: bool) -> Comparison:
    name, stem = _column(node.this), str(_constant(node.expression))
    if not stem.endswith("%") or any(mark in stem[:-1] for mark in "%_"):
        raise ReleaseError(
            f"LIKE {stem!r} cannot be asked, only what a text begins with; write it as in LIKE"
            " '47%'."
        )
    return Comparison(name, "prefix", (stem[:-1],), negated)


def _column(node: Any) -> str:
    from sqlglot import expressions as sql

    if isinstance(node, sql.Paren):
        return _column(node.this)
    if not isinstance(node, sql.Column):
        raise _refusal(_short(node.sql()))
    return str(node.name)


def _constant(node: Any) -> Any:
    from sqlglot import expressions as sql

    if isinstance(node, sql.Paren):
        return _constant(node.this)
    if isinstance(node, sql.Neg):
        value = _constant(node.this)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(node, sql.Boolean):
        return bool(node.this)
    if isinstance(node, sql.Literal):
        return str(node.this) if node.is_string else _number(str(node.this))
    if isinstance(node, sql.Cast) and isinstance(node.this, sql.Literal):  # DATE '2026-01-31'
        return str(node.this.this)
    if isinstance(node, sql.Null):
        raise ReleaseError("nothing is equal to a missing value; ask by IS NULL or IS NOT NULL.")
    if isinstance(node, sql.Column):
        raise ReleaseError(
            f"{node.name!r} is compared with another column, which no release can answer; compare"
            " with a value, a text in 'single quotes'."
        )
    raise _refusal(_short(node.sql()))


def _number(text: str) -> int | float:
    value = float(text)
    return int(text) if text.isdigit() and math.isfinite(value) else value


def joined(kind: type[All | Either], parts: Sequence[Condition]) -> Condition:
    """All or some of the parts; those of a part of the same kind stand beside the others."""
    return kind(
        tuple(p for part in parts for p in (part.parts if isinstance(part, kind) else (part,)))
    )


def between(name: str, low: Any, high: Any) -> Condition:
    """From one value to another, both of them in it."""
    return All((Comparison(name, "below", (low,), negated=True), Comparison(name, "upto", (high,))))


def _refusal(what: str) -> ReleaseError:
    if day := _DAY.fullmatch(what):
        written = "-".join(part.zfill(2) for part in day.groups())
        return ReleaseError(
            f"{written} without quotes is a sum of three numbers; write the date as '{written}'."
        )
    return ReleaseError(
        f"{what} cannot be asked of a release, which knows columns beside constants; write it as in"
        f" {_EXAMPLE!r}."
    )


def _short(text: str) -> str:
    return repr(shortened(text, 60))
