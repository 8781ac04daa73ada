# SPDX-License-Identifier: Apache-2.0
"""Tuple partition with the diversity check: ``local_cuts``, by the halves alone; ``exact_cuts``, by
all buckets that a tuple matches.
"""
