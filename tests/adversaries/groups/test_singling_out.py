# SPDX-License-Identifier: Apache-2.0
"""The singling-out adversary: predicates on planted tables, what they are worth on tables that had
no part in them, and releases that say less.
"""

from math import log, sqrt
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from adversaries.groups.test_downcoding import release
from adversaries.groups.test_posterior import WORKED, encoded, published
from phalanx import Anatomy, Mondrian, PhalanxError, SafeSampling, Schema, SinglingOut
from phalanx.adversaries.groups import singling_out
from phalanx.adversaries.groups.predicates import Predicates, Regions
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError, ReleaseError
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from support.work import lines, memory

ALPHA = 1e-6


def table(n=3000, seed=1):
    """Persons of whom every attribute goes its own way, so that weights are products."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "zip": rng.integers(0, 300, n),
            "sex": rng.choice(["f", "m"], n),
            "hours": rng.integers(0, 60, n),
            "days": rng.integers(0, 30, n),
            "ill": rng.choice(list("abcdefgh"), n),
        }
    )
    return frame, encoded_with(frame, ["age", "zip", "sex", "hours", "days"])


def encoded_with(frame, quasi):
    """The table with these quasi-identifiers."""
    return Microdata.encode(
        frame.select(*quasi, "ill"), Schema(quasi=quasi, sensitive="ill", types={"zip": "numeric"})
    )


def attacked(method, microdata, boxes, **asked):
    """What the adversary finds in what the method publishes of the table."""
    draft = method.publish(microdata, Memory(), Randomness.seeded(1))
    made = release(draft.form, boxes, method.parameters())
    if draft.form.kind == "recoded":
        made = type(made)(
            made.manifest.model_copy(update={"scheme": dict(draft.form.scheme)}),
            draft.form,
            made.path,
        )
    return SinglingOut(**asked).attack([made], Evidence(microdata={1: microdata}))


@pytest.mark.parametrize(
    ("method", "boxes"),
    [(Mondrian(k=10, l=3), "tight"), (Mondrian(k=5), "tight"), (Anatomy(l=4), "exact")],
    ids=["l", "k", "anatomy"],
)
def test_careless_releases_single_out(method, boxes):
    """Of k-anonymous, l-diverse and bucketized releases nearly every predicate holds for one row,
    where one in ten would by chance at most.
    """
    found = attacked(method, table()[1], boxes)

    assert found.predicates > 50
    assert found.interval[0] > 0.85
    assert found.baseline < 0.1
    assert 0 < found.weight * 3000 <= 0.1
    assert found.histogram[1] == round(found.success * found.predicates) >= found.exposed > 50


def test_a_private_release_does_not():
    """Of an (epsilon, delta)-differentially private release no predicate is so light; heavier ones
    hold for one row as often as by chance.

    Each predicate holds for one row or not: by Hoeffding's inequality the number is off by more
    than sqrt(g ln(2 / alpha) / 2) with probability alpha, 1e-6.
    """
    method = SafeSampling(epsilon=1, delta="1e-6", scheme=SCHEME, expected_rows=20_000)
    microdata = encoded_with(table(20_000)[0], ["age", "zip", "sex"])
    light, any_weight = (
        attacked(method, microdata, "fixed"),
        attacked(method, microdata, "fixed", expected="1"),
    )
    allowed = sqrt(any_weight.predicates * log(2 / ALPHA) / 2)

    assert (light.predicates, light.success, light.exposed) == (0, None, 0)
    assert any_weight.predicates > 50
    assert abs(any_weight.success - any_weight.baseline) * any_weight.predicates < allowed
    careless = attacked(Mondrian(k=10, l=3), table()[1], "tight")
    assert abs(careless.success - careless.baseline) * careless.predicates > sqrt(
        careless.predicates * log(2 / ALPHA) / 2
    )


@pytest.mark.parametrize("beta", [0, -1, pytest.param(10**400, id="huge"), "x", None])
def test_a_sample_that_is_none_is_refused(beta):
    """A stranger's manifest may say anything of its method."""
    method = SafeSampling(epsilon=1, delta="1e-6", scheme=SCHEME, allow_empty=True)
    microdata = encoded_with(table(2000)[0], ["age", "zip", "sex"])
    said = {**method.parameters(), "beta": beta}
    publish = method.publish
    method = SimpleNamespace(publish=publish, parameters=lambda: said)
    with pytest.raises(PhalanxError, match=r"beta must be|no row was sampled"):
        attacked(method, microdata, "fixed")


SCHEME = {
    "age": {"low": 18, "high": 90, "widths": [24]},
    "zip": {"low": 0, "high": 300, "widths": [75]},
}


def holds(made, i, row, bit):
    """Whether a predicate holds for a row of codes, with the sensitive one last: the slow way."""
    inside = all(
        low <= code <= high for low, code, high in zip(made.low[i], row, made.high[i], strict=False)
    )
    return inside and made.value[i] in (-1, row[-1]) and bit < made.bit[i]


def predicates(microdata, method=None, most=1e-4):
    """The predicates that the adversary makes of a release of the table."""
    draft = (method or Mondrian(k=5, l=2)).publish(microdata, Memory(), Randomness.seeded(1))
    regions = Regions.of(release(draft.form), microdata)
    return Predicates.best(regions, np.arange(len(regions)), most), regions


def test_every_predicate_is_what_it_says():
    """Row by row, the slow way: as many rows satisfy each as the fast way counts, its weight is the
    product of shares and below the bound.
    """
    frame, microdata = table(600)
    made, regions = predicates(microdata)
    codes = [microdata.columns[name].codes.tolist() for name in (*regions.names, "ill")]
    rows, bits = list(zip(*codes, strict=True)), singling_out._bits(microdata, 7)
    slow = [
        sum(holds(made, i, row, bit) for row, bit in zip(rows, bits, strict=True))
        for i in range(len(made))
    ]
    _, matched = singling_out._matching(made, regions, microdata, key=7)

    assert len(made) > 20
    assert np.bincount(matched, minlength=len(made)).tolist() == slow
    for i in range(len(made)):
        share = 1.0
        for a, column in enumerate(codes[:-1]):
            share *= (
                sum(made.low[i][a] <= code <= made.high[i][a] for code in column) / frame.height
            )
        share *= 1 if made.value[i] < 0 else codes[-1].count(made.value[i]) / frame.height
        assert made.weight[i] == pytest.approx(share * made.bit[i])
        assert made.weight[i] <= 1e-4
    known = (made.value >= 0) & (made.bit == 1)
    assert known.any()
    assert {slow[i] for i in np.flatnonzero(known)} == {1}


def test_rows_of_other_regions():
    """Where boxes overlap, the rows of others that are expected in each, by shares: pair by pair,
    the slow way.
    """
    rng = np.random.default_rng(3)
    rows = [
        (
            int(rng.integers(1, 9)),
            "xyzu"[rng.integers(4)],
            "mn"[rng.integers(2)],
            "st"[rng.integers(2)],
        )
        for _ in range(60)
    ]
    microdata = encoded(rows)
    regions = Regions.of(
        published("generalized", microdata, rng.permutation(np.arange(60) // 6)), microdata
    )
    own = [microdata.columns[name].codes.tolist() for name in regions.names]

    def share(low, high):
        return np.prod(
            [
                sum(a <= code <= b for code in column) / 60
                for column, a, b in zip(own, low, high, strict=True)
            ]
        )

    for i, found in enumerate(regions.others(np.arange(len(regions)))):
        expected = 0.0
        for j in set(range(len(regions))) - {i}:
            low, high = (
                np.maximum(regions.low[i], regions.low[j]),
                np.minimum(regions.high[i], regions.high[j]),
            )
            if (low <= high).all():
                expected += (
                    share(low, high) / share(regions.low[j], regions.high[j]) * regions.rows[j]
                )
        assert found == pytest.approx(expected)
        assert found > 0


def test_many_attributes_are_looked_at_once():
    """Twice as many attributes take twice the work and twice the memory: the weight of a box with
    one end in the place of an interval is made of the others' shares, which are multiplied once.
    """

    def regions(d):
        low = np.random.default_rng(d).integers(0, 5, (40, d))
        none, below = np.zeros(0, dtype=np.int64), np.linspace(0, 1, 11)
        names, rows = [f"q{a}" for a in range(d)], np.full(40, 5.0)
        return Regions(names, low, low + 4, rows, True, none, none, none, [below] * d, np.zeros(0))

    few, many = regions(100), regions(200)
    tried = np.arange(40)
    for work in (lines, memory):
        one, other = (work(lambda r=r: Predicates.best(r, tried, 1.0)) for r in (few, many))
        assert other < 2.5 * one


def test_by_chance_is_by_chance():
    """On tables of the same distribution that had no part in them, predicates hold for one row as
    often as the baseline says.

    One predicate for each of 2,000 tables: by Hoeffding's inequality the number of those that hold
    for one row is off by more than sqrt(2000 ln(2 / alpha) / 2) with probability alpha, 1e-6. On
    their own table they are off by more.
    """
    _, microdata = table(600)
    made, regions = predicates(microdata, most=1 / 600)
    rng = np.random.default_rng(5)
    shares = [
        np.bincount(microdata.columns[name].codes) / microdata.rows
        for name in (*regions.names, "ill")
    ]
    trials, once, weights = 2000, 0, []
    for i in rng.integers(0, len(made), trials):
        fresh = [rng.choice(len(share), 600, p=share) for share in shares]
        inside = (rng.random(600) < made.bit[i]) & (
            (made.value[i] < 0) | (fresh[-1] == made.value[i])
        )
        for a in range(len(regions.names)):
            inside &= (fresh[a] >= made.low[i][a]) & (fresh[a] <= made.high[i][a])
        once += int(inside.sum()) == 1
        weights.append(made.weight[i])
    expected, allowed = (
        singling_out.by_chance(np.array(weights), 600) * trials,
        sqrt(trials * log(2 / ALPHA) / 2),
    )
    _, matched = singling_out._matching(made, regions, microdata, key=7)

    assert abs(once - expected) < allowed
    assert (np.bincount(matched, minlength=len(made)) == 1).mean() * trials - expected > allowed


def test_counterfeits_and_equal_rows():
    """Equal rows cannot be singled out, whatever the random bit; and what stands there once beside
    a counterfeit is not known to be a row's.
    """
    rows = [(1, "x", "m", "s")] * 6 + [(9, "y", "n", "t")] * 6
    microdata = encoded(rows)
    found = SinglingOut(expected="1").attack(
        [published("bucketized", microdata, [0, 1] * 6)], Evidence(microdata={1: microdata})
    )
    assert found.exposed == found.histogram.get(1, 0) == 0
    form = published("generalized", microdata, [0] * 6 + [1] * 6).form
    counted = type(form)(
        form.table, form.attributes, pl.DataFrame({"group": [1, 2], "count": [1, 0]})
    )
    regions = Regions.of(release(counted), microdata)
    assert set(regions.cell_region.tolist()) == {1}
    assert regions.rows.tolist() == [5, 6]


def test_another_table_is_refused():
    """Of a table no row of which can lie in any region nothing could be singled out, whatever the
    release says.
    """
    microdata = encoded(WORKED)
    release = published("generalized", microdata, [0, 1] * 4)
    other = encoded([(a + 1000, *more) for a, *more in WORKED])
    with pytest.raises(ReleaseError, match="no row of the original table can lie where release 1"):
        SinglingOut().attack([release], Evidence(microdata={1: other}))


def test_what_is_missing_is_named():
    """One sentence for several releases, no original table, forms that it does not read, and a
    bound that is none.
    """
    microdata = encoded(WORKED)
    one, evidence = (
        published("generalized", microdata, [0, 1] * 4),
        Evidence(microdata={1: microdata}),
    )
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        SinglingOut().attack([one, one], evidence)
    with pytest.raises(ReleaseError, match="release 1 has no original table"):
        SinglingOut().attack([one], Evidence())
    with pytest.raises(ReleaseError, match="this one is sliced"):
        SinglingOut().attack([published("sliced", microdata, [0, 1] * 4)], evidence)
    for wrong in ("0", "2", "-1"):
        with pytest.raises(PlanError, match="the expected number of rows must be"):
            SinglingOut(expected=wrong)
    with pytest.raises(PhalanxError):
        SinglingOut(sample=0)


def test_the_json_has_the_documented_keys():
    """Those of every attack, and its own; the bound as text."""
    found = attacked(Mondrian(k=5), table(300)[1], "tight").to_json()
    assert list(found)[8:] == ["interval", "predicates", "weight", "expected"]
    assert found["expected"] == "1/10"
