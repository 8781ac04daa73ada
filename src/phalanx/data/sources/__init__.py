# SPDX-License-Identifier: Apache-2.0
"""Tables that come in: ``source``, by kind; ``csv_files``, ``databases``, ``frames``; ``reading``:
the one reader, within the ``available_memory``.
"""
