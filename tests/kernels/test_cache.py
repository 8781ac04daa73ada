# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels lie: in a folder that nobody else writes to, or in a private one that goes
with the process; never in an error.
"""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import phalanx
from phalanx.errors import PhalanxError
from phalanx.kernels import cache


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Neither the installation nor a home may be written (a file is in the way of either, which
    stops root, too); what is chosen is forgotten afterwards.
    """
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(cache, "BESIDE", tmp_path / "file")
    monkeypatch.setattr(cache.atexit, "register", lambda *_: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_private_temporary_folder_is_the_last_resort(place: Path) -> None:
    """It is its owner's alone, numba is told of it, and that nothing is kept is said."""
    with pytest.warns(cache.CompilesEachTime, match=r"compiled in each run.*run 'phalanx warm'"):
        made = cache.choose()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert (made.parent, os.environ["NUMBA_CACHE_DIR"]) == (place, str(made))


def test_the_own_cache_comes_before_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that may be written holds the kernels, in a folder of its owner's alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    made = cache.choose()
    assert made == place / "cache" / "phalanx"
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("cache_home", [None, "", "cache"])
def test_a_home_that_is_not_there_is_none(
    place: Path, monkeypatch: pytest.MonkeyPatch, cache_home: str | None
) -> None:
    """A user whom the machine does not know, as in a container; a relative folder is no cache, which
    its specification says, too, and which might lie beside a table.
    """

    def unknown() -> Path:
        raise RuntimeError

    monkeypatch.chdir(place)
    monkeypatch.setattr(cache.Path, "home", unknown)
    monkeypatch.delenv("XDG_CACHE_HOME")
    if cache_home is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", cache_home)
    with pytest.warns(cache.CompilesEachTime):
        made = cache.choose()
    assert made.name.startswith("phalanx-kernels-")
    assert sorted(path.name for path in place.iterdir()) == sorted(["file", made.name])


def test_the_installation_comes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it may be written, numba's own choice is left alone."""
    monkeypatch.setattr(cache, "BESIDE", place)
    assert cache.choose() == place
    assert os.environ["NUMBA_CACHE_DIR"] == ""


def test_a_folder_that_others_may_write_to_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What numba finds there, it runs."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "wanted"))
    assert cache.choose() == place / "wanted"
    for mode in (0o777, 0o770, 0o702):
        (place / "wanted").chmod(mode)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(place / "wanted"))
        with pytest.warns(cache.CompilesEachTime):
            assert cache.choose().name.startswith("phalanx-kernels-")


def test_what_the_installer_compiled_is_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels beside sources that may not be written are copied to where numba looks for them,
    folder by folder, and nothing needs to be said.
    """
    for room in ("kernels", "methods/anatomy"):
        there = place / "beside" / room / "__pycache__"
        there.mkdir(parents=True)
        (there / "picking.pick-14.py311.nbi").write_bytes(b"index")
        (there / "picking.pick-14.py311.1.nbc").write_bytes(b"code")
    monkeypatch.setattr(cache, "BESIDE", place / "beside")
    monkeypatch.setattr(cache, "_usable", lambda _: False)
    made = cache.choose()
    assert [
        len(list(made.rglob(name)))
        for name in ("picking.pick-14.py311.1.nbc", "picking.pick-14.py311.nbi")
    ] == [2, 2]
    assert len({path.parent for path in made.rglob("*.nb?")}) == 2


def test_no_folder_at_all_is_a_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary folder that may not be written, either."""
    monkeypatch.setattr(cache.tempfile, "tempdir", str(place / "file"))
    with pytest.raises(
        PhalanxError,
        match=(
            r"no folder may be written, .*; set TMPDIR or NUMBA_CACHE_DIR to a folder of yours\.$"
        ),
    ):
        cache.choose()


def test_it_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    """A process that was forked from it leaves it."""
    (tmp_path / "kernels").mkdir()
    cache._remove(tmp_path / "kernels", os.getpid() + 1)
    assert (tmp_path / "kernels").exists()
    cache._remove(tmp_path / "kernels", os.getpid())
    assert not (tmp_path / "kernels").exists()


@pytest.mark.parametrize(
    ("text", "before"),
    [("cache_dir: there", ""), ("cache_dir: there", "import numba"), ("cache_dir: [", "")],
)
def test_no_file_of_the_working_folder_is_heeded(tmp_path: Path, text: str, before: str) -> None:
    """Numba would look for code where a file of that folder says, which may have come with a
    release, and would stop at one that it cannot read; also where it was loaded before. Others may
    read YAML afterwards.
    """
    (tmp_path / ".numba_config.yaml").write_text(text)
    script = (
        f"{before}\nimport numpy as np; from phalanx.kernels import picking\n"
        "import yaml; print(yaml.safe_load('1'), picking.pick(3, np.ones(4, np.int64), 0)[0] < 3)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "1 True\n", "")
    assert [path.name for path in tmp_path.iterdir()] == [".numba_config.yaml"]


def test_a_locked_installation(tmp_path: Path) -> None:
    """In a process of its own, from a source that may not be written and without a home: a kernel
    runs, nothing is left, and it is said once.
    """
    shutil.copytree(
        Path(phalanx.__file__).parent,
        tmp_path / "src" / "phalanx",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (tmp_path / "src" / "phalanx" / "__pycache__").write_text("in the way of root, too")
    (tmp_path / "tmp").mkdir()
    script = (
        "import numpy as np; from phalanx.kernels import picking, cache; print(picking.pick(3,"
        " np.ones(4, np.int64), 0)[0] < 3, cache.KEPT)"
    )
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "src"),
        "HOME": "/nonexistent/file",
        "XDG_CACHE_HOME": "/dev/null/cache",
        "TMPDIR": str(tmp_path / "tmp"),
        "NUMBA_CACHE_DIR": "",
    }
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (run.returncode, run.stdout) == (0, "True False\n"), run.stderr
    assert run.stderr.count("compiled in each run") == 1
    assert list((tmp_path / "tmp").iterdir()) == []
