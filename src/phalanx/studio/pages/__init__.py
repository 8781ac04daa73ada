# SPDX-License-Identifier: Apache-2.0
"""The pages, each a function of the plan and the ledger whose answer is also its JSON.

``timeline``: the series; then the seven steps: ``data``, ``promise``, ``explore`` with its
``sliders``, ``compare`` with the rows ``beside`` their originals, ``attack``, ``publishing`` and
``handover``; and ``checking``, of what others published. ``windows``: what several of them
show of a table; ``reproducing``: how a page is made again without the studio.
"""
