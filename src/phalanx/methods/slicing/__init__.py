# SPDX-License-Identifier: Apache-2.0
"""Slicing: ``method``, ``offer``, ``kernels``.

``columns``, ``clusters``: which attributes stand together; ``column_boxes``: how they are
generalized; ``tuples``: tuples as slicing sees them; ``eligibility``: whether they can keep l;
``cuts``, ``dealing``: its buckets; ``counting``: who must be in which.
"""
