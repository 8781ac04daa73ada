# SPDX-License-Identifier: Apache-2.0
"""The pages, each a function of the plan and the ledger whose answer is also its JSON.

``timeline``: the series; then the seven steps: ``data``, ``promise``, ``explore``, ``compare``,
``attack``, ``publishing`` and ``handover``. ``windows``: what several of them show of a table.
"""
