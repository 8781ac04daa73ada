# SPDX-License-Identifier: Apache-2.0
"""What the kernels of all methods share; the kernels themselves stand beside their methods.

numba's compiler comes from here (``loading``), after ``cache`` has said where compiled kernels lie;
``parts``: kernels that other kernels call; ``borrowing``: which of them do not count who holds an
array. ``picking``: uniform integers; ``rule``: what a group must keep; ``sorting``: short runs in
order.
"""

from phalanx.kernels import cache as cache
from phalanx.kernels.loading import njit as njit
