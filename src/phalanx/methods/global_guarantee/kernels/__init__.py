# SPDX-License-Identifier: Apache-2.0
"""``groups``: grouping under ratios; ``exposures``: what persons have been exposed to, carried
on; ``demands``: what they demand for it.
"""
