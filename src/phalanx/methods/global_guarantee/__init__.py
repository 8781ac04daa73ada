# SPDX-License-Identifier: Apache-2.0
"""The global guarantee: ``method``, ``offer``, ``kernels``; ``phases`` of a release, and the ``state`` that
they hand on; ``draft``: what they come to, as it would be published.

``exposures``: the statistics file; ``ratios``, ``protected``: what is demanded of a group, and for
which values; ``grouping``; ``cohorts`` of permanent values; ``uneven``: what a cut into unequal
parts tells; ``emptied``: who is published without a value.
"""
