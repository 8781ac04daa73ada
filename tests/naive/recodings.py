# SPDX-License-Identifier: Apache-2.0
"""How single values are recoded, written out value by value with fractions. Shares no code with the
source.
"""

from fractions import Fraction
from math import floor


def range_cell(low, high, widths, level, x):
    """The cell of a number or a day in a range: values beyond are in the end cells, and nothing is
    in the whole range, or nowhere below the top.
    """
    low, high, widths = Fraction(str(low)), Fraction(str(high)), [Fraction(str(w)) for w in widths]
    if level == len(widths):
        return plain(low), plain(high)
    if x is None:
        return None, None
    edges = [low]
    while edges[-1] + widths[level] < high:
        edges.append(edges[-1] + widths[level])
    begin = max([edge for edge in edges if edge <= Fraction(str(x))], default=low)
    return plain(begin), plain(min(begin + widths[level], high))


def band(widths, level, x):
    """The band of a number, aligned at zero; nothing is said of any number at the top."""
    if level == len(widths) + 1 or x is None:
        return None, None
    width = Fraction(str(widths[level - 1]))
    low = floor(Fraction(str(x)) / width) * width
    return plain(low), plain(low + width)


def leaf_node(paths, level, x):
    """The node above a leaf, whose path from itself to the root is ``paths[x]``; a missing value
    has none but the root.
    """
    top = max(len(path) for path in paths.values()) - 1
    if level == top:
        return ("*",)
    if x is None:
        return (None,)
    *below, _ = paths[x]
    return (below[min(level, len(below) - 1)],)


def code_node(lengths, level, x):
    """A code of which so many characters are kept."""
    if lengths[level] == 0:
        return ("*",)
    return (None,) if x is None else (x[: lengths[level]] + "*" * (lengths[0] - lengths[level]),)


def text_node(level, x):
    """A text as it is, or a star."""
    return ("*",) if level else (x if x is None else str(x),)


def plain(number):
    """A fraction as a whole number, or the nearest float."""
    return int(number) if number.denominator == 1 else float(number)
