# SPDX-License-Identifier: Apache-2.0
"""What a check is doing, said while it lasts."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import polars as pl

from phalanx.guarantees.staying import Beside, EachBeside

T = TypeVar("T")
Progress = Callable[[str, int, int | None], None]
"""Told what is looked at, how many of it were, and of how many; None where that is not known."""
FILES, ORIGINAL, PARTS, PERSONS = "files", "original", "parts", "persons"
"""What is looked at: the files of a release in parts, each with its digest; rows of its original;
its parts; and its persons, part by part.
"""


def silent(_what: str, _done: int, _of: int | None) -> None:
    """Tell no one."""


def told(
    each: Callable[[Callable[[int], T], Iterable[int]], Iterable[T]], what: str, progress: Progress
) -> Callable[[Callable[[int], T], Iterable[int]], Iterator[T]]:
    """What calls a function with each number as ``each`` does, and tells of every one."""

    def calls(work: Callable[[int], T], numbers: Iterable[int]) -> Iterator[T]:
        asked = list(numbers)
        progress(what, 0, len(asked))
        for done, answer in enumerate(each(work, asked), 1):
            progress(what, done, len(asked))
            yield answer

    return calls


def told_beside(each: EachBeside, progress: Progress) -> EachBeside:
    """The same of what calls a function with what lies beside each part; how many there are is not
    known before.
    """

    def calls(work: Callable[[int, Beside], T], tables: Iterable[Beside]) -> Iterator[T]:
        progress(PERSONS, 0, None)
        for done, answer in enumerate(each(work, tables), 1):
            progress(PERSONS, done, None)
            yield answer

    return calls


def told_of_rows(
    of: int, progress: Progress
) -> Callable[[Iterable[pl.DataFrame]], Iterator[pl.DataFrame]]:
    """What hands on the rows of an original each time that they are read, and tells of them; ``of``:
    how many are read in all these times together.
    """
    done = 0

    def hands_on(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        nonlocal done
        progress(ORIGINAL, done, of)
        for batch in batches:
            yield batch
            done += batch.height
            progress(ORIGINAL, done, of)

    return hands_on
