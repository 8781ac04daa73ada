# SPDX-License-Identifier: Apache-2.0
"""Every random choice of a publication, one by one: a stand-in for the one door to randomness that
enumerates what would be drawn.

A publication is run again for every path through the tree of its choices; each path has an exact
probability. Three things make trees small, and tests compare the result with publications by real
randomness:

- *labels*: streams that decide only ids and the order of rows, which the canonical form leaves out,
  are not enumerated;
- *folds*: of a permutation only that part is enumerated on which a method depends (the order of
  rows of one value, the bucket of a row);
- a kernel that turns raw words into whole numbers runs as plain Python, and takes the whole numbers
  from here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from naive.safe_sampling import exponential_between
from phalanx.methods.anatomy import kernels as anatomy_kernel
from phalanx.methods.safe_sampling.private_choice import PrivateChoice

LABELS = frozenset(
    {"generalize", "bucketize", "slices", "mondrian", "perturb", "rank of equal members", "apart"}
)
"""Streams from which only ids and the order of rows are drawn, and the rank of members who are
equal, whom no table here has; words from them cannot be gone through.
"""
PICKED = frozenset({"anatomy"})
"""Streams whose words a kernel turns into whole numbers by ``pick``."""
MARKS = frozenset({"safe sampling: mark"})
"""Streams whose words only tell one sample from another, and are not published."""
FLIPS = Fraction(1, 2**100)
"""No chance of a private choice is further off, nor any sum of chances of one publication."""
_PATHS, _DEPTH, _ROWS = 2000, 100, 6


class NotEnumerableError(Exception):
    """A draw with too many outcomes to go through; the case has to be sampled."""


class Choices:
    """One path through the tree: the alternatives of ``script``, and from then on the first
    ones.
    """

    def __init__(self, script: list[int]) -> None:
        self.script, self.taken = script, []
        self.probability = Fraction(1)

    def weighted(self, chances: list[Fraction]) -> int:
        """One of several alternatives with these chances, none of them 0."""
        if len(self.taken) == _DEPTH:
            raise NotEnumerableError("something is drawn again and again")
        at = self.script[len(self.taken)] if len(self.taken) < len(self.script) else 0
        self.taken.append((at, len(chances)))
        self.probability *= chances[at]
        return at

    def among(self, n: int) -> int:
        """One of ``n`` alternatives, all alike."""
        return self.weighted([Fraction(1, n)] * n) if n > 1 else 0

    def shuffled(self, things: list[Any]) -> list[Any]:
        """Any order of them, all alike."""
        left = list(things)
        return [left.pop(self.among(len(left))) for _ in things]

    def following(self) -> list[int] | None:
        """The script of the next path; None after the last."""
        for depth in range(len(self.taken) - 1, -1, -1):
            at, n = self.taken[depth]
            if at + 1 < n:
                return [before for before, _ in self.taken[:depth]] + [at + 1]
        return None


def enumerated(run: Callable[[Choices], Any]) -> Iterator[tuple[Fraction, Any]]:
    """The result of every path, with its probability."""
    script: list[int] = []
    for _ in range(_PATHS):
        choices = Choices(script)
        result = run(choices)
        yield choices.probability, result
        following = choices.following()
        if following is None:
            return
        script = following
    raise NotEnumerableError(f"more than {_PATHS} paths")


Fold = Callable[[Choices, np.ndarray], np.ndarray]
"""Makes a permutation of the rows, of which ``codes`` are the values."""


def whole(choices: Choices, codes: np.ndarray) -> np.ndarray:
    """Every order of the rows."""
    if len(codes) > _ROWS:
        raise NotEnumerableError(f"all orders of {len(codes)} rows")
    return np.array(choices.shuffled(list(range(len(codes)))), dtype=np.int64)


def by_value(choices: Choices, codes: np.ndarray) -> np.ndarray:
    """Every order of the rows of one value among themselves: for methods that draw among rows of
    one value only.
    """
    order = np.empty(len(codes), dtype=np.int64)
    for value in np.unique(codes):
        rows = np.flatnonzero(codes == value)
        order[rows] = choices.shuffled(rows.tolist())
    return order


def as_they_stand(choices: Choices, codes: np.ndarray) -> np.ndarray:  # noqa: ARG001 - a fold has both
    """The rows as they stand: for methods that draw only between rows of equal quasi-identifiers,
    on tables without any.
    """
    return np.arange(len(codes))


def first_two(choices: Choices, codes: np.ndarray) -> np.ndarray:
    """The same where the first two rows, and no others, are equal."""
    order = np.arange(len(codes))
    if choices.among(2):
        order[:2] = 1, 0
    return order


def dealt(piles: int) -> Fold:
    """Every way to deal the rows out, the i-th of the permutation to pile i modulo ``piles``; the
    order within a pile is left as it is.
    """

    def deal(choices: Choices, codes: np.ndarray) -> np.ndarray:
        n = len(codes)
        places = [list(range(pile, n, piles)) for pile in range(piles)]
        order = np.empty(n, dtype=np.int64)
        for row in range(n):
            free = [pile for pile in places if pile]
            pile = (
                free[choices.weighted([Fraction(len(pile), n - row) for pile in free])]
                if len(free) > 1
                else free[0]
            )
            order[pile.pop(0)] = row
        return order

    return deal


@dataclass(frozen=True)
class Unread:
    """A random word, which has too many values to go through: whoever looks at it cannot be
    enumerated.
    """

    task: str

    def __int__(self) -> int:
        raise NotEnumerableError(f"{self.task}: raw words")

    __index__ = __int__

    def __rshift__(self, bits: int) -> int:
        return int(self) >> bits


class EveryRandomness:
    """Looks like Randomness to a method, and asks ``choices``; ``folds`` by the name of the stream,
    for permutations of all rows.

    A stream of the same name draws the same again, as there.
    """

    for_publication = True

    def __init__(
        self, choices: Choices, folds: dict[str, Fold], codes: np.ndarray, release: int = 0
    ) -> None:
        self.choices, self.folds, self.codes, self.release = choices, folds, codes, release
        self.drawn: dict[str, list[tuple[Any, np.ndarray]]] = {}

    def stream(self, task: str) -> "EveryStream":
        return EveryStream(self, task)


class EveryStream:
    def __init__(self, of: EveryRandomness, task: str) -> None:
        self.of, self.task = of, task
        self.at = 0

    def permutation(self, n: int) -> np.ndarray:
        return self._draw(("permutation", n), lambda: self._permuted(n))

    def integers(self, bound: int, n: int) -> np.ndarray:
        if bound > 1000:
            raise NotEnumerableError(f"{self.task}: a whole number below {bound}")
        return self._draw(
            ("integers", bound, n),
            lambda: np.array([self.of.choices.among(bound) for _ in range(n)], dtype=np.int64),
        )

    def bernoulli(self, beta: Fraction, n: int) -> np.ndarray:
        if beta in (0, 1):
            return np.arange(n if beta else 0)
        return self._draw(
            ("bernoulli", beta, n),
            lambda: np.flatnonzero([self.of.choices.weighted([1 - beta, beta]) for _ in range(n)]),
        )

    def words(self, n: int) -> np.ndarray:
        if self.task in PICKED | MARKS:
            return np.full(n, self.of.release, dtype=np.uint64)
        return np.array([Unread(self.task) for _ in range(n)], dtype=object)

    def _permuted(self, n: int) -> np.ndarray:
        if self.task in LABELS:
            return np.arange(n)
        if n == len(self.of.codes) and self.task in self.of.folds:
            return self.of.folds[self.task](self.of.choices, self.of.codes)
        return whole(self.of.choices, np.arange(n))

    def _draw(self, asked: Any, draw: Callable[[], np.ndarray]) -> np.ndarray:
        """What this stream draws next; where a stream of its name was begun before, what that one
        drew.
        """
        before = self.of.drawn.setdefault(self.task, [])
        if self.at == len(before):
            before.append((asked, draw()))
        known, result = before[self.at]
        if known != asked:
            raise NotEnumerableError(
                f"{self.task}: a stream that is begun again and draws something else"
            )
        self.at += 1
        return result.copy()


@contextmanager
def picking(current: Callable[[], Choices]) -> Iterator[None]:
    """Kernels that pick whole numbers from words run as plain Python and take them from the current
    choices.
    """
    compiled, pick = anatomy_kernel.bucketization, anatomy_kernel.pick
    anatomy_kernel.bucketization = compiled.py_func
    anatomy_kernel.pick = lambda bound, _, at: (current().among(bound), at + 1)
    try:
        yield
    finally:
        anatomy_kernel.bucketization, anatomy_kernel.pick = compiled, pick


@contextmanager
def choosing(current: Callable[[], Choices]) -> Iterator[None]:
    """Private choices, which OpenDP draws by permute-and-flip, are gone through with those chances,
    each to within ``FLIPS``.
    """
    among = PrivateChoice.among
    PrivateChoice.among = lambda self, scores: current().weighted(
        permute_and_flip(scores.tolist(), Fraction(self.scale))
    )
    try:
        yield
    finally:
        PrivateChoice.among = among


def permute_and_flip(scores: list[int], scale: Fraction) -> list[Fraction]:
    """How likely each candidate is: tried in random order, and taken with e^-(what it lacks of the
    best / scale) (McKenna and Sheldon, NeurIPS 2020).

    A candidate that comes at time x, uniform between 0 and 1, wins if none of those before it was
    taken: the integral over x of the product of (1 - x q) over all others, times its own q. The q
    are rounded to 2^-160, so that no chance is 0; the chances add up to exactly 1.
    """
    grain, best = 2**160, max(scores)
    taken = [
        Fraction(max(1, round(grain / exponential_between((best - score) / scale)[0])), grain)
        for score in scores
    ]
    chances = []
    for i, own in enumerate(taken):
        polynomial = [Fraction(1)]
        for j, other in enumerate(taken):
            if j != i:
                polynomial = [
                    a - other * b for a, b in zip([*polynomial, 0], [0, *polynomial], strict=True)
                ]
        chances.append(
            own * sum(coefficient / (power + 1) for power, coefficient in enumerate(polynomial))
        )
    return chances
