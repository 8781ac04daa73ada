# SPDX-License-Identifier: Apache-2.0
"""Li, Qardaji and Su, figure by figure, for ``experiments/page.py``. No data; what the paper calls
delta is its theorem's d(k, beta, epsilon). The numbers in its formulas are lost in the text that
this was read from, so that settings are ours where its words do not give them.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, exp, expm1, floor, log

import numpy as np
import numpy.typing as npt
from charts import Panel, line
from claims import Claim, Figure, Paper, Variant
from one_sample import HALF, Answers, answers, delta, parity, parity_or_not

from phalanx.accounting import solve
from phalanx.accounting.amplification import amplified
from phalanx.accounting.binomials import log_tail
from phalanx.accounting.composition import together
from phalanx.accounting.solve import smallest_epsilon, smallest_k
from phalanx.accounting.theorem import log_delta

Lines = dict[str, list[tuple[float, float]]]
Floats = npt.NDArray[np.float64]
SMALL = Fraction(1, 10**6)
LOST = "The numbers of the paper are lost in its text; the settings are ours."


def d(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The theorem's d as a float."""
    return exp(log_delta(k, beta, epsilon))


def tenths(low: int, high: int, step: int = 1) -> list[Fraction]:
    return [Fraction(i, 10) for i in range(low, high + 1, step)]


def falls(values: Sequence[float]) -> bool:
    return all(a > b for a, b in pairwise(values))


def drawn(lines: Lines, title: str, across: str, *, log_y: bool = True) -> list[Panel]:
    series = {name: line(*zip(*points, strict=True)) for name, points in lines.items()}
    return [Panel(title, across, series, log_y=log_y)]


# Table 1 and the two axioms


def sampled(_: Variant) -> list[tuple[float, Fraction, float, float]]:
    """(epsilon alone, beta, epsilon on the sample, delta on the sample), delta alone 1e-5."""
    rates = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 10), Fraction(1, 100)]
    return [(e, b, *amplified(e, "1e-5", b)) for e in (0.1, 1.0, 2.0) for b in rates]


TABLE_1 = Figure(
    name="Table 1",
    shows="epsilon and delta of an algorithm alone and on a sample",
    measured=sampled,
    setting=f"Theorem 1 at delta = 1e-5. {LOST}",
    claims=[
        Claim(
            says="proportional decreases in e^epsilon - 1 and in delta with the sampling probability",
            rule="to 9 digits",
            ours=lambda rows: "; ".join(
                f"{e:g} at beta = {b}: {s:.4f}, {x:.0e}" for e, b, s, x in rows[4:8]
            ),
            holds=lambda rows: all(
                abs(expm1(s) / expm1(e) / float(b) - 1) < 1e-9
                and abs(x * 1e5 / float(b) - 1) < 1e-9
                for e, b, s, x in rows
            ),
        ),
        Claim(
            says="for epsilon = 1 slightly tighter than the 2 beta of an earlier lemma",
            ours=lambda rows: ", ".join(
                f"{s:.4f} beside {2 * float(b):g}" for _, b, s, _ in rows[4:8]
            ),
            holds=lambda rows: all(s < 2 * b for _, b, s, _ in rows[4:8]),
        ),
    ],
)


def chosen(_: Variant) -> list[tuple[Fraction, float, float]]:
    """(probability of the first, delta of the choice, the larger delta of the two), exactly."""
    one, other = (10, 1), (10, 0)

    def mixed(p: Fraction) -> Callable[[tuple[int, ...]], Answers]:
        def algorithm(sample: tuple[int, ...]) -> Answers:
            found = {(0, a): p * q for a, q in parity_or_not(sample).items()}
            return found | {(1, a): (1 - p) * q for a, q in counted(sample).items()}

        return algorithm

    def counted(sample: tuple[int, ...]) -> Answers:
        return {sum(sample): Fraction(1)}

    def worst(algorithm: Callable[[tuple[int, ...]], Answers]) -> Fraction:
        return delta(*(answers(t, HALF, algorithm) for t in (one, other)), Fraction(3, 2))

    most = max(worst(a) for a in (parity, parity_or_not, counted))
    return [
        (p, float(worst(mixed(p))), float(most)) for p in (Fraction(i, 10) for i in range(1, 10))
    ]


CHOICE = Figure(
    name="Theorem 2.4",
    shows="an algorithm chosen at random from two",
    measured=chosen,
    setting=(
        "By enumeration of all samples of ten rows and Ann, beta = 1/2, e^epsilon = 3/2: a bit that "
        "Ann turns round, or the number of rows, each published with the name of the algorithm."
    ),
    claims=[
        Claim(
            says="a choice, with any probability, between two that keep (beta, epsilon, delta) keeps it",
            ours=lambda rows: (
                f"delta at most {max(r[1] for r in rows):.4f}; the two alone {rows[0][2]:.4f}"
            ),
            holds=lambda rows: all(mixed <= most for _, mixed, most in rows),
        )
    ],
)


# Section 2.6 with the paper's own pair, section 2.7


def own_pair(_: Variant) -> dict[str, tuple[float, float]]:
    """Section 2.6: what samples of D and of D' are answered with how much probability, by the exact
    joint distribution of men and women in the sample: the first answer alone, and both.

    D has 5,000 men and 5,000 women, and D' has Ann besides, whose sex is not counted, or has her
    as one of its women. The first algorithm says, of a sample of at least 1,000, whether there are
    more men than women, turned round if Ann is in it; the second one the share of men, with Laplace
    noise for epsilon = 1.
    """
    near = np.arange(2000, 3001)  # fourteen standard deviations
    half, rest = (
        np.array([exp(_log_choose(n, j) - n * log(2)) for j in near.tolist()]) for n in (5000, 4999)
    )

    def both(women: Floats, *, drawn: bool, counted: bool) -> Floats:
        rows = near[:, None] + near[None, :] + (drawn and counted)
        more = near[:, None] > near[None, :] + (drawn and counted)
        said_no = (rows < 1000) | (more == drawn)
        off = near[:, None] / rows - 0.5
        tail = 0.5 * np.exp(-np.abs(off) * rows)
        chance = half[:, None] * women[None, :] * said_no
        return np.array([chance.sum(), (chance * np.where(off >= 0, 1 - tail, tail)).sum()])

    answers = {"D": both(half, drawn=False, counted=False)}
    for name, women, counted in (("with Ann", half, False), ("Ann a woman", rest, True)):
        ways = [both(women, drawn=drawn, counted=counted) for drawn in (False, True)]
        answers[name] = sum(ways) / 2
    return {name: (float(alone), float(both_)) for name, (alone, both_) in answers.items()}


def _log_choose(n: int, j: int) -> float:
    from math import lgamma

    return lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1)


def ratio(found: dict[str, tuple[float, float]], which: int, other: str = "with Ann") -> float:
    """Of the first answer, or of both (1)."""
    a, b = found["D"][which], found[other][which]
    return max(a / b, b / a)


PAIR = Figure(
    name="Section 2.6",
    shows="the paper's own pair of answers from one sample",
    measured=own_pair,
    setting=(
        "Tables of 10,000, half of them men, with Ann and without; beta = 1/2, at least 1,000 rows, "
        "noise for epsilon = 1; the event: no, and at least half of them men. Computed from the exact "
        "distribution. The numbers of the paper are lost in its text; with these, what its formulas "
        "are reported to say comes out: 1.008 and 24.7."
    ),
    claims=[
        Claim(
            says="alone, both tables give the first answer with nearly the same probability",
            rule="within 5 %",
            ours=lambda f: (
                f"{f['D'][0]:.4f} and {f['with Ann'][0]:.4f}, a ratio of {ratio(f, 0):.3f}; with Ann"
                f" as one of the women {ratio(f, 0, 'Ann a woman'):.3f}"
            ),
            holds=lambda f: ratio(f, 0) < 1.05,
        ),
        Claim(
            says="together with a differentially private answer of the same sample they do not",
            rule="more than the ratio alone times e^epsilon of the second answer, 2.74",
            ours=lambda f: (
                f"{f['D'][1]:.4f} and {f['with Ann'][1]:.4f}, a ratio of {ratio(f, 1):.1f}; with Ann"
                f" as one of the women {ratio(f, 1, 'Ann a woman'):.1f}"
            ),
            holds=lambda f: ratio(f, 1) > ratio(f, 0) * exp(1),
        ),
    ],
)


def fifty(_: Variant) -> dict[str, float]:
    promise = solve(k=20, beta="0.1", epsilon="0.5")
    cost = together(promise, 50)
    return {
        "once": 1 - 0.9**50,
        "epsilon": float(cost.epsilon),
        "tight": cost.epsilon_at(1e-6),
        "delta": float(cost.delta),
    }


FIFTY = Figure(
    name="Section 2.7",
    shows="fifty fresh samples",
    measured=fifty,
    setting=f"beta = 0.1, k = 20, epsilon = 0.5 a release. {LOST}",
    claims=[
        Claim(
            says="with high probability each tuple is in at least one of the samples",
            rule="0.99",
            ours=lambda f: f"{f['once']:.3f}",
            holds=lambda f: f["once"] >= 0.99,
        ),
        Claim(
            says="publishing all fifty still keeps some (epsilon, delta)",
            rule="exactly at 1e-6 no more than what adds up",
            ours=lambda f: (
                f"epsilon = {f['epsilon']:g} and delta = {f['delta']:.1e} by addition; exactly"
                f" epsilon = {f['tight']:.2f} at delta = 1e-6"
            ),
            holds=lambda f: f["tight"] <= f["epsilon"] and f["delta"] < 1,
        ),
    ],
)


# Theorem 3.9


def tail_by_n(k: int, beta: float, epsilon: float, many: int = 40) -> list[tuple[int, float]]:
    """(n, logarithm of the tail beyond gamma n) for so many n from the smallest on."""
    gamma = (exp(epsilon) - 1 + beta) / exp(epsilon)
    first = ceil(k / gamma - 1)
    return [
        (n, log_tail(n, floor(gamma * n) + 1, beta, 1 - beta)) for n in range(first, first + many)
    ]


def tails(_: Variant) -> dict[str, object]:
    """One tail, and for which of many settings the largest is not the first."""
    tried = [
        (k, b / 10, e / 10)
        for k in range(2, 41)
        for b in (1, 2, 3, 4, 5)
        for e in (3, 5, 7, 10, 15)
        if e / 10 >= -log(1 - b / 10)
    ]
    later = []
    for setting in tried:
        by_n = tail_by_n(*setting, many=12)
        if max(by_n, key=lambda p: p[1])[0] != by_n[0][0]:
            later.append(setting)
    points = [(n, exp(v)) for n, v in tail_by_n(10, 0.2, 0.5)]
    return {"points": points, "tried": len(tried), "later": later}


FIGURE_1 = Figure(
    name="Figure 1",
    shows="the tail of the binomial distribution beyond gamma n",
    measured=tails,
    setting=f"beta = 0.2, epsilon = 0.5; drawn for k = 10 from the smallest n on. {LOST}",
    claims=[
        Claim(
            says="the larger n, the smaller the tail, but for the local maxima of a discrete law",
            rule="the last of 40 is below a tenth of the first",
            ours=lambda f: f"{f['points'][0][1]:.2e} to {f['points'][-1][1]:.2e}",
            holds=lambda f: f["points"][-1][1] < f["points"][0][1] / 10,
        ),
        Claim(
            says="the largest may not be at the smallest n, but at one of the next local maxima",
            rule="for some k from 2 to 40, beta from 0.1 to 0.5 and epsilon from 0.3 to 1.5",
            ours=lambda f: (
                f"for {len(f['later'])} of {f['tried']}, such as k, beta, epsilon ="
                f" {', '.join(map(str, f['later'][0] if f['later'] else ()))}"
            ),
            holds=lambda f: len(f["later"]) > 0,
        ),
    ],
    panels=lambda f: drawn({"k = 10": f["points"]}, "tail beyond gamma n", "n"),
)


def table_2(_: Variant) -> dict[tuple[Fraction, Fraction], float]:
    betas = [Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)]
    return {
        (b, e): d(20, b, e)
        for b in betas
        for e in (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2), Fraction(2))
    }


def by(found: dict[tuple[Fraction, Fraction], float], place: int) -> list[list[float]]:
    """The values by one of the two, in its order, for each value of the other."""
    return [
        [v for key, v in sorted(found.items()) if key[1 - place] == other]
        for other in sorted({key[1 - place] for key in found})
    ]


TABLE_2 = Figure(
    name="Table 2",
    shows="delta by epsilon and beta",
    measured=table_2,
    setting=f"k = 20, beta from 0.05 to 0.3, epsilon from 0.5 to 2. {LOST}",
    claims=[
        Claim(
            says="the values of delta can be very small",
            rule="below 1e-9 somewhere",
            ours=lambda f: f"{min(f.values()):.1e} to {max(f.values()):.1e}",
            holds=lambda f: min(f.values()) < 1e-9,
        ),
        Claim(
            says="delta decreases as epsilon increases",
            ours=lambda f: f"in all {len(by(f, 1))} rows",
            holds=lambda f: all(falls(row) for row in by(f, 1)),
        ),
        Claim(
            says="delta decreases as beta decreases",
            rule="on this table",
            ours=lambda f: f"in all {len(by(f, 0))} columns",
            holds=lambda f: all(falls(row[::-1]) for row in by(f, 0)),
        ),
    ],
)


def by_k(_: Variant) -> Lines:
    beta = Fraction(1, 5)
    return {
        f"k = {k}": [(float(e), d(k, beta, e)) for e in tenths(3, 30)] for k in (5, 10, 20, 30, 50)
    }


def per_k(found: Lines) -> list[float]:
    """By how much ln delta falls with each further k, between the lines, at epsilon = 2."""
    at = {int(n[4:]): log(dict(p)[2.0]) for n, p in found.items()}
    return [(at[a] - at[b]) / (b - a) for a, b in pairwise(sorted(at))]


FIGURE_2 = Figure(
    name="Figure 2",
    shows="delta by epsilon for several k",
    measured=by_k,
    setting=f"beta = 0.2. {LOST}",
    claims=[
        Claim(
            says="a negative correlation between epsilon and delta",
            rule="no delta rises along a line",
            ours=lambda f: f"none of {len(f)} lines rises",
            holds=lambda f: all(a >= b for p in f.values() for (_, a), (_, b) in pairwise(p)),
        ),
        Claim(
            says="increasing k has a close to exponential effect",
            rule="at epsilon = 2 each further k takes as much of ln delta, within a factor of 1.5",
            ours=lambda f: ", ".join(f"{step:.2f}" for step in per_k(f)),
            holds=lambda f: max(per_k(f)) < 1.5 * min(per_k(f)),
        ),
    ],
    panels=lambda f: drawn(f, "delta by epsilon, beta = 0.2", "epsilon"),
)


def by_beta(_: Variant) -> dict[str, object]:
    k, betas = 20, [Fraction(i, 40) for i in (2, 4, 8, 12, 16)]
    fine = [d(k, Fraction(i, 1000), Fraction(1)) for i in range(10, 601)]
    return {
        "lines": {
            f"beta = {float(b):g}": [(float(e), d(k, b, e)) for e in tenths(6, 30)] for b in betas
        },
        "drops": sum(a > b for a, b in pairwise(fine)),
    }


FIGURE_3 = Figure(
    name="Figure 3",
    shows="delta by epsilon for several beta",
    measured=by_beta,
    setting=f"k = 20. {LOST}",
    claims=[
        Claim(
            says="decreasing beta dramatically improves privacy protection",
            rule="at epsilon = 1 each line is below a tenth of the next",
            ours=lambda f: ", ".join(f"{dict(p)[1.0]:.1e}" for p in f["lines"].values()),
            holds=lambda f: all(
                10 * a < b for a, b in pairwise(dict(p)[1.0] for p in f["lines"].values())
            ),
            why=(
                "lines at 0.3 and 0.4 are nearer: the larger beta, the less a step of 0.1 changes"
            ),
        ),
        Claim(
            says="a smaller sampling probability improves the privacy protection",
            rule="every smaller beta, of 591 from 0.01 to 0.6 at epsilon = 1",
            ours=lambda f: f"d falls {f['drops']} times as beta rises by 0.001",
            holds=lambda f: f["drops"] == 0,
            why=(
                "d is a bound: with beta, the count that is bad for a number of rows moves, and d "
                "jumps down as it does. The exact delta rises with beta"
            ),
        ),
    ],
    panels=lambda f: drawn(f["lines"], "delta by epsilon, k = 20", "epsilon"),
)


def doubled(_: Variant) -> dict[str, object]:
    """From k = 15 and beta = 0.05, the k that keeps the same delta at epsilon = 1 as beta
    doubles.
    """
    found, epsilon, aimed = (
        [(Fraction(1, 20), 15)],
        Fraction(1),
        d(15, Fraction(1, 20), Fraction(1)),
    )
    for doubling in (2, 4, 8):
        beta = doubling * Fraction(1, 20)
        found.append((beta, smallest_k("theorem", beta, epsilon, Fraction(aimed))))
    return {
        "found": found,
        "lines": {
            f"beta = {float(b):g}, k = {k}": [(float(e), d(k, b, e)) for e in tenths(6, 30)]
            for b, k in found
        },
    }


FIGURE_4 = Figure(
    name="Figure 4",
    shows="beta doubled, and the k that protects as much",
    measured=doubled,
    setting=f"From beta = 0.05 and k = 15, the same delta at epsilon = 1. {LOST}",
    claims=[
        Claim(
            says="increasing k and decreasing beta both improve privacy: k grows as beta doubles",
            ours=lambda f: ", ".join(f"{k} at {float(b):g}" for b, k in f["found"]),
            holds=lambda f: falls([-k for _, k in f["found"]]),
        )
    ],
    panels=lambda f: drawn(f["lines"], "delta by epsilon", "epsilon"),
)


def small_k(_: Variant) -> Lines:
    beta = Fraction(1, 40)
    return {f"k = {k}": [(float(e), d(k, beta, e)) for e in tenths(2, 30)] for k in range(1, 6)}


FIGURE_5 = Figure(
    name="Figure 5",
    shows="very small k at a very small beta",
    measured=small_k,
    setting=f"beta = 0.025, k from 1 to 5. {LOST}",
    claims=[
        Claim(
            says="with k = 1 the protection is entirely from sampling",
            rule="delta is not below beta",
            ours=lambda f: f"{min(v for _, v in f['k = 1']):.4f} at least",
            holds=lambda f: all(v > 0.025 * (1 - 1e-9) for _, v in f["k = 1"]),
        ),
        Claim(
            says="with a few more, k-anonymization begins to protect",
            rule="at epsilon = 2 k = 5 is below a thousandth of k = 1",
            ours=lambda f: ", ".join(f"{dict(p)[2.0]:.1e}" for p in f.values()),
            holds=lambda f: 1000 * dict(f["k = 5"])[2.0] < dict(f["k = 1"])[2.0],
        ),
    ],
    panels=lambda f: drawn(f, "delta by epsilon, beta = 0.025", "epsilon"),
)


def least_epsilon(_: Variant) -> Lines:
    return {
        f"beta = {float(b):g}": [
            (float(k), float(smallest_epsilon("theorem", k, b, SMALL)))
            for k in (5, 7, 10, 15, 20, 30, 50, 70, 100)
            if b**k < SMALL  # below which no delta is, whatever epsilon
        ]
        for b in (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(2, 5))
    }


FIGURE_6 = Figure(
    name="Figure 6",
    shows="the smallest epsilon by k, at delta of at most 1e-6",
    measured=least_epsilon,
    setting=f"By the theorem. {LOST}",
    claims=[
        Claim(
            says="smaller epsilon can be satisfied for larger k",
            rule="no line rises",
            ours=lambda f: "; ".join(f"{n}: {p[0][1]:.2f} to {p[-1][1]:.2f}" for n, p in f.items()),
            holds=lambda f: all(a >= b for p in f.values() for (_, a), (_, b) in pairwise(p)),
        ),
        Claim(
            says="the effect of beta over epsilon is quite substantial",
            rule="at k = 20, from 0.05 to 0.4 more than twice",
            ours=lambda f: ", ".join(f"{dict(p)[20.0]:.2f}" for p in f.values()),
            holds=lambda f: dict(f["beta = 0.4"])[20.0] > 2 * dict(f["beta = 0.05"])[20.0],
        ),
    ],
    panels=lambda f: drawn(f, "smallest epsilon, delta = 1e-6", "k", log_y=False),
)

PAPER = Paper(
    title="Safe sampling, Li, Qardaji and Su (ASIACCS 2012)",
    figures=[
        TABLE_1, CHOICE, PAIR, FIFTY, FIGURE_1, TABLE_2,
        FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6,
    ],
    not_made={
        "The paper's numbers in Tables 1 and 2": (
            "lost in the text at hand, so that only its words are compared"
        ),
        "Sections 2.2 and 3.1": (
            "parity and 35 million: `one_sample.py` and `net_worth.py` print them"
        ),
    },
)  # fmt: skip
