# SPDX-License-Identifier: Apache-2.0
"""Risks of re-identification are those of a count by hand, and are not given where there is none."""

from collections import Counter
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.errors import ReleaseError
from phalanx.report import classes as classes_of
from phalanx.report.classes import THRESHOLDS, Classes

SCHEMA = px.Schema(quasi=["age", "sex"], sensitive="ill")
PEOPLE = pl.DataFrame({
    "age": [30, 30, 31, 40, 40, 41, 50, 50, 50, 51, 60, 60],
    "sex": list("fmfmfmfmfmfm"),
    "ill": ["flu", "gout", "rash"] * 4,
})  # fmt: skip


@given(of=st.lists(st.tuples(st.integers(1, 130), st.integers(0, 130)), max_size=40))
def test_risks_are_those_of_every_record(of: list[tuple[int, int]]) -> None:
    """Each record is found with 1 over its class: the highest, the mean, and shares above a bound;
    a counterfeit hides others, and is no record of anybody.
    """
    sizes, invented = [size for size, _ in of], [min(more, size) for size, more in of]
    both = [np.array(each, dtype=np.int64) for each in (sizes, invented)]
    found = Classes(both[0], "a group", invented=both[1] if any(invented) else None)
    each = zip(sizes, invented, strict=True)
    records = [Fraction(1, size) for size, more in each for _ in range(size - more)]
    assert found.rows == len(records)
    assert found.worst == pytest.approx(float(max(records, default=0)))
    assert found.average == pytest.approx(float(sum(records) / max(1, len(records))))
    for bound in THRESHOLDS:
        above = sum(risk > Fraction(str(bound)) for risk in records)
        assert found.above(bound) == pytest.approx(above / max(1, len(records)))
    assert sum(classes for _, classes, _ in found.distribution) == len(sizes)
    assert sum(rows for *_, rows in found.distribution) == len(records)


def test_a_class_is_what_a_form_shows() -> None:
    """Groups of a generalized release, equal quasi-identifiers of a bucketized one; of a release
    whose rows are nobody's, none.
    """
    release = px.publish(PEOPLE, SCHEMA, px.Mondrian(k=3))
    classes = Classes.of_form(release.form)
    assert classes is not None
    assert sorted(classes.sizes) == sorted(Counter(release.table["group"].to_list()).values())
    bucketized = Classes.of_form(px.publish(PEOPLE, SCHEMA, px.Anatomy(l=2)).form)
    assert bucketized is not None
    assert sorted(bucketized.sizes) == sorted(Counter(PEOPLE.select("age", "sex").rows()).values())
    for method in (
        px.MutualCover(delta="1/2"),
        px.Slicing(l=2, columns=[["age", "sex"], ["ill"]], cuts="strict"),
    ):
        assert Classes.of_form(px.publish(PEOPLE, SCHEMA, method).form) is None


def test_counterfeits_are_counted_group_by_group(tmp_path: Path) -> None:
    """Those of a group stand beside its rows, whole and in parts."""
    people = pl.DataFrame({"who": range(8), "age": range(8), "ill": list("abcdabcd")})
    schema = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
    series = px.Series("s", schema, px.MInvariance(m=2), to=tmp_path, report=False)
    series.publish(people)
    form = series.publish(people[::3]).form
    classes, invented = Classes.of_form(form), dict(form.counterfeits.rows())
    rows = Counter(form.table["group"].to_list())
    assert classes is not None and sum(invented.values()) > 0
    persons = {group: size - invented.get(group, 0) for group, size in rows.items()}
    assert sorted(zip(classes.sizes, classes.held, strict=True)) == sorted(
        (rows[group], persons[group]) for group in rows
    )
    mean = sum(Fraction(persons[group], rows[group]) for group in rows) / 3
    assert (classes.rows, classes.average) == (3, pytest.approx(float(mean)))


@pytest.mark.parametrize("at_once", [1, 3, 4])
def test_rows_that_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """Where most rows are equal, some are counted after the other, to the same classes."""
    rows = pl.DataFrame({"len": [None, 2, None, 2, 3, 2, None], "b": list("aaaabaa")})
    monkeypatch.setattr(classes_of, "_AT_ONCE", at_once)
    for table in (rows, rows.sort(rows.columns)):
        assert sorted(classes_of._equal(table, table.columns)) == [1, 3, 3]


def test_a_column_may_have_the_name_of_a_count() -> None:
    """What is counted beside it has none that a column can have."""
    table, schema = PEOPLE.rename({"sex": "len"}), px.Schema(quasi=["age", "len"], sensitive="ill")
    classes = Classes.of_form(px.publish(table, schema, px.Anatomy(l=2)).form)
    assert classes is not None and classes.rows == len(table)


def test_images_of_a_sample_are_classes() -> None:
    """Rows of one image look alike."""
    scheme = {"age": {"low": 0, "high": 100, "width": 50}}
    method = px.SafeSampling(epsilon=8, k=2, beta="0.9", scheme=scheme, allow_empty=True)
    release = px.publish(pl.concat([PEOPLE] * 20), SCHEMA, method)
    classes = Classes.of_form(release.form)
    assert classes is not None and classes.rows == release.rows and classes.sizes.min() >= 2


def test_the_json_has_the_figures() -> None:
    """Journalist risk is at most the prosecutor's, as no population is declared."""
    told = Classes(np.array([2, 4, 20]), "a group").to_json()
    assert told["prosecutor"] == {"highest": 0.5, "average": round(3 / 26, 6)}
    assert told["journalist"] == {"highest": 0.5, "is": "at most"} and told["marketer"] == round(
        3 / 26, 6
    )
    assert told["above"] == {
        "0.05": round(6 / 26, 6),
        "0.09": round(6 / 26, 6),
        "0.2": round(6 / 26, 6),
        "0.33": round(2 / 26, 6),
    }
    assert [each["rows"] for each in told["classes"]] == ["2", "3 to 4", "20 to 49"]


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), outside=st.integers(0, 200))
def test_population_uniques_are_those_of_the_model(sizes: list[int], outside: int) -> None:
    """As Zayatz counts them, with the hypergeometric chances of one of j persons in a sample; never
    more than are alone, and all of these where the table is the population.
    """
    rows, alone = sum(sizes), sizes.count(1)
    people = rows + outside
    found = Classes(np.array(sizes), "a group", people).population_uniques
    one = {
        j: Fraction(j * comb(people - j, rows - 1), comb(people, rows)) if people >= j else 0
        for j in set(sizes)
    }
    chance = sum(one[j] for j in sizes)
    expected = alone * alone * one[1] / chance if alone else 0

    assert found == pytest.approx(float(expected))
    assert found <= alone + 1e-9
    assert outside or found == pytest.approx(alone)
    assert Classes(np.array(sizes), "a group").population_uniques is None


def test_the_model_says_rather_too_many() -> None:
    """Of samples of a made-up population, on average at least as many as there are."""
    rng = np.random.default_rng(3)
    classes = rng.zipf(1.6, 30_000) % 4000
    sizes = np.bincount(classes)
    for share in (0.02, 0.1, 0.5):
        said, true = [], []
        for _ in range(5):
            sampled = rng.choice(classes, int(share * len(classes)), replace=False)
            seen = np.bincount(sampled, minlength=len(sizes))
            said.append(Classes(seen[seen > 0], "a group", len(classes)).population_uniques)
            true.append(int(((seen == 1) & (sizes == 1)).sum()))
        assert np.mean(said) >= np.mean(true) > 0


def test_a_population_has_the_table_in_it() -> None:
    """A smaller one is a mistake."""
    form = px.publish(PEOPLE, SCHEMA, px.Anatomy(l=2)).form
    assert Classes.of_form(form, 12).population_uniques == Classes.of_form(form).alone
    with pytest.raises(ReleaseError, match="of 11 persons is smaller than the release"):
        Classes.of_form(form, 11)
