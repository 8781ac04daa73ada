# SPDX-License-Identifier: Apache-2.0
"""What ``phalanx init`` looks at (``columns``, ``table``; ``scales``: words that have an order),
and what it proposes (``proposal``).
"""
