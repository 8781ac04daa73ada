# SPDX-License-Identifier: Apache-2.0
"""m-Invariance against all possible worlds of small series, in exact fractions."""

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import MethodError
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.randomness import Randomness
from worlds.m_invariance import PublishedRelease, risks

KEY = PersonKey(bytes(32))
SCHEMA = Schema(identifier="person", quasi=["a", "b"], sensitive="value")


@st.composite
def small_series(draw):
    """Up to 6 persons in 2 or 3 releases, who come, leave and return; values persist,
    quasi-identifiers may change.
    """
    m = draw(st.integers(2, 3))
    releases = draw(st.integers(2, 3))
    people = draw(st.integers(2, 6))
    values = {p: draw(st.sampled_from("uvwx"[: m + 1])) for p in range(people)}
    present = {
        p: draw(st.lists(st.booleans(), min_size=releases, max_size=releases))
        for p in range(people)
    }
    qi = {
        (p, j): (draw(st.integers(0, 2)), draw(st.integers(0, 1)))
        for p in range(people)
        for j in range(releases)
    }
    tables = [
        [(p, *qi[p, j], values[p]) for p in range(people) if present[p][j]] for j in range(releases)
    ]
    return m, tables, values, draw(st.integers(0, 2**32))


def publish_all(m, tables, seed, *, remember=True, spoil=None):
    """Publish a series with the method alone; ``spoil`` may change the memory between releases."""
    memory, series = Memory(), []
    for j, table in enumerate(tables):
        if not table:
            memory = replace(memory, groups=None)
            continue
        frame = pl.DataFrame(table, schema=["person", "a", "b", "value"], orient="row")
        microdata = Microdata.encode(frame, SCHEMA, KEY)
        try:
            draft = MInvariance(m=m, remember=remember, not_eligible="suppress").publish(
                microdata, memory, Randomness.seeded(seed + j)
            )
        except MethodError:
            memory = replace(memory, groups=None)
            continue
        memory = memory.after(draft, draft.mapping(microdata))
        if spoil is not None:
            memory = spoil(memory)
        series.append(as_published(frame, draft))
    return series


def as_published(frame, draft):
    """What the adversary sees of a draft, and who is in it."""
    counts = dict(draft.form.counterfeits.iter_rows())
    groups = {}
    for row in draft.form.table.iter_rows(named=True):
        box = [(row["a_low"], row["a_high"]), (row["b_low"], row["b_high"])]
        groups.setdefault(row["group"], (box, [], counts.get(row["group"], 0)))[1].append(
            row["value"]
        )
    persons = {
        p: (a, b) for (p, a, b, _), g in zip(frame.iter_rows(), draft.groups, strict=True) if g > 0
    }
    return PublishedRelease(persons, groups)


def check_risks(case):
    """Every person's risk is at most 1/m, and the true world is among the worlds."""
    m, tables, values, seed = case
    series = publish_all(m, tables, seed)
    if series:
        found = risks(series, values)
        assert found is not None
        assert max(found.values()) <= Fraction(1, m)
        assert min(found.values()) > 0


@given(small_series())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nobody_is_at_more_risk_than_one_in_m(case):
    """Lemma 3 with gaps in the lifespans: risk <= 1/m for every person in every small series."""
    check_risks(case)


@pytest.mark.slow
@given(small_series())
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nobody_is_at_more_risk_than_one_in_m_on_thousands_of_series(case):
    """The same on thousands of series."""
    check_risks(case)


def exceeds(series, values, m):
    """Whether some person is at more risk than 1/m for an adversary who knows no principle."""
    found = risks(series, values, principle=False) if series else None
    return found is not None and max(found.values()) > Fraction(1, m)


FIND = settings(max_examples=20_000, deadline=None, database=None, derandomize=True)


def test_one_wrong_signature_is_caught():
    """A broken twin that swaps one remembered person's signature is found at more risk than 1/m."""

    def spoil(memory):
        persons, entries = memory.tables["persons"], memory.tables["signatures"]
        own = entries.row(by_predicate=pl.col("entry") == persons["entry"][0], named=True)
        last = entries.row(by_predicate=pl.col("entry") == persons["entry"][-1], named=True)
        other = entries.filter(
            (pl.col("signature") == last["signature"]) & (pl.col("value") == own["value"])
        )["entry"]
        if last["signature"] == own["signature"] or not len(other):
            return memory
        wrong = persons.with_columns(
            entry=pl.concat([other.cast(persons["entry"].dtype), persons["entry"][1:]])
        )
        return replace(memory, tables={**memory.tables, "persons": wrong})

    case = find(
        small_series(),
        lambda c: exceeds(publish_all(c[0], c[1], c[3], spoil=spoil), c[2], c[0]),
        settings=FIND,
    )

    m, tables, values, seed = case
    assert exceeds(publish_all(m, tables, seed, spoil=spoil), values, m)


def test_forgetting_is_caught():
    """The paper's own look back of one release puts somebody who returns at more risk than 1/m."""
    case = find(
        small_series(),
        lambda c: exceeds(publish_all(c[0], c[1], c[3], remember=False), c[2], c[0]),
        settings=FIND,
    )

    m, tables, values, seed = case
    assert exceeds(publish_all(m, tables, seed, remember=False), values, m)
