# SPDX-License-Identifier: Apache-2.0
"""Mutual cover, on three floors: ``method``: per group solve, round, draw; ``output_tables``: random
output tables, of ``problems`` that a linear ``program`` solves, or in which tuples are ``alike``,
after ``exchanges`` of rows between groups; ``kernels``. ``offer``: its plain words.
"""
