# SPDX-License-Identifier: Apache-2.0
"""What follows from a form alone is computed once for each, since several sections ask for it."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from phalanx.release.form import Form

T = TypeVar("T")


def per_form(compute: Callable[[Form], T]) -> Callable[[Form], T]:
    """What a function gives for a form, which is immutable, kept as long as the form is there.

    Parameters
    ----------
    compute : Callable[[Form], T]
        The function; what it gives must not hold the form.

    Returns
    -------
    Callable[[Form], T]
        The same function.
    """
    known: WeakKeyDictionary[Form, T] = WeakKeyDictionary()

    @wraps(compute)
    def looked_up(form: Form) -> T:
        if form not in known:
            known[form] = compute(form)
        return known[form]

    return looked_up
