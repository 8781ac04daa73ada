"""Promises and warnings in plain words, from a manifest."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from phalanx.release.manifest import Manifest
from phalanx.report import privacy
from phalanx.report.charts import percent

_WORDS: Final = {
    "k-anonymity": "By the quasi-identifiers everybody is one of at least {k}: every group has at least {k} rows (k-anonymity).",
    "frequency l-diversity": "In every group no sensitive value stands in more than {one_in_l} of the rows (frequency l-diversity).",
    "distinct l-diversity": "Every group has at least {l} different sensitive values (distinct l-diversity).",
    "entropy l-diversity": "In every group the sensitive values are at least as mixed as {l} equally frequent ones, measured by entropy (entropy l-diversity).",
    "recursive (c,l)-diversity": (
        "In every group the most frequent sensitive value is less than {c} times as frequent as the {l_th} most frequent and all rarer ones together "
        "(recursive (c,l)-diversity)."
    ),
    "t-closeness": "In every group the sensitive values are distributed as in the whole table, up to a distance of {t} ({distance} distance; t-closeness).",
    "m-uniqueness": "Every group has at least {m} rows, all with different sensitive values (m-uniqueness).",
    "m-invariance": (
        "Over all releases of this series, nobody's sensitive value is linked to them with more than 1/{m}, as long as the value persists: every group has at "
        "least {m} different values, and whoever is published again, also after a gap, is published among the same values (m-invariance)."
    ),
    "m-invariance (consecutive releases)": (
        "From one release to the next, nobody's sensitive value is linked to them with more than 1/{m}, as long as the value persists. "
        "Whoever leaves and returns is not covered, nor those in whose groups they stood (m-invariance as in the paper, which forgets)."
    ),
    "global guarantee": (
        "For everybody and each protected sensitive value, the probability of having been linked to it in at least one release of this series so far is at most "
        "{one_in_l}, even for somebody who knows in which group of every release everybody is (global guarantee). Protected: {these}."
    ),
    "l-diverse slicing": (
        "Whoever knows all quasi-identifiers of somebody in the table links them with no sensitive value with a probability above {one_in_l}, over all buckets "
        "that this person may be in, each bucket being as likely as the other, or each row (l-diverse slicing)."
    ),
    "l-diverse slicing, counted": (
        "Whoever knows all quasi-identifiers of everybody in the table, and counts who must be in which bucket, links nobody with a sensitive value with a "
        "probability above {one_in_l}; where buckets lean on each other this probability is an estimate (l-diverse slicing, counted)."
    ),
    "distinct l-diverse slicing": (
        "Whoever knows all quasi-identifiers of somebody in the table is left with at least {l} sensitive values that may be theirs, over all buckets that this "
        "person may be in; one of these may be far more probable than the others (distinct l-diverse slicing)."
    ),
    "recursive (c,l)-diverse slicing": (
        "For whoever knows all quasi-identifiers of somebody in the table, the most probable sensitive value, over all buckets that this person may be in, is "
        "less than {c} times as probable as the {l_th} most probable and all less probable ones together (recursive (c,l)-diverse slicing)."
    ),
    "t-close slicing": (
        "For whoever knows all quasi-identifiers of somebody in the table, the sensitive values, over all buckets that this person may be in, are as probable as "
        "they are frequent in the whole table, up to a distance of {t} ({distance} distance; t-close slicing)."
    ),
    "anatomy's l-diversity": (
        "In no bucket do more than {one_in_l} of the persons have the same sensitive value: whoever knows all quasi-identifiers of somebody in the table finds "
        "their bucket, and links them with no value with a probability above {one_in_l} (anatomy's l-diversity)."
    ),
}
_EVERY_COLUMN: Final = {
    "l-diverse slicing": (
        "No attribute is named as sensitive, so every column is treated as if it were: in no bucket do more than {one_in_l} of the persons have the same in a "
        "column. Whoever knows what somebody in the table has in all other columns links them with nothing in that one with a probability above {one_in_l} "
        "(l-diverse slicing)."
    ),
    "l-diverse slicing, counted": "Since that holds in every bucket, it holds for whoever counts who must be in which bucket (l-diverse slicing, counted).",
}
"""What is promised in other words where no attribute is sensitive."""
_FILLED: Final = " Places of missing values were filled as in the paper, so this is promised only against somebody who ignores the method."
"""What m-invariance adds where it does not hold against somebody who knows it."""
_COVER: Final = "mutual cover"
_MOST: Final = 12
"""So many values are named in a sentence, and no more."""


def in_words(guarantee: Mapping[str, Any], *, sensitive: bool = True) -> str:
    """One promise as a sentence; its name and parameters where no sentence is known. ``sensitive``: whether the release names a sensitive attribute.

    >>> in_words({"name": "distinct l-diversity", "l": 3})
    'Every group has at least 3 different sensitive values (distinct l-diversity).'
    """
    name = str(guarantee.get("name"))
    parameters = {key: value for key, value in guarantee.items() if key != "name"}
    told: dict[str, Any] = {"changes": 1, "unchanged": "coupled"} | parameters
    if (l := parameters.get("l")) is not None:
        above, _, below = str(l).partition("/")  # l may be a fraction such as "5/2"
        told |= {"one_in_l": f"{below or 1}/{above}", "l_th": _ordinal(l), "these": _protected(parameters)}
    try:
        if name == _COVER:
            return _of_mutual_cover(told)
        if name == privacy.NAME:
            return privacy.in_words(parameters)
        filled = _FILLED if parameters.get("balancing") == "paper" else ""
        return (_WORDS if sensitive else {**_WORDS, **_EVERY_COLUMN})[name].format(**told) + filled
    except (KeyError, ValueError, ArithmeticError):
        return f"{name}: {settings(parameters)}" if parameters else name


def _delta(guarantee: Mapping[str, Any]) -> Fraction:
    """Delta as the manifest says it; 0 where that means nothing."""
    try:
        return Fraction(str(guarantee.get("delta")))
    except (ValueError, ArithmeticError):
        return Fraction(0)


def _of_mutual_cover(told: Mapping[str, Any]) -> str:
    """What stands behind a published value, and how rows were kept from coming out as they went in."""
    delta = Fraction(str(told["delta"]))
    tuples, changes, paper = math.ceil(1 / delta), int(told["changes"]), told["unchanged"] == "paper"
    cover = (
        f"A published value of a quasi-identifier need not be that of the row's person: it was drawn among the values of a group of similar persons, from at least "
        f"{tuples} of whom it could stem, and no single person accounts for more than {delta} of the chance that the group publishes it (mutual cover). "
        "Which rows are a group is not published. Of sensitive values nothing is promised."
    )
    if paper:
        return (
            cover + " Rows that came out with all of their person's quasi-identifiers were changed afterwards"
            " (the paper's way), so this holds for how values were drawn at first, and not for what is published."
        )
    least = "at least one quasi-identifier shows" if changes == 1 else f"at least {changes} quasi-identifiers show"
    return cover + f" In every row {least} another value than the person's own, which is part of how values are drawn and costs none of that cover."


def settings(parameters: Mapping[str, Any]) -> str:
    """Parameters in one line, without those that are empty.

    >>> settings({"m": 3, "remember": True, "min_width": {"age": 2}, "protect": ["flu", "gout"]})
    'm = 3, remember = yes, min_width = (age = 2), protect = flu / gout'
    """
    return ", ".join(f"{key} = {_setting(value)}" for key, value in parameters.items() if value not in ({}, [], ()))


def _protected(parameters: Mapping[str, Any]) -> str:
    """Which values a global guarantee is about."""
    listed, spared, lasting = (parameters.get(key, ()) for key in ("protected", "unprotected", "permanent"))
    these = "all values" if listed == "all" else _values(listed)
    if spared and listed == "all":
        these += f" but {_values(spared)}"
    if lasting:
        these += f"; permanent: {_values(lasting)} (whoever stood in one group with a permanent value stands with the same people ever after)"
    return these


def _values(listed: Any) -> str:
    shown = [str(v) for v in listed] if isinstance(listed, list | tuple) else [str(listed)]
    return ", ".join(shown[:_MOST]) + (f" and {len(shown) - _MOST} more" if len(shown) > _MOST else "")


def _setting(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, Mapping):
        return f"({settings(value)})"
    if isinstance(value, list | tuple):
        return " / ".join(f"({_setting(v)})" if isinstance(v, list | tuple) else _setting(v) for v in value[:_MOST]) + (
            f" and {len(value) - _MOST} more" if len(value) > _MOST else ""
        )
    return str(value)


def _ordinal(l: Any) -> str:
    return {"1": "1st", "2": "2nd", "3": "3rd"}.get(str(l), f"{l}th")


_VISIBLE: Final = {
    "bucketized": (
        "Who is in the table can be seen",
        (
            "Quasi-identifiers are published as they are, a row for each person: whoever knows those of somebody sees whether they are in the table, and in which "
            "bucket. Only the link with the sensitive value is hidden."
        ),
    ),
    "sliced": (
        "Values can be seen, and combinations within a column",
        (
            "Values are published as they are, unless they are intervals, and so is what stands together in one column. A rare value, or a rare combination of "
            "values of one column, tells whoever knows whose it is that this person is in the table."
        ),
    ),
    "perturbed": (
        "Values are real ones of other persons, and sensitive values are exact",
        (
            "Every row is of one person, with this person's own sensitive value; what may be wrong in it are the quasi-identifiers. Whoever knows how the rows were made, "
            "or guesses it, can tell which rows may be somebody's. No value is invented: a rare one says that somebody in the table has it."
        ),
    ),
}
"""What a form without generalized groups does not hide, as (headline, sentence)."""


KNOWN_METHOD: Final = (
    "This holds also against an adversary who knows how the release was made, and runs the method on every table that could have been this one."
)
_SUPPRESSED: Final = {
    "not eligible": "those whose value is too frequent for the guarantee: where it is known how frequent values are, a missing person is likely to hold one of the most frequent",
    "changed value": "those of persons whose value changed: a person known to be in the table and not published is likely to be one",
    "no group": "those for which no group was found, or that were too few for one",
    "spent budget": "those published without a value, as the person's budget is spent, or so that nobody without a value holds one with more than 1/l: "
    "an adversary who knows how often each value stands in the table infers no more than that of them",
}
"""Which rows may be suppressed, and what it tells of them that they are."""


def _against_whom(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Whom the guarantees do not cover, and which rows."""
    if manifest.holds_if_method_known is False:
        yield (
            "Only against those who do not know the method",
            "An adversary who knows how the release was made, and runs the method on every table that could have been this one, may infer more than is promised here.",
        )
    if manifest.may_suppress:
        which = "; and ".join(_SUPPRESSED[reason] for reason in manifest.may_suppress)
        yield "Suppressed rows are not covered", f"Rows may have been suppressed, and no guarantee is about these: {which}."


def warnings(manifest: Manifest, earlier: Sequence[Manifest] = (), *, suppressed_values: int = 0, named: float | None = None) -> list[tuple[str, str]]:
    """What somebody must know before they hand the release out, as (headline, sentence).

    ``earlier`` are the manifests of the releases before it, ``suppressed_values`` is how many values were taken out of its rows, and ``named`` the share
    of persons whose row an adversary names who knows how the release was made, where that was measured.
    """
    found = []
    if manifest.not_for_publication:
        found.append(("Not for publication", "This release was made with a seed; whoever guesses it can undo the random choices. Publish without a seed."))
    found += _against_whom(manifest)
    if manifest.privacy_unit == "record":
        found.append(
            (
                "Per record, not per person",
                (
                    "A person whose value changed was published as a new record with a cover of its own. The promise covers each record, not the person over "
                    "all their records; for values that change, the global guarantee is the right promise."
                ),
            )
        )
    if manifest.method.get("remember") is False:
        found.append(
            (
                "Those who return are not covered",
                (
                    "This series forgets who left, and does not cover those who return, nor those in whose groups they stood. Set remember = true unless you "
                    "are comparing with the paper."
                ),
            )
        )
    if any(g.get("balancing") == "paper" for g in manifest.guarantees):
        found.append(
            (
                "Only against those who ignore the method",
                (
                    "Places of missing values were filled with new rows where these could be spared. Whoever knows the method sees from a counterfeit "
                    'which value was short, and links some persons to their value with more than is promised. Set balancing = "exact" unless you are comparing with the paper.'
                ),
            )
        )
    if manifest.method.get("name") == "mondrian" or manifest.form in _VISIBLE:
        found.append(
            (
                "One release at a time",
                "The promise is about this release alone. Several releases of a changing table can be intersected; use m-invariance for a series.",
            )
        )
    if manifest.form in _VISIBLE:
        found.append(_VISIBLE[manifest.form])
    for guarantee in manifest.guarantees:
        if guarantee.get("name") == _COVER:
            found += _not_of_mutual_cover(guarantee, None if "informed" in manifest.method.get("bounds", {}) else named)
        if guarantee.get("name") == privacy.NAME:
            found += privacy.limits(guarantee, rows=manifest.rows)
        if guarantee.get("name") == "global guarantee":
            found += _of_global_guarantee(guarantee, registered=any(m.registered for m in [*earlier, manifest]))
    if suppressed_values and any(a.role == "sensitive" and a.type != "set" for a in manifest.attributes):
        found.append(
            (
                "A missing value tells something",
                "Protected values were taken out of some rows. A row without a value may be one of these, and is one where the source has a value in every row.",
            )
        )
    return found


def _not_of_mutual_cover(guarantee: Mapping[str, Any], named: float | None) -> Iterator[tuple[str, str]]:
    """What mutual cover leaves out (docs/explanation/mutual-cover.md); ``named``: the share of rows that are recognised, where no bound of the plan allows it."""
    if named is not None and named > _delta(guarantee):
        yield (
            "Rows can be recognised",
            (
                f"Whoever knows somebody's quasi-identifiers, and how this release was made, names the right row for {percent(named)} of the persons. Delta does "
                "not bound this: it bounds how much of one value may stem from one person. Where it is too much, bound it by [method.bounds], or lower delta."
            ),
        )
    if guarantee.get("unchanged") == "paper":
        yield (
            "What is published is not what the tables say",
            (
                "Rows that came out unchanged were changed once more, in the paper's way, outside of the tables that the promise is about. Some published values may "
                'stem from one person almost for sure. Set unchanged = "coupled" unless you are comparing with the paper.'
            ),
        )


def _of_global_guarantee(guarantee: Mapping[str, Any], *, registered: bool) -> Iterator[tuple[str, str]]:
    """What the global guarantee leaves out (docs/explanation/known-limits.md)."""
    if registered:
        yield (
            "Only against those who do not know who is in the table",
            (
                "Registered persons without a row count as members of groups. Whoever knows that they are absent knows that only the rows of a group are left, "
                "and may link its members to a value with more than is promised."
            ),
        )
    if guarantee.get("protected") != "all" or guarantee.get("unprotected"):
        yield (
            "Unprotected values are promised nothing",
            "All rows of a group may hold the same unprotected value, which then tells it of everybody in the group.",
        )
    lasting = (
        "Values that stay are named as permanent, and counterfeits stand for absent members of their groups: "
        "the promise does not hold against somebody who can tell one from a real row."
        if guarantee.get("permanent")
        else "No value is named as permanent: one that stays with a person, such as a chronic disease, is not covered."
    )
    yield "For values that come and go", f"What a person has in one release is taken to be independent of what they have in the next. {lasting}"
