# SPDX-License-Identifier: Apache-2.0
"""A release as a folder of files: writing it, and reading it back without believing it."""

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import polars as pl
import polars.selectors as cs

from phalanx.data.names import check_names
from phalanx.data.sources.available_memory import in_words, memory_left
from phalanx.data.sources.reading import (
    bytes_needed,
    check_size,
    read_parquet,
    refusing,
)
from phalanx.errors import MachineError, ReleaseError, path_of
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.form import DESCRIBED_BY, Form
from phalanx.release.forms.generalized import Generalized
from phalanx.release.kinds import form_class
from phalanx.release.manifest import NAME, Manifest, PublishedFile, digest
from phalanx.release.parts import part_of, table_of, wrongly_in_parts
from phalanx.release.room import Room

FORMATS: Final = ("parquet", "csv")
_WHOLE: Final = 4
"""What looks at all parts of a release at once takes about so many times what their tables take."""
EachFile = Callable[[Callable[[int], None], Iterable[int]], Iterable[None]]
"""Calls a function with each number of a file, one after the other or wherever it may."""


@dataclass(frozen=True, eq=False)
class Release:
    """What was published once: the manifest and the published form; ``path`` is its folder."""

    manifest: Manifest
    form: Form
    path: Path
    evidence: Evidence = field(default_factory=Evidence)
    """What may be laid beside the files, private; nothing where they were only read."""

    @property
    def number(self) -> int:
        """Its place in the series, from 1."""
        return self.manifest.number

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest; the next release names it."""
        return digest(self.manifest.to_bytes())

    @property
    def form_type(self) -> type[Form]:
        """The class of its form, for which no table is read."""
        return form_class(self.manifest.form)

    @property
    def written(self) -> Mapping[str, pl.DataFrame]:
        """The tables as they stand in the files, by name."""
        return self.form.tables()

    def on_disk(self) -> "AbstractContextManager[Release]":
        """The release where its files can be looked at; here they are already."""
        return nullcontext(self)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a release folder and check that its files are those of its manifest.

        Parameters
        ----------
        path : str | Path
            The folder.

        Returns
        -------
        Self
            The release; one in parts may read its tables when they are asked for, and then whole.

        Raises
        ------
        ReleaseError
            Where a file is missing, added, changed, or does not say what the manifest says.
        MachineError
            Where the machine lacks the memory, threads or open files that reading takes.
        """
        path = path_of(path, "the release folder", ReleaseError)
        return cls._of_folder(path, _checked_manifest(path))

    @classmethod
    def _of_folder(cls, path: Path, manifest: Manifest) -> Self:
        """What a folder holds whose files are those of its manifest."""
        return cls(manifest=manifest, form=read_form(path, manifest), path=path)

    @property
    def generalized(self) -> Generalized:
        """The form of a release that has intervals; ReleaseError where it is of another kind."""
        return Generalized.expect(self.form)


class Unread(Release):
    """A release whose files were compared with the digests of its manifest, and whose tables are
    read, and checked as ``Release.read`` does, once they are asked for; they stay in memory as long
    as there is ``room``, which several releases may share.

    ReleaseError where a file is missing, added or changed; then also where the folder is not any
    more what it was.
    """

    def __init__(
        self, path: str | Path, manifest: Manifest | None = None, room: Room[Form] | None = None
    ) -> None:
        where = Path(path)
        manifest = manifest or _checked_manifest(where)
        room = room or Room(inf, form_size)
        fields = {"manifest": manifest, "path": where, "evidence": Evidence(), "_room": room}
        self.__dict__.update(fields)

    @property
    def form(self) -> Form:
        """What its tables hold."""
        form: Form = self.__dict__["_room"].get(self.path, self._read)
        return form

    def _read(self) -> Form:
        read = Release.read(self.path)
        if read.manifest != self.manifest:
            raise ReleaseError(
                f"{self.path} was exchanged while it was looked at; put the published folder back."
            )
        return read.form


def form_size(form: Form) -> int:
    """About so many bytes the tables of a form take."""
    return sum(int(table.estimated_size()) for table in form.tables().values())


def opened(path: str | Path, each: EachFile = map, room: Room[Form] | None = None) -> Release:
    """A release folder, read as ``Release.read`` does; of one in parts, and where there is ``room``
    for those that are asked for, no table is read before one is asked for. ``each`` compares the
    files of one in parts with their digests.
    """
    where = Path(path)
    manifest = _checked_manifest(where, each)
    if manifest.parts or room is not None:
        return Unread(where, manifest, room)
    return Release(manifest=manifest, form=read_form(where, manifest), path=where)


def read_form(path: Path, manifest: Manifest) -> Form:
    """The form that the files of a folder hold, of which the manifest says all; ReleaseError where
    they do not say what it says.
    """
    return form_of(path, manifest, read_tables(path, manifest))


def form_of(path: Path, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> Form:
    """The form that tables are, which stand in this folder; ReleaseError where they do not say what
    the manifest says.
    """
    form = _form(path, manifest, tables)
    _check_form(path, manifest, form)
    return form


def write_tables(
    path: Path, tables: Mapping[str, pl.DataFrame], formats: Sequence[str], ending: str = ""
) -> list[PublishedFile]:
    """Write the tables into a folder, each flushed to the disk; ``ending``: of their names."""
    files: list[PublishedFile] = []
    for name, table in tables.items():
        for format in formats:
            target = path / f"{name}{ending}.{format}"
            _write_table(table, target, format)
            files.append(PublishedFile(name=target.name, sha256=digest_of(target)))
    return files


def write_folder(path: Path, form: Form, formats: Sequence[str], **fields: Any) -> Manifest:
    """Write the files and the manifest into an empty folder, each flushed to the disk; ``fields`` is
    the rest of the manifest.
    """
    files = write_tables(path, form.tables(), formats)
    manifest = Manifest(
        form=form.kind,
        attributes=list(form.attributes),
        rows=form.rows,
        groups=form.groups,
        counterfeits=form.counterfeit_rows,
        registered=form.registered_persons,
        files=files,
        **form.manifest_fields(),
        **fields,
    )
    write_manifest(path, manifest)
    return manifest


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder that holds its files already, durably."""
    write_bytes(path / NAME, manifest.to_bytes())
    _flush_folder(path)


def encode(table: pl.DataFrame, file: BinaryIO, format: str) -> None:
    """The bytes of a published table in one of the formats, which follow from its rows alone."""
    if format == "csv":
        table.with_columns(cs.datetime().cast(pl.String)).write_csv(
            file
        )  # written as the text that a reader of the other format sees
    else:
        table.write_parquet(file, compression="zstd", compression_level=1, statistics=False)


def _write_table(table: pl.DataFrame, target: Path, format: str) -> None:
    """Plain columns, no dictionary of unused values, no statistics, no metadata beyond the
    schema.
    """
    try:
        with target.open("wb") as file:
            encode(table, file, format)
            file.flush()
            os.fsync(file.fileno())
    except (
        pl.exceptions.PolarsError
    ):  # how its writers tell that the disk is full, in words that differ by format
        raise OSError(errno.EIO, f"{target.name} does not fit, or its disk fails") from None


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file and flush it to the disk."""
    with target.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _checked_manifest(path: Path, each: EachFile = map) -> Manifest:
    """The manifest of a folder that holds the files that it names, and nothing else; ReleaseError
    where it does not.
    """
    _check_links(path)
    if path.is_file():
        raise ReleaseError(
            f"{path} is not a release folder but a file; another publisher's table is checked by"
            " verify_table."
        )
    if not path.is_dir() or not (path / NAME).is_file():
        raise ReleaseError(
            f"{path} is not a release folder (it has no {NAME}); name the folder that 'publish'"
            " made."
        )
    content = (path / NAME).read_bytes()
    manifest = Manifest.from_bytes(content, path)
    if content != manifest.to_bytes():
        raise ReleaseError(
            f"{path}: the manifest is not in the form in which it was published; ask the"
            " publisher for the folder again."
        )
    _check_files(path, manifest, each if manifest.parts else map)
    return manifest


def check_unchanged(release: Release) -> None:
    """ReleaseError where the folder is no more the one that a release was read from."""
    if _checked_manifest(release.path) != release.manifest:
        raise ReleaseError(
            f"{release.path} is not what was read from it (its digest differs); put the published"
            " folder back."
        )


def digest_of(file: Path) -> str:
    """SHA-256 of a file, of which no more than a piece is in memory."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _check_links(path: Path) -> None:
    """ReleaseError where the folder or anything in it is a link, which may show this reader other
    bytes than the next one.
    """
    if path.is_symlink():
        raise ReleaseError(f"{path} is a symbolic link; name the release folder itself.")
    if path.is_dir() and (
        links := sorted(entry.name for entry in path.iterdir() if entry.is_symlink())
    ):
        raise ReleaseError(
            f"{path}: {links[0]} is a symbolic link and no file of a release; ask the publisher for"
            " the folder again."
        )


def _check_files(path: Path, manifest: Manifest, each: EachFile) -> None:
    present = {entry.name for entry in path.iterdir()} - {NAME}
    declared = [f.name for f in manifest.files]
    if len(set(declared)) < len(declared) or any(
        Path(name).name != name or not name.endswith((".parquet", ".csv")) for name in declared
    ):
        raise ReleaseError(
            f"{path}: the manifest names files that no release has; ask the publisher for the"
            " folder again."
        )
    if wrong := wrongly_in_parts(manifest):
        raise ReleaseError(f"{path}: {wrong}; ask the publisher for the folder again.")
    if missing := sorted(set(declared) - present):
        raise ReleaseError(
            f"{path}: the file {missing[0]} is missing; ask the publisher for the folder again."
        )
    if added := sorted(present - set(declared)):
        raise ReleaseError(
            f"{path}: the file {added[0]} is not part of the release; remove it or ask the"
            " publisher."
        )
    if unfit := [name for name in sorted(present) if not (path / name).is_file()]:
        raise ReleaseError(
            f"{path}: {unfit[0]} is not a file; ask the publisher for the folder again."
        )
    check_digests(path, manifest, each)


def check_digests(path: Path, manifest: Manifest, each: EachFile = map) -> None:
    """ReleaseError where a file is not the one that the manifest names."""
    for _ in each(partial(_check_digest, path, manifest), range(len(manifest.files))):
        pass


def _check_digest(path: Path, manifest: Manifest, number: int) -> None:
    file = manifest.files[number]
    if digest_of(path / file.name) != file.sha256:
        raise ReleaseError(
            f"{path}: the file {file.name} was changed after it was published (its digest"
            " differs); ask the publisher for it again."
        )


def read_tables(path: Path, manifest: Manifest) -> dict[str, pl.DataFrame]:
    """Every table, from its Parquet file where there is one, else from its CSV, typed as the
    manifest says; of a release in parts, from all of them.
    """
    if manifest.parts:
        _check_parts_fit(path, manifest)
        parts = [read_tables(path, part_of(manifest, n)) for n in range(len(manifest.parts))]
        try:
            return {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
        except pl.exceptions.PolarsError:
            raise ReleaseError(
                f"{path}: its parts do not have the same columns; ask the publisher for the folder"
                " again."
            ) from None
    cls, names = form_class(manifest.form), [f.name for f in manifest.files]
    kept = {c for a in manifest.attributes if a.role == "keep" for c in a.columns}
    tables: dict[str, pl.DataFrame] = {}
    for stem in dict.fromkeys(name.rsplit(".", 1)[0] for name in names):
        unreadable = _unreadable(path, stem)
        with refusing(unreadable):
            if f"{stem}.parquet" in names:
                table = read_parquet(path / f"{stem}.parquet", unreadable)
            else:
                table = read_csv(path / f"{stem}.csv", cls.csv_types(manifest, stem))
            check_names(table.columns, ReleaseError)
            not_ours = {pl.Int128, pl.UInt128, pl.UInt64} & {*table.dtypes}
            if not_ours or any(table[c].dtype.is_decimal() for c in {*table.columns} - kept):
                raise unreadable
        tables[table_of(stem)] = table
    return tables


def _unreadable(path: Path, file: str) -> ReleaseError:
    return ReleaseError(
        f"{path}: the {file} file cannot be read as the manifest describes it; ask the publisher for"
        " it again."
    )


def _check_parts_fit(path: Path, manifest: Manifest) -> None:
    """MachineError where all parts of a release together, and what is worked out of them, are more
    than the memory holds.
    """
    import pyarrow.parquet as pq

    needed = 0
    for file in manifest.files:
        with refusing(_unreadable(path, file.name)):
            needed += _WHOLE * bytes_needed(pq.read_metadata(path / file.name))
    if needed > (room := memory_left()):
        raise MachineError(
            f"{path} takes about {in_words(needed)} of memory as a whole, and {in_words(room)}"
            " are left; 'estimate', 'draw', 'measure' and 'verify' without persons read parts."
        )


def _form(path: Path, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> Form:
    """The form of the manifest's kind; ReleaseError where a table is missing, or one is named that
    the form has not.
    """
    cls = form_class(manifest.form)
    for name, what in DESCRIBED_BY.items():
        described = getattr(manifest, name) is not None
        if (described and cls.described_by != name) or (
            cls.described_by == name != "layout" and not described
        ):
            raise ReleaseError(
                f"{path}: the manifest says {manifest.form} and does not describe its {what} so;"
                " ask the publisher for the folder again."
            )
    needed, allowed = cls.files(manifest)
    if absent := sorted(needed - tables.keys()):
        raise ReleaseError(
            f"{path}: the manifest names no {absent[0]} file; ask the publisher for the folder"
            " again."
        )
    if strange := sorted(tables.keys() - allowed):
        raise ReleaseError(
            f"{path}: the file {strange[0]} is not part of the release; remove it or ask the"
            " publisher."
        )
    return cls.of_folder(manifest, tables)


def read_csv(path: Path, types: Mapping[str, Any], *, infer: bool = True) -> pl.DataFrame:
    """A published CSV file; an empty field is missing and a quoted one is the empty text, as they
    were written.

    Other columns than those in ``types`` have the type that all of their values suggest, or are
    text. Polars leaves the doubled quotes of a header as they are, so names are undoubled here.
    """
    doubled = {name.replace('"', '""'): dtype for name, dtype in types.items()}
    check_size(path, 0, 2 * path.stat().st_size)
    with refusing(
        ReleaseError(
            f"{path} cannot be read as the CSV of a release; ask the publisher for it again."
        )
    ):
        frame = pl.read_csv(
            path,
            infer_schema=infer,
            infer_schema_length=None,
            schema_overrides=doubled,
            try_parse_dates=False,
            glob=False,
        )
    frame.columns = [name.replace('""', '"') for name in frame.columns]
    return _of_numbers(frame, types) if infer else frame


def _of_numbers(frame: pl.DataFrame, types: Mapping[str, Any]) -> pl.DataFrame:
    """A column without a value, which Polars takes for text, is of numbers where ``types`` does not
    name it: of those after it, as both ends of an interval are of one type.
    """
    dtype: Any = pl.Int64
    for name in reversed(frame.columns):
        if name in types:
            dtype = pl.Int64
        elif frame[name].null_count() == frame.height:
            frame = frame.with_columns(pl.col(name).cast(dtype))
        elif frame[name].dtype.is_numeric():
            dtype = frame[name].dtype
    return frame


def _check_form(path: Path, manifest: Manifest, form: Form) -> None:
    tables = form.tables()
    for name, expected in form.headers().items():
        if tables[name].columns != expected:
            raise ReleaseError(
                f"{path}: the columns of {name} are not those of the manifest; ask the publisher"
                " for the folder again."
            )
    stated = {
        "rows": manifest.rows,
        "groups": manifest.groups,
        "counterfeits": manifest.counterfeits,
        "registered": manifest.registered,
    }
    counted = {
        "rows": form.rows,
        "groups": form.groups,
        "counterfeits": form.counterfeit_rows,
        "registered": form.registered_persons,
    }
    for what, number in stated.items():
        if counted[what] != number:
            raise ReleaseError(
                f"{path}: the manifest says {number} {what} and the files hold {counted[what]}; ask"
                " the publisher for the folder again."
            )
