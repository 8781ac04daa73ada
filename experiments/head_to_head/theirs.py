# SPDX-License-Identifier: Apache-2.0
"""The table of another tool, and what pycanon says of it, as JSON on standard output. Runs in an
environment of its own, and imports nothing of ours.

ENVIRONMENT/bin/python experiments/head_to_head/theirs.py FOLDER
"""

import contextlib
import json
import sys
import time
import warnings
from pathlib import Path

import anonypyx
import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity, l_diversity
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from pycanon import anonymity


def by_anonypyx(table, asked, _):
    """Mondrian of anonypyx: intervals of numbers, sets of other values."""
    typed = table.astype({q: "category" for q in asked["quasi"] if table[q].dtype == object})
    settings = {"k": asked["k"], "l": asked["l"], "sensitive_column": asked["sensitive"]}
    made = anonypyx.Anonymiser(
        typed, feature_columns=asked["quasi"], generalisation_strategy="human-readable", **settings
    ).anonymise()
    made = pd.DataFrame(made)
    if "count" in made:
        made = made.loc[made.index.repeat(made.pop("count"))].reset_index(drop=True)
    return made.astype(str)


def by_anjana(table, asked, folder):
    """The least levels of hierarchies by anjana, with one row in twenty suppressed at most."""
    levels = {}
    for quasi in asked["quasi"]:
        file = pd.read_csv(folder / f"{quasi}.csv", sep=";", header=None, dtype=str)
        levels[quasi] = {i: file[i].to_numpy() for i in file}
        levels[quasi][0] = levels[quasi][0].astype(table[quasi].dtype)
    arguments = (table, [], asked["quasi"])
    if asked["l"] is None:
        made = k_anonymity(*arguments, asked["k"], asked["suppressed"], levels)
    else:
        made = l_diversity(
            *arguments, asked["sensitive"], asked["k"], asked["l"], asked["suppressed"], levels
        )
    return made[table.columns].astype(str)


def by_synthesizer(table, asked, folder):
    """A Bayesian network of DataSynthesizer (PrivBayes), with noise where epsilon is not 0."""
    categorical = {name: table[name].dtype == object for name in table}
    describer = DataDescriber(category_threshold=50)
    describer.describe_dataset_in_correlated_attribute_mode(
        str(folder / "table.csv"),
        epsilon=asked["epsilon"],
        k=2,
        attribute_to_is_categorical=categorical,
        attribute_to_is_candidate_key=dict.fromkeys(categorical, False),
        seed=1,
    )
    describer.save_dataset_description_to_file(str(folder / "described.json"))
    generator = DataGenerator()
    described = str(folder / "described.json")
    generator.generate_dataset_in_correlated_attribute_mode(len(table), described, seed=1)
    return generator.synthetic_dataset.astype(str)


def given(_, __, folder):
    """A table that was made before."""
    return pd.read_csv(folder / "given.csv", dtype=str)


def levels_of(made, asked):
    """The k and distinct l of a table, by pycanon."""
    quasi, sensitive = asked["quasi"], asked["sensitive"]
    return [
        int(anonymity.k_anonymity(made, quasi)),
        int(anonymity.l_diversity(made, quasi, [sensitive])),
    ]


MADE = {
    "anonypyx": by_anonypyx,
    "anjana": by_anjana,
    "synthesizer": by_synthesizer,
    "given": given,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.set_printoptions(legacy="1.25")  # DataSynthesizer reads back what numpy 1 printed
    here = Path(sys.argv[1])
    question = json.loads((here / "asked.json").read_text(encoding="utf-8"))
    with contextlib.redirect_stdout(sys.stderr):
        source = pd.read_csv(here / "table.csv")
        np.random.seed(1)  # noqa: NPY002, theirs draw by it
        began = time.process_time()
        made = MADE[question["tool"]](source, question, here)
        seconds = time.process_time() - began
        made.to_csv(here / "made.csv", index=False)
        grouped = question["tool"] != "synthesizer"
        levels = levels_of(made, question) if grouped else None
    print(json.dumps({"seconds": seconds, "levels": levels}))
