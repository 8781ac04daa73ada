# SPDX-License-Identifier: Apache-2.0
"""How often an adversary is right who names the most probable of what is possible."""

from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints

ROUNDING: Final = 1e-9
"""More than rounding costs a probability: below this, two are equal."""


def are_most(p: Floats, most: Floats) -> Bools:
    """Which probabilities are the most probable ones, of which each has ``most`` beside it; none
    where nothing is possible.

    >>> are_most(np.array([0.5, 0.5 - 1e-12, 0.0]), np.array([0.5, 0.5, 0.0])).tolist()
    [True, True, False]
    """
    return np.asarray((p >= most * (1 - ROUNDING)) & (most > 0))


def named_rightly(
    kind: Ints, p: Floats, own: Ints, kinds: Ints, many: Ints | None = None
) -> Floats:
    """How often the most probable of each person's possibilities is right, if one of the most
    probable ones is named, shape (n,); 0 where none is possible.

    Parameters
    ----------
    kind, p : Ints, Floats
        Of kinds of persons the possibilities, and how probable each is, shape (e,).
    own : Ints
        The place of each person's own one, -1 where it has none, shape (n,).
    kinds : Ints
        The kind of each person, shape (n,).
    many : Ints, optional
        How many of each possibility there are, shape (e,); one if not given.

    Returns
    -------
    Floats
        Shape (n,).
    """
    most = np.zeros(int(max(kind.max(initial=-1), kinds.max(initial=-1))) + 1)
    np.maximum.at(most, kind, p)
    first = are_most(p, most[kind])
    named = np.bincount(kind, weights=first if many is None else first * many, minlength=len(most))
    right = np.append(first, [False])[own]
    return np.asarray(right / np.maximum(named[kinds], 1))
