# SPDX-License-Identifier: Apache-2.0
"""Hierarchies: trees over an attribute's values that order the leaves left to right and name every
interval of leaves.
"""

import itertools
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Final, Protocol, runtime_checkable

import polars as pl

from phalanx.errors import SchemaError, shown

_MOST_LEVELS: Final = 100
_MOST_NODES: Final = 10_000_000
"""Of a tree, whose every leaf has a node on each level: a small file of one long line and many short
ones would fill the memory.
"""


@runtime_checkable
class Hierarchy(Protocol):
    """A tree over values. Published values and declared trees are public; the rows are not."""

    def leaves(self, values: pl.Series) -> pl.Series:
        """All leaves, left to right.

        Parameters
        ----------
        values : pl.Series
            The distinct values of a column, shape (v,), without nulls.

        Returns
        -------
        pl.Series
            The leaves, shape (l,).

        Raises
        ------
        SchemaError
            Where a value has no place.
        """

    def ancestors(self, leaves: pl.Series) -> pl.DataFrame:
        """The nodes above each leaf.

        Parameters
        ----------
        leaves : pl.Series
            The leaves, shape (l,).

        Returns
        -------
        pl.DataFrame
            One text column per level ("0" the leaf itself, the last one the root ``*``), one row
            per leaf, in leaf order.
        """

    def parameters(self) -> dict[str, Any]:
        """What the manifest says about it; depends on the declaration only, never on the rows."""


@dataclass(frozen=True)
class Tree:
    """A tree written down leaf by leaf: each path runs from the leaf to the root.

    Paths may differ in length: a short one repeats its last node below the root. Children stand
    together in the order in which the paths first name them.

    >>> tree = Tree.of_paths([["flu", "lung", "*"], ["gastritis", "stomach", "*"], ["asthma", "lung", "*"]])
    >>> tree.leaves(pl.Series(["flu"])).to_list()
    ['flu', 'asthma', 'gastritis']
    """

    paths: tuple[tuple[str, ...], ...]
    """Of each leaf, the nodes from it up to the root, all of one length; ``of_paths`` makes them."""

    def __post_init__(self) -> None:
        """SchemaError where the paths are not as ``of_paths`` makes them."""
        paths: object = self.paths
        if (
            not isinstance(paths, tuple)
            or not all(isinstance(path, tuple) and path[-1:] == ("*",) for path in paths)
            or len({len(path) for path in paths}) != 1
        ):
            raise SchemaError(
                "a tree takes paths that were checked; make it by Tree.of_paths([['flu', 'lung', '*'],"
                " …]), each from a leaf up to '*'."
            )

    @classmethod
    def of_paths(cls, paths: Sequence[Sequence[str]]) -> "Tree":
        """Check the paths, level them, and put the leaves in order.

        Parameters
        ----------
        paths : Sequence[Sequence[str]]
            One for each leaf, from the leaf up to the root.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        SchemaError
            Where they are no tree.
        """
        if not _texts(paths):
            raise SchemaError(
                "the paths of a hierarchy must be lists of texts, each from a leaf up; write them as"
                " in Tree.of_paths([['flu', 'lung', '*']])."
            )
        if not paths:
            raise SchemaError(
                "a hierarchy has no leaves; write one line 'leaf;parent;…;*' per value."
            )
        plain = [_without_repeated_root(path) for path in paths]
        height = max(len(p) for p in plain)
        if height > _MOST_LEVELS or height * len(plain) > _MOST_NODES:
            raise SchemaError(
                f"the hierarchy has {len(plain):,} leaves on {height:,} levels, and up to"
                f" {_MOST_LEVELS} levels and {_MOST_NODES:,} nodes are read; leave out levels."
            )
        levelled = [(*path[:-1], *[path[-2]] * (height - len(path)), "*") for path in plain]
        if twice := [leaf for leaf, count in Counter(p[0] for p in levelled).items() if count > 1]:
            raise SchemaError(
                f"the hierarchy names the leaf {twice[0]!r} twice; keep one of the lines."
            )
        parent: dict[tuple[int, str], str] = {}
        for path in levelled:
            for level in range(height - 1):
                above = parent.setdefault((level, path[level]), path[level + 1])
                if above != path[level + 1]:
                    raise SchemaError(
                        f"the hierarchy puts {path[level]!r} under both {above!r} and"
                        f" {path[level + 1]!r}; a tree has one parent."
                    )
        first: dict[tuple[int, str], int] = {}
        for i, path in enumerate(levelled):
            for level, node in enumerate(path):
                first.setdefault((level, node), i)
        levelled.sort(key=lambda p: [first[level, p[level]] for level in range(height - 1, -1, -1)])
        _check_names(levelled)
        return cls(tuple(levelled))

    @classmethod
    def of_mapping(cls, tree: Mapping[str, Any]) -> "Tree":
        """A tree as nested tables, leaves in lists: ``{lung = ["flu", "asthma"], stomach =
        ["gastritis"]}``.

        Parameters
        ----------
        tree : Mapping[str, Any]
            The children of each name; an empty list makes its name a leaf.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        SchemaError
            Where it is no tree.
        """
        return cls.of_paths(_paths(tree, ["*"]))

    def leaves(self, values: pl.Series) -> pl.Series:
        leaves = pl.Series(values.name, [p[0] for p in self.paths], dtype=pl.String)
        strangers = values.cast(pl.String).filter(~values.cast(pl.String).is_in(leaves.implode()))
        if len(strangers):
            raise SchemaError(
                f"column {values.name!r} holds {len(strangers)} distinct value(s) that its"
                " hierarchy does not name; add them as leaves, or map them to known ones at the"
                " source."
            )
        return leaves

    def ancestors(self, leaves: pl.Series) -> pl.DataFrame:
        return pl.DataFrame(
            {str(level): [p[level] for p in self.paths] for level in range(len(self.paths[0]))}
        )

    def parameters(self) -> dict[str, Any]:
        return {"kind": "tree", "paths": [list(p) for p in self.paths]}


def _paths(node: Any, above: list[str]) -> list[list[str]]:
    """The leaves of a node, each with what it lies in, up to the top."""
    if len(above) > _MOST_LEVELS:
        raise SchemaError(f"the hierarchy has more than {_MOST_LEVELS} levels; leave out levels.")
    if isinstance(node, Mapping) and node:
        return [path for name, child in node.items() for path in _paths(child, [name, *above])]
    if not isinstance(node, Mapping | list | tuple):
        raise SchemaError(
            f"the hierarchy's node {above[0]!r} holds a single value; put its leaves in a"
            f' list, as in {above[0]} = ["…", "…"].'
        )
    if any(isinstance(leaf, Mapping | list | tuple) for leaf in node):
        raise SchemaError(
            f"the hierarchy's node {above[0]!r} holds a list inside its list of leaves;"
            " name the inner one, as a table."
        )
    return [[_leaf_text(leaf), *above] for leaf in node] if node or len(above) == 1 else [above]


def _without_repeated_root(path: Sequence[str]) -> tuple[str, ...]:
    """The path with one root at its end; tables made for other tools fill short lines up with
    roots.
    """
    if len(path) < 2:
        raise SchemaError(
            f"the hierarchy line {';'.join(path)!r} has no parent; write 'leaf;parent;…;*'."
        )
    if path[-1] != "*":
        raise SchemaError(
            f"the hierarchy line that starts with {path[0]!r} does not end in the root '*'; append"
            " ';*'."
        )
    end = len(path)
    while end > 2 and path[end - 2] == "*":
        end -= 1
    if "" in path[1:]:
        raise SchemaError(
            f"the hierarchy line that starts with {path[0]!r} has an empty node; name it or leave"
            " it out."
        )
    return tuple(path[:end])


def _check_names(levelled: Sequence[tuple[str, ...]]) -> None:
    """One name, one set of leaves: a published node must not be readable in two ways."""
    spans: dict[str, tuple[int, int]] = {}
    for level in range(len(levelled[0])):
        of_level: dict[str, tuple[int, int]] = {}
        for i, path in enumerate(levelled):
            of_level[path[level]] = (of_level.get(path[level], (i, i))[0], i)
        for name, span in of_level.items():
            # A leaf under a parent of the same single leaf, or a padded line, covers the same
            # leaves at each level.
            if spans.setdefault(name, span) != span and not (name == "*" and len(levelled) == 1):
                raise SchemaError(
                    f"the hierarchy uses the name {name!r} for two different sets of leaves; rename"
                    " one of the nodes."
                )


def _leaf_text(leaf: Any) -> str:
    """A TOML value as the text that the column has: true, not True."""
    return str(leaf).lower() if isinstance(leaf, bool) else str(leaf)


_LONGEST: Final = 1 << 20
"""No code is longer than this."""


@dataclass(frozen=True)
class Prefix:
    """Codes that mean more the longer they are read, as zip codes do: level i keeps ``lengths[i]``
    characters.

    >>> Prefix((5, 3, 0)).ancestors(pl.Series(["47906", "47302"])).row(0)
    ('47906', '479**', '*')
    """

    lengths: tuple[int, ...]
    """How many characters each level keeps, falling; 0 is the root."""

    def __init__(self, lengths: Sequence[int], *more: Any) -> None:
        _set_list(self, "lengths", lengths, more, "Prefix((5, 3, 0))")
        falling = all(a > b for a, b in zip(self.lengths, self.lengths[1:], strict=False))
        if (
            len(self.lengths) < 2
            or not falling
            or self.lengths[-1] != 0
            or self.lengths[0] > _LONGEST
        ):
            raise SchemaError(
                f"prefix lengths must fall, from {_LONGEST} at most, and end in 0, as in [5, 3, 0];"
                f" these are {shown(list(self.lengths))}."
            )

    def leaves(self, values: pl.Series) -> pl.Series:
        text = values.cast(pl.String)
        wrong = text.filter(text.str.len_chars() != self.lengths[0])
        if len(wrong):
            raise SchemaError(
                f"column {values.name!r} holds {len(wrong)} distinct value(s) that are not"
                f" {self.lengths[0]} characters long, as its prefix hierarchy says; pad them at the"
                " source."
            )
        return text.sort()

    def ancestors(self, leaves: pl.Series) -> pl.DataFrame:
        full = self.lengths[0]
        levels = {
            str(i): leaves.str.slice(0, n) + "*" * (full - n)
            for i, n in enumerate(self.lengths[:-1])
        }
        return pl.DataFrame(levels).with_columns(pl.lit("*").alias(str(len(self.lengths) - 1)))

    def parameters(self) -> dict[str, Any]:
        return {"kind": "prefix", "lengths": list(self.lengths)}


@dataclass(frozen=True)
class Bands:
    """Numbers in bands of growing width, all aligned at zero: ``widths = [5, 10, 20]``.

    >>> Bands((10, 20)).ancestors(pl.Series([21.0, 34.0])).rows()
    [('21', '20-30', '20-40', '*'), ('34', '30-40', '20-40', '*')]
    """

    widths: tuple[float, ...]
    """The width of each level's bands, in the attribute's units; each a multiple of the one before."""

    def __init__(self, widths: Sequence[float], *more: Any) -> None:
        _set_list(self, "widths", widths, more, "Bands((5, 10, 20))")
        exact = self._exact
        nested = all(b > a and b % a == 0 for a, b in itertools.pairwise(exact))
        if not exact or exact[0] <= 0 or not nested:
            raise SchemaError(
                "each band width must be a multiple of the one before, as in [5, 10, 20]; these"
                f" are {shown(list(self.widths))}."
            )

    @property
    def _exact(self) -> list[Fraction]:
        """The widths as written, so that bands of 0.1 nest in bands of 0.3; what no float holds
        becomes 0, which is no width.
        """
        most = sys.float_info.max  # neither NaN nor infinity is at most this
        return [Fraction(str(w)) if abs(w) <= most else Fraction(0) for w in self.widths]

    def leaves(self, values: pl.Series) -> pl.Series:
        return values.sort()

    def ancestors(self, leaves: pl.Series) -> pl.DataFrame:
        exact = [Fraction(str(x)) for x in leaves.to_list()]
        levels: dict[str, list[str]] = {"0": [_number(x) for x in exact]}
        for i, width in enumerate(self._exact, 1):
            lows = [x // width * width for x in exact]
            levels[str(i)] = [f"{_number(low)}-{_number(low + width)}" for low in lows]
        return pl.DataFrame(levels).with_columns(pl.lit("*").alias(str(len(self.widths) + 1)))

    def parameters(self) -> dict[str, Any]:
        return {"kind": "bands", "widths": list(self.widths)}


@dataclass(frozen=True)
class ByFrequency:
    """The most frequent category first, equal ones by the alphabet: counted once, before the first
    release, and written down as a tree (``phalanx.data.ordering``).

    Quasi-identifiers alone decide it, and it is published. Intervals between frequent categories
    then hold few rare ones, which no row of the group has.
    """

    def leaves(self, values: pl.Series) -> pl.Series:
        return _uncounted(values)

    def ancestors(self, leaves: pl.Series) -> pl.DataFrame:
        return _uncounted(leaves).to_frame()

    def parameters(self) -> dict[str, Any]:
        return {"kind": "frequency"}


def _set_list(made: Any, name: str, given: Any, more: Any, example: str) -> None:
    """Keep a hierarchy's numbers; SchemaError where they are not one list of numbers."""
    is_list = isinstance(given, Sequence) and all(isinstance(part, Real) for part in given)
    if more or not is_list:
        raise SchemaError(f"{name} must be one list of numbers; write them as in {example}.")
    plain = (int(part) if isinstance(part, Integral) else float(part) for part in given)
    object.__setattr__(made, name, tuple(plain))  # as a manifest writes them


def _texts(paths: Any) -> bool:
    return isinstance(paths, Sequence) and all(
        isinstance(path, Sequence)
        and not isinstance(path, str)
        and all(isinstance(node, str) for node in path)
        for path in paths
    )


def _uncounted(values: pl.Series) -> pl.Series:
    raise SchemaError(
        f"column {values.name!r} is to be ordered by frequency, which is counted in a table in"
        " memory; write its values into a tree in the plan."
    )


def _number(x: Fraction) -> str:
    """All digits, so that two numbers never share a name."""
    return str(x.numerator) if x.denominator == 1 else repr(float(x))
