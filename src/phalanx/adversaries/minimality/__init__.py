"""``adversary``: replays the cuts of a method (``replaying``, ``requirements``, ``arrangements``)
and asks why they ended.
"""
