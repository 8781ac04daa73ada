# SPDX-License-Identifier: Apache-2.0
"""What may be laid beside published files: ``evidence``; ``exposures``, ``outputs``, ``signatures``:
the formats of three parts of it.
"""
