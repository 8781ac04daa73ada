# SPDX-License-Identifier: Apache-2.0
"""Guarantees by the name under which a manifest lists them: ours, and those of other packages."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from phalanx.errors import ExtraError, PlanError, ReleaseError, did_you_mean
from phalanx.exact import of_numpy
from phalanx.guarantees.base import Guarantee
from phalanx.installed import Installed

OURS: Final[Mapping[str, str]] = {
    "k-anonymity": "phalanx.guarantees.k_anonymity:KAnonymity",
    "frequency-l-diversity": "phalanx.guarantees.l_diversity:FrequencyDiversity",
    "distinct-l-diversity": "phalanx.guarantees.l_diversity:DistinctDiversity",
    "entropy-l-diversity": "phalanx.guarantees.l_diversity:EntropyDiversity",
    "recursive-l-diversity": "phalanx.guarantees.l_diversity:RecursiveDiversity",
    "t-closeness": "phalanx.guarantees.t_closeness:Closeness",
    "household-k-anonymity": "phalanx.guarantees.households:HouseholdAnonymity",
    "household-l-diversity": "phalanx.guarantees.households:HouseholdDiversity",
    "m-uniqueness": "phalanx.guarantees.m_invariance.m_uniqueness:MUniqueness",
    "m-invariance": "phalanx.guarantees.m_invariance.guarantee:MInvariance",
    "m-invariance-consecutive": "phalanx.guarantees.m_invariance.guarantee:MInvariance",
    "global-guarantee": "phalanx.guarantees.global_guarantee.guarantee:GlobalGuarantee",
    "l-diverse-slicing": "phalanx.guarantees.slicing.guarantee:SlicedDiversity",
    "l-diverse-slicing-counted": "phalanx.guarantees.slicing.counting:SlicedCounting",
    "distinct-l-diverse-slicing": "phalanx.guarantees.slicing.guarantee:SlicedDistinct",
    "recursive-l-diverse-slicing": "phalanx.guarantees.slicing.guarantee:SlicedRecursive",
    "t-close-slicing": "phalanx.guarantees.slicing.guarantee:SlicedCloseness",
    "anatomy-l-diversity": "phalanx.guarantees.anatomy:AnatomyDiversity",
    "mutual-cover": "phalanx.guarantees.mutual_cover.guarantee:MutualCover",
    "differential-privacy": "phalanx.guarantees.differential_privacy.guarantee:DifferentialPrivacy",
}
"""What ``pyproject.toml`` lists too, so that anyone who looks for entry points finds all of them
alike.
"""


def _unfit(name: str, cls: Any) -> str:
    """Why a class of another package is no guarantee of this name."""
    if name not in {getattr(cls, "name", None), *getattr(cls, "variants", ())}:
        return f"it calls itself {getattr(cls, 'name', None)!r}"
    lacks = [word for word in ("check", "parameters", "forms") if not hasattr(cls, word)]
    return f"it has no {lacks[0]}" if lacks else ""


KNOWN: Final = Installed("phalanx.guarantees", OURS, _unfit)


def asked(bounds: Mapping[str, Any]) -> list[Any]:
    """The guarantees that these bounds ask of anybody's table, by the fields that have a ``help``
    text; PlanError where none has such a bound, or it means nothing.

    >>> asked({"k": 3, "t": "1/5"})
    [KAnonymity(k=3), Closeness(t=Fraction(1, 5), distance='equal')]
    """
    by_field = askable()
    if unknown := next((name for name in bounds if name not in by_field), None):
        near = did_you_mean(unknown, by_field) or "; it can be one of " + ", ".join(by_field) + "."
        raise PlanError(f"{unknown!r} is no bound that a table can be asked for{near}")
    return [by_field[name](**{name: of_numpy(bound)}) for name, bound in bounds.items()]


def askable() -> dict[str, Any]:
    """By field, the guarantees that anybody's table can be asked for; a package that cannot be loaded
    has none.
    """
    by_field: dict[str, Any] = {}
    for _, cls in KNOWN.loaded():
        for field in fields(cls):
            if "help" in field.metadata:
                by_field.setdefault(field.name, cls)  # ours stand first
    return by_field


def from_parameters(public: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a manifest lists; ReleaseError where its name or a parameter is unknown,
    missing or wrong.

    >>> from_parameters({"name": "k-anonymity", "k": 3})
    KAnonymity(k=3)
    """
    name, parameters = (
        public.get("name"),
        {key: value for key, value in public.items() if key != "name"},
    )
    if not isinstance(name, str) or name not in KNOWN:
        hint = did_you_mean(str(name), KNOWN) or "; known are " + ", ".join(KNOWN) + "."
        raise ReleaseError(f"the manifest promises {name!r}, which no check is known for{hint}")
    try:
        cls = KNOWN[name]
    except ExtraError as error:
        raise ReleaseError(f"what the manifest promises cannot be checked: {error}") from None
    parameters |= getattr(cls, "variants", {}).get(name, {})
    takes = fields(cls)
    if unknown := [key for key in parameters if key not in {f.name for f in takes}]:
        raise ReleaseError(
            f"the manifest promises {name} with an unknown parameter {unknown[0]!r}; it takes"
            f" {', '.join(f.name for f in takes)}."
        )
    if missing := [
        f.name
        for f in takes
        if f.default is MISSING and f.default_factory is MISSING and f.name not in parameters
    ]:
        raise ReleaseError(
            f"the manifest promises {name} without its parameter {missing[0]!r}; ask the publisher"
            " for the folder again."
        )
    try:
        guarantee: Guarantee = cls(**parameters)
    except PlanError as error:
        raise ReleaseError(
            f"the manifest promises {name} with a wrong parameter: {error}"
        ) from None
    return guarantee
