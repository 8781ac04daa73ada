# SPDX-License-Identifier: Apache-2.0
"""``images``: images of rows and their counts; ``private_partition``: what the cuts of a box would
bring.
"""
