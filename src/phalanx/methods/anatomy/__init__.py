# SPDX-License-Identifier: Apache-2.0
"""Anatomy: ``method``, ``offer``, ``kernels``."""
