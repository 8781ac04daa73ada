# SPDX-License-Identifier: Apache-2.0
"""Mondrian: ``method``, ``offer``, ``kernels``; ``balanced``: groups that tell of no person, for
global-guarantee too. Its kernels cut for slicing and mutual cover as well.
"""
