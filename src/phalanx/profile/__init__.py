"""What ``phalanx init`` looks at (``columns``, ``table``; ``scales``: words that have an order),
and what it proposes (``proposal``).
"""
