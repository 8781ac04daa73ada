"""``hierarchy``: trees over an attribute's values; ``files``: as a steward writes them."""
