# SPDX-License-Identifier: Apache-2.0
"""Safe sampling: ``method``, ``offer``, ``kernels``.

``axes``: how one attribute may be recoded; ``schemes``: how rows are; ``private_levels``,
``private_partition`` (of which ``partitions`` is what comes out): schemes that are chosen under
differential privacy, by ``private_choice``; ``counts``: of a table that is larger than the memory.
"""
