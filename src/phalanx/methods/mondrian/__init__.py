# SPDX-License-Identifier: Apache-2.0
"""Mondrian: ``method``, ``offer``, ``kernels``; ``balanced``: groups that tell of no person, for
global-guarantee too; ``households``: the same of rows that count as one; ``cut_tree``:
cuts that stay from release to release. Its kernels cut for slicing and mutual cover as well.
"""
