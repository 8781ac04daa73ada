# SPDX-License-Identifier: Apache-2.0
"""Under which signatures persons stood: in a release, and over the releases of a series, one after
the other.
"""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import place
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


def hosts_of(
    release: Release, evidence: Evidence, signatures: Signatures, *, records: bool
) -> pl.DataFrame:
    """(person, signature, group) of a release; with ``records`` also the number of the person's own
    value.
    """
    mapping = evidence.groups[release.number].filter(pl.col("group") != 0)
    where, there = place(Groups.of(release), mapping["group"])
    hosts = mapping.select(
        "person", "group", pl.Series("signature", signatures.of(release)[where])
    ).filter(pl.Series(there))
    if not records:
        return hosts
    microdata = evidence.microdata[release.number]
    own = pl.DataFrame({"person": microdata.persons, "value": values_of(microdata, signatures)})
    return hosts.join(own, on="person", how="inner")


def whom(hosts: pl.DataFrame) -> list[str]:
    """The columns that say who it is: the person, or the person and the value."""
    return [c for c in ("person", "value") if c in hosts.columns]


def values_of(microdata: Microdata, signatures: Signatures) -> Ints:
    """The number of every row's own sensitive value."""
    column = microdata.sensitive
    return signatures.values(column.domain.values.to_list())[column.codes]


class Stood:
    """Who stood under more than one signature so far, in one pass over a series: each release is
    looked at once, beside what is known of those before it.
    """

    def __init__(self, *, consecutive: bool) -> None:
        self.looked_at = 0
        """How many hosts."""
        self._consecutive = consecutive
        self._known: pl.DataFrame | None = None
        self._moved: pl.DataFrame | None = None

    def add(self, hosts: pl.DataFrame) -> None:
        """The hosts of the next release."""
        who = whom(hosts)
        now = hosts.select(*who, "signature")
        known = now.clear() if self._known is None else self._known
        beside = now.join(known, on=who, how="left", suffix="_known", nulls_equal=True)
        moved = [beside.filter(pl.col("signature") != pl.col("signature_known")).select(who)]
        if not self._consecutive:
            now = beside.filter(pl.col("signature_known").is_null()).select(now.columns)
            if now.select(who).n_unique() < now.height:
                moved.append(_moved([now]).select(who))
                now = now.unique(who, maintain_order=True)
            now = pl.concat([known, now])
        self._known = now
        before = [] if self._moved is None else [self._moved]
        self._moved = pl.concat([*before, *moved]).unique()
        self.looked_at += hosts.height

    @property
    def moved(self) -> int:
        """How many."""
        return 0 if self._moved is None else self._moved.height

    def worst(self, hosted: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Who, and under how many signatures; ``hosted`` are the hosts of all releases so far."""
        return _moved_next(hosted) if self._consecutive else _moved(hosted)


def _moved(hosted: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Those whose groups have more than one signature, with how many."""
    everywhere = pl.concat(hosted)
    who = whom(everywhere)
    spread = (
        everywhere.group_by(who)
        .agg(low=pl.col("signature").min(), high=pl.col("signature").max())
        .filter(pl.col("low") != pl.col("high"))
    )
    return (
        everywhere.join(spread, on=who, how="semi", nulls_equal=True)
        .group_by(who)
        .agg(signatures=pl.col("signature").n_unique())
    )


def _moved_next(hosted: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Those whose signature differs between two neighbouring releases."""
    who = whom(hosted[0])
    moved = [
        now.join(before, on=who, how="inner", suffix="_before", nulls_equal=True)
        .filter(pl.col("signature") != pl.col("signature_before"))
        .select(who)
        for before, now in pairwise(hosted)
    ]
    return (
        pl.concat([hosted[0].select(who).clear(), *moved])
        .unique()
        .with_columns(signatures=pl.lit(2))
    )


def moved_cases(
    moved: pl.DataFrame, hosted: Sequence[pl.DataFrame], given: Sequence[Release]
) -> pl.DataFrame:
    """The groups of the first few who moved, by their keys, as published: case, release, group,
    signature; nothing says who they are.
    """
    who = whom(moved)
    few = moved.sort(who).head(5).with_row_index("case", offset=1)
    rows = []
    for hosts, release in zip(hosted, given, strict=True):
        stood = few.join(hosts, on=who, how="inner", nulls_equal=True)
        groups = Groups.of(release)
        where, _ = place(groups, stood["group"])
        for case, group, at in zip(
            stood["case"].to_list(), stood["group"].to_list(), where.tolist(), strict=True
        ):
            rows.append((case, release.number, group, ", ".join(map(str, groups.signature(at)))))
    return pl.DataFrame(
        sorted(rows),
        schema={"case": pl.Int64, "release": pl.Int64, "group": pl.Int64, "signature": pl.String},
        orient="row",
    )
