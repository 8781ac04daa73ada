# SPDX-License-Identifier: Apache-2.0
"""Whatever is left out of (epsilon, delta, k, beta), found so that the promise holds; every answer
is checked with decimals rounded against us.
"""

from collections.abc import Callable
from fractions import Fraction

from phalanx.accounting.beta_search import largest_beta
from phalanx.accounting.binomials import too_extreme
from phalanx.accounting.directed import float_kept
from phalanx.accounting.promise import (
    EPSILON_PLACES,
    Accounting,
    Promise,
    default_beta,
    keeps,
    least_epsilon,
    promised,
    surely_keeps,
    theorem_covers,
)
from phalanx.errors import PlanError
from phalanx.exact import Number, exact


def solve(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    k: int | None = None,
    beta: Number | None = None,
    accounting: Accounting = "theorem",
    epsilon_scheme: Number = 0,
) -> Promise:
    """The promise with what is left out solved for; PlanError where the rest does not determine it,
    or nothing keeps it.

    ``epsilon`` is the whole of it, ``epsilon_scheme`` the part that choosing the scheme costs. What
    is missing:

    - beta: the largest the theorem allows, ``default_beta``; but where epsilon, delta and k are all
      given, the largest that keeps delta (``largest_beta``).
    - k: the smallest that keeps delta; k - 1 does not.
    - delta: what the accounting says.
    - epsilon: the smallest, to 12 decimals, that keeps delta with that k and beta; with only one of
      k and delta, -ln(1 - beta), the smallest the theorem allows; with delta and k alone, -ln(1 -
      beta) again, for the largest sample (beta, k) that keeps delta.

    >>> solve(epsilon=1, delta="1e-6").k, solve(epsilon=1, delta="1e-6", accounting="tight").k
    (74, 58)
    """
    given = _Given(epsilon, delta, k, beta, accounting, epsilon_scheme)
    if given.epsilon is None:
        return given.without_epsilon()
    if given.beta is None:
        return given.without_beta(given.epsilon)
    return given.with_both(given.epsilon, given.beta)


def smallest_k(accounting: Accounting, beta: Fraction, epsilon: Fraction, delta: Fraction) -> int:
    """The smallest k that keeps delta: both accountings fall with k."""
    high = 1
    while not keeps(accounting, high, beta, epsilon, delta):
        high *= 2
        if high > 2**60:
            raise too_extreme("a k above 2**60")
    low = high // 2  # keeps nothing, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        if keeps(accounting, middle, beta, epsilon, delta):
            high = middle
        else:
            low = middle
    while not surely_keeps(accounting, high, beta, epsilon, delta):
        high += 1
    while high > 1 and surely_keeps(accounting, high - 1, beta, epsilon, delta):
        high -= 1
    return high


def smallest_epsilon(accounting: Accounting, k: int, beta: Fraction, delta: Fraction) -> Fraction:
    """The smallest epsilon, to 12 decimals, that keeps delta: both accountings fall with epsilon;
    for the theorem at least -ln(1 - beta).
    """
    scale: int = 10**EPSILON_PLACES
    if delta < beta**k if k < 10_000 else False:
        raise PlanError(
            f"no epsilon keeps delta = {float(delta):g}: it is never below beta**k ="
            f" {float(beta**k):g}; take a larger k or a smaller beta."
        )
    least = int(least_epsilon(beta) * scale) if accounting == "theorem" else 1

    def enough(steps: int) -> bool:
        return keeps(accounting, k, beta, Fraction(steps, scale), delta)

    def surely(steps: int) -> bool:
        return surely_keeps(accounting, k, beta, Fraction(steps, scale), delta)

    steps = first(enough, least, max(2 * least, scale), 10_000 * scale)
    if steps is None:
        raise PlanError(
            f"no epsilon below 10000 keeps delta = {float(delta):g} with k = {k} and beta ="
            f" {float(beta)}: take a larger k or a smaller beta."
        )
    while not surely(steps):
        steps += 1
    return Fraction(steps, scale)


def first(holds: Callable[[int], bool], low: int, guess: int, end: int) -> int | None:
    """The smallest whole number from ``low`` up to ``end`` at which ``holds``, which holds from
    there on; None where there is none.
    """
    if holds(low):
        return low
    while not holds(guess):
        low = guess
        if guess >= end:
            return None
        guess = min(2 * guess, end)
    while guess - low > 1:
        middle = (low + guess) // 2
        if holds(middle):
            guess = middle
        else:
            low = middle
    return guess


class _Given:
    """What was asked, read exactly; ``epsilon`` is the sample's own from here on."""

    def __init__(
        self,
        epsilon: Number | None,
        delta: Number | None,
        k: int | None,
        beta: Number | None,
        accounting: Accounting,
        epsilon_scheme: Number,
    ) -> None:
        if accounting not in {"theorem", "tight"}:
            raise PlanError(f'accounting must be "theorem" or "tight", and is {accounting!r}.')
        self.accounting = accounting
        self.scheme = exact(epsilon_scheme, "epsilon_scheme")
        if self.scheme < 0:
            raise PlanError(f"epsilon_scheme must be at least 0, and is {epsilon_scheme}.")
        self.epsilon = None if epsilon is None else exact(epsilon, "epsilon") - self.scheme
        if self.epsilon is not None and self.epsilon <= 0:
            what = (
                f"above epsilon_scheme = {epsilon_scheme}, which is a part of it"
                if self.scheme
                else "above 0"
            )
            raise PlanError(f"epsilon must be {what}, and is {epsilon}.")
        self.delta = None if delta is None else exact(delta, "delta")
        if self.delta is not None and not 0 < self.delta < 1:
            raise PlanError(f"delta must be above 0 and below 1, and is {delta}.")
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
            raise PlanError(f"k must be a whole number of at least 1, and is {k!r}.")
        self.k = k
        self.beta = None if beta is None else exact(beta, "beta")
        if self.beta is not None and not 0 < self.beta < 1:
            raise PlanError(f"beta must be above 0 and below 1, and is {beta}.")

    def without_epsilon(self) -> Promise:
        if self.beta is not None:
            if self.k is not None and self.delta is not None:
                return self.promise(
                    self.k,
                    self.beta,
                    smallest_epsilon(self.accounting, self.k, self.beta, self.delta),
                )
            if self.k is not None or self.delta is not None:
                return self.with_both(least_epsilon(self.beta), self.beta)
        if self.k is None or self.delta is None:
            raise PlanError(
                "this does not determine the promise: give two of epsilon, delta, k and beta"
                " (epsilon and beta with one more)."
            )
        epsilon = self.widest_epsilon(self.k, self.delta)
        return self.promise(self.k, default_beta(epsilon), epsilon)

    def widest_epsilon(self, k: int, delta: Fraction) -> Fraction:
        """The epsilon up to which k keeps delta with the theorem's largest beta: with it, both the
        sample and delta grow.
        """
        scale: int = 10**EPSILON_PLACES

        def lost(steps: int) -> bool:
            epsilon = Fraction(steps, scale)
            return not keeps(self.accounting, k, default_beta(epsilon), epsilon, delta)

        steps = first(
            lost, 1000, scale, 30 * scale
        )  # 1e-9: below it beta has too few of its 15 decimals to mean anything
        if steps == 1000:
            raise PlanError(
                f"k = {k} keeps delta = {float(delta):g} for no epsilon with beta = 1 - e^-epsilon:"
                " take a larger k, or give epsilon or beta."
            )
        epsilon = Fraction(30 * scale if steps is None else steps - 1, scale)
        while not surely_keeps(self.accounting, k, default_beta(epsilon), epsilon, delta):
            epsilon -= Fraction(1, scale)
        return epsilon

    def without_beta(self, epsilon: Fraction) -> Promise:
        if self.delta is None and self.k is None:
            raise PlanError(
                "epsilon alone does not determine the promise: give delta or k as well."
            )
        if self.delta is None or self.k is None:
            return self.with_both(epsilon, default_beta(epsilon))
        return self.promise(
            self.k, largest_beta(self.accounting, self.k, epsilon, self.delta), epsilon
        )

    def with_both(self, epsilon: Fraction, beta: Fraction) -> Promise:
        if self.accounting == "theorem" and not theorem_covers(beta, epsilon):
            raise PlanError(
                f"beta = {float(beta)} is more than the theorem allows at epsilon ="
                f" {float(epsilon)}: take a beta of at most {float(default_beta(epsilon))}, or"
                ' accounting = "tight".'
            )
        if self.k is None:
            if self.delta is None:
                raise PlanError(
                    "epsilon and beta do not determine the promise: give delta or k as well."
                )
            self.above(beta, self.delta)
            return self.promise(
                smallest_k(self.accounting, beta, epsilon, self.delta), beta, epsilon
            )
        if self.delta is not None:
            self.held(self.k, beta, epsilon, self.delta)
        return self.promise(self.k, beta, epsilon)

    def held(self, k: int, beta: Fraction, epsilon: Fraction, delta: Fraction) -> None:
        """What is given in full has to be true."""
        self.above(beta, delta)
        if not surely_keeps(self.accounting, k, beta, epsilon, delta):
            has = promised(self.accounting, k, beta, epsilon, self.scheme, None).delta
            try:
                enough = f"k = {smallest_k(self.accounting, beta, epsilon, delta)}"
            except PlanError:  # too large to be found in some seconds
                enough = "a much larger k"
            raise PlanError(
                f"k = {k} and beta = {float(beta)} at epsilon = {float(epsilon)} give a delta of"
                f" {has:g}, more than {float(delta):g}: take {enough}, or leave beta out to have it"
                " found."
            )

    def above(self, beta: Fraction, delta: Fraction) -> None:
        """A sample has to be likelier than the promise is to fail."""
        if beta <= delta:
            raise PlanError(
                f"beta must be above delta, and is {float(beta):g} against {float(delta):g}: take a"
                " larger beta or a smaller delta."
            )

    def promise(self, k: int, beta: Fraction, epsilon: Fraction) -> Promise:
        return promised(
            self.accounting,
            k,
            beta,
            epsilon,
            self.scheme,
            None if self.delta is None else float_kept(self.delta),
        )
