# SPDX-License-Identifier: Apache-2.0
"""m-Invariance: ``method``, ``offer``; ``kernels``.

``signatures``: the sets of values among which persons are published; ``assigning``: who enters
which, in which of the ``regions``.
"""
