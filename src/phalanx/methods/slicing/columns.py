# SPDX-License-Identifier: Apache-2.0
"""The columns of slicing: which attributes share one (Li, Li, Zhang, Molloy, "Slicing", sections
4.1.2 and 4.1.3).
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.data.join_tree import join_tree
from phalanx.errors import PlanError, did_you_mean, listed
from phalanx.exact import whole
from phalanx.methods.slicing.clusters import clusters

Columns = tuple[tuple[str, ...], ...]

_UNASKED: Final = 0.01
"""What phi^2 of two attributes counts that are never asked about together: enough to tell them
apart."""


def partition(
    names: Sequence[str],
    matrix: Floats,
    *,
    columns: int,
    sensitive: str | None = None,
    sensitive_column_size: int | None = None,
    workload: Sequence[Sequence[str]] = (),
) -> Columns:
    """Put the attributes that tell most of each other into one column; every attribute is in one of
    ``columns`` columns, and no column is empty.

    ``names`` are the attributes in the schema's order, ``matrix`` their phi^2 of shape (d, d). The
    columns are clusters of k-medoids (PAM, which starts from BUILD, so that nothing is drawn by
    lot) at the distance 1 - phi^2; the one with the sensitive attribute comes last, the others by
    their first attributes. With ``sensitive_column_size`` (the paper's alpha) that column holds the
    sensitive attribute and the alpha - 1 attributes of highest phi^2 with it, the earlier ones
    where they tie, and the clusters are of the rest. Attributes stand in the schema's order, the
    sensitive one last in its column.

    With a ``workload``, lists of attributes that are asked about together, quasi-identifiers are as
    near as their phi^2 the more often they are asked about together, and hardly nearer than 1 where
    they never are; without a sensitive attribute, where all are protected, no phi^2 is looked at.
    Beside the sensitive attribute stand those that are most often asked about with it, the earlier
    ones where they tie: all of them where no size is given and there is room. No phi^2 with the
    sensitive attribute is looked at then, since which attribute it chooses tells of values.

    Raises PlanError where that many columns, or one of that size, cannot be filled, or the workload
    names something else than these attributes.

    Source: sections 4.1.2 and 4.1.3; how we differ: where attributes that tell each other wholly
    leave a cluster empty, the one furthest from its medoid stands alone, at no greater distance in
    all.

    >>> told = np.array([[1, 0.1, 0.8, 0.0], [0.1, 1, 0.1, 0.5], [0.8, 0.1, 1, 0.2], [0.0, 0.5, 0.2, 1]])
    >>> partition(["age", "sex", "marital", "job"], told, columns=2, sensitive="job")
    (('age', 'marital'), ('sex', 'job'))
    """
    d = len(names)
    if matrix.shape != (d, d):
        raise ValueError(f"{d} attributes have a matrix of shape {(d, d)}, not {matrix.shape}")
    check_sizes(
        d, columns=columns, sensitive=sensitive, sensitive_column_size=sensitive_column_size
    )
    near = matrix
    if workload:
        asked = _asked(workload, names)
        if sensitive is None:
            matrix = np.ones_like(matrix)
        matrix = matrix * np.maximum(asked / max(int(asked.max()), 1), _UNASKED)
        if sensitive is not None:
            near = asked.astype(np.float64)
            together = int((asked[names.index(sensitive)] > 0).sum())
            if sensitive_column_size is None:
                sensitive_column_size = min(1 + together, d - columns + 1) if columns > 1 else d
    if sensitive_column_size is None or sensitive is None:
        columns_of = clusters(matrix, columns)
    else:
        s = names.index(sensitive)
        nearest = sorted(
            (place for place in range(d) if place != s),
            key=lambda place: (-near[place, s], place),
        )
        with_s = [*nearest[: sensitive_column_size - 1], s]
        rest = np.array(sorted(set(range(d)) - set(with_s)), dtype=np.int64)
        columns_of = [
            *(
                rest[cluster].tolist()
                for cluster in clusters(matrix[np.ix_(rest, rest)], columns - 1)
            ),
            with_s,
        ]
    return _in_order(
        [[names[place] for place in cluster] for cluster in sorted(map(sorted, columns_of))],
        names,
        sensitive,
    )


def _asked(workload: Sequence[Sequence[str]], names: Sequence[str]) -> Ints:
    """How often each two attributes are asked about together, shape (d, d)."""
    asked = np.zeros((len(names), len(names)), dtype=np.int64)
    for together in workload:
        for name in together:
            if name not in names:
                hint = did_you_mean(name, names) or "; it may name " + listed(names) + "."
                raise PlanError(
                    f"[method] workload names {name!r}, which is no quasi-identifier and not the"
                    f" sensitive attribute{hint}"
                )
        places = sorted({names.index(name) for name in together})
        for one, other in itertools.combinations(places, 2):
            asked[one, other] += 1
            asked[other, one] += 1
    return asked


def check_sizes(
    attributes: int,
    *,
    columns: int,
    sensitive: str | None,
    sensitive_column_size: int | None = None,
) -> None:
    """PlanError where ``attributes`` attributes do not fill that many columns, one of them of that
    size.
    """
    whole(columns, "[method] columns")
    if columns > attributes:
        raise PlanError(
            f"[method] columns = {columns} and there are {attributes} attribute(s), of which every"
            " column needs one; lower columns."
        )
    if sensitive_column_size is None:
        return
    whole(sensitive_column_size, "[method] sensitive_column_size")
    if sensitive is None:
        raise PlanError(
            "[method] sensitive_column_size is about the column of the sensitive attribute, and"
            " none is declared; leave it out."
        )
    if sensitive_column_size > (most := attributes - columns + 1):
        raise PlanError(
            f"[method] sensitive_column_size = {sensitive_column_size} leaves too few of"
            f" {attributes} attributes for the other columns; lower it to at most {most}, or lower"
            " columns."
        )
    if columns == 1 and sensitive_column_size < attributes:
        raise PlanError(
            f"[method] sensitive_column_size = {sensitive_column_size} and columns = 1 leaves"
            f" {attributes - sensitive_column_size} attribute(s) without a column; raise columns,"
            " or leave sensitive_column_size out."
        )


def check_partition(columns: Any, names: Sequence[str], sensitive: str | None = None) -> Columns:
    """The columns that a plan names, the sensitive one last; attributes in the order of ``names``,
    the sensitive one last in its column.

    An attribute may stand in several columns where these have a join tree, so that what they say
    together can be checked.

    Raises PlanError for what is no list of lists of names; an attribute that is missed, repeated in
    a column or unknown; the sensitive attribute in two columns; a column within another; and
    columns that share attributes in a circle.
    """
    if (
        not isinstance(columns, list | tuple)
        or not columns
        or not all(isinstance(column, list | tuple) and column for column in columns)
    ):
        raise PlanError(
            "[method] columns is the number of columns or a list of them, each a list of at least"
            ' one attribute, such as [["age", "sex"], ["zip"]].'
        )
    for number, column in enumerate(columns, 1):
        _check_names(column, names, number)
    column_sets = [frozenset(column) for column in columns]
    if missed := [name for name in names if not any(name in column for column in column_sets)]:
        raise PlanError(
            f"[method] columns leaves out {listed(missed)}; every quasi-identifier and the"
            " sensitive attribute stand in a column."
        )
    if sum(sensitive in column for column in column_sets) > 1:
        raise PlanError(
            f"[method] columns has the sensitive attribute {sensitive!r} in more than one column;"
            " leave it in one."
        )
    for number, column in enumerate(column_sets):
        if any(
            column < other or (column == other and place < number)
            for place, other in enumerate(column_sets)
        ):
            raise PlanError(
                f"[method] columns: column {number + 1} ({listed(columns[number])}) stands within"
                " another and says nothing more; remove it."
            )
    if join_tree(column_sets) is None:
        shared = [name for name in names if sum(name in column for column in column_sets) > 1]
        raise PlanError(
            f"[method] columns share attributes ({listed(shared)}) in a circle, and what such"
            " columns say together cannot be checked; leave one of these attributes in one column."
        )
    return _in_order(columns, names, sensitive)


def _in_order(
    columns: Iterable[Sequence[str]], names: Sequence[str], sensitive: str | None
) -> Columns:
    """Attributes by the schema, and what is sensitive last; the columns as they come."""
    ordered = [
        tuple(sorted(column, key=lambda name: (name == sensitive, names.index(name))))
        for column in columns
    ]
    return tuple(sorted(ordered, key=lambda column: sensitive in column))


def _check_names(column: Sequence[Any], names: Sequence[str], number: int) -> None:
    for place, name in enumerate(column):
        if name not in names:
            hint = did_you_mean(str(name), names) or "; it may name " + listed(names) + "."
            raise PlanError(
                f"[method] columns: column {number} names {name!r}, which is no quasi-identifier"
                f" and not the sensitive attribute{hint}"
            )
        if name in column[:place]:
            raise PlanError(
                f"[method] columns: column {number} names {name!r} twice; name it once."
            )
