# SPDX-License-Identifier: Apache-2.0
"""Kernels that were compiled before are read without preparing to compile."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import phalanx

PREPARED = "scipy.linalg", "pycparser", "numba.typed.dictimpl"
"""What numba loads where it is about to compile."""
RUN = """
import sys
import numpy as np
from phalanx.methods.m_invariance import kernels
assert kernels.counted(np.array([2, 0, 1, 0]), np.arange(4), 3).tolist() == [2, 1, 1]
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""
SAID = """
import io, sys
import numpy as np
sys.stderr = type("Terminal", (io.StringIO,), {"isatty": lambda _: True})()
from phalanx.cli.output import steps
with steps(["group"], quiet="quiet" in sys.argv) as begin:
    begin("group", 0, None)
    from phalanx.methods.m_invariance import kernels
    kernels.entries_of(np.array([0, 2]), np.array([0]), np.array([1]))
    kernels.counted(np.array([1, 0]), np.array([0, 0]), 2)
print(sys.stderr.getvalue().count("the kernels are compiled, once"))
"""
"""A bar over steps on a terminal, in which two kernels are used."""
CALLED = """
from phalanx.kernels import njit
@njit(cache=True, nogil=True, fastmath=False)
def called(): return {}
"""
CALLING = """
from phalanx.kernels import njit
from phalanx.kernels.called import called
@njit(cache=True, nogil=True, fastmath=False)
def calling(): return called()
print(calling(), sum(calling.stats.cache_hits.values()))
"""
"""A kernel in a file of its own, and one that calls it and says whether it was compiled before."""


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


def test_a_kernel_goes_with_what_is_written_in_what_it_calls(tmp_path):
    """What it calls, in another file, is changed into as many characters at the same time: what was
    compiled is not used any more. Other times of all files change nothing.
    """
    package = tmp_path / "phalanx"
    shutil.copytree(
        Path(phalanx.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    called, calling = package / "kernels" / "called.py", package / "kernels" / "calling.py"
    calling.write_text(CALLING)
    environment = {"PYTHONPATH": str(tmp_path), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    code, said = "import phalanx.kernels.calling", []
    for number, when in ((1, 1), (1, 2), (2, 2)):
        called.write_text(CALLED.format(number))
        for path in (called, calling):
            os.utime(path, (1_600_000_000 + when, 1_600_000_000 + when))
        said.append(run(environment, code, []))
    assert said == [["1", "0"], ["1", "1"], ["2", "0"]]
