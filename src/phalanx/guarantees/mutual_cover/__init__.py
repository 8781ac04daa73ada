"""Mutual cover: ``guarantee``; ``output_tables``, ``drawn_rows``, ``repaired``: rows beside the
tables they were drawn from; ``originals``.
"""
