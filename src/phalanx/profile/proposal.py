# SPDX-License-Identifier: Apache-2.0
"""The plan that ``phalanx init`` proposes: commented, valid, and without a single value of the
table.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from phalanx.data.sources.dialects import Dialect
from phalanx.errors import SourceError
from phalanx.profile.choice import method_lines, weighs
from phalanx.profile.columns import ColumnProfile, words
from phalanx.profile.dictionary import AGE
from phalanx.profile.households import proposed
from phalanx.profile.quoting import quoted
from phalanx.profile.use import Use


def propose_plan(
    source_name: str,
    profiles: Sequence[ColumnProfile],
    series_name: str,
    *,
    query: str | None = None,
    use: Use | None = None,
    dialect: Dialect | None = None,
    rows: int | None = None,
) -> str:
    """A plan as TOML: every column under its likely role, with its counts and the reason beside it.

    ``source_name`` is a path, or a database's url with its ``query``; of a CSV file the plan states
    the ``dialect``, so that nothing is guessed when it is read again; ``rows``: how many the
    table has, where no more than some were looked at. The method is chosen by
    ``use``; where nothing is said of it, it is m-invariance with the largest m up to 5 that the
    sensitive attribute's frequencies allow, and where there is no identifier or no such attribute,
    Mondrian. Raises SourceError where no column is left to be a quasi-identifier.
    """
    use = use or Use()
    by_role = roles_of(fitting(profiles, use))
    if not by_role["quasi"]:
        raise SourceError(
            "no column of the table could be a quasi-identifier; each looks like an identifier or"
            " free text, so write the plan by hand."
        )
    method = method_lines(by_role, use)
    together = proposed(by_role["drop"], tomllib.loads("\n".join(method)))
    lines = [
        (
            f"# Proposed from {looked_at(profiles[0].rows, rows)}. Read every role before you publish: what is"
            " not known to be harmless stands under quasi or drop."
        ),
        "[series]",
        f"name = {quoted(slug(series_name))}",
        "",
        "[source]",
        *(
            [f"url = {quoted(source_name)}", f"query = {quoted(query or 'select …')}"]
            if "://" in source_name
            else [f"path = {quoted(source_name)}", *_dialect(dialect or Dialect())]
        ),
        *(_single("wave", by_role["wave"]) if by_role["wave"] else ()),
        "",
        "[schema]",
        "# Who a row is about: never published, remembered as a keyed hash only.",
        *(_single("identifier", by_role["identifier"])),
        *_cluster(together),
        "# What an adversary may know about a person: published as intervals.",
        *_listed("quasi", by_role["quasi"]),
        "# What no person may be linked with.",
        *(_single("sensitive", by_role["sensitive"])),
        *_not_applicable(by_role["sensitive"]),
        *(
            [
                "# How many persons of the population a row stands for: a group shows its mean.",
                *_single("weight", by_role["weight"]),
            ]
            if by_role["weight"]
            else ()
        ),
        (
            "# Published as they are; move a column here only if no person can know or infer"
            " anything from it."
        ),
        "keep = []",
        "# Left out.",
        *_listed("drop", [p for p in by_role["drop"] if p is not together]),
    ]
    published = [*by_role["quasi"], *by_role["sensitive"]]
    if gaps := [p for p in published if p.missing]:
        lines += [
            '# A missing value is refused unless it counts as a "value" of its own.',
            f"missing = {_inline((p.name, 'value') for p in gaps)}",
        ]
    vouched = [p for p in by_role["quasi"] if p.near_unique and not p.prefix]
    vouched += [p for p in by_role["sensitive"] if p.near_unique and p.type == "numeric"]
    of_sets = [p for p in by_role["sensitive"] if p.type == "set"]
    if vouched:
        lines += ["# A declared type vouches for a column in which nearly every row differs."]
    if of_sets:
        lines += ["# A person has a set of values: a list, or a text with ';' between them."]
    if vouched or of_sets:
        lines += [f"types = {_inline((p.name, p.type) for p in vouched + of_sets)}"]
    lines += _hierarchies(by_role["quasi"])
    if any(p.type == "categorical" and not p.prefix and not p.scale for p in by_role["quasi"]):
        lines += [
            "# Words are in the order of the alphabet. Where they have none of their own, less is lost",
            '# with the most frequent first: [schema.hierarchies] word = { order = "frequency" }',
        ]
    lines += [
        "",
        "[method]",
        *method,
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


def _dialect(dialect: Dialect) -> list[str]:
    """What differs from how Phalanx writes a CSV itself."""
    why = {
        "separator": "stands between the names of the header",
        "decimal": "stands before the decimals of numbers",
        "encoding": "the file is not UTF-8; look whether its letters are right",
    }
    usual = Dialect()._asdict()
    return [
        f"{key} = {quoted(value)}  # {why[key]}"
        for key, value in dialect._asdict().items()
        if value != usual[key]
    ]


def fitting(profiles: Sequence[ColumnProfile], use: Use) -> list[ColumnProfile]:
    """The columns with roles that the proposed method takes: a weight is dropped by others than
    mondrian.
    """
    if weighs(roles_of(profiles), use):
        return list(profiles)
    return [replace(p, role="drop") if p.role == "weight" else p for p in profiles]


def roles_of(profiles: Sequence[ColumnProfile]) -> dict[str, list[ColumnProfile]]:
    """The columns of each role, as the plan has them."""
    return {
        role: [p for p in profiles if p.role == role]
        for role in ("identifier", "quasi", "sensitive", "weight", "drop", "wave")
    }


def _cluster(together: ColumnProfile | None) -> list[str]:
    """Who lives together, where the rows of a household are to count as one."""
    if together is None:
        return []
    return [
        "# Who lives together: never published; the rows of a household count as one.",
        *_single("cluster", [replace(together, reason="its name says so")]),
    ]


def _not_applicable(sensitive: Sequence[ColumnProfile]) -> list[str]:
    """What is said to be not applicable; what may be is proposed in a comment, since no guarantee
    covers such rows.
    """
    lines = []
    for p in sensitive:
        if p.not_applicable:
            values = ", ".join(
                quoted(v) if isinstance(v, str) else str(v) for v in p.not_applicable
            )
            lines += [
                f"# {p.inapplicable} row(s) in groups of their own: who they are must be public.",
                f"not_applicable = [{values}]",
            ]
        elif p.perhaps_not_applicable:
            values = ", ".join(quoted(v) for v in p.perhaps_not_applicable)
            lines += [
                f"# {p.inapplicable} row(s) may be of persons who have none.",
                "# If anyone may know who they are, and only then:",
                f"# not_applicable = [{values}]",
            ]
    return lines


def _hierarchies(quasi: Sequence[ColumnProfile]) -> list[str]:
    """Prefixes of codes, bands of ages, and words that have an order: without it, a month's interval
    would follow the alphabet.
    """
    declared = [f"{quoted(p.name)} = {{ prefix = {list(p.prefix)} }}" for p in quasi if p.prefix]
    declared += [
        f"{quoted(p.name)} = {{ bands = [5, 10, 20] }}"
        for p in quasi
        if p.type == "numeric" and words(p.name) & AGE
    ]
    for p in quasi:
        if p.scale:
            leaves = ", ".join(quoted(word) for word in p.scale)
            declared.append(
                f'{quoted(p.name)} = {{ tree = {{ "any" = [{leaves}] }} }}  # in this order, not'
                " the alphabet's"
            )
    return ["", "[schema.hierarchies]", *declared] if declared else []


def series_of(source: str) -> str:
    """The name that a source suggests for its series, which is published: of an address no more than
    the database, as there may be a password in the rest.

    >>> series_of("2024/ward a.csv"), series_of("postgresql://ann:secret@host/clinic?password=secret")
    ('ward-a', 'clinic')
    """
    if "://" not in source:
        return slug(Path(source).stem)
    _, slash, database = source.partition("://")[2].partition("?")[0].rpartition("/")
    return slug(Path(database).stem if slash and "@" not in database else "")


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


def looked_at(some: int, rows: int | None) -> str:
    """How many rows a profile is of, in words; ``rows``: how many the table has, if it is known.

    >>> looked_at(1000, 1000), looked_at(1000, 5000)
    ('1000 rows', '1000 of 5000 rows, at equal distances')
    """
    whole = rows is None or rows == some
    return f"{some} rows" if whole else f"{some} of {rows} rows, at equal distances"


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
