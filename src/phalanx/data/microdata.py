# SPDX-License-Identifier: Apache-2.0
"""The microdata of one release: integer codes over ordered domains. Identifiers do not get past
this door.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Floats, Ints
from phalanx.data.column import Column, check_missing, encode_column, narrowed, typed
from phalanx.data.households import households_of
from phalanx.data.identifying import check_identifying
from phalanx.data.persons import PersonKey
from phalanx.data.registry import absent, encode_together, of_persons
from phalanx.data.repeated import repeated, twice_in
from phalanx.data.schema import Schema
from phalanx.data.weights import encode_weights
from phalanx.errors import SchemaError, SourceError, did_you_mean, listed


@dataclass(frozen=True, eq=False)
class Microdata:
    """A table about people, encoded.

    ``columns`` holds the quasi-identifiers and the sensitive attribute; ``kept`` the columns to
    publish as they are; ``weights`` (n,) how many persons each row stands for (None where the schema
    declares no weight); ``persons`` the keyed hashes (None where the schema declares no identifier,
    or no key was given). ``registry`` holds the registered persons who are not among the rows, each
    once, over the same domains: their quasi-identifiers and nothing else. ``households`` (n,) says
    whose rows are of one household, None where the schema declares no cluster.
    """

    schema: Schema
    rows: int
    columns: Mapping[str, Column]
    kept: pl.DataFrame
    persons: pl.Series | None
    registry: "Microdata | None" = None
    weights: Floats | None = None
    households: Ints | None = None

    @classmethod
    def encode(
        cls,
        frame: pl.DataFrame,
        schema: Schema,
        key: PersonKey | None = None,
        registry: pl.DataFrame | None = None,
        *,
        whole: bool = True,
    ) -> "Microdata":
        """Encode a table; every column has a role, missing values follow the schema, nothing is
        silently dropped.

        ``registry``: a table of persons whom an adversary knows, with the identifier and all
        quasi-identifiers; its other columns are ignored. The domains hold the values of those of
        them who are not in ``frame``, too. ``whole``: False for some rows of a table, of which
        alone it cannot be told whether a column names people.

        Raises SchemaError (a column without a role, or one that looks like an identifier and is not
        declared; a registry without persons), SourceError (an empty table, a missing value that the
        schema refuses, a person twice).
        """
        check_columns(frame, schema)
        if frame.height == 0:
            raise SourceError("the table has no rows; give one that has some.")
        frame = frame.with_columns(
            narrowed(frame[name])
            for name in frame.columns
            if name not in (schema.identifier, schema.cluster, *schema.drop)
        )
        if registry is not None:
            return cls._encode_beside(frame, schema, key, registry)
        names = [*schema.quasi, *([schema.sensitive] if schema.sensitive else [])]
        columns = {name: encode_column(frame[name], schema) for name in names}
        if schema.not_applicable and columns[str(schema.sensitive)].domain.type == "set":
            raise SchemaError(
                f"column {schema.sensitive!r} holds sets of values, and 'not_applicable' is about"
                " single ones; remove it, as an empty set says the same."
            )
        for name in schema.keep:
            check_missing(frame[name], schema)
        for name in (*names, *schema.keep) if whole else ():
            check_identifying(
                frame[name], schema, columns[name].domain if name in columns else None
            )
        persons = None
        if schema.identifier is not None and key is not None:
            persons = key.hash(frame[schema.identifier]).alias("person")
            if twice := repeated(persons):
                raise twice_in(schema.identifier, twice)
        return cls(
            schema,
            frame.height,
            columns,
            frame.select(
                typed(frame[name], schema.types[name]) if name in schema.types else frame[name]
                for name in schema.keep
            ),
            persons,
            weights=None if schema.weight is None else encode_weights(frame[schema.weight]),
            households=None if schema.cluster is None else households_of(frame[schema.cluster]),
        )

    @classmethod
    def _encode_beside(
        cls, frame: pl.DataFrame, schema: Schema, key: PersonKey | None, registry: pl.DataFrame
    ) -> "Microdata":
        """The table by itself, and then its quasi-identifiers once more, over the domains of
        both.
        """
        alone = cls.encode(frame, schema, key)
        listed, persons = absent(registry, schema, key, alone.persons)
        together = {
            name: encode_together(frame[name], listed[name], schema) for name in schema.quasi
        }
        beside = cls(
            of_persons(schema),
            listed.height,
            {name: c for name, (_, c) in together.items()},
            listed.select([]),
            persons,
        )
        return replace(
            alone,
            columns={**alone.columns, **{name: c for name, (c, _) in together.items()}},
            registry=beside,
        )

    def take(self, rows: npt.NDArray[np.int64]) -> "Microdata":
        """The given rows, in the given order, over the same domains; the registry stays as it
        is.
        """
        columns = {name: replace(c, codes=c.codes[rows]) for name, c in self.columns.items()}
        persons = None if self.persons is None else self.persons.gather(rows)
        kept = (
            self.kept[rows] if self.kept.width else self.kept
        )  # a frame without columns has no rows to take
        return replace(
            self,
            rows=len(rows),
            columns=columns,
            kept=kept,
            persons=persons,
            weights=None if self.weights is None else self.weights[rows],
            households=None if self.households is None else self.households[rows],
        )

    @property
    def quasi(self) -> list[Column]:
        """The quasi-identifiers, in the schema's order."""
        return [self.columns[name] for name in self.schema.quasi]

    @property
    def sensitive(self) -> Column:
        """The sensitive attribute; SchemaError where none is declared."""
        if self.schema.sensitive is None:
            raise SchemaError(
                "no sensitive attribute is declared, and this promise is about one; name it in"
                " 'sensitive'."
            )
        return self.columns[self.schema.sensitive]

    def check_single_valued(self, asked: str) -> None:
        """SchemaError where the sensitive attribute holds sets, and what is ``asked`` is about one
        value for each person.
        """
        if self.sensitive.domain.type == "set":
            raise SchemaError(
                f"column {self.schema.sensitive!r} holds sets of values, and {asked} is about one"
                " value for each person; use global-guarantee, or Mondrian with k alone."
            )


def check_columns(frame: pl.DataFrame, schema: Schema) -> None:
    """SchemaError where a declared column is not there, or one has no role, or a type that its role
    cannot have.
    """
    roles = schema.roles
    if not set(roles) & set(frame.columns):  # names may then be a row of values
        raise SchemaError(
            "none of the declared columns is in the table; see whether its first line names them."
        )
    for name, role in roles.items():
        if name not in frame.columns:
            raise SchemaError(
                f"the {role} column {name!r} is not in the"
                f" table{did_you_mean(name, frame.columns) or '; it has ' + listed(frame.columns) + '.'}"
            )
        if frame[name].dtype.is_nested() and role not in ("sensitive", "drop"):
            raise SchemaError(
                f"column {name!r} is {frame[name].dtype.base_type()} and is declared {role}; only"
                " the sensitive attribute may be a set of values, so drop it or flatten it at the"
                " source."
            )
    if without := [name for name in frame.columns if name not in roles]:
        raise SchemaError(
            f"column(s) {listed(without)} have no role; add each to identifier, quasi, sensitive,"
            " keep or drop."
        )
