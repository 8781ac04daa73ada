# SPDX-License-Identifier: Apache-2.0
"""Cuts of least width beside cuts at medians, for k = 10 alone and with l and t: groups, widths and
seconds.

    PHALANX_DATA=folder python experiments/knowing_the_method/cuts.py

Columns are those of ``mondrian.py``; seconds of the processor, all threads together, for publishing
in memory: the shorter of two runs after one that loads the kernels.
"""

import time

import numpy as np
from mondrian import ACS, ADULT, microdata, width

from phalanx.data.microdata import Microdata
from phalanx.methods.base import Memory
from phalanx.methods.mondrian.method import Mondrian
from phalanx.randomness import Randomness

ADULT_8 = [*ADULT, "native_country", "hours_per_week"]
WAYS = [
    ("strict", "median"),
    ("strict", "least-width"),
    ("relaxed", "median"),
    ("relaxed", "least-width"),
]


def show(table: str, asked: str, data: Microdata, **parameters: object) -> None:
    """Four rows of the table, each with its width beside that of strict cuts at medians."""
    beside = 0.0
    for cuts, cut_at in WAYS:
        method = Mondrian(cuts=cuts, cut_at=cut_at, **parameters)  # type: ignore[arg-type]
        seconds = []
        for _ in range(3):
            began = time.process_time()
            groups = method.publish(data, Memory(), Randomness.seeded(1)).groups
            seconds.append(time.process_time() - began)
        found = width(data, groups)
        beside = beside or found
        cells = [table, asked, cuts, cut_at, f"{len(np.unique(groups)):,}", f"{found:.4f}"]
        cells += [f"{100 * (found / beside - 1):+.0f} %", f"{min(seconds[1:]):.3f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    print("| table | asked | cuts | cut_at | groups | width | beside | seconds |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | ---: |")
    adult = microdata("adult", ADULT, "occupation")
    show("adult, 6 QI", "k = 10", adult, k=10)
    show("adult, 8 QI", "k = 10", microdata("adult", ADULT_8, "occupation"), k=10)
    for rows in (20_000, None):
        data = microdata("acs2018_occsal", ACS, "income", rows)
        show(f"ACS, {data.rows:,} rows, 4 QI", "k = 10", data, k=10)
    show("adult, 6 QI", "k = 10, l = 2", adult, k=10, l=2)
    show("adult, 6 QI", "k = 10, l = 4", adult, k=10, l=4)
    show("adult, 6 QI", "k = 10, t = 1/5", adult, k=10, t="1/5")


if __name__ == "__main__":
    main()
