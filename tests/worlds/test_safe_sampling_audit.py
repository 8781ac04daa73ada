# SPDX-License-Identifier: Apache-2.0
"""Safe sampling as it runs, audited: millions of small tables and as many neighbours, and no event
that is likelier than the promise allows.

One large table holds a million cells of n rows, each a little table of its own, and another the
same cells with one row more. A release of each shows what a million runs show. Everything that
protects is drawn afresh; a correct program fails one run of this file in a million.
"""

from fractions import Fraction
from itertools import count

import numpy as np
import polars as pl
import pytest
from scipy.special import betainccinv, betaincinv, gammainc, gammaincc

from naive import safe_sampling as naive
from phalanx.accounting import tight_delta
from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.safe_sampling.method import SafeSampling, publish_sample
from phalanx.methods.safe_sampling.schemes import FixedScheme
from phalanx.randomness import Randomness, Stream

SIDE = 1000
CELLS = SIDE**2
TESTS = 10_000
"""More than there are confidence bounds and p-values in this file, so that by Bonferroni all of
them together raise a false alarm once in a million runs.
"""
ALARM = 1e-6 / TESTS

SCHEMA = Schema(quasi=["x", "y"])
SCHEME = {name: {"low": 0, "high": SIDE, "width": 1} for name in "xy"}


def cells(n):
    """A million cells with n rows each, those of a cell one after the other."""
    cell = np.repeat(np.arange(CELLS, dtype=np.int32), n)
    columns = {
        name: Column(codes, Domain("numeric", pl.Series(name, np.arange(SIDE))))
        for name, codes in zip("xy", np.divmod(cell, SIDE), strict=True)
    }
    return Microdata(SCHEMA, len(cell), columns, pl.DataFrame(), None)


def histogram(form, n):
    """In how many cells each count was shown, 0 for those that do not appear, shape (n + 1,)."""
    shown = np.bincount(
        form.table["x_low"].to_numpy() * SIDE + form.table["y_low"].to_numpy(), minlength=CELLS
    )
    return np.bincount(shown, minlength=n + 1)


def the_program(microdata, k, beta, epsilon):
    """What the method publishes under fresh randomness."""
    return (
        SafeSampling(k=k, beta=str(beta), epsilon=float(epsilon), scheme=SCHEME, allow_empty=True)
        .publish(microdata, Memory(), Randomness.secure())
        .form
    )


def sampled_by(sampler):
    """The program with another sampler, a function of the randomness, beta, and the numbers of
    cells and of rows in each.
    """

    def mechanism(microdata, k, beta, _epsilon):
        sample = sampler(Randomness.secure().stream("sample"), beta, CELLS, microdata.rows // CELLS)
        return publish_sample(microdata, sample, FixedScheme.of(SCHEME, SCHEMA), k)[0]

    return mechanism


def exceeded(one, other, epsilon, delta):
    """Whether some event is surely likelier in one table than e^epsilon times in the other plus
    delta; of two histograms of counts.

    The events are the upper sets of counts, the lower ones, and the single counts, each probability
    with Clopper and Pearson's bound.
    """
    shown = np.arange(len(one))
    events = np.concatenate(
        [shown >= shown[:, None], shown < shown[:, None], shown == shown[:, None]]
    )
    here, there = events @ one, events @ other
    least = np.where(here > 0, betaincinv(np.maximum(here, 1), CELLS - here + 1, ALARM), 0)
    most = np.where(there < CELLS, betainccinv(there + 1, np.maximum(CELLS - there, 1), ALARM), 1)
    factor = np.nextafter(float(naive.exponential_between(epsilon)[0]), 0)
    return bool((least > factor * most + delta).any())


def rejects(mechanism, n, k, beta, epsilon, delta):
    """Whether the audit of n rows against n + 1 rejects the promise of a mechanism."""
    without, with_it = (
        histogram(mechanism(cells(rows), k, beta, epsilon), n + 1) for rows in (n, n + 1)
    )
    assert without.sum() == with_it.sum() == CELLS
    return exceeded(with_it, without, epsilon, delta) or exceeded(without, with_it, epsilon, delta)


def worst_count(k, beta, epsilon):
    """The number of rows in a cell at which one more has the largest delta."""
    factor = naive.exponential_between(epsilon)[0]
    return max(range(20), key=lambda n: naive.one_cell_delta(n, k, beta, factor))


CASES = [
    (3, Fraction(1, 2), Fraction(1)),
    (2, Fraction(1, 10), Fraction("0.5")),
    (4, Fraction(1, 4), Fraction("0.5")),
    (6, Fraction(1, 3), Fraction("0.2")),
]


@pytest.mark.parametrize("case", CASES)
def test_the_running_program_keeps_its_promise(case):
    """A million little tables at the worst count against as many with one row more: no event
    exceeds the tight delta, and one exceeds half of it.

    (So the audit could have said no: by theory the excess over half of delta is 12 standard errors
    above its bound, or more.)
    """
    n, delta = worst_count(*case), tight_delta(*case)
    without, with_it = (histogram(the_program(cells(rows), *case), n + 1) for rows in (n, n + 1))

    assert without.sum() == with_it.sum() == CELLS
    assert not exceeded(with_it, without, case[2], delta)
    assert not exceeded(without, with_it, case[2], delta)
    assert exceeded(with_it, without, case[2], delta / 2)


def one_less(microdata, k, beta, epsilon):
    """Threshold k - 1."""
    return the_program(microdata, k - 1, beta, epsilon)


def a_fifth_more(stream, beta, copies, rows):
    """Each row with a probability that is a fifth larger."""
    return stream.bernoulli(beta * Fraction(6, 5), copies * rows)


def every_third_row(_stream, _beta, copies, rows):
    """No randomness at all, at the right rate."""
    return np.arange(0, copies * rows, 3)


def one_coin_for_two(stream, beta, copies, rows):
    """Each row with the right probability, but neighbours together."""
    first = 2 * stream.bernoulli(beta, -(-copies * rows // 2))
    both = np.stack([first, first + 1], axis=1).ravel()
    return both[both < copies * rows]


def always_the_same(_stream, beta, copies, rows):
    """The sample of a fixed seed, in every table the same: here one that takes the first three
    rows.
    """
    drawn = next(
        drawn
        for seed in count()
        if len(drawn := Randomness.seeded(seed).stream("sample").bernoulli(beta, 3)) == 3
    )
    return (np.arange(copies)[:, None] * rows + drawn[drawn < rows]).ravel()


BROKEN = [
    (one_less, *CASES[0], worst_count(2, *CASES[0][1:])),
    (one_less, *CASES[2], worst_count(3, *CASES[2][1:])),
    (sampled_by(a_fifth_more), *CASES[2], worst_count(4, Fraction(3, 10), Fraction("0.5"))),
    (sampled_by(every_third_row), 2, Fraction(1, 3), Fraction(1), 3),
    (sampled_by(one_coin_for_two), 2, Fraction(1, 2), Fraction(1), 1),
    (sampled_by(always_the_same), *CASES[0], 2),
]


@pytest.mark.parametrize(("mechanism", "k", "beta", "epsilon", "n"), BROKEN)
def test_broken_twins_are_rejected(mechanism, k, beta, epsilon, n):
    """A lower threshold, a larger sample, and samplers that are predictable in whole or in part are
    all found out, and the program is not.
    """
    claim = n, k, beta, epsilon, tight_delta(k, beta, epsilon)

    assert rejects(mechanism, *claim)
    assert not rejects(the_program, *claim)


BETAS = [
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction("0.2"),
    Fraction(2**62 + 1, 2**63 - 1),
    Fraction(2**62 + 1, 3 * 2**61),
]


def taken(sampler, beta, n):
    """A sample by a fresh key, as a 0 or 1 per row, shape (n,)."""
    rows = sampler(Randomness.secure().stream("sample"), beta, n)
    assert (np.diff(rows) > 0).all()
    return np.bincount(rows, minlength=n)


def chi_square(observed, expected):
    """The p-value of counts, all of whose expectations are known beforehand but for their total."""
    return float(
        gammaincc((len(observed) - 1) / 2, ((observed - expected) ** 2 / expected).sum() / 2)
    )


def of_subsets(sampler, beta, n=3, times=10_000):
    """The p-value of all 2^n samples of n rows, each by its probability, over releases that each
    have a key of their own.
    """
    found = np.bincount(
        [int(taken(sampler, beta, n) @ (1 << np.arange(n))) for _ in range(times)], minlength=2**n
    )
    sizes = np.bitwise_count(np.arange(2**n))
    return chi_square(found, times * float(beta) ** sizes * float(1 - beta) ** (n - sizes))


def of_pairs(drawn, beta, lag):
    """The p-value of who of two rows ``lag`` apart is taken: none, one, the other, both; each row
    is in one pair only.
    """
    n = len(drawn) // (2 * lag) * 2 * lag
    first, second = drawn[:n].reshape(-1, 2, lag).swapaxes(0, 1).reshape(2, -1)
    p, q = float(beta), float(1 - beta)
    return chi_square(
        np.bincount(2 * first + second, minlength=4),
        n // 2 * np.array([q * q, q * p, p * q, p * p]),
    )


def of_places(drawn, beta, places):
    """The p-value of how often each place of a row of ``places`` is taken: neither too unequal, nor
    too equal for independent draws.
    """
    counts = drawn.reshape(-1, places).sum(axis=0)
    times = len(drawn) // places
    squares = ((counts - times * float(beta)) ** 2).sum() / (times * float(beta) * float(1 - beta))
    return 2 * min(
        float(gammaincc(places / 2, squares / 2)), float(gammainc(places / 2, squares / 2))
    )


def worst_p_value(sampler, beta):
    """The smallest p-value over three parts of the rows as they are drawn at a time: of rows a
    step, a word, a block or a part apart, and of places.
    """
    drawn = taken(sampler, beta, 3 * 2**20)
    return min(
        *(of_pairs(drawn, beta, lag) for lag in (1, 2, 3, 8, 64, 2**20)),
        *(of_places(drawn, beta, places) for places in (2**10, 3 * 2**10)),
    )


@pytest.mark.parametrize("beta", BETAS)
def test_every_row_is_sampled_by_itself(beta):
    """All samples of three rows have their probabilities, and of three million rows none knows of
    another, or of its place.
    """
    assert of_subsets(Stream.bernoulli, beta) > ALARM
    assert worst_p_value(Stream.bernoulli, beta) > ALARM


def by_remainder(stream, beta, n):
    """Words by their plain remainder, which favours small ones."""
    return np.flatnonzero(stream.words(n) % np.uint64(beta.denominator) < beta.numerator)


def from_one_seed(_stream, beta, n):
    """A sample that every release repeats."""
    return Randomness.seeded(1).stream("sample").bernoulli(beta, n)


def in_pairs(stream, beta, n):
    """One coin for two rows."""
    return one_coin_for_two(stream, beta, 1, n)


def at_a_regular_step(_stream, _beta, n):
    """Every third row."""
    return every_third_row(None, None, 1, n)


def test_samplers_that_are_not_fair_are_seen():
    """The same figures reject a sampler that is biased, predictable, regular, or gives two rows one
    coin.
    """
    assert worst_p_value(by_remainder, BETAS[-1]) < ALARM
    assert of_subsets(by_remainder, BETAS[-1]) < ALARM
    assert of_subsets(from_one_seed, Fraction(1, 2)) < ALARM
    assert worst_p_value(at_a_regular_step, Fraction(1, 3)) < ALARM
    assert (
        of_places(taken(at_a_regular_step, Fraction(1, 3), 3 * 2**20), Fraction(1, 3), 2**10)
        < ALARM
    )
    assert worst_p_value(in_pairs, Fraction(1, 2)) < ALARM
    assert of_subsets(in_pairs, Fraction(1, 2)) < ALARM


@pytest.mark.parametrize("beta", BETAS)
def test_no_probability_is_rounded(beta, monkeypatch):
    """Of each run of ``denominator`` words exactly the first ``numerator`` take a row; words after
    the last whole run are drawn again.
    """
    numerator, denominator = beta.numerator, beta.denominator
    runs = 2**64 // denominator
    starts = [0, denominator, (runs - 1) * denominator]
    words = [
        start + at for start in starts for at in (0, numerator - 1, numerator, denominator - 1)
    ]
    beyond = [
        word for word in (runs * denominator, 2**64 - 1) if runs * denominator <= word < 2**64
    ]
    given = [words + beyond, [numerator] * len(beyond)]
    monkeypatch.setattr(
        Stream, "words", lambda _self, n: np.array(given.pop(0), dtype=np.uint64)[:n]
    )

    sample = Randomness.seeded(0).stream("sample").bernoulli(beta, len(words) + len(beyond))

    assert sample.tolist() == [i for i in range(len(words)) if i % 4 < 2]
    assert sum(len(more) for more in given) == 0
