# SPDX-License-Identifier: Apache-2.0
"""Encoding keeps every value, orders every domain, and follows the stated policy on missing
values.
"""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError, SourceError

KEY = PersonKey(bytes(range(32)))
STRANGE_NAMES = [
    'say "hi"',
    "two words",
    "🙂",
    "x; DROP TABLE t; --",
    "line\nbreak",
    "select",
    "a" * 80,
    "A",
    "a",
]


def encode_one(values: pl.Series, **settings: object) -> Microdata:
    return Microdata.encode(values.to_frame(), Schema(quasi=[values.name], **settings))


def decoded(microdata: Microdata, name: str) -> list[object]:
    column = microdata.columns[name]
    return column.domain.values.gather(column.codes).to_list()


def is_encoded_truly(microdata: Microdata, name: str, expected: list[object]) -> bool:
    """Codes decode to the values, the domain holds what occurs and no more, in order, a missing
    value first.
    """
    column = microdata.columns[name]
    values = column.domain.values.to_list()
    present = [v for v in values if v is not None]
    return (
        decoded(microdata, name) == expected
        and len(set(values)) == len(values)
        and set(values) == set(expected)
        and present == sorted(present)
        and None not in values[1:]
        and column.codes.dtype == np.int32
    )


texts = st.text(max_size=6).filter(lambda t: max(t, default="a") < "\ud800")
columns = st.one_of(
    st.lists(st.one_of(st.none(), texts), min_size=1, max_size=30).map(
        lambda v: pl.Series("x", v, dtype=pl.String)
    ),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=30).map(
        lambda v: pl.Series("x", v, dtype=pl.Int64)
    ),
    st.lists(st.integers(-5, 5), min_size=1, max_size=30).map(
        lambda v: pl.Series("x", v, dtype=pl.Int8)
    ),
    st.lists(st.one_of(st.none(), st.dates()), min_size=1, max_size=30).map(
        lambda v: pl.Series("x", v, dtype=pl.Date)
    ),
    st.lists(
        st.one_of(st.none(), st.floats(allow_infinity=False, allow_nan=False)),
        min_size=1,
        max_size=30,
    ).map(lambda v: pl.Series("x", v, dtype=pl.Float64)),
)


@settings(max_examples=200, deadline=None)
@given(columns)
def test_codes_give_the_values_back(values):
    """Decoding gives the original values, over an ordered domain without duplicates."""
    assert is_encoded_truly(encode_one(values, missing="value"), "x", values.to_list())


def test_a_wrong_encoding_is_noticed():
    """The check above rejects codes that are swapped, and a domain with a value that no row has."""
    good = encode_one(pl.Series("x", ["a", "b"]))
    swapped = good.take(np.array([1, 0]))

    assert is_encoded_truly(good, "x", ["a", "b"])
    assert not is_encoded_truly(swapped, "x", ["a", "b"])
    assert not is_encoded_truly(good, "x", ["a", "a"])


@given(columns, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values, random):
    """Rows in another order have the same domain, and the same codes in that other order."""
    order = list(range(len(values)))
    random.shuffle(order)
    one, other = (
        encode_one(v, missing="value").columns["x"] for v in (values, values.gather(order))
    )

    assert one.domain.values.to_list() == other.domain.values.to_list()
    assert one.codes[order].tolist() == other.codes.tolist()


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        (pl.Series("x", ["b", None, ""]), [None, "", "b"]),
        (pl.Series("x", [1.5, math.nan, None]), [None, 1.5]),
        (pl.Series("x", [-0.0, 0.0, 1.0]), [0.0, 1.0]),
        (pl.Series("x", [1.5, math.nan], dtype=pl.Float32), [None, 1.5]),
        (
            pl.Series("x", [dt.date(2026, 1, 2), None, dt.date(2026, 1, 1)]),
            [None, dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
        ),
        (
            pl.Series("x", [dt.datetime(2026, 1, 1, 23, 59), dt.datetime(2026, 1, 1, 0, 1)]),  # noqa: DTZ001
            [dt.date(2026, 1, 1)],
        ),
        (pl.Series("x", [True, None, False]), [None, "false", "true"]),
        (pl.Series("x", ["b", "a", None], dtype=pl.Categorical), [None, "a", "b"]),
        (pl.Series("x", ["b", "a"], dtype=pl.Enum(["b", "c", "a"])), ["a", "b"]),
        (pl.Series("x", [3, None, 1]), [None, 1, 3]),
        (pl.Series("x", [2**63 - 1, -(2**63), 0]), [-(2**63), 0, 2**63 - 1]),
        (pl.Series("x", [7, 5], dtype=pl.UInt64), [5, 7]),
        (pl.Series("x", [Decimal("2.50"), Decimal("-1.25")]), [-1.25, 2.5]),
        (pl.Series("x", [None, None], dtype=pl.String), [None]),
        (pl.Series("x", [None, None], dtype=pl.Int64), [None]),
        (pl.Series("x", [4]), [4]),
    ],
)
def test_what_each_kind_of_value_becomes(values, domain):
    """Null and NaN are missing, -0.0 is 0.0, '' is a value, a timestamp is its day, booleans and
    categories are text, a decimal is a number.
    """
    assert encode_one(values, missing="value").columns["x"].domain.values.to_list() == domain


@pytest.mark.parametrize(
    "values", [["a", None], [1, None], [1.0, math.nan], [dt.date(2026, 1, 1), None], [True, None]]
)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
def test_missing_values_are_refused_unless_allowed(values, role):
    """A missing value in any published role is refused by count, and accepted as a value where the
    schema says so.
    """
    frame = pl.DataFrame({"x": values, "q": [1, 2]}, strict=False)
    roles = {"quasi": ["q"]} | (
        {"quasi": ["q", "x"]} if role == "quasi" else {role: "x" if role == "sensitive" else ["x"]}
    )

    with pytest.raises(SourceError, match="'x' is missing in 1 of 2 rows"):
        Microdata.encode(frame, Schema(**roles))
    assert Microdata.encode(frame, Schema(**roles, missing={"x": "value"})).rows == 2


@pytest.mark.parametrize(
    ("values", "settings", "said"),
    [
        (pl.Series("x", [1.0, math.inf]), {}, "infinite in some rows"),
        (pl.Series("x", ["SECRET", "1"]), {"types": {"x": "numeric"}}, "text that is not a number"),
        (pl.Series("x", ["SECRET", "2026-01-01"]), {"types": {"x": "date"}}, "not dates like"),
        (
            pl.Series("x", [[1], [2]]),
            {},
            "is List and is declared quasi; only the sensitive attribute may be a set",
        ),
        (pl.Series("x", [{"a": 1}]), {}, "Struct"),
        (pl.Series("x", [b"a"]), {}, "Binary"),
        (pl.Series("x", [2**64 - 1, 1], dtype=pl.UInt64), {}, "beyond 64 bits"),
        (
            pl.Series("x", [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")]),
            {},
            "beyond the 15 digits",
        ),
        (pl.Series("x", ["a", "b"]), {"hierarchies": {"x": Bands((5,))}}, "bands of numbers"),
        (
            pl.Series("x", [dt.date(2026, 1, 2), dt.date(2026, 1, 3)]),
            {"hierarchies": {"x": Bands((5,))}},
            "intervals of dates need none",
        ),
        (
            pl.Series("x", [1, 2]),
            {"types": {"x": "numeric"}, "hierarchies": {"x": Prefix((1, 0))}},
            "hierarchy over text",
        ),
    ],
)
def test_what_cannot_be_encoded_is_one_sentence(values, settings, said):
    """What has no place in an ordered domain is refused by column, never by value."""
    with pytest.raises((SchemaError, SourceError), match=said) as refused:
        encode_one(values, **settings)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "order"), [("numeric", [2, 9, 10]), ("categorical", ["10", "2", "9"])]
)
def test_declared_types(kind, order):
    """Whole numbers declared categorical are ordered as text, text declared numeric as numbers."""
    values = pl.Series("x", [10, 9, 2])
    text = values.cast(pl.String)

    assert encode_one(values, types={"x": kind}).columns["x"].domain.values.to_list() == order
    assert encode_one(text, types={"x": kind}).columns["x"].domain.values.to_list() == order


def test_text_declared_date():
    """ISO text declared date is ordered as days."""
    values = (
        encode_one(pl.Series("x", ["2026-02-01", "2026-01-31"]), types={"x": "date"})
        .columns["x"]
        .domain
    )

    assert values.values.to_list() == [dt.date(2026, 1, 31), dt.date(2026, 2, 1)]
    assert np.diff(values.positions).tolist() == [1.0]


LAST_DAY = pl.Series("x", [253_402_300_799_000]).cast(pl.Datetime("ms", "UTC"))


@pytest.mark.parametrize(
    "values",
    [
        pl.Series("x", ["2026-02-01", "0000-01-31"]),
        pl.Series("x", ["2026-02-01", "+12026-01-31"]),
        pl.Series("x", [0, 3_000_000]),
        LAST_DAY.dt.convert_time_zone("Asia/Tokyo"),
    ],
    ids=["year 0", "year 12026", "number", "tomorrow in its zone"],
)
def test_what_becomes_a_date_is_of_the_years_1_to_9999(values):
    """Text, numbers and timestamps become days first, and a day that cannot be written is refused
    by the column's name.
    """
    assert encode_one(LAST_DAY).columns["x"].domain.values.to_list() == [dt.date.max]
    with pytest.raises(SourceError, match="column 'x' holds a date outside the years"):
        encode_one(values, types={"x": "date"})


def test_a_tree_orders_the_leaves():
    """The domain is all leaves of the tree, left to right, whether a row has them or not; numbers
    meet the tree as text.
    """
    tree = Tree.of_paths([["3", "odd", "*"], ["2", "even", "*"], ["1", "odd", "*"]])
    column = encode_one(pl.Series("x", [2, 1, 1]), hierarchies={"x": tree}).columns["x"]

    assert column.domain.type == "categorical"
    assert column.domain.values.to_list() == ["3", "1", "2"]
    assert column.codes.tolist() == [2, 1, 1]


def test_a_column_without_a_role_is_named():
    """Each column of the table needs a role, and each role a column of the table."""
    frame = pl.DataFrame({"age": [1], "notes": ["x"]})

    with pytest.raises(SchemaError, match="'notes' have no role"):
        Microdata.encode(frame, Schema(quasi=["age"]))
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        Microdata.encode(frame, Schema(quasi=["aeg"], drop=["notes"]))


def test_a_first_line_of_values_is_not_quoted():
    """Where no column is called as declared, the names may be somebody's values."""
    frame = pl.DataFrame({"41": [1], "hiv": ["x"]})
    with pytest.raises(SchemaError, match="none of the declared columns") as refused:
        Microdata.encode(frame, Schema(quasi=["age"], sensitive="ill"))
    assert "hiv" not in str(refused.value)


def test_an_empty_table_is_refused():
    """Without rows there is nothing to publish, to check or to attack."""
    with pytest.raises(SourceError, match=r"^the table has no rows; give one that has some\.$"):
        encode_one(pl.Series("x", [], dtype=pl.Int64))


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
@pytest.mark.parametrize(
    "values",
    [
        list(range(0, 5000, 50)),
        [f"n{i}" for i in range(100)],
        [float(i) for i in range(100)],
        [Decimal(i) for i in range(100)],
    ],
    ids=["whole", "texts", "stored with decimals", "decimals of a database"],
)
def test_an_undeclared_identifier_is_refused(role, values):
    """A near-unique column of text or whole numbers is refused in every published role."""
    frame = pl.DataFrame({"x": values, "q": [1, 2] * 50})
    roles = {"quasi": ["q"]} | (
        {"quasi": ["q", "x"]} if role == "quasi" else {role: "x" if role == "sensitive" else ["x"]}
    )

    way = "one, or drop it" if role == "keep" else "its type or hierarchy"
    with pytest.raises(SchemaError, match=f"'x' looks like an identifier.* {way}"):
        Microdata.encode(frame, Schema(**roles))


@pytest.mark.parametrize("role", ["quasi", "sensitive"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_declared_type_vouches_for_incomes(role, missing):
    """As the refusal says; and of a kept column nothing does."""
    values = [None if missing and i == 3 else 1000 + 7 * i for i in range(100)]
    frame = pl.DataFrame({"x": values, "q": [1, 2] * 50})
    roles = {"quasi": ["q", "x"]} if role == "quasi" else {"quasi": ["q"], role: "x"}
    asked = {"types": {"x": "numeric"}, "missing": "value"}
    assert Microdata.encode(frame, Schema(**roles, **asked)).rows == 100
    with pytest.raises(SchemaError, match="or drop it"):
        Microdata.encode(frame, Schema(quasi=["q"], keep=["x"], **asked))


def test_a_declared_type_vouches():
    """A near-unique quasi-identifier is believed once its type is declared, and measurements always
    are.
    """
    assert encode_one(pl.Series("x", range(100)), types={"x": "numeric"}).rows == 100
    assert encode_one(pl.Series("x", range(100)).cast(pl.Float64) / 3).rows == 100


def test_a_person_twice_is_refused():
    """A release holds one row per person; 5 and "5" would be one."""
    frame = pl.DataFrame({"p": [5, 6, 5], "q": [1, 2, 3]})

    with pytest.raises(SourceError, match=r"1 row\(s\) repeat a person"):
        Microdata.encode(frame, Schema(identifier="p", quasi=["q"]), KEY)


def test_identifiers_do_not_get_past_the_door():
    """No identifier, and no dropped value, is anywhere in what encoding returns."""
    frame = pl.DataFrame(
        {"p": ["MARKER1", "MARKER2"], "q": [1, 2], "notes": ["MARKER3", "MARKER4"]}
    )
    microdata = Microdata.encode(frame, Schema(identifier="p", quasi=["q"], drop=["notes"]), KEY)

    assert "MARKER" not in repr(microdata)
    assert microdata.kept.columns == []
    assert b"MARKER" not in b"".join(microdata.persons)


def test_taking_rows():
    """Taken rows stand in the given order, over the same domains, with their persons and kept
    values.
    """
    frame = pl.DataFrame({"p": [1, 2, 3], "q": [10, 20, 30], "k": ["x", "y", "z"]})
    microdata = Microdata.encode(frame, Schema(identifier="p", quasi=["q"], keep=["k"]), KEY)
    taken = microdata.take(np.array([2, 0]))

    assert decoded(taken, "q") == [30, 10]
    assert taken.kept["k"].to_list() == ["z", "x"]
    assert taken.persons.to_list() == [microdata.persons[2], microdata.persons[0]]
    assert len(taken.columns["q"].domain) == 3


def test_strange_names_many_columns_many_values():
    """Column names with quotes, emoji or SQL, sixty attributes and ten thousand sensitive values
    simply work.
    """
    rows = 20_000
    names = STRANGE_NAMES + [f"attribute {i}" for i in range(51)]
    frame = pl.DataFrame(
        {name: np.arange(rows) * (i + 1) % 97 for i, name in enumerate(names)}
        | {"s": [f"value {i % 10_000}" for i in range(rows)]}
    )
    microdata = Microdata.encode(frame, Schema(quasi=names, sensitive="s"))

    assert len(microdata.sensitive.domain) == 10_000
    assert decoded(microdata, "s") == frame["s"].to_list()
    assert all(decoded(microdata, name) == frame[name].to_list() for name in names)


SETS = Schema(quasi=["age"], sensitive="r", missing={"r": "value"}, types={"r": "set"})


def of_sets(values: pl.Series, schema: Schema = SETS) -> Microdata:
    return Microdata.encode(
        pl.DataFrame({"age": [20 + i % 9 for i in range(len(values))], "r": values}), schema
    )


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([["b", "a"], [], None, ["a", "b", "a"], ["b"]]),
        pl.Series(["b;a", "", None, " a ; b", "b"]),
        pl.Series([["b", "a"], [], None, ["a", "b", "a"], ["b"]], dtype=pl.List(pl.Categorical)),
    ],
)
def test_a_set_is_a_value_of_its_domain(values):
    """Lists and texts of one meaning have one code; the empty set is a value, the missing one
    another and the first; places are in the order of the texts.
    """
    microdata = of_sets(values)
    domain = microdata.sensitive.domain

    assert decoded(microdata, "r") == ["a; b", "", None, "a; b", "b"]
    assert (domain.type, domain.values.to_list()) == ("set", [None, "", "a; b", "b"])
    assert domain.positions.tolist() == [-1, 0, 1, 2]
    assert is_encoded_truly(microdata, "r", ["a; b", "", None, "a; b", "b"])


def test_lists_are_sets_without_being_declared():
    """The type of a column of lists is known from the column."""
    undeclared = Schema(quasi=["age"], sensitive="r", missing="value")

    assert of_sets(pl.Series([["b", "a"], ["x"]]), undeclared).sensitive.domain.type == "set"
    assert of_sets(pl.Series(["b; a", "x"]), undeclared).sensitive.domain.type == "categorical"


def test_a_missing_set_follows_the_schema():
    """A missing set is refused unless it counts as a value; an empty one is never missing."""
    strict = Schema(quasi=["age"], sensitive="r", types={"r": "set"})

    assert of_sets(pl.Series([[], ["a"]]), strict).rows == 2
    with pytest.raises(SourceError, match="'r' is missing in 1 of 2 rows"):
        of_sets(pl.Series([None, ["a"]]), strict)


def test_different_sets_are_no_identifier():
    """A hundred persons with a hundred sets are not refused; a hundred texts declared nothing
    are.
    """
    texts = pl.Series([f"a{i};b" for i in range(100)])

    assert of_sets(texts).rows == 100
    with pytest.raises(SchemaError, match="looks like an identifier"):
        of_sets(texts, Schema(quasi=["age"], sensitive="r"))


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"quasi": ["age", "r"]}, "declared quasi; only the sensitive"),
        ({"quasi": ["age"], "keep": ["r"]}, "declared keep; only the sensitive"),
        ({"quasi": ["age"], "identifier": "r"}, "declared identifier; only the sensitive"),
        (
            {"quasi": ["age"], "sensitive": "r", "types": {"r": "categorical"}},
            "holds lists, which are sets of values; declare it a set",
        ),
        (
            {"quasi": ["age"], "sensitive": "r", "hierarchies": {"r": Prefix((1, 0))}},
            "holds lists, which are sets of values; declare it a set without a hierarchy",
        ),
    ],
)
def test_lists_are_sets_and_sensitive_or_nothing(roles, said):
    """No other role, type or hierarchy; dropped they may be."""
    lists = pl.Series([["SECRET"], []])
    with pytest.raises(SchemaError, match=said) as refused:
        of_sets(lists, Schema(**roles))
    assert "SECRET" not in str(refused.value)
    assert of_sets(lists, Schema(quasi=["age"], drop=["r"])).rows == 2


def test_a_promise_about_one_value_is_refused_for_sets():
    """The sentence names the column, what is asked, and what to use; single values pass."""
    with pytest.raises(
        SchemaError,
        match=(
            "'r' holds sets of values, and m-invariance is about one value for each person; use"
            " global-guarantee"
        ),
    ):
        of_sets(pl.Series([["a"], []])).check_single_valued("m-invariance")
    of_sets(pl.Series(["a", "b"]), Schema(quasi=["age"], sensitive="r")).check_single_valued(
        "m-invariance"
    )


@pytest.mark.parametrize(
    "paths",
    [
        {"North": ["A", "B"]},
        [("A", "N"), ("B", "N")],
        (("A", "N"), ("B", "N")),
        (("A", "*"), ("B", "N", "*")),
        (),
    ],
    ids=str,
)
def test_a_tree_is_made_of_checked_paths(paths):
    """By hand it is refused, and said how it is made."""
    with pytest.raises(SchemaError, match=r"make it by Tree\.of_paths"):
        Tree(paths)


def test_a_kept_column_has_the_type_that_is_declared() -> None:
    """A moment is its day; without a declaration it stays as it is."""
    moments = pl.Series("k", ["2020-01-01 08:00:00", "2020-01-02 00:00:00"]).str.to_datetime()
    frame = pl.DataFrame({"q": [1, 2], "k": moments})
    asked = {"quasi": ["q"], "keep": ["k"]}
    declared = Microdata.encode(frame, Schema(**asked, types={"k": "date"}))
    assert declared.kept["k"].to_list() == [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    assert Microdata.encode(frame, Schema(**asked)).kept["k"].equals(moments)


def test_single_precision_is_read_as_it_is_written() -> None:
    """0.3 is 0.3, in whichever precision it stands."""
    frame = pl.DataFrame({"x": [0.3, 0.1, 1e30]}, schema={"x": pl.Float32})
    domain = Microdata.encode(frame, Schema(quasi=["x"])).columns["x"].domain
    assert domain.values.to_list() == [0.1, 0.3, 1e30]
