# SPDX-License-Identifier: Apache-2.0
"""The manifest of a release folder, ``release.json``: all that may be public about a release, and
nothing else.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from phalanx.data.names import check_names, is_of_a_folder
from phalanx.errors import ReleaseError

NAME = "release.json"
Suppressible = Literal["not-eligible", "changed-value", "no-group", "spent-budget"]
"""Why a method may suppress rows that stand for persons, or only their values (spent budget), where
values decide which.
"""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PublishedAttribute(_Strict):
    """One attribute and the columns of ``data`` in which it stands."""

    name: str
    role: Literal["quasi", "sensitive", "keep", "weight"] = Field(
        description=(
            "weight: the mean survey weight of the group's rows, the same in each of them, to four"
            " digits; of a generalized release only"
        )
    )
    type: Literal["numeric", "categorical", "date", "set"]
    columns: list[str] = Field(
        description=(
            "a generalized quasi-identifier: [low, high], or [node, low, high] where there is a"
            " hierarchy; a recoded attribute in a grid: [low, high]; else the column itself"
        )
    )
    hierarchy: dict[str, Any] | None = Field(
        default=None,
        description=(
            "the hierarchy as declared in the plan, which orders the leaves; without one, values"
            " are ordered by code point"
        ),
    )
    not_applicable: list[str | int | float] = Field(
        default=[],
        description=(
            "of the sensitive attribute: values that say that a person has none, which is taken to"
            " be public; their rows stand in groups of their own, also where groups are not"
            " published, and no promise about sensitive values covers them; left out where there"
            " are none"
        ),
    )


class PublishedFile(_Strict):
    """One file of the folder and its SHA-256."""

    name: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class PublishedPart(_Strict):
    """One part of a release in parts: groups that are published, and can be checked, by
    themselves.
    """

    rows: int = Field(ge=1)
    groups: int = Field(ge=1)
    counterfeits: int = Field(default=0, ge=0, description="left out where there are none")


class Slices(_Strict):
    """How a sliced release is laid out."""

    columns: list[list[str]] = Field(
        description="the attributes of each column; the sensitive attribute stands in the last one"
    )
    compact: bool = Field(
        default=False, description="one table per column, with counts, instead of one table of rows"
    )


class Manifest(_Strict):
    """What a release says about itself."""

    format: Literal["phalanx-release-1"] = "phalanx-release-1"
    series: str
    number: int = Field(ge=1)
    form: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,49}$",
        description=(
            "generalized, sliced, bucketized, perturbed, recoded, or a form of another package"
        ),
    )
    sliced: Slices | None = Field(default=None, description="of a sliced release only")
    scheme: dict[str, Any] | None = Field(
        default=None,
        description=(
            "of a recoded release only: how the recodings were chosen, and for each attribute its"
            " grid (low, high, widths) and level"
        ),
    )
    layout: dict[str, Any] | None = Field(
        default=None,
        description=(
            "of a form of another package only: how its tables are to be read, as that form says"
        ),
    )
    method: dict[str, Any] = Field(description="the method's name and public parameters")
    guarantees: list[dict[str, Any]] = Field(
        description="what is promised: each guarantee's name and parameters"
    )
    attributes: list[PublishedAttribute]
    rows: int = Field(ge=0)
    groups: int = Field(ge=0)
    counterfeits: int = Field(ge=0)
    registered: int = Field(
        default=0,
        ge=0,
        description=(
            "registered persons without a row who are in a group all the same; left out where there"
            " are none"
        ),
    )
    boxes: Literal["tight", "widened", "exact", "fixed"] = Field(
        description=(
            "tight: an interval's ends are values of persons in the group; widened: narrow ones are"
            " snapped to a fixed grid; exact: no value is generalized; fixed: the ends of cells"
            " that follow no person"
        )
    )
    privacy_unit: Literal["person", "record", "household"] = Field(
        default="person",
        description=(
            "whom the promise covers: a person, each record of a person whose value changed, or a"
            " household with all of its members"
        ),
    )
    holds_if_method_known: bool | None = Field(
        default=None,
        description=(
            "whether the guarantees hold also against an adversary who has the method's source code"
            " and runs it on every table that could have been this one; left out where that is not"
            " stated"
        ),
    )
    may_suppress: list[Suppressible] | None = Field(
        default=None,
        description=(
            "why rows may have been suppressed, where their values decide which, as the plan allows"
            " it and whether or not it came to it; no guarantee covers suppressed rows; left out"
            " where that is not stated"
        ),
    )
    not_for_publication: bool = Field(
        default=False,
        description="made with a seed: an adversary who guesses it can undo the random choices",
    )
    files: list[PublishedFile]
    parts: list[PublishedPart] = Field(
        default=[],
        description=(
            "of a table that was published in parts only: each part's rows and groups, whose"
            " numbers follow on those of the part before it; its tables are the files whose names"
            " end in its number, as in data-00001.parquet; left out where there are none"
        ),
    )
    previous: str | None = Field(
        default=None, description="SHA-256 of the previous release's manifest; null for the first"
    )

    def to_bytes(self) -> bytes:
        """The canonical bytes of the manifest: what is written, and what its digest is taken of."""
        absent = {
            name
            for name in ("registered", "sliced", "scheme", "layout", "parts")
            if not getattr(self, name)
        }
        absent |= {
            name
            for name in ("holds_if_method_known", "may_suppress")
            if getattr(self, name) is None
        }
        # so that a release without them is written as before there were any
        fields = self.model_dump(exclude=absent)
        for attribute in fields["attributes"]:
            if not attribute["not_applicable"]:
                del attribute["not_applicable"]
        for part in fields.get("parts", ()):
            if not part["counterfeits"]:
                del part["counterfeits"]
        return (json.dumps(fields, indent=1, ensure_ascii=False, sort_keys=False) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes, where: Path) -> "Manifest":
        """Read and validate; ReleaseError names the first thing that is wrong."""
        try:
            manifest = cls.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            place = place if place.isprintable() else repr(place)
            raise ReleaseError(
                f"{where}: the manifest is not valid at {place} ({first['msg'].lower()}); ask the"
                " publisher for the folder again."
            ) from None
        if manifest.series and not is_of_a_folder(manifest.series):
            raise ReleaseError(
                f"{where}: the manifest has a series name that is no folder's, or that cannot be"
                " shown; ask the publisher for the folder again."
            )
        check_names(
            (
                name
                for attribute in manifest.attributes
                for name in (attribute.name, *attribute.columns)
            ),
            ReleaseError,
        )
        return manifest


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
