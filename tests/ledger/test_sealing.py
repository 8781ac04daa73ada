# SPDX-License-Identifier: Apache-2.0
"""What is sealed holds the rows and nothing else, and opens only with its key and in its place."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from phalanx.ledger import Ledger, ReleaseEntry, sealing
from phalanx.ledger.sealing import pack, pack_groups, seal, unpack, unseal
from phalanx.ledger.store import Store

KEY = bytes(range(32))


@given(content=st.binary(max_size=200), name=st.text(max_size=9), number=st.integers(0, 99))
def test_sealing_goes_round(content: bytes, name: str, number: int) -> None:
    """What was sealed is unsealed in the same place, and is not there in plain."""
    sealed = seal(KEY, content, name, number)
    assert unseal(KEY, sealed, name, number) == content
    assert len(content) < 8 or content not in sealed


def test_places_are_unambiguous() -> None:
    """A segment opens nowhere else, even where the names run together to the same text."""
    sealed = seal(KEY, b"x", "a|1", 2, "b")
    assert unseal(KEY, sealed, "a|1", 2, "b") == b"x"
    for place in (("a", 1, "2|b"), ("a|1|2", "b"), ("a|1", "2", "b"), ("a|1", 2, "b", "")):
        assert unseal(KEY, sealed, *place) is None
    assert unseal(bytes(32), sealed, "a|1", 2, "b") is None
    assert unseal(KEY, sealed[:5], "a|1", 2, "b") is None


def test_sealing_is_as_it_ever_was() -> None:
    """Twelve bytes of nonce, what AES-256-GCM makes of the content, and a tag of sixteen; the place
    as JSON beside it, so that a later version opens what an earlier one sealed.
    """
    nonce, place = bytes(range(12)), b'["s/\\u00e9", 2, "memory/t"]'
    earlier = nonce + AESGCM(KEY).encrypt(nonce, b"x", place)
    assert unseal(KEY, earlier, "s/é", 2, "memory/t") == b"x"
    sealed = seal(KEY, b"x", "s/é", 2, "memory/t")
    assert AESGCM(KEY).decrypt(sealed[:12], sealed[12:], place) == b"x"
    assert len(sealed) == 12 + 1 + 16


def test_sealing_twice_differs() -> None:
    """The nonce is fresh each time, so that equal memories cannot be told to be equal."""
    assert len({seal(KEY, b"same", "s")[:12] for _ in range(100)}) == 100


def test_types_go_round() -> None:
    """Every type that a memory may use comes back as it was; categories come back as text."""
    frame = pl.DataFrame(
        {
            "person": [b"a" * 16, None],
            "signature": [[1, 2], []],
            "text": ["ä", None],
            "float": [float("nan"), -0.0],
            "date": [date(2026, 1, 31), None],
            "flag": [True, None],
            "big": pl.Series([2**64 - 1, None], dtype=pl.UInt64),
        }
    )
    assert_frame_equal(unpack(pack(frame)), frame)
    assert_frame_equal(unpack(pack(frame.clear())), frame.clear())
    enum = pl.DataFrame({"e": pl.Series(["a"], dtype=pl.Enum(["a", "marker of nobody"]))})
    assert unpack(pack(enum))["e"].to_list() == ["a"]
    assert b"marker of nobody" not in bytes(pack(enum))


def rows_of(n: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "text": [f"nb-{i:05}" for i in range(n)],
            "person": [b"NEIGHBOUR%011d" % i for i in range(n)],
            "number": pl.Series([0x4D41524B4D41524B + i for i in range(n)], dtype=pl.Int64),
        }
    )


def markers_in(content: bytes) -> int:
    """How many of the rows outside the slice can be read in the bytes."""
    number = [(0x4D41524B4D41524B + i).to_bytes(8, "little") for i in (0, 1, 2, 5, 6, 7)]
    text = [b"nb-%05d" % i for i in (0, 1, 2, 5, 6, 7)] + [
        b"NEIGHBOUR%011d" % i for i in (0, 1, 2, 5, 6, 7)
    ]
    return sum(marker in content for marker in number + text)


def test_a_slice_takes_no_neighbour_along() -> None:
    """Rows outside a slice are not in the packed bytes; Arrow's plain writer, the broken twin,
    takes some along.
    """
    assert markers_in(bytes(pack(rows_of(20).slice(3, 2)))) == 0
    sink = pa.BufferOutputStream()
    table = rows_of(20).to_arrow().slice(3, 2)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    assert markers_in(sink.getvalue().to_pybytes()) > 0


def test_a_sliced_mapping_takes_no_neighbour_along() -> None:
    """The same for the person-to-group mapping, which is packed by another way."""
    persons = [b"NEIGHBOUR%07d" % i for i in range(20)]
    frame = pl.DataFrame(
        {"person": persons, "group": range(900_000_000_000_000, 900_000_000_000_020)}
    ).slice(3, 2)
    content = bytes(pack_groups(frame))
    assert_frame_equal(unpack(content), frame)
    assert sum(p in content for p in persons) == 2
    assert sum((900_000_000_000_000 + i).to_bytes(8, "little") in content for i in range(20)) == 2


def test_nothing_stands_under_a_null() -> None:
    """The value that a mask hides is not packed."""
    marker = 0x4D41524B4D41524B
    hidden = pl.DataFrame(
        {
            "n": pl.from_arrow(
                pa.array(np.array([1, marker, 3]), mask=np.array([False, True, False]))
            )
        }
    )
    assert marker.to_bytes(8, "little") not in bytes(pack(hidden))
    assert unpack(pack(hidden))["n"].to_list() == [1, None, 3]


CLOSE = [bytes(16), b"\xff" * 16, bytes(15) + b"\x01", b"\x80" + bytes(15), b"\x00\x01" + bytes(14)]


@settings(deadline=None)  # a machine that is busy with other tests proves nothing
@given(
    st.lists(
        st.tuples(
            st.sampled_from(CLOSE) | st.binary(min_size=16, max_size=16), st.integers(0, 2**62)
        )
    )
)
def test_mappings_are_sorted_by_bytes(rows: list[tuple[bytes, int]]) -> None:
    """The order of the mapping is the order of the bytes, also where the first halves are equal,
    and no row is lost.
    """
    frame = pl.DataFrame(rows, schema={"person": pl.Binary, "group": pl.Int64}, orient="row")
    back = unpack(pack_groups(frame))
    assert back["person"].to_list() == sorted(p for p, _ in rows)
    assert sorted(back.rows()) == sorted(rows)
    doubled = pl.concat([frame, frame], rechunk=False)
    assert sorted(unpack(pack_groups(doubled)).rows()) == sorted(rows + rows)


@pytest.mark.parametrize("rows", [0, 1, 6, 7, 8, 40])
def test_tables_are_packed_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """None is lost or stands elsewhere, where the last of them are fewer, and where there is none."""
    frame = rows_of(rows)
    mapping = pl.DataFrame(
        {"person": frame["person"].reverse(), "group": pl.Series(range(rows), dtype=pl.Int64)},
        schema_overrides={"person": pl.Binary},
    )
    monkeypatch.setattr(sealing, "_AT_ONCE", 7)
    assert_frame_equal(unpack(pack(frame)), frame)
    assert_frame_equal(unpack(pack_groups(mapping)), mapping.sort("person"))


@pytest.mark.parametrize(
    "backend", ["sqlite"]
)  # PostgreSQL's files are looked at in test_postgresql.py
def test_nothing_about_persons_is_in_the_files(
    ledger: Ledger, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No identifier, sensitive value or person key is in any byte of the ledger, its journal or its
    key, after any statement of a commit.
    """
    real, journals = Store.run, 0
    names = [f"MARKERPERSON{i}" for i in range(300)]
    keys = ledger.person_key("visits").hash(pl.Series(names))
    memory = pl.DataFrame(
        {
            "who": names,
            "person": keys,
            "value": ["MARKERVALUE"] * 300,
            "list": [["MARKERLIST"]] * 300,
        }
    )
    markers = [
        b"MARKER",
        "MARKER".encode("utf-16-le"),
        *(k for k in keys.to_list()),
        *(k.hex().encode() for k in keys.to_list()),
    ]

    def looking(self: Store, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        nonlocal journals
        rows = real(self, statement, *parameters)
        for path in file.parent.iterdir():
            content = path.read_bytes()
            journals += path.name.endswith("-journal")
            assert not [m for m in markers if m in content], path.name
        return rows

    monkeypatch.setattr(Store, "run", looking)
    for number in (1, 2):
        entry = ReleaseEntry(
            number=number, folder="f", staging="s", digest="d", summary={"rows": 300}
        )
        groups = pl.DataFrame({"person": keys, "group": pl.Series([7] * 300, dtype=pl.Int64)})
        ledger.commit("visits", entry, promise={"m": 2}, remember={"t": memory}, groups=groups)
    assert journals > 0
    assert ledger.remembered("visits")["t"].height == 600
    real(
        ledger._store, "INSERT INTO meta (name, value) VALUES ($1, $2)", "twin", bytes(pack(memory))
    )
    assert b"MARKERPERSON299" in file.read_bytes(), "the look itself must find what is not sealed"


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 63, 64, 65, 1000])
def test_numbers_are_written_in_one_piece_and_nothing_else(rows: int) -> None:
    """Byte by byte what Arrow writes by itself, though the memory was full of something else; of
    the first rows of more, no others.
    """
    more = pl.DataFrame(
        {
            "n": pl.Series([*range(rows), *[-(2**62)] * 90], dtype=pl.Int64),
            "few": pl.Series([3] * rows + [77] * 90, dtype=pl.UInt8),
        }
    )
    few = more.head(rows)
    plain = pa.BufferOutputStream()
    table = few.select(pl.all().gather(pl.int_range(pl.len()))).to_arrow()
    with pa.ipc.new_file(plain, table.schema) as writer:
        writer.write_table(table)
    for filled in (0, 255):
        size = len(plain.getvalue())
        del (dirty := {"": np.full(size, filled, dtype=np.uint8)})[""]
        assert bytes(pack(few)) == plain.getvalue().to_pybytes() and not dirty
    assert unpack(pack(few)).equals(few)


def test_what_is_read_in_one_piece_is_not_copied() -> None:
    """Numbers lie where they were opened; the broken twin, in two pieces, is put together."""
    frame = pl.DataFrame({"n": np.arange(5000)})
    content = np.frombuffer(pack(frame), dtype=np.uint8)
    assert np.shares_memory(unpack(content.data)["n"].to_numpy(), content)
    halves = [frame[:2500].to_arrow(), frame[2500:].to_arrow()]
    content = np.frombuffer(sealing._to_bytes(iter(halves)), dtype=np.uint8)
    assert not np.shares_memory(unpack(content.data)["n"].to_numpy(), content)
