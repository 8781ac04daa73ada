# SPDX-License-Identifier: Apache-2.0
"""The global guarantee: ``guarantee``; ``breach``: the probability of a link; ``carried``: what a
series carries on; ``cohorts``.
"""
