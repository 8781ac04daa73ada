# SPDX-License-Identifier: Apache-2.0
"""Slicing's diversity check: ``guarantee``, ``one_by_one``; ``posterior``: p(t, s); ``counting``:
what it promises against counting who must be in which bucket.
"""
