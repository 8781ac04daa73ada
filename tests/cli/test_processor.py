# SPDX-License-Identifier: Apache-2.0
"""What NumPy leaves alone: sorts by an AVX-512 that makes them four times as slow, and threads that
wait awake.
"""

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


@pytest.mark.parametrize(("by_hand", "used"), [(None, "1"), ("3", "3")])
def test_no_thread_of_linear_algebra_waits_awake(by_hand, used) -> None:
    """OpenBLAS begins none of its own, unless it was told how many by hand."""
    code = (
        "import os, sys, contextlib, phalanx.cli\n"
        "assert 'numpy' not in sys.modules\n"
        "sys.argv = ['phalanx', '--version']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    phalanx.cli.main()\n"
        "before = len(os.listdir('/proc/self/task')) if os.path.exists('/proc/self/task') else 0\n"
        "import numpy\n"
        "numpy.ones((300, 300)) @ numpy.ones((300, 300))\n"
        "after = len(os.listdir('/proc/self/task')) if before else 0\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'], after - before)"
    )
    given = {} if by_hand is None else {"OPENBLAS_NUM_THREADS": by_hand}
    rest = {name: said for name, said in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=rest | given
    )
    said, threads = run.stdout.split()[-2:]
    assert said == used
    assert by_hand is not None or threads == "0"


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


@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_CPU", None])
def test_addresses_are_given_back_where_they_are_counted(monkeypatch, name) -> None:
    """And nothing is told Polars where they are not, or where it was told something by hand."""
    resource = pytest.importorskip("resource", reason="the system limits no memory")
    limited = None if name is None else getattr(resource, name)
    free = resource.RLIM_INFINITY
    monkeypatch.setattr(
        resource, "getrlimit", lambda limit: (1 << 33 if limit == limited else free, free)
    )
    polars, arrow = processor._OF_POLARS, processor._OF_ARROW
    for variable in (polars, arrow):
        monkeypatch.delenv(variable, raising=False)
    processor.give_back()
    counted = name in ("RLIMIT_AS", "RLIMIT_DATA")
    assert os.environ.pop(polars, None) == ("retain:false" if counted else None)
    assert os.environ.pop(arrow, None) == ("system" if counted else None)
    monkeypatch.setenv(arrow, "jemalloc")
    for by_hand, then in [("retain:true", None), ("narenas:1", "narenas:1,retain:false")]:
        monkeypatch.setenv(polars, by_hand)
        processor.give_back()
        assert os.environ[polars] == (then if then and counted else by_hand)
        assert os.environ[arrow] == "jemalloc"


def test_polars_and_arrow_go_by_what_they_are_told() -> None:
    """Their allocators read these names, and say so where they are asked."""
    if sys.platform != "linux":
        pytest.skip("Polars has another allocator there")
    told = {**os.environ, processor._OF_ARROW: "system"}
    told[processor._OF_POLARS] = "dirty_decay_ms:500,retain:false,stats_print:true"
    code = "import polars, pyarrow; print('pool', pyarrow.default_memory_pool().backend_name)"
    run = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, check=True)
    assert b"opt.retain: false" in run.stdout + run.stderr
    assert b"pool system" in run.stdout
