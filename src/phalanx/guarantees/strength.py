# SPDX-License-Identifier: Apache-2.0
"""How much a guarantee promises, by its parameters: nothing at all, or less than another one of its
name. The same words mean the same in every guarantee.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phalanx.errors import ReleaseError
from phalanx.exact import exact
from phalanx.guarantees.base import Graded, Guarantee
from phalanx.guarantees.registry import from_parameters

_NOTHING: Final[Mapping[str, str]] = {
    "k": "each person is among 1 person or more",
    "l": "no share of a value is above 1, and every group holds 1 value or more",
    "m": "every group holds 1 value or more",
    "t": "no two distributions are further apart than 1",
    "delta": "nothing is more probable than 1",
}
"""Parameters that ask for nothing where they are 1, and why."""
_MORE: Final = ("k", "l", "m", "changes")
_LESS: Final = ("t", "c", "delta", "epsilon")
_COSTS_NOTHING: Final = ("name", "beta", "accounting", "epsilon_scheme")
"""Ways to keep a promise that is stated by other parameters."""


def promises_nothing(guarantee: Guarantee) -> str:
    """Why every table keeps the promise; empty where not every one does."""
    if isinstance(guarantee, Graded):
        return guarantee.promises_nothing()
    given = guarantee.parameters()
    if "c" in given:  # recursive diversity: with l = 1 the largest share is below c
        return (
            f"l = {given['l']} with c = {given['c']} promises nothing: no share is above 1"
            if given["l"] == 1 and exact(given["c"], "c") > 1
            else ""
        )
    protected = given.get("protected")
    none = isinstance(protected, list) and all(value is None for value in protected)
    if none and not given.get("permanent"):
        return "it protects no value, so it promises nothing"
    words = (
        _NOTHING if "epsilon" not in given else {"delta": "with that probability the promise fails"}
    )
    for word, why in words.items():
        if word in given and exact(given[word], word) == 1:
            return f"{word} = 1 promises nothing: {why}"
    return ""


def weakened(
    now: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """What the guarantees of a later release promise less than those before it; nothing where any
    of them is none that is known.
    """
    try:
        later, earlier = (
            [from_parameters(public) for public in now],
            [from_parameters(public) for public in before],
        )
    except ReleaseError:  # which is told elsewhere
        return
    for guarantee in earlier:
        alike = [weaker for weaker in later if type(weaker) is type(guarantee)]
        if not alike:
            yield f"it no longer promises {guarantee.name}, which the release before it does"
            continue
        weaker = [list(_less(one, guarantee)) for one in alike]
        if all(weaker):
            yield from (
                f"it promises less than the release before it ({guarantee.name}: {what})"
                for what in weaker[0]
            )


def _less(now: Guarantee, before: Guarantee) -> Iterator[str]:
    """What of a promise asks for less than before, or for something that cannot be compared."""
    if isinstance(now, Graded):
        yield from now.weaker_than(before)
        return
    mine, theirs = vars(now), vars(before)
    for word in theirs:
        if word in _COSTS_NOTHING or mine[word] == theirs[word]:
            continue
        if word in ("protected", "unprotected", "permanent"):
            if not _keeps_values(word, mine[word], theirs[word]):
                yield f"the {word} values are others, and protect less"
        elif not _keeps(word, mine[word], theirs[word]):
            yield f"{word} was {_shown(theirs[word])} and is {_shown(mine[word])}"


def _keeps(word: str, mine: Any, theirs: Any) -> bool:
    """Whether a parameter asks for as much as before; what has no order must stay what it is."""
    if word == "consecutive":
        return bool(theirs)  # all releases are more than neighbouring ones
    if word == "balancing":
        return bool(mine == "exact")
    if word == "budget":
        return mine is not None and (
            theirs is None
            or all(exact(mine[key], key) <= exact(theirs[key], key) for key in theirs)
        )
    if word in _MORE:
        return exact(mine, word) >= exact(theirs, word)
    return word in _LESS and exact(mine, word) <= exact(theirs, word)


def _keeps_values(word: str, mine: Any, theirs: Any) -> bool:
    """Whether the same values are protected, or more."""
    if word == "protected" and "all" in (mine, theirs):
        return bool(mine == "all")
    fewer, more = (mine, theirs) if word == "unprotected" else (theirs, mine)
    return all(value in more for value in fewer)


def _shown(value: Any) -> str:
    return (
        "none"
        if value is None
        else ", ".join(f"{key} {_shown(most)}" for key, most in value.items())
        if isinstance(value, Mapping)
        else str(value)
    )
