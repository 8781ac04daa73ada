# SPDX-License-Identifier: Apache-2.0
"""Folders for a while are gone after it, however the process ended."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from phalanx import temporary
from phalanx.temporary import remove_left, temporary_folder

KILLED = """
import os, signal
from phalanx.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "rows").write_text("a person's")
    print(folder, flush=True)
    {}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary folders are."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def names(place):
    return sorted(path.name for path in place.iterdir())


def test_a_folder_is_there_for_a_while(place):
    """Only its owner may enter it, and an error inside removes it, too."""
    with temporary_folder() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "rows").write_text("a person's")
    with pytest.raises(ValueError, match="inside"), temporary_folder():
        raise ValueError("inside")
    assert names(place) == []


def test_what_a_killed_process_leaves_is_removed_by_the_next(place):
    """And not what is in use here or in another process."""
    with temporary_folder() as ours:
        kill = KILLED.format("os.kill(os.getpid(), signal.SIGKILL)")
        dead = subprocess.run([sys.executable, "-c", kill], capture_output=True, check=False)
        assert dead.returncode == -9
        waits = [sys.executable, "-c", KILLED.format("input()")]
        with subprocess.Popen(waits, stdin=-1, stdout=-1) as alive:
            theirs = alive.stdout.readline().decode().strip()
            assert os.fsencode(dead.stdout.strip()) != os.fsencode(theirs)
            with temporary_folder() as another:
                assert names(place) == sorted([ours.name, another.name, Path(theirs).name])
                assert (Path(theirs) / "rows").exists()
            alive.communicate(b"\n")
    assert names(place) == []


def test_nothing_else_is_removed(place):
    """A link, a file, or a folder of another name, or of another machine."""
    kept = place / "kept"
    kept.mkdir()
    (place / f"{temporary._PREFIX}link").symlink_to(kept)
    (place / f"{temporary._PREFIX}file").touch()
    (place / "phalanx-kernels-1").mkdir()
    (place / "phalanx-private-ffffffffa-1").mkdir()
    before = names(place)
    remove_left()
    assert names(place) == before
    (place / f"{temporary._PREFIX}left").mkdir()
    remove_left()
    assert names(place) == before


def test_a_folder_of_another_user_is_left_to_them(place, monkeypatch):
    """Though root may remove it."""
    (place / f"{temporary._PREFIX}theirs").mkdir()
    monkeypatch.setattr(temporary.os, "geteuid", lambda: os.getuid() + 1)
    remove_left()
    assert names(place) == [f"{temporary._PREFIX}theirs"]


def test_a_folder_that_is_taken_before_it_is_locked_is_made_again(place, monkeypatch):
    """Another process may take a new one for one that was left."""
    made, make = [], tempfile.mkdtemp

    def taken(**given):
        made.append(make(**given))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr(temporary.tempfile, "mkdtemp", taken)
    with temporary_folder() as folder:
        assert [str(folder)] == made[1:]
    assert names(place) == []


def test_where_there_is_no_place_it_is_said(place, monkeypatch):
    """As the system says it, where a folder is asked for; to remove nothing is no error."""
    monkeypatch.setattr(tempfile, "tempdir", str(place / "none"))
    remove_left()
    with pytest.raises(FileNotFoundError), temporary_folder():
        pass


def test_where_there_are_no_locks_nothing_is_removed(place, monkeypatch):
    """Some file systems have none: a folder is there for a while all the same."""

    def none(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(temporary.fcntl, "flock", none)
    (place / f"{temporary._PREFIX}theirs").mkdir()
    with temporary_folder() as folder:
        assert names(place) == sorted([folder.name, f"{temporary._PREFIX}theirs"])
    assert names(place) == [f"{temporary._PREFIX}theirs"]
