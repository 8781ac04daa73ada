# SPDX-License-Identifier: Apache-2.0
"""What is asked of a release by whoever has it: queries, pages, draws and losses."""

import random
from pathlib import Path

from fuzz import commands, scene
from fuzz.damage import NUMBERS, TEXTS
from fuzz.releases import bend

COLUMNS = ["age", "income", "town", "ill", "age_low", "group", "nobody", '"*"', "*", '""', "1"]
AGGREGATES = [
    "count(*)", "count({})", "sum({})", "avg({})", "mean({})", "max({})", "count(distinct {})", "sum(*)", "sum({} + 1)", "count(*), sum({})", "{}", "count()", "avg({}) as x", "sum(-{})",
    "count(*) filter (where {} > 1)", "sum(sum({}))",
]  # fmt: skip
CONDITIONS = [
    "{0} = {1}", "{0} <> {1}", "{0} < {1}", "{0} >= {1}", "{1} <= {0}", "{0} between {1} and {2}", "{0} in ({1}, {2})", "{0} is null", "{0} is not null", "{0} like {1}", "not {0} = {1}",
    "{0}", "{1}", "{0} = {0}", "{0} in ()", "{0} = (select 1)", "{0} + 1 = {1}", "{0} = -{1}", "{0} = date {1}", "{0} = cast({1} as int)", "abs({0}) = 1", "{0} is distinct from {1}",
    "{0} = null", "{0} = true", "{0} < interval '1 day'", "{0} similar to {1}", "({0}, {0}) = (1, 2)", "{0} = all (select 1)", "{0} = array[1]", "{0} = x'ff'", "{0} = $1", "{0} = ?",
]  # fmt: skip
TAILS = ["", "", "", "group by {}", "group by {}, {}", "group by 1", "group by all", "order by {}", "limit 1", "having count(*) > 1", ";", "; drop table t", "--", "/*", "union select 1",
         "from t", "group by rollup({})", "window w as ()", "qualify 1"]  # fmt: skip


def constant(fate: random.Random) -> str:
    """What a column is compared with."""
    if fate.random() < 0.5:
        return str(fate.choice([*NUMBERS, 25, 30]))
    text = fate.choice([*TEXTS, "town 1", "47%", "%", "2024-01-01"]).replace("\0", "")
    return fate.choice([text, "'" + text.replace("'", "''") + "'"])


def query(fate: random.Random) -> str:
    """A query that is odd, or nearly so."""
    column = lambda: fate.choice(COLUMNS)  # noqa: E731 - a word for each place
    condition = fate.choice(CONDITIONS).format(column(), constant(fate), constant(fate))
    for _ in range(fate.choice([0, 0, 0, 1, 3])):
        more = fate.choice(CONDITIONS).format(column(), constant(fate), constant(fate))
        condition = f"{condition} {fate.choice(['and', 'or', 'and not', ''])} {more}"
    match fate.randrange(25):
        case 0:
            condition = f"{'(' * 3000}{condition}{')' * 3000}"
        case 1:
            condition = f"{'not ' * 3000}{condition}"
        case 2:
            condition = " or ".join([condition] * 500)
        case 3:
            condition = f"age in ({', '.join(map(str, range(20_000)))})"
        case 4:
            condition = " and ".join(f"(age = {i} or income > {i})" for i in range(14))
        case 5:
            condition = "-" * 3000 + "1 = age"
    where = f"where {condition}" if fate.random() < 0.85 else condition
    aggregate = fate.choice(["count(*)", fate.choice(AGGREGATES).format(column())])
    return f"{aggregate} {where} {fate.choice(TAILS).format(column(), column())}"


def analyst(fate: random.Random) -> list[str]:
    """A query, a page, a draw or a loss, of a release that may be bent."""
    series = fate.choice(list(scene.METHODS))
    folders = [Path(f"out/{series}-{n}") for n in ((1, 2) if series == "ward" else (1,))]
    if fate.random() < 0.3:
        bend(folders, fate)
    newest = str(folders[-1])
    inside = ["--for", "internal", "--to", "page.html"]
    private = ["--original", f"t{len(folders)}.csv", "--identifier", "who"]
    odd = [commands.value(fate)] if fate.random() < 0.2 else []
    return fate.choice(
        [
            ["estimate", newest, query(fate)],
            ["estimate", newest, query(fate)],
            ["estimate", newest, query(fate), "--json"],
            ["estimate", newest, query(fate), "--suppressed", str(fate.choice(NUMBERS))],
            ["report", *map(str, folders), "--for", "external", "--to", "page.html", *odd],
            ["report", *map(str, folders), *inside, *odd],
            ["report", *map(str, folders), *inside, *private],
            ["report", *map(str, folders), *inside, *private, "--ledger", scene.LEDGER],
            ["report", newest, *inside, "--json", *private[:2]],
            ["draw", newest, "--to", fate.choice(["d.csv", "d.parquet", "d", "out", "/dev/full"])],
            ["measure", newest, "--original", f"t{len(folders)}.csv", *odd],
        ]
    )
