"""A release as a folder of files: writing it, and reading it back without believing it."""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from phalanx.errors import ReleaseError
from phalanx.release.generalized import Generalized
from phalanx.release.manifest import NAME, Manifest, PublishedFile, digest

FORMATS: Final = ("parquet", "csv")
COUNTS: Final = ("counterfeits", "registered")
"""The tables of counts by group that may stand beside the data, each a field of the form."""


@dataclass(frozen=True, eq=False)
class Release:
    """What was published once: the manifest and the published form; ``path`` is its folder."""

    manifest: Manifest
    form: Generalized
    path: Path

    @property
    def number(self) -> int:
        """Its place in the series, from 1."""
        return self.manifest.number

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest; the next release names it."""
        return digest(self.manifest.to_bytes())

    @classmethod
    def read(cls, path: str | Path) -> "Release":
        """Read a release folder and check that its files are those of its manifest.

        Raises ReleaseError where a file is missing, added, changed, or does not say what the manifest says.
        """
        path = Path(path)
        if not path.is_dir() or not (path / NAME).is_file():
            raise ReleaseError(f"{path} is not a release folder (it has no {NAME}); name the folder that 'publish' made.")
        content = (path / NAME).read_bytes()
        manifest = Manifest.from_bytes(content, path)
        if content != manifest.to_bytes():
            raise ReleaseError(f"{path}: the manifest is not in the form in which it was published; ask the publisher for the folder again.")
        _check_files(path, manifest)
        table = _read_table(path, manifest, "data")
        counterfeits, registered = (_read_counts(path, manifest, name) for name in COUNTS)
        form = Generalized(table, tuple(manifest.attributes), counterfeits, registered)
        _check_form(path, manifest, form)
        return cls(manifest, form, path)


def write_folder(path: Path, form: Generalized, formats: Sequence[str], **said: Any) -> Manifest:
    """Write the files and the manifest into an empty folder, each flushed to the disk; ``said`` is the rest of the manifest."""
    tables = {name: t for name, t in (("data", form.table), *zip(COUNTS, (form.counterfeits, form.registered), strict=True)) if t is not None}
    files: list[PublishedFile] = []
    for name, table in tables.items():
        for format in formats:
            target = path / f"{name}.{format}"
            _write_table(table, target, format)
            files.append(PublishedFile(name=target.name, sha256=digest(target.read_bytes())))
    manifest = Manifest(
        form="generalized",
        attributes=list(form.attributes),
        rows=form.rows,
        groups=form.groups,
        counterfeits=form.counterfeit_rows,
        registered=form.registered_persons,
        files=files,
        **said,
    )
    _write_bytes(path / NAME, manifest.to_bytes())
    _flush_folder(path)
    return manifest


def _write_table(table: pl.DataFrame, target: Path, format: str) -> None:
    """Plain columns, no dictionary of unused values, no statistics, no metadata beyond the schema."""
    try:
        with target.open("wb") as file:
            if format == "csv":
                table.with_columns(cs.datetime().cast(pl.String)).write_csv(file)  # written as the text that a reader of the other format sees
            else:
                table.write_parquet(file, compression="zstd", compression_level=1, statistics=False)
            file.flush()
            os.fsync(file.fileno())
    except pl.exceptions.PolarsError:  # how its writers tell that the disk is full, in words that differ by format
        raise OSError(errno.EIO, f"{target.name} does not fit, or its disk fails") from None


def _write_bytes(target: Path, content: bytes) -> None:
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


def _check_files(path: Path, manifest: Manifest) -> None:
    present = {entry.name for entry in path.iterdir()} - {NAME}
    declared = [f.name for f in manifest.files]
    if len(set(declared)) < len(declared) or any(Path(name).name != name or not name.endswith((".parquet", ".csv")) for name in declared):
        raise ReleaseError(f"{path}: the manifest names files that no release has; ask the publisher for the folder again.")
    if missing := sorted(set(declared) - present):
        raise ReleaseError(f"{path}: the file {missing[0]} is missing; ask the publisher for the folder again.")
    if added := sorted(present - set(declared)):
        raise ReleaseError(f"{path}: the file {added[0]} is not part of the release; remove it or ask the publisher.")
    if unfit := [name for name in sorted(present) if not (path / name).is_file()]:
        raise ReleaseError(f"{path}: {unfit[0]} is not a file; ask the publisher for the folder again.")
    for file in manifest.files:
        if digest((path / file.name).read_bytes()) != file.sha256:
            raise ReleaseError(f"{path}: the file {file.name} was changed after it was published (its digest differs); ask the publisher for it again.")


def _read_table(path: Path, manifest: Manifest, name: str) -> pl.DataFrame:
    """The table from its Parquet file where there is one, else from its CSV, typed as the manifest says."""
    names = {f.name for f in manifest.files}
    try:
        if f"{name}.parquet" in names:
            return pl.read_parquet(path / f"{name}.parquet", hive_partitioning=False, glob=False)
        if f"{name}.csv" in names:
            return read_csv(path / f"{name}.csv", _csv_types(manifest) if name == "data" else {"group": pl.Int64, "count": pl.Int64})
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise ReleaseError(f"{path}: the {name} file cannot be read as the manifest describes it; ask the publisher for it again.") from None
    raise ReleaseError(f"{path}: the manifest names no {name} file; ask the publisher for the folder again.")


def _read_counts(path: Path, manifest: Manifest, name: str) -> pl.DataFrame | None:
    """A table of counts by group, where the manifest names one."""
    if not any(f.name.startswith(f"{name}.") for f in manifest.files):
        return None
    counts = _read_table(path, manifest, name)
    if counts.columns != ["group", "count"]:
        raise ReleaseError(f"{path}: the columns of {name} are not group and count; ask the publisher for the folder again.")
    return counts


def read_csv(path: Path, types: Mapping[str, Any], *, infer: bool = True) -> pl.DataFrame:
    """A published CSV file; an empty field is missing and a quoted one is the empty text, as they were written.

    Other columns than those in ``types`` have the type that all of their values suggest, or are text. Polars leaves the doubled quotes of a header as
    they are, so names are undoubled here.
    """
    doubled = {name.replace('"', '""'): dtype for name, dtype in types.items()}
    frame = pl.read_csv(path, infer_schema=infer, infer_schema_length=None, schema_overrides=doubled, try_parse_dates=False, glob=False)
    frame.columns = [name.replace('""', '"') for name in frame.columns]
    return frame


def _csv_types(manifest: Manifest) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for attribute in manifest.attributes:
        *node, _, _ = attribute.columns if attribute.role == "quasi" and len(attribute.columns) > 1 else (None, None)
        for column in attribute.columns:
            if attribute.type in ("categorical", "set") or column in node:
                types[column] = pl.String
            elif attribute.type == "date":
                types[column] = pl.Date
    return types


def _check_form(path: Path, manifest: Manifest, form: Generalized) -> None:
    expected = ["group", *(c for a in manifest.attributes for c in a.columns)]
    if form.table.columns != expected:
        raise ReleaseError(f"{path}: the columns of data are not those of the manifest; ask the publisher for the folder again.")
    said = {"rows": manifest.rows, "groups": manifest.groups, "counterfeits": manifest.counterfeits, "registered": manifest.registered}
    found = {"rows": form.rows, "groups": form.groups, "counterfeits": form.counterfeit_rows, "registered": form.registered_persons}
    for what, number in said.items():
        if found[what] != number:
            raise ReleaseError(f"{path}: the manifest says {number} {what} and the files hold {found[what]}; ask the publisher for the folder again.")
