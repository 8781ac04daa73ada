# SPDX-License-Identifier: Apache-2.0
"""What was published about each person is so: ``check``; ``buckets``, by form; ``coverage``:
whether all persons are in it; ``covering``: where they fit, form by form; ``kinds``: who may be in
which group; ``weights``: whether a group's is the mean of its rows'.
"""
