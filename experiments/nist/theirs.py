# SPDX-License-Identifier: Apache-2.0
"""What SDNist says of each table, a line of JSON on standard output as soon as it is said. Runs in
an environment of its own, and imports nothing of ours.

    ENVIRONMENT/bin/python experiments/nist/theirs.py FOLDER

Each figure comes from SDNist's own function, called as its report calls it; the report's pictures,
regressions and components, which take it minutes a table, are made only where they are asked for.
"""

import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import sdnist.report  # noqa: F401 (before its metrics, which import it)
from sdnist.load import TestDatasetName
from sdnist.metrics.inconsistency import Inconsistencies
from sdnist.metrics.kmarginal import KMarginal
from sdnist.metrics.propensity import PropensityMSE
from sdnist.metrics.unique_exact_matches import unique_exact_matches
from sdnist.report.__main__ import run
from sdnist.report.dataset import Dataset
from sdnist.report.score.utility import kmarginal_subsamples
from sdnist.utils import SimpleLogger


def judged(table, excerpts, folder, samples):
    """The figures of one table; ``samples``: the score of each share of the target, filled by the
    first table, as they are of the target alone.
    """
    dataset = Dataset(table, SimpleLogger(), TestDatasetName.ma2019, excerpts, download=False)
    refused = dataset.validation_log["values_out_of_bound"]
    if refused:  # SDNist would judge the other features alone, which is not comparable
        return {"rows": len(dataset.synthetic_data), "refused": list(refused)}
    score = KMarginal(dataset.d_target_data, dataset.d_synthetic_data, [])
    score.compute_score()
    k_marginal = int(score.score)
    np.random.seed(1)  # noqa: NPY002 (SDNist draws its samples by pandas; each table for itself)
    if not samples:
        samples.update(kmarginal_subsamples(dataset, KMarginal, [])[0])
    propensity = PropensityMSE(
        dataset.t_target_data, dataset.t_synthetic_data, folder, dataset.features
    )
    impossible = Inconsistencies(dataset.c_synthetic_data, folder)
    impossible.compute()
    groups = {
        g["Inconsistency Group"]: g["Number of Records Inconsistent"]
        for g in impossible.report_data["summary"]
    }
    _, matched, unique, _ = unique_exact_matches(dataset.c_target_data, dataset.c_synthetic_data)
    return {
        "rows": len(dataset.synthetic_data),
        "k_marginal": k_marginal,
        "as_a_sample_of": round(
            100 * min(sorted(samples), key=lambda f: abs(samples[f] - k_marginal))
        ),
        "pmse": propensity.compute_score(),
        "impossible_age": groups["Age"],
        "impossible_housing": groups["Housing"],
        "matches": matched,
        "unique": unique,
    }


def main():
    """Judge all tables of the folder."""
    folder = Path(sys.argv[1])
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    excerpts, samples, answers = Path(asked["excerpts"]), {}, sys.stdout
    (folder / "work").mkdir()
    with contextlib.redirect_stdout(sys.stderr):  # SDNist and its parts print
        for name in asked["tables"]:
            found = judged(folder / f"{name}.csv", excerpts, folder / "work", samples)
            print(json.dumps(found), file=answers, flush=True)
            print(f"{name}: {found}")
        for name, to in asked["reports"].items():
            labels = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["labels"]
            Path(to).mkdir(parents=True)
            table = folder / f"{name}.csv"
            run(table, Path(to), TestDatasetName.ma2019, excerpts, labels, show_report=False)


if __name__ == "__main__":
    main()
