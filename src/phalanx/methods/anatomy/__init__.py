"""Anatomy: ``method``, ``kernels``."""
