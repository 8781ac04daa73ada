# SPDX-License-Identifier: Apache-2.0
"""Whether what an adversary found is a breach of what its releases promise, in one sentence."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from phalanx.adversaries.base import Attack
from phalanx.adversaries.registry import KNOWN
from phalanx.errors import PhalanxError
from phalanx.guarantees.registry import KNOWN as GUARANTEES
from phalanx.installed import Installed
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

_UNBOUNDED: Final = "no guarantee of this release bounds how surely a value is linked with a person"


def verdict(attack: Attack, releases: Sequence[Release]) -> str:
    """How many persons are exposed, and whether some guarantee of the releases says that none is;
    where none does, why not.

    A breach is only what a manifest promises and an adversary refutes. What was not promised is
    named with the reason, and is no less true for that.
    """
    if not attack.exposed:
        return (
            f"None of {attack.persons:,} persons: this adversary finds no breach, which is no"
            " proof that there is none."
        )
    if attack.by_luck:
        return (
            f"{attack.by_luck} That may be luck: no breach is shown, which is no proof that there is"
            " none."
        )
    who = f"{attack.exposed:,} of {attack.persons:,} persons"
    broken, why = _broken(attack.adversary, releases)
    if broken:
        return f"{who}: A BREACH of {broken}. Do not hand this out, and report it."
    return f"{who}: not a breach of what is promised, because {why}."


def _broken(adversary: str, releases: Sequence[Release]) -> tuple[str, str]:
    """The guarantee that says that no person is exposed to this adversary; or nothing, and why
    there is none.
    """
    manifest, attacker = releases[-1].manifest, _class(KNOWN, adversary)
    exposes = getattr(attacker, "exposes", "values")
    promised = [
        (_class(GUARANTEES, str(public.get("name"))), public) for public in manifest.guarantees
    ]
    for guarantee, public in promised:
        if not getattr(guarantee, "hides", ()) and (why := _no_breach(guarantee, public, manifest)):
            return "", why
    if getattr(attacker, "knows_method", False) and manifest.holds_if_method_known is not True:
        why = (
            "the guarantees are stated to hold only against adversaries who do not know the method"
        )
        return "", why
    hiding = [(g, public) for g, public in promised if exposes in getattr(g, "hides", ())]
    if not hiding:
        return "", getattr(attacker, "no_breach", _UNBOUNDED)
    lasting = [(g, public) for g, public in hiding if getattr(g, "over_series", False)]
    if len(releases) > 1 and not lasting:
        name = hiding[0][1]["name"]
        return "", f"{name} is about each release by itself, and these are several"
    guarantee, public = (lasting or hiding)[0]
    why = _no_breach(guarantee, public, manifest) if exposes == "values" else ""
    if len(releases) > 1 and getattr(attacker, "takes_values_to_stay", False):
        why = why or (
            guarantee.not_of_lasting(public) if hasattr(guarantee, "not_of_lasting") else ""
        )
    return ("", why) if why else (str(public["name"]), "")


def _no_breach(guarantee: Any, public: Mapping[str, Any], manifest: Manifest) -> str:
    """Why the guarantee itself says that what is certain is no breach; empty where it does not."""
    return str(guarantee.no_breach(public, manifest)) if hasattr(guarantee, "no_breach") else ""


def _class(known: Installed, name: str) -> Any:
    """What is installed under a name; None where nothing is, or it cannot be loaded."""
    with suppress(KeyError, PhalanxError):
        return known[name]
    return None


__all__ = ["verdict"]
