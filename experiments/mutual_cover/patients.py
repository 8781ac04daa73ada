# SPDX-License-Identifier: Apache-2.0
"""The made-up patients of docs/how-to/publish.md, as CSV: 3,000 rows, none of anybody.

python experiments/mutual_cover/patients.py > patients.csv
"""

import sys

import numpy as np
import polars as pl

TOWNS = ["Ardal", "Fjell", "Hamra", "Brenn", "Corvo", "Dunmar", "Elster", "Gorsk"]
ILLNESSES = ["flu", "cold", "asthma", "diabetes", "gout", "ulcer", "migraine", "angina"]


def patients() -> pl.DataFrame:
    n, rng = 3000, np.random.default_rng(1)
    age = rng.integers(18, 90, n)
    older = np.minimum(age // 30, 3)
    table = {
        "patient": np.arange(n),
        "age": age,
        "sex": rng.choice(["f", "m"], n),
        "town": rng.choice(TOWNS, n, p=np.array([8, 7, 6, 5, 4, 3, 2, 1]) / 36),
        "diagnosis": [
            ILLNESSES[(a + x) % 8] for a, x in zip(older, rng.integers(0, 6, n), strict=True)
        ],
    }
    return pl.DataFrame(table)


def main() -> None:
    patients().write_csv(sys.stdout)


if __name__ == "__main__":
    main()
