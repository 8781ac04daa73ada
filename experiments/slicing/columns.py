# SPDX-License-Identifier: Apache-2.0
"""The attribute partitions of the paper, beside those that correlations give here.

PHALANX_DATA=folder python experiments/slicing/columns.py
"""

from adult import OCC_7, OCC_15, SENSITIVE, microdata, show

from phalanx.data.correlation import phi2
from phalanx.methods.slicing.columns import partition

PAPER = {
    ("OCC-7", 5): "age + marital_status + sex; every other attribute alone",
    ("OCC-15", 5): (
        "age + workclass + education + education_num + capital_gain + hours_per_week + income;"
        " marital_status + relationship + sex + occupation; race + native_country; fnlwgt;"
        " capital_loss"
    ),
}
CLOSEST = {"OCC-7": "sex, education", "OCC-15": "sex, income"}


def main() -> None:
    for name, quasi in (("OCC-7", OCC_7), ("OCC-15", OCC_15)):
        table, names = microdata(quasi), [*quasi, SENSITIVE]
        rows = []
        for bins in (5, 10, 20):
            matrix = phi2([table.columns[n] for n in names], bins)
            near = sorted(zip(matrix[-1, :-1].tolist(), quasi, strict=True), reverse=True)[:4]
            rows.append([bins, ", ".join(f"{n} {value:.3f}" for value, n in near), CLOSEST[name]])
        show(
            f"{name}: closest to occupation, by phi² of attributes in so many bins",
            ["bins", "here", "paper"],
            rows,
        )
        matrix = phi2([table.columns[n] for n in names])
        rows = []
        for c in (2, 5):
            for alpha in (None, 1, 2):
                found = partition(
                    names, matrix, columns=c, sensitive=SENSITIVE, sensitive_column_size=alpha
                )
                rows.append(
                    [
                        c,
                        "by clusters" if alpha is None else alpha,
                        "; ".join(" + ".join(column) for column in found),
                        PAPER.get((name, c), "not printed"),
                    ]
                )
        show(f"{name}: columns (10 bins)", ["c", "alpha", "here", "paper"], rows)


if __name__ == "__main__":
    main()
