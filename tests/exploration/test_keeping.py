# SPDX-License-Identifier: Apache-2.0
"""What an exploration keeps is private, and stays in its folder."""

import os
from pathlib import Path

import pytest

from phalanx.errors import PlanError
from phalanx.exploration.keeping import make_private, private_file


def test_a_folder_is_made_and_used_again(tmp_path: Path) -> None:
    """Whatever the umask, and with what an earlier run left."""
    before = os.umask(0)
    try:
        make_private(tmp_path / "s.explore")
        for content in (b"some", b"more"):
            with private_file(tmp_path / "s.explore" / "rows") as file:
                file.write(content)
        make_private(tmp_path / "s.explore")
    finally:
        os.umask(before)
    assert (tmp_path / "s.explore").stat().st_mode & 0o777 == 0o700
    rows = tmp_path / "s.explore" / "rows"
    assert (rows.read_bytes(), rows.stat().st_mode & 0o777) == (b"more", 0o600)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o702])
def test_a_folder_of_others_is_refused(tmp_path: Path, mode: int) -> None:
    """They could exchange what is published in place of the table."""
    folder = tmp_path / "s.explore"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PlanError, match="others may write there"):
        make_private(folder)


@pytest.mark.parametrize("name", ["points.jsonl", "picture.svg", "rest.parquet"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    """A plan that came with such a folder would write where it leads; nor is a pipe waited for."""
    folder, elsewhere = tmp_path / "s.explore", tmp_path / "elsewhere"
    folder.mkdir(mode=0o700)
    elsewhere.write_text("precious")
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(PlanError, match="nothing is written through it"):
        make_private(folder)
    with pytest.raises(OSError, match="symbolic links"), private_file(folder / name):
        pass
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(PlanError, match="nothing is written through it"):
        make_private(folder)
    (tmp_path / "linked").symlink_to(folder)
    with pytest.raises(PlanError, match="is a link"):
        make_private(tmp_path / "linked")
    assert elsewhere.read_text() == "precious"
