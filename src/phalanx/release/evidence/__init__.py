# SPDX-License-Identifier: Apache-2.0
"""What may be laid beside published files: ``evidence``; ``exposures``, ``outputs``: the formats of
two parts of it.
"""
