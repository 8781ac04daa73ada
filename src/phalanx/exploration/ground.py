# SPDX-License-Identifier: Apache-2.0
"""On what methods are tried: not on the table, unless the publisher insists, and why."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl

from phalanx.data.sources.batches import Batches
from phalanx.data.sources.csv_blocks import fits
from phalanx.data.sources.frames import check_index
from phalanx.data.sources.source import is_csv, read_source
from phalanx.data.waves import in_order, one_wave, waves_of
from phalanx.engines.fetched import Lines
from phalanx.errors import PhalanxError, PlanError
from phalanx.exact import bounded
from phalanx.exploration.grid import Section
from phalanx.exploration.keeping import SPENT, make_private, private_file
from phalanx.ledger import Ledger
from phalanx.methods.base import KNOWN, make
from phalanx.plan import Plan
from phalanx.randomness import Randomness
from phalanx.release.folder import Release

_PRIVATE: Final = "differential-privacy"
_BECAUSE: Final = (
    "because to choose what looks best on the table is a choice that depends on it, which "
    "no guarantee covers"
)
_WAYS: Final = (
    "name another table of the same kind by --surrogate, or spend a part of this one by --sample"
)


@dataclass(frozen=True, eq=False)
class Ground:
    """The tables that stand for those to be published, one for each release in turn."""

    tables: Sequence[pl.DataFrame]
    what: str
    """What they are, in few words."""
    why: str
    """One sentence: what they are, and why these."""
    source: Path | None = None
    """What a plan must publish that is chosen on these; None for what it publishes anyway."""


def ground(
    plan: Plan,
    points: Sequence[Section],
    *,
    surrogate: Sequence[Any],
    sample: Any,
    on_the_table: bool,
    folder: Path,
) -> Ground:
    """The surrogate that is named, a sample that is spent, the table itself, or the last release.

    PlanError where two of them are asked for, where a surrogate is the table itself, where a
    differentially private method would be chosen on the table or a part of it, and where there is
    nothing to run on.
    """
    asked = [bool(surrogate), sample is not None, on_the_table]
    if sum(asked) > 1:
        raise PlanError("--surrogate, --sample and --on-the-table exclude each other; keep one.")
    if surrogate:
        return _surrogate(plan, surrogate)
    if sample is None and not on_the_table:
        return _last_release(plan)
    check_private(points)
    if sample is not None:
        return _spent(plan, bounded(sample, "--sample", 0, 1), folder)
    return Ground(
        [_table(plan)],
        "the table itself",
        f"This ran on the table itself, as was asked; no guarantee covers the choice, {_BECAUSE}.",
    )


def check_private(points: Sequence[Section]) -> None:
    """PlanError where a point is differentially private, and would be chosen on the table."""
    if private := [str(each["name"]) for each in points if _is_private(each)]:
        raise PlanError(
            f"{private[0]} is differentially private, and no epsilon covers a choice that looks at"
            " the table, or at a part of it; explore on a --surrogate."
        )


def _is_private(section: Section) -> bool:
    """Whether a method promises differential privacy."""
    try:
        parameters = {key: value for key, value in section.items() if key != "name"}
        promised = make(str(section["name"]), parameters).guarantees
    except PhalanxError:  # said of the point itself, too
        return hasattr(KNOWN.get(str(section["name"])), "cost")  # Budgeted, and nothing else costs
    return any(g.parameters().get("name") == _PRIVATE for g in promised)


def _table(plan: Plan) -> pl.DataFrame:
    table: pl.DataFrame = plan.table()
    return table


def _surrogate(plan: Plan, given: Sequence[Any]) -> Ground:
    schema = plan.schema()
    paths = [str(Path(each).absolute().resolve()) for each in given if isinstance(each, str | Path)]
    if plan.source_path() in paths:
        raise PlanError(
            "the surrogate is the plan's own table; name another one, or say --on-the-table."
        )
    for each in given:
        check_index(each, [*schema.columns, plan.wave or ""])
    tables = [read_source(each, drop=schema.drop, text=schema.texts) for each in given]
    tables = [part for table in tables for part in _parts(table, plan.wave)]
    named = [Path(each).name if isinstance(each, str | Path) else "a frame" for each in given]
    what = ", ".join(named) + (", one after the other" if len(named) > 1 else "")
    return Ground(tables, what, f"This ran on {what}, and not on the table, {_BECAUSE}.")


def _parts(table: pl.DataFrame, wave: str | None) -> list[pl.DataFrame]:
    """The waves of a table that has the plan's column of waves, in order; else the table."""
    if wave is None or wave not in table.columns:
        return [table]
    return [one_wave(table, wave, each, ())[1] for each in in_order(waves_of(table, wave))]


def _last_release(plan: Plan) -> Ground:
    """A table drawn from the last release, so that a choice on it tells nothing more."""
    entries = []
    if Ledger.exists(plan.ledger_url()):
        with Ledger.open(plan.ledger_url(), create=False) as ledger:
            entries = ledger.releases(plan.name)
    if not entries:
        raise PlanError(f"series {plan.name!r} has no release yet that could serve; {_WAYS}.")
    if plan.sections.schema_.cluster is not None:
        raise PlanError(
            "a release does not say who lives together, so that none stands for the table; name"
            " another table of the same kind by --surrogate."
        )
    from phalanx.estimators.draws import draw

    release = Release.read(entries[-1].folder)
    drawn = draw(release, 1, seed=0)[0]  # the same table at the next run, which goes on with it
    schema = plan.schema()
    if schema.identifier is not None:
        drawn = drawn.drop(schema.identifier, strict=False).with_row_index(schema.identifier)
    drawn = drawn.with_columns(pl.lit(None).alias(name) for name in schema.drop)
    what = f"a table drawn from release {release.number} of {plan.name}"
    return Ground(
        [drawn],
        what,
        f"This ran on {what}, which is out already, and not on the table, {_BECAUSE}.",
    )


def _spent(plan: Plan, share: Fraction, folder: Path) -> Ground:
    """Rows drawn once and for all, which no release of an adopted plan has."""
    if not 0 < share < 1:
        raise PlanError(f"--sample {share} is no part of the table; give a share such as 1/10.")
    if plan.wave is not None:
        raise PlanError(
            "a sample of one wave would leave its persons in the others; name another table of the"
            " same kind by --surrogate."
        )
    if plan.sections.schema_.cluster is not None:
        raise PlanError(
            "a sample of rows would part households; name another table of the same kind by"
            " --surrogate."
        )
    spent, rest, mark = (folder / name for name in ("spent.parquet", "rest.parquet", SPENT))
    pieces = _in_pieces(plan, folder.absolute().parent)
    drawn_from = json.dumps({"table": _digest_of([pieces()]), "share": str(share)}).encode()
    make_private(folder)
    if not mark.exists():
        with private_file(spent) as taken, private_file(rest) as others:
            _part(pieces(), share, taken, others)
        with private_file(mark) as file:
            file.write(drawn_from)
    elif mark.read_bytes() != drawn_from:
        raise PlanError(
            f"{folder} has a sample of another table, or of another size, and one table is sampled "
            "once; remove the folder if that one is not needed."
        )
    sample = read_source(spent)
    what = f"{sample.height:,} rows drawn from the table"
    why = (
        f"This ran on {what}, which are spent: a plan that is adopted publishes the others, so that "
        f"the choice depends on no {'row' if plan.sections.schema_.identifier is None else 'person'} in its releases."
    )
    return Ground([sample], what, why, rest)


def _in_pieces(plan: Plan, place: Path) -> Callable[[], Iterator[pl.DataFrame]]:
    """Gives the table of a plan each time, whole, or some rows at a time where the memory does not
    hold it; it is the same table each time, or refused. ``place``: a folder on the disk, in which
    nothing appears.
    """
    given, schema = plan.source_path(), plan.schema()
    batches = Batches.of(given, drop=schema.drop)
    if is_csv(given) and plan.wave is None and Path(given).is_file() and not fits(Path(given)):
        lines = Lines(Path(given), plan.sections.source.dialect, schema.drop, schema.texts)
        batches = lines.fetch(lambda *_: False, place)
    elif batches is not None and batches.fits():
        batches = None
    if batches is not None:
        return partial(batches.each, batches.names)
    table = _table(plan)
    return lambda: iter([table])


def _part(pieces: Iterable[pl.DataFrame], share: Fraction, taken: BinaryIO, rest: BinaryIO) -> None:
    """Write each row into one of two Parquet files, with such a chance into the first."""
    from pyarrow.parquet import ParquetWriter

    stream = Randomness.secure().stream("spent")
    with ExitStack() as open_writers:
        writers: list[ParquetWriter] = []
        for piece in pieces:
            of_sample = np.zeros(piece.height, dtype=bool)
            of_sample[stream.bernoulli(share, piece.height)] = True
            parts = [
                piece.filter(pl.Series(some)).to_arrow(compat_level=pl.CompatLevel.oldest())
                for some in (of_sample, ~of_sample)
            ]
            writers = writers or [
                open_writers.enter_context(
                    ParquetWriter(
                        file,
                        part.schema,
                        compression="zstd",
                        use_dictionary=False,
                        write_statistics=False,
                    )
                )
                for file, part in zip((taken, rest), parts, strict=True)
            ]
            for writer, part in zip(writers, parts, strict=True):
                writer.write(part)


def digest(tables: Sequence[pl.DataFrame]) -> str:
    """Tells whether tables are the same, at the next run."""
    return _digest_of([table] for table in tables)


def _digest_of(tables: Iterable[Iterable[pl.DataFrame]]) -> str:
    """Of the names and types of each table, and then of its rows, of which there may be some at a
    time.
    """
    hashed = hashlib.sha256()
    for pieces in tables:
        for at, piece in enumerate(pieces):
            if not at:
                types = [(name, str(kind)) for name, kind in piece.schema.items()]
                hashed.update(json.dumps(types).encode())
            hashed.update(piece.hash_rows(seed=0).to_numpy().tobytes())
    return hashed.hexdigest()
