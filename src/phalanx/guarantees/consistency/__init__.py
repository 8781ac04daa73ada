# SPDX-License-Identifier: Apache-2.0
"""A release says one thing in all its files: ``check``.

``files``, ``parquet_bytes``: what lies in them beside rows; ``order`` of rows, and ``runs`` of
equal ones; ``intervals``: types and ends, and their ``widths``; ``weights``: one for a group;
``kept``: columns that are no identifiers; ``zeros`` with a sign; ``forms``: how tables contradict each other, by form:
``buckets``, ``perturbed``, ``recoded`` (``recodings``); ``method``: what is said of it beside promises.
"""
