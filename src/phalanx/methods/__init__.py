"""Methods, and beside each the files that it is made of. A new method is one file more, and a line in pyproject.toml.

``base``: what a method is, and how it is found by name.

- ``mondrian``; ``balanced``: groups that tell of nobody, also for global-guarantee.
- ``m_invariance``; ``signatures``: the sets of values among which persons are published.
- ``global_guarantee``; ``rounds``: one release of it; ``grouping``: its groups; ``uneven``: what a cut into unequal
  parts tells; ``ratios``, ``exposures``, ``protected``, ``cohorts``; ``emptied``: who is published without a value.
- ``slicing``; ``columns``, ``column_boxes``: which attributes stand together, and how they are generalized; ``tuples``: tuples as slicing sees them; ``cuts``,
  ``dealing``, ``membership``: its buckets; ``counting``: who must be in which.
- ``anatomy``.
- ``mutual_cover``; ``outputs``: random output tables of one attribute; ``layout``, ``joint_outputs``, ``joint_highs``, ``large_groups``: of whole groups;
  ``distances``, ``coupling``.
- ``safe_sampling``; ``axes``: how one attribute may be recoded; ``schemes``: how rows are; ``private_levels``,
  ``private_partition`` (of which ``partitions`` is what comes out): schemes that are chosen under differential privacy, by ``private_choice``.
"""
