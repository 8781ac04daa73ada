# SPDX-License-Identifier: Apache-2.0
"""``assigning``: who enters which signature; ``splitting``: the groups of those who are under one."""

from phalanx.methods.m_invariance.kernels.assigning import (
    assignment,
    balancing,
    counted,
    counted_order,
    entering,
    first_of_each,
    moved_up,
)
from phalanx.methods.m_invariance.kernels.splitting import Along, Buckets, split

__all__ = [
    "Along",
    "Buckets",
    "assignment",
    "balancing",
    "counted",
    "counted_order",
    "entering",
    "first_of_each",
    "moved_up",
    "split",
]
