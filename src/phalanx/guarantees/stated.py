"""What the manifest states of the limits of its guarantees: no file shows it, and the publisher answers for it."""

from collections.abc import Iterator
from typing import Final

from phalanx.guarantees.base import Verdict
from phalanx.release.folder import Release

_WHY: Final = {
    "not eligible": "those whose value is too frequent for the guarantee",
    "changed value": "those of persons whose value changed",
    "no group": "those for which no group was found",
    "spent budget": "values of persons whose budget is spent, or whose class holds too much of a value",
}


def check(release: Release) -> Iterator[Verdict]:
    """Which adversary and which rows the guarantees do not cover, as far as the manifest states it; nothing is compared, and nothing fails."""
    known, suppressed = release.manifest.holds_if_method_known, release.manifest.may_suppress
    if known:
        note = "stated: the guarantees hold also against an adversary who runs the method on every table that could have been this one"
        yield _stated("adversary who knows the method", note)
    elif known is not None:
        note = "not covered: an adversary who runs the method on every table that could have been this one may infer more than is promised"
        yield _stated("adversary who knows the method", note)
    if suppressed:
        why = ", ".join(_WHY[reason] for reason in suppressed)
        yield _stated("suppressed rows", f"not covered: rows may have been suppressed ({why}), and no guarantee is about a row that is not published")


def _stated(name: str, note: str) -> Verdict:
    return Verdict(name=name, bound="none", worst=None, holds=True, note=note)
