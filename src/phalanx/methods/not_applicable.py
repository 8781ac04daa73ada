# SPDX-License-Identifier: Apache-2.0
"""Persons whose sensitive value is not applicable, in groups of their own.

Who they are is public. So the other persons are published as if no others were in the table, and
whatever holds of them there holds here, against who knows the method, too.
"""

from collections.abc import Callable

import numpy as np

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, SchemaError
from phalanx.methods.base import Method


def check_takes(method: Method, schema: Schema) -> None:
    """SchemaError where values are declared not applicable, and the method does not group such rows
    by themselves (``takes_not_applicable``).
    """
    if schema.not_applicable and not getattr(method, "takes_not_applicable", False):
        raise SchemaError(
            f"'not_applicable' is declared, and {method.name} has no groups for such rows; remove"
            " it, or use mondrian, anatomy or slicing."
        )


def rows_apart(microdata: Microdata) -> tuple[Ints, Ints]:
    """The rows with an applicable value, and those without; MethodError where the first are none,
    as nothing would be promised to anybody.
    """
    listed = microdata.schema.not_applicable
    if not listed:
        return np.arange(microdata.rows), np.zeros(0, dtype=np.int64)
    column = microdata.sensitive
    of_code = [any(_alike(value, one) for one in listed) for value in column.domain.values]
    lacks = np.array(of_code, dtype=np.bool_)[column.codes]
    if lacks.all():
        raise MethodError(
            f"column {microdata.schema.sensitive!r} is not applicable in any row, so that there is"
            " no value to protect; shorten 'not_applicable', or name another sensitive attribute."
        )
    return np.flatnonzero(~lacks), np.flatnonzero(lacks)


def _alike(value: object, one: str | float) -> bool:
    """Whether a value of the table is the declared one, by its text or as a number; the check of
    the release decides it by code of its own.
    """
    if value is None or isinstance(value, bool) or isinstance(one, str):
        return value is not None and str(value) == str(one)
    return str(value) == str(one) or (isinstance(value, int | float) and value == one)


def grouped_apart(
    microdata: Microdata,
    applicable: Callable[[Microdata], Ints],
    others: Callable[[Microdata], Ints],
    *,
    least: int = 1,
) -> Ints:
    """The group of every row, 0 .. g-1, shape (n,): ``applicable`` and ``others`` each group their
    part of the table from 0. MethodError where there are others, and fewer than ``least``.
    """
    with_value, without = rows_apart(microdata)
    if not len(without):
        return applicable(microdata)
    if len(without) < least:
        raise MethodError(
            f"column {microdata.schema.sensitive!r} is not applicable in {len(without)} row(s), and"
            f" a group needs {least}; ask for smaller groups, or leave these rows out at the"
            " source."
        )
    groups = np.empty(microdata.rows, dtype=np.int64)
    groups[with_value] = applicable(microdata.take(with_value))
    groups[without] = groups[with_value].max() + 1 + others(microdata.take(without))
    return groups
