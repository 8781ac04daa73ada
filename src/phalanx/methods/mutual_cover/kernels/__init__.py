# SPDX-License-Identifier: Apache-2.0
"""``cover_cuts``, ``alike_cuts``: groups; ``program``, ``joint_program``: tables of least cost;
``alike``: those of tuples that are; ``rounding``: in whole numbers; ``drawing``.
"""
