# SPDX-License-Identifier: Apache-2.0
"""What mutual cover refuses: parameters that no table meets, tables that cannot give what is asked,
each in a sentence that says what to do.
"""

import pytest

from phalanx.errors import MethodError, PlanError, SchemaError
from phalanx.methods.base import make
from phalanx.methods.mutual_cover import method as mutual_cover
from phalanx.methods.mutual_cover.method import MutualCover
from support.drafts import encoded, publish, simple

ALIKE = {
    "all rows are equal": ([(1, 1, "flu")] * 8, {"delta": "1/4"}),
    "one attribute varies and two must change": (
        [(i, 1, "flu") for i in range(8)],
        {"delta": "1/4", "changes": 2},
    ),
    "one row is another": ([(1, 1, "flu")] * 7 + [(2, 1, "flu")], {"delta": "1/4"}),
}


@pytest.mark.parametrize(("rows", "parameters"), ALIKE.values(), ids=ALIKE)
def test_a_table_in_which_not_all_can_change_is_refused(rows, parameters):
    """Where not even all rows as one group can all change, that is said, and what to do."""
    sentence = (
        r"^not even all rows together can all change: [^.;]+; ask for fewer changes or least-cost"
        r" outputs, raise delta, or add quasi-identifiers\.$"
    )
    with pytest.raises(MethodError, match=sentence):
        publish(simple(rows), **parameters)


def test_too_few_rows_are_refused_before_any_work(monkeypatch):
    """A delta below 1/n is kept by no table; it is refused before distances, groups or tables are
    made.
    """
    for work in ("partition", "distance_of", "Maker"):
        monkeypatch.setattr(mutual_cover, work, None)
    with pytest.raises(
        MethodError,
        match=(
            r"^delta = 1/201 asks for at least 201 rows and the table has 200; raise delta, or"
            r" publish when there are more rows\.$"
        ),
    ):
        publish(encoded(), delta="1/201")
    with pytest.raises(MethodError, match="asks for at least 4 rows and the table has 3"):
        publish(simple([(1, 2, "flu"), (2, 2, "flu"), (3, 1, "flu")]), delta=0.3)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"delta": 0}, r"delta = 0 is met by no table"),
        ({"delta": -1}, r"\[method\] delta must be at least 0 and at most 1"),
        ({"delta": "3/2"}, r"\[method\] delta must be at least 0 and at most 1"),
        ({"delta": "a sixth"}, r"\[method\] delta must be a number"),
        ({"delta": None}, r"\[method\] delta must be a number"),
        ({"delta": float("nan")}, r"\[method\] delta must be a number"),
        ({"k": 0}, r"\[method\] k must be a whole number of at least 1"),
        ({"k": 2.5}, r"\[method\] k must be a whole number"),
        ({"changes": 0}, r"\[method\] changes must be a whole number of at least 1"),
        ({"changes": True}, r"\[method\] changes must be a whole number"),
        ({"grouping": "random"}, r"grouping = 'random' is not known; use cost or mondrian\.$"),
        ({"grouping": 3}, r"grouping = 3 is not known"),
        (
            {"keep_tables": "yes"},
            r"keep_tables = 'yes' is neither true nor false; write one of them\.$",
        ),
        ({"distances": "l1"}, r"distances = 'l1' is no table"),
        ({"distances": {"age": "l2"}}, r"distances of 'age' is 'l2'"),
        ({"bounds": 3}, r"bounds = 3 is no table"),
        ({"bounds": {"informt": 0.1}}, r"did you mean 'informed'\?$"),
        ({"bounds": {"omniscient": 2}}, r"bounds of 'omniscient' must be at least 0 and at most 1"),
    ],
)
def test_parameters_that_cannot_be(parameters, sentence):
    """Each wrong parameter is refused before any table is looked at, in a sentence that names
    it.
    """
    with pytest.raises(PlanError, match=sentence):
        MutualCover(**({"delta": "1/4"} | parameters))


@pytest.mark.parametrize(
    ("parameters", "roles", "error", "sentence"),
    [
        (
            {"changes": 5},
            {},
            PlanError,
            r"^\[method\] changes = 5 and there are 4 quasi-identifiers; lower it\.$",
        ),
        (
            {"distances": {"agee": "l1"}},
            {},
            PlanError,
            (
                r"^\[method\] distances names 'agee', which is no quasi-identifier; did you mean"
                r" 'age'\?$"
            ),
        ),
        (
            {"distances": {"illness": "equal"}},
            {},
            PlanError,
            r"distances names 'illness', which is no quasi-identifier; remove it\.$",
        ),
        (
            {"distances": {"sex": "l1"}},
            {},
            PlanError,
            r"asks for l1 on 'sex', which is categorical",
        ),
        (
            {"distances": {"sex": "hierarchy"}},
            {},
            PlanError,
            r"the hierarchy of 'sex', which has none",
        ),
        (
            {"distances": {"job": {"judge": {"clerk": 1}}}},
            {},
            PlanError,
            r"of 'job' is a matrix without a distance of 0 or more for some two of its \d values",
        ),
        ({"k": 201}, {}, MethodError, r"the table has 200 row\(s\) and a group needs k = 201"),
        (
            {},
            {"quasi": ["age", "sex", "since"], "keep": ["job"], "hierarchies": {}},
            SchemaError,
            r"^column 'job' is kept, .*; make it quasi, or drop it\.$",
        ),
    ],
)
def test_what_a_table_cannot_give(parameters, roles, error, sentence):
    """What the schema or the rows have not is refused in a sentence that says what and where; no
    value of anybody is in it.
    """
    with pytest.raises(error, match=sentence):
        publish(encoded(**roles), **({"delta": "1/4"} | parameters))


@pytest.mark.parametrize(("name", "value"), [("l", 2), ("diversity", "distinct"), ("c", 1)])
def test_diversity_is_no_option(name, value):
    """A plan that asks for it is told why it is not there, and what to use instead; another
    method's key is unknown as ever.
    """
    with pytest.raises(
        PlanError,
        match=(
            rf"^\[method\] {name} is no option of mutual-cover, .* protect it by anatomy or"
            r" m-invariance, and leave this key out\.$"
        ),
    ):
        make("mutual-cover", {"delta": "1/4", name: value})
    with pytest.raises(PlanError, match="unknown key 'm'"):
        make("mutual-cover", {"delta": "1/4", "m": 2})


@pytest.mark.parametrize("way", ["paper", "coupled"])
def test_the_papers_way_is_no_option(way):
    """A plan that asks how rows are kept from coming out unchanged is told, in one sentence, that
    the tables see to it.
    """
    sentence = (
        r"^\[method\] unchanged is no option of mutual-cover, since the random output tables"
        r" themselves change every row; leave this key out\.$"
    )
    with pytest.raises(PlanError, match=sentence):
        make("mutual-cover", {"delta": "1/4", "unchanged": way})
