# SPDX-License-Identifier: Apache-2.0
"""Kernels that were compiled before are read without preparing to compile."""

import shutil
import subprocess
import sys
from pathlib import Path

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
SAID = """
import io, sys
import numpy as np
sys.stderr = type("Terminal", (io.StringIO,), {"isatty": lambda _: True})()
from phalanx.cli.output import steps
with steps(["group"], quiet="quiet" in sys.argv) as begin:
    begin("group")
    from phalanx.methods.m_invariance import kernels
    kernels.counted_order(np.array([2, 0, 1, 0]), 3)
    kernels.sorted_lists(np.array([1, 0]), np.array([0, 0]), 2, 1)
print(sys.stderr.getvalue().count("the kernels are compiled, once"))
"""
"""A bar over steps on a terminal, in which two kernels are used."""


@pytest.fixture
def environment(tmp_path):
    """Kernels lie in a folder of their own, empty at first."""
    return {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}


def run(environment, code=RUN, said=PREPARED):
    """What a new process prints: by default, what of ``PREPARED`` is loaded by a kernel that makes
    arrays.
    """
    made = subprocess.run(
        [sys.executable, "-c", code, *said],
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


def test_who_waits_for_the_compiler_is_told_once(environment):
    """On a terminal, at the first kernel of the first process; not where nobody asked for
    progress, and not in the next process.
    """
    assert run(environment, SAID, ["quiet"]) == ["0"]
    place = environment["NUMBA_CACHE_DIR"]
    for folder in Path(place).iterdir():
        shutil.rmtree(folder)
    assert run(environment, SAID) == ["1"]
    assert run(environment, SAID) == ["0"]
