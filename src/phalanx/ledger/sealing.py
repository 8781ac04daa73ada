# SPDX-License-Identifier: Apache-2.0
"""Segments: tables about persons, sealed so that the ledger's bytes say nothing and cannot be
changed unnoticed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from phalanx.arrays import by_highest_bits, in_runs
from phalanx.randomness import Randomness

_NONCE: Final = 12
_PERSON: Final = 16
_MAPPING: Final = ("person", "group")
LARGEST: Final = 1 << 22
"""Bytes of a segment, which is copied several times on its way: so few that memory is used again."""
MOST: Final = 900_000_000
"""Bytes of a segment that is read: below what SQLite (10^9) and PostgreSQL (2^30) take as one value."""
SPLIT: Final = "#"
"""Stands between the name of a table and the number of a further segment of it."""
_AT_ONCE: Final = 1 << 20
"""Rows of a table that are packed at once."""
_WITHIN: Final = "/"
"""Stands between the number of a part and the name of a table of it."""


def seal(key: bytes, content: bytes | memoryview, *place: str | int) -> bytes:
    """AES-256-GCM under a random nonce, which stands in front; the place is bound to it, so that a
    segment opens nowhere else.
    """
    nonce = Randomness.secure().stream("nonce").words(2).tobytes()[:_NONCE]
    return nonce + AESGCM(key).encrypt(nonce, content, _bound(place))


def unseal(key: bytes, sealed: bytes, *place: str | int) -> bytes | None:
    """The content, or None where key, place or bytes are not those of the sealing."""
    if len(sealed) < _NONCE:
        return None
    try:
        nonce, rest = sealed[:_NONCE], memoryview(sealed)[_NONCE:]
        return AESGCM(key).decrypt(nonce, rest, _bound(place))
    except InvalidTag:
        return None


def split(tables: Mapping[str, bytes | memoryview]) -> dict[str, memoryview]:
    """Tables as segments, by name: one each, or as many as hold a larger one; no copies of them."""
    return {
        name if not at else f"{name}{SPLIT}{at // LARGEST + 1}": memoryview(content)[
            at : at + LARGEST
        ]
        for name, content in tables.items()
        for at in range(0, max(len(content), 1), LARGEST)
    }


def parts(name: str, segments: Iterable[str]) -> list[str]:
    """The segments of a table, in order."""
    further = [segment for segment in segments if segment.startswith(name + SPLIT)]
    return [name, *sorted(further, key=lambda segment: int(segment.rpartition(SPLIT)[2]))]


def within(part: int, name: str) -> str:
    """The name of a table of one part of a series; parts count from 1."""
    return f"{part}{_WITHIN}{name}"


def tables_of(begins: str, segments: Iterable[str]) -> list[str]:
    """What is behind ``begins`` in the names of tables, of no part of what it names."""
    names = [segment[len(begins) :] for segment in segments if segment.startswith(begins)]
    return [name for name in names if SPLIT not in name and _WITHIN not in name]


def parts_of(segments: Iterable[str]) -> list[int]:
    """The parts that a release has tables of by themselves, ascending."""
    numbers = {segment.partition(_WITHIN)[0] for segment in segments}
    return sorted(int(number) for number in numbers if number.isdecimal())


def _bound(place: Sequence[str | int]) -> bytes:
    return json.dumps(list(place)).encode()  # unambiguous whatever the names hold


def pack(frame: pl.DataFrame) -> memoryview:
    """A table as an Arrow IPC file of its rows and nothing else, so many at a time.

    Rows are gathered first, since Arrow writes up to 63 bytes of the neighbours of a slice, and
    categories become text, since a category list outlives the rows that used it. Numbers that lie
    alone in memory are written from there, so that they are read in one piece. No compression:
    person keys are noise, and it would be the slowest step of a commit.
    """
    if (numbers := _alone(frame)) is not None:
        return _in_one(numbers)
    text = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    return _to_bytes(
        some.with_columns(pl.col(text).cast(pl.String))
        .select(pl.all().gather(pl.int_range(pl.len())))
        .to_arrow(compat_level=pl.CompatLevel.oldest())
        .combine_chunks()
        for some in (frame[at : at + _AT_ONCE] for at in range(0, max(frame.height, 1), _AT_ONCE))
    )


def _alone(frame: pl.DataFrame) -> pa.Table | None:
    """A table of numbers of which none is missing, and beside which nothing lies in memory; None for
    any other.
    """
    columns = [column.rechunk().to_arrow() for column in frame]
    alone = all(
        pa.types.is_primitive(column.type)
        and column.type.bit_width % 8 == 0
        and column.offset == column.null_count == 0
        and column.buffers()[1].size == len(column) * column.type.bit_width // 8
        for column in columns
    )
    return pa.table(columns, frame.columns) if columns and frame.height and alone else None


def _in_one(table: pa.Table) -> memoryview:
    """An Arrow IPC file of a table, in memory that is as large as it."""
    counted = pa.MockOutputStream()
    _write(counted, [table])
    content = np.empty(counted.size(), dtype=np.uint8)
    with pa.FixedSizeBufferWriter(pa.py_buffer(content)) as sink:
        _write(sink, [table])
    return content.data


def unpack(content: bytes | memoryview) -> pl.DataFrame:
    """The table that was packed, or the mapping (person Binary, group Int64)."""
    return pl.DataFrame(pa.ipc.open_file(content).read_all())


def pack_groups(groups: pl.DataFrame) -> memoryview:
    """A person-to-group mapping in the order of the person keys, which is as good as random and
    says nothing about the rows.
    """
    if (
        dict(groups.schema) != {"person": pl.Binary, "group": pl.Int64}
        or groups["person"].null_count()
        or groups["group"].null_count()
    ):
        raise ValueError("groups is a table (person Binary, group Int64) without missing values")
    lengths = groups["person"].bin.size()
    if not bool((lengths == _PERSON).all()):
        return pack(groups.sort("person"))
    order = _order(groups["person"])
    return _to_bytes(
        pa.table(
            [
                pa.FixedSizeBinaryArray.from_buffers(
                    pa.binary(_PERSON),
                    some.height,
                    [None, pa.py_buffer(_words(some["person"]).copy())],
                ),
                some["group"].to_arrow(),
            ],
            _MAPPING,
        )
        for some in (
            groups[order[at : at + _AT_ONCE]] for at in range(0, max(len(order), 1), _AT_ONCE)
        )
    )


def _words(persons: pl.Series) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Keys of 16 bytes as numbers that are in the same order, shape (n, 2)."""
    keys = persons.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    start = (
        int(np.frombuffer(keys.buffers()[1], dtype=np.int64, count=keys.offset + 1)[keys.offset])
        if len(keys)
        else 0
    )
    return np.frombuffer(
        keys.buffers()[2] or b"", dtype=">u8", count=2 * len(keys), offset=start
    ).reshape(-1, 2)


def _order(persons: pl.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The order of 16-byte keys; their highest bits decide of nearly all."""
    first = np.empty(len(persons), dtype=np.uint64)
    for at in range(0, len(persons), _AT_ONCE):
        first[at : at + _AT_ONCE] = _words(persons[at : at + _AT_ONCE])[:, 0]
    order, alike = by_highest_bits(first)
    places, _ = in_runs(alike)
    if len(places):
        words = _words(persons.gather(order[places]))
        order[places] = order[places[np.lexsort((words[:, 1], words[:, 0]))]]
    return order


def _to_bytes(tables: Iterator[pa.Table]) -> memoryview:
    """An Arrow IPC file of tables of the same columns, one after the other."""
    sink = BytesIO()
    _write(sink, tables)
    return sink.getbuffer()


def _write(sink: Any, tables: Iterable[pa.Table]) -> None:
    rest = iter(tables)
    first = next(rest)
    with pa.ipc.new_file(sink, first.schema) as writer:
        for table in chain([first], rest):
            writer.write_table(table)
