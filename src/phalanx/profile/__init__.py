# SPDX-License-Identifier: Apache-2.0
"""What ``phalanx init`` looks at (``table``, ``columns``; ``looks``: values that look like names and
addresses; ``scales``: words that have an order; ``dictionary``: attributes and codes that are well
known), and what it proposes (``persons``, ``sensitive``, ``leaving_out``: the roles of columns; ``choice``: a
method by the ``use`` of the table; ``households``: whether their rows can count as one;
``proposal``: the plan; ``quoting``: as TOML has it).
"""
