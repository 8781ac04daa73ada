# SPDX-License-Identifier: Apache-2.0
"""A ledger that knows less than was published, brought up to it: what is missing, and how it is
entered again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phalanx.errors import LedgerError
from phalanx.ledger.entries import Reconciliation, ReleaseEntry, today
from phalanx.ledger.marks import Marked, check_not_older
from phalanx.ledger.rows import RECONCILED, Entries, Head, Rows, gone


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a ledger knows of a series, and what was published by its mark."""

    entries: Sequence[ReleaseEntry]
    """The releases that the ledger knows, from the first one on."""
    missing: Sequence[tuple[str, str]]
    """The day and the digest of every release that the mark has and the ledger does not, in
    order.
    """
    marked: bool
    """Whether there is a mark."""
    remembers: bool
    """Whether the releases that are known remember anything for the next one."""
    recorded: int
    """How many releases the ledger itself says were recorded, which may be more than it still
    has.
    """


def standing(rows: Rows, series: str) -> Standing:
    """What is missing; LedgerError where the ledger does not even know how the series began, or
    what it knows is not what was published.
    """
    with rows.store.snapshot():
        entries, recorded_mark = rows.known(series, stale=True)
        recorded = rows.recorded(series)
    marks = _marks(rows)
    marked = marks.get(series, Marked())
    if not entries and not marked.releases:
        raise LedgerError(
            f"the ledger {rows.store.where} knows no series {series!r}, and no mark does; 'phalanx"
            " series list' names those that it has."
        )
    if not entries:
        raise LedgerError(
            f"the ledger {rows.store.where} knows nothing of series {series!r}, and its mark"
            f" {rows.mark.file} {len(marked.releases)} release(s); put back a copy that knows its"
            " first release."
        )
    shared = Marked(releases=marked.releases[: len(entries)], moves=marked.moves)
    check_not_older(rows.store.where, series, rows.mark, shared, recorded_mark)
    return Standing(
        entries=[entry for entry, _ in entries],
        missing=marked.releases[len(entries) :],
        marked=series in marks,
        remembers=any(
            name.startswith(("memory/", "carried/")) for _, names in entries for name in names
        ),
        recorded=recorded,
    )


def reconcile(
    rows: Rows,
    series: str,
    entered: Sequence[tuple[ReleaseEntry, Mapping[str, memoryview]]],
    *,
    forgotten: bool,
) -> Reconciliation:
    """Enter releases with the segments that could be made for them, say so with the last of them,
    and have the mark say what the ledger does.
    """
    rows.mark.prepare()
    with rows.store.transaction(series):
        rows.check_key()
        before, recorded = rows.known(series, stale=True)
        promise = rows.promise(series)
        if promise is None or not before:
            raise LedgerError(
                f"the ledger {rows.store.where} knows no series {series!r}; 'phalanx series list'"
                " names those that it has."
            )
        if (day := rows.moved(series, before)) is not None:
            raise gone(series, day)
        after = Marked.of(
            [*(entry for entry, _ in before), *(entry for entry, _ in entered)], recorded.moves
        )
        _check_follows(rows, series, before, entered, after)
        ended = entered[-1][0] if entered else before[-1][0]
        last = ended.number
        earlier = next(
            (
                reconciliation
                for reconciliation in reconciliations(rows, series, before)
                if reconciliation.number == last
            ),
            None,
        )
        reconciliation = Reconciliation(
            number=last,
            day=today(),
            entered=[
                *(() if earlier is None else earlier.entered),
                *(entry.number for entry, _ in entered),
            ],
            forgotten=forgotten or (earlier is not None and earlier.forgotten),
        )
        rows.store.run(
            "DELETE FROM segments WHERE series = $1 AND number > $2", series, before[-1][0].number
        )  # of a release that is not there
        for entry, tables in entered:
            rows.insert_release(
                series, promise, entry, [*tables, *([RECONCILED] if entry.number == last else [])]
            )
            for name, content in tables.items():
                rows.insert_segment(
                    series, entry.number, name, rows.seal(content, series, entry, name)
                )
        if not entered:
            entry, names = before[-1]
            rows.delete_segment(series, last, RECONCILED)
            rows.authenticate_anew(series, entry, sorted({*names, RECONCILED}))
        rows.insert_segment(
            series,
            last,
            RECONCILED,
            rows.seal(json.dumps(reconciliation.to_json()).encode(), series, ended, RECONCILED),
        )
        rows.set_head(series, Head.of(promise, after.digests, recorded.moves))
    rows.mark.advance(series, after, damaged=True)
    return reconciliation


def reconciliations(rows: Rows, series: str, entries: Entries) -> list[Reconciliation]:
    """What was said, in order."""
    reconciled = []
    for release in (entry for entry, names in entries if RECONCILED in names):
        record = json.loads(rows.segment(series, release, RECONCILED))
        reconciled.append(
            Reconciliation(
                number=release.number,
                day=record["day"],
                entered=record["entered"],
                forgotten=record["forgotten"],
            )
        )
    return reconciled


def _check_follows(
    rows: Rows,
    series: str,
    before: Entries,
    entered: Sequence[tuple[ReleaseEntry, object]],
    after: Marked,
) -> None:
    """Another publisher may have published or entered something since the folders were looked at;
    and nothing that left is left out.
    """
    numbers = [entry.number for entry, _ in entered]
    if numbers != list(range(len(before) + 1, len(before) + len(numbers) + 1)):
        raise LedgerError(
            f"the releases to enter do not follow release {len(before)} of series {series!r}; name"
            " each missing release folder once."
        )
    check_not_older(rows.store.where, series, rows.mark, _marks(rows).get(series, Marked()), after)
    if (recorded := rows.recorded(series)) > len(after.releases):
        raise LedgerError(
            f"{recorded} releases of series {series!r} were recorded, and only"
            f" {len(after.releases)} would be known; name the missing folders, too."
        )


def _marks(rows: Rows) -> Mapping[str, Marked]:
    """The marks; none where they are damaged, which is what a steward may reconcile."""
    try:
        return rows.mark.read()
    except LedgerError:
        return {}
