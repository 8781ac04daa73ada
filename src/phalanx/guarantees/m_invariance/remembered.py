# SPDX-License-Identifier: Apache-2.0
"""What a series remembers about signatures, checked beside the release that it follows: each person
is remembered under one signature, and stands in a group of that one.

If that holds after every release, then each person ever published is remembered under the signature
of all groups that ever hosted them, and a check of the next release alone is a check of the whole
series.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from phalanx.arrays import Bools
from phalanx.data.repeated import repeated
from phalanx.data.standing import rows_of
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.release.evidence.signatures import Remembered

_COLUMNS = {"signatures": ("entry", "signature", "value"), "persons": ("person", "entry")}


def shape_faults(remembered: Remembered, when: str) -> Iterator[str]:
    """What keeps tables from being signatures with persons under them; ``when`` says whether they
    are those before or after the release.
    """
    tables = {"signatures": remembered.signatures, "persons": remembered.persons}
    for name, table in tables.items():
        if any(
            column not in table.columns
            or (column != "value" and table[column].null_count())
            or (column in ("entry", "signature") and not table[column].dtype.is_integer())
            for column in _COLUMNS[name]
        ):
            yield f"the {name} remembered {when} are no {name}"
            return
    entries = remembered.signatures
    if entries["entry"].n_unique() < entries.height:
        yield f"entries of signatures are remembered {when} more than once"
    if entries.select("signature", "value").n_unique() < entries.height:
        yield f"values of signatures are remembered {when} more than once"
    if unknown := int((~remembered.persons["entry"].is_in(entries["entry"].implode())).sum()):
        yield f"{unknown} person(s) are remembered {when} under a signature that is not"


def succession_faults(
    before: Remembered, after: Remembered, is_published: Bools, *, records: bool
) -> Iterator[str]:
    """Whether what was remembered before still is, as it was, and beside it only persons who are
    published now, as ``is_published`` (persons after,) says; each person once, or with ``records``
    each value of theirs.
    """
    if not _begins(after.signatures, before.signatures, _COLUMNS["signatures"]) or not _begins(
        after.persons, before.persons, _COLUMNS["persons"]
    ):
        yield "signatures or persons that were remembered before are lost or changed"
        return
    added = after.signatures[before.signatures.height :]
    if grown := int(added["signature"].is_in(before.signatures["signature"].implode()).sum()):
        yield f"{grown} value(s) are added to signatures that there were before"
    if invented := int((~is_published[before.persons.height :]).sum()):
        yield f"{invented} person(s) are remembered who are not in the release"
    if records:
        once = after.persons.join(after.signatures, on="entry").select("person", "value")
        twice = after.persons.height - once.n_unique()
    else:
        twice = repeated(after.persons["person"])
    if twice:
        yield f"{twice} person(s) are remembered more than once"


def beside(hosts: pl.DataFrame, known: pl.DataFrame) -> tuple[pl.DataFrame, Bools]:
    """The hosts who are not ``known`` (as of :func:`under`) under the signature of their group, and
    whether each one who is known is a host.

    ``hosts``: (person, signature, group), or (person, value, signature, group) where the promise is
    per record.
    """
    rows = rows_of(known["person"], hosts["person"])
    is_host, faithful = rows >= 0, np.zeros(hosts.height, dtype=np.bool_)
    there, whose = (
        np.flatnonzero(is_host),
        [c for c in ("signature", "value") if c in hosts.columns],
    )
    for name in whose:
        now, before = hosts[name].to_numpy(), known[name].to_numpy()
        there = there[now[rows[there]] == before[there]]
    faithful[rows[there]] = True
    moved = hosts.filter(pl.Series(~faithful))
    if moved.height and repeated(hosts["person"]):  # of a host who stands twice, one row was met
        moved = hosts.join(known, on=["person", *whose], how="anti", maintain_order="left")
    return moved, is_host


def under(remembered: Remembered, signatures: Signatures) -> pl.DataFrame:
    """(person, signature, value): the number of each person's signature, and of the value under
    which it is remembered.
    """
    entries = remembered.signatures
    owner, at = np.unique(entries["signature"].to_numpy(), return_inverse=True)
    values = signatures.values(entries["value"].to_list())
    numbers = signatures.numbered(at.astype(np.int64), values, len(owner))
    numbered = pl.DataFrame(
        {"entry": entries["entry"], "signature": numbers[at], "value": values},
        schema_overrides={"entry": pl.Int64},
    )
    persons = remembered.persons.with_columns(pl.col("entry").cast(pl.Int64))
    return persons.join(numbered, on="entry", how="left", maintain_order="left").drop("entry")


def _begins(after: pl.DataFrame, before: pl.DataFrame, columns: tuple[str, ...]) -> bool:
    """Whether a table begins with another one; a value is the same whatever its width."""
    return after.height >= before.height and all(
        after[name].head(before.height).cast(before[name].dtype, strict=False).equals(before[name])
        for name in columns
        if before.height
    )
