# SPDX-License-Identifier: Apache-2.0
"""Slicing: ``method``, ``offer``, ``kernels``.

``columns``, ``column_boxes``: which attributes stand together, and how they are generalized;
``tuples``: tuples as slicing sees them; ``cuts``, ``dealing``, ``membership``: its buckets;
``counting``: who must be in which.
"""
