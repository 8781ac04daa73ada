"""What ``phalanx init`` looks at (``columns``, ``table``), and what it proposes (``proposal``)."""
