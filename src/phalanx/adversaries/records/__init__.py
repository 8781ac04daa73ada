# SPDX-License-Identifier: Apache-2.0
"""One release by its records, whose codes are the ``rows``.

``linkage``, by ``linking`` and ``covering``; ``informed``; ``omniscient``, by ``by_person``,
``kinds``, ``outcomes`` and ``assignments``.
"""
