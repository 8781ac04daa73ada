# SPDX-License-Identifier: Apache-2.0
"""One release of groups or buckets, by anyone who knows quasi-identifiers or tries its ends.

``posterior`` (``hosts``, ``learning``), ``membership`` (``matching``), ``extremes`` and
``downcoding`` (``ends``), ``singling_out`` (``predicates``). ``meeting``: which boxes contain whom.
"""
