"""What all published forms have in common: tables to write, attributes to name, and groups (buckets) that persons are published in."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from phalanx.release.manifest import Kind, PublishedAttribute


class Form(ABC):
    """A published form, immutable: what stands in the files of a release folder."""

    kind: ClassVar[Kind]
    """The word in the manifest."""
    id_column: ClassVar[str]
    """The column that names a row's group: ``group``, or ``bucket``."""
    attributes: tuple[PublishedAttribute, ...]
    table: pl.DataFrame
    """The table that most readers want, one row per tuple."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many tuples are published, counterfeits among them."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many groups there are."""

    @property
    def has_intervals(self) -> bool:
        """Whether some quasi-identifier is generalized."""
        return any(len(a.columns) > 1 for a in self.attribute("quasi"))

    @property
    def counterfeit_rows(self) -> int:
        """How many of the rows are counterfeits."""
        return 0

    @property
    def registered_persons(self) -> int:
        """How many registered persons are in the groups without a row."""
        return 0

    @abstractmethod
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """What is written, by the name of the file."""

    @abstractmethod
    def headers(self) -> Mapping[str, list[str]]:
        """The columns that each table must have, by the manifest."""

    def manifest_fields(self) -> dict[str, Any]:
        """What the manifest says of this form alone."""
        return {}

    def attribute(self, role: str) -> list[PublishedAttribute]:
        """The attributes of one role, in order."""
        return [a for a in self.attributes if a.role == role]

    @property
    def sensitive(self) -> str | None:
        """The sensitive column, or None."""
        return next((a.columns[0] for a in self.attributes if a.role == "sensitive"), None)
