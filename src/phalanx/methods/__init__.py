# SPDX-License-Identifier: Apache-2.0
"""Methods, one room each: the method in its paper's phases, its parts, its kernels. A new method is
one room more, and a line in pyproject.toml.

``base``: what a method is, and how it is found by name; ``agreed``: whether what it hands over is
that; ``requirement``: what a group must keep; ``not_applicable``: persons without a sensitive
value, in groups of their own; ``households``: rows that count as one; ``weights``: of a survey, and
who takes them; ``ordering``: who takes an order of categories by frequency; ``written_alike``: what
differential privacy asks of types; ``threads``: how many a kernel may use.

- Baselines: ``mondrian``, ``anatomy``.
- Series: ``m_invariance``, ``global_guarantee``.
- Once: ``slicing``, ``mutual_cover``.
- Differential privacy: ``safe_sampling``.
"""
