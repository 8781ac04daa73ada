"""The roles and types of a table's columns, as the plan states them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from phalanx.data.hierarchy import Hierarchy, Prefix, Tree
from phalanx.data.names import check_names
from phalanx.errors import SchemaError, did_you_mean

type_names = ("numeric", "categorical", "date", "set")
Type = Literal["numeric", "categorical", "date", "set"]
Missing = Literal["refuse", "value"]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What each column of the microdata is; every column has exactly one role.

    Raises SchemaError where a column has two roles, or a setting names a column that has no role.

    >>> Schema(identifier="patient", quasi=["age", "zip"], sensitive="diagnosis").role("zip")
    'quasi'
    """

    quasi: Sequence[str]
    """Quasi-identifiers: what somebody may know about a person; published as intervals."""
    sensitive: str | None = None
    """The attribute that nobody may be linked with; published as it is, covered by the group."""
    identifier: str | None = None
    """Says who a row is about; never published, never stored but as a keyed hash."""
    keep: Sequence[str] = ()
    """Published as they are: the steward vouches that nobody can know or infer anything from them."""
    drop: Sequence[str] = ()
    """Left out."""
    types: Mapping[str, Type] = field(default_factory=dict)
    """Types that differ from what the data's own type suggests (numbers: numeric; dates: date; lists: set; all else: categorical)."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Hierarchies of categorical and numeric attributes; they order the leaves left to right."""
    missing: Missing | Mapping[str, Missing] = "refuse"
    """``refuse`` a missing value, or treat it as a ``value`` of its own; one word for all columns, or one per column."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "quasi", tuple(self.quasi))
        object.__setattr__(self, "keep", tuple(self.keep))
        object.__setattr__(self, "drop", tuple(self.drop))
        seen: dict[str, str] = {}
        for role, names in self._by_role():
            for name in names:
                if name in seen:
                    twice = f"{role} twice; name it once" if seen[name] == role else f"both {seen[name]} and {role}; give it one role"
                    raise SchemaError(f"column {name!r} is declared {twice}.")
                seen[name] = role
        if not self.quasi:
            raise SchemaError("no quasi-identifier is declared; name in 'quasi' the columns that somebody may know about a person.")
        check_names(seen, SchemaError)
        per_column = {} if isinstance(self.missing, str) else self.missing
        for setting, named in (("types", tuple(self.types)), ("hierarchies", tuple(self.hierarchies)), ("missing", tuple(per_column))):
            for name in named:
                if name not in seen:
                    raise SchemaError(f"'{setting}' names the column {name!r}, which has no role{did_you_mean(name, seen) or '; remove it or give it one.'}")

        for name, kind in self.types.items():
            if kind == "set" and seen[name] not in ("sensitive", "drop"):
                raise SchemaError(f"column {name!r} is declared {seen[name]} and a set; only the sensitive attribute may be a set of values, so drop it.")
            if kind == "set" and name in self.hierarchies:
                raise SchemaError(f"column {name!r} is declared a set and has a hierarchy, which is over single values; remove one of the two.")

    def _by_role(self) -> list[tuple[str, tuple[str, ...]]]:
        return [
            ("identifier", () if self.identifier is None else (self.identifier,)),
            ("quasi", tuple(self.quasi)),
            ("sensitive", () if self.sensitive is None else (self.sensitive,)),
            ("keep", tuple(self.keep)),
            ("drop", tuple(self.drop)),
        ]

    def role(self, name: str) -> str | None:
        """The role of a column, or None where it has none."""
        return next((role for role, names in self._by_role() if name in names), None)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that have a role."""
        return tuple(name for _, names in self._by_role() for name in names)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that are declared to hold categories, by their type or by a hierarchy over text; a CSV's are read as they are written."""
        return tuple(n for n in self.columns if self.types.get(n) == "categorical" or isinstance(self.hierarchies.get(n), Prefix | Tree))

    def missing_policy(self, name: str) -> Missing:
        """What to do with a missing value in a column."""
        return self.missing if isinstance(self.missing, str) else self.missing.get(name, "refuse")
