# SPDX-License-Identifier: Apache-2.0
"""Series to move: what is published in them, whether two ledgers know the same of one, and its file
with one thing wrong.
"""

from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from phalanx.ledger import Ledger, ReleaseEntry

PROMISE = {"method": "m-invariance", "m": 2}


PERSONS = pl.Series([f"MARKER{i}" for i in range(50)])


def publish(ledger: Ledger, number: int, series: str = "visits", *, digest: str = "") -> None:
    """A release that remembers, carries and groups fifty persons."""
    persons = ledger.person_key(series).hash(PERSONS)
    entry = ReleaseEntry(
        number=number,
        folder=f"/there/{series}-{number}",
        staging=f".{number}",
        digest=digest or f"{number}" * 64,
        summary={"rows": 50, "s": 0.1},
    )
    memory = pl.DataFrame(
        {"person": persons, "value": ["MARKERVALUE"] * 50, "number": [number] * 50}
    )
    groups = pl.DataFrame(
        {"person": persons, "group": pl.Series([i % 7 for i in range(50)], dtype=pl.Int64)}
    )
    ledger.commit(
        series, entry, promise=PROMISE, remember={"t": memory}, groups=groups, state={"c": memory}
    )


def everything(ledger: Ledger) -> list[list[tuple[Any, ...]]]:
    """All rows of all tables."""
    tables = (
        "meta ORDER BY name",
        "series ORDER BY name",
        "releases ORDER BY series, number",
        "segments ORDER BY series, number, name",
    )
    return [ledger._store.run(f"SELECT * FROM {table}") for table in tables]


def same(a: Ledger, b: Ledger, series: str = "visits") -> bool:
    """Whether two ledgers know the same of a series, persons included."""
    for tables in (
        lambda l: l.remembered(series),
        lambda l: l.state(series),
        lambda l: {str(e.number): l.groups(series, e.number) for e in l.releases(series)},
    ):
        of_a, of_b = tables(a), tables(b)
        assert list(of_a) == list(of_b)
        for name, frame in of_a.items():
            assert_frame_equal(frame, of_b[name])
    plain = [
        (
            l.promise(series),
            l.releases(series),
            next(s.created for s in l.series() if s.name == series),
        )
        for l in (a, b)
    ]
    return plain[0] == plain[1] and a.person_key(series).key == b.person_key(series).key


def spoiled(content: bytes, how: str) -> bytes:
    """The file with one thing wrong."""
    manifest = 33  # format and check stand before it
    first = manifest + 8 + int.from_bytes(content[manifest : manifest + 8], "big")
    second = first + 8 + int.from_bytes(content[first : first + 8], "big")
    flipped = {
        "manifest": manifest + 20,
        "a length": first + 7,
        "a table": first + 100,
        "the last byte": len(content) - 1,
    }
    if how in flipped:
        return (
            content[: flipped[how]]
            + bytes([content[flipped[how]] ^ 1])
            + content[flipped[how] + 1 :]
        )
    third = second + 8 + int.from_bytes(content[second : second + 8], "big")
    return {
        "cut in a record": content[:-5],
        "cut after a record": content[:first],
        "cut in a length": content[: first + 3],
        "without its manifest": content[:manifest],
        "something behind": content + b"\0",
        "a record twice": content[:second] + content[first:second] + content[second:],
        "two records swapped": content[:first]
        + content[second:third]
        + content[first:second]
        + content[third:],
        "an enormous length": content[:first] + b"\xff" * 8 + content[first + 8 :],
    }[how]


SPOILED = [
    "manifest",
    "a length",
    "a table",
    "the last byte",
    "cut in a record",
    "cut after a record",
    "cut in a length",
    "without its manifest",
]


SPOILED += ["something behind", "a record twice", "two records swapped", "an enormous length"]
