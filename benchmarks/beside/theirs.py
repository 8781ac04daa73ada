# SPDX-License-Identifier: Apache-2.0
"""The same job by another tool, from a CSV file to a CSV file. Runs in an environment of its own, and
imports nothing of ours.

    ENVIRONMENT/bin/python benchmarks/beside/theirs.py anonypyx|anjana|pycanon

reads `theirs.csv` and `asked.json` (k, the quasi-identifiers, the sensitive attribute) where it is
started.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd

BANDS = (5, 10, 20, 40)


def by_anonypyx(table, asked):
    """Mondrian: intervals of numbers, sets of other values."""
    import anonypyx

    typed = table.astype({q: "category" for q in asked["quasi"] if table[q].dtype == object})
    made = anonypyx.Anonymiser(
        typed,
        k=asked["k"],
        l=None,
        sensitive_column=asked["sensitive"],
        feature_columns=asked["quasi"],
        generalisation_strategy="human-readable",
    ).anonymise()
    return pd.DataFrame(made)


def by_anjana(table, asked):
    """The least levels of hierarchies: numbers in bands, other values as they are or not at all."""
    import numpy as np
    from anjana.anonymity import k_anonymity

    levels = {}
    for quasi in asked["quasi"]:
        values = np.array(sorted(table[quasi].unique()))
        bands = BANDS if table[quasi].dtype != object else ()
        above = [np.array([f"[{v // w * w}, {v // w * w + w})" for v in values]) for w in bands]
        levels[quasi] = dict(enumerate([values, *above, np.array(["*"] * len(values))]))
    return k_anonymity(table, [], asked["quasi"], asked["k"], 5, levels)


def by_pycanon(table, asked):
    """The k and the distinct l of a table that was published."""
    from pycanon import anonymity

    k = anonymity.k_anonymity(table, asked["quasi"])
    return pd.DataFrame(
        {"k": [k], "l": [anonymity.l_diversity(table, asked["quasi"], [asked["sensitive"]])]}
    )


MADE = {"anonypyx": by_anonypyx, "anjana": by_anjana, "pycanon": by_pycanon}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    question = json.loads(Path("asked.json").read_text(encoding="utf-8"))
    made = MADE[sys.argv[1]](pd.read_csv("theirs.csv"), question)
    if not len(made):
        sys.exit("nothing was made")
    made.to_csv("made.csv", index=False)
