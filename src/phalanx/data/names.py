# SPDX-License-Identifier: Apache-2.0
"""Names of columns and of series that are more than names: refused where a table, a schema or a
manifest comes in, so that a name is a name behind the door.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from phalanx.errors import PhalanxError

MAX_NAMES: Final = 10_000
"""So many columns may a table have: each takes its time, however few the rows are."""


def is_of_a_folder(name: str) -> bool:
    r"""Whether a series may be called so: its folders are, and a page or a terminal shows it.

    >>> is_of_a_folder("ward-a"), is_of_a_folder("../a"), is_of_a_folder("a\x1b[31m")
    (True, False, False)
    """
    return (
        bool(name) and Path(name).name == name and not name.startswith(".") and name.isprintable()
    )


def check_named(names: Iterable[str], refusal: type[PhalanxError]) -> None:
    """Raise ``refusal`` for a column without a name, to which a reader may give one of its own."""
    if "" in names:
        raise refusal("the table has a column without a name; name it at the source.")


def check_names(names: Iterable[str], refusal: type[PhalanxError]) -> None:
    """Raise ``refusal`` for a name that would be expanded, for one with a NUL in it, for one that
    begins with a byte order mark, and for more than ``MAX_NAMES`` of them.

    Polars takes ``*`` for all columns, and ``^…$`` for those whose names match, wherever it takes a
    name: a cast of the column ``*`` is a cast of all, and a group-by over ``^a$`` is one over
    ``a``. A NUL ends a name in Arrow's C interface, and begins the names that checks give to
    columns of their own. A byte order mark at the beginning is lost in a CSV. Every name that a
    table, a schema or a manifest brings passes here.

    >>> check_names(["age", "^", "a*"], PhalanxError)
    >>> check_names(["age", "^.*$"], PhalanxError)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    phalanx.errors.PhalanxError: the column name '^.*$' is a pattern ...; rename it at the source.
    """
    for number, name in enumerate(names):
        if number == MAX_NAMES:
            raise refusal(
                f"the table has more than {MAX_NAMES} columns; leave out at the source those that"
                " are not needed."
            )
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            raise refusal(
                f"the column name {name!r} is a pattern ('*', or '^' with '$' at its end) and may"
                " stand for others; rename it at the source."
            )
        if "\0" in name:
            raise refusal(
                f"the column name {name!r} holds a NUL, which no file of the common formats can"
                " carry; rename it at the source."
            )
        if name.startswith("\ufeff"):
            raise refusal(
                f"the column name {name!r} begins with a byte order mark, which readers of CSV"
                " drop; rename it at the source."
            )
