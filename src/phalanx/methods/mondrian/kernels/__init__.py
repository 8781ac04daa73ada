# SPDX-License-Identifier: Apache-2.0
"""``cutting``: what all cuts have in common; ``cuts``; ``balanced``: cuts that tell of no person, ``dividing``,
where they fall, and ``dealing``, before which rows are dealt out; in the ``cells`` of a k-d tree.
"""
