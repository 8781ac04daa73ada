# SPDX-License-Identifier: Apache-2.0
"""Whatever is left out of (epsilon, delta, k, beta), found so that the promise holds; every answer
is checked with decimals rounded against us.

Both accountings' delta falls with k and with epsilon. The exact one rises with beta. The theorem's
does not: with beta the count that is bad for a given number of rows moves, and d falls a little at
every move.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Final

from phalanx.accounting import theorem, tight
from phalanx.accounting.binomials import too_extreme
from phalanx.accounting.directed import downwards, float_kept, log_of, quotient
from phalanx.accounting.promise import Accounting, Promise, promised
from phalanx.accounting.theorem import (
    EPSILON_PLACES,
    PLACES,
    default_beta,
    least_epsilon,
    nearest_beta,
)
from phalanx.errors import PlanError
from phalanx.exact import MOST_EPSILON, Number, bounded, exact, plain, whole

_UNDETERMINED = "does not determine the promise: give delta or k as well."
_SCALE: int = 10**PLACES
_EPSILONS: int = 10**EPSILON_PLACES
_BY_NAME: Final[dict[str, ModuleType]] = {"theorem": theorem, "tight": tight}
_CLEAR: Final = 1e-6
"""Logarithms further apart than this are compared as floats; the answer itself never is."""


def solve(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    k: int | None = None,
    beta: Number | None = None,
    accounting: Accounting = "theorem",
    epsilon_scheme: Number = 0,
) -> Promise:
    """The promise with what is left out solved for.

    What is missing:

    - beta: the largest the theorem allows, ``default_beta``; but where epsilon, delta and k are all
      given, the largest that keeps delta (``largest_beta``).
    - k: the smallest that keeps delta; k - 1 does not. Where beta is missing too and its last
      decimal costs a k, beta has as many decimals as a float.
    - delta: what the accounting says.
    - epsilon: the smallest, to 12 decimals, that keeps delta with that k and beta; with only one of
      k and delta, -ln(1 - beta), the smallest the theorem allows; with delta and k alone, -ln(1 -
      beta) again, for the largest sample (beta, k) that keeps delta.

    Parameters
    ----------
    epsilon : Number, optional
        By what factor, e^epsilon, a row may change the odds of a release; the whole of it.
    delta : Number, optional
        The probability with which that factor may be exceeded.
    k : int, optional
        How often an image must occur in the sample to be published.
    beta : Number, optional
        With what probability a row enters the sample.
    accounting : Accounting, default 'theorem'
        ``theorem``: the paper's bound; ``tight``: the exact delta, which asks for a smaller k.
    epsilon_scheme : Number, default 0
        The part of epsilon that choosing the scheme costs.

    Returns
    -------
    Promise
        The promise with what is missing solved for.

    Raises
    ------
    PlanError
        Where the rest does not determine it, or nothing keeps it.

    Examples
    --------
    >>> solve(epsilon=1, delta="1e-6").k, solve(epsilon=1, delta="1e-6", accounting="tight").k
    (74, 58)
    """
    if accounting not in {"theorem", "tight"}:
        raise PlanError(f'accounting must be "theorem" or "tight", and is {accounting!r}.')
    scheme = bounded(epsilon_scheme, "epsilon_scheme", 0, MOST_EPSILON)
    own = None if epsilon is None else _of_the_sample(epsilon, scheme)
    limit = None if delta is None else _probability(delta, "delta")
    ratio = None if beta is None else _probability(beta, "beta")
    if k is not None:
        k = whole(k, "k")
        if k > 2**60:
            raise too_extreme("a k above 2**60")

    if own is None:
        own, ratio = _epsilon_and_beta(accounting, ratio, k, limit)
    elif ratio is not None and k is not None and limit is not None:
        _refuse_untrue(accounting, k, ratio, own, limit)
    if ratio is None:
        ratio, k = _beta_and_k(accounting, k, own, limit)
    if k is None:
        if limit is None:
            raise PlanError(f"epsilon and beta {_UNDETERMINED}")
        k = smallest_k(accounting, ratio, own, limit)
    return promised(accounting, k, ratio, own, scheme, None if limit is None else float_kept(limit))


def _epsilon_and_beta(
    accounting: Accounting, beta: Fraction | None, k: int | None, delta: Fraction | None
) -> tuple[Fraction, Fraction]:
    """What epsilon is where it is not given, and the beta that goes with it."""
    if beta is None and k is not None and delta is not None:
        epsilon = widest_epsilon(accounting, k, delta)
        return epsilon, default_beta(epsilon)
    if beta is None or (k is None and delta is None):
        raise PlanError(
            "this does not determine the promise: give two of epsilon, delta, k and beta (epsilon"
            " and beta with one more)."
        )
    if k is None or delta is None:
        return least_epsilon(beta), beta
    return smallest_epsilon(accounting, k, beta, delta), beta


def _beta_and_k(
    accounting: Accounting, k: int | None, epsilon: Fraction, delta: Fraction | None
) -> tuple[Fraction, int]:
    """What beta is where it is not given, and the k that goes with it.

    Where the last decimal of the default beta crosses a jump of the theorem's d, the float next to
    1 - e^-epsilon needs a smaller k.
    """
    if delta is None:
        if k is None:
            raise PlanError(f"epsilon alone {_UNDETERMINED}")
        return default_beta(epsilon), k
    if k is not None:
        return largest_beta(accounting, k, epsilon, delta), k
    beta, near = default_beta(epsilon), nearest_beta(epsilon)
    k = smallest_k(accounting, beta, epsilon, delta)
    if accounting == "theorem" and k > 1 and keeps(accounting, k - 1, near, epsilon, delta):
        return near, smallest_k(accounting, near, epsilon, delta)
    return beta, k


def log_delta(accounting: Accounting, k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The logarithm of the accounting's delta as floats see it: to search with."""
    return float(_BY_NAME[accounting].log_delta(k, beta, epsilon))


def keeps(
    accounting: Accounting, k: int, beta: Fraction, epsilon: Fraction, delta: Fraction
) -> bool:
    """Whether the accounting's delta is at most ``delta``: floats where they are far apart,
    decimals rounded against us where they are near.
    """
    distance = _BY_NAME[accounting].log_delta(k, beta, epsilon) - log_of(delta)
    if abs(distance) > _CLEAR:
        return bool(distance < 0)
    return surely_keeps(accounting, k, beta, epsilon, delta)


def surely_keeps(
    accounting: Accounting, k: int, beta: Fraction, epsilon: Fraction, delta: Fraction
) -> bool:
    """The same, with decimals alone, and so that the figure that is shown (rounded up to a float)
    is not above the ``delta`` that is shown either.
    """
    high = _BY_NAME[accounting].delta_between(k, beta, epsilon)[1]
    return bool(high <= quotient(downwards(60), min(delta, Fraction(float_kept(delta)))))


def smallest_k(accounting: Accounting, beta: Fraction, epsilon: Fraction, delta: Fraction) -> int:
    """The smallest k that keeps delta."""
    _refuse_senseless(accounting, beta, epsilon, delta)
    high = 1
    while not keeps(accounting, high, beta, epsilon, delta):
        high *= 2
        if high > 2**60:
            raise too_extreme("a k above 2**60")
    low = high // 2  # keeps nothing, or is 0
    high = _first(lambda k: keeps(accounting, k, beta, epsilon, delta), low, high)
    while not surely_keeps(accounting, high, beta, epsilon, delta):
        high += 1
    while high > 1 and surely_keeps(accounting, high - 1, beta, epsilon, delta):
        high -= 1
    return high


def smallest_epsilon(accounting: Accounting, k: int, beta: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon, to 12 decimals, that keeps delta; for the theorem at least -ln(1 -
    beta).
    """
    if k < 10_000 and delta < beta**k:
        raise PlanError(
            f"no epsilon keeps delta = {float(delta):g}: it is never below beta**k ="
            f" {float(beta**k):g}; take a larger k or a smaller beta."
        )
    least = int(least_epsilon(beta) * _EPSILONS) if accounting == "theorem" else 1

    def enough(steps: int) -> bool:
        return keeps(accounting, k, beta, Fraction(steps, _EPSILONS), delta)

    steps = _first_up_to(enough, least, max(2 * least, _EPSILONS), 10_000 * _EPSILONS)
    if steps is None:
        raise PlanError(
            f"no epsilon below 10000 keeps delta = {float(delta):g} with k = {k} and beta ="
            f" {float(beta)}: take a larger k or a smaller beta."
        )
    while not surely_keeps(accounting, k, beta, Fraction(steps, _EPSILONS), delta):
        steps += 1
    return Fraction(steps, _EPSILONS)


def widest_epsilon(accounting: Accounting, k: int, delta: Fraction) -> Fraction:
    """The epsilon up to which k keeps delta with the theorem's largest beta: with it, both the
    sample and delta grow.
    """

    def lost(steps: int) -> bool:
        epsilon = Fraction(steps, _EPSILONS)
        return not keeps(accounting, k, default_beta(epsilon), epsilon, delta)

    least = 1000  # 1e-9: below it beta has too few of its 15 decimals to mean anything
    steps = _first_up_to(lost, least, _EPSILONS, 30 * _EPSILONS)
    if steps == least:
        raise PlanError(
            f"k = {k} keeps delta = {float(delta):g} for no epsilon with beta = 1 - e^-epsilon:"
            " take a larger k, or give epsilon or beta."
        )
    epsilon = Fraction(30 * _EPSILONS if steps is None else steps - 1, _EPSILONS)
    while not surely_keeps(accounting, k, default_beta(epsilon), epsilon, delta):
        epsilon -= Fraction(1, _EPSILONS)
    return epsilon


def largest_beta(accounting: Accounting, k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest beta of 15 decimals with which k keeps (epsilon, delta); for the theorem at most
    1 - e^-epsilon, or the float next to it where 15 decimals are too few.

    >>> exact, theorem = (largest_beta(way, 40, Fraction(1), Fraction("1e-6")) for way in ("tight", "theorem"))
    >>> exact > theorem
    True
    """
    if accounting == "tight":
        steps = (
            _first(
                lambda n: not keeps(accounting, k, Fraction(n, _SCALE), epsilon, delta), 0, _SCALE
            )
            - 1
        )
    else:
        steps = _largest_by_theorem(k, epsilon, delta)
        if steps < int(default_beta(epsilon) * _SCALE) and surely_keeps(
            accounting, k, nearest_beta(epsilon), epsilon, delta
        ):
            return nearest_beta(epsilon)
    while steps > 0 and not surely_keeps(accounting, k, Fraction(steps, _SCALE), epsilon, delta):
        steps -= 1
    if Fraction(steps, _SCALE) <= delta:
        raise PlanError(
            f"no beta above delta keeps epsilon = {float(epsilon)} and delta = {float(delta):g}"
            f" with k = {k}: take a larger k."
        )
    return Fraction(steps, _SCALE)


def _largest_by_theorem(k: int, epsilon: Fraction, delta: Fraction) -> int:
    """In units of the last decimal; comes down from the largest beta that the theorem allows.

    It never passes over a beta that keeps delta: where P(Bin(n_m(b), b) >= m) > delta, the smaller
    beta' at which P(Bin(n_m(b), beta') >= m) = delta is a next place to look, as in between n_m is
    no smaller, and the probability no smaller either.
    """
    steps = int(default_beta(epsilon) * _SCALE)
    while steps > 0 and (broken := theorem.broken_at(k, Fraction(steps, _SCALE), epsilon, delta)):
        n, m = broken
        steps = _first(partial(_breaks, n, m, delta), 0, steps) - 1
    return steps


def _breaks(n: int, m: int, delta: Fraction, steps: int) -> bool:
    """Whether a beta of so many steps breaks delta at this n and m."""
    return not theorem.tail_keeps(n, m, Fraction(steps, _SCALE), delta)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest whole number above ``low`` at which ``holds``, which does from there on, and at
    ``high``.
    """
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def _first_up_to(holds: Callable[[int], bool], low: int, guess: int, end: int) -> int | None:
    """The smallest whole number from ``low`` up to ``end`` at which ``holds``, which does from
    there on; None where there is none.
    """
    if holds(low):
        return low
    while not holds(guess):
        low = guess
        if guess >= end:
            return None
        guess = min(2 * guess, end)
    return _first(holds, low, guess)


def _of_the_sample(epsilon: Number, scheme: Fraction) -> Fraction:
    """What is left of epsilon for the sample itself."""
    own = bounded(epsilon, "epsilon", 0, MOST_EPSILON) - scheme
    if own <= 0:
        what = f"above epsilon_scheme = {plain(scheme)}, a part of it" if scheme else "above 0"
        raise PlanError(f"epsilon must be {what}, and is {epsilon}.")
    return own


def _probability(number: Number, what: str) -> Fraction:
    probability = exact(number, what)
    if not 0 < probability < 1:
        raise PlanError(f"{what} must be above 0 and below 1, and is {number}.")
    return probability


def _refuse_senseless(
    accounting: Accounting, beta: Fraction, epsilon: Fraction, delta: Fraction
) -> None:
    """A sample has to be likelier than the promise is to fail, and known to the accounting."""
    if accounting == "theorem":
        theorem.refuse_uncovered(beta, epsilon)
    if beta <= delta:
        raise PlanError(
            f"beta must be above delta, and is {float(beta):g} against {float(delta):g}: take a"
            " larger beta or a smaller delta."
        )


def _refuse_untrue(
    accounting: Accounting, k: int, beta: Fraction, epsilon: Fraction, delta: Fraction
) -> None:
    """What is given in full has to be true."""
    _refuse_senseless(accounting, beta, epsilon, delta)
    if surely_keeps(accounting, k, beta, epsilon, delta):
        return
    has = promised(accounting, k, beta, epsilon, Fraction(0), None).delta
    try:
        enough = f"k = {smallest_k(accounting, beta, epsilon, delta)}"
    except PlanError:  # too large to be found in some seconds
        enough = "a much larger k"
    raise PlanError(
        f"k = {k} and beta = {float(beta)} at epsilon = {float(epsilon)} give a delta of {has:g},"
        f" more than {float(delta):g}: take {enough}, or leave beta out to have it found."
    )
