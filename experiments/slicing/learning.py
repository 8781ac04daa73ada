# SPDX-License-Identifier: Apache-2.0
"""What classifiers learn from sliced, bucketized and generalized tables (Figures 3 to 5 of the
paper).

    PHALANX_DATA=folder python experiments/slicing/learning.py [--relinks 5] [--folds 10] [--only
    OCC-7|OCC-15] [--l 5 8 10] [--quick]

The training folds are published, a classifier is trained on what was published and tested on the
*original* rows of the held-out fold. Sliced and bucketized tables are put together at random within
buckets, some times over; of generalized ones, each attribute gives its lower and its upper bound as
two features, and a generalized class is drawn from its interval. All three are cut by Mondrian
under distinct l-diversity: as bounds on shares l = 5, 8 and 10 cannot be kept on this table.
Bucketization is slicing with occupation in a column of its own.

The last tables look for reasons. In one of them the *whole* table is published, and both training
and held-out rows are published ones, as where cross validation is given the published file.

The decision tree (entropy, at least 20 rows a leaf, no pruning) stands for J48, which has many-way
splits on categories and prunes; attributes are given to it as codes in the order of their domains.
Naive Bayes takes categories, numbers in 10 intervals of equal width. Floor: always the most
frequent class. Ceiling: trained on the original rows.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl
from adult import OCC_7, OCC_15, SENSITIVE, Ints, microdata, publish, show
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from phalanx.data.microdata import Microdata
from phalanx.methods.mondrian.method import Mondrian
from phalanx.methods.slicing.method import Slicing

BINS = 10
LEAF = 20
Codes = dict[str, Ints]
"""The code of every row in every attribute."""
Way = Callable[[Microdata, Ints, int], Iterator[tuple[Codes, Codes]]]
"""Publishes these rows of a table, by a seed: the lower and the upper codes of what is published,
once or some times over.
"""
Features = tuple[np.ndarray, np.ndarray]
"""Rows of features, shape (n, d), and their classes, shape (n,)."""


def codes(table: Microdata, rows: Ints) -> Codes:
    return {name: column.codes[rows].astype(np.int64) for name, column in table.columns.items()}


def binned(table: Microdata, name: str, values: Ints) -> Ints:
    """A number in ten intervals of equal width, a category as it is."""
    domain = table.columns[name].domain
    if domain.type == "categorical" or len(domain) <= BINS:
        return values
    return np.minimum((domain.normalised[values] * BINS).astype(np.int64), BINS - 1)


def original(table: Microdata, rows: Ints, _: int) -> Iterator[tuple[Codes, Codes]]:
    """The rows as they are."""
    found = codes(table, rows)
    yield found, found


def relinked(
    method: Slicing, times: int, table: Microdata, rows: Ints, seed: int
) -> Iterator[tuple[Codes, Codes]]:
    """A sliced table put together at random within its buckets, some times over."""
    draft = publish(method, table.take(rows), seed)
    own, columns = codes(table, rows), draft.form.columns  # type: ignore[attr-defined]  # a sliced form
    for again in range(times):
        rng = np.random.default_rng([seed, again])
        found = {}
        in_order = np.argsort(draft.groups, kind="stable")
        for column in columns:
            dealt = np.lexsort((rng.random(len(rows)), draft.groups))
            for name in column:
                found[name] = np.empty_like(own[name])
                found[name][in_order] = own[name][dealt]
        yield found, found


def generalized(l: int, table: Microdata, rows: Ints, seed: int) -> Iterator[tuple[Codes, Codes]]:
    """The ends of the intervals of every group."""
    taken = table.take(rows)
    draft = publish(Mondrian(k=l, l=l, diversity="distinct", cuts="strict"), taken, seed)
    frame = pl.DataFrame({"group": draft.groups, **codes(taken, np.arange(len(rows)))})
    names = taken.schema.quasi
    ends = frame.select(
        *(pl.col(n).min().over("group").alias(f"{n}_low") for n in names),
        *(pl.col(n).max().over("group").alias(f"{n}_high") for n in names),
    )
    low, high = (
        {n: ends[f"{n}_{end}"].to_numpy() for n in names} | {SENSITIVE: frame[SENSITIVE].to_numpy()}
        for end in ("low", "high")
    )
    yield low, high


def published(l: int, relinks: int) -> dict[str, Way]:
    """The paper's three, under distinct l-diversity."""
    sliced = Slicing(l=l, diversity="distinct", columns=2, sensitive_column_size=2)
    bucketized = Slicing(
        l=l, diversity="distinct", columns=2, sensitive_column_size=1, cuts="strict"
    )
    return {
        "slicing": partial(relinked, sliced, relinks),
        "bucketization": partial(relinked, bucketized, relinks),
        "generalization": partial(generalized, l),
    }


def features(
    table: Microdata, names: Sequence[str], sides: Sequence[Codes], classes: Ints
) -> tuple[Features, Features]:
    """Features and classes for the tree and for naive Bayes; two ``sides`` of intervals are two
    features.
    """
    tree = np.stack([side[name] for side in sides for name in names], axis=1)
    bayes = np.stack([binned(table, name, side[name]) for side in sides for name in names], axis=1)
    return (tree, classes), (bayes, classes)


def accuracies(
    table: Microdata,
    ways: dict[str, Way],
    target: str,
    folds: int,
    *,
    without: str | None = None,
    of_published: bool = False,
) -> dict[str, tuple[float, float]]:
    """Of every way of publishing the mean accuracy of the tree and of naive Bayes over the folds;
    ``of_published``: folds of the published whole.
    """
    rng = np.random.default_rng(11)
    fold = rng.permutation(table.rows) % folds
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    names = [name for name in table.columns if name not in (target, without)]
    sizes = [len(table.columns[name].domain) for name in names]
    whole = (
        {what: list(way(table, np.arange(table.rows), 0)) for what, way in ways.items()}
        if of_published
        else {}
    )
    for number in range(folds):
        rows, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        own = codes(table, held)
        for what, way in ways.items():
            for low, high in whole[what] if of_published else way(table, rows, number):
                test_low, test_high = (
                    (own, own) if not of_published else (_of(held, low), _of(held, high))
                )
                train_low, train_high = (
                    (low, high) if not of_published else (_of(rows, low), _of(rows, high))
                )
                both = what == "generalization"
                classes = rng.integers(train_low[target], train_high[target] + 1)
                truth = rng.integers(test_low[target], test_high[target] + 1)
                tree, bayes = features(
                    table, names, [train_low, train_high] if both else [train_low], classes
                )
                tree_test, bayes_test = features(
                    table, names, [test_low, test_high] if both else [test_low], truth
                )
                learned = DecisionTreeClassifier(
                    criterion="entropy", min_samples_leaf=LEAF, random_state=0
                ).fit(*tree)
                counted = CategoricalNB(min_categories=np.array(sizes * (2 if both else 1))).fit(
                    *bayes
                )
                found[what].append(
                    (float(learned.score(*tree_test)), float(counted.score(*bayes_test)))
                )
        most = np.bincount(codes(table, rows)[target]).argmax()
        found["most frequent class"].append((float((own[target] == most).mean()),) * 2)
    return {what: tuple(np.mean(figures, axis=0)) for what, figures in found.items()}  # type: ignore[misc]


def _of(rows: Ints, column: Codes) -> Codes:
    return {name: values[rows] for name, values in column.items()}


def figures(
    name: str, quasi: Sequence[str], relinks: int, folds: int, diversities: Sequence[int]
) -> None:
    """Figures 3 and 4; of the attributes that say the same of education, ``education_num`` is left
    out once.
    """
    table = microdata(quasi)
    for target, without in [
        (SENSITIVE, None),
        ("education", None),
        *([("education", "education_num")] if "education_num" in quasi else []),
    ]:
        rows, began = [], time.perf_counter()
        for l in diversities:
            ways = published(l, relinks) | ({"original": original} if l == diversities[0] else {})
            for what, (tree, bayes) in accuracies(
                table, ways, target, folds, without=without
            ).items():
                if l == diversities[0] or what in ways:
                    rows.append(
                        [
                            l if what in published(l, relinks) else "",
                            what,
                            f"{tree:.1%}",
                            f"{bayes:.1%}",
                        ]
                    )
        seconds = time.perf_counter() - began
        show(
            f"{name}, predicting {target}{f' without {without}' if without else ''}",
            ["l", "trained on", "decision tree", "naive Bayes"],
            rows,
        )
        print(f"({seconds:.0f} s)\n")


def more_columns(name: str, quasi: Sequence[str], relinks: int, folds: int) -> None:
    """Figure 5."""
    table = microdata(quasi)
    rows = []
    for target, without in ((SENSITIVE, None), ("education", "education_num")):
        ways: dict[str, Way] = {
            f"c = {c}": partial(
                relinked,
                Slicing(l=5, diversity="distinct", columns=c, sensitive_column_size=2),
                relinks,
            )
            for c in (2, 3, 5)
        }
        found = accuracies(table, ways, target, folds, without=without)
        rows += [[target, what, f"{found[what][0]:.1%}", f"{found[what][1]:.1%}"] for what in ways]
    show(
        f"{name}, l = 5, slicing into more columns",
        ["predicting", "columns", "decision tree", "naive Bayes"],
        rows,
    )


def why(relinks: int, folds: int, diversities: Sequence[int]) -> None:
    """Mondrian cuts by sex, so that buckets tell it without any column; random buckets do not."""
    table = microdata(OCC_7)
    rows = []
    for l in diversities:
        draft = publish(
            Slicing(l=l, diversity="distinct", columns=2, sensitive_column_size=2), table, 1
        )
        held = pl.DataFrame(
            {
                "bucket": draft.groups,
                "sex": table.columns["sex"].codes,
                "education": table.columns["education"].codes,
            }
        )
        alike = held.select(
            (pl.col(name).n_unique().over("bucket") == 1).mean() for name in ("sex", "education")
        ).row(0)
        rows.append(
            [
                l,
                draft.form.groups,
                f"{table.rows / draft.form.groups:.1f}",
                *(f"{share:.1%}" for share in alike),
            ]
        )
    show(
        "OCC-7: rows in buckets of one sex, and of one education",
        ["l, distinct", "buckets", "rows a bucket", "one sex", "one education"],
        rows,
    )
    rows = []
    for size in (20, 100):
        for target in (SENSITIVE, "education"):
            ways: dict[str, Way] = {
                what: partial(
                    relinked,
                    Slicing(
                        l=1,
                        columns=2,
                        sensitive_column_size=alpha,
                        grouping="random",
                        bucket_size=size,
                    ),
                    relinks,
                )
                for what, alpha in (("slicing", 2), ("bucketization", 1))
            }
            found = accuracies(table, ways, target, folds)
            rows += [
                [size, target, what, f"{found[what][0]:.1%}", f"{found[what][1]:.1%}"]
                for what in ways
            ]
    show(
        "OCC-7, random buckets",
        ["rows a bucket", "predicting", "trained on", "decision tree", "naive Bayes"],
        rows,
    )
    rows = []
    for target in (SENSITIVE, "education"):
        for l in diversities:
            found = accuracies(table, published(l, relinks), target, folds, of_published=True)
            rows += [
                [target, l, what, f"{found[what][0]:.1%}", f"{found[what][1]:.1%}"]
                for what in published(l, relinks)
            ]
    show(
        "OCC-7, held-out rows are published ones",
        ["predicting", "l", "trained on", "decision tree", "naive Bayes"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--relinks", type=int, default=5)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--only", choices=["OCC-7", "OCC-15"])
    parser.add_argument("--l", type=int, nargs="+", default=[5, 8, 10])
    parser.add_argument("--quick", action="store_true", help="2 folds, put together once")
    asked = parser.parse_args()
    relinks, folds = (1, 2) if asked.quick else (asked.relinks, asked.folds)
    for name, quasi in (("OCC-7", OCC_7), ("OCC-15", OCC_15)):
        if asked.only in (None, name):
            figures(name, quasi, relinks, folds, asked.l)
            more_columns(name, quasi, relinks, folds)
    if asked.only in (None, "OCC-7"):
        why(relinks, folds, asked.l)


if __name__ == "__main__":
    main()
