# SPDX-License-Identifier: Apache-2.0
"""Whether what an adversary found is a breach of what its releases promise, in one sentence."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phalanx.adversaries.base import Attack
from phalanx.release.folder import Release

_IN_THE_TABLE: Final = "no guarantee of this release hides who is in the table"
_WHOSE_ROW: Final = (
    "no guarantee of this release hides whose row is which from somebody who knows this much"
)
_NEVER_PROMISED: Final = {
    "extremes": _IN_THE_TABLE,
    "membership": _IN_THE_TABLE,
    "informed": _WHOSE_ROW,
    "omniscient": _WHOSE_ROW,
    "singling-out": "no guarantee of this release says that no description fits one row alone",
    "downcoding": "no guarantee of this release says that intervals are no wider than they look",
    "composition": "no publisher promises what two of them tell together",
}
"""Why what an adversary finds is no breach, whatever the release promises."""
_METHOD: Final = frozenset({"minimality", "growth", "counterfeits"})

_HIDE_RECORDS: Final = frozenset({"k-anonymity", "m-invariance", "m-uniqueness"})
_HIDE_VALUES: Final = frozenset(
    {
        "frequency l-diversity",
        "distinct l-diversity",
        "entropy l-diversity",
        "recursive (c,l)-diversity",
        "anatomy's l-diversity",
        "l-diverse slicing",
        "distinct l-diverse slicing",
        "recursive (c,l)-diverse slicing",
        "l-diverse slicing, counted",
        "m-invariance",
        "m-uniqueness",
        "global guarantee",
    }
)
_OVER_SERIES: Final = frozenset({"m-invariance", "global guarantee"})


def verdict(found: Attack, releases: Sequence[Release]) -> str:
    """How many persons are exposed, and whether some guarantee of the releases says that nobody is;
    where none does, why not.

    A breach is only what a manifest promises and an adversary refutes. What nobody promised is
    named with the reason, and is no less true for that.
    """
    if not found.exposed:
        return (
            f"Nobody of {found.persons:,} persons: this adversary finds no breach, which is no"
            " proof that there is none."
        )
    who = f"{found.exposed:,} of {found.persons:,} persons"
    broken, why = _broken(found.adversary, releases)
    if broken:
        return f"{who}: A BREACH of {broken}. Do not hand this out, and report it."
    return f"{who}: not a breach of what is promised, because {why}."


def _broken(adversary: str, releases: Sequence[Release]) -> tuple[str, str]:
    """The guarantee that says that nobody is exposed to this adversary; or nothing, and why there
    is none.
    """
    manifest = releases[-1].manifest
    promised = {str(g.get("name")): g for g in manifest.guarantees}
    if "differential privacy" in promised:
        return (
            "",
            (
                "differential privacy bounds how much one row changes a release, and not what is"
                " concluded from all of them"
            ),
        )
    if adversary in _NEVER_PROMISED:
        return "", _NEVER_PROMISED[adversary]
    if adversary == "linkage":
        return next((name for name in promised if name in _HIDE_RECORDS), ""), _WHOSE_ROW
    if adversary in _METHOD and manifest.holds_if_method_known is not True:
        return (
            "",
            "the guarantees are stated to hold only against adversaries who do not know the method",
        )
    return _of_values(promised, several=len(releases) > 1, per=manifest.privacy_unit)


def _of_values(
    promised: Mapping[str, Mapping[str, Any]], *, several: bool, per: str
) -> tuple[str, str]:
    """The guarantee that says that nobody's value is certain."""
    hides = [name for name in promised if name in _HIDE_VALUES]
    if not hides:
        return "", "no guarantee of this release bounds how surely a value is linked with a person"
    lasting = [name for name in hides if name in _OVER_SERIES]
    if several and not lasting:
        return "", f"{hides[0]} is about each release by itself, and these are several"
    name = (lasting or hides)[0]
    if name == "m-invariance" and per == "record":
        return "", "it is promised for each record, and a person whose value changed has several"
    if name == "global guarantee" and (
        promised[name].get("protected") != "all" or promised[name].get("unprotected")
    ):
        return (
            "",
            (
                "some values are not protected, and which ones are certain is not told apart here;"
                " ask history about the protected ones"
            ),
        )
    return name, ""


__all__ = ["verdict"]
