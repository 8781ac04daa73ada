# SPDX-License-Identifier: Apache-2.0
"""Who is in a group: its rows, its counterfeits, registered persons without a row, and the persons
that a mapping names.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints
from phalanx.data.repeated import repeated
from phalanx.guarantees.views.groups import Groups
from phalanx.release.folder import Release

_MOST: Final = 1 << 40
"""More persons than there can be; larger counts are refused, and nothing is computed with them."""


def members(groups: Groups) -> Ints:
    """The n of every group: its rows, counterfeits among them, and the registered persons in it,
    shape (g,).
    """
    return groups.sizes + np.clip(groups.registered, 0, _MOST)


def place(groups: Groups, named: pl.Series) -> tuple[Ints, Bools]:
    """The place of each named group among the published ones, and whether it is there at all; group
    0 is no person's.
    """
    ids, wanted = (
        groups.ids.cast(pl.Int64, strict=False).fill_null(-1).to_numpy(),
        named.cast(pl.Int64, strict=False).fill_null(0).to_numpy(),
    )
    if not len(ids):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=bool)
    if (
        ids[-1] - ids[0] == len(ids) - 1
    ):  # the ids follow each other, as in every release of ours: no search is needed
        place = np.clip(wanted - ids[0], 0, len(ids) - 1)
    else:
        place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1).astype(np.int64)
    return place, (ids[place] == wanted) & (wanted > 0)


def group_by_group(rows: Ints, at: Ints) -> tuple[Ints, Ints]:
    """``rows`` (p,) and the places of their groups ``at`` (p,), in the order of these; rows of one
    group as they stand. Each place is sorted with that of its row in its lowest bits.
    """
    bits = np.uint64(len(rows).bit_length())
    packed = at.astype(np.uint64)
    packed <<= bits
    packed |= np.arange(len(rows), dtype=np.uint64)
    packed.sort()
    ordered = rows[(packed & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)]
    packed >>= bits
    return ordered, packed.view(np.int64)


def counted_faults(release: Release) -> Iterator[str]:
    """Counts of counterfeits and of registered persons that are no counts, or that would make a
    group another size than it can be.
    """
    groups = Groups.of(release)
    for table, word, most in (
        (release.generalized.counterfeits, "counterfeit", groups.sizes - 1),
        (release.generalized.registered, "registered", None),
    ):
        if table is None or not table.height:
            continue
        if not all(
            table[c].dtype.is_integer() and not table[c].null_count() for c in ("group", "count")
        ):
            yield f"the table of {word} counts holds something else than whole numbers"
            continue
        where, there = place(groups, table["group"])
        count = table["count"].cast(pl.Int64, strict=False).fill_null(_MOST + 1).to_numpy()
        if unknown := int((~there).sum()):
            yield f"{unknown} {word} count(s) name a group that is not in the data"
        if small := int((count < 1).sum()):
            yield f"{small} {word} count(s) are not positive"
        if large := int((count > _MOST).sum()):
            yield f"{large} {word} count(s) are of more persons than there can be"
        if most is not None and (full := int((count[there] > most[where[there]]).sum())):
            yield f"{full} group(s) would consist of counterfeits alone"
        if twice := table.height - table["group"].n_unique():
            yield f"{twice} group(s) are counted twice in the {word} counts"


def mapping_faults(release: Release, mapping: pl.DataFrame) -> Iterator[str]:
    """What is wrong with a mapping: it names each person once, in groups that exist, as many as
    these have real rows and registered persons.
    """
    groups = Groups.of(release)
    hosted = mapping.filter(pl.col("group").fill_null(-1) != 0)
    where, there = place(groups, hosted["group"])
    if twice := repeated(hosted["person"]):
        yield f"the mapping names {twice} person(s) more than once"
    if unnamed := hosted["person"].null_count():
        yield f"the mapping puts {unnamed} row(s) that name no person into groups"
    if unknown := int((~there).sum()):
        yield f"the mapping puts {unknown} person(s) into groups that are not in the data"
    persons = np.bincount(where[there], minlength=len(groups))
    if wrong := int((persons != groups.persons).sum()):
        yield (
            f"{wrong} group(s) have another number of persons in the mapping than real rows and"
            " registered persons in the data"
        )
