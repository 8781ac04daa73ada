# SPDX-License-Identifier: Apache-2.0
"""The plan that ``phalanx init`` proposes: commented, valid, and without a single value of the
table.
"""

import json
import re
from collections.abc import Iterable, Sequence

from phalanx.errors import SourceError
from phalanx.profile.columns import ColumnProfile

_CONTINUOUS = 50
"""A number of more different values is measured, and not counted off."""
_MOST_M = 5
"""A proposal does not ask for more cover than this; the steward may."""


def propose_plan(
    source_name: str,
    profiles: Sequence[ColumnProfile],
    series_name: str,
    *,
    query: str | None = None,
) -> str:
    """A plan as TOML: every column under its likely role, with its counts and the reason beside it.

    ``source_name`` is a path, or a database's url with its ``query``. The method is m-invariance
    with the largest m up to 5 that the sensitive attribute's frequencies allow; where there is no
    identifier or no such attribute, Mondrian. Raises SourceError where no column is left to be a
    quasi-identifier.
    """
    by_role = {
        role: [p for p in profiles if p.role == role]
        for role in ("identifier", "quasi", "sensitive", "drop")
    }
    if (
        not by_role["quasi"] and by_role["sensitive"] and by_role["sensitive"][0].type != "set"
    ):  # a table of one attribute still has something that others may know
        by_role["quasi"], by_role["sensitive"] = by_role["sensitive"], []
    if not by_role["quasi"]:
        raise SourceError(
            "no column of the table could be a quasi-identifier; each looks like an identifier or"
            " free text, so write the plan by hand."
        )
    lines = [
        (
            f"# Proposed from {profiles[0].rows} rows. Read every role before you publish: what is"
            " not known to be harmless stands under quasi or drop."
        ),
        "[series]",
        f"name = {quoted(slug(series_name))}",
        "",
        "[source]",
        *(
            [f"url = {quoted(source_name)}", f"query = {quoted(query or 'select …')}"]
            if "://" in source_name
            else [f"path = {quoted(source_name)}"]
        ),
        "",
        "[schema]",
        "# Who a row is about: never published, remembered as a keyed hash only.",
        *(_single("identifier", by_role["identifier"])),
        "# What somebody may know about a person: published as intervals.",
        *_listed("quasi", by_role["quasi"]),
        "# What nobody may be linked with.",
        *(_single("sensitive", by_role["sensitive"])),
        (
            "# Published as they are; move a column here only if nobody can know or infer anything"
            " from it."
        ),
        "keep = []",
        "# Left out.",
        *_listed("drop", by_role["drop"]),
    ]
    published = [*by_role["quasi"], *by_role["sensitive"]]
    if gaps := [p for p in published if p.missing]:
        lines += [
            '# A missing value is refused unless it counts as a "value" of its own.',
            f"missing = {_inline((p.name, 'value') for p in gaps)}",
        ]
    vouched = [p for p in by_role["quasi"] if p.near_unique and not p.prefix]
    of_sets = [p for p in by_role["sensitive"] if p.type == "set"]
    if vouched:
        lines += ["# A declared type vouches for a column in which nearly every row differs."]
    if of_sets:
        lines += ["# A person has a set of values: a list, or a text with ';' between them."]
    if vouched or of_sets:
        lines += [f"types = {_inline((p.name, p.type) for p in vouched + of_sets)}"]
    lines += _hierarchies(by_role["quasi"])
    lines += [
        "",
        "[method]",
        *_method(by_role),
        "",
        "[publish]",
        'to = "releases/"',
        'formats = ["parquet", "csv"]',
    ]
    if source_name.startswith("sqlite:") and source_name.endswith(f"/{slug(series_name)}.db"):
        lines += [
            "",
            "[ledger]",
            "# Not the source, which would have this name.",
            f"url = {quoted(f'sqlite:///{slug(series_name)}-ledger.db')}",
        ]
    return "\n".join(lines) + "\n"


def _hierarchies(quasi: Sequence[ColumnProfile]) -> list[str]:
    """Prefixes of codes, and words that have an order: without it, a month's interval would follow
    the alphabet.
    """
    declared = [f"{quoted(p.name)} = {{ prefix = {list(p.prefix)} }}" for p in quasi if p.prefix]
    for p in quasi:
        if p.scale:
            leaves = ", ".join(quoted(word) for word in p.scale)
            declared.append(
                f'{quoted(p.name)} = {{ tree = {{ "any" = [{leaves}] }} }}  # in this order, not'
                " the alphabet's"
            )
    return ["", "[schema.hierarchies]", *declared] if declared else []


def quoted(text: str) -> str:
    r"""A TOML basic string; control characters are escaped, so that it may stand in a comment as
    well.

    >>> print(quoted('say "hi"'))
    "say \"hi\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def slug(name: str) -> str:
    """A name for a series: letters, digits, '-', '_' and '.', at most 100."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100] or "series"


def _inline(pairs: Iterable[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f"{quoted(key)} = {quoted(value)}" for key, value in pairs) + " }"


def _seen(p: ColumnProfile) -> str:
    missing = f", {p.missing} missing" if p.missing else ""
    return (
        f"# {p.type}, {p.distinct} distinct in {p.rows} rows ({p.uniqueness:.1%}){missing};"
        f" {p.reason}"
    )


def _single(role: str, columns: Sequence[ColumnProfile]) -> list[str]:
    return [f"{role} = {quoted(p.name)}  {_seen(p)}" for p in columns] or [
        f'# {role} = "…"  # none was recognised'
    ]


def _listed(role: str, columns: Sequence[ColumnProfile]) -> list[str]:
    return (
        [f"{role} = [", *(f"    {quoted(p.name)},  {_seen(p)}" for p in columns), "]"]
        if columns
        else [f"{role} = []"]
    )


def _method(by_role: dict[str, list[ColumnProfile]]) -> list[str]:
    if not by_role["sensitive"]:
        return [
            (
                "# No attribute was recognised as sensitive: everyone is hidden among k, and no"
                " value is protected."
            ),
            'name = "mondrian"',
            "k = 5",
        ]
    p = by_role["sensitive"][0]
    if p.type == "set":
        why = (
            "# Everyone is hidden among k, and no value is protected; for that, where persons have"
            " an identifier, use global-guarantee with l = 2."
        )
        return [why, 'name = "mondrian"', "k = 5"]
    m = min(p.largest_m, _MOST_M)
    if p.type in ("numeric", "date") and p.distinct > _CONTINUOUS:
        lines = [
            (
                f"# {quoted(p.name)} has {p.distinct} different values: near ones count as different,"
                " so that m of them may hide nothing; make it coarser at the source."
            )
        ]
    else:
        lines = []
    share = (
        f"# the most frequent value of {quoted(p.name)} has {p.most_frequent} of {p.rows} rows,"
        f" which allows {p.largest_m} at most"
    )
    if not by_role["identifier"]:
        why = (
            "# Without an identifier nobody can be recognised when they return, so this protects"
            " one release by itself."
        )
        return [*lines, why, 'name = "mondrian"', f"k = {m}", f"l = {m}  {share}"]
    return [*lines, 'name = "m-invariance"', f"m = {m}  {share}"]
