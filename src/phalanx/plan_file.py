# SPDX-License-Identifier: Apache-2.0
"""What may stand in a plan's file: its sections and keys, and one sentence about what may not."""

import os
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    model_validator,
)

from phalanx.data.schema import Missing, Type
from phalanx.data.sources.dialects import Decimal, Dialect, Encoding, Separator
from phalanx.errors import PlanError, did_you_mean, without_passwords

Name = Annotated[StrictStr, StringConstraints(min_length=1)]
Number = StrictInt | StrictFloat
SeriesName = Annotated[StrictStr, StringConstraints(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")]
Format = Literal["parquet", "csv"]
_MOST_DOTS: Final = 2000
"""So many dots may stand between two equals signs on one line: the time to read a key grows with
the square of its dots.
"""


def write_new(path: Path, text: str) -> None:
    """Write a plan where nothing is, whole or not at all, for its owner alone where there is a
    password in it; OSError where something is, or where it cannot be written.

    Raises PlanError for a name of a file that is not UTF-8, which a plan must be.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise PlanError(
            "the plan would name a file whose name is not UTF-8; rename that file."
        ) from None
    mode = 0o666 if text == without_passwords(text) else 0o600
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with ExitStack() as undoing:
        undoing.callback(path.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        undoing.pop_all()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SeriesSection(_Section):
    """Which series of releases this is."""

    name: SeriesName = Field(
        description=(
            "Names the series in the ledger and its folder: letters, digits, '-', '_', '.', at most"
            " 100."
        )
    )


class TableSection(_Section):
    """Where a table comes from: a file, or a database and a query."""

    path: Name | None = Field(
        default=None, description="A CSV, TSV, Parquet or Arrow file, relative to the plan."
    )
    url: Name | None = Field(
        default=None, description="sqlite:///file.db (relative to the plan) or postgresql://…."
    )
    query: Name | None = Field(
        default=None, description="The query whose rows are the table; needs url."
    )
    separator: Separator | None = Field(
        default=None,
        description=(
            "What stands between the values of a CSV file; a comma by default, and a tab in a .tsv."
        ),
    )
    decimal: Decimal | None = Field(
        default=None,
        description=(
            "What stands before the decimals of numbers in a CSV file; a point by default, and a file"
            " of numbers with commas is refused."
        ),
    )
    encoding: Encoding | None = Field(
        default=None,
        description="How a CSV file has letters as bytes; UTF-8 by default. Latin-1 is windows-1252.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise ValueError("needs either path, or url with query; give one of them")
        if (self.url is None) != (self.query is None):
            raise ValueError("needs url and query together; give both or neither")
        of_csv = self.model_fields_set & set(Dialect._fields)
        if self.url is not None and of_csv:
            raise ValueError(f"has {min(of_csv)}, which is of a CSV file only; remove it")
        return self

    @property
    def dialect(self) -> Dialect:
        """How the table is written where it is a CSV file; what is not stated is not guessed."""
        tabs = (self.path or "").lower().removesuffix(".gz").endswith(".tsv")
        return Dialect(
            self.separator or ("\t" if tabs else ","),
            self.decimal,
            self.encoding or Dialect().encoding,
        )


class RegistrySection(TableSection):
    """Persons whom an adversary knows, some of whom are absent from the microdata: a table with the
    identifier and all quasi-identifiers.
    """


class SourceSection(TableSection):
    """Where the microdata come from: a file, or a database and a query."""

    wave: Name | None = Field(
        default=None,
        description=(
            "The column that says of which wave a row is, where the table holds several: each wave"
            " is a release of its own."
        ),
    )
    registry: RegistrySection | None = Field(
        default=None,
        description="Persons whom an adversary knows; of use to global-guarantee only.",
    )


class HierarchySection(_Section):
    """One hierarchy: prefix lengths, band widths, a tree, or an order that is counted."""

    prefix: list[StrictInt] | None = Field(
        default=None, description="Characters kept per level, falling to 0."
    )
    bands: list[Number] | None = Field(
        default=None, description="Widths of bands of numbers, each a multiple of the one before."
    )
    tree: StrictStr | dict[str, Any] | list[list[Any]] | None = Field(
        default=None,
        description="A CSV or TOML file relative to the plan, nested tables, or paths.",
    )
    order: Literal["frequency"] | None = Field(
        default=None,
        description="The most frequent value of a quasi-identifier first, as the first release has it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _path_or_table(cls, declared: Any) -> Any:
        if isinstance(declared, str):
            return {"tree": declared}
        if not isinstance(declared, dict):
            raise ValueError(
                "must be a table such as { prefix = [5, 3, 0] }, or the path of a tree"
            )
        return declared

    @model_validator(mode="after")
    def _one_kind(self) -> "HierarchySection":
        if len(self.model_fields_set) != 1:
            raise ValueError("needs exactly one of prefix, bands, tree and order; keep one")
        return self


class SchemaSection(_Section):
    """The role of every column."""

    identifier: Name | None = Field(
        default=None, description="Says who a row is about; never published."
    )
    cluster: Name | None = Field(
        default=None,
        description=(
            "Says which household a row is of, whose rows then count as one; never published."
        ),
    )
    quasi: list[Name] = Field(
        min_length=1,
        description="What an adversary may know about a person; published as intervals.",
    )
    sensitive: Name | None = Field(default=None, description="What no person may be linked with.")
    weight: Name | None = Field(
        default=None,
        description=(
            "Survey weights, numbers above 0 that others may know and that were not calculated from"
            " the sensitive attribute; published as one mean for each group. Of use to mondrian"
            " only."
        ),
    )
    keep: list[Name] = Field(default=[], description="Published as they are.")
    drop: list[Name] = Field(default=[], description="Left out.")
    types: dict[str, Type] = Field(
        default={}, description="Types that differ from what the data suggest."
    )
    missing: Missing | dict[str, Missing] = Field(
        default="refuse",
        description=(
            "'refuse' missing values, or take missing as a 'value'; one word, or one per column."
        ),
    )
    hierarchies: dict[str, HierarchySection] = Field(
        default={}, description="A hierarchy per column, or the path of one."
    )
    not_applicable: list[StrictStr | StrictInt | StrictFloat] = Field(
        default=[],
        description=(
            "Sensitive values that say that a person has none, which is public; rows with these"
            " stand in groups of their own."
        ),
    )


class MethodSection(BaseModel):
    """How to publish: the method's name; all other keys are its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: Name


class PublishSection(_Section):
    """Where the releases go."""

    to: Name = Field(description="The folder of the releases, relative to the plan.")
    formats: list[Format] = Field(
        default=["parquet"], min_length=1, description="What the tables are written as."
    )
    engine: Literal["local", "out-of-core", "spark"] | None = Field(
        default=None,
        description=(
            "local: the table is in memory; out-of-core: it is published in parts that fit; by"
            " default one of these, as an estimate of the memory says; spark: on Apache Spark."
        ),
    )
    spark_master: Name | None = Field(
        default=None,
        description=(
            "Where Spark runs, in its own words: 'local[4]', 'spark://host:7077'; by default on"
            " this machine."
        ),
    )
    memory_limit: Name | None = Field(
        default=None,
        description=(
            "What the process may take, as '4 GiB', or each worker of Spark; by default what the"
            " machine, its container and the limits of the process leave, and 2 GiB for a worker."
        ),
    )

    report: StrictBool = Field(
        default=True, description="Whether each release gets its page, in the folder reports."
    )
    adversaries: StrictBool = Field(
        default=True,
        description=(
            "Whether adversaries are played for that page; one that [method.bounds] names always is."
        ),
    )

    @model_validator(mode="after")
    def _a_folder(self) -> Self:
        if "@" in self.to.partition(":")[2]:
            raise ValueError("has the ':' and '@' of a database's address in to; name a folder")
        return self


class LedgerSection(_Section):
    """The private record of series."""

    url: Name | None = Field(
        default=None,
        description=(
            "sqlite:///file.db (relative to the plan; the default is named after the series) or"
            " postgresql://…."
        ),
    )


class PlanFile(_Section):
    """The sections of a plan."""

    series: SeriesSection
    source: SourceSection
    schema_: SchemaSection = Field(alias="schema")
    method_: MethodSection = Field(alias="method")
    publish: PublishSection
    ledger: LedgerSection = LedgerSection()


def parsed(text: str, path: Path) -> PlanFile:
    """The sections that a plan's text has; PlanError where a key is unknown or its value wrong."""
    if any(part.count(".") > _MOST_DOTS for line in text.splitlines() for part in line.split("=")):
        raise PlanError(
            f"the plan {str(path)!r} has a line of more than {_MOST_DOTS} dots; break it into"
            " several lines."
        )
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise PlanError(
            f"the plan {str(path)!r} is not TOML: {_with_line(wrong, text)}; repair it there."
        ) from None
    try:
        return PlanFile.model_validate(data)
    except ValidationError as wrong:
        raise PlanError(f"in the plan {str(path)!r} {_sentence(wrong)}") from None


_SECTIONS: dict[tuple[str, ...], type[BaseModel]] = {
    (): PlanFile,
    ("series",): SeriesSection,
    ("source",): SourceSection,
    ("source", "registry"): RegistrySection,
    ("schema",): SchemaSection,
    ("publish",): PublishSection,
    ("ledger",): LedgerSection,
}


_EXPECTED = {
    "string_type": "must be text in quotes",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "list_type": 'must be a list, as in ["age", "zip"]',
    "dict_type": "must be a table of columns",
    "model_type": "must be a section of its own",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
}


_NO_ROLES = {
    **dict.fromkeys(
        ("household", "households"),
        "the column that says who lives together is named by 'cluster'; write that",
    ),
    "weights": "the column that says how many a row stands for is named by 'weight'; write that",
}
"""What is asked of other tools, and what to do instead."""


def _sentence(wrong: ValidationError) -> str:
    """The first unknown key, else the deepest error, as one sentence without the value (a plan may
    hold a password).
    """
    error = min(
        wrong.errors(include_url=False, include_input=False),
        key=lambda e: (
            e["type"] != "extra_forbidden",
            -len(_place(e["loc"])),
            e["type"] == "dict_type",
        ),
    )
    *above, key = _place(error["loc"])
    section = f"[{'.'.join(above)}]" if above else "the top level"
    match error["type"]:
        case "extra_forbidden":
            keys = _known(tuple(above))
            no_role = _NO_ROLES.get(key) if above == ["schema"] else None
            return (
                f"{section} {key} is no role, as {no_role}."
                if no_role
                else f"{section} has an unknown key"
                f" {key!r}{did_you_mean(key, keys) or '; it takes ' + ', '.join(keys) + '.'}"
            )
        case "missing":
            return (
                f"{section} needs the key {key!r}; add it."
                if above
                else f"there is no section [{key}]; add it."
            )
        case "string_pattern_mismatch":
            return (
                f"{section} {key} may hold letters, digits, '-', '_' and '.' only, at most 100, and"
                " not begin with '.'; choose another name."
            )
        case "value_error":
            return f"[{'.'.join([*above, key])}] {error['msg'].removeprefix('Value error, ')}."
        case "literal_error":
            return f"{section} {key} must be {error['ctx']['expected']}; write one of them."
        case other:
            return (
                f"{section} {key} {_EXPECTED.get(other, 'has a value of the wrong kind')};"
                " correct it."
            )


def _place(loc: tuple[int | str, ...]) -> list[str]:
    """Where in the file: keys only, without the validator's own words for alternatives and without
    places in lists.
    """
    if loc[:2] == ("schema", "hierarchies"):
        loc = loc[:4]
    if loc[:2] == ("schema", "missing"):
        loc = (*loc[:2], *loc[3:4])
    return [
        str(part) for i, part in enumerate(loc) if not (isinstance(part, int) and i == len(loc) - 1)
    ]


def _known(above: tuple[str, ...]) -> list[str]:
    model = (
        HierarchySection
        if above[:2] == ("schema", "hierarchies")
        else _SECTIONS.get(above, PlanFile)
    )
    return [field.alias or name for name, field in model.model_fields.items()]


def _with_line(wrong: Exception, text: str) -> str:
    text_of_error = (
        str(wrong)
        if isinstance(wrong, tomllib.TOMLDecodeError)
        else "it nests too deeply or holds a number that is too long"
    )
    if "(at end of document)" in text_of_error:
        text_of_error = text_of_error.replace(
            "(at end of document)", f"(at line {text.count(chr(10)) + 1}, the end)"
        )
    return text_of_error[:1].lower() + text_of_error[1:]
