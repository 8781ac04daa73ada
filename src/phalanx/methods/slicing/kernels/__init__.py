# SPDX-License-Identifier: Apache-2.0
"""``tuple_partition``: Figure 1 of the paper; ``diversity_check``: Figure 2, over all buckets that a
tuple matches; ``halves``: by the halves of a bucket alone.
"""
