# SPDX-License-Identifier: Apache-2.0
"""SDNist's own figures of draws of every method on NIST's Massachusetts excerpt, beside other real
people and beside the reports that NIST published of the same table.

    PHALANX_DATA=FOLDER python experiments/nist/nist.py --excerpts FOLDER [--write] [--keep FOLDER]

Each plan below ``deid_data/`` is published once and one table is drawn from it, in the original's
columns, which SDNist judges: NIST's feature set "demographic-focused", of 2019. SDNist runs in an
environment of its own, which the first run makes, or by the Python that ``--sdnist`` names.
``--write`` puts the tables into the pages and the labels beside the plans, ``--keep`` makes an
entry for NIST's archive, tables included, and with ``--reports`` SDNist's whole reports as well.
What SDNist says of a table is kept there as soon as it says it, so that the same command goes on
where it was ended.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import phalanx as px

sys.path.append(str(Path(__file__).resolve().parents[1]))  # environments.py stands there

from environments import environment

HERE = Path(__file__).resolve().parent
PAGES = {HERE / "README.md": "all", HERE.parents[1] / "README.md": "few"}
FEATURES = (
    "AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET",
    "DEYE",
)  # fmt: skip
NEEDED = ("config.json", "data_dictionary.json", "mappings.json", "massachusetts/ma2019.json")
SAMPLES = (0.4, 0.1)
FEW = ("other people", "mondrian, k = 6", "m-invariance, m = 3", "anatomy, l = 3", "slicing, l = 3",
       "mutual-cover, delta = 1/6", "global-guarantee, l = 3", "safe-sampling, k = 10",
       "sdcMicro, k = 6", "SmartNoise MST, epsilon = 10")  # fmt: skip
HEADER = (
    "made by", "rows", "K-marginal", "as a sample of", "pMSE", "impossible: age", "housing",
    "unique matches",
)  # fmt: skip
COLUMNS = (
    "library name", "algorithm name", "algorithm type", "target dataset", "feature set name",
    "feature space size", "features list", "privacy category", "privacy label detail", "epsilon",
    "delta", "variant label", "variant label detail", "research papers", "data path",
    "labels path", "report path", "team", "submission number", "submission timestamp",
    "quasi identifiers subset", "deid data id",
)  # fmt: skip
"""Those of the index of NIST's archive, in its order; team, submission and time are left empty."""
PROMISES = {
    "mondrian": "k-anonymity, with l each value at most 1/l of a group (Mondrian)",
    "anatomy": "each sensitive value at most 1/l of a bucket (Anatomy)",
    "slicing": "each sensitive value at most 1/l over all matching buckets (Slicing)",
    "m-invariance": "nobody's value with more than 1/m over all releases; the first one",
    "global-guarantee": "nobody linked to a value with more than 1/l in any release; the first one",
    "mutual-cover": "delta-probability of each published quasi-identifier; sensitive values stay",
    "safe-sampling": "(epsilon, delta)-differential privacy by sampling and safe k-anonymization",
}


def people(folder: Path, year: int) -> pl.DataFrame:
    """The excerpt of a year as plans take it: rows numbered, age and education as numbers, where 0
    stands for the N of those too young to have any, all else as codes.
    """
    table = pl.read_csv(folder / f"nist_ma{year}.csv", infer_schema=False).select(FEATURES)
    education = pl.col("EDU").replace("N", "0")
    return table.with_columns(pl.col("AGEP").cast(int), education.cast(int)).with_row_index("row")


def as_nist(table: pl.DataFrame) -> pl.DataFrame:
    """A table in NIST's codes again. A number with a fraction was drawn from a cell of a grid, and
    is the whole number at which its part of the cell begins.
    """
    numbers = [
        pl.col(n).cast(pl.Float64).floor().cast(int).cast(pl.String) for n in ("AGEP", "EDU")
    ]
    return (
        table.with_columns(numbers).with_columns(pl.col("EDU").replace("0", "N")).select(FEATURES)
    )


def plans() -> list[Path]:
    """All plans, by method."""
    return sorted((HERE / "deid_data").glob("*/ma/*.toml"))


def named(plan: Path) -> str:
    """What a plan's draw is called in the table: the method, and what is promised."""
    method = tomllib.loads(plan.read_text(encoding="utf-8"))["method"]
    said = {"k", "l", "m", "delta", "epsilon", "protect", "outputs"} - (
        {"delta"} if "epsilon" in method else set()
    )
    values = [f"{key} = {value}" for key, value in method.items() if key in said]
    return ", ".join([method["name"], *values])


def drawn(folder: Path, place: Path) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """The file, the name and the table of everything that is judged."""
    table = people(folder, 2019)
    yield "people_2018", "other people, of 2018", people(folder, 2018)
    for share in SAMPLES:
        yield (
            f"sample_{share:.0%}"[:-1],
            f"a sample of {100 * share:.0f} %",
            table.sample(fraction=share, seed=1),
        )
    table.write_parquet(place / "people.parquet")
    for plan in plans():
        yield plan.stem, named(plan), draw(plan, place)


def draw(plan: Path, place: Path) -> pl.DataFrame:
    """The table of a plan, drawn from its release of the ``people.parquet`` of a place."""
    shutil.copy(plan, place)
    return px.Plan.read(place / plan.name).publish(seed=1).draw(1, seed=1)[0]


def sha1(table: bytes) -> str:
    """By what NIST's archive names a table."""
    return hashlib.sha1(table, usedforsecurity=False).hexdigest()


def labels_of(plan: Path, table: bytes) -> dict[str, str]:
    """What NIST's archive wants to know of a table."""
    method = tomllib.loads(plan.read_text(encoding="utf-8"))["method"]
    private = method["name"] == "safe-sampling"
    budget = {key: str(method[key]) for key in ("epsilon", "delta")} if private else {}
    return {
        "algorithm name": method["name"],
        "library name": "phalanx",
        "algorithm type": "sdc",
        "privacy category": "dp" if private else "sdc",
        "privacy label detail": PROMISES[method["name"]],
        **budget,
        "variant label": named(plan).partition(", ")[2],
        "variant label detail": f"all parameters: {plan.name}; a table drawn from the release",
        "target dataset": "ma2019",
        "feature set name": "demographic-focused",
        "features list": ", ".join(FEATURES),
        "quasi identifiers subset": ", ".join(f for f in FEATURES if f != "PINCP_DECILE"),
        "deid data id": sha1(table),
    }


def space(excerpts: Path) -> int:
    """How many different rows there could be, by NIST's dictionary."""
    words = json.loads((excerpts / "data_dictionary.json").read_text(encoding="utf-8"))
    domains = [words[feature]["values"] for feature in FEATURES]
    return math.prod(d["max"] - d["min"] + 1 if "min" in d else len(d) for d in domains)


def entry(to: Path, files: Path, size: int, *, tables: bool) -> None:
    """The labels of every plan's table, the index of them all, and the tables themselves; ``size``
    is that of the space of features.
    """
    index = []
    for plan in plans():
        at = to / plan.relative_to(HERE)
        table = (files / f"{plan.stem}.csv").read_bytes()
        labels = labels_of(plan, table)
        at.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"labels": labels}, indent=4) + "\n"
        for place in (at.with_suffix(".json"), files / f"{plan.stem}.json"):
            place.write_text(text, encoding="utf-8")
        if tables:
            at.with_suffix(".csv").write_bytes(table)
        paths = {
            f"{kind} path": str(at.with_suffix(end).relative_to(to))
            for kind, end in (("data", ".csv"), ("labels", ".json"))
        }
        rest = {"report path": str(report(plan)), "feature space size": size}
        index.append({"": len(index)} | labels | paths | rest)
    with (to / "index.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["", *COLUMNS], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(index)


def report(plan: Path) -> Path:
    """Where an entry has SDNist's report of a plan's table."""
    return plan.relative_to(HERE).parent / f"report_{plan.stem}"


def judge(python: Path, files: Path, excerpts: Path, data: Path, reports: Mapping[str, str],
          tables: Sequence[str], kept: Path | None) -> dict[str, Any]:  # fmt: skip
    """What SDNist says of each table; what was said before of the same bytes is read from ``kept``,
    and what is new is written there.
    """
    theirs = files / "diverse_communities_data_excerpts"
    (theirs / "massachusetts").mkdir(parents=True)
    for name in NEEDED:
        shutil.copy(excerpts / name, theirs / name)
    shutil.copy(data / "nist_ma2019.csv", theirs / "massachusetts" / "ma2019.csv")
    ids = {name: sha1((files / f"{name}.csv").read_bytes()) for name in tables}
    there = kept is not None and kept.is_file()
    before = json.loads(kept.read_text(encoding="utf-8")) if kept and there else {}
    new = [name for name in tables if ids[name] not in before]
    asked = {"excerpts": str(theirs), "tables": new, "reports": dict(reports)}
    (files / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    command = [python, HERE / "theirs.py", files]
    set_up = os.environ | {"MPLBACKEND": "Agg"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=set_up) as ran:
        for name, line in zip(new, ran.stdout or (), strict=False):
            before[ids[name]] = json.loads(line)
            if kept is not None:
                kept.write_text(json.dumps(before, indent=1) + "\n", encoding="utf-8")
    if ran.returncode:
        raise SystemExit("SDNist failed; what it said stands above.")
    return {name: before[ids[name]] for name in tables}


def row(name: str, figures: Mapping[str, Any]) -> str:
    """One line of the table."""
    if "refused" in figures:
        why = f"not judged: SDNist refuses {', '.join(figures['refused'])}"
        return f"| {name} | {figures['rows']:,} | {why} |{' |' * (len(HEADER) - 3)}"
    cells = [
        name, f"{figures['rows']:,}", figures["k_marginal"], f"{figures['as_a_sample_of']} %",
        f"{figures['pmse']:.4f}", f"{figures['impossible_age']:,}",
        f"{figures['impossible_housing']:,}", f"{figures['matches']:.2f} %",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def table_of(rows: Sequence[str]) -> str:
    """The lines under their heading."""
    return "\n".join([f"| {' | '.join(HEADER)} |", f"|{' --- |' * len(HEADER)}", *rows])


def written(page: Path, tables: str) -> None:
    """The page with these tables between its marks."""
    begin, end = "<!-- printed by experiments/nist/nist.py -->", "<!-- end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n\n{tables}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Publish, draw, ask SDNist, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--excerpts", type=Path, help="NIST's folder of dictionaries")
    parser.add_argument("--sdnist", type=Path, help="a Python that has SDNist 2.4")
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    parser.add_argument("--keep", type=Path, help="make an entry for NIST's archive there")
    parser.add_argument("--reports", action="store_true", help="with --keep: whole reports too")
    given = parser.parse_args()
    data = os.environ.get("PHALANX_DATA")
    if data is None or not all(Path(data, f"nist_ma{year}.csv").is_file() for year in (2018, 2019)):
        print(
            "this experiment needs nist_ma2018.csv and nist_ma2019.csv: set PHALANX_DATA.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    excerpts = given.excerpts or Path(data, "diverse_communities_data_excerpts")
    if missing := [name for name in NEEDED if not (excerpts / name).is_file()]:
        print(
            f"{excerpts} has no {missing[0]}: give NIST's folder diverse_communities_data_excerpts"
            " by --excerpts; it is in the releases of github.com/usnistgov/SDNist.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    python = given.sdnist or environment(
        HERE / ".venv-nist",
        HERE / "requirements.txt",
        "SDNist could not be installed, it needs Python 3.11",
    )
    with tempfile.TemporaryDirectory() as place:
        files, names = Path(place), {}
        for file, name, table in drawn(Path(data), files):
            as_nist(table).write_csv(files / f"{file}.csv")
            names[file] = name
        if given.write:
            entry(HERE, files, space(excerpts), tables=False)
        if given.keep:
            entry(given.keep, files, space(excerpts), tables=True)
        reports = (
            {plan.stem: str(given.keep.resolve() / report(plan)) for plan in plans()}
            if given.keep and given.reports
            else {}
        )
        kept = given.keep / "judged.json" if given.keep else None
        found = judge(python, files, excerpts, Path(data), reports, list(names), kept)
    published = json.loads((HERE / "published.json").read_text(encoding="utf-8"))
    ours = [row(name, found[file]) for file, name in names.items()]
    theirs = [row(report["made by"], report) for report in published]
    few = [line for line in ours + theirs if line[2:].startswith(FEW)]
    tables = {
        "all": f"## Judged here\n\n{table_of(ours)}\n\n## NIST's published reports\n\n"
        f"{table_of(theirs)}",
        "few": table_of(few),
    }
    print(tables["all"])
    if given.write:
        for page, kind in PAGES.items():
            written(page, tables[kind])


if __name__ == "__main__":
    main()
