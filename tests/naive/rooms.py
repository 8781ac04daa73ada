# SPDX-License-Identifier: Apache-2.0
"""How much room an estimate gives to values that are not published, spelled out value by value."""

from fractions import Fraction
from itertools import pairwise


def of_texts(points: list[str], published: set[str], named: set[str]) -> dict[object, Fraction]:
    """By each point, and by each pair of points that follow each other: 1 at a published text, and
    between two of them 1 for all others together, which the named ones share alike with all that
    are not named; that has no more room in one piece than in another.
    """
    room: dict[object, Fraction] = {point: Fraction(point in published) for point in points}
    known = [point for point in points if point in published]
    for low, high in pairwise(known):
        inside = [point for point in points if low < point < high]
        asked = [point for point in inside if point in named]
        ends = [low, *inside, high]
        pieces = [*pairwise(ends)]
        for point in asked:
            room[point] = Fraction(1, len(asked) + 1)
        for piece in pieces:
            room[piece] = Fraction(1, (len(asked) + 1) * len(pieces))
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
