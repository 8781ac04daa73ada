# SPDX-License-Identifier: Apache-2.0
"""What long work is at, said while it lasts."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from phalanx.errors import PlanError, kind_of

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[str, int, int | None], None]
"""Told what is done, how much of it was, and of how much; None where that is not known."""


def silent(_what: str, _done: int, _of: int | None) -> None:
    """Tell no one."""


def check_progress(progress: Progress) -> None:
    """PlanError where something else stands in the place of a function."""
    if not callable(progress):
        raise PlanError(
            f"progress is {kind_of(progress)}; give a function that takes what is done, how much,"
            " and of how much, as in progress=print."
        )


def told_of_rows(
    what: str, of: int, progress: Progress
) -> "Callable[[Iterable[pl.DataFrame]], Iterator[pl.DataFrame]]":
    """What hands on the rows of a table each time that they are read, and tells of them; ``of``: how
    many are read in all these times together.
    """
    done = 0

    def hands_on(batches: "Iterable[pl.DataFrame]") -> "Iterator[pl.DataFrame]":
        nonlocal done
        progress(what, done, of)
        for batch in batches:
            yield batch
            done += batch.height
            progress(what, done, of)

    return hands_on
