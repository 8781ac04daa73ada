# SPDX-License-Identifier: Apache-2.0
"""The global guarantee: ``guarantee``; ``shares``: the probability of a link; ``breach``: whose it
is; ``carried``: what a series carries on; ``recalled``: also of those who left; ``cohorts``.
"""

from typing import Final

NAME: Final = "global-guarantee"
"""By which a manifest says it."""

__all__ = ["NAME"]
