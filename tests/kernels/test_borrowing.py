# SPDX-License-Identifier: Apache-2.0
"""What only borrows its arrays does not count who holds them; what makes or hands on one does."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from phalanx.kernels import borrowing, njit

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled where NUMBA_DISABLE_JIT is set"
)

COUNTING = ("NRT_incref", "NRT_decref")


def kernel(function):
    """A kernel that is compiled now."""
    return njit(cache=False, nogil=True, fastmath=False)(function)


class Pair(NamedTuple):
    """Two arrays."""

    one: np.ndarray
    other: np.ndarray


def fields(pair, times):
    """Read and write fields, slices and views of them, in a loop."""
    total = 0
    for i in range(times):
        turned = Pair(pair.other, pair.one[i:])
        total += turned.one[i] + turned.other[0]
        pair.one[i] = total
        pair.one[pair.other] = times
        for each in turned.other:
            total += each
    return total


def a_slice(pair, times):
    """Hand on a part of an argument."""
    return pair.one[:times]


def an_argument(pair, times):
    """Hand on an argument among others."""
    return (times, pair.other)


def a_new_one(pair, times):
    """Make an array, and forget it."""
    made = np.arange(times)
    return np.sum(made) + pair.one[0]


def a_sum(pair, times):
    """Make one by a sum, and forget it."""
    return (pair.one + times)[0]


def chosen(pair, times):
    """Make one by choosing among the numbers of another."""
    return pair.one[pair.other[:times]][0]


def moved(pair, times):
    """Write an array into one that it overlaps, for which a copy may be made."""
    pair.one[1:] = pair.one[:-1]
    return pair.one[times]


def imaginary(pair, times):
    """Make one of zeros, by the name of an attribute."""
    return pair.one.imag[times]


def listed(pair, times):
    """Let a list hold an array."""
    held = [pair.one]
    held.append(pair.other[times:])
    return len(held)


MAKES = (a_slice, an_argument, a_new_one, a_sum, chosen, moved, imaginary, listed)


def pair():
    """Ten numbers, and which of them to take."""
    return Pair(np.arange(10), np.arange(5)[::-1].copy())


def called(function):
    """What calls it as a part, three times."""
    part = kernel(function)

    @kernel
    def whole(pair, times):
        part(pair, times)
        part(pair, times)
        return part(pair, times)

    return whole


def looked_at(compiled, patch):
    """Of each function that is compiled while one is called, by its name, whether it borrows; and
    what was given back.
    """
    seen, usual = {}, borrowing._borrows

    def borrows(state):
        seen[state.func_id.func_name] = usual(state)
        return seen[state.func_id.func_name]

    patch.setattr(borrowing, "_borrows", borrows)
    return seen, compiled(pair(), 3)


@pytest.fixture
def counted_by_numba():
    """While it counts what it makes and frees."""
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def counts(compiled):
    """Whether anything is counted in the code of a kernel."""
    return any(word in text for text in compiled.inspect_llvm().values() for word in COUNTING)


def in_python(function):
    """What it gives where nothing is compiled."""
    same = pair()
    function(same, 3)
    function(same, 3)
    return function(same, 3)


def equal(one, other):
    """Whether what two gave is the same."""
    return np.array_equal(
        np.hstack([np.ravel(each) for each in np.atleast_1d(one)])
        if not isinstance(one, tuple)
        else np.hstack(one),
        np.hstack(other) if isinstance(other, tuple) else np.ravel(other),
    )


def test_what_only_borrows_is_not_counted(monkeypatch):
    """Neither where it is a part, nor in what calls it, nor by itself; numba would count."""
    whole = called(fields)
    seen, given = looked_at(whole, monkeypatch)
    assert seen == {"fields": True, "whole": True}
    assert given == in_python(fields)
    assert not counts(whole)
    alone = kernel(fields)
    assert alone(pair(), 3) == fields(pair(), 3)
    assert not counts(alone)
    theirs = numba.njit(fields)
    theirs(pair(), 3)
    assert counts(theirs)


@pytest.mark.usefixtures("counted_by_numba")
@pytest.mark.parametrize("function", MAKES, ids=lambda function: function.__name__)
def test_what_makes_or_hands_on_an_array_is_counted(function, monkeypatch):
    """It gives what it gives without a compiler, and all that was made is freed."""
    whole = called(function)
    seen, given = looked_at(whole, monkeypatch)
    assert not seen[function.__name__]
    assert equal(given, in_python(function))
    del given
    before = rtsys.get_allocation_stats()
    for _ in range(3):
        whole(pair(), 3)
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


def test_what_lets_a_list_hold_an_array_is_counted(monkeypatch):
    """The list is an argument, and lives longer than the array is held elsewhere."""
    taken = kernel(lambda taken, pair: taken.append(pair.one))
    seen = {}
    usual = borrowing._borrows
    monkeypatch.setattr(borrowing, "_borrows", lambda state: seen.setdefault("taken", usual(state)))
    held = numba.typed.List([np.arange(3)])
    taken(held, Pair(np.arange(10), np.arange(5)))
    assert seen == {"taken": False}
    assert [each.tolist() for each in held] == [[0, 1, 2], list(range(10))]


def test_what_names_a_number_when_it_fails_is_counted(monkeypatch):
    """What is raised holds the number, and is made where arrays are."""

    def named(pair, times):
        if times > len(pair.one):
            raise ValueError("there are fewer", times)
        return pair.one[times]

    compiled = kernel(named)
    seen, given = looked_at(compiled, monkeypatch)
    assert (seen, given) == ({"named": False}, 3)
    with pytest.raises(ValueError, match="there are fewer") as raised:
        compiled(pair(), 11)
    assert raised.value.args == ("there are fewer", 11)


def test_what_gives_one_number_after_the_other_is_counted(monkeypatch):
    """It holds its arguments from one to the next, when who called it may have let go."""

    @kernel
    def each_of(pair, times):
        for i in range(times):
            yield pair.one[i]

    def summed(pair, times):
        total = 0
        for each in each_of(Pair(pair.one + 1, pair.other), times):
            total += each
        return total

    seen, given = looked_at(kernel(summed), monkeypatch)
    assert not seen["each_of"]
    assert given == 1 + 2 + 3


def test_what_was_handed_on_outlives_the_kernel():
    """As long as it is looked at: nothing else is written where it lies."""
    whole = called(a_slice)
    handed = [whole(Pair(np.arange(n, n + 10), np.arange(5)), 3) for n in range(50)]
    assert [each.tolist() for each in handed] == [[n, n + 1, n + 2] for n in range(50)]


def test_a_function_of_numba_does_what_it_does_in_what_borrows(monkeypatch):
    """And elsewhere after that."""

    def least(pair, times):
        return np.argmin(pair.one[times:]) + np.max(pair.other)

    whole = called(least)
    seen, given = looked_at(whole, monkeypatch)
    assert seen["least"]
    assert given == least(pair(), 3)
    assert numba.njit(least)(pair(), 3) == given
