# SPDX-License-Identifier: Apache-2.0
"""How values are believed to lie in boxes, entry by entry and region by region. Shares no code with
the source.
"""


def at_ends(box, missing):
    """The regions in which one row stands each."""
    low, high, with_missing, _ = box
    return [missing if with_missing else low, high]


def weighed(box, share):
    """How much each region of a box weighs."""
    missing = len(share) - 1
    low, high, with_missing, _ = box
    weights = {region: share[region] for region in range(low, high + 1)}
    if with_missing:
        weights[missing] = share[missing]
    return weights


def without_a_value(boxes, counts):
    """The share of rows without a value that makes it likeliest which boxes hold the missing one."""
    surely, beside = 0, {}
    for (low, high, with_missing, tight), n in zip(boxes, counts, strict=True):
        if with_missing and low > high:
            surely += n
        elif with_missing:
            rows, entries = beside.get((low, high), (0, 0))
            beside[low, high] = (rows + n, entries + (tight and n >= 2))
    groups = [(rows / max(entries, 1), max(entries, 1)) for rows, entries in beside.values()]
    if not surely and not groups:
        return 0.0
    rows = sum(n * entries for n, entries in groups)
    more = rows / (2 * sum(entries for _, entries in groups)) if groups else 0
    others = sum(counts) - surely - rows + more

    def steeper(share):
        return (
            surely / share
            - others / (1 - share)
            + sum(e * n * (1 - share) ** (n - 1) / (1 - (1 - share) ** n) for n, e in groups)
        )

    low, high = 0.0, 1.0
    for _ in range(40):
        share = (low + high) / 2
        low, high = (share, high) if steeper(share) > 0 else (low, share)
    return low


def spread(boxes, counts, measure, *, ends, rounds):
    """The distribution over regions after some rounds of expectation maximization from a uniform
    one; ``boxes``: (low, high, missing, tight) of each entry, ``counts``: its rows.
    """
    missing = len(measure) - 1
    share = [max(0.0, m) for m in measure]
    for low, high, with_missing, _ in boxes:
        if low == high and not with_missing:
            share[low] = max(share[low], 1e-9)
    without = without_a_value(boxes, counts)
    total = sum(share)
    share = [(1 - without) * s / total if total else 0.0 for s in share]
    share[missing] = without
    for turn in range(rounds):
        for _ in range(rounds if turn and without else 0):
            share = as_many_missing(boxes, counts, share, ends=ends)
        new = [0.0] * len(measure)
        for box, n in zip(boxes, counts, strict=True):
            settled = at_ends(box, missing) if ends and box[3] and n >= 2 else []
            for region in settled:
                new[region] += 1
            weights = weighed(box, share)
            if turn == 0 and missing in weights and len(weights) > 1:
                of_values = sum(weight for region, weight in weights.items() if region != missing)
                weights[missing] = of_values * without / (1 - without)
            mass = sum(weights.values())
            for region, weight in weights.items() if mass else []:
                new[region] += (n - len(settled)) * weight / mass
        share = [s / sum(new) for s in new]
    return share


def as_many_missing(boxes, counts, share, *, ends):
    """The same shares of values among all rows that have one, with the share of the missing value that
    boxes have by them.
    """
    missing, without = len(share) - 1, 0.0
    for box, n in zip(boxes, counts, strict=True):
        settled = at_ends(box, missing) if ends and box[3] and n >= 2 else []
        weights = weighed(box, share)
        mass = sum(weights.values())
        if box[2]:
            without += settled.count(missing)
            without += (n - len(settled)) * weights[missing] / mass if mass else 0
    now = min(without / sum(counts), 1 - 1e-12)
    more = (1 - now) / max(1 - share[missing], 1e-12)
    return [s * more for s in share[:-1]] + [now]


def mean(box, n, share, value, *, ends):
    """The mean of a value, one for each region, over the n rows of a box."""
    missing = len(share) - 1
    weights = weighed(box, share)
    mass = sum(weights.values())
    if mass:
        inner = sum(weight * value[r] for r, weight in weights.items()) / mass
    else:
        inner = (value[box[0]] + value[box[1]]) / 2 if box[0] <= box[1] else value[missing]
    if not (ends and box[3] and n >= 2):
        return inner
    return (sum(value[r] for r in at_ends(box, missing)) + (n - 2) * inner) / n
