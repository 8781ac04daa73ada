"""Guarantees by the name under which a manifest lists them."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from phalanx.errors import PlanError, ReleaseError, did_you_mean
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.guarantees.base import Guarantee
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.guarantees.l_diversity import DistinctDiversity, EntropyDiversity, FrequencyDiversity, RecursiveDiversity
from phalanx.guarantees.m_invariance.guarantee import CONSECUTIVE, MInvariance
from phalanx.guarantees.m_invariance.m_uniqueness import MUniqueness
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.slicing.counting import SlicedCounting
from phalanx.guarantees.slicing.guarantee import SlicedCloseness, SlicedDistinct, SlicedDiversity, SlicedRecursive
from phalanx.guarantees.t_closeness import Closeness

_ALL: tuple[type[Any], ...] = (
    KAnonymity,
    FrequencyDiversity,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    Closeness,
    MUniqueness,
    MInvariance,
    GlobalGuarantee,
    SlicedDiversity,
    SlicedCounting,
    SlicedDistinct,
    SlicedRecursive,
    SlicedCloseness,
    AnatomyDiversity,
    MutualCover,
    DifferentialPrivacy,
)
KNOWN: Mapping[str, Callable[..., Guarantee]] = {cls.name: cls for cls in _ALL}


def from_parameters(public: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a manifest lists; ReleaseError where its name or a parameter is unknown, missing or wrong.

    >>> from_parameters({"name": "k-anonymity", "k": 3})
    KAnonymity(k=3)
    """
    name, parameters = public.get("name"), {key: value for key, value in public.items() if key != "name"}
    if name == MInvariance.name + CONSECUTIVE:
        name, parameters = MInvariance.name, parameters | {"consecutive": True}
    if not isinstance(name, str) or name not in KNOWN:
        hint = did_you_mean(str(name), KNOWN) or "; known are " + ", ".join(KNOWN) + "."
        raise ReleaseError(f"the manifest promises {name!r}, which no check is known for{hint}")
    takes = fields(KNOWN[name])  # type: ignore[arg-type]
    if unknown := [key for key in parameters if key not in {f.name for f in takes}]:
        raise ReleaseError(f"the manifest promises {name} with an unknown parameter {unknown[0]!r}; it takes {', '.join(f.name for f in takes)}.")
    if missing := [f.name for f in takes if f.default is MISSING and f.name not in parameters]:
        raise ReleaseError(f"the manifest promises {name} without its parameter {missing[0]!r}; ask the publisher for the folder again.")
    try:
        return KNOWN[name](**parameters)
    except PlanError as error:
        raise ReleaseError(f"the manifest promises {name} with a wrong parameter: {error}") from None
