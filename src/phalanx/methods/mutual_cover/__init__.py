# SPDX-License-Identifier: Apache-2.0
"""Mutual cover: ``method``; its ``kernels``.

``outputs``: random output tables of one attribute; ``layout``, ``joint_outputs``, ``joint_highs``,
``large_groups``: of whole groups; ``distances``, ``coupling``.
"""
