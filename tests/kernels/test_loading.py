# SPDX-License-Identifier: Apache-2.0
"""Kernels that were compiled before are read without preparing to compile."""

import subprocess
import sys

import pytest

PREPARED = "scipy.linalg", "pycparser", "numba.typed.dictimpl"
"""What numba loads where it is about to compile."""
RUN = """
import sys
import numpy as np
from phalanx.methods.m_invariance import kernels
assert kernels.counted_order(np.array([2, 0, 1, 0]), 3).tolist() == [1, 3, 2, 0]
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


@pytest.fixture
def environment(tmp_path):
    """Kernels lie in a folder of their own, empty at first."""
    return {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}


def run(environment):
    """What of that is loaded in a new process that uses a kernel which makes arrays."""
    made = subprocess.run(
        [sys.executable, "-c", RUN, *PREPARED],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.split()


def test_a_kernel_that_was_compiled_before_is_read_alone(environment):
    """Its first use compiles, for which all is loaded; the second process loads none of it, and
    finds the same.
    """
    assert "numba.typed.dictimpl" in run(environment)
    assert run(environment) == []


def test_without_a_compiler_a_kernel_is_the_function(environment):
    """As where NUMBA_DISABLE_JIT is set, to step through one."""
    assert run({**environment, "NUMBA_DISABLE_JIT": "1"}) == []
