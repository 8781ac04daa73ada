"""Promises in plain words, from the manifest's list."""

from collections.abc import Mapping
from typing import Any, Final

_WORDS: Final = {
    "k-anonymity": "Nobody can be told apart from at least {others} others by the quasi-identifiers: every group has {k} persons or more (k-anonymity).",
    "frequency l-diversity": "In every group no sensitive value has more than 1/{l} of the rows (frequency l-diversity).",
    "distinct l-diversity": "Every group has at least {l} different sensitive values (distinct l-diversity).",
    "entropy l-diversity": "In every group the sensitive values are as mixed as {l} equally frequent ones, measured by entropy (entropy l-diversity).",
    "recursive (c,l)-diversity": "In every group the most frequent sensitive value is less than {c} times as frequent as the {l}-th and rarer ones together (recursive (c,l)-diversity).",
    "t-closeness": "In every group the sensitive values are distributed as in the whole table, up to a distance of {t} ({distance} distance; t-closeness).",
    "m-uniqueness": "Every group has at least {m} rows, all with different sensitive values (m-uniqueness).",
    "m-invariance": (
        "Over all releases of this series, nobody's sensitive value is linked to them with more than 1/{m}, as long as the value persists: every group has at "
        "least {m} different values, and whoever is published again, also after a gap, is published among the same values (m-invariance)."
    ),
    "m-invariance (consecutive releases)": (
        "From one release to the next, nobody's sensitive value is linked to them with more than 1/{m}, as long as the value persists. "
        "Whoever leaves and returns is not covered (m-invariance as in the paper, which forgets)."
    ),
}


def in_words(guarantee: Mapping[str, Any]) -> str:
    """One promise as a sentence; its name and parameters where no sentence is known.

    >>> in_words({"name": "distinct l-diversity", "l": 3})
    'Every group has at least 3 different sensitive values (distinct l-diversity).'
    """
    name = str(guarantee.get("name"))
    parameters = {key: value for key, value in guarantee.items() if key != "name"}
    if isinstance(k := parameters.get("k"), int):
        parameters["others"] = k - 1
    try:
        return _WORDS[name].format(**parameters)
    except KeyError:
        return f"{name}: " + ", ".join(f"{key} = {value}" for key, value in parameters.items())


def warnings(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What somebody must know before they hand the release out, as (headline, sentence)."""
    found = []
    if manifest["not_for_publication"]:
        found.append(("Not for publication", "This release was made with a seed; whoever guesses it can undo the random choices. Publish without a seed."))
    if manifest["per"] == "record":
        found.append(
            (
                "Per record, not per person",
                (
                    "A person whose value changed was published as a new record with a cover of its own. The promise covers each record, not the person over "
                    "all their records; for values that change, the global guarantee is the right promise."
                ),
            )
        )
    if manifest["method"].get("remember") is False:
        found.append(("Those who return are not covered", "This series forgets who left. Set remember = true unless you are comparing with the paper."))
    if manifest["method"].get("name") == "mondrian":
        found.append(
            (
                "One release at a time",
                "The promise is about this release alone. Several releases of a changing table can be intersected; use m-invariance for a series.",
            )
        )
    return found
