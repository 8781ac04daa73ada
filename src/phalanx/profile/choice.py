# SPDX-License-Identifier: Apache-2.0
"""Which method fits, by what becomes of a table: three answers that its counts cannot give."""

from typing import Final

from phalanx.profile.columns import ColumnProfile
from phalanx.profile.quoting import quoted
from phalanx.profile.sensitive import tells_apart
from phalanx.profile.use import Changes, Receiver, Use

_MOST_L = 5
"""A proposal does not ask that a value be hidden among more; the steward may."""
_CONTINUOUS = 50
"""A number of more different values is measured, and not counted off."""


BY_COUNTS: Final = ("# the most frequent value of ", "# no wave allows more than ")
"""So begins what is told beside a figure of how often values occur."""


_ROOM = 0.9
"""So near a bound a value leaves hardly any choice of groups."""


_OFTEN = 0.1
"""A value that changes for more than this part of the persons who recur does not stay true."""


_HIDDEN_AMONG: Final = {Receiver.internal: 3, Receiver.partner: 5, Receiver.public: 12}
"""Of so many persons each is one: chances of 0.33, 0.2 and 0.09, the usual thresholds; the last is
that of the EMA's policy 0070 for what is published for the public.
"""


def likely_changes(by_role: dict[str, list[ColumnProfile]]) -> Changes:
    """What stands where it is not said whether the table changes."""
    followed = by_role["identifier"] and by_role["sensitive"]
    if not followed or (sensitive := by_role["sensitive"][0]).type == "set":
        return Changes.no
    return Changes.values if (sensitive.changing or 0) > _OFTEN else Changes.persons


def weighs(by_role: dict[str, list[ColumnProfile]], use: Use) -> bool:
    """Whether the method that is proposed weighs rows."""
    return 'name = "mondrian"' in method_lines(by_role, use)


def method_lines(by_role: dict[str, list[ColumnProfile]], use: Use) -> list[str]:
    """The lines of ``[method]``, with the reasons as comments; no value of the table.

    Safety goes before looks: a table that changes is followed, though in intervals, and what
    the public receives is not linked to any person, though it looks less like the original.
    """
    sensitive = next(iter(by_role["sensitive"]), None)
    k = _HIDDEN_AMONG[use.receiver]
    each = "persons" if by_role["identifier"] else "rows, each taken for a person,"
    risk = f"k = {k}  # of so many {each} each is one; {use.receiver} receives it"
    changes = use.changes or likely_changes(by_role)
    if changes is not Changes.no:
        if sensitive is not None and by_role["identifier"] and sensitive.largest_m >= 2:
            return _followed(sensitive, changes, use, k, risk)
        why = (
            "without an identifier no person can be recognised when they return."
            if not by_role["identifier"]
            else "no attribute was recognised as sensitive."
            if sensitive is None
            else "some value is in more than half of the rows, and cannot be covered."
        )
        return [
            "# It changes, and this protects one release by itself only:",
            f"# {why}",
            *_once(sensitive, k, risk),
        ]
    if use.looks_original:
        return _as_original(sensitive, use.receiver, k, risk)
    return [
        "# Published once: a second release of a table that changes may expose people together.",
        *_once(sensitive, k, risk),
    ]


def _followed(p: ColumnProfile, changes: Changes, use: Use, k: int, risk: str) -> list[str]:
    looks = (
        "# It must look like the original, and no method that follows a table does: this",
        "# publishes intervals; `phalanx draw` makes tables of the original's columns of them.",
    )
    lines = [*_measured(p), *(looks if use.looks_original else ())]
    if changes is Changes.persons and p.type != "set":
        m = min(p.largest_m, k)
        fewer = (
            f"# A person is one of {m}, and not of {k}: the most frequent value allows no larger m.",
        )
        return [
            *lines,
            "# It changes, and what is sensitive stays true of a person: over all releases together",
            f"# no person is linked to a value with more than 1/m; {use.receiver} receives it.",
            *(fewer if m < k else ()),
            'name = "m-invariance"',
            f"m = {m}  {_share(p)}",
            *_changed(p),
        ]
    several = "a person has a set of values" if p.type == "set" else "values come and go"
    return [
        *lines,
        f"# It changes, and {several}: no person is ever linked to one with more than 1/l.",
        "# List under permanent what stays true of a person.",
        'name = "global-guarantee"',
        f"l = {max(2, min(p.largest_m // 2, k, _MOST_L))}",
        risk,
    ]


def _once(sensitive: ColumnProfile | None, k: int, risk: str) -> list[str]:
    name = 'name = "mondrian"'
    if sensitive is None:
        return [
            "# No attribute was recognised as sensitive: everyone is hidden among k,",
            "# and no value is protected.",
            name,
            risk,
        ]
    if sensitive.type == "set":
        return [
            "# Everyone is hidden among k, and no value is protected; for that, where persons have",
            "# an identifier, use global-guarantee (init --changes values).",
            name,
            risk,
        ]
    l = _roomy(sensitive, min(sensitive.largest_m, k, _MOST_L))
    return [*_measured(sensitive), name, risk, f"l = {l}  {_share(sensitive)}"]


def _as_original(
    sensitive: ColumnProfile | None, receiver: Receiver, k: int, risk: str
) -> list[str]:
    several = sensitive is not None and sensitive.type == "set"
    if receiver is not Receiver.public and not several:
        return [
            "# Published once, and it must look like the original: every quasi-identifier could be",
            "# another person's. What is sensitive is published with its person's row, and rows can",
            f"# be found, at most 1 in {k} by the strongest adversary; {receiver} receives it.",
            "# It needs phalanx[mutual-cover].",
            'name = "mutual-cover"',
            f'bounds = {{ omniscient = "1/{k}" }}',
            f'delta = "1/{k}"  # of one published value; it bounds no rate at which rows are found',
        ]
    if sensitive is None or several:
        return [
            "# It must look like the original, and no such method "
            + ("takes sets of values." if several else "is safe enough for the public."),
            "# This publishes intervals; `phalanx draw` makes tables of the original's columns of",
            "# them.",
            *_once(sensitive, k, risk),
        ]
    l = _roomy(sensitive, min(sensitive.largest_m, k, _MOST_L))
    return [
        *_measured(sensitive),
        "# Published once, and it must look like the original, in values and not in intervals:",
        "# where the public looks, rows of mutual-cover could be found. Here who is in the table",
        "# can be seen, and no person's sensitive value is told with more than 1/l.",
        'name = "slicing"',
        f"l = {l}  {_share(sensitive)}",
        "sensitive_column_size = 1  # alone, so that nothing is told to who knows the method",
        f"bucket_size = {k}",
    ]


def _roomy(p: ColumnProfile, l: int) -> int:
    """One less than ``l`` where the most frequent value is in nearly 1/l of the rows: hardly any
    group but the whole table would keep it.
    """
    return l - (l > 2 and l * p.most_frequent > _ROOM * p.applicable)


def _measured(p: ColumnProfile) -> list[str]:
    if p.type not in ("numeric", "date") or p.distinct <= _CONTINUOUS:
        return []
    return [
        f"# {quoted(p.name)} has {p.distinct} different values: near ones count as different,",
        "# so that m of them may hide nothing; make it coarser at the source.",
        *(
            ["# Most rows have their own: who knows a value finds the row."]
            if tells_apart(p)
            else []
        ),
    ]


def _changed(p: ColumnProfile) -> list[str]:
    """What becomes of the few whose value changes all the same, as a panel shows."""
    if not p.changing:
        return []
    why = f"{p.changing:.1%} of the persons who recur have another value later; else all is refused"
    return [f'changed = "suppress"  # {why}']


def _share(p: ColumnProfile) -> str:
    if p.of_waves is not None:
        return f"{BY_COUNTS[1]}{p.of_waves}, by its most frequent value"
    return (
        f"{BY_COUNTS[0]}{quoted(p.name)} has {p.most_frequent} of {p.applicable} rows,"
        f" which allows {p.largest_m} at most"
    )
