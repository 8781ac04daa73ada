# SPDX-License-Identifier: Apache-2.0
"""``cutting``: what all cuts have in common; ``cuts``; ``balanced``: cuts that tell of no person, and
``dividing``, where they fall; in the ``cells`` of a k-d tree.
"""
