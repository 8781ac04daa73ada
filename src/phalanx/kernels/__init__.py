"""Kernels: arrays in, arrays out, each by the method that it works for.

- ``cutting``: what all cuts have in common; ``mondrian``; ``balanced``: cuts that tell of nobody; ``anatomy``; ``m_invariance``.
- The global guarantee: ``global_guarantee``, ``cells``, ``exposures``.
- Slicing: ``local_cuts``, ``exact_cuts``.
- Mutual cover: ``cover_cuts``; ``simplex``: the steps that are shared by ``outputs`` (one attribute) and ``joint_outputs`` (whole groups); ``exact_tables``:
  in whole numbers; ``drawing``.
- ``safe_sampling``: images of rows and their counts; ``private_partition``: what the cuts of a box would bring.
- ``picking``: uniform integers for all of them. ``cache``: where they lie, once they are compiled.
"""

from phalanx.kernels import cache as cache
