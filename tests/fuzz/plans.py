# SPDX-License-Identifier: Apache-2.0
"""Plans: TOML that is bent, keys that nobody knows, values of the wrong type; and tables whose
columns are called and typed as no table should be.
"""

import dataclasses
import random
from pathlib import Path

from fuzz import scene
from fuzz.damage import NAMES, NUMBERS, TEXTS, any_json, scalar, spoiled, toml
from phalanx.methods.base import registered


def plan(fate: random.Random) -> list[str]:
    """A plan of some method, changed in one to three places."""
    series = fate.choice(list(scene.METHODS))
    lines = scene.plan(series).splitlines()
    for _ in range(fate.choice([1, 1, 2, 3])):
        _change(lines, series, fate)
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    if fate.random() < 0.1:
        content = spoiled(content, fate)
    Path("plan.toml").write_bytes(content)
    seed = ["--seed", str(fate.choice([1, 2, -1, 2**64, 2**63]))] if fate.random() < 0.1 else []
    return ["publish", "plan.toml", *seed, *(["--json"] if fate.random() < 0.2 else [])]


def _change(lines: list[str], series: str, fate: random.Random) -> None:
    """One change of the lines of a plan."""
    at = fate.randrange(len(lines))
    keys = [i for i, line in enumerate(lines) if " = " in line and not line.startswith("[")]
    method = next((i for i, line in enumerate(lines) if line == "[method]"), 0)
    match fate.randrange(11):
        case 0 | 1 | 2 if keys:
            at = fate.choice(keys)
            lines[at] = f"{lines[at].split(' = ')[0]} = {toml(any_json(fate), fate)}"
        case 3 | 4 | 5:
            fields = [
                field.name
                for field in dataclasses.fields(
                    registered()[scene.METHODS[series].split('"')[1]].load()
                )
            ]
            value = (
                {fate.choice(["age", "town", "ill", "*", "nobody"]): any_json(fate)}
                if fate.random() < 0.2
                else any_json(fate)
            )
            lines.insert(method + 1, f"{fate.choice(fields)} = {toml(value, fate)}")
        case 6:
            section = fate.choice(
                [
                    "series",
                    "source",
                    "source.registry",
                    "schema",
                    "schema.hierarchies",
                    "schema.types",
                    "method",
                    "publish",
                    "ledger",
                    "nobody",
                ]
            )
            key = fate.choice(
                [
                    "path",
                    "url",
                    "query",
                    "separator",
                    "decimal",
                    "encoding",
                    "name",
                    "to",
                    "formats",
                    "quasi",
                    "keep",
                    "missing",
                    "age",
                    "town",
                    fate.choice(TEXTS),
                ]
            )
            lines += [f"[{section}]", f"{toml(key, fate)} = {toml(any_json(fate), fate)}"]
        case 7:
            del lines[at]
        case 8:
            lines.insert(
                at,
                fate.choice(
                    [
                        *lines,
                        "[[method]]",
                        "[a.b.c]",
                        "a.b = 1",
                        "= 1",
                        "a = ",
                        'a = "',
                        "a = [1,",
                        "\0",
                        "a = 1 b = 2",
                    ]
                ),
            )
        case 9:
            deep = fate.choice([5, 100, 3000, 100_000])
            lines.insert(
                at,
                fate.choice(
                    [
                        "[" * deep + "]" * deep,
                        f"a = {'[' * deep}{']' * deep}",
                        f"a{'.a' * deep} = 1",
                        f"a = {'{a=' * min(deep, 3000)}1{'}' * min(deep, 3000)}",
                        f"a = {'9' * deep}",
                    ]
                ),
            )
        case _:
            quoted = [i for i, line in enumerate(lines) if '"' in line]
            if quoted:
                at = fate.choice(quoted)
                parts = lines[at].split('"')
                parts[fate.randrange(1, len(parts), 2)] = toml(fate.choice(TEXTS), fate)[1:-1]
                lines[at] = '"'.join(parts)


def columns(fate: random.Random) -> list[str]:
    """A table whose columns have strange names and types, and a plan that gives them roles."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ["who", "age", "town", "ill", "extra"]
    for i in range(len(names)):
        if fate.random() < 0.4:
            names[i] = fate.choice(
                [text for text in NAMES if text not in names] if fate.random() < 0.9 else names
            )
    rows = fate.choice([0, 1, 8, 40, 40, 40])
    arrays = [
        strange(fate, rows, i) if fate.random() < 0.4 else _plain(rows, i)
        for i in range(len(names))
    ]
    table = pa.Table.from_arrays(arrays, names=names)
    kind = fate.choice(["parquet", "arrow"])
    try:
        if kind == "parquet":
            pq.write_table(table, "strange.parquet")
        else:
            with pa.ipc.new_file("strange.arrow", table.schema) as file:
                file.write_table(table)
    except (pa.ArrowException, ValueError, OSError):
        return ["publish", "ward.toml", "--source", "t.arrow"]
    if fate.random() < 0.25:
        return ["init", f"strange.{kind}", "--to", "new.toml"]
    if fate.random() < 0.25:
        return [
            "verify",
            f"strange.{kind}",
            "--quasi",
            names[1],
            "--quasi",
            names[2],
            "--sensitive",
            names[3],
            "--k",
            "2",
            "--l",
            "2",
            "--t",
            "1/2",
        ]
    method = fate.choice(list(scene.METHODS))
    said = {"quasi": names[1:3], "keep": names[4:], "missing": fate.choice(["refuse", "value"])}
    roles = (
        said
        | ({"identifier": names[0]} if fate.random() < 0.9 else {"drop": names[:1]})
        | ({"sensitive": names[3]} if fate.random() < 0.9 else {})
    )
    types = {
        name: fate.choice(["numeric", "categorical", "date", "set"])
        for name in names
        if fate.random() < 0.2
    }
    text = f'[series]\nname = "strange"\n[source]\npath = "strange.{kind}"\n[schema]\n' + "".join(
        f"{key} = {toml(value, fate)}\n" for key, value in roles.items()
    )
    text += "".join(
        f"types.{toml(name, fate)} = {toml(type_, fate)}\n" for name, type_ in dict(types).items()
    )
    text += (
        f'[method]\n{scene.METHODS[method]}\n[publish]\nto = "out"\nformats = ["parquet",'
        ' "csv"]\n[ledger]\nurl = "sqlite:///strange.db"\n'
    )
    Path("plan.toml").write_text(text, encoding="utf-8", errors="replace")
    return ["publish", "plan.toml"]


def _plain(rows: int, column: int) -> object:
    import pyarrow as pa

    if column == 1:
        return pa.array([20 + i % 7 for i in range(rows)])
    return pa.array(
        [f"{scene.MARKER} {i if column == 0 else i % 4}" for i in range(rows)], pa.string()
    )


def strange(fate: random.Random, rows: int, column: int) -> object:
    """An array of a type that few expect; empty values among others."""
    import pyarrow as pa

    types = [
        pa.null(), pa.bool_(), pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(38, 10), pa.decimal256(70, 3), pa.date32(),
        pa.date64(),
        pa.time32("s"), pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("s", "Nowhere/X"), pa.duration("us"), pa.binary(), pa.large_string(),
        pa.string_view(),
        pa.binary_view(), pa.binary(4), pa.list_(pa.int64()), pa.list_(pa.string()), pa.list_(pa.list_(pa.int8())), pa.large_list(pa.string()), pa.list_(pa.int8(), 2),
        pa.struct({"a": pa.int64()}),
        pa.struct({}), pa.map_(pa.string(), pa.int64()), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()), pa.month_day_nano_interval(), pa.uuid(), pa.bool8(),
        pa.run_end_encoded(pa.int32(), pa.string()), pa.decimal128(5, 5), pa.list_(pa.float64()),
    ]  # fmt: skip
    wanted = fate.choice(types)
    missing = fate.choice([0, 0, 0.1, 1])
    base = [
        None if fate.random() < missing else fate.choice([i % 5, i, fate.choice(NUMBERS)])
        for i in range(rows)
    ]
    for values in (base, [None if v is None else [v, v] for v in base], [None if v is None else {"a": v} for v in base], [None if v is None else str(v) for v in base],
                   [None if v is None else [str(i % 4)] for i, v in enumerate(base)], [i % 100 if v is not None else None for i, v in enumerate(base)]):  # fmt: skip
        try:
            return pa.array(values, wanted)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            continue
    try:
        return pa.array([i % 5 for i in range(rows)]).cast(wanted)
    except (pa.ArrowException, TypeError, ValueError):
        return (
            pa.array([scalar(fate) if fate.random() < 0 else None] * rows)
            if column == 0
            else pa.nulls(rows)
        )
