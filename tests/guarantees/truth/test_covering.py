# SPDX-License-Identifier: Apache-2.0
"""An original table beside a release in parts: one part after the other says what all of them say
together.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.arrays import Ints
from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.truth import coverage, covering
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.sliced import Sliced

SCHEMA = px.Schema(quasi=["age", "town"], sensitive="ill", missing="value")
METHODS = {
    "k": lambda: px.Mondrian(k=3),
    "l": lambda: px.Mondrian(k=3, l=2),
    "anatomy": lambda: px.Anatomy(l=2),
    "sliced": lambda: px.Slicing(l=2, columns=[["town"], ["age"], ["ill"]]),
    "sliced, alone": lambda: px.Slicing(l=2, columns=[["age", "town"], ["ill"]]),
}


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Persons of whom many are alike, and some have no value."""
    ill = rng.integers(0, 7, n)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 30, n),
            "town": [f"town {i}" for i in rng.integers(0, 4, n)],
            "ill": [None if i == 6 else "abcdef"[i] for i in ill],
        }
    )


def another(rng: np.random.Generator, table: pl.DataFrame) -> pl.DataFrame:
    """The same table, or one in which some persons are others, are missing or are more."""
    n, kind = table.height, rng.integers(0, 5)
    few = int(rng.integers(1, 4))
    if kind == 1:
        return pl.concat([table[few:], people(rng, few)])
    if kind == 2:
        return table[few:]
    if kind == 3:
        return pl.concat([table, people(rng, few)])
    if kind == 4:
        return table.with_columns(ill=table["ill"].gather(rng.permutation(n)))
    return table


def some_of(form: Form, wanted: pl.Expr) -> Form:
    """The groups of a form of which an expression says that they are meant."""
    if isinstance(form, Generalized):
        counts = form.counterfeits
        return replace(
            form,
            table=form.table.filter(wanted),
            counterfeits=None if counts is None else counts.filter(wanted),
        )
    if isinstance(form, Bucketized):
        return replace(form, table=form.table.filter(wanted), values=form.values.filter(wanted))
    assert isinstance(form, Sliced)
    return replace(form, given=tuple(each.filter(wanted) for each in form.given))


def in_parts(rng: np.random.Generator, form: Form) -> Sequence[Form]:
    """The form, cut into one to four parts, some groups each."""
    ids = form.tables()[next(iter(form.tables()))][form.id_column].unique().sort()
    part = rng.integers(0, rng.integers(1, 5), len(ids))
    mine = [ids.filter(part == at).implode() for at in np.unique(part)]
    return [some_of(form, pl.col(form.id_column).is_in(some)) for some in mine]


def looked_at(
    monkeypatch: pytest.MonkeyPatch,
    release: Release,
    original: Microdata | Combinations,
    forms: Sequence[Form],
    *,
    hides_values: bool,
) -> Verdict | None:
    """What is said where the release comes in these forms."""
    with monkeypatch.context() as patch:
        patch.setattr(coverage, "_forms", lambda _: iter(forms))
        return coverage.check(release, original, hides_values=hides_values)


def differences(monkeypatch: pytest.MonkeyPatch, seeds: Sequence[int], method: str) -> int:
    """How often parts, and combinations of an original that comes some rows at a time, say something
    else than the whole and its rows.
    """
    differing = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        table = people(rng, int(rng.integers(30, 60)))
        release = px.publish(table, SCHEMA, METHODS[method](), seed=seed)
        form, hides = release.form, bool(rng.integers(0, 2))
        if rng.integers(0, 2) and isinstance(form, Generalized):
            moved = rng.integers(0, 2, form.table["group"].max() + 1)[form.table["group"]]
            form = replace(form, table=form.table.with_columns(age_low=pl.col("age_low") - moved))
        original = another(rng, table)
        at = sorted({0, original.height, *rng.integers(0, original.height, 2).tolist()})
        batches = [original[i:j] for i, j in pairwise(at)]
        whole = looked_at(
            monkeypatch, release, Microdata.encode(original, SCHEMA), [form], hides_values=hides
        )
        parts = looked_at(
            monkeypatch,
            release,
            Combinations.counted(lambda batches=batches: batches, SCHEMA),
            in_parts(rng, form),
            hides_values=hides,
        )
        assert whole is not None
        differing += whole != parts
    return differing


@pytest.mark.parametrize("method", METHODS)
def test_parts_say_what_the_whole_says(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """However groups are spread over parts, and whatever the original is."""
    assert differences(monkeypatch, range(40), method) == 0


class Hosts(covering.OfGeneralized):
    """Forgets before each part in which groups persons may be."""

    def add(self, form: Form) -> None:
        self._hosts[:] = 0
        super().add(form)


class Numbers(covering.OfGeneralized):
    """Numbers the groups of each part anew."""

    def add(self, form: Form) -> None:
        self._before, self._needed = self._needed, []
        super().add(form)
        self._needed = [*self._before, *self._needed]


class Loose(covering.OfGeneralized):
    """Says of the last part alone which ends are no values."""

    def add(self, form: Form) -> None:
        self._loose = 0
        super().add(form)


class Shown(covering.OfGeneralized):
    """Counts the values of the last part alone."""

    def add(self, form: Form) -> None:
        self._shown.clear()
        super().add(form)


class Buckets(covering.OfBucketized):
    """Looks for persons in the last part alone."""

    def add(self, form: Form) -> None:
        self._covered[:] = False
        super().add(form)


class Columns(covering.OfSliced):
    """Looks for persons in the last part alone."""

    def add(self, form: Form) -> None:
        self._covered[:] = False
        super().add(form)


class Anew(covering.Exact):
    """Lets each part publish what the table has."""

    def add(self, published: pl.DataFrame) -> Ints:
        self._all = getattr(self, "_all", self._left.copy())
        self._left[:] = self._all
        return super().add(published)


@pytest.mark.parametrize(
    ("broken", "name", "method"),
    [
        (Hosts, "OfGeneralized", "k"),
        (Numbers, "OfGeneralized", "k"),
        (Loose, "OfGeneralized", "k"),
        (Shown, "OfGeneralized", "l"),
        (Buckets, "OfBucketized", "anatomy"),
        (Columns, "OfSliced", "sliced"),
        (Anew, "Exact", "anatomy"),
        (Anew, "Exact", "sliced"),
    ],
)
def test_what_forgets_earlier_parts_is_refused(
    monkeypatch: pytest.MonkeyPatch, broken: type, name: str, method: str
) -> None:
    """The same test sees what each twin leaves out."""
    for module in (coverage, covering):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, broken)
    assert differences(monkeypatch, range(30), method) > 0


@pytest.mark.parametrize("method", ["anatomy", "sliced", "sliced, alone"])
@pytest.mark.parametrize(("published", "laid"), [("float", "int"), ("int", "float")])
def test_numbers_that_are_one_as_fractions(method: str, published: str, laid: str) -> None:
    """Whole numbers beyond 2**53 may be one number where the other table has fractions, whichever of
    both that is: no value of either is then more often there than in the other.
    """
    kinds = {"float": pl.Float64(), "int": pl.Int64()}
    ages = [2**53, 2**53 + 1, 7, 8]
    table = pl.DataFrame({"age": ages * 10, "town": ["a", "b"] * 20, "ill": [*"abcdefgh"] * 5})
    schema = replace(SCHEMA, types={"age": "numeric"})
    release = px.publish(
        table.with_columns(pl.col("age").cast(kinds[published])), schema, METHODS[method](), seed=1
    )
    original = table.with_columns(pl.col("age").cast(kinds[laid]))
    verdict = coverage.check(release, Microdata.encode(original, schema), hides_values=False)
    assert verdict is not None
    assert "are of no person" not in verdict.note
