# SPDX-License-Identifier: Apache-2.0
"""The studio: the whole way of the data in a browser on one's own machine; nothing imports it.

``serving`` starts it; ``door`` says who may come in; ``app`` has the addresses; ``place`` is what
it looks at, a plan file and a ledger; ``planfile`` writes the plan; ``jobs`` runs what takes time in
processes of their own, ``work`` is what they do, and ``findings`` what is kept of it beside a
release's reports; ``rendering`` makes pages of figures. ``pages`` has one file for each page: a
function of the plan and the ledger, and as JSON the same.
"""
