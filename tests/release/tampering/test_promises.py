# SPDX-License-Identifier: Apache-2.0
"""A promise of nothing never holds, and a series may not promise less than it did; each refusal
beside the promise that holds.
"""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx import GlobalGuarantee, MInvariance, Mondrian, MutualCover, Series, verify
from phalanx.errors import PlanError
from phalanx.guarantees.registry import KNOWN, OURS, from_parameters
from phalanx.guarantees.strength import promises_nothing, weakened
from phalanx.guarantees.verify import verify as verify_releases
from phalanx.release.folder import Release
from support.tampering_cases import SCHEMA, chained, issue, notes, people, refusal, stated

LEAST: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "k-anonymity": ({"k": 1}, {"k": 2}),
    "frequency-l-diversity": ({"l": 1}, {"l": "1.1"}),
    "distinct-l-diversity": ({"l": 1}, {"l": 2}),
    "entropy-l-diversity": ({"l": 1}, {"l": "1.1"}),
    "recursive-l-diversity": ({"c": 2, "l": 1}, {"c": 2, "l": 2}),
    "t-closeness": ({"t": 1}, {"t": "0.9"}),
    "household-k-anonymity": ({"k": 1}, {"k": 2}),
    "household-l-diversity": ({"l": 1}, {"l": "1.1"}),
    "m-uniqueness": ({"m": 1}, {"m": 2}),
    "m-invariance": ({"m": 1}, {"m": 2}),
    "global-guarantee": ({"l": 2, "protected": []}, {"l": 2, "protected": ["flu"]}),
    "l-diverse-slicing": ({"l": 1}, {"l": 2}),
    "l-diverse-slicing-counted": ({"l": 1}, {"l": 2}),
    "distinct-l-diverse-slicing": ({"l": 1}, {"l": 2}),
    "recursive-l-diverse-slicing": ({"c": 2, "l": 1}, {"c": "1/2", "l": 1}),
    "t-close-slicing": ({"t": 1}, {"t": "1/2"}),
    "anatomy-l-diversity": ({"l": 1}, {"l": 2}),
    "mutual-cover": ({"delta": 1}, {"delta": "1/2"}),
    "differential-privacy": (
        {"epsilon": 1, "delta": 1, "k": 5, "beta": "0.1"},
        {"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1"},
    ),
}


def test_every_guarantee_is_asked_about() -> None:
    """A guarantee that is added must say here where it promises nothing."""
    assert LEAST.keys() == {KNOWN[name].name for name in OURS}


@pytest.mark.parametrize("name", LEAST)
def test_parameters_that_promise_nothing(name: str) -> None:
    """Where the parameters of a guarantee ask for nothing, it is said why; with a little more they
    ask for something.
    """
    nothing, something = ({"name": name, **parameters} for parameters in LEAST[name])
    assert "promises nothing" in promises_nothing(from_parameters(nothing))
    assert promises_nothing(from_parameters(something)) == ""


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    table = people()
    return issue(
        tmp_path_factory.mktemp("issued"),
        MInvariance(m=3),
        [table, pl.concat([table[40:], people(60, 2, 1000)])],
        formats=("parquet",),
    )


@pytest.fixture
def folders(issued: list[Path], tmp_path: Path) -> list[Path]:
    return [Path(shutil.copytree(path, tmp_path / path.name)) for path in issued]


@pytest.mark.parametrize(
    ("guarantees", "what"),
    [
        (
            [{"name": "m-invariance", "m": 1}],
            "m-invariance: m = 1 promises nothing: every group holds 1 value or more",
        ),
        (
            [{"name": "global-guarantee", "l": 2, "protected": [None]}],
            "global-guarantee: it protects no value, so it promises nothing",
        ),
        (
            [{"name": "k-anonymity", "k": 1}],
            "k-anonymity: k = 1 promises nothing: each person is among 1 person or more",
        ),
        (
            [{"name": "frequency-l-diversity", "l": 1}],
            "frequency-l-diversity: l = 1 promises nothing",
        ),
        (
            [
                {"name": "m-invariance", "m": 3, "balancing": "exact"},
                {"name": "t-closeness", "t": 1},
            ],
            "t-closeness: t = 1 promises nothing",
        ),
        ([{"name": "mutual-cover", "delta": 1}], "mutual-cover: the release is generalized"),
    ],
)
def test_a_release_that_promises_nothing(
    folders: list[Path], guarantees: list[dict[str, Any]], what: str
) -> None:
    """A first release that says so in all places is refused; as it was published it holds."""
    assert refusal(folders[:1]) == ""
    stated(
        folders[0],
        guarantees=guarantees,
        method=lambda x: (
            x | {key: g[key] for g in guarantees for key in ("m", "k", "l", "t") if key in g}
        ),
    )
    assert what in refusal(folders[:1])


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (MutualCover(delta=1), "delta = 1 promises nothing"),
        (Mondrian(k=1), "k = 1 promises nothing"),
        (Mondrian(k=4, l=1), "l = 1 promises nothing"),
    ],
)
def test_nothing_is_published_under_a_promise_of_nothing(
    tmp_path: Path, method: Any, what: str
) -> None:
    """A plan that asks for nothing is refused before anything is looked at."""
    with pytest.raises(PlanError, match=what):
        Series("s", schema=SCHEMA, method=method, to=tmp_path / "out", report=False)
    assert [g.name for g in Mondrian(k=1, l=2).guarantees] == ["frequency-l-diversity"]


WEAKER: dict[str, tuple[dict[str, Any], str]] = {
    "per record": ({"privacy_unit": "record"}, "it covers each record and no longer each person"),
    "consecutive releases": (
        {"guarantees": [{"name": "m-invariance-consecutive", "m": 3, "balancing": "exact"}]},
        (
            "it promises less than the release before it (m-invariance: consecutive was False and"
            " is True)"
        ),
    ),
    "a smaller m": (
        {
            "guarantees": [{"name": "m-invariance", "m": 2, "balancing": "exact"}],
            "method": {"name": "m-invariance", "m": 2},
        },
        "m was 3 and is 2",
    ),
    "the paper's balancing": (
        {"guarantees": [{"name": "m-invariance", "m": 3, "balancing": "paper"}]},
        "balancing was exact and is paper",
    ),
    "another promise": (
        {"guarantees": [{"name": "m-uniqueness", "m": 3}]},
        "it no longer promises m-invariance, which the release before it does",
    ),
}


@pytest.mark.parametrize(("changes", "what"), WEAKER.values(), ids=WEAKER.keys())
def test_a_later_release_that_promises_less(
    folders: list[Path], changes: dict[str, Any], what: str
) -> None:
    """What is promised less is named, with a chain that fits; the untouched series holds, and more
    may be promised.
    """
    assert refusal(folders) == ""
    stated(folders[1], **changes)
    assert what in refusal(folders)


def test_a_later_release_may_promise_more(folders: list[Path]) -> None:
    """A first release that promised less does not make the next one weaker."""
    stated(
        folders[0],
        guarantees=[{"name": "m-invariance-consecutive", "m": 2, "balancing": "paper"}],
        method={"name": "m-invariance", "m": 2, "remember": False},
        holds_if_method_known=False,
    )
    stated(folders[1], holds_if_method_known=False)
    chained(folders)
    assert refusal(folders) == ""


# what was promised, what is, and whether that is less
ORDER: dict[str, list[tuple[dict[str, Any], dict[str, Any], bool]]] = {
    "global-guarantee": [
        ({"l": 3}, {"l": 2}, True),
        ({"l": 2}, {"l": 3}, False),
        ({"l": 2}, {"l": 2, "protected": ["flu"]}, True),
        ({"l": 2, "protected": ["flu"]}, {"l": 2}, False),
        ({"l": 2, "protected": ["flu"]}, {"l": 2, "protected": ["flu", "HIV"]}, False),
        ({"l": 2, "protected": ["flu", "HIV"]}, {"l": 2, "protected": ["flu"]}, True),
        ({"l": 2, "unprotected": ["flu"]}, {"l": 2, "unprotected": ["flu", "HIV"]}, True),
        ({"l": 2, "unprotected": ["flu", "HIV"]}, {"l": 2, "unprotected": ["flu"]}, False),
        ({"l": 2, "permanent": ["HIV"]}, {"l": 2}, True),
    ],
    "frequency-l-diversity": [({"l": "5/2"}, {"l": "2.5"}, False), ({"l": "5/2"}, {"l": "2.49"}, True)],
    "differential-privacy": [
        ({"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1"}, {"epsilon": 2, "delta": "1e-6", "k": 5, "beta": "0.1"}, True),
        ({"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1"}, {"epsilon": 1, "delta": "1e-5", "k": 5, "beta": "0.1"}, True),
        ({"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1"}, {"epsilon": 1, "delta": "1e-6", "k": 4, "beta": "0.1"}, True),
        ({"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1"}, {"epsilon": "1/2", "delta": "1e-7", "k": 6, "beta": "0.2", "accounting": "theorem"}, False),
        (
            {"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1", "budget": {"epsilon": 3, "delta": "1e-5"}},
            {"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1", "budget": {"epsilon": 4, "delta": "1e-5"}},
            True,
        ),
        (
            {"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1", "budget": {"epsilon": 3, "delta": "1e-5"}},
            {"epsilon": 1, "delta": "1e-6", "k": 5, "beta": "0.1"},
            True,
        ),
    ],
    "t-closeness": [
        ({"t": "0.2"}, {"t": "0.3"}, True),
        ({"t": "0.2"}, {"t": "0.1"}, False),
        ({"t": "0.2"}, {"t": "1/5"}, False),
        ({"t": "0.2"}, {"t": "0.2", "distance": "ordered"}, True),
    ],
    "recursive-l-diversity": [({"c": 2, "l": 3}, {"c": 3, "l": 3}, True), ({"c": 2, "l": 3}, {"c": 2, "l": 2}, True), ({"c": 2, "l": 3}, {"c": 1, "l": 4}, False)],
    "mutual-cover": [({"delta": "1/4"}, {"delta": "1/2"}, True), ({"delta": "1/4", "changes": 2}, {"delta": "1/4"}, True), ({"delta": "1/4"}, {"delta": "1/8"}, False)],
    "k-anonymity": [({"k": 5}, {"k": 4}, True), ({"k": 5}, {"k": 5}, False), ({"k": 5}, {"k": 6}, False)],
}  # fmt: skip


@pytest.mark.parametrize("name", ORDER)
def test_what_is_less(name: str) -> None:
    """Each parameter has a direction in which it promises less; what has none must stay."""
    for before, now, less in ORDER[name]:
        found = list(weakened([{"name": name, **now}], [{"name": name, **before}]))
        assert bool(found) is less, (before, now, found)
    assert not list(weakened([{"name": name, **ORDER[name][0][1]}], []))


def test_a_parameter_without_a_direction_must_stay() -> None:
    """Of every guarantee each parameter is either asked about, or a change of it is refused: none
    is passed over.
    """
    for name, (_, something) in LEAST.items():
        guarantee = from_parameters({"name": name, **something})
        assert not list(weakened([guarantee.parameters()], [guarantee.parameters()])), name


def test_the_global_guarantee_keeps_its_values(tmp_path: Path) -> None:
    """A second release that protects fewer values is refused from its files, with a chain that
    fits.
    """
    folders = issue(tmp_path, GlobalGuarantee(l=2), [people(), people()], formats=("parquet",))
    assert refusal(folders) == ""
    stated(
        folders[1],
        guarantees=lambda listed: [
            g | {"unprotected": [*g.get("unprotected", []), "flu"]} for g in listed
        ],
    )
    assert "global-guarantee: the unprotected values are others, and protect less" in refusal(
        folders
    )
    assert "not checked" in notes(folders)


def test_releases_that_were_not_given_are_not_checked(folders: list[Path], tmp_path: Path) -> None:
    """A later release by itself says of each promise about all releases that those before it were
    not looked at, once; a whole series does not, nor does a promise about one release.
    """
    absent = "not checked: release(s) 1 of the series were not given"
    (said,) = [v for v in verify(folders[1:]).checks if absent in v.note]
    assert (said.name, said.result) == ("release 2: m-invariance: releases before", "not checked")
    assert absent not in notes(folders)
    alone = verify_releases([Release.read(folders[1])], only_last=True)
    assert not any(absent in verdict.note for verdict in alone)
    tables = [people(80), people(80, 2)]
    one, two = issue(tmp_path / "global", GlobalGuarantee(l=2), tables, formats=("parquet",))
    ledger = f"sqlite:///{tmp_path}/global/s.db"
    assert notes([two], ledger=ledger).count(absent) == 1
    assert absent not in notes([one, two], ledger=ledger)
    later = issue(tmp_path / "once", Mondrian(k=4), tables, formats=("parquet",))[1:]
    assert absent not in notes(later)
