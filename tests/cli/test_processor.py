# SPDX-License-Identifier: Apache-2.0
"""NumPy's sorts on processors whose AVX-512 makes them four times as slow."""

import os
import subprocess
import sys

import pytest

from phalanx.cli import processor

NAME = "NPY_DISABLE_CPU_FEATURES"


def _about(vendor: str, family: int, flags: str) -> str:
    one = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: {flags}\nbugs\t\t:\n\n"
    return f"processor\t: 0\n{one}processor\t: 1\n{one}"


@pytest.mark.parametrize(
    ("about", "slow"),
    [
        (_about("AuthenticAMD", 25, "fpu avx2 avx512f avx512dq"), True),
        (_about("AuthenticAMD", 25, "fpu avx2"), False),  # Zen 3
        (_about("AuthenticAMD", 26, "fpu avx2 avx512f"), False),
        (_about("GenuineIntel", 6, "fpu avx2 avx512f"), False),
        ("processor\t: 0\nCPU implementer\t: 0x41\n", False),
        ("", False),
    ],
)
def test_only_where_it_is_slow(tmp_path, monkeypatch, about, slow) -> None:
    """On Zen 4; what was set by hand stays."""
    monkeypatch.delenv(NAME, raising=False)
    (file := tmp_path / "cpuinfo").write_text(about)
    processor.sort_fast(file)
    assert os.environ.pop(NAME, None) == (processor._FEATURES if slow else None)
    monkeypatch.setenv(NAME, "AVX512_SPR")
    processor.sort_fast(file)
    assert os.environ[NAME] == "AVX512_SPR"


def test_where_nothing_tells_of_the_processor(tmp_path, monkeypatch) -> None:
    """On other systems nothing is changed."""
    monkeypatch.delenv(NAME, raising=False)
    processor.sort_fast(tmp_path / "no such file")
    assert NAME not in os.environ


def test_it_is_said_before_numpy_is_loaded() -> None:
    """Else it would change nothing."""
    code = (
        "import sys, contextlib, phalanx.cli\n"
        "phalanx.cli.sort_fast = lambda: print('numpy' in sys.modules)\n"
        "sys.argv = ['phalanx', '--version']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    phalanx.cli.main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split()[0] == "False"


def test_numpy_sorts_alike_without_these_features() -> None:
    """NumPy knows the names, or passes over them, and sorts."""
    code = (
        "import numpy as np\n"
        "a = np.random.default_rng(0).integers(-9, 2**62, 5000)\n"
        "assert (np.sort(a) == sorted(a.tolist())).all() and (a[np.argsort(a)] == np.sort(a)).all()"
    )
    subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {NAME: processor._FEATURES}, check=True
    )
