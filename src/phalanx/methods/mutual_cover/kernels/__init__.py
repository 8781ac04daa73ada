# SPDX-License-Identifier: Apache-2.0
"""``cover_cuts``: groups; ``program``, ``joint_program``: tables of least cost; ``rounding``: in
whole numbers; ``drawing``.
"""
