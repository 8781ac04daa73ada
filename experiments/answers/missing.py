# SPDX-License-Identifier: Apache-2.0
"""What is answered where values are missing: of how many rows the release does not tell whether they
have one, how often the truth is in the interval, and how far the estimate is off. Of made-up tables,
so that it needs no data.

    python experiments/answers/missing.py [--rows 3000] [--samples 6]
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import polars as pl

import phalanx as px
from phalanx.estimators.notes import beside_missing
from phalanx.estimators.reading import view_of

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
SIZES = (3, 5, 10, 25, 50, 100, 300)
SCHEMA = px.Schema(
    identifier="who", quasi=["age", "sex", "income"], sensitive="ill", missing="value"
)
MISSING = [
    (name, f"{name} IS NULL{more}")
    for name in SCHEMA.quasi
    for more in ("", " AND ill = 'a'", " AND ill = 'b'")
]
OTHERS = [
    ("age", "age < 40"),
    ("age", "age > 60 AND ill = 'a'"),
    ("sex", "sex = 'f'"),
    ("sex", "sex = 'm' AND ill = 'b'"),
    ("income", "income > 50"),
    ("income", "income BETWEEN 10 AND 20"),
    ("income", "income BETWEEN 0 AND 1000000"),
]
PARTS = (0, 0.01, 0.03, 0.1, 0.2, 0.5, 1)
"""Ends of the lines: the share of rows of which it is not told whether they have a value."""


def table(rows: int, share: float, rng: np.random.Generator) -> pl.DataFrame:
    """Persons of whom each value of a quasi-identifier is missing with this probability."""

    def without(values: list[object]) -> list[object]:
        return [None if rng.random() < share else value for value in values]

    return pl.DataFrame(
        {
            "who": range(rows),
            "age": without(rng.integers(20, 70, rows).tolist()),
            "sex": without(rng.choice(["f", "m"], rows, p=[0.3, 0.7]).tolist()),
            "income": without(np.round(rng.lognormal(3, 1, rows), 1).tolist()),
            "ill": rng.choice(["a", "b", "c"], rows),
        }
    )


def asked(rows: int, samples: int) -> Iterator[tuple[str, str, float, bool | None, float]]:
    """By method: which kind of question, the share of rows of which it is not told whether they have
    a value, whether the interval held (None: there was none), and the error as a share of the rows.
    """
    for share in SHARES:
        for k in SIZES:
            methods = {
                "mondrian": px.Mondrian(k=k),
                "slicing": px.Slicing(
                    l=2, columns=[list(SCHEMA.quasi), ["ill"]], generalize_columns_k=k
                ),
            }
            for sample in range(samples):
                frame = table(rows, share, np.random.default_rng(sample))
                for name, method in methods.items():
                    release = px.publish(frame, SCHEMA, method, seed=sample)
                    view = view_of(release)
                    for kind, questions in (("missing", MISSING), ("values", OTHERS)):
                        for of, where in questions:
                            truth = frame.filter(pl.sql_expr(where)).height
                            found = release.estimate(f"count(*) where {where}")
                            held = None
                            if found.interval is not None:
                                held = found.interval[0] <= truth <= found.interval[1]
                            error = abs(found.estimate - truth) / rows
                            yield f"{name} | {kind}", of, beside_missing(view, of), held, error


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--samples", type=int, default=6)
    given = parser.parse_args()
    lines = defaultdict(list)
    for of, _, beside, held, error in asked(given.rows, given.samples):
        part = next(i for i, end in enumerate(PARTS) if beside <= end)
        lines[of, part].append((held, error))
    print("| method | asked of | not told of, % | questions | held, % | mean error, % |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for (of, part), answers in sorted(lines.items()):
        shown = [held for held, _ in answers if held is not None]
        held = f"{100 * np.mean(shown):.1f}" if 2 * len(shown) > len(answers) else "none"
        error = 100 * np.mean([error for _, error in answers])
        upto = f"{100 * PARTS[part - 1]:.0f} to {100 * PARTS[part]:.0f}" if part else "0"
        print(f"| {of} | {upto} | {len(answers)} | {held} | {error:.2f} |")


if __name__ == "__main__":
    main()
