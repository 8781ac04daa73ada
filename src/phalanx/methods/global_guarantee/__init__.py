# SPDX-License-Identifier: Apache-2.0
"""The global guarantee: ``method``, ``kernels``; ``rounds``: one release of it, by its ``rules``.

``ratios``, ``exposures``, ``protected``, ``cohorts``: what a round recalls and demands.
``grouping``: its groups; ``uneven``: what a cut into unequal parts tells; ``emptied``: who is
published without a value.
"""
