# SPDX-License-Identifier: Apache-2.0
"""``adversary``: replays the cuts of a method (``replaying``, ``requirements``, ``arrangements``)
and asks why they ended; ``beliefs``: what that tells of each person's value.
"""
