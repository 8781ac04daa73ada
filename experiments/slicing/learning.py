"""What classifiers learn from sliced, bucketized and generalized tables (Figures 3 to 5 of the paper).

    PHALANX_DATA=folder python experiments/slicing/learning.py [--relinks 5] [--folds 10] [--only OCC-7|OCC-15]

The training folds are published, a classifier is trained on what was published and tested on the *original* rows of the held-out fold. Sliced and bucketized tables are
put together at random within buckets, some times over; of generalized ones, each attribute gives its lower and its upper bound as two features, and a generalized class
is drawn from its interval. All three are cut by Mondrian under distinct l-diversity: as bounds on shares l = 5, 8 and 10 cannot be kept on this table. Bucketization is slicing with
occupation in a column of its own.

The decision tree (entropy, at least 20 rows a leaf, no pruning) stands for J48, which has many-way splits on categories and prunes; attributes are given to it as codes in the
order of their domains. Naive Bayes takes categories, numbers in 10 intervals of equal width. Floor: always the most frequent class. Ceiling: trained on the original rows.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from adult import OCC_7, OCC_15, SENSITIVE, Ints, microdata, publish, show
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from phalanx.data.microdata import Microdata
from phalanx.methods.mondrian import Mondrian
from phalanx.methods.slicing import Slicing

BINS = 10
LEAF = 20
Features = tuple[np.ndarray, np.ndarray]
"""Rows of features, shape (n, d), and their classes, shape (n,)."""


def codes(table: Microdata, rows: Ints) -> dict[str, Ints]:
    return {name: column.codes[rows].astype(np.int64) for name, column in table.columns.items()}


def binned(table: Microdata, name: str, values: Ints) -> Ints:
    """A number in ten intervals of equal width, a category as it is."""
    domain = table.columns[name].domain
    if domain.type == "categorical" or len(domain) <= BINS:
        return values
    return np.minimum((domain.normalised[values] * BINS).astype(np.int64), BINS - 1)


def original(table: Microdata, rows: Ints) -> Iterator[tuple[dict[str, Ints], dict[str, Ints]]]:
    """Lower and upper codes of every attribute, the same."""
    found = codes(table, rows)
    yield found, found


def relinked(table: Microdata, rows: Ints, method: Slicing, seed: int, times: int) -> Iterator[tuple[dict[str, Ints], dict[str, Ints]]]:
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


def generalized(table: Microdata, rows: Ints, l: int, seed: int) -> Iterator[tuple[dict[str, Ints], dict[str, Ints]]]:
    """Lower and upper codes of every group."""
    taken = table.take(rows)
    draft = publish(Mondrian(k=l, l=l, diversity="distinct"), taken, seed)
    frame = pl.DataFrame({"group": draft.groups, **codes(taken, np.arange(len(rows)))})
    names = taken.schema.quasi
    ends = frame.select(*(pl.col(n).min().over("group").alias(f"{n}_low") for n in names), *(pl.col(n).max().over("group").alias(f"{n}_high") for n in names))
    low, high = ({n: ends[f"{n}_{end}"].to_numpy() for n in names} | {SENSITIVE: frame[SENSITIVE].to_numpy()} for end in ("low", "high"))
    yield low, high


def features(
    table: Microdata, low: dict[str, Ints], high: dict[str, Ints], target: str, rng: np.random.Generator, *, bounds: bool
) -> tuple[Features, Features]:
    """Features and classes for the tree and for naive Bayes."""
    names = [name for name in table.columns if name != target]
    sides = [low, high] if bounds else [low]
    classes = rng.integers(low[target], high[target] + 1)
    tree = np.stack([side[name] for side in sides for name in names], axis=1)
    bayes = np.stack([binned(table, name, side[name]) for side in sides for name in names], axis=1)
    return (tree, classes), (bayes, classes)


def accuracies(table: Microdata, ways: dict[str, Callable[[Ints, int], Any]], target: str, folds: int) -> dict[str, tuple[float, float]]:
    """Of every way of publishing the mean accuracy of the tree and of naive Bayes over the folds."""
    rng = np.random.default_rng(11)
    fold = rng.permutation(table.rows) % folds
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    sizes = [len(table.columns[name].domain) for name in table.columns if name != target]
    for number in range(folds):
        rows, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        own = codes(table, held)
        for what, way in ways.items():
            bounds = what == "generalization"
            (tree_test, truth), (bayes_test, _) = features(table, own, own, target, rng, bounds=bounds)
            for low, high in way(rows, number):
                (tree, classes), (bayes, _) = features(table, low, high, target, rng, bounds=bounds)
                learned = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=LEAF, random_state=0).fit(tree, classes)
                counted = CategoricalNB(min_categories=np.array(sizes * (2 if bounds else 1))).fit(bayes, classes)
                found[what].append((float((learned.predict(tree_test) == truth).mean()), float((counted.predict(bayes_test) == truth).mean())))
        most = np.bincount(codes(table, rows)[target]).argmax()
        found["most frequent class"].append((float((own[target] == most).mean()),) * 2)
    return {what: tuple(np.mean(figures, axis=0)) for what, figures in found.items()}  # type: ignore[misc]


def figures(name: str, quasi: Sequence[str], relinks: int, folds: int, diversities: Sequence[int]) -> None:
    table = microdata(quasi)
    for target in (SENSITIVE, "education"):
        rows = []
        for l in diversities:
            sliced = Slicing(l=l, diversity="distinct", columns=2, sensitive_column_size=2)
            bucketized = Slicing(l=l, diversity="distinct", columns=2, sensitive_column_size=1)
            ways: dict[str, Callable[[Ints, int], Any]] = {
                "slicing": lambda r, s, m=sliced: relinked(table, r, m, s, relinks),
                "bucketization": lambda r, s, m=bucketized: relinked(table, r, m, s, relinks),
                "generalization": lambda r, s, l=l: generalized(table, r, l, s),
            }
            if l == diversities[0]:
                ways["original"] = lambda r, _: original(table, r)
            began = time.perf_counter()
            found = accuracies(table, ways, target, folds)
            rows += [
                [l if what in ("slicing", "bucketization", "generalization") else "", what, f"{tree:.1%}", f"{bayes:.1%}"]
                for what, (tree, bayes) in found.items()
                if l == diversities[0] or what != "most frequent class"
            ]
            seconds = time.perf_counter() - began
        show(f"{name}, predicting {target}", ["l", "trained on", "decision tree", "naive Bayes"], rows)
        print(f"(the last l took {seconds:.0f} s)\n")


def more_columns(name: str, quasi: Sequence[str], relinks: int, folds: int) -> None:
    table = microdata(quasi)
    rows = []
    for target in (SENSITIVE, "education"):
        ways: dict[str, Callable[[Ints, int], Any]] = {}
        for c in (2, 3, 5):
            method = Slicing(l=5, diversity="distinct", columns=c, sensitive_column_size=2)
            ways[f"c = {c}"] = lambda r, s, m=method: relinked(table, r, m, s, relinks)
        rows += [
            [target, what, f"{tree:.1%}", f"{bayes:.1%}"] for what, (tree, bayes) in accuracies(table, ways, target, folds).items() if what.startswith("c")
        ]
    show(f"{name}, l = 5, slicing into more columns", ["predicting", "columns", "decision tree", "naive Bayes"], rows)


def why(relinks: int, folds: int) -> None:
    """Mondrian cuts by sex, so that buckets tell it without any column; random buckets do not."""
    table = microdata(OCC_7)
    rows = []
    for l in (5, 8, 10):
        draft = publish(Slicing(l=l, diversity="distinct", columns=2, sensitive_column_size=2), table, 1)
        sexes = pl.DataFrame({"bucket": draft.groups, "sex": table.columns["sex"].codes}).select((pl.col("sex").n_unique().over("bucket") == 1).mean()).item()
        rows.append([l, draft.form.groups, f"{sexes:.1%}"])
    show("OCC-7: rows in buckets of one sex", ["l, distinct", "buckets", "rows"], rows)
    rows = []
    for size in (20, 100):
        ways: dict[str, Callable[[Ints, int], Any]] = {}
        for what, alpha in (("slicing", 2), ("bucketization", 1)):
            method = Slicing(l=1, columns=2, sensitive_column_size=alpha, grouping="random", bucket_size=size)
            ways[what] = lambda r, s, m=method: relinked(table, r, m, s, relinks)
        found = accuracies(table, ways, SENSITIVE, folds)
        rows += [[size, what, f"{found[what][0]:.1%}", f"{found[what][1]:.1%}"] for what in ways]
    show("OCC-7, predicting occupation, random buckets", ["rows a bucket", "trained on", "decision tree", "naive Bayes"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relinks", type=int, default=5)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--only", choices=["OCC-7", "OCC-15"])
    parser.add_argument("--l", type=int, nargs="+", default=[5, 8, 10])
    asked = parser.parse_args()
    for name, quasi in (("OCC-7", OCC_7), ("OCC-15", OCC_15)):
        if asked.only in (None, name):
            figures(name, quasi, asked.relinks, asked.folds, asked.l)
            more_columns(name, quasi, asked.relinks, asked.folds)
    if asked.only in (None, "OCC-7"):
        why(asked.relinks, asked.folds)


if __name__ == "__main__":
    main()
