# SPDX-License-Identifier: Apache-2.0
"""The roles and types of a table's columns, as the plan states them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from phalanx.data.hierarchies.hierarchy import ByFrequency, Hierarchy, Prefix, Tree
from phalanx.data.names import check_names
from phalanx.errors import SchemaError, did_you_mean

type_names = ("numeric", "categorical", "date", "set")
Type = Literal["numeric", "categorical", "date", "set"]
Missing = Literal["refuse", "value"]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What each column of the microdata is; every column has exactly one role.

    Raises
    ------
    SchemaError
        Where a column has two roles, or a setting names a column that has no role.

    Examples
    --------
    >>> Schema(identifier="patient", quasi=["age", "zip"], sensitive="diagnosis").role("zip")
    'quasi'
    """

    quasi: Sequence[str] | str
    """Quasi-identifiers: what an adversary may know about a person; published as intervals."""
    sensitive: str | None = None
    """The attribute that no person may be linked with; published as it is, covered by the group."""
    identifier: str | None = None
    """Says who a row is about; never published, never stored but as a keyed hash."""
    weight: str | None = None
    """Survey weights: how many persons of the population a row stands for, a number above 0. Taken
    to be known to others, so that they must not be calculated from the sensitive attribute; each
    group shows the mean of its rows', to four digits.
    """
    cluster: str | None = None
    """Says which household a row is of; never published, never stored. Its rows count as one: see
    the methods that take it (``Mondrian``).
    """
    keep: Sequence[str] = ()
    """Published as they are: the steward vouches that no person can know or infer anything from
    them.
    """
    drop: Sequence[str] = ()
    """Left out."""
    types: Mapping[str, Type] = field(default_factory=dict)
    """Types that differ from what the data's own type suggests (numbers: numeric; dates: date;
    lists: set; all else: categorical).
    """
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Hierarchies of categorical and numeric attributes; they order the leaves left to right."""
    missing: Missing | Mapping[str, Missing] = "refuse"
    """``refuse`` a missing value, or treat it as a ``value`` of its own; one word for all columns,
    or one per column.
    """

    not_applicable: Sequence[str | int | float] = ()
    """Values of the sensitive attribute that say that a person has none, as a child has no income;
    whether that is so must be public. Rows with these values stand in groups of their own, and no
    promise about sensitive values covers them.
    """

    def __post_init__(self) -> None:
        self._check_kinds()
        plain = (v.item() if isinstance(v, np.number) else v for v in self.not_applicable)
        object.__setattr__(self, "not_applicable", tuple(plain))
        for role in ("quasi", "keep", "drop"):
            names = getattr(self, role)
            object.__setattr__(self, role, (names,) if isinstance(names, str) else tuple(names))
        seen: dict[str, str] = {}
        for role, names in self._by_role():
            for name in names:
                if name in seen:
                    twice = (
                        f"{role} twice; name it once"
                        if seen[name] == role
                        else f"both {seen[name]} and {role}; give it one role"
                    )
                    raise SchemaError(f"column {name!r} is declared {twice}.")
                seen[name] = role
        if not self.quasi:
            raise SchemaError(
                "no quasi-identifier is declared; name in 'quasi' the columns that may be"
                " known about a person."
            )
        check_names(seen, SchemaError)
        per_column = {} if isinstance(self.missing, str) else self.missing
        for setting, named in (
            ("types", tuple(self.types)),
            ("hierarchies", tuple(self.hierarchies)),
            ("missing", tuple(per_column)),
        ):
            for name in named:
                if name not in seen:
                    raise SchemaError(
                        f"'{setting}' names the column {name!r}, which has no"
                        f" role{did_you_mean(name, seen) or '; remove it or give it one.'}"
                    )

        for name, kind in self.types.items():
            if kind == "set" and seen[name] not in ("sensitive", "drop"):
                raise SchemaError(
                    f"column {name!r} is declared {seen[name]} and a set; only the sensitive"
                    " attribute may be a set of values, so drop it."
                )
            if kind == "set" and name in self.hierarchies:
                raise SchemaError(
                    f"column {name!r} is declared a set and has a hierarchy, which is over single"
                    " values; remove one of the two."
                )
        self._check_weight(
            {"types": self.types, "hierarchies": self.hierarchies, "missing": per_column}
        )
        if self.not_applicable and self.sensitive is None:
            raise SchemaError(
                "'not_applicable' lists values of the sensitive attribute, and none is declared;"
                " name it in 'sensitive', or remove the list."
            )

    def _check_weight(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """A weight is a number in every row, of which there is nothing to set."""
        if named := next((name for name, of in settings.items() if self.weight in of), None):
            raise SchemaError(
                f"column {self.weight!r} is declared weight, which is a number above 0 in every"
                f" row; remove it from '{named}'."
            )

    def _check_kinds(self) -> None:
        """A name where a name is meant, a list where a list is, a table where a table is."""
        for role in ("quasi", "keep", "drop"):
            names = getattr(self, role)
            if (
                isinstance(names, Mapping)
                or not isinstance(names, Collection)
                or not all(isinstance(name, str) for name in names)
            ):
                raise SchemaError(
                    f"'{role}' is {names!r} and must be a list of column names, as in {role} ="
                    ' ["age"].'
                )
        for role in ("identifier", "cluster", "sensitive", "weight"):
            name = getattr(self, role)
            if name is not None and (not isinstance(name, str) or not name):
                raise SchemaError(
                    f"'{role}' is {name!r} and must be the name of one column, or left out."
                )
        values = self.not_applicable
        if (
            isinstance(values, str | Mapping)
            or not isinstance(values, Collection)
            or any(
                isinstance(v, bool) or not isinstance(v, str | int | float | np.number)
                for v in values
            )
        ):
            raise SchemaError(
                f"'not_applicable' is {values!r} and must be a list of values, texts or numbers, as"
                ' in not_applicable = ["none"].'
            )
        allowed: Mapping[str, Callable[[Any], bool]] = {
            "types": lambda word: word in type_names,
            "hierarchies": lambda tree: isinstance(tree, Hierarchy),
            "missing": lambda word: word in get_args(Missing),
        }
        for setting, is_known in allowed.items():
            given = getattr(self, setting)
            if setting == "missing" and isinstance(given, str) and is_known(given):
                continue
            if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
                raise SchemaError(
                    f"'{setting}' is {given!r} and must be a table by"
                    f" column{' or one of refuse, value' if setting == 'missing' else ''}."
                )
            for name, word in given.items():
                if not is_known(word):
                    one_of = {
                        "types": ", ".join(type_names),
                        "missing": ", ".join(get_args(Missing)),
                        "hierarchies": "Bands, Prefix, Tree and ByFrequency",
                    }[setting]
                    raise SchemaError(
                        f"'{setting}' of column {name!r} is {word!r}; it must be one of {one_of}."
                    )

    def _by_role(self) -> list[tuple[str, tuple[str, ...]]]:
        return [
            ("identifier", () if self.identifier is None else (self.identifier,)),
            ("cluster", () if self.cluster is None else (self.cluster,)),
            ("quasi", tuple(self.quasi)),
            ("sensitive", () if self.sensitive is None else (self.sensitive,)),
            ("weight", () if self.weight is None else (self.weight,)),
            ("keep", tuple(self.keep)),
            ("drop", tuple(self.drop)),
        ]

    def role(self, name: str) -> str | None:
        """The role of a column.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        str | None
            Its role; None where it has none.
        """
        return self.roles.get(name)

    @property
    def roles(self) -> Mapping[str, str]:
        """The role of each column that has one."""
        return {name: role for role, names in self._by_role() for name in names}

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that have a role."""
        return tuple(self.roles)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are declared to hold categories, by their type or by a hierarchy over
        text; a CSV's are read as they are written.
        """
        return tuple(
            n
            for n in self.columns
            if self.types.get(n) == "categorical"
            or isinstance(self.hierarchies.get(n), Prefix | Tree | ByFrequency)
        )

    @property
    def may_be_missing(self) -> tuple[str, ...]:
        """The columns in which a missing value is a value of its own."""
        if isinstance(self.missing, str):
            return self.columns if self.missing == "value" else ()
        return tuple(name for name, policy in self.missing.items() if policy == "value")
