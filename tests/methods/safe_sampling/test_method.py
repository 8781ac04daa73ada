# SPDX-License-Identifier: Apache-2.0
"""What a plan may ask of safe sampling: any set of parameters that determines a promise, and one
sentence for any other.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import phalanx as px
from phalanx.accounting import theorem_delta, tight_delta
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.guarantees.registry import from_parameters
from phalanx.methods.base import make
from phalanx.methods.safe_sampling.method import SafeSampling
from phalanx.plan import Plan

DETERMINED: list[dict[str, Any]] = [
    {"epsilon": 1, "delta": 1e-6},
    {"epsilon": 1, "k": 30},
    {"delta": 1e-6, "k": 90},
    {"delta": 1e-6, "beta": 0.1},
    {"k": 30, "beta": 0.1},
    {"epsilon": 1, "delta": 1e-6, "k": 60},
    {"epsilon": 1, "delta": 1e-6, "beta": 0.3},
    {"epsilon": 1, "k": 30, "beta": 0.3},
    {"delta": 1e-6, "k": 30, "beta": 0.3},
    {"epsilon": 1, "delta": 1e-6, "k": 90, "beta": 0.3},
    {"epsilon": "1/2", "delta": "1/1000000", "epsilon_scheme": 0.1},
]


@pytest.mark.parametrize("accounting", ["tight", "theorem"])
@pytest.mark.parametrize("asked", DETERMINED, ids=str)
def test_what_is_left_out_is_solved_for(asked: dict[str, Any], accounting: str) -> None:
    """Every set that determines the rest gives a promise that its own accounting allows, exactly,
    and the manifest's words give it back.
    """
    method = make("safe-sampling", asked | {"accounting": accounting})
    assert isinstance(method, SafeSampling)
    (promised,) = method.guarantees
    assert isinstance(promised, DifferentialPrivacy)
    assert from_parameters(promised.parameters()) == promised
    said = {
        key: Fraction(str(value))
        for key, value in promised.parameters().items()
        if key not in ("name", "accounting")
    }
    delta_of = tight_delta if accounting == "tight" else theorem_delta
    sampling = said["epsilon"] - said.get("epsilon_scheme", 0)
    assert Fraction(delta_of(int(said["k"]), said["beta"], sampling)) <= said["delta"]
    for key in asked.keys() - {"epsilon_scheme"}:
        assert said[key] == Fraction(str(asked[key]))
    assert method.parameters().items() >= {"k": int(said["k"]), "accounting": accounting}.items()


def test_a_plan_reads_the_section_and_its_tables(tmp_path: Path) -> None:
    """The keys of the design, tables and dates among them, from TOML."""
    (tmp_path / "plan.toml").write_text("""
        [series]
        name = "visits"
        [source]
        path = "visits.csv"
        [schema]
        quasi = ["age", "zip", "day"]
        sensitive = "ill"
        hierarchies = { zip = { prefix = [5, 3, 0] } }
        [method]
        name = "safe-sampling"
        epsilon = 1
        delta = 1e-6
        accounting = "theorem"
        budget = { epsilon = 3, delta = 1e-5 }
        [method.scheme]
        age = { low = 0, high = 100, width = 10 }
        zip = 1
        day = { low = 2026-01-01, high = 2026-12-31, width = 28 }
        [publish]
        to = "out"
    """)
    method = Plan.read(tmp_path / "plan.toml").method()
    assert isinstance(method, SafeSampling)
    assert (method.promise.k, method.accounting) == (74, "theorem")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "safe-sampling"),
    ({"epsilon": 1}, "safe-sampling"),
    ({"epsilon": 1, "beta": 0.1}, "delta or k"),
    ({"epsilon": 0, "delta": 1e-6}, "epsilon"),
    ({"epsilon": 1, "delta": 0}, "delta"),
    ({"epsilon": 1, "delta": 1e-6, "beta": 1}, "beta"),
    ({"epsilon": 1, "delta": 0.2, "beta": 0.1}, "beta"),
    ({"epsilon": 1, "delta": 1e-6, "k": 0}, "k"),
    ({"epsilon": 1, "delta": 1e-6, "k": 2, "beta": 0.5}, "delta"),
    ({"epsilon": 1, "delta": 1e-6, "beta": 0.9, "accounting": "theorem"}, "beta"),
    ({"epsilon": 1, "delta": 1e-6, "accounting": "tigth"}, "did you mean 'tight'"),
    ({"epsilon": 1, "delta": 1e-6, "choose": "level"}, "did you mean 'levels'"),
    ({"epsilon": 1, "delta": 1e-6, "choose": "partition"}, "paid for by epsilon_scheme"),
    ({"epsilon": 1, "delta": 1e-6, "epsilon_scheme": 1}, "epsilon"),
    ({"epsilon": 1, "delta": 1e-6, "epsilon_scheme": -1}, "epsilon_scheme"),
    ({"epsilon": 1, "delta": 1e-6, "budget": {"epsilon": 3}}, "epsilon and delta"),
    (
        {"epsilon": 1, "delta": 1e-6, "budget": {"epsilon": 0.5, "delta": 1e-5}},
        "less than what one release costs",
    ),
    ({"epsilon": 1, "delta": 1e-6, "budget": 3}, "is no table"),
    ({"epsilon": 1, "delta": 1e-6, "scheme": "fine"}, "is no table"),
    ({"epsilon": 1, "delta": 1e-6, "depth": 0}, "depth"),
    (
        {"epsilon": 1, "delta": 1e-6, "scheme": {"age": {"low": 0, "high": 99, "widths": [5, 10]}}},
        "scheme of age offers several widths, and nothing chooses among them; give it a level",
    ),
    ({"epsilon": "much", "delta": 1e-6}, "epsilon"),
    ({"epsilon": 1, "delta": 1e-6, "epsilom": 1}, "did you mean 'epsilon'"),
]


@pytest.mark.parametrize(("asked", "says"), REFUSED, ids=str)
def test_what_determines_no_promise_is_refused(asked: dict[str, Any], says: str) -> None:
    """One sentence that names the key and what to do."""
    with pytest.raises(PlanError, match=says) as refused:
        make("safe-sampling", asked)
    assert str(refused.value).startswith("[method]") and str(refused.value).endswith((".", "?"))


def test_the_default_beta_is_the_largest_that_the_theorem_allows() -> None:
    """1 - e^-epsilon, rounded down, so that the printed text is the number that was used, and is
    within the theorem's bound.
    """
    method = SafeSampling(epsilon=2, delta=1e-6)
    beta = method.parameters()["beta"]
    assert beta == pytest.approx(0.8646647167633873, abs=1e-15)
    assert (
        SafeSampling(epsilon=2, delta=1e-6, beta=beta, accounting="theorem").promise.beta
        == method.promise.beta
    )


@pytest.mark.parametrize("epsilon", [9, 16, 25])
def test_weak_promises_are_checked_like_others(epsilon):
    """The check of an epsilon of 9 and more gave up, which was called a fault of Phalanx."""
    table = pl.DataFrame({"age": [n % 50 for n in range(200)]})
    method = SafeSampling(
        epsilon=epsilon, delta=1e-6, scheme={"age": {"low": 0, "high": 50, "width": 10}}, allow_empty=True
    )  # fmt: skip
    assert px.publish(table, Schema(quasi=["age"]), method).verify().holds


def test_what_no_check_can_follow_is_refused_before_a_table_is_looked_at():
    """In a sentence, as the other parameters that mean nothing."""
    with pytest.raises(PlanError, match="no check of a release ends with k = 56"):
        SafeSampling(epsilon=1e-5, delta=1e-12)
