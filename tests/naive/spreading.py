# SPDX-License-Identifier: Apache-2.0
"""How values are believed to lie in boxes, entry by entry and region by region. Shares no code with
the source.
"""


def held(box, missing):
    """The regions of a box; the last one is the missing value's."""
    low, high, with_missing, _ = box
    return [*range(low, high + 1), *([missing] if with_missing else [])]


def at_ends(box, missing):
    """The regions in which one row stands each."""
    low, high, with_missing, _ = box
    return [missing if with_missing else low, high]


def spread(boxes, counts, measure, *, ends, rounds):
    """The distribution over regions after some rounds of expectation maximization from a uniform
    one; ``boxes``: (low, high, missing, tight) of each entry, ``counts``: its rows.
    """
    missing = len(measure) - 1
    share = [max(0.0, m) for m in measure]
    for low, high, with_missing, _ in boxes:
        if low == high and not with_missing:
            share[low] = max(share[low], 1e-9)
    share[missing] = float(any(box[2] for box in boxes))
    share = [s / sum(share) for s in share]
    for _ in range(rounds):
        new = [0.0] * len(measure)
        for box, n in zip(boxes, counts, strict=True):
            settled = at_ends(box, missing) if ends and box[3] and n >= 2 else []
            for region in settled:
                new[region] += 1
            mass = sum(share[r] for r in held(box, missing))
            for region in held(box, missing) if mass else []:
                new[region] += (n - len(settled)) * share[region] / mass
        share = [s / sum(new) for s in new]
    return share


def mean(box, n, share, value, *, ends):
    """The mean of a value, one for each region, over the n rows of a box."""
    missing = len(share) - 1
    regions = held(box, missing)
    mass = sum(share[r] for r in regions)
    if mass:
        inner = sum(share[r] * value[r] for r in regions) / mass
    else:
        inner = (value[box[0]] + value[box[1]]) / 2 if box[0] <= box[1] else value[missing]
    if not (ends and box[3] and n >= 2):
        return inner
    return (sum(value[r] for r in at_ends(box, missing)) + (n - 2) * inner) / n
