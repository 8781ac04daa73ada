# SPDX-License-Identifier: Apache-2.0
"""Work on all processors at once."""

import os

import pytest

from phalanx.methods.threads import on_all, threads


@pytest.mark.parametrize("cores", [1, 3])
def test_every_part_is_done_once(cores, monkeypatch):
    """However many processors there are."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    done = []
    on_all(done.append, range(20))
    assert sorted(done) == list(range(20))
    assert threads() == cores


def test_what_fails_is_raised():
    """An error in a thread is not lost."""

    def work(part):
        if part == 3:
            raise ValueError("part 3")

    with pytest.raises(ValueError, match="part 3"):
        on_all(work, range(5))
