# SPDX-License-Identifier: Apache-2.0
"""Phalanx: publish a table about people, once or again and again, so that everyone is covered by
others to a stated, checked degree.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phalanx.accounting import solve as budget
    from phalanx.accounting import together
    from phalanx.adversaries import (
        Composition,
        Counterfeits,
        Downcoding,
        Extremes,
        Growth,
        History,
        Informed,
        Intersection,
        Linkage,
        Membership,
        Minimality,
        Omniscient,
        Posterior,
        SeriesLearning,
        SinglingOut,
    )
    from phalanx.data.hierarchies.hierarchy import Bands, ByFrequency, Prefix, Tree
    from phalanx.data.schema import Schema
    from phalanx.data.sources.source import read_source
    from phalanx.errors import PhalanxError
    from phalanx.estimators.pooling import pool
    from phalanx.exploration import Exploration, explore
    from phalanx.ledger import Ledger
    from phalanx.methods.anatomy.method import Anatomy
    from phalanx.methods.global_guarantee.method import GlobalGuarantee
    from phalanx.methods.m_invariance.method import MInvariance
    from phalanx.methods.mondrian.method import Mondrian
    from phalanx.methods.mutual_cover.method import MutualCover
    from phalanx.methods.safe_sampling.method import SafeSampling
    from phalanx.methods.slicing.method import Slicing
    from phalanx.plan import Plan
    from phalanx.series.once import publish
    from phalanx.series.preview import Preview
    from phalanx.series.reconciling import reconcile
    from phalanx.series.released import Release
    from phalanx.series.series import Series
    from phalanx.verification import Verification, verify, verify_table

_WHERE = {
    "Anatomy": "phalanx.methods.anatomy.method",
    "Bands": "phalanx.data.hierarchies.hierarchy",
    "ByFrequency": "phalanx.data.hierarchies.hierarchy",
    "Composition": "phalanx.adversaries",
    "Counterfeits": "phalanx.adversaries",
    "Downcoding": "phalanx.adversaries",
    "Exploration": "phalanx.exploration",
    "Extremes": "phalanx.adversaries",
    "GlobalGuarantee": "phalanx.methods.global_guarantee.method",
    "Growth": "phalanx.adversaries",
    "History": "phalanx.adversaries",
    "Informed": "phalanx.adversaries",
    "Intersection": "phalanx.adversaries",
    "Ledger": "phalanx.ledger",
    "Linkage": "phalanx.adversaries",
    "MInvariance": "phalanx.methods.m_invariance.method",
    "Membership": "phalanx.adversaries",
    "Minimality": "phalanx.adversaries",
    "Mondrian": "phalanx.methods.mondrian.method",
    "MutualCover": "phalanx.methods.mutual_cover.method",
    "Omniscient": "phalanx.adversaries",
    "PhalanxError": "phalanx.errors",
    "Plan": "phalanx.plan",
    "Posterior": "phalanx.adversaries",
    "Prefix": "phalanx.data.hierarchies.hierarchy",
    "Preview": "phalanx.series.preview",
    "Release": "phalanx.series.released",
    "SafeSampling": "phalanx.methods.safe_sampling.method",
    "Schema": "phalanx.data.schema",
    "Series": "phalanx.series.series",
    "SeriesLearning": "phalanx.adversaries",
    "SinglingOut": "phalanx.adversaries",
    "Slicing": "phalanx.methods.slicing.method",
    "Tree": "phalanx.data.hierarchies.hierarchy",
    "Verification": "phalanx.verification",
    "budget": "phalanx.accounting:solve",
    "explore": "phalanx.exploration",
    "pool": "phalanx.estimators.pooling",
    "publish": "phalanx.series.once",
    "read_source": "phalanx.data.sources.source",
    "reconcile": "phalanx.series.reconciling",
    "together": "phalanx.accounting",
    "verify": "phalanx.verification",
    "verify_table": "phalanx.verification",
}

__all__ = [
    "Anatomy",
    "Bands",
    "ByFrequency",
    "Composition",
    "Counterfeits",
    "Downcoding",
    "Exploration",
    "Extremes",
    "GlobalGuarantee",
    "Growth",
    "History",
    "Informed",
    "Intersection",
    "Ledger",
    "Linkage",
    "MInvariance",
    "Membership",
    "Minimality",
    "Mondrian",
    "MutualCover",
    "Omniscient",
    "PhalanxError",
    "Plan",
    "Posterior",
    "Prefix",
    "Preview",
    "Release",
    "SafeSampling",
    "Schema",
    "Series",
    "SeriesLearning",
    "SinglingOut",
    "Slicing",
    "Tree",
    "Verification",
    "budget",
    "explore",
    "pool",
    "publish",
    "read_source",
    "reconcile",
    "together",
    "verify",
    "verify_table",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import phalanx`` and ``phalanx --help``
    take no time.
    """
    if name not in _WHERE:
        raise AttributeError(f"module 'phalanx' has no attribute {name!r}")
    module, _, called = _WHERE[name].partition(":")
    return getattr(import_module(module), called or name)


def __dir__() -> list[str]:
    return sorted(__all__)
