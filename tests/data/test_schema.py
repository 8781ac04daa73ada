# SPDX-License-Identifier: Apache-2.0
"""Every column has one role."""

import pytest

from phalanx.data.hierarchies.hierarchy import Prefix
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError


def test_each_column_has_its_role():
    """The role of a column is what the schema says, and None for a stranger."""
    schema = Schema(identifier="p", quasi=["a", "b"], sensitive="s", keep=["k"], drop=["d"])

    assert {c: schema.role(c) for c in "pabskdx"} == {
        "p": "identifier",
        "a": "quasi",
        "b": "quasi",
        "s": "sensitive",
        "k": "keep",
        "d": "drop",
        "x": None,
    }
    assert schema.columns == ("p", "a", "b", "s", "k", "d")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"quasi": []}, "no quasi-identifier"),
        ({"quasi": ["a", "a"]}, "'a' is declared quasi twice"),
        ({"quasi": ["a"], "sensitive": "a"}, "both quasi and sensitive"),
        ({"quasi": ["a"], "identifier": "b", "drop": ["b"]}, "both identifier and drop"),
        ({"quasi": ["age"], "types": {"agee": "numeric"}}, "did you mean 'age'"),
        ({"quasi": ["age"], "missing": {"x": "value"}}, "'missing' names the column 'x'"),
        (
            {"quasi": ["age"], "hierarchies": {"x": Prefix((1, 0))}},
            "'hierarchies' names the column 'x'",
        ),
        (
            {"quasi": ["a"], "types": {"a": "set"}},
            "'a' is declared quasi and a set; only the sensitive attribute",
        ),
        (
            {"quasi": ["a"], "keep": ["b"], "types": {"b": "set"}},
            "'b' is declared keep and a set; only the sensitive attribute",
        ),
        (
            {
                "quasi": ["a"],
                "sensitive": "s",
                "types": {"s": "set"},
                "hierarchies": {"s": Prefix((1, 0))},
            },
            "'s' is declared a set and has a hierarchy",
        ),
    ],
)
def test_refuses_contradictions(settings, said):
    """Two roles for a column, or a setting for a column without one, are refused by name."""
    with pytest.raises(SchemaError, match=said):
        Schema(**settings)


def test_may_be_missing():
    """One word holds for all columns; a table for those that it names, and all others refuse."""
    assert Schema(quasi=["a"], missing="value").may_be_missing == ("a",)
    assert Schema(quasi=["a", "b"], missing={"a": "value"}).may_be_missing == ("a",)


@pytest.mark.parametrize("listed", ["none", {"a": 1}, [True], [None], 3])
def test_values_that_are_not_applicable_are_a_list(listed):
    """Of texts and numbers."""
    with pytest.raises(SchemaError, match="'not_applicable' is"):
        Schema(quasi=["age"], sensitive="income", not_applicable=listed)


def test_values_that_are_not_applicable_are_of_a_sensitive_attribute():
    """There must be one."""
    with pytest.raises(SchemaError, match="'not_applicable' lists values"):
        Schema(quasi=["age"], not_applicable=["none"])
