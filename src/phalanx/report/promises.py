# SPDX-License-Identifier: Apache-2.0
"""Promises and warnings in plain words, from a manifest."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from phalanx.errors import PhalanxError
from phalanx.guarantees.base import Guarantee, Limited, Worded
from phalanx.guarantees.registry import from_parameters
from phalanx.release.kinds import form_class
from phalanx.release.manifest import Manifest, PublishedAttribute

_MOST: Final = 12
"""So many values are named in a sentence, and no more."""


def in_words(guarantee: Mapping[str, Any], *, sensitive: bool = True) -> str:
    """One promise as a sentence; its name and parameters where no sentence is known. ``sensitive``:
    whether the release names a sensitive attribute.

    >>> in_words({"name": "distinct-l-diversity", "l": 3})
    'Every group has at least 3 different sensitive values (distinct l-diversity).'
    """
    with suppress(PhalanxError):
        promised = from_parameters(guarantee)
        if isinstance(promised, Worded):
            return promised.in_words(sensitive=sensitive)
    name, parameters = (
        str(guarantee.get("name")),
        {key: value for key, value in guarantee.items() if key != "name"},
    )
    return f"{name}: {settings(parameters)}" if parameters else name


def settings(parameters: Mapping[str, Any]) -> str:
    """Parameters in one line, without those that are empty.

    >>> settings({"m": 3, "remember": True, "min_width": {"age": 2}, "protect": ["flu", "gout"]})
    'm = 3, remember = yes, min_width = (age = 2), protect = flu / gout'
    """
    return ", ".join(
        f"{key} = {_setting(value)}"
        for key, value in parameters.items()
        if value not in ({}, [], ())
    )


def _setting(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, Mapping):
        return f"({settings(value)})"
    if isinstance(value, list | tuple):
        return " / ".join(
            f"({_setting(v)})" if isinstance(v, list | tuple) else _setting(v)
            for v in value[:_MOST]
        ) + (f" and {len(value) - _MOST} more" if len(value) > _MOST else "")
    return str(value)


KNOWN_METHOD: Final = (
    "This holds also against an adversary who knows how the release was made, and runs the method"
    " on every table that could have been this one."
)
_SUPPRESSED: Final = {
    "not-eligible": (
        "those whose value is too frequent for the guarantee: where it is known how frequent values"
        " are, a missing person is likely to hold one of the most frequent"
    ),
    "changed-value": (
        "those of persons whose value changed: a person known to be in the table and not published"
        " is likely to be one"
    ),
    "no-group": "those for which no group was found, or that were too few for one",
    "spent-budget": (
        "those published without a value, as the person's budget is spent, or so that no person"
        " without a value holds one with more than 1/l in that release: an adversary who knows how"
        " often each value stands in the table infers no more than that of them, but where there is"
        " a registry. What is promised of all releases together does not count it"
    ),
}
"""Which rows may be suppressed, and what it tells of them that they are."""


def holds_if_known(manifest: Manifest) -> bool | None:
    """Whether the promises hold against an adversary who knows the method, as far as it is stated and
    no kept column or registered person stands against it; None where it is not stated.
    """
    linked = any(a.role == "keep" for a in manifest.attributes) and any(
        map(_over_series, _readable(manifest))
    )
    stated = manifest.holds_if_method_known
    return stated and not linked and not manifest.registered


def _against_whom(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Whom the guarantees do not cover, and which rows."""
    if holds_if_known(manifest) is False:
        yield (
            "Only against those who do not know the method",
            (
                "An adversary who knows how the release was made, and runs the method on every"
                " table that could have been this one, may infer more than is promised here."
            ),
        )
    if manifest.may_suppress:
        which = "; and ".join(_SUPPRESSED[reason] for reason in manifest.may_suppress)
        yield (
            "Suppressed rows are not covered",
            f"Rows may have been suppressed, and no guarantee is about these: {which}.",
        )
    kept = " and ".join(a.name for a in manifest.attributes if a.role == "keep")
    if kept and any(map(_over_series, _readable(manifest))):
        yield (
            "Kept columns tell whose rows are whose",
            (
                f"Rows show {kept} as it is. Where such a value stays with a person, all who see several"
                " releases see which rows are the same person's, and may by that find the sensitive"
                " value. Keep only what changes from release to release."
            ),
        )
    for attribute in manifest.attributes:
        if attribute.role == "weight":
            yield (
                "Weights tell who is in which group",
                (
                    f"Each group shows the mean {attribute.name} of its rows. Where intervals of"
                    " groups overlap, an adversary who knows weights learns from it who is in which"
                    " group; what is promised holds with that known, and figures of adversaries are"
                    " without it. Hand this out only if weights were not calculated from sensitive"
                    " values, of which they would tell."
                ),
            )
        if attribute.not_applicable:
            yield from _without_a_value(manifest, attribute)


def _without_a_value(
    manifest: Manifest, attribute: PublishedAttribute
) -> Iterator[tuple[str, str]]:
    """What is shown, or taken to be known, of persons whose value is not applicable."""
    form, listed = form_class(manifest.form), " or ".join(map(str, attribute.not_applicable))
    if form.id_column:
        yield (
            f"Who has no {attribute.name} is shown",
            (
                f"Persons with {listed} stand in groups of their own, since who they are is"
                " taken to be public, as that a child has no income. What is promised about"
                f" {attribute.name} is promised to the others. Hand this out only if no person"
                " learns from it who they are."
            ),
        )
    elif form.drawn_from is not None:
        yield (
            f"Who has no {attribute.name} is taken to be known",
            (
                f"Persons with {listed} cover for each other alone, and the others for each other,"
                " since which of the two a person is, is taken to be public, as that a child has no"
                " income."
            ),
        )


def _readable(manifest: Manifest) -> Iterator[Guarantee]:
    """The guarantees that a manifest lists and that can be checked here."""
    for guarantee in manifest.guarantees:
        with suppress(PhalanxError):
            yield from_parameters(guarantee)


def _over_series(guarantee: Guarantee) -> bool:
    """Whether it is about all releases of a series."""
    return bool(getattr(guarantee, "over_series", False))


def warnings(
    manifest: Manifest,
    earlier: Sequence[Manifest] = (),
    *,
    suppressed_values: int = 0,
    reidentified: float | None = None,
) -> list[tuple[str, str]]:
    """What a publisher must know before they hand the release out, as (headline, sentence).

    ``earlier`` are the manifests of the releases before it, ``suppressed_values`` is how many
    values were taken out of its rows, and ``reidentified`` the share of persons whose row the
    adversary names who names most, where that was measured.
    """
    warnings_shown = []
    if manifest.not_for_publication:
        warnings_shown.append(
            (
                "Not for publication",
                (
                    "This release was made with a seed; an adversary who guesses it can undo the"
                    " random choices. Publish without a seed."
                ),
            )
        )
    warnings_shown += _against_whom(manifest)
    if manifest.privacy_unit == "record":
        warnings_shown.append(
            (
                "Per record, not per person",
                (
                    "A person whose value changed was published as a new record with a cover of its"
                    " own. The promise covers each record, not the person over all their records;"
                    " for values that change, the global guarantee is the right promise."
                ),
            )
        )
    if manifest.method.get("remember") is False:
        warnings_shown.append(
            (
                "Those who return are not covered",
                (
                    "This series forgets who left, and does not cover those who return, nor those"
                    " in whose groups they stood. Set remember = true unless you are comparing with"
                    " the paper."
                ),
            )
        )
    visible = form_class(manifest.form).visible
    promised = list(_readable(manifest))
    if visible is not None or (promised and not any(map(_over_series, promised))):
        warnings_shown.append(
            (
                "One release at a time",
                (
                    "The promise is about this release alone. Several releases of a changing table"
                    " can be intersected; use m-invariance for a series."
                ),
            )
        )
    if visible is not None:
        warnings_shown.append(visible)
    for guarantee in promised:
        if isinstance(guarantee, Limited):
            warnings_shown += guarantee.limits(manifest, earlier, reidentified=reidentified)
    if suppressed_values and any(
        a.role == "sensitive" and a.type != "set" for a in manifest.attributes
    ):
        warnings_shown.append(
            (
                "A missing value tells something",
                (
                    "Protected values were taken out of some rows. A row without a value may be one"
                    " of these, and is one where the source has a value in every row."
                ),
            )
        )
    return warnings_shown
