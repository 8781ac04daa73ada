# SPDX-License-Identifier: Apache-2.0
"""A release is recorded: it and what it remembers in one transaction, and then its mark."""

from collections.abc import Iterable, Sequence
from typing import Final

from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry, today
from phalanx.ledger.marks import Marked, check_marked
from phalanx.ledger.reconciling import reconciliations
from phalanx.ledger.rows import Entries, Head, Rows, gone
from phalanx.ledger.sealing import split

CARRIED: Final = "carried/"
"""How the names of those segments begin that the next release replaces."""


def commit(
    rows: Rows,
    series: str,
    entry: ReleaseEntry,
    *,
    promise_text: str,
    tables: Iterable[tuple[str, memoryview]],
) -> None:
    """Record a release and its segments, of which one table is in memory at a time; LedgerError as
    ``Ledger.commit`` says.
    """
    rows.mark.prepare()
    with rows.store.transaction(series):
        rows.check_key()
        before, recorded = rows.known(series)
        check_marked(rows.store.where, series, rows.mark, len(before))
        check_goes_on(rows, series, before)
        _check_next(series, entry.number, len(before))
        head = Head.of(promise_text, [*recorded.digests, entry.digest], recorded.moves)
        if before:
            if rows.promise(series) != promise_text:
                raise LedgerError(
                    f"series {series!r} promises something else than this release, and keeps"
                    " its promise; give the plan another series name."
                )
            _drop_carried(rows, series, *before[-1])
            rows.set_head(series, head)
        else:
            rows.insert_series(series, promise_text, today(), head)
        rows.insert_release(series, promise_text, entry, [])
        segments = []
        for name, table in tables:
            for segment, content in split({name: table}).items():
                sealed = rows.seal(content, series, entry, segment)
                rows.insert_segment(series, entry.number, segment, sealed)
                segments.append(segment)
        rows.authenticate(series, promise_text, entry, segments)
        rows.mark.begin(series)
    try:
        rows.mark.advance(
            series, Marked.of([*(known_entry for known_entry, _ in before), entry], recorded.moves)
        )
    except LedgerError as wrong:
        raise LedgerError(
            f"release {entry.number} of series {series!r} is recorded, and not handed out: {wrong}"
        ) from None


def check_goes_on(rows: Rows, series: str, entries: Entries) -> None:
    """LedgerError where the series was moved away, or what it must remember is lost."""
    if (day := rows.moved(series, entries)) is not None:
        raise gone(series, day)
    if lost := [
        str(number)
        for reconciliation in reconciliations(rows, series, entries)
        if reconciliation.forgotten
        for number in reconciliation.entered
    ]:
        raise LedgerError(
            f"series {series!r} cannot go on: what release(s) {', '.join(lost)} remembered is"
            " lost. Put back a ledger that was used for them, or an export."
        )


def _drop_carried(rows: Rows, series: str, entry: ReleaseEntry, segments: Sequence[str]) -> None:
    """Remove what a release carries, which the next one replaces."""
    replaced = [name for name in segments if name.startswith(CARRIED)]
    for name in replaced:
        rows.delete_segment(series, entry.number, name)
    if replaced:
        rows.authenticate_anew(series, entry, [name for name in segments if name not in replaced])


def _check_next(series: str, number: int, last: int) -> None:
    if number <= last:
        raise LedgerError(
            f"release {number} of series {series!r} was published by another process meanwhile;"
            f" publish again to make release {last + 1}."
        )
    if number != last + 1:
        raise LedgerError(
            f"release {number} of series {series!r} cannot follow release {last}; publish again to"
            f" make release {last + 1}."
        )
