# SPDX-License-Identifier: Apache-2.0
"""``cover_cuts``: groups; ``simplex``: the steps shared by ``outputs`` and ``joint_outputs``;
``exact_tables``: in whole numbers; ``drawing``.
"""
