# SPDX-License-Identifier: Apache-2.0
"""Whatever somebody puts in the place of a parameter in Python is taken, or refused in one sentence
of ours.
"""

import dataclasses
import json
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import phalanx as px
from phalanx import adversaries
from phalanx.adversaries.base import Attack
from phalanx.errors import (
    LedgerError,
    PhalanxError,
    PlanError,
    ReleaseError,
    SchemaError,
    SourceError,
)
from phalanx.exact import bounded, whole
from phalanx.methods.base import registered

WRONG: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1.5,
        10**30,
        -(10**30),
        10**4000,
        -(10**4000),
        float("nan"),
        float("inf"),
    ),
    *(
        "x",
        "",
        "9" * 4000,
        "9" * 5000,
        "-" + "9" * 4000,
        b"x",
        object(),
        len,
        (),
        [],
        [1],
        ["x"],
        [[]],
        [None],
        [["x"], ["x"]],
        [{}],
        range(3),
        {1, 2},
    ),
    *({}, {"x": 1}, {1: 2}, {"x": None}, {"x": []}, {None: None}),
)
AGE = {"low": 0, "high": 10, "width": 5}
MADE: dict[Any, dict[str, Any]] = {
    px.Anatomy: {"l": 2},
    px.GlobalGuarantee: {"l": 2},
    px.MInvariance: {"m": 2},
    px.Mondrian: {"k": 3},
    px.MutualCover: {"delta": 0.5},
    px.SafeSampling: {"epsilon": 1, "delta": 1e-6, "scheme": {"a": AGE}},
    px.Schema: {"quasi": ["a"], "sensitive": "s"},
    px.Slicing: {"l": 2},
    **{getattr(adversaries, name): {} for name in adversaries.__all__},
}


def parameters() -> Iterator[tuple[Any, str]]:
    """Every parameter of every method, of the schema and of every adversary but ``Composition``,
    whose parameters are looked at when it attacks.
    """
    for cls in MADE:
        if (
            dataclasses.is_dataclass(cls)
            and not issubclass(cls, Attack)
            and cls is not px.Composition
        ):
            yield from ((cls, field.name) for field in dataclasses.fields(cls))


@pytest.mark.parametrize(
    ("cls", "parameter"), list(parameters()), ids=lambda part: getattr(part, "__name__", part)
)
def test_a_wrong_parameter_is_a_sentence(cls: Any, parameter: str) -> None:
    """Nothing but an error of ours comes out, of at most two sentences; and what is taken can be
    shown, as the manifest shows it.
    """
    for wrong in WRONG:
        try:
            made = cls(**MADE[cls] | {parameter: wrong})
            shown = [
                getattr(made, what, None)
                for what in ("guarantees", "holds_if_method_known", "may_suppress")
            ]
            assert shown and (not hasattr(made, "parameters") or made.parameters())
        except PhalanxError as refused:
            said = str(refused)
            assert said.endswith(".") and said.count(". ") <= 1 and len(said) < 1000, said


def test_there_are_parameters_to_try() -> None:
    """The list is not empty, and every method stands in it."""
    assert len(list(parameters())) > 50
    assert {cls.name for cls, _ in parameters() if hasattr(cls, "needs_persons")} == set(
        registered()
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"quasi": {"age": 1}}, "'quasi' is {'age': 1} and must be a list of column names"),
        ({"quasi": [1]}, "must be a list of column names"),
        ({"quasi": ["age"], "sensitive": ["ill"]}, "must be the name of one column"),
        ({"quasi": ["age"], "identifier": ""}, "must be the name of one column"),
        (
            {"quasi": ["age"], "types": {"age": "number"}},
            "it must be one of numeric, categorical, date, set",
        ),
        ({"quasi": ["age"], "types": ["age"]}, "must be a table by column"),
        (
            {"quasi": ["age"], "hierarchies": {"age": [10, 20]}},
            "it must be one of Bands, Prefix, Tree and ByFrequency",
        ),
        (
            {"quasi": ["age"], "missing": "values"},
            "must be a table by column or one of refuse, value",
        ),
        ({"quasi": ["age"], "missing": {"age": "values"}}, "it must be one of refuse, value"),
    ],
)
def test_a_schema_says_what_it_takes(given: dict[str, Any], said: str) -> None:
    """The likely slips have a sentence that says what to write."""
    with pytest.raises(SchemaError) as refused:
        px.Schema(**given)
    assert said in str(refused.value)


@pytest.mark.parametrize("wrong", [None, 3, [None], [3], {"a": 1}, object()])
def test_verify_takes_releases(wrong: Any) -> None:
    """Something else in the place of releases is refused."""
    with pytest.raises(ReleaseError, match="what is given is no release"):
        px.verify(wrong)


def test_verify_takes_one_path(tmp_path: Any) -> None:
    """A path by itself is one release, not a list of letters."""
    with pytest.raises(ReleaseError, match="is not a release folder"):
        px.verify(str(tmp_path))


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in adversaries.__all__
        if dataclasses.is_dataclass(getattr(adversaries, name)) and name != "Attack"
    ),
)
@pytest.mark.parametrize("wrong", [None, 3, "x", [None], ["x"]], ids=repr)
def test_an_adversary_takes_releases(name: str, wrong: Any) -> None:
    """Every adversary refuses None, a path and anything else in the place of releases, and of what
    is laid beside them.
    """
    cls = getattr(adversaries, name)
    adversary = cls(beside=wrong, known=wrong) if cls is px.Composition else cls()
    with pytest.raises(PhalanxError, match=r"\.$"):
        adversary.attack(wrong, None)
    with pytest.raises(PhalanxError, match=r"\.$"):
        adversary.attack([], wrong if wrong is not None else 3)


@pytest.fixture(scope="module")
def release() -> Any:
    """Twenty persons, in memory."""
    table = pl.DataFrame({"a": list(range(20)), "s": [str(i % 5) for i in range(20)]})
    return px.publish(table, px.Schema(quasi=["a"], sensitive="s"), px.Anatomy(l=2))


@pytest.mark.parametrize("wrong", [None, 3, b"x", ["x"], {}, len], ids=repr)
def test_a_path_is_a_path(release: Any, wrong: Any, tmp_path: Any) -> None:
    """What reads or writes files refuses, in one sentence, what is no path."""
    plan = px.Plan.parse(PLAN, tmp_path / "plan.toml")
    doors = [px.Release.read, px.Plan.read, release.save, release.report, px.explore]
    doors += [] if wrong is None else [lambda given: px.explore(plan, folder=given)]
    for door in doors:
        with pytest.raises(
            PhalanxError, match=r"^[^.]* is (of the type|the class) .*; give its path"
        ):
            door(wrong)


PLAN = """
series.name = "j"
source.path = "t.parquet"
schema = { quasi = ["a"], sensitive = "s" }
method = { name = "anatomy", l = 2 }
publish.to = "out"
"""


def test_what_is_swapped_is_not_shown(tmp_path: Any) -> None:
    """A schema in the place of the name, and what is no ledger, are said in one short sentence."""
    schema, method = px.Schema(quasi=["a"], sensitive="s"), px.Anatomy(l=2)
    with pytest.raises(SchemaError, match=r"^the series name is of the type Schema; give a text"):
        px.Series(schema, "x", method, to=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=r"^the ledger is of the type int; give its url"):
        px.Series("x", schema, method, to=tmp_path, ledger=3)  # type: ignore[arg-type]


TABLE = pl.DataFrame({"a": [1, 2] * 2, "s": ["x", "y"] * 2})
SCHEMA = px.Schema(quasi=["a"], sensitive="s")
DOORS: dict[str, Any] = {
    "publish, formats": lambda *_: px.publish(TABLE, SCHEMA, px.Mondrian(k=2), formats=None),  # type: ignore[arg-type]
    "publish, progress": lambda *_: px.publish(TABLE, SCHEMA, px.Mondrian(k=2), progress=True),  # type: ignore[arg-type]
    "series, progress": lambda _, to: series(to=to).publish(TABLE, progress=True),  # type: ignore[arg-type]
    "check, progress": lambda _, to: series(to=to).check(TABLE, progress=True),  # type: ignore[arg-type]
    "plan, progress": lambda _, to: px.Plan.parse(PLAN, to / "p").publish(progress=True),  # type: ignore[arg-type]
    "plan, check, progress": lambda _, to: px.Plan.parse(PLAN, to / "p").check(progress=True),  # type: ignore[arg-type]
    "explore, progress": lambda _, to: px.explore(px.Plan.parse(PLAN, to / "p"), progress=True),  # type: ignore[arg-type]
    "measure, seed": lambda release, _: release.measure(TABLE, seed=2.5),
    "report, part of a person": lambda release, to: release.report(
        to / "a", population=Fraction(9)
    ),
    "verify, long": lambda *_: px.verify("x" * 300),
    "source, drop": lambda *_: px.read_source(TABLE, drop=5),  # type: ignore[arg-type]
    "draw, never": lambda release, _: release.draw(1, never=5),
    "draw, one of never": lambda release, _: release.draw(1, never=[5]),
    "draw, seed": lambda release, _: release.draw(1, seed="1"),
    "report, population": lambda release, to: release.report(to / "a.html", population="9"),
    "save, long": lambda release, to: release.save(to / ("x" * 300)),
    "save, NUL": lambda release, to: release.save(f"{to}/a\0b"),
    "read, long": lambda *_: px.Release.read("x/" * 3000),
    "plan, NUL": lambda *_: px.Plan.read("a\0b"),
    "source, long": lambda *_: px.read_source("x" * 300 + ".csv"),
    "source, query": lambda *_: px.read_source("sqlite:///t.db", query=5),  # type: ignore[arg-type]
    "verify, identifier": lambda release, _: px.verify(
        release,
        originals=[TABLE],
        identifier=["a"],  # type: ignore[arg-type]
    ),
    "verify, cluster": lambda release, _: px.verify(release, originals=[TABLE], cluster=5),  # type: ignore[arg-type]
    "verify, progress": lambda release, _: px.verify(release, progress=True),  # type: ignore[arg-type]
    "verify, ledger": lambda release, _: px.verify(release, ledger=5),  # type: ignore[arg-type]
    "ledger": lambda *_: px.Ledger.open(None),  # type: ignore[arg-type]
    "ledger, is there": lambda *_: px.Ledger.exists(None),  # type: ignore[arg-type]
    "ledger, series": lambda _, to: ledger(to).releases(3),  # type: ignore[arg-type]
    "ledger, person key": lambda _, to: ledger(to).person_key(None),  # type: ignore[arg-type]
    "ledger, backup": lambda _, to: ledger(to).backup(5),  # type: ignore[arg-type]
    "ledger, export": lambda _, to: ledger(to).export_series("s", None),  # type: ignore[arg-type]
    "ledger, import": lambda _, to: ledger(to).import_series(None),  # type: ignore[arg-type]
    "ledger, key": lambda _, to: ledger(to).import_series("s", key=5),  # type: ignore[arg-type]
    "ledger, folder": lambda _, to: ledger(to).import_series("s", folder=5),  # type: ignore[arg-type]
    "ledger, folder, NUL": lambda _, to: ledger(to).import_series("s", folder="a\0b"),
    "plan, bytes": lambda _, to: px.Plan.parse(b"x", to),  # type: ignore[arg-type]
    "plan, place": lambda *_: px.Plan.parse(PLAN, None),  # type: ignore[arg-type]
    "together": lambda *_: px.together(None, 3),  # type: ignore[arg-type]
    "reconcile": lambda *_: px.reconcile("s", 5, ledger="sqlite:///t.db"),  # type: ignore[arg-type]
    "pool, numbers": lambda *_: px.pool([1, None], [1, 1]),  # type: ignore[list-item]
    "pool, far": lambda *_: px.pool([1e200, -1e200], [1, 1]),
    "pool, lists": lambda *_: px.pool(1, 2),  # type: ignore[arg-type]
    "pool, level": lambda *_: px.pool([1, 2], [1, 1], level="x"),  # type: ignore[arg-type]
    "tree": lambda *_: px.Tree.of_paths(5),  # type: ignore[arg-type]
    "tree, numbers": lambda *_: px.Tree.of_paths([[1, "*"]]),  # type: ignore[list-item]
    "tree, table": lambda *_: px.Tree.of_paths(pl.DataFrame({"a": ["x"]})),  # type: ignore[arg-type]
    "tree, text": lambda *_: px.Tree.of_paths(["ab"]),
    "series, folder": lambda _, to: series(to=f"{to}/a\0b"),
    "series, name with NUL": lambda _, to: series("a\0b", to=to),
    "series, long name": lambda _, to: series("x" * 300, to=to),
    "estimate, suppressed": lambda _, to: published(to).estimate("count(*)", suppressed=1),  # type: ignore[arg-type]
}


def ledger(to: Any) -> px.Ledger:
    """A new ledger."""
    return px.Ledger.open(f"sqlite:///{to}/l.db")


def series(name: str = "s", *, to: Any) -> px.Series:
    """A series that was not published yet."""
    return px.Series(name, px.Schema(quasi=["a"], sensitive="s"), px.Anatomy(l=2), to=to)


def published(to: Any) -> px.Series:
    """A series with a release."""
    made = series(to=to / "out")
    made.publish(pl.DataFrame({"a": [1, 2], "s": ["x", "y"]}))
    return made


@pytest.mark.parametrize("door", DOORS)
def test_what_is_of_the_wrong_kind_is_a_sentence(release: Any, door: str, tmp_path: Any) -> None:
    """Other arguments of public functions than their tables, too, are refused in a sentence of
    ours that says what is meant.
    """
    with pytest.raises(PhalanxError, match=r"(; (give|write|use|shorten)| must be) .*\.$"):
        DOORS[door](release, tmp_path)


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.LazyFrame, pd.DataFrame])
def test_a_plan_takes_a_table(kind: Any, tmp_path: Any) -> None:
    """A frame in the place of the plan's file is published, and comes out as it came in; nothing in
    its place is no file either.
    """
    table = pl.DataFrame({"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]})
    given = {pl.DataFrame: table, pl.LazyFrame: table.lazy(), pd.DataFrame: table.to_pandas()}[kind]
    plan = px.Plan.parse(PLAN, tmp_path / "plan.toml")
    assert plan.check(source=given).rows == 4
    assert isinstance(plan.publish(source=given).table, kind)
    with pytest.raises(SourceError, match=r"the source '\.' is a folder"):
        plan.publish(source="")


def test_what_was_found_can_be_compared(release: Any) -> None:
    """Verdicts and attacks are equal where their figures are; a table in them made comparing them
    an error.
    """
    table = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2], "s": ["x", "x", "y", "x", "x", "z"]})
    assert release.verify() == release.verify()
    assert release.attack(px.Posterior()) == release.attack(px.Posterior())
    k = [px.verify_table(table, quasi=["a"], sensitive="s", k=k) for k in (2, 2, 5)]
    assert k[0] == k[1] != k[2]


def test_a_hierarchy_keeps_plain_numbers(tmp_path: Any) -> None:
    """Numbers of NumPy and fractions are kept as a manifest writes them."""
    bands = px.Bands([np.int64(10), Fraction(20)])
    table = pl.DataFrame({"a": list(range(20)), "s": [str(i % 5) for i in range(20)]})
    schema = px.Schema(quasi=["a"], sensitive="s", hierarchies={"a": bands})
    assert bands == px.Bands([10, 20]) and px.Prefix([np.int8(5), 0]) == px.Prefix([5, 0])
    assert px.publish(table, schema, px.Mondrian(k=2)).save(tmp_path / "r").verify().holds


@pytest.mark.parametrize("cls", [px.Prefix, px.Bands])
@pytest.mark.parametrize("wrong", [(5, 4, 0), (None,), (3,), ("x",), (["x"],), ({5, 0},), (len,)])
def test_a_hierarchy_takes_one_list_of_numbers(cls: Any, wrong: Any) -> None:
    """Numbers one by one, and what is no list of numbers, are refused with an example."""
    with pytest.raises(SchemaError, match=r"one list of numbers; write them as in \w+\(\("):
        cls(*wrong)
    assert px.Prefix([5, 0]) == px.Prefix((5, 0))


@pytest.mark.parametrize("refusing", [bounded, whole])
def test_a_number_of_thousands_of_digits_is_not_repeated(refusing: Any) -> None:
    """Its refusal stays a sentence, also where Python itself writes no such number."""
    for wrong in (-(10**4000), -(10**5000), "9" * 5000):
        with pytest.raises(PlanError, match=r"\.$") as refused:
            refusing(wrong, "l", 1)
        assert len(str(refused.value)) < 120


def plainly(given):
    """The same of Python's numbers."""
    if isinstance(given, dict):
        return {name: plainly(part) for name, part in given.items()}
    if isinstance(given, list):
        return [plainly(part) for part in given]
    return given if isinstance(given, str) else given.item()


@pytest.mark.parametrize(
    ("made", "given"),
    [
        (px.Mondrian, {"k": np.int64(5)}),
        (px.Mondrian, {"k": np.int32(5), "l": np.int64(2), "t": np.float64(0.25)}),
        (px.MInvariance, {"m": np.uint8(3)}),
        (px.GlobalGuarantee, {"l": np.int64(2), "k": np.int64(4), "alpha": np.float64(3)}),
        (px.MutualCover, {"delta": "1/6", "k": np.int64(9)}),
        (px.Slicing, {"l": np.int64(2)}),
        (px.Anatomy, {"l": np.float32(2.5)}),
        (
            px.Mondrian,
            {"k": np.int64(5), "min_width": {"age": np.int64(2), "pay": np.float32(0.5)}},
        ),
        (px.Mondrian, {"k": np.int64(5), "keep_cuts": np.True_}),
        (
            px.SafeSampling,
            {
                "epsilon": np.float64(1),
                "k": np.int64(20),
                "scheme": {
                    "age": {"low": np.int8(0), "high": np.int8(100), "widths": [np.int64(5)]}
                },
                "budget": {"epsilon": np.int64(3), "delta": np.float64(0.1)},
            },
        ),
        (
            px.SafeSampling,
            {"epsilon": np.float64(1), "k": np.int64(20), "scheme": {"a": np.int64(1)}},
        ),
    ],
)
def test_numbers_of_numpy_are_numbers(made, given):
    """As of ``for k in np.arange(5, 20, 5)``, also in a table or a list: what is made equals what
    Python's numbers make, and a manifest can hold it; a truth value of NumPy is no number.
    """
    plain = plainly(given)
    assert made(**given) == made(**plain)
    assert json.dumps(made(**given).parameters()) == json.dumps(made(**plain).parameters())
    with pytest.raises(PlanError):
        made(**{**given, next(iter(given)): np.True_})


def test_numbers_of_numpy_are_numbers_everywhere():
    """Seeds, sizes and bounds are often drawn or computed: what they ask for is what Python's
    numbers ask for.
    """
    table = pl.DataFrame({"age": [30, 30, 40, 40], "ill": ["a", "b", "a", "b"]})
    schema = px.Schema(quasi=["age"], sensitive="ill")
    release = px.publish(table, schema, px.Mondrian(k=2), seed=np.int64(1))
    assert release.measure(table, seed=np.int64(3)) == release.measure(table, seed=3)
    drawn = release.draw(np.int64(2), seed=np.uint8(1))
    assert [d.rows() for d in drawn] == [d.rows() for d in release.draw(2, seed=1)]
    assert release.estimate("count(*)", suppressed=np.int32(0)).high == 4
    assert px.verify_table(table, quasi=["age"], k=np.int64(2)).holds
    promise = px.budget(epsilon=1, k=np.int16(60))
    assert promise == px.budget(epsilon=1, k=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as where a number of few bits passes over its end
        assert px.together(promise, np.int8(100)).epsilon == 100
    none = px.Schema(quasi=["age"], sensitive="pay", not_applicable=[np.int64(-9)])
    assert none.not_applicable == (-9,)
    for played in (
        adversaries.Linkage(sample=np.int64(3)),
        adversaries.Informed(sample=np.int64(3)),
    ):
        assert type(played.sample) is int
    with pytest.raises(PhalanxError):
        release.draw(np.True_)
