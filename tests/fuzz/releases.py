# SPDX-License-Identifier: Apache-2.0
"""Release folders whose manifests and tables somebody changed, with the digests and the chain made
anew, as a middleman can.
"""

import contextlib
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import polars as pl

from fuzz import scene
from fuzz.damage import NUMBERS, TEXTS, any_json, scalar, spoiled
from phalanx.errors import PhalanxError
from phalanx.release.manifest import Manifest

ADVERSARIES = [
    "all", "intersection", "intersection-by-person", "history", "learning", "composition", "posterior", "posterior-learning", "downcoding", "minimality", "growth", "counterfeits",
    "membership", "extremes", "singling-out", "linkage", "informed", "omniscient",
]  # fmt: skip


def release(fate: random.Random) -> list[str]:
    """One or two releases of which some were changed, and who reads them."""
    series = fate.choice([*scene.METHODS, "ward", "ward"])
    folders = [Path(f"out/{series}-{n}") for n in ((1, 2) if series == "ward" else (1,))]
    bend(folders, fate)
    return _asked(series, [str(folder) for folder in folders], fate)


def bend(folders: list[Path], fate: random.Random) -> None:
    """Change some of the releases of a series, and make their digests and chain anew."""
    before = None
    for at, folder in enumerate(folders):
        changes = fate.choice([1, 1, 2]) if at == len(folders) - 1 or fate.random() < 0.5 else 0
        manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        if at:
            manifest["previous"] = before
        for _ in range(changes):
            change = fate.choice([_change_manifest, _change_manifest, _change_table])
            with contextlib.suppress(pl.exceptions.PolarsError, UnicodeDecodeError):  # no text now
                change(folder, manifest, fate)
        before = _written(folder, manifest, fate)


def _asked(series: str, folders: list[str], fate: random.Random) -> list[str]:
    """Who reads them."""
    originals = [word for n in range(len(folders)) for word in ("--original", f"t{n + 1}.csv")]
    ledger = ["--ledger", scene.LEDGER] if fate.random() < 0.4 else []
    match fate.randrange(6):
        case 0 | 1:
            return ["verify", *folders, *ledger]
        case 2:
            return ["verify", *folders, *ledger, *originals, "--identifier", "who"]
        case 3:
            return ["publish", f"{series}.toml", "--source", f"t{len(folders) + 1}.csv"]
        case 4:
            return ["series", "reconcile", series, "--ledger", scene.LEDGER, *folders]
        case _:
            return attack(fate.choice(ADVERSARIES), folders, fate)


def attack(name: str, folders: list[str], fate: random.Random) -> list[str]:
    """An adversary's command with all that it needs."""
    several = name in {
        "all",
        "intersection",
        "intersection-by-person",
        "history",
        "learning",
        "composition",
        "growth",
        "counterfeits",
    }
    chosen = folders if several else folders[-1:]
    first = 1 if several else len(folders)
    originals = (
        []
        if name == "history"
        else [word for n in range(len(chosen)) for word in ("--original", f"t{first + n}.csv")]
    )
    identifier = [] if name in {"history", "singling-out"} else ["--identifier", "who"]
    ledger = (
        ["--ledger", scene.LEDGER]
        if name in {"history", "counterfeits", "intersection-by-person"}
        or (identifier and name not in {"learning", "composition"})
        else []
    )
    beside = (
        ["--beside", "out/mondrian-1", "--beside-original", "t1.csv"]
        if name == "composition"
        else []
    )
    return [
        "attack",
        name,
        *chosen,
        *originals,
        *identifier,
        *ledger,
        *beside,
        *(["--json"] if fate.random() < 0.2 else []),
    ]


def _leaves(said: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a manifest."""
    inner = (
        said.items()
        if isinstance(said, dict)
        else enumerate(said)
        if isinstance(said, list)
        else ()
    )
    return [path] * bool(path) + [
        leaf for key, value in inner for leaf in _leaves(value, (*path, key))
    ]


def _change_manifest(_: Path, manifest: dict[str, Any], fate: random.Random) -> None:
    """One field of the manifest at an extreme, gone, doubled, or of another type."""
    *way, last = fate.choice(_leaves(manifest))
    place: Any = manifest
    for key in way:
        place = place[key]
    match fate.randrange(7):
        case 0 | 1 if isinstance(place[last], int) and not isinstance(place[last], bool):
            place[last] = fate.choice([n for n in NUMBERS if isinstance(n, int)])
        case 2 if isinstance(place[last], str):
            place[last] = fate.choice([*TEXTS, "1/0", "0", "1", "nan", "data.csv"])
        case 3:
            del place[last]
        case 4 if isinstance(place, list):
            place.append(place[last])
        case 4 if isinstance(place, dict):
            place[fate.choice(TEXTS)] = scalar(fate)
        case 5:
            place[last] = fate.choice(NUMBERS)
        case _:
            place[last] = any_json(fate)


def _change_table(folder: Path, manifest: dict[str, Any], fate: random.Random) -> None:
    """A table with other cells, columns or types, or other bytes."""
    file = fate.choice(
        sorted(path for path in folder.iterdir() if path.suffix in {".parquet", ".csv"})
    )
    if fate.random() < 0.3:
        file.write_bytes(spoiled(file.read_bytes(), fate))
        return
    if file.suffix == ".csv":
        cells = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()]
        row = fate.randrange(len(cells))
        cells[row][fate.randrange(len(cells[row]))] = str(scalar(fate))
        file.write_text("\n".join(map(",".join, cells)) + "\n", encoding="utf-8")
        file.with_suffix(".parquet").unlink(missing_ok=True)
        manifest["files"] = (
            [each for each in manifest.get("files", []) if not str(each).count(".parquet")]
            if isinstance(manifest.get("files"), list)
            else []
        )
        return
    table = pl.read_parquet(file)
    name = fate.choice(table.columns)
    match fate.randrange(9):
        case 0:
            table = table.rename(
                {name: fate.choice([text for text in TEXTS if text not in table.columns])}
            )
        case 1:
            table = table.drop(name)
        case 2:
            table = table.head(fate.choice([0, 1, table.height - 1]))
        case 3:
            table = pl.concat([table, table])
        case 4:
            kind = fate.choice(
                [
                    pl.String,
                    pl.Float64,
                    pl.Int8,
                    pl.Int128,
                    pl.UInt64,
                    pl.Boolean,
                    pl.Binary,
                    pl.Categorical,
                    pl.Date,
                    pl.List(pl.Int8),
                    pl.Null,
                    pl.Decimal(20, 2),
                    pl.Datetime,
                ]
            )
            series = pl.Series(name, [None] * table.height, dtype=kind)
            table = table.with_columns(
                table[name].cast(kind, strict=False)
                if fate.random() < 0.7 and kind not in (pl.Null, pl.Binary)
                else series
            )
        case 5:
            table = table.with_columns(pl.Series(fate.choice(TEXTS), [1] * table.height))
        case 6:
            table = table.with_columns(
                pl.Series(name, [None] * table.height, dtype=table[name].dtype)
            )
        case _:
            values, at = table[name].to_list(), fate.randrange(max(1, table.height))
            if values:
                values[at] = fate.choice(
                    [None, fate.choice(NUMBERS), fate.choice(TEXTS), values[-1 - at]]
                )
            try:
                table = table.with_columns(
                    pl.Series(
                        name,
                        values,
                        dtype=table[name].dtype if fate.random() < 0.7 else None,
                        strict=False,
                    )
                )
            except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
                return
    table.write_parquet(file, compression="zstd", statistics=False)
    other = file.with_suffix(".csv")
    other.unlink(missing_ok=True)
    if isinstance(manifest.get("files"), list):
        manifest["files"] = [each for each in manifest["files"] if not str(each).count(".csv")]


def _written(folder: Path, manifest: dict[str, Any], fate: random.Random) -> str:
    """Write the manifest with the digests of the files as they are now, in its canonical form where
    it has one; its own digest.
    """
    for file in manifest["files"] if isinstance(manifest.get("files"), list) else []:
        if (
            isinstance(file, dict)
            and isinstance(file.get("name"), str)
            and "\0" not in file["name"]
            and len(file["name"]) < 200
            and (folder / file["name"]).is_file()
            and fate.random() < 0.98
        ):
            file["sha256"] = hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()
    content = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    with contextlib.suppress(PhalanxError, ValueError, OverflowError, RecursionError):
        content = Manifest.from_bytes(content, folder).to_bytes()
    if fate.random() < 0.02:
        content = spoiled(content, fate)
    (folder / "release.json").write_bytes(content)
    return hashlib.sha256(content).hexdigest()
