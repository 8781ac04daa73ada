# SPDX-License-Identifier: Apache-2.0
"""The intersection adversary, one person and one group at a time."""


def candidates(point, groups):
    """Lemma 1: the values of every group whose box contains the point; ``groups``: [(box, values)],
    box = [(low, high)].

    A low end of None contains the missing value; both ends None contain nothing else.
    """

    def inside(x, low, high):
        if x is None:
            return low is None
        if low is None and high is None:
            return False
        return (low is None or low <= x) and x <= high

    found = set()
    for box, values in groups:
        if all(inside(x, low, high) for x, (low, high) in zip(point, box, strict=True)):
            found |= set(values)
    return found


def intersection(releases, view):
    """What is left for each person; ``releases``: [(persons: {name: (point, group id)}, groups:
    {id: (box, values)})].
    """
    left = {}
    for persons, groups in releases:
        for name, (point, own) in persons.items():
            now = candidates(point, list(groups.values())) if view == "box" else set(groups[own][1])
            left[name] = left[name] & now if name in left else now
    return left


def exposed(releases, values, view):
    """Persons with one candidate, which is theirs."""
    return {name for name, found in intersection(releases, view).items() if found == {values[name]}}
