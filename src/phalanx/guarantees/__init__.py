"""What releases promise, and the checks of it from published files. A new guarantee is one file more, and a line in ``registry``.

``base``: what a guarantee is; ``registry``: by name; ``verify``: all checks of a release or a series; ``exact``: numbers as promises mean them; ``groups``:
the groups of any form.

- Promises about groups: ``k_anonymity``, ``diversity`` (``entropy``), ``closeness``, ``anatomy``; ``levels``: which ones anybody's table keeps;
  ``strength``: how much a guarantee promises by its parameters; ``lookalikes``: values that people take for the same.
- About series: ``m_uniqueness``, ``m_invariance`` (``signatures``), ``global_guarantee`` (``carried``, ``cohorts``, ``breach``); ``members``: who is in a group.
- ``slicing`` (``sliced_view``, ``posterior``); ``counting``: what it promises to whoever counts who must be in which bucket.
- ``mutual_cover`` (``output_tables``, ``drawn_rows``, ``repaired``, ``originals``).
- ``differential_privacy`` (``hockey_stick``, ``composed``, ``logarithms``).
- Always checked: ``consistency`` (``buckets``, ``perturbed``, ``recoded``, ``recodings``, ``intervals``, ``hierarchies``, ``order``;
  ``files``, ``parquet_bytes``) and ``truth`` (``bucket_truth``, ``coverage``); ``boxes``, ``box_search``: who lies in which box.
- Never checked: ``stated``, what the manifest states of the limits of its guarantees.
"""
