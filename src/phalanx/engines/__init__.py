# SPDX-License-Identifier: Apache-2.0
"""Where heavy work runs. A method names how a table may be divided for it (``Divisible``), and an
engine decides where the parts are published.

``choosing``: whether a table fits the memory; ``cells``: the two functions that every engine runs,
``tag`` and ``microdata``; ``regions``: how quasi-identifiers divide a table; ``out_of_core``: parts
of it in private files; ``lasting``: parts in which the persons of a series stay;
``laid``: tables that wait on the disk; ``fetched``: the rows of a query or a CSV file
that wait there.
"""
