# SPDX-License-Identifier: Apache-2.0
"""Groups of published rows, by loops: which hold values that are not applicable beside others, and
the largest share of a value among the groups that hold none.
"""


def groups_of(rows, group, value):
    """The values of each group, from rows that are dictionaries."""
    groups = {}
    for row in rows:
        groups.setdefault(row[group], []).append(row[value])
    return groups


def mixed(groups, listed):
    """How many groups hold both."""
    n = 0
    for values in groups.values():
        inside = [value in listed for value in values]
        if any(inside) and not all(inside):
            n += 1
    return n


def largest_share(groups, listed):
    """Of the groups in which no value is listed; 0 where there are none."""
    largest = 0.0
    for values in groups.values():
        if not any(value in listed for value in values):
            for value in values:
                largest = max(largest, values.count(value) / len(values))
    return largest
