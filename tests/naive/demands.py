# SPDX-License-Identifier: Apache-2.0
"""The slow twins of what histories demand: a dictionary of ratios for each history."""


def raised(since, demands, most):
    """What is demanded at most in each row, once each history is counted in the one it is of."""
    most = [list(row) for row in most]
    for row, demand in zip(since, demands, strict=True):
        for value, ratio in demand.items():
            if row >= 0:
                most[row][value] = max(most[row][value], ratio)
    return most


def spent(demands, share, filled, people):
    """Of which histories a ratio is above the people, or asks more than the share of its value."""
    return [
        any(
            ratio > people or min(ratio, people + 1) * share[value] > filled
            for value, ratio in demand.items()
        )
        for demand in demands
    ]
