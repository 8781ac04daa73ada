"""Phalanx: publish a table about people, once or again and again, so that everyone is covered by others to a stated, checked degree."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from phalanx.checking import Verification, verify
    from phalanx.data.hierarchy import Bands, Prefix, Tree
    from phalanx.data.schema import Schema
    from phalanx.errors import PhalanxError
    from phalanx.ledger import Ledger
    from phalanx.methods.anatomy import Anatomy
    from phalanx.methods.global_guarantee import GlobalGuarantee
    from phalanx.methods.m_invariance import MInvariance
    from phalanx.methods.mondrian import Mondrian
    from phalanx.methods.mutual_cover import MutualCover
    from phalanx.methods.safe_sampling import SafeSampling
    from phalanx.methods.slicing import Slicing
    from phalanx.plan import Plan
    from phalanx.publishing import Published, Series
    from phalanx.reconciling import reconcile
    from phalanx.release.folder import Release

_WHERE = {
    "Anatomy": "phalanx.methods.anatomy",
    "Bands": "phalanx.data.hierarchy",
    "Composition": "phalanx.adversaries",
    "Counterfeits": "phalanx.adversaries",
    "Downcoding": "phalanx.adversaries",
    "Extremes": "phalanx.adversaries",
    "GlobalGuarantee": "phalanx.methods.global_guarantee",
    "Growth": "phalanx.adversaries",
    "History": "phalanx.adversaries",
    "Informed": "phalanx.adversaries",
    "Intersection": "phalanx.adversaries",
    "Ledger": "phalanx.ledger",
    "Linkage": "phalanx.adversaries",
    "MInvariance": "phalanx.methods.m_invariance",
    "Membership": "phalanx.adversaries",
    "Minimality": "phalanx.adversaries",
    "Mondrian": "phalanx.methods.mondrian",
    "MutualCover": "phalanx.methods.mutual_cover",
    "Omniscient": "phalanx.adversaries",
    "PhalanxError": "phalanx.errors",
    "Plan": "phalanx.plan",
    "Posterior": "phalanx.adversaries",
    "Prefix": "phalanx.data.hierarchy",
    "Published": "phalanx.publishing",
    "Release": "phalanx.release.folder",
    "SafeSampling": "phalanx.methods.safe_sampling",
    "Schema": "phalanx.data.schema",
    "Series": "phalanx.publishing",
    "SeriesLearning": "phalanx.adversaries",
    "SinglingOut": "phalanx.adversaries",
    "Slicing": "phalanx.methods.slicing",
    "Tree": "phalanx.data.hierarchy",
    "Verification": "phalanx.checking",
    "reconcile": "phalanx.reconciling",
    "verify": "phalanx.checking",
}

__all__ = [
    "Anatomy",
    "Bands",
    "Composition",
    "Counterfeits",
    "Downcoding",
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
    "Published",
    "Release",
    "SafeSampling",
    "Schema",
    "Series",
    "SeriesLearning",
    "SinglingOut",
    "Slicing",
    "Tree",
    "Verification",
    "reconcile",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import phalanx`` and ``phalanx --help`` take no time."""
    if name not in _WHERE:
        raise AttributeError(f"module 'phalanx' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
