# SPDX-License-Identifier: Apache-2.0
"""Bytes, links and metadata that no reader of the rows sees are refused; the untouched folder
holds.
"""

import base64
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from phalanx import Mondrian
from phalanx.guarantees.consistency.parquet_bytes import left_over
from phalanx.release.manifest import NAME
from support.tampering_cases import bytes_of, issue, notes, people, refusal


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return issue(tmp_path_factory.mktemp("issued"), Mondrian(k=4, l=2), [people()])[0]


@pytest.fixture
def folder(issued: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(issued, tmp_path / "s-1"))


def footer(content: bytes) -> int:
    """Where the footer begins."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def before_the_footer(content: bytes) -> bytes:
    at = footer(content)
    return content[:at] + b"H" * 300 + content[at:]


def in_the_footer(content: bytes) -> bytes:
    at = footer(content)
    return content[:-8] + b"H" * 300 + (len(content) - 8 - at + 300).to_bytes(4, "little") + b"PAR1"


def by_another_writer(content: bytes, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(
        pq.read_table(io.BytesIO(content)).replace_schema_metadata(None), buffer, **options
    )
    return buffer.getvalue()


def with_key_value_metadata(content: bytes) -> bytes:
    buffer = io.BytesIO()
    pl.read_parquet(io.BytesIO(content)).write_parquet(
        buffer, statistics=False, metadata={"note": "person 7 is in group 3"}
    )
    return buffer.getvalue()


def in_the_column_types(content: bytes) -> bytes:
    """The one entry of metadata that is allowed, with more in it than it needs, as long as it
    was.
    """
    at = content.index(b"ARROW:schema")
    start = content.index(b"/////", at)
    types = bytearray(base64.b64decode(content[start : start + 400]))
    types[-1] ^= 1
    return content[:start] + base64.b64encode(bytes(types)) + content[start + 400 :]


PARQUET: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "between pages and footer": (
        before_the_footer,
        "data.parquet holds 300 byte(s) that no page and no footer needs",
    ),
    "in the footer": (
        in_the_footer,
        "data.parquet holds 300 byte(s) that no page and no footer needs",
    ),
    "metadata": (with_key_value_metadata, "its footer holds metadata beside the column types"),
    "metadata within the column types": (in_the_column_types, "data.parquet "),
    "other pages of the same writer": (
        lambda content: _again(content, row_group_size=17, compression="snappy"),
        "data.parquet is not what its writer makes of its rows",
    ),
}


def _again(content: bytes, **options: object) -> bytes:
    buffer = io.BytesIO()
    pl.read_parquet(io.BytesIO(content)).write_parquet(buffer, statistics=False, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(("change", "what"), PARQUET.values(), ids=PARQUET.keys())
def test_bytes_that_no_row_needs(folder: Path, change: Callable[[bytes], bytes], what: str) -> None:
    """Whatever stands in a Parquet file beside its rows is named, with digests that fit; before,
    the folder held.
    """
    assert refusal([folder]) == ""
    bytes_of(folder, "data.parquet", change((folder / "data.parquet").read_bytes()))
    assert what in refusal([folder])


def test_bytes_after_the_footer(folder: Path) -> None:
    """What stands behind the end of a Parquet file makes it none."""
    bytes_of(folder, "data.parquet", (folder / "data.parquet").read_bytes() + b"H" * 300)
    assert "data" in refusal([folder])


def test_another_version_of_the_writer(folder: Path) -> None:
    """Pages that are made up in another way are no fault where another writer says it made them;
    that nothing is hidden in them is then not shown.
    """
    content = (folder / "data.parquet").read_bytes()
    bytes_of(folder, "data.parquet", by_another_writer(content, store_schema=False))
    assert refusal([folder]) == ""
    assert "not checked: whether anything is hidden within the values of data.parquet" in notes(
        [folder]
    )
    bytes_of(folder, "data.parquet", before_the_footer((folder / "data.parquet").read_bytes()))
    assert "holds 300 byte(s)" in refusal([folder])


def test_every_byte_is_of_something(tmp_path: Path) -> None:
    """Files of several writers, with indexes and statistics and without, have no byte left over,
    and exactly those that are put between.
    """
    table = pl.DataFrame(
        {"a": range(3000), "b": [f"x{i % 7}" for i in range(3000)], "c": [None, 1.5, -0.0] * 1000}
    )
    path = tmp_path / "t.parquet"
    for write in (
        lambda: table.write_parquet(path),
        lambda: table.write_parquet(path, statistics=False, row_group_size=500),
        lambda: pq.write_table(table.to_arrow(), path, write_page_index=True, row_group_size=700),
        lambda: pq.write_table(table.to_arrow(), path, data_page_size=200, use_dictionary=False),
    ):
        write()
        assert left_over(path) == 0
        path.write_bytes(before_the_footer(path.read_bytes()))
        assert left_over(path) == 300
    for broken in (b"", b"PAR1", b"PAR1" * 4, b"PAR1" + b"\xff" * 4000 + b"\xa0\x0f\0\0PAR1"):
        path.write_bytes(broken)
        assert left_over(path) is None


CSV: dict[str, Callable[[bytes], bytes]] = {
    "quotes that are not needed": lambda content: content.replace(b",flu\n", b',"flu"\n', 1),
    "other line ends": lambda content: content.replace(b"\n", b"\r\n"),
    "a number in more digits": lambda content: content.replace(b"\n1,", b"\n01,", 1),
    "an empty line": lambda content: content + b"\n",
    "a mark at the beginning": lambda content: b"\xef\xbb\xbf" + content,
}


@pytest.mark.parametrize("change", CSV.values(), ids=CSV.keys())
def test_a_csv_that_is_written_otherwise(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """A CSV file with the same rows in other bytes may mark some of them; one written again
    holds.
    """
    content = (folder / "data.csv").read_bytes()
    bytes_of(folder, "data.csv", content)
    assert refusal([folder]) == ""
    bytes_of(folder, "data.csv", change(content))
    assert "data.csv is not what its writer makes of its rows" in refusal([folder])


@pytest.mark.parametrize("name", ["data.parquet", "data.csv", NAME])
def test_links_in_a_folder(folder: Path, tmp_path: Path, name: str) -> None:
    """A file of a release that is a link may be another file for the next reader."""
    shutil.copy(folder / name, tmp_path / name)
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / name)
    assert f"{name} is a symbolic link and no file of a release" in refusal([folder])
    (folder / name).unlink()
    shutil.copy(tmp_path / name, folder / name)
    assert refusal([folder]) == ""


def test_a_folder_that_is_a_link(folder: Path, tmp_path: Path) -> None:
    """The folder itself is named, not a link to it; a link above it is nobody's business."""
    (tmp_path / "link").symlink_to(folder)
    assert "link is a symbolic link; name the release folder itself" in refusal([tmp_path / "link"])
    (tmp_path / "above").symlink_to(tmp_path)
    assert refusal([tmp_path / "above" / folder.name]) == ""


def test_pieces_of_a_large_table(tmp_path: Path) -> None:
    """A table that is written in several row groups gives the same bytes again."""
    from phalanx.guarantees.consistency.files import hidden_in_parquet
    from phalanx.release.folder import encode

    table = pl.concat(
        [
            pl.DataFrame({"a": range(n), "b": [f"x{i % 7}" for i in range(n)]})
            for n in (400_000, 90_000)
        ],
        rechunk=False,
    )
    with (tmp_path / "t.parquet").open("wb") as file:
        encode(table, file, "parquet")
    assert pq.ParquetFile(tmp_path / "t.parquet").metadata.num_row_groups > 1
    assert (
        hidden_in_parquet(tmp_path / "t.parquet", pl.read_parquet(tmp_path / "t.parquet").rechunk())
        == ""
    )
