"""``groups``: grouping under ratios; ``exposures``: what persons have been exposed to, carried
on.
"""
