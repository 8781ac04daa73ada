# SPDX-License-Identifier: Apache-2.0
"""The one door to randomness: uniform, independent by task, never repeated in another process, and
silent about its key.
"""

import copy
import math
import os
import pickle
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from phalanx.arrays import by_highest_bits
from phalanx.errors import PhalanxError
from phalanx.randomness import Randomness, Stream

SURE = 1e-7
"""Each statistic may raise a false alarm with this probability."""


def chi_square(observed: list[int], expected: float) -> float:
    """The p-value of equal frequencies, by Wilson and Hilferty's approximation."""
    degrees = len(observed) - 1
    x = sum((o - expected) ** 2 for o in observed) / expected
    z = ((x / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))
    return 0.5 * math.erfc(z / math.sqrt(2))


class Lazy(Stream):
    """A broken twin: the shuffle that swaps each place with any place, which is not uniform."""

    def permutation(self, n: int) -> Any:
        order = np.arange(n)
        for i, j in enumerate(self.integers(n, n)) if n else ():
            order[i], order[j] = order[j], order[i]
        return order


class Remainder(Stream):
    """A broken twin: the plain remainder of a byte."""

    def integers(self, bound: int, n: int) -> Any:
        return ((self.words(n) & np.uint64(7)) % np.uint64(bound)).astype(np.int64)


def stream(kind: type[Stream] = Stream) -> Stream:
    return kind(os.urandom(32))


def frequencies(drawn: Stream, n: int, times: int) -> list[int]:
    found = Counter(tuple(drawn.permutation(n).tolist()) for _ in range(times))
    assert set(found) <= set(permutations(range(n)))
    return [found[order] for order in permutations(range(n))]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_order_is_equally_frequent(n: int) -> None:
    """All n! permutations of a few places, by chi-square over fresh draws."""
    times = 400 * math.factorial(n)
    assert chi_square(frequencies(stream(), n, times), 400) > SURE


def test_the_lazy_shuffle_would_be_seen() -> None:
    """The same test rejects a shuffle that is nearly uniform."""
    assert chi_square(frequencies(stream(Lazy), 3, 12_000), 2000) < SURE


@pytest.mark.parametrize("bound", [2, 3, 5, 7, 100])
def test_integers_are_equally_frequent(bound: int) -> None:
    """Every value below the bound, and no other."""
    drawn = stream().integers(bound, 400 * bound)
    assert drawn.dtype == np.int64
    assert chi_square(np.bincount(drawn, minlength=bound).tolist(), 400) > SURE
    assert drawn.max() < bound


def test_the_plain_remainder_would_be_seen() -> None:
    """The same test rejects a remainder of a range that the bound does not divide."""
    assert (
        chi_square(np.bincount(stream(Remainder).integers(3, 12_000), minlength=3).tolist(), 4000)
        < SURE
    )


@pytest.mark.parametrize("bound", [3 * 2**61, 2**63 - 1, 2**63])
def test_integers_near_the_largest_bound(bound: int) -> None:
    """Where a plain remainder would favour small values by half, the thirds of the range stay
    equally frequent.
    """
    drawn = stream().integers(bound, 30_000)
    assert drawn.min() >= 0
    assert (
        chi_square(
            np.bincount((drawn // (bound // 3 + 1)).astype(int), minlength=3).tolist(), 10_000
        )
        > SURE
    )
    favoured = (stream().words(30_000) % np.uint64(3 * 2**61)).astype(np.int64)
    assert chi_square(np.bincount(favoured // (2**61), minlength=3).tolist(), 10_000) < SURE


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1, 2**64])
def test_bounds_that_make_no_sense(bound: int) -> None:
    """A bound of nothing, or beyond what the answer's type holds, is refused instead of wrapped
    around.
    """
    with pytest.raises(ValueError, match="must be from 1 to 2\\^63"):
        stream().integers(bound, 1)


def test_nothing_and_one() -> None:
    """Permutations of nobody and of one, no draws, and integers that have no choice."""
    drawn = stream()
    assert drawn.permutation(0).tolist() == []
    assert drawn.permutation(1).tolist() == [0]
    assert drawn.words(0).tolist() == []
    assert drawn.integers(1, 3).tolist() == [0, 0, 0]
    assert drawn.integers(5, 0).tolist() == []


def test_equal_keys_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal sorting keys would favour the order that they stand in, so these are drawn anew, among
    themselves; and again where they are equal again.
    """
    drawn = [
        np.array(words, dtype=np.uint64) for words in ([9, 9, 1, 8, 255], [3, 3, 7], [2, 1, 0])
    ]
    monkeypatch.setattr(Stream, "words", lambda _self, _n: drawn.pop(0))
    assert stream().permutation(5).tolist() == [2, 3, 1, 0, 4]
    assert drawn == []


class Few(Stream):
    """Words of which only the lowest bits of the highest ones differ, so that many are alike."""

    def words(self, n: int) -> Any:
        return (super().words(n) >> np.uint64(59)) << np.uint64(1)


class Kept(Few):
    """A broken twin: those that are alike stay in the order in which they stand."""

    def permutation(self, n: int) -> Any:
        return by_highest_bits(self.words(n))[0]


def test_every_order_is_equally_frequent_where_many_keys_are_alike() -> None:
    """Draws among those that are alike, and only these, are made again and again."""
    assert chi_square(frequencies(stream(Few), 3, 30_000), 5_000) > SURE
    assert chi_square(frequencies(stream(Kept), 3, 30_000), 5_000) < SURE


def test_a_stream_goes_on() -> None:
    """Draws do not repeat within a stream, and do not depend on how many are asked for at once."""
    one, other = Randomness.seeded(3), Randomness.seeded(3)
    a, b = one.stream("x"), other.stream("x")
    assert np.concatenate([a.words(3), a.words(4)]).tolist() == b.words(7).tolist()
    assert len(set(stream().words(100_000).tolist())) == 100_000


def test_streams_of_different_tasks_share_nothing() -> None:
    """No word of one task is a word of another, and their bits agree as often as not."""
    rng = Randomness.secure()
    words = [
        rng.stream(task).words(20_000)
        for task in ("", "a", "b", "ab", "a/b", "groups", "generalize")
    ]
    assert len(set(np.concatenate(words).tolist())) == 7 * 20_000
    agree = np.array(
        [np.bitwise_count(~(x ^ y)).sum() for i, x in enumerate(words) for y in words[:i]]
    )
    bits = 64 * 20_000
    assert (np.abs(agree - bits / 2) < 6 * math.sqrt(bits) / 2).all()


def test_the_operating_system_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release's key is 32 bytes of the operating system's, each time anew, and all draws follow
    from it.
    """
    asked: list[int] = []

    def urandom(n: int) -> bytes:
        asked.append(n)
        return bytes([len(asked)]) * n

    monkeypatch.setattr(os, "urandom", urandom)
    first, second = Randomness.secure(), Randomness.secure()
    assert asked == [32, 32]
    assert first.for_publication
    assert first.stream("t").words(1).tolist() != second.stream("t").words(1).tolist()
    monkeypatch.setattr(os, "urandom", lambda n: bytes([1]) * n)
    assert Randomness.secure().stream("t").words(5).tolist() == first.stream("t").words(5).tolist()


def test_seeds() -> None:
    """The same seed gives the same draws, another one others, and nothing made with one is for
    publication.
    """
    draws = {
        seed: Randomness.seeded(seed).stream("t").words(2).tobytes()
        for seed in (*range(50), 2**64 - 1)
    }
    assert len(set(draws.values())) == 51
    assert Randomness.seeded(7).stream("t").words(2).tobytes() == draws[7]
    assert not Randomness.seeded(7).for_publication
    for wrong in (-1, 2**64):
        with pytest.raises(PhalanxError, match="a seed is a whole number from 0"):
            Randomness.seeded(wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_may_not_draw() -> None:
    """A stream carried into a child, where it would repeat its parent's draws, refuses; the parent
    goes on.
    """
    drawn = stream()
    child = os.fork()
    if child == 0:
        try:
            drawn.words(1)
        except PhalanxError as error:
            os._exit(0 if "carried into another process" in str(error) else 2)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(drawn.words(1)) == 1


@pytest.mark.parametrize(
    "carry", [pickle.dumps, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
@pytest.mark.parametrize("kind", ["randomness", "stream"])
def test_nothing_is_pickled_or_copied(carry: Any, kind: str) -> None:
    """What is copied would repeat itself; the error says what to do."""
    rng = Randomness.secure()
    with pytest.raises(PhalanxError, match="between processes"):
        carry(rng if kind == "randomness" else rng.stream("t"))


def test_the_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither repr nor str of randomness or a stream shows the key, in bytes or in hexadecimal."""
    monkeypatch.setattr(os, "urandom", lambda n: b"\xabKEY" * (n // 4))
    rng = Randomness.secure()
    shown = "".join(f"{x} {x!r}" for x in (rng, rng.stream("t"), [rng]))
    assert "KEY" not in shown
    assert b"\xabKEY".hex() not in shown


def test_what_other_processes_draw_is_the_same_each_time_and_nobody_elses() -> None:
    """A unit that is done twice, in whichever process, is done with the same draws, which are no
    draws of this process; nothing shows the key, and it may go to another process.
    """
    rng = Randomness.secure()
    shared = rng.shared()
    again = copy.deepcopy(shared)
    draw = shared.of("cell 3").stream("deal").words(9)
    assert (draw == again.of("cell 3").stream("deal").words(9)).all()
    for other in (shared.of("cell 4"), rng.of("cell 3"), Randomness.secure().shared().of("cell 3")):
        assert not (draw == other.stream("deal").words(9)).any()
    assert repr(shared) == "Shared(for_publication=True)"
    assert shared.of("a").for_publication
    assert not Randomness.seeded(1).shared().of("a").for_publication
    with pytest.raises(PhalanxError):
        copy.deepcopy(shared.of("cell 3"))
