# SPDX-License-Identifier: Apache-2.0
"""One release by its records, whose codes are the ``rows``.

``linkage`` (``linking``, ``subsets``), ``informed`` (``nearness``), ``omniscient`` (``outcomes``,
``assignments``).
"""
