# SPDX-License-Identifier: Apache-2.0
"""Registered persons who have no row are encoded over the same domains as the rows, and nothing
else of the registry gets in.
"""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Bands, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PhalanxError, SchemaError, SourceError

KEY = PersonKey(bytes(range(32)))
SCHEMA = Schema(identifier="who", quasi=["x"], sensitive="ill")


def table(values: Any, dtype: Any = None) -> pl.DataFrame:
    x = pl.Series("x", values, dtype=dtype)
    return pl.DataFrame({"who": [f"p{i}" for i in range(len(x))], "x": x, "ill": ["flu"] * len(x)})


def listed(values: Any, dtype: Any = None, first: int = 100) -> pl.DataFrame:
    x = pl.Series("x", values, dtype=dtype)
    return pl.DataFrame({"who": [f"p{i + first}" for i in range(len(x))], "x": x})


def decoded(microdata: Microdata, name: str = "x") -> list[Any]:
    column = microdata.columns[name]
    return column.domain.values.gather(column.codes).to_list()


ROWS = pl.DataFrame(
    {"who": ["a", "b", "c"], "x": [3, 1, 2], "ill": ["flu", "gout", "flu"], "k": ["u", "v", "w"]}
)
REGISTRY = pl.DataFrame(
    {
        "secret": ["MARKER1"] * 4,
        "x": [9, 99, 0, 2],
        "who": ["d", "b", "e", "f"],
        "ill": ["MARKER2"] * 4,
    }
)


def test_who_is_in_it() -> None:
    """Whoever has a row is left out, with the values that the registry says of them; the others
    come once each, with their persons, in their order.
    """
    schema = Schema(identifier="who", quasi=["x"], sensitive="ill", keep=["k"])
    microdata = Microdata.encode(ROWS, schema, KEY, REGISTRY)
    beside = microdata.registry

    assert (decoded(microdata), decoded(beside)) == ([3, 1, 2], [9, 0, 2])
    assert beside.persons.to_list() == KEY.hash(pl.Series("who", ["d", "e", "f"])).to_list()
    assert microdata.columns["x"].domain.values.to_list() == [0, 1, 2, 3, 9]
    assert microdata.columns["x"].domain is beside.columns["x"].domain
    assert (microdata.rows, beside.rows, beside.registry) == (3, 3, None)


def test_the_rows_are_encoded_as_without() -> None:
    """But for the domains of the quasi-identifiers, the rows are what they are without a registry;
    and without one there is none.
    """
    schema = Schema(identifier="who", quasi=["x"], sensitive="ill", keep=["k"])
    alone, beside = (
        Microdata.encode(ROWS, schema, KEY),
        Microdata.encode(ROWS, schema, KEY, REGISTRY),
    )

    assert alone.registry is None
    assert decoded(alone, "ill") == decoded(beside, "ill") == ["flu", "gout", "flu"]
    assert alone.sensitive.domain.values.to_list() == beside.sensitive.domain.values.to_list()
    assert alone.kept.equals(beside.kept)
    assert alone.persons.to_list() == beside.persons.to_list()


def test_nothing_else_of_the_registry_gets_in() -> None:
    """No sensitive or other column of the registry, and no identifier, is anywhere in what encoding
    returns.
    """
    beside = Microdata.encode(ROWS.drop("k"), SCHEMA, KEY, REGISTRY).registry

    assert "MARKER" not in repr(Microdata.encode(ROWS.drop("k"), SCHEMA, KEY, REGISTRY))
    assert (
        list(beside.columns),
        beside.kept.shape,
        beside.schema.sensitive,
        beside.schema.columns,
    ) == (["x"], (0, 0), None, ("who", "x"))
    with pytest.raises(SchemaError, match="no sensitive attribute"):
        _ = beside.sensitive


def test_taking_rows_keeps_the_registry() -> None:
    """Whoever is left of the rows, the registered persons stay."""
    microdata = Microdata.encode(ROWS.drop("k"), SCHEMA, KEY, REGISTRY)
    assert microdata.take(np.array([2])).registry is microdata.registry


def test_everybody_or_nobody_is_registered() -> None:
    """A registry of those who have rows, and an empty one, hold nobody else."""
    for registry in (ROWS.select("who", "x"), REGISTRY.clear()):
        microdata = Microdata.encode(ROWS.drop("k"), SCHEMA, KEY, registry)
        assert (microdata.registry.rows, len(microdata.registry.persons), decoded(microdata)) == (
            0,
            0,
            [3, 1, 2],
        )


numbers = st.lists(
    st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9)),
    min_size=1,
    max_size=20,
)


@settings(max_examples=150, deadline=None)
@given(numbers, numbers)
def test_codes_give_the_values_of_both_back(
    own: list[int | None], beside: list[int | None]
) -> None:
    """Over one ordered domain, which holds what occurs in either and no more."""
    microdata = Microdata.encode(
        table(own, pl.Int64),
        Schema(identifier="who", quasi=["x"], sensitive="ill", missing="value"),
        KEY,
        listed(beside, pl.Int64),
    )
    values = microdata.columns["x"].domain.values.to_list()
    assert (decoded(microdata), decoded(microdata.registry)) == (own, beside)
    assert values == sorted(set(own) | set(beside), key=lambda v: (v is not None, v))


TREE = Tree.of_mapping({"west": ["b", "a"], "east": ["d"]})

KINDS: dict[str, tuple[pl.Series, pl.Series, dict[str, Any], list[Any]]] = {
    "small whole numbers": (pl.Series([1, 2], dtype=pl.Int8), pl.Series([300]), {}, [1, 2, 300]),
    "unsigned whole numbers": (pl.Series([1, 2], dtype=pl.UInt64), pl.Series([-1]), {}, [-1, 1, 2]),
    "floats that are whole": (pl.Series([1, 2]), pl.Series([2.0, None, 5.0]), {}, [None, 1, 2, 5]),
    "floats": (pl.Series([1, 2]), pl.Series([2.5]), {}, [1.0, 2.0, 2.5]),
    "whole numbers beside floats": (pl.Series([1.5]), pl.Series([2]), {}, [1.5, 2.0]),
    "numbers that came as text": (pl.Series([1, 2]), pl.Series(["7"]), {}, [1, 2, 7]),
    "text that is declared a number": (
        pl.Series(["10", "9"]),
        pl.Series([2]),
        {"types": {"x": "numeric"}},
        [2.0, 9.0, 10.0],
    ),
    "text beside numbers": (pl.Series(["b", "10"]), pl.Series([2]), {}, ["10", "2", "b"]),
    "categories": (
        pl.Series(["b"], dtype=pl.Categorical),
        pl.Series(["a"], dtype=pl.Enum(["c", "a"])),
        {},
        ["a", "b"],
    ),
    "dates": (
        pl.Series([dt.date(2026, 1, 2)]),
        pl.Series(["2026-01-01"]),
        {},
        [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
    ),
    "timestamps": (
        pl.Series([dt.date(2026, 1, 2)]),
        pl.Series([dt.datetime(2026, 1, 1, 3)]),  # noqa: DTZ001
        {},
        [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
    ),
    "a tree": (pl.Series(["a"]), pl.Series(["d"]), {"hierarchies": {"x": TREE}}, ["b", "a", "d"]),
    "bands": (pl.Series([12]), pl.Series([3]), {"hierarchies": {"x": Bands((5,))}}, [3, 12]),
    "missing in the table only": (pl.Series([None, 4]), pl.Series([3]), {}, [None, 3, 4]),
    "missing in the registry only": (
        pl.Series(["b"]),
        pl.Series([None, "a"]),
        {},
        [None, "a", "b"],
    ),
}


@pytest.mark.parametrize(("own", "beside", "said", "domain"), KINDS.values(), ids=KINDS.keys())
def test_what_is_of_another_type_in_the_registry(
    own: pl.Series, beside: pl.Series, said: dict[str, Any], domain: list[Any]
) -> None:
    """The microdata say of which kind an attribute is; the registry's values are read as that, and
    the numbers' type stays where it can.
    """
    schema = Schema(identifier="who", quasi=["x"], sensitive="ill", missing="value", **said)
    microdata = Microdata.encode(table(own), schema, KEY, listed(beside))
    found = microdata.columns["x"].domain.values
    assert found.to_list() == domain
    assert [type(v) for v in found] == [type(v) for v in domain]
    assert max(
        microdata.columns["x"].codes.max(), microdata.registry.columns["x"].codes.max()
    ) < len(domain)


def test_a_registry_does_not_make_an_identifier() -> None:
    """Whether a column looks like an identifier is asked of the rows, however many values the
    registry has; and it is asked.
    """
    many = listed(list(range(1000, 5000)))
    assert (
        Microdata.encode(table([i % 9 for i in range(60)]), SCHEMA, KEY, many).registry.rows == 4000
    )
    with pytest.raises(SchemaError, match="looks like an identifier"):
        Microdata.encode(table([7 * i for i in range(60)]), SCHEMA, KEY, many)


WRONG: dict[str, tuple[pl.DataFrame, type[PhalanxError], str]] = {
    "a person twice": (
        pl.concat([REGISTRY, REGISTRY[:1]]),
        SourceError,
        r"in the registry: 1 row\(s\) repeat a person in identifier column 'who'; keep one",
    ),
    "no identifier": (
        REGISTRY.drop("who"),
        SchemaError,
        "the identifier column 'who' is not in the registry; it has 'secret', 'x', 'ill'",
    ),
    "no quasi-identifier": (
        REGISTRY.rename({"x": "X"}),
        SchemaError,
        r"the quasi column 'x' is not in the registry",
    ),
    "a missing person": (
        REGISTRY.with_columns(who=pl.lit(None, dtype=pl.String)),
        SourceError,
        "in the registry: identifier column 'who' is missing in 4 of 4",
    ),
    "a missing value": (
        REGISTRY.with_columns(x=pl.lit(None, dtype=pl.Int64)),
        SourceError,
        "in the registry: column 'x' is missing in 3 of 3 rows",
    ),
    "text": (
        REGISTRY.with_columns(x=pl.lit("MARKER")),
        SchemaError,
        "in the registry: column 'x' is declared numeric and holds text that is not a number",
    ),
    "infinite": (
        REGISTRY.with_columns(x=pl.lit(float("inf"))),
        SourceError,
        "in the registry: column 'x' is infinite in some rows",
    ),
    "lists": (
        REGISTRY.with_columns(x=pl.Series([[1.5]] * 4)),
        SchemaError,
        "in the registry: column 'x' is List",
    ),
    "too large": (
        REGISTRY.with_columns(x=pl.lit(2**64 - 1, dtype=pl.UInt64)),
        SourceError,
        "in the registry: column 'x' holds whole numbers beyond 64 bits",
    ),
}


@pytest.mark.parametrize(("registry", "error", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_registry_is_one_sentence(
    registry: pl.DataFrame, error: type[PhalanxError], said: str
) -> None:
    """What is wrong is said of the registry, by column and never by value."""
    with pytest.raises(error, match=said) as refused:
        Microdata.encode(ROWS.drop("k"), SCHEMA, KEY, registry)
    assert "MARKER" not in str(refused.value)


def test_other_kinds_that_do_not_fit() -> None:
    """Numbers for dates, and leaves that the tree does not have."""
    with pytest.raises(
        SchemaError, match="in the registry: column 'x' is Int64 and holds dates in the table"
    ):
        Microdata.encode(table([dt.date(2026, 1, 2)]), SCHEMA, KEY, listed([20260102]))
    with pytest.raises(
        SchemaError, match=r"in the registry: column 'x' holds 1 distinct value.* does not name"
    ):
        Microdata.encode(
            table(["a"]),
            Schema(identifier="who", quasi=["x"], sensitive="ill", hierarchies={"x": TREE}),
            KEY,
            listed(["z"]),
        )


def test_a_registry_is_of_persons() -> None:
    """Without an identifier nobody could tell who of them has a row."""
    with pytest.raises(
        SchemaError, match="matched with the table by person and no identifier is declared"
    ):
        Microdata.encode(
            ROWS.select("x", "ill"), Schema(quasi=["x"], sensitive="ill"), KEY, REGISTRY
        )
