# SPDX-License-Identifier: Apache-2.0
"""``cutting``: what all cuts have in common; ``cuts``; ``balanced``: cuts that tell of no person;
``dividing``: where these fall; ``dealing``: which rows are dealt out before; in the ``cells`` of a
k-d tree.
"""
