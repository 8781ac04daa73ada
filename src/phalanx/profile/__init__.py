# SPDX-License-Identifier: Apache-2.0
"""What ``phalanx init`` looks at (``columns``, ``table``; ``scales``: words that have an order;
``looks``: values that look like names and addresses; ``dictionary``: attributes and codes that are
well known), and what it proposes (``proposal``; ``choice``: a method by the ``use`` of the table;
``households``: whether their rows can count as one; ``quoting``: as TOML has it).
"""
