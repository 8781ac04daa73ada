# SPDX-License-Identifier: Apache-2.0
"""The slow twin of what the growth adversary finds near a group: all rows are looked at."""

import numpy as np


class Grouped:
    """The rows of every group, and those that it may have taken, however far they are."""

    def __init__(self, place, positions, taken, cohort):
        self.rows = [np.flatnonzero(place == group) for group in range(len(taken))]
        self.taken_at = np.where(place >= 0, taken[place], 0)
        self.in_cohort = cohort[place] & (place >= 0)

    def free(self, members, size):
        """Those that no group had taken that became as large."""
        return np.flatnonzero((self.taken_at < size) & ~self.in_cohort)
