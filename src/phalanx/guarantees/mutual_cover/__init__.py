# SPDX-License-Identifier: Apache-2.0
"""Mutual cover: ``guarantee``; ``output_tables``, ``drawn_rows``: rows beside the tables they
were drawn from; ``originals``.
"""
