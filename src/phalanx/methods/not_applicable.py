# SPDX-License-Identifier: Apache-2.0
"""Persons whose sensitive value is not applicable, in groups of their own.

Who they are is public. So the other persons are published as if no others were in the table, and
whatever holds of them there holds here, against who knows the method, too. In a series a person
whose value is not applicable is, to the others, one who is not there: they leave, come and return
as the values of their rows say, and nothing is remembered of them meanwhile.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, SchemaError
from phalanx.methods.base import Draft, Method
from phalanx.randomness import Stream
from phalanx.release.forms.generalized import GROUP, Generalized, by_group, generalize


def check_takes(method: Method, schema: Schema) -> None:
    """SchemaError where values are declared not applicable, and the method does not group such rows
    by themselves (``takes_not_applicable``).
    """
    if schema.not_applicable and not getattr(method, "takes_not_applicable", False):
        raise SchemaError(
            f"'not_applicable' is declared, and {method.name} has no groups for such rows; remove"
            " it, or use a method that has, as all methods of this package."
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
    """Whether a value of the table is the declared one, by its text or as a number, which may be
    declared as text; the check of the release decides it by code of its own.
    """
    if value is None or str(value) == str(one):
        return value is not None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if not isinstance(one, str):
        return value == one
    whole = one.strip().lstrip("+-").isdigit()
    with suppress(ValueError):
        return value == (int(one) if whole else float(one))
    return False


def is_not_applicable(value: object, schema: Schema) -> bool:
    """Whether a value that a plan names is one that the schema lists."""
    return any(_alike(value, one) for one in schema.not_applicable)


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
    _check_enough(microdata, without, least)
    groups = np.empty(microdata.rows, dtype=np.int64)
    groups[with_value] = applicable(microdata.take(with_value))
    groups[without] = groups[with_value].max() + 1 + others(microdata.take(without))
    return groups


def published_apart(
    microdata: Microdata,
    publish: Callable[[Microdata], Draft],
    others: Callable[[Microdata], Ints],
    stream: Stream,
    *,
    least: int,
    min_width: Mapping[str, float],
) -> Draft:
    """The draft that ``publish`` makes of the rows with a value, as if there were no others, and
    beside it, in the same release, the others in the groups that ``others`` makes from 0.

    What is remembered is what ``publish`` remembers. MethodError where there are others, and fewer
    than ``least``.
    """
    with_value, without = rows_apart(microdata)
    if not len(without):
        return publish(microdata)
    _check_enough(microdata, without, least)
    part = microdata.take(without)
    groups = others(part)
    beside, numbered = generalize(part, np.arange(part.rows), groups, stream, min_width=min_width)
    draft = publish(_without_listed(microdata.take(with_value)))
    form = Generalized.expect(draft.form)
    ids = stream.permutation(form.groups + beside.groups) + 1
    table = pl.concat(
        [
            form.table.with_columns(_renamed(form.table, ids)),
            beside.table.with_columns(_renamed(beside.table, ids[form.groups :])),
        ],
        how="vertical_relaxed",  # a series may publish values in a wider type than this table has
    )
    place = np.zeros(len(draft.groups) + len(without), dtype=np.int64)
    own, rows = np.concatenate([[0], ids])[draft.groups], len(with_value)
    place[with_value], place[without] = own[:rows], ids[form.groups :][numbered[groups] - 1]
    place[microdata.rows :] = own[rows:]
    return replace(
        draft,
        form=Generalized(
            table[pl.Series(by_group(table[GROUP].to_numpy()), dtype=pl.UInt32)],
            form.attributes,
            *(
                None
                if counted is None
                else counted.with_columns(_renamed(counted, ids)).sort(GROUP)
                for counted in (form.counterfeits, form.registered)
            ),
        ),
        groups=place,
        suppressed=replace(
            draft.suppressed, microdata=_whole(microdata, draft.suppressed.microdata, with_value)
        ),
    )


def _check_enough(microdata: Microdata, without: Ints, least: int) -> None:
    if len(without) < least:
        raise MethodError(
            f"column {microdata.schema.sensitive!r} is not applicable in {len(without)} row(s), and"
            f" a group needs {least}; ask for smaller groups, or leave these rows out at the"
            " source."
        )


def _renamed(table: pl.DataFrame, ids: Ints) -> pl.Series:
    """The groups of a table, of which group i is called ``ids[i - 1]`` now."""
    return pl.Series(GROUP, ids[table[GROUP].to_numpy() - 1])


def _without_listed(part: Microdata) -> Microdata:
    """Rows with a value, over a domain that has no listed ones, which no row holds; over the same
    domain where a hierarchy says what is in it.
    """
    column = part.sensitive
    if column.domain.hierarchy is not None:
        return part
    stays = np.array([not is_not_applicable(value, part.schema) for value in column.domain.values])
    codes = (np.cumsum(stays) - 1)[column.codes].astype(np.int32)
    domain = Domain(column.domain.type, column.domain.values.filter(pl.Series(stays)))
    return _with_sensitive(part, Column(codes, domain))


def _whole(microdata: Microdata, shown: Microdata | None, with_value: Ints) -> Microdata | None:
    """All rows, of which those ``with_value`` hold what is ``shown`` of them; None for None."""
    if shown is None:
        return None
    own, part = microdata.sensitive, shown.sensitive
    domains = [part.domain.values.to_frame(), own.domain.values.to_frame()]
    values = pl.concat(domains, how="vertical_relaxed").to_series().unique(maintain_order=True)
    place = pl.DataFrame({"value": values}).with_row_index("code")
    of_own, of_part = (
        pl.DataFrame({"value": domain.values.cast(values.dtype)})
        .join(place, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
        .to_numpy()
        .astype(np.int32)
        for domain in (own.domain, part.domain)
    )
    codes = of_own[own.codes]
    codes[with_value] = of_part[part.codes]
    return _with_sensitive(
        microdata, Column(codes, Domain(own.domain.type, values, own.domain.hierarchy))
    )


def _with_sensitive(microdata: Microdata, column: Column) -> Microdata:
    name = str(microdata.schema.sensitive)
    return replace(microdata, columns={**microdata.columns, name: column})
