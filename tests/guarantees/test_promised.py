# SPDX-License-Identifier: Apache-2.0
"""What every guarantee says of itself, word for word: the promise, what it does not cover, and what
is no breach. People sign these sentences, so that none changes unseen.

``promised.txt`` holds them; after a change that is meant, and read, write it anew with
``(HERE / "promised.txt").write_text(said())``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from phalanx.guarantees.registry import OURS, from_parameters
from phalanx.release.manifest import Manifest

HERE = Path(__file__).parent
PROMISES: list[dict[str, Any]] = [
    {"name": "k-anonymity", "k": 1},
    {"name": "k-anonymity", "k": 3},
    {"name": "frequency-l-diversity", "l": 1},
    {"name": "frequency-l-diversity", "l": "5/2"},
    {"name": "distinct-l-diversity", "l": 1},
    {"name": "distinct-l-diversity", "l": 3},
    {"name": "entropy-l-diversity", "l": 1},
    {"name": "entropy-l-diversity", "l": "5/2"},
    {"name": "recursive-l-diversity", "c": 2, "l": 1},
    {"name": "recursive-l-diversity", "c": "5/2", "l": 3},
    {"name": "t-closeness", "t": 1, "distance": "equal"},
    {"name": "t-closeness", "t": "1/5", "distance": "equal"},
    {"name": "t-closeness", "t": "1/5", "distance": "ordered"},
    {"name": "t-closeness", "t": "1/5", "distance": "hierarchical"},
    {"name": "household-k-anonymity", "k": 3},
    {"name": "household-l-diversity", "l": "5/2"},
    {"name": "m-uniqueness", "m": 1},
    {"name": "m-uniqueness", "m": 3},
    {"name": "m-invariance", "m": 1},
    {"name": "m-invariance", "m": 3},
    {"name": "m-invariance", "m": 3, "balancing": "paper"},
    {"name": "m-invariance-consecutive", "m": 3},
    {"name": "global-guarantee", "l": "5/2", "protected": "all"},
    {"name": "global-guarantee", "l": 3, "protected": ["flu"]},
    {"name": "global-guarantee", "l": 3, "protected": "all", "unprotected": ["cold"]},
    {"name": "global-guarantee", "l": 3, "protected": "all", "permanent": ["hiv", "aids"]},
    {"name": "l-diverse-slicing", "l": 1},
    {"name": "l-diverse-slicing", "l": "5/2"},
    {"name": "l-diverse-slicing-counted", "l": 3},
    {"name": "distinct-l-diverse-slicing", "l": 3},
    {"name": "recursive-l-diverse-slicing", "c": 2, "l": 3},
    {"name": "t-close-slicing", "t": "1/5"},
    {"name": "anatomy-l-diversity", "l": 1},
    {"name": "anatomy-l-diversity", "l": 3},
    {"name": "mutual-cover", "delta": "1"},
    {"name": "mutual-cover", "delta": "1/6"},
    {"name": "mutual-cover", "delta": "1/6", "changes": 2},
    {"name": "differential-privacy", "epsilon": 1, "delta": "1e-6", "k": 30, "beta": "1/2", "accounting": "tight"},
    {"name": "differential-privacy", "epsilon": "1/2", "delta": "0.1", "k": 3, "beta": "1/20", "accounting": "theorem"},
    {"name": "differential-privacy", "epsilon": 2, "delta": "1e-6", "k": 30, "beta": "1/2", "accounting": "tight", "epsilon_scheme": 1, "budget": {"epsilon": 4, "delta": "1e-5"}},
]  # fmt: skip
PLAIN: dict[str, Any] = {
    "series": "s", "number": 2, "form": "generalized", "method": {"name": "any"}, "guarantees": [],
    "attributes": [], "rows": 1000, "groups": 9, "counterfeits": 0, "boxes": "tight", "files": [],
}  # fmt: skip


SITUATIONS: dict[str, Any] = {
    "alone": ([{}], None),
    "with registered persons": ([{"registered": 3}], None),
    "with registered persons before": ([{}, {"registered": 3}], None),
    "of one row": ([{"rows": 1}], None),
    "whose rows are found": ([{}], 0.25),
    "whose rows are seldom found": ([{}], 0.1),
    "whose plan bounds that": ([{"method": {"bounds": {"informed": 0.3}}}], 0.25),
}
"""Releases, the newest first, by what differs from a plain one; and the share of rows that is found."""


def lines(public: dict[str, Any]) -> Iterator[str]:
    """What one of them says."""
    guarantee = from_parameters(public)
    yield f"== {guarantee.parameters()}"
    hides = ", ".join(getattr(guarantee, "hides", ())) or "nothing by itself"
    over = "all releases" if getattr(guarantee, "over_series", False) else "one release"
    yield f"of {', '.join(guarantee.forms)}; hides {hides}; over {over}"
    sentences = dict.fromkeys(guarantee.in_words(sensitive=given) for given in (True, False))
    yield from ("promise: " + sentence for sentence in sentences)
    told: dict[str, list[str]] = {}
    for situation, (changes, share) in SITUATIONS.items():
        newest, *earlier = (Manifest(**PLAIN | change) for change in changes)
        for title, text in getattr(guarantee, "limits", lambda *_, **__: ())(
            newest, earlier, reidentified=share
        ):
            told.setdefault(f"{title}: {text}", []).append(situation)
    yield from (f"limit of a release {', '.join(those)}: {text}" for text, those in told.items())
    if hasattr(guarantee, "no_breach"):
        for unit in ("person", "record"):
            why = guarantee.no_breach(public, Manifest(**PLAIN, privacy_unit=unit))
            yield f"no breach, per {unit}: {why or 'is one'}"


def said() -> str:
    """All of them."""
    return "\n".join(line for public in PROMISES for line in lines(public)) + "\n"


def test_every_sentence() -> None:
    """As it was read and agreed to."""
    assert said() == (HERE / "promised.txt").read_text()


def test_every_guarantee_is_there() -> None:
    """Whatever can stand in a manifest of ours."""
    assert {public["name"] for public in PROMISES} == set(OURS)
