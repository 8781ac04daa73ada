# SPDX-License-Identifier: Apache-2.0
"""Two answers from one sample, as in sections 2.2 and 2.6 of Li, Qardaji and Su: each is private,
and both together are not. Exactly, by enumeration.

    python experiments/safe_sampling/one_sample.py

Nothing is drawn here. For each table all samples are gone through with their probabilities, as
fractions. Rows of one kind are alike, so that a table is how many rows it has of each kind, and a
sample how many of them were drawn. For each pair of neighbouring tables of a family (one row more
or less) delta is the hockey-stick divergence, the larger of both directions: what is left of the
probabilities of one above e^epsilon times those of the other. The largest is printed, rounded to
six digits. Where two answers are given, the promise is that their epsilons and their deltas add up:
it has to hold for two fresh samples, and does not for one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import comb, lcm

Table = tuple[int, ...]
Answers = Mapping[object, Fraction]
"""What may be published, with its probability."""
Algorithm = Callable[[Table], Answers]
"""What it publishes of a sample."""
Row = tuple[str, Fraction, Fraction]
"""What is published, e^epsilon, and the delta that belongs to it."""

HALF, ONE = Fraction(1, 2), Fraction(1)


# Samples, answers and neighbours


def samples(table: Table, beta: Fraction) -> Iterator[tuple[Table, Fraction]]:
    """Every sample of a table, and how probable it is if each row is drawn with probability
    beta.
    """
    for drawn in product(*(range(rows + 1) for rows in table)):
        probability = ONE
        for rows, j in zip(table, drawn, strict=True):
            probability *= comb(rows, j) * beta**j * (1 - beta) ** (rows - j)
        yield drawn, probability


def answers(table: Table, beta: Fraction, algorithm: Algorithm) -> Answers:
    """What an algorithm publishes of a fresh sample."""
    found: dict[object, Fraction] = {}
    for sample, probability in samples(table, beta):
        for answer, chance in algorithm(sample).items():
            found[answer] = found.get(answer, Fraction(0)) + probability * chance
    return found


def beside(first: Answers, second: Answers) -> Answers:
    """Two independent answers."""
    return {(a, b): p * q for a, p in first.items() for b, q in second.items()}


def delta(one: Answers, other: Answers, e_epsilon: Fraction) -> Fraction:
    """The least delta with which both keep within a factor of e^epsilon of each other."""
    zero = Fraction(0)
    sides = ((one, other), (other, one))
    return max(
        sum((max(p - e_epsilon * q.get(answer, zero), zero) for answer, p in a.items()), zero)
        for a, q in sides
    )


def neighbours(tables: Iterable[Table]) -> list[tuple[Table, Table]]:
    """All pairs of which the second has one row more."""
    family = set(tables)
    more = [
        (table, (*table[:i], table[i] + 1, *table[i + 1 :]))
        for table in sorted(family)
        for i in range(len(table))
    ]
    return [pair for pair in more if pair[1] in family]


def worst(found: Mapping[Table, Answers], e_epsilon: Fraction) -> Fraction:
    """The largest delta of any two neighbours."""
    return max(delta(found[one], found[other], e_epsilon) for one, other in neighbours(found))


def compared(
    tables: Sequence[Table],
    beta: Fraction,
    named: Sequence[tuple[str, Algorithm, Fraction]],
    together: Sequence[Fraction],
) -> list[Row]:
    """The delta of two algorithms, each at its own e^epsilon, and of both, from two fresh samples
    and from one, at others.
    """
    one, other = (algorithm for _, algorithm, _ in named)
    alone = [
        {table: answers(table, beta, algorithm) for table in tables} for _, algorithm, _ in named
    ]
    fresh = {table: beside(alone[0][table], alone[1][table]) for table in tables}
    same = {
        table: answers(table, beta, lambda sample: beside(one(sample), other(sample)))
        for table in tables
    }
    rows = [(name, e, worst(found, e)) for (name, _, e), found in zip(named, alone, strict=True)]
    return rows + [
        (what, e, worst(found, e))
        for what, found in (("both, of two fresh samples", fresh), ("both, of one sample", same))
        for e in together
    ]


# Section 2.2: the parity of the sample. Kinds of rows: others, Ann.


def parity(sample: Table) -> Answers:
    """Whether the sample has an odd number of rows."""
    return {sum(sample) % 2: ONE}


def parity_or_not(sample: Table) -> Answers:
    """The same, turned round if Ann is in the sample."""
    return {(sum(sample) + sample[1]) % 2: ONE}


def section_22(others: int = 8) -> list[Row]:
    """Tables of at least one other, with Ann or without, beta = 1/2."""
    tables = list(product(range(1, others + 1), range(2)))
    named = [
        ("odd or even", parity, ONE),
        ("odd or even, turned round if Ann was drawn", parity_or_not, ONE),
    ]
    return compared(tables, HALF, named, [ONE, Fraction(1000)])


# Section 2.6: an answer that is private under sampling beside one that is differentially private by
# itself


WIDTH, LARGE = 16, 512


def sizes(most: int) -> Iterator[tuple[list[int], list[int]]]:
    """For tables of 0, 1, .. ``most`` rows: how many samples have each size modulo 2 WIDTH, first
    those of fewer than LARGE rows, then the others.
    """
    small, large = [0] * (2 * WIDTH), [0] * (2 * WIDTH)
    small[0] = 1
    for rows in range(most + 1):
        yield small, large
        # one row more: it is drawn, or it is not; samples of LARGE - 1 rows become large by it
        crossing = comb(rows, LARGE - 1)
        small, large = ([of[r] + of[r - 1] for r in range(2 * WIDTH)] for of in (small, large))
        small[LARGE % (2 * WIDTH)] -= crossing
        large[LARGE % (2 * WIDTH)] += crossing


def noisy_bit(size: int, e_epsilon: Fraction) -> Fraction:
    """How probable it is that the size of the sample, plus two-sided geometric noise, lies in an
    odd block; this is differentially private by itself.
    """
    a, modulus = 1 / e_epsilon, 2 * WIDTH
    spread = [
        (a ** (d % modulus) + a ** (modulus - d % modulus)) / (1 - a**modulus)
        for d in range(modulus)
    ]
    return (
        (1 - a)
        / (1 + a)
        * sum((spread[(at - size) % modulus] for at in range(WIDTH, modulus)), Fraction(0))
    )


def secret_and_size(
    small: list[int], large: list[int], *, drawn: bool, noisy: list[int], whole: int
) -> Counter[tuple[int, int]]:
    """How often both bits are said by samples of these sizes, out of 2 ``whole`` times their
    number; ``drawn``: whether Ann is in them.

    The first bit says whether the size lies in an odd block of WIDTH, turned round if Ann was
    drawn; of fewer than LARGE rows it is a fair coin. The second one is the noisy bit.
    """
    said: Counter[tuple[int, int]] = Counter()
    for r, (few, many) in enumerate(zip(small, large, strict=True)):
        secret = (r >= WIDTH) != drawn
        for second, chance in ((1, noisy[r]), (0, whole - noisy[r])):
            said[0, second] += few * chance
            said[1, second] += few * chance
            said[int(secret), second] += 2 * many * chance
    return said


def section_26(most: int = 1400) -> list[Row]:
    """Tables of up to ``most`` others, with Ann or without, beta = 1/2."""
    at_first, at_second = Fraction(3, 2), Fraction(2)
    chances = [noisy_bit(r, at_second) for r in range(2 * WIDTH)]
    whole = lcm(*(chance.denominator for chance in chances))
    noisy = [int(chance * whole) for chance in chances]
    same: dict[Table, Answers] = {}
    for rows, (now, more) in enumerate(pairwise(sizes(most + 1))):
        moved = [
            [b - a for a, b in zip(*of, strict=True)] for of in zip(now, more, strict=True)
        ]  # with Ann drawn, all sizes are one more
        without = secret_and_size(*now, drawn=False, noisy=noisy, whole=whole)
        with_ann = secret_and_size(*moved, drawn=True, noisy=noisy, whole=whole)
        same[rows, 0] = {
            said: Fraction(times, 2 * whole << rows) for said, times in without.items()
        }
        same[rows, 1] = {
            said: Fraction(without[said] + with_ann[said], 4 * whole << rows)
            for said in without | with_ann
        }
    first, second = ({table: only(found, i) for table, found in same.items()} for i in range(2))
    fresh = {table: beside(first[table], second[table]) for table in same}
    together = [at_first * at_second, Fraction(5)]
    return [
        ("a bit of the size, turned round if Ann was drawn", at_first, worst(first, at_first)),
        (
            "the size with noise, which is differentially private",
            at_second,
            worst(second, at_second),
        ),
        *(("both, of two fresh samples", e, worst(fresh, e)) for e in together),
        *(("both, of one sample", e, worst(same, e)) for e in together),
    ]


def only(found: Answers, place: int) -> Answers:
    """One of two answers alone."""
    alone: dict[object, Fraction] = {}
    for said, probability in found.items():
        alone[said[place]] = alone.get(said[place], Fraction(0)) + probability  # type: ignore[index]
    return alone


def majority(sample: Table) -> Answers:
    """The paper's bit: whether there are more men than women, turned round if Ann is in the sample.
    Kinds of rows: men, women, Ann.
    """
    men, women, ann = sample
    return {int(men > women + ann) ^ ann: ONE}


def section_26_majority(men: int = 60) -> list[Row]:
    """A table of men, of women, and of as many of both, with Ann or without, beta = 1/2."""
    found = []
    for what, table in (("as many men as women", (men, men)), ("men only", (men, 0))):
        with_ann, without = (answers((*table, ann), HALF, majority) for ann in (1, 0))
        found.append(
            (
                f"more men or women, turned round if Ann was drawn: {what}",
                Fraction(3, 2),
                delta(with_ann, without, Fraction(3, 2)),
            )
        )
    return found


# Two recodings of one sample, each by a fixed scheme. Kinds of rows: the town's other people,
# people of Ann's street.

K, BETA = 5, Fraction(1, 4)


def by_street(sample: Table) -> Answers:
    """How many rows each street has, those with fewer than K dropped."""
    return {tuple(rows if rows >= K else 0 for rows in sample): ONE}


def by_town(sample: Table) -> Answers:
    """How many rows the town has, if at least K."""
    return {sum(sample) if sum(sample) >= K else 0: ONE}


def two_recodings(others: int = 24) -> list[Row]:
    """Tables of up to ``others`` and up to two in Ann's street."""
    tables = list(product(range(others + 1), range(3)))
    named = [
        ("recoded by street", by_street, Fraction(2)),
        ("recoded by town", by_town, Fraction(2)),
    ]
    return compared(tables, BETA, named, [Fraction(4), Fraction(1000)])


# A safe release beside a differentially private answer. Kinds of rows: others of Ann's cell, Ann.


def recoded(sample: Table) -> Answers:
    """How many rows the cell has, if at least K."""
    return by_town(sample)


def noisy_others(most: int, e_epsilon: Fraction) -> Algorithm:
    """The number of others less one if Ann is there, with two-sided geometric noise, between -1 and
    ``most``: differentially private by itself.
    """
    a = 1 / e_epsilon

    def published(sample: Table) -> Answers:
        at, ends = sample[0] - sample[1], {-1, most}
        return {
            y: a ** abs(y - at) / (1 + a) * (1 if y in ends else 1 - a) for y in range(-1, most + 1)
        }

    return published


def beside_an_answer(others: int = 12) -> list[Row]:
    """Tables of up to ``others`` in Ann's cell, with Ann or without. Under sampling the answer's
    e^epsilon is 1 - beta + beta e^epsilon.
    """
    e = Fraction(3, 2)
    sampled = 1 - BETA + BETA * e
    tables = list(product(range(others + 1), range(2)))
    named = [
        ("recoded", recoded, Fraction(2)),
        ("the others less Ann, with noise", noisy_others(others, e), sampled),
    ]
    return compared(tables, BETA, named, [2 * sampled, 2 * e * e])


def show(title: str, rows: Sequence[Row]) -> None:
    print(f"### {title}\n\n| what is published | e^epsilon | delta |\n| --- | --- | --- |")
    for what, e, found in rows:
        print(f"| {what} | {float(e):g} | {float(found):.6g} |")
    print()


def main() -> None:
    show("Section 2.2: parity, beta = 1/2", section_22())
    show("Section 2.6: a bit that only the sample hides, beta = 1/2", section_26())
    show("Section 2.6: the paper's own bit, on two tables", section_26_majority())
    show("Two recodings by fixed schemes, k = 5, beta = 1/4", two_recodings())
    show("A recoding beside a differentially private answer, k = 5, beta = 1/4", beside_an_answer())


if __name__ == "__main__":
    main()
