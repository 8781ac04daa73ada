# SPDX-License-Identifier: Apache-2.0
"""The one door to choices by differential privacy: OpenDP's noisy maximum over whole-number
scores.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

from phalanx.arrays import Ints
from phalanx.errors import PlanError

UNIT: Final = 2**16
"""All that one attribute says, in units of a score: scores are whole numbers, so that no rounding
stands between the proof and the draw.
"""
_LARGEST: Final = 2**60
"""Nothing is added to a score beyond this, so that it stays a 64-bit number."""
_ENOUGH: Final = Fraction(2**40)
"""A larger epsilon is not spent: the highest score wins anyway."""


@dataclass(frozen=True)
class PrivateChoice:
    """The place of a high score, drawn so that adding or removing a row changes the odds of no
    place by more than a factor of e^epsilon.

    Promised where adding any row raises every score by 0 to ``sensitivity``, and removing it takes
    back the same. Scores that all go one way cost half of what others would (``monotonic``); adding
    the same number to all scores changes nothing.

    OpenDP draws by permute-and-flip (McKenna, Sheldon, NeurIPS 2020), which is never worse than the
    exponential mechanism, with exact rationals and from the operating system's randomness, so that
    no seed repeats a choice. What it says the choice costs is compared with epsilon exactly; the
    noise is made larger until it costs no more. Raises PlanError where no scale does.

    >>> PrivateChoice(Fraction(1, 4), sensitivity=1).scale
    4.0
    """

    epsilon: Fraction
    sensitivity: int

    @cached_property
    def scale(self) -> float:
        """How much noise is added, in units of the scores."""
        epsilon = min(self.epsilon, _ENOUGH)
        if epsilon >= self.sensitivity / Fraction(_LARGEST) ** 8:
            scale = float(self.sensitivity / epsilon)
            for _ in range(4):
                if Fraction(_measurement(scale).map(self.sensitivity)) <= epsilon:
                    return scale
                scale = math.nextafter(scale, math.inf)
        raise PlanError(
            f"[method] epsilon_scheme leaves {float(self.epsilon):.3g} for a choice, which no noise"
            " can keep; give a number such as 0.1."
        )

    def head_start(self, others: int) -> int:
        """What to add to the score of the candidate that is right where all is noise, so that the
        ``others`` do not win by their number alone.

        It is half of what would let it win about as often as all others together: on made-up tables
        the most information came through so.
        """
        return min(math.ceil(self.scale * math.log(max(1, others)) / 2), _LARGEST)

    def among(self, scores: Ints) -> int:
        """The place of one of the ``scores``, shape (candidates,)."""
        return int(_measurement(self.scale)(scores.tolist()))


@lru_cache(maxsize=256)
def _measurement(scale: float) -> Any:
    """OpenDP's noisy maximum at a scale, and with it the bound that OpenDP proves; imported here,
    as it takes a second and a half.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    return dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)
