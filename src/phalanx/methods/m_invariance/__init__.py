"""m-Invariance: ``method``; ``signatures``: the sets of values among which persons are published; ``kernels``."""
