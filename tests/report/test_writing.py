# SPDX-License-Identifier: Apache-2.0
"""A page or a picture takes the place of an older one, and of nothing else."""

import os

import pytest

from phalanx.report.writing import PAGE, PICTURE, check_place, write

NEW = f"{PAGE} html><p>new"


@pytest.mark.parametrize("older", [None, "", f"{PAGE} html><p>old"])
def test_an_older_page_is_replaced(tmp_path, older):
    """Also an empty file, in which nothing is lost; and none has to be there."""
    path = tmp_path / "page.html"
    if older is not None:
        path.write_text(older)
    write(path, NEW)
    assert path.read_text() == NEW and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "older", ["age,ill\n30,flu\n", f"{PICTURE}>", "<!", "<!doctype html>\n<html>"]
)
def test_no_other_file_is_replaced(tmp_path, older):
    """A table, a plan or a picture that stands there stays as it is."""
    path = tmp_path / "table.csv"
    path.write_text(older)
    with pytest.raises(FileExistsError):
        write(path, NEW)
    assert path.read_text() == older and list(tmp_path.iterdir()) == [path]


def test_no_device_is_replaced(tmp_path):
    """Root could rename a page to the name of a device; nor is a pipe waited for."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for special in (pipe, tmp_path):
        with pytest.raises(OSError, match=r"File exists|Is a directory"):
            check_place(special, PAGE)


def test_nothing_is_written_through_a_link(tmp_path):
    """Where the page stands while it is written, another one may have laid a link to elsewhere; and
    one that leads nowhere is not followed.
    """
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "page.html"
    elsewhere.write_text("precious")
    (tmp_path / ".page.html.part").symlink_to(elsewhere)
    write(path, NEW)
    assert (elsewhere.read_text(), path.read_text(), path.is_symlink()) == ("precious", NEW, False)
    (tmp_path / "nowhere.html").symlink_to(tmp_path / "made")
    with pytest.raises(FileExistsError):
        write(tmp_path / "nowhere.html", NEW)
    assert not (tmp_path / "made").exists()
