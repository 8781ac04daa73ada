# SPDX-License-Identifier: Apache-2.0
"""Answers from a release: what an analyst has, who was handed its folder and nothing else.

What is asked: ``conditions``, read from text by ``queries`` and from Polars by ``expressions``.
What a release shows, whatever its form: ``view``, of ``entries``, read by ``reading`` and made by
``bucketized``, ``generalized``, ``perturbed``, ``recoded`` and ``sliced``; ``lines`` order the
values of an attribute, and ``regions`` are values as far as a query tells them apart. What follows
from it for certain: ``bounds``, by ``sums``; what is plausible: ``models``, by ``spreading``, and of
rows that were dealt into groups ``crossing``, by ``attributing``; both
together: ``answering``, with what is said beside: ``notes``, and by survey weights ``weighted``,
whose outcome are ``answers``; groups of one query have much in common: ``sharing``. Tables that a
release leaves possible: ``draws``; what was computed from several of them: ``pooling``.
"""

from phalanx.estimators.answering import estimate
from phalanx.estimators.answers import Estimate, Figures

__all__ = ["Estimate", "Figures", "estimate"]
