# SPDX-License-Identifier: Apache-2.0
"""Differential privacy: ``guarantee``; ``hockey_stick``: delta of one release; ``composed``: of
many; ``logarithms``.
"""
