# SPDX-License-Identifier: Apache-2.0
"""How much room an estimate gives to values that are not published, spelled out value by value."""

from fractions import Fraction
from itertools import pairwise


def of_texts(
    points: list[str], intervals: list[tuple[str, str]], named: set[str]
) -> dict[object, Fraction]:
    """By each point, and by each pair of points that follow each other: 1 at an end of an interval,
    and between two of them for all others together 1 over one more than how often an interval ends
    at the lower one and another begins at the upper one; which the named ones share alike with all
    that are not named, and that has no more room in one piece than in another.
    """
    published = {end for interval in intervals for end in interval}
    room: dict[object, Fraction] = {point: Fraction(point in published) for point in points}
    known = [point for point in points if point in published]
    for low, high in pairwise(known):
        inside = [point for point in points if low < point < high]
        asked = [point for point in inside if point in named]
        ends = [low, *inside, high]
        pieces = [*pairwise(ends)]
        end, begin = (sum(one[i] == at for one in intervals) for i, at in ((1, low), (0, high)))
        whole = Fraction(1, 1 + min(end, begin))
        for point in asked:
            room[point] = whole / (len(asked) + 1)
        for piece in pieces:
            room[piece] = whole / (len(asked) + 1) / len(pieces)
    return room


def of_numbers(points: list[float], step: Fraction) -> dict[object, int]:
    """By each point, and by each pair of points that follow each other: how many multiples of the
    step are there, of points that are floats next to a multiple.
    """
    counted = {
        float(i * step) for i in range(int(min(points) / step) - 2, int(max(points) / step) + 3)
    }
    room: dict[object, int] = {point: int(point in counted) for point in points}
    for low, high in pairwise(points):
        room[low, high] = sum(low < number < high for number in counted)
    return room
