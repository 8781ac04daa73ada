# SPDX-License-Identifier: Apache-2.0
"""A release that Spark makes of a series that follows persons: each stays in their part, which goes
on as a series by itself where its rows are.

Workers get what the ledger remembers of a part, and give what it is to remember, in files under a key
that ends with this process; the ledger takes it from there, one part at a time.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.engines.spark.following import Followed, Solved
from phalanx.errors import LedgerError, MethodError
from phalanx.guarantees.parts import Found, Merged
from phalanx.guarantees.staying import persons_and_parts
from phalanx.guarantees.verify import verify
from phalanx.ledger import within
from phalanx.ledger.sealing import pack, seal, unpack, unseal
from phalanx.methods.base import Following, Memory
from phalanx.progress import Progress
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence, Tables
from phalanx.release.folder import Release, Unread
from phalanx.release.manifest import Manifest
from phalanx.release.part import Part
from phalanx.release.parts import groups_before
from phalanx.series.drafting import Checked, Drafting, check_attributes, refuse_broken
from phalanx.series.in_parts import draft_of_part
from phalanx.series.on_spark import (
    DraftingOnSpark,
    drafts_in,
    figures_of,
    merged,
    numbered_through,
    suppressed_of,
    truth_of,
)
from phalanx.series.staging import Folder
from phalanx.series.staying import OTHERS, PARTS, Recalled, known_of, others_of

T = TypeVar("T")
K = TypeVar("K")

_REMEMBER: Final = "remember/"
_STATE: Final = "state/"
_GROUPS: Final = "groups"
_KEPT: Final = {"name": pl.String, "table": pl.Binary}


@dataclass(frozen=True)
class Sealed:
    """Tables about persons in a folder that all workers see."""

    folder: Path
    key: bytes = field(repr=False)

    def write(self, name: str, tables: Tables) -> None:
        """Seal some tables into a file.

        Parameters
        ----------
        name : str
            Its name; what is there already is replaced.
        tables : Mapping[str, pl.DataFrame]
            The tables.
        """
        packed = [bytes(pack(table)) for table in tables.values()]
        content = pack(pl.DataFrame({"name": list(tables), "table": packed}, schema=_KEPT))
        written = self.folder / f"{name}.{Randomness.secure().stream('name').words(1)[0]:x}"
        written.write_bytes(seal(self.key, content, name))
        written.replace(self.folder / name)

    def read(self, name: str) -> dict[str, pl.DataFrame]:
        """The tables of a file; none where it is not there.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        dict[str, pl.DataFrame]
            The tables.

        Raises
        ------
        LedgerError
            Where it was changed.
        """
        if not (self.folder / name).exists():
            return {}
        content = unseal(self.key, (self.folder / name).read_bytes(), name)
        if content is None:
            raise LedgerError(
                f"a file in {self.folder} was changed while Spark worked; publish again."
            )
        return {name: unpack(table) for name, table in unpack(content).iter_rows()}


@dataclass(frozen=True)
class Parts:
    """What is remembered of the parts of a series: before its next release, which is made of one of
    its parts at a time, and after it.
    """

    sealed: Sealed
    method: Following
    releases: int
    """Before this one."""

    def lay(self, part: int, memory: Memory) -> None:
        """Put down what the ledger remembers of a part."""
        tables = {_REMEMBER + name: table for name, table in memory.tables.items()}
        tables |= {_STATE + name: table for name, table in memory.state.items()}
        self.sealed.write(f"before-{part}", tables)

    def before(self, part: int) -> Memory:
        """What was remembered of a part."""
        tables = self.sealed.read(f"before-{part}")
        return Memory(self.releases, _behind(_REMEMBER, tables), None, _behind(_STATE, tables))

    def keep(
        self, part: int, remember: Tables, state: Tables, groups: pl.DataFrame
    ) -> dict[str, list[str]]:
        """Put down what is to be remembered of a part; the names of the tables."""
        before = self.before(part)
        after = before.grown(remember, state, None)
        others = others_of(groups, known_of(self.method, after))
        if len(others):
            remember = {**remember, OTHERS: others.to_frame()}
        tables = {_REMEMBER + name: table for name, table in remember.items()}
        tables |= {_STATE + name: table for name, table in state.items()}
        self.sealed.write(f"after-{part}", {**tables, _GROUPS: groups})
        return {"remember": list(remember), "state": list(state)}

    def kept(self, part: int) -> dict[str, pl.DataFrame]:
        """What was put down; nothing of a part without rows."""
        return self.sealed.read(f"after-{part}")

    def one(self, part: int, name: str) -> pl.DataFrame:
        """One of the tables that were put down."""
        return self.kept(part)[name]

    def one_before(self, part: int, name: str) -> pl.DataFrame:
        """One of those that were remembered."""
        return self.sealed.read(f"before-{part}")[name]

    def groups(self, part: int, before: int) -> pl.DataFrame:
        """Who is in which group, as these are numbered behind so many of the parts before."""
        return self.one(part, _GROUPS).with_columns(pl.col("group") + before)

    def after(self, part: int) -> Memory:
        """What is remembered of a part with this release."""
        kept, before = self.kept(part), self.before(part)
        if not kept:
            return before
        return before.grown(_behind(_REMEMBER, kept), _behind(_STATE, kept), None)

    def added(self, part: int) -> list[str]:
        """The names of the tables to which this release adds rows."""
        return list(_behind(_REMEMBER, self.kept(part)))

    def known(self, part: int) -> pl.Series:
        """Who was published in a part."""
        return known_of(self.method, self.before(part))

    def known_after(self, part: int) -> pl.Series:
        """The same, with this release."""
        return known_of(self.method, self.after(part))


class Told(Mapping[K, pl.DataFrame], Generic[K]):
    """Tables of parts, each read as it is asked for."""

    def __init__(self, places: Mapping[K, Callable[[], pl.DataFrame]]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: K) -> pl.DataFrame:
        return self._places[name]()

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True, kw_only=True, eq=False)
class StayingOnSpark(DraftingOnSpark):
    """What the next release of a series is made from, where its table is on Spark and its persons
    are followed.
    """

    recalled: Recalled

    def check(
        self,
        room: Callable[[], AbstractContextManager[Folder]],
        take: Callable[[Folder, Checked], T],
        progress: Progress,
    ) -> T:
        """As ``Drafting.check`` does, for a table on Spark; what is remembered of persons is beside
        the release, until the ledger has it.
        """
        with room() as folder, room() as beside:
            checked = self._following(folder.path.absolute(), beside.path.absolute(), progress)
            return take(folder, checked)

    def _following(self, folder: Path, beside: Path, progress: Progress) -> Checked:
        """Every part, drafted, numbered and checked in workers; then all of them together."""
        method, rng = self.method, self.randomness()
        if not isinstance(method, Following) or self.key is None:
            raise MethodError(f"{method.name} follows no persons; leave the engine out.")
        sealed = Sealed(beside, rng.stream("key of what is remembered").words(4).tobytes())
        parts, before = Parts(sealed, method, self.number - 1), self.recalled.parts
        for part in before:
            parts.lay(part, self.recalled.memory(part, parts.releases))
        drafts = drafts_in(folder)
        with self.divided.running(folder) as running:
            progress("group", 0, None)
            followed = Followed(
                running=running,
                most=self.divided.most,
                key=self.key,
                rng=rng,
                began=self.recalled.cuts,
                parts=before,
                known=parts.known,
            )
            solved = followed.solved(lambda now: partial(draft_part, self.of, parts, drafts, now))
            progress("write", 0, None)
            manifest = merged(drafts, solved.figures)
            check_attributes(self.earlier, manifest.attributes)
            manifest = numbered_through(running, manifest, drafts, folder)
            progress("check", 0, None)
            merging = Merged(f"release {self.number}: ")
            look = partial(
                check_part,
                self.earlier,
                parts,
                solved.parts,
                folder,
                manifest,
                allow_seeded=self.seed is not None,
            )
            for each in running.each(look, range(len(solved.parts))):
                merging.add(each)
            everyone = sorted({*before, *solved.parts})
            verdict = persons_and_parts(*followed.compared(everyone, parts.known_after))
        verdicts = [
            *merging.verdicts(),
            replace(verdict, name=merging.prefix + verdict.name),
            truth_of(solved.figures),
        ]
        refuse_broken(verdicts)
        return Checked(
            suppressed=suppressed_of(solved.figures),
            release=Unread(folder, manifest),
            evidence=Evidence(),
            verdicts=verdicts,
            attacks=[],
            spent=None,
            look=None,
            **self._kept(parts, solved, manifest),
        )

    def _kept(self, parts: Parts, solved: Solved, manifest: Manifest) -> dict[str, Told[Any]]:
        """What the ledger is to remember, read part by part as it asks for it."""
        remember: dict[str, Callable[[], pl.DataFrame]] = {}
        state: dict[str, Callable[[], pl.DataFrame]] = {}
        groups: dict[int, Callable[[], pl.DataFrame]] = {}
        for at, (part, figures) in enumerate(zip(solved.parts, solved.figures, strict=True)):
            for name in figures["remember"]:
                remember[within(part, name)] = partial(parts.one, part, _REMEMBER + name)
            for name in figures["state"]:
                state[within(part, name)] = partial(parts.one, part, _STATE + name)
            groups[part] = partial(parts.groups, part, groups_before(manifest, at))
        for part in set(self.recalled.parts) - groups.keys():  # which has no rows, and goes on
            for name in parts.before(part).state:
                state[within(part, name)] = partial(parts.one_before, part, _STATE + name)
        if self.number == 1:
            cuts = json.dumps(solved.remembered)
            remember[PARTS] = lambda: pl.DataFrame({"cuts": [cuts]})
        return {"remember": Told(remember), "state": Told(state), "groups": Told(groups)}


def draft_part(
    of: "partial[Drafting]",
    parts: Parts,
    drafts: Path,
    now: Sequence[int],
    at: int,
    microdata: Microdata,
    rng: Randomness,
) -> Mapping[str, Any]:
    """Publish one part as the next release of a series by itself, in a worker.

    Parameters
    ----------
    of : partial[Drafting]
        Makes its drafting.
    parts : Parts
        What is remembered of it.
    drafts : Path
        The folder that gets it.
    now : Sequence[int]
        The parts that have rows, ascending.
    at : int
        Its place among them.
    microdata : Microdata
        Its rows, with persons.
    rng : Randomness
        The one source of chance.

    Returns
    -------
    Mapping[str, Any]
        As ``draft_cell`` gives them, and the names of the tables that are to be remembered.

    Raises
    ------
    PhalanxError
        Where it cannot be published, or its files say what is not so.
    """
    memory = parts.before(now[at])
    drafting = of(microdata=microdata, memory=memory)
    draft = draft_of_part(drafting.method, microdata, rng, memory)
    figures = figures_of(drafting, draft, drafts, at, rng)
    mapping = draft.mapping(microdata)
    if mapping is None:
        raise MethodError(f"{drafting.method.name} follows no persons; leave the engine out.")
    return {**figures, **parts.keep(now[at], draft.remember, draft.state, mapping)}


def check_part(
    earlier: Sequence[Release],
    parts: Parts,
    now: Sequence[int],
    folder: Path,
    manifest: Manifest,
    at: int,
    *,
    allow_seeded: bool,
) -> Found:
    """Check the files of one part with what is remembered of its persons, in a worker.

    Parameters
    ----------
    earlier : Sequence[Release]
        The releases before.
    parts : Parts
        What is remembered.
    now : Sequence[int]
        The parts that have rows, ascending.
    folder : Path
        Where the release is.
    manifest : Manifest
        What it says about itself.
    at : int
        The place of the part among these.
    allow_seeded : bool
        Whether it may have been made with a seed.

    Returns
    -------
    Found
        The verdicts, and what is asked of all parts together.

    Raises
    ------
    ReleaseError
        Where its files cannot be read.
    """
    part, number = Part.read_part(folder, manifest, at), manifest.number
    beside = Evidence(
        groups={number: parts.kept(now[at])[_GROUPS]},
        state=(parts.before(now[at]).everything, parts.after(now[at]).everything),
        added=parts.added(now[at]),
    )
    verdicts = verify([*earlier, part], beside, allow_seeded=allow_seeded, only_last=True)
    return Found.of(part, verdicts, f"release {number}: ")


def _behind(begins: str, tables: Tables) -> dict[str, pl.DataFrame]:
    """Those whose names begin so, by what is behind it."""
    return {name[len(begins) :]: table for name, table in tables.items() if name.startswith(begins)}
