# SPDX-License-Identifier: Apache-2.0
"""The scripts on safe sampling that need no data: two answers from one sample, and the town of the
paper; their documents show what they print.
"""

import importlib.util
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import comb

import pytest

from support.scripts import EXPERIMENTS, run_script, tables_of

EXPLANATION = EXPERIMENTS.parent / "docs" / "explanation"


@pytest.fixture(scope="module")
def one_sample():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location(
        "one_sample", EXPERIMENTS / "safe_sampling" / "one_sample.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def printed():
    """What each script prints, run as its reader does."""
    ran = {
        name: run_script(f"safe_sampling/{name}.py", data=None)
        for name in ("one_sample", "net_worth")
    }
    assert all(run.returncode == 0 for run in ran.values()), ran
    return {name: run.stdout for name, run in ran.items()}


def quoted(page):
    """What a page shows as printed."""
    return (
        page.read_text(encoding="utf-8")
        .split("<!-- printed by ", 1)[1]
        .split("-->\n", 1)[1]
        .split("<!-- end -->")[0]
    )


@pytest.mark.parametrize(
    ("name", "page"),
    [("one_sample", "one-sample-one-answer"), ("net_worth", "k-anonymity-and-algorithms")],
)
def test_documents_show_what_is_printed(printed, name, page):
    """The tables of each explanation are, letter by letter, what the script prints now."""
    assert quoted(EXPLANATION / f"{page}.md").strip() == printed[name].strip()


DRAWN = """
import numpy as np, scores
from fractions import Fraction
from phalanx.methods.safe_sampling.private_choice import PrivateChoice
choice, qualities = PrivateChoice(Fraction(1), sensitivity=1), np.array([0, 1, 2])
def shares(times=4000):
    return np.bincount([choice.among(qualities) for _ in range(times)], minlength=3) / times
with scores.seeded(1):
    first = shares()
with scores.seeded(1):
    again = shares()
print((first == again).all(), np.abs(first - shares()).max() < 0.06)
"""


def test_choices_from_a_seed_have_the_methods_law():
    """They are the same each time, and of the three candidates each is drawn about as often as by
    OpenDP (five standard deviations of the difference).
    """
    paths = [str(EXPERIMENTS / "safe_sampling")]
    code = f"import sys; sys.path[:0] = {paths}{DRAWN}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True"]


def order(rows):
    """Of a section's rows: the deltas of each alone, and of both by whether the samples are fresh,
    at each e^epsilon; and what the epsilons add up to.
    """
    (_, e_first, first), (_, e_second, second), *both = rows
    fresh, same = (
        {e: d for what, e, d in both if what == f"both, {of}"}
        for of in ("of two fresh samples", "of one sample")
    )
    assert fresh.keys() == same.keys()
    assert min(fresh) == (e_first * e_second)
    return first + second, fresh, same


def breaks(rows, *, of_any_epsilon):
    """Whether two fresh samples keep the sum of both promises, and one sample does not."""
    promised, fresh, same = order(rows)
    broken = [same[e] > promised for e in sorted(same)]
    return all(d <= promised for d in fresh.values()) and (
        all(broken) if of_any_epsilon else broken[0]
    )


def test_parity(one_sample):
    """Each bit is perfectly private, and so are both of two samples; both of one sample give Ann
    away whenever she was drawn, whatever epsilon is.
    """
    rows = one_sample.section_22(5)
    promised, fresh, same = order(rows)
    assert promised == 0
    assert set(fresh.values()) == {0}
    assert set(same.values()) == {Fraction(1, 2)}
    assert breaks(rows, of_any_epsilon=True)


def test_a_private_answer_undoes_the_other(one_sample):
    """Each keeps its epsilon with no delta, and two fresh samples keep the sum; of one sample no
    small delta is left, also at a larger epsilon.
    """
    rows = one_sample.section_26()
    promised, _, same = order(rows)
    assert promised == 0
    assert breaks(rows, of_any_epsilon=True)
    assert min(same.values()) > Fraction(1, 20)


def test_the_papers_own_bit(one_sample):
    """It hides in a sample of as many men as women, and stands open in one of men."""
    (_, _, balanced), (_, _, men) = one_sample.section_26_majority(40)
    assert balanced == 0
    assert men > Fraction(2, 5)


def test_two_recodings(one_sample):
    """Each keeps the exact delta of the mechanism, two fresh samples the sum, and one sample shows
    Ann nearly whenever she was drawn, whatever epsilon is.
    """
    rows = one_sample.two_recodings(16)
    assert rows[0][2] == rows[1][2] == exact_delta(one_sample.K, one_sample.BETA, Fraction(2), 16)
    assert breaks(rows, of_any_epsilon=True)
    large = one_sample.answers((16, 0), one_sample.BETA, one_sample.by_street)
    published = sum(p for answer, p in large.items() if answer[0])
    assert order(rows)[2][Fraction(1000)] > one_sample.BETA * published * Fraction(9, 10)


def test_a_recoding_beside_an_answer(one_sample):
    """One sample keeps less than two fresh ones, and what is promised when the answer's epsilon is
    counted twice, without sampling.
    """
    rows = one_sample.beside_an_answer(9)
    promised, _, same = order(rows)
    assert breaks(rows, of_any_epsilon=False)
    assert same[max(same)] <= promised


def test_an_order_that_is_not_there_is_seen(one_sample):
    """Two fresh samples passed off as one, and one passed off as two, are both rejected."""
    rows = one_sample.two_recodings(8)
    named = {
        "both, of one sample": "both, of two fresh samples",
        "both, of two fresh samples": "both, of one sample",
    }
    assert breaks(rows, of_any_epsilon=True)
    assert not breaks(
        [*rows[:4], *((f"both, of {'one sample'}", e, d) for _, e, d in rows[2:4])],
        of_any_epsilon=True,
    )
    assert not breaks(
        [*rows[:2], *((named[what], e, d) for what, e, d in rows[2:])], of_any_epsilon=True
    )


# Slow, obvious twins


def exact_delta(k, beta, e, most):
    """The largest hockey-stick divergence of the count of a cell, if at least k, with n rows and
    with n + 1.
    """

    def counts(n):
        of = [comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1)]
        return [sum(of[:k]), *of[k:], *[0] * (most + 2)][: most + 2]

    largest = 0
    for n in range(most + 1):
        p, q = counts(n), counts(n + 1)
        largest = max(
            largest,
            *(
                sum(max(a - e * b, 0) for a, b in zip(x, y, strict=True))
                for x, y in ((p, q), (q, p))
            ),
        )
    return largest


def by_rows(table, beta, algorithm):
    """The answers of a table by going through all subsets of its rows, each by itself."""
    rows = [kind for kind, count in enumerate(table) for _ in range(count)]
    found = {}
    for drawn in product([False, True], repeat=len(rows)):
        probability = Fraction(1)
        for is_drawn in drawn:
            probability *= beta if is_drawn else 1 - beta
        sample = tuple(
            sum(d for d, kind in zip(drawn, rows, strict=True) if kind == i)
            for i in range(len(table))
        )
        for answer, chance in algorithm(sample).items():
            found[answer] = found.get(answer, 0) + probability * chance
    return found


@pytest.mark.parametrize("table", [(0, 0), (3, 1), (6, 0), (5, 1)])
def test_answers_are_those_of_all_subsets(one_sample, table):
    """Rows of one kind counted together give the same probabilities as every subset gone
    through.
    """
    algorithms = [
        one_sample.parity,
        one_sample.parity_or_not,
        one_sample.by_street,
        one_sample.by_town,
        one_sample.noisy_others(8, Fraction(3, 2)),
    ]
    for algorithm in algorithms:
        found = one_sample.answers(table, Fraction(1, 3), algorithm)
        assert found == by_rows(table, Fraction(1, 3), algorithm)
        assert sum(found.values()) == 1


def test_sizes_and_noise_are_those_of_a_sum(one_sample):
    """Samples counted by their size modulo two blocks are those of the binomial coefficients; the
    noisy bit is that of the noise added up.
    """
    for rows, counted in enumerate(one_sample.sizes(600)):
        if rows in (0, 511, 512, 600):
            for large, of in enumerate(counted):
                direct = [0] * 32
                for j in range(rows + 1):
                    if (j >= 512) == bool(large):
                        direct[j % 32] += comb(rows, j)
                assert of == direct
    e = Fraction(2)
    noise = {z: (1 - 1 / e) / (1 + 1 / e) * (1 / e) ** abs(z) for z in range(-200, 201)}
    for size in (0, 7, 15, 16, 31):
        assert float(one_sample.noisy_bit(size, e)) == pytest.approx(
            float(sum(p for z, p in noise.items() if (size + z) // 16 % 2)), abs=1e-12
        )


def test_five_tables_are_printed(printed):
    """Each section has its table; no delta is missing."""
    found = tables_of(printed["one_sample"])
    assert [len(rows) for rows in found.values()] == [6, 6, 2, 6, 6]
    assert all(0 <= float(row[2]) <= 1 for rows in found.values() for row in rows)
