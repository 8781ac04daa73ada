# SPDX-License-Identifier: Apache-2.0
"""What releases promise, and the checks of it from published files. A new guarantee is one file or
room more, and an entry point.

``base``: what a guarantee is; ``registry``: by name; ``verify``: all checks of a release or a
series; ``parts``: of a release in parts; ``staying``: of one whose persons stay in theirs;
``views``: the files as all checks see them.

- Promises about groups: ``k_anonymity``, ``l_diversity`` (``entropy``), ``t_closeness``,
  ``anatomy``; ``households``: whose rows count as one; ``levels``: which ones anybody's table
  keeps.
- A room each: ``m_invariance``, ``global_guarantee``, ``slicing``, ``mutual_cover``,
  ``differential_privacy``.
- Always checked: ``consistency`` and ``truth``; ``strength``: that a promise is one;
  ``lookalikes``: values that people take for the same.
- For people: ``sentences``, the words in which guarantees tell their parameters.
- Never checked: ``stated``, what the manifest states of the limits of its guarantees.
"""
