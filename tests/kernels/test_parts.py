# SPDX-License-Identifier: Apache-2.0
"""What a kernel calls is compiled once, as a part of it, and does what it does by itself."""

import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from phalanx.kernels import njit
from phalanx.methods.m_invariance.kernels import counted

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled where NUMBA_DISABLE_JIT is set"
)


@pytest.fixture
def kernels():
    """A kernel that makes an array and may refuse, and one that calls it twice."""

    @njit(cache=False, nogil=True, fastmath=False)
    def halves(n):
        if n < 0:
            raise ValueError("below zero")
        return np.arange(n) // 2

    @njit(cache=False, nogil=True, fastmath=False)
    def both(n):
        return halves(n).sum() + halves(n + 1).max()

    return halves, both


def test_a_part_is_compiled_for_its_kernel_alone(kernels):
    """It has no code that Python could call, until Python does; both give the same."""
    halves, both = kernels
    assert both(5) == 4 + 2
    assert not halves.overloads
    assert halves(5).tolist() == [0, 0, 1, 1, 2]
    assert len(halves.overloads) == 1


def test_what_a_part_refuses_its_kernel_refuses(kernels):
    """With the part's own error."""
    with pytest.raises(ValueError, match="below zero"):
        kernels[1](-1)


def test_parts_have_no_machine_code(kernels):
    """Neither our own nor those of numba; it is made of the kernel alone."""
    made = []
    usual = JITCodeLibrary._finalize_specific
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            JITCodeLibrary, "_finalize_specific", lambda self: made.append(self.name) or usual(self)
        )
        kernels[1](3)
    assert [name.rpartition(".")[2] for name in made] == ["both"]


def test_functions_of_others_are_compiled_as_ever(kernels):
    """Also where they need what was compiled for a kernel of ours as a part, and where a kernel of
    ours could not be compiled.
    """
    halves, both = kernels
    both(3)
    with pytest.raises(numba.TypingError):
        both("no number")
    context = cpu_target.target_context
    assert context.codegen()._library_class is JITCodeLibrary
    assert "get_executable" not in vars(context)
    theirs = numba.njit(lambda n: np.arange(n).max() + halves(n).sum())
    assert theirs(5) == 4 + 4


def test_a_kernel_goes_to_another_process():
    """As any function of numba does, for who runs one there."""
    code = (
        "import pickle, sys, numpy\n"
        "kernel = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "print(*kernel(numpy.array([2, 0, 1, 0]), numpy.arange(4), 3))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(counted).hex()],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.split() == ["2", "1", "1"]


KEPT = """
from phalanx.kernels import njit

@njit(cache=True, nogil=True, fastmath=False)
def root(n):
    if n < 0:
        raise ValueError("below zero")
    return n // 2

@njit(cache=True, nogil=True, fastmath=False)
def whole(n):
    return root(n) + 1

print(whole(4))
try:
    whole(-4)
except ValueError as error:
    print(error)
print(sum(whole.stats.cache_hits.values()))
"""
"""What prints also whether the kernel was read from a file."""


def test_a_kernel_that_is_read_refuses_as_the_one_that_was_compiled(tmp_path):
    """Nothing of a part is written but its code, which is all that its refusals need."""
    (tmp_path / "kept.py").write_text(KEPT, encoding="utf-8")
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PATH": ""}
    for read in ("0", "1"):
        made = subprocess.run(
            [sys.executable, "kept.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert made.stdout.splitlines() == ["3", "below zero", read]
