# SPDX-License-Identifier: Apache-2.0
"""``assigning``: who enters which signature; ``cutting``: the parts of a region; ``splitting``: the
groups of those who are under one signature.
"""

from phalanx.methods.m_invariance.kernels.assigning import (
    assignment,
    balancing,
    by_entry,
    counted,
    entering,
    entries_of,
    in_order,
    mark,
    move_up,
    rank,
    summed,
    take,
)
from phalanx.methods.m_invariance.kernels.cutting import halved, parted
from phalanx.methods.m_invariance.kernels.splitting import Along, Buckets, split

__all__ = [
    "Along",
    "Buckets",
    "assignment",
    "balancing",
    "by_entry",
    "counted",
    "entering",
    "entries_of",
    "halved",
    "in_order",
    "mark",
    "move_up",
    "parted",
    "rank",
    "split",
    "summed",
    "take",
]
