# SPDX-License-Identifier: Apache-2.0
"""What the outside judges say of the releases in a folder, as JSON on standard output. Runs in an
environment of its own, and imports nothing of ours.

ENVIRONMENT/bin/python experiments/judges/theirs.py FOLDER
"""

import json
import logging
import sys
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from anonymeter.evaluators.singling_out_evaluator import _evaluate_queries
from anonypyx.attackers.intersection_attacker import IntersectionAttacker
from anonypyx.generalisation.machinereadable import MachineReadable

ATTACKS = 500


def candidate_sets(folder, asked):
    """The values that anonypyx's intersection attack leaves every target, sorted."""
    quasi, sensitive = asked["quasi"], asked["sensitive"]
    schema = MachineReadable(
        {}, {name: (f"{name}_min", f"{name}_max") for name in quasi}, [sensitive]
    )
    attacker = IntersectionAttacker(
        pd.read_parquet(folder / asked["targets"]), quasi, sensitive, schema
    )
    for release in asked["releases"]:
        attacker.observe(
            pd.read_parquet(folder / release["table"]), [*quasi, sensitive], release["present"]
        )
    return [
        sorted(value.item() for value in attacker.predict(target, sensitive))
        for target in range(asked["number"])
    ]


def rates(evaluator):
    """Success of an evaluator's attack on the published persons and on the others, and by guessing;
    each with its 95 % error.
    """
    found = evaluator.results()
    return {
        name: [rate.value, rate.error]
        for name, rate in (
            ("attack", found.attack_rate),
            ("control", found.control_rate),
            ("baseline", found.baseline_rate),
        )
    }


def counted(folder, asked):
    """How many rows of either table each of our predicates holds for, by Anonymeter's count."""
    tables = {name: pl.read_parquet(folder / asked[name]) for name in ("original", "control")}
    queries = []
    for predicate in asked["predicates"]:
        query = (
            pl.lit(value=True)
            if predicate["value"] is None
            else pl.col(asked["sensitive"]) == predicate["value"]
        )
        for name, (low, high) in predicate["box"].items():
            query &= (pl.col(name) >= low) & (pl.col(name) <= high)
        queries.append(query)
    return {
        name: [int(count) for count in _evaluate_queries(table, queries)]
        for name, table in tables.items()
    }


def judged(folder, asked):
    """Anonymeter's three evaluators on one release, of which ``drawn`` is a table of rows drawn
    within what is published.
    """
    original, control, drawn = (
        pd.read_parquet(folder / asked[name]) for name in ("original", "control", "drawn")
    )
    quasi, secret = asked["quasi"], asked["sensitive"]
    n = min(ATTACKS, len(original), len(control), len(drawn))
    out = SinglingOutEvaluator(
        ori=original,
        syn=drawn,
        n_attacks=n,
        n_cols=len(quasi) + 1,
        control=control,
        max_attempts=20_000,
        seed=1,
    )
    linked = LinkabilityEvaluator(
        ori=original, syn=drawn, aux_cols=(quasi[::2], quasi[1::2]), n_attacks=n, control=control
    )
    inferred = InferenceEvaluator(
        ori=original,
        syn=drawn,
        control=control,
        aux_cols=quasi,
        secret=secret,
        regression=False,
        n_attacks=n,
    )
    return {
        "counts": counted(folder, asked),
        "singling out": rates(out.evaluate(mode="multivariate")),
        "linkability": rates(linked.evaluate(n_jobs=1)),
        "inference": rates(inferred.evaluate(n_jobs=1)),
    }


warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
here = Path(sys.argv[1])
question = json.loads((here / "asked.json").read_text(encoding="utf-8"))
answer = {
    "intersection": [candidate_sets(here, asked) for asked in question["intersection"]],
    "releases": [judged(here, asked) for asked in question["releases"]],
}
print(json.dumps(answer))
