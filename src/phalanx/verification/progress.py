# SPDX-License-Identifier: Apache-2.0
"""What a check is doing, said while it lasts."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from phalanx.guarantees.staying import Beside, EachBeside
from phalanx.progress import Progress

T = TypeVar("T")
FILES, ORIGINAL, PARTS, PERSONS = "files", "original", "parts", "persons"
"""What is looked at: the files of a release in parts, each with its digest; rows of its original;
its parts; and its persons, part by part.
"""


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
