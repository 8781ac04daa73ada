# SPDX-License-Identifier: Apache-2.0
"""Tables that come in: ``source``, by kind; ``csv_files`` and their ``dialects`` and ``quotes``,
``csv_blocks`` (large ones), ``workbooks`` (Excel), ``coded_files`` (SPSS, Stata, SAS), ``parquet_folders``,
``databases``, ``frames``; ``reading``: the one reader, within the ``available_memory``; ``batches``:
files larger than that, some rows at a time.
"""
