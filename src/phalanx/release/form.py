# SPDX-License-Identifier: Apache-2.0
"""What all published forms have in common: tables to write, attributes to name, and what checks,
adversaries and reports ask of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeVar

import polars as pl

from phalanx.errors import ReleaseError
from phalanx.release.manifest import Manifest, PublishedAttribute

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from phalanx.data.microdata import Microdata

T = TypeVar("T")

DESCRIBED_BY: Final[Mapping[str, str]] = {
    "sliced": "columns",
    "scheme": "scheme",
    "layout": "layout",
}
"""The fields of a manifest that describe one form, and of what; another form's is left out."""


class SensitiveCounts(NamedTuple):
    """How often sensitive values stand in groups: rows of a group, a value, and how many tuples
    they stand for.
    """

    groups: pl.Series
    values: pl.Series | None
    """None where no attribute is sensitive."""
    times: pl.Series | None = None
    """None where every row stands for one tuple."""


class RandomOrder(NamedTuple):
    """A table whose rows stand in the order of their groups, if it has any, and within a group in
    an order that chance gave.
    """

    table: pl.DataFrame
    within: Sequence[str]
    """The columns whose order within a group is random."""
    numbered: Sequence[str]
    """The columns by whose values groups are not numbered."""
    alike: Sequence[str] = ()
    """Those of them in which all rows of a group are alike, as the check of a sound form finds."""


class SortedCounts(NamedTuple):
    """A table of counts that stands in the order of what it says, so that no row of the source has
    a part in it.
    """

    what: str
    """As in ``the counts of column 2 are not in order``."""
    table: pl.DataFrame
    by: Sequence[tuple[str, PublishedAttribute | None]]
    """The columns that it is sorted by, and the attribute whose order counts where it has one of
    its own; a missing value is the least.
    """


class Together(NamedTuple):
    """Attributes that are kept together, and how often their values stand together in each group: a
    table of ``bucket``, their columns, and ``count``.
    """

    names: Sequence[str]
    counts: pl.DataFrame


class Drawing(Protocol):
    """What a form's values were drawn from, private."""

    @classmethod
    def of_frames(cls, frames: Mapping[str, pl.DataFrame], release: int) -> Self | None:
        """What the ledger kept of a release; None where it kept nothing."""


class Form(ABC):
    """A published form, immutable: what stands in the files of a release folder, found by the entry
    point of its kind in the group ``phalanx.forms``.

    What is not abstract has an answer that is right of a table of rows in groups.
    """

    kind: ClassVar[str]
    """The word in the manifest, and the name of its entry point."""
    id_column: ClassVar[str]
    """The column that names a row's group: ``group``, or ``bucket``; empty where there is none."""
    group_word: ClassVar[str] = "group"
    """What people call a group of it; empty where none is published."""
    described_by: ClassVar[str | None] = None
    """The field of the manifest that describes its layout: ``layout``, if any, of a form of another
    package.
    """
    read_as: ClassVar[str] = ""
    """What stands in its files, for the report: one or two sentences."""
    used_for: ClassVar[str] = ""
    """What can be done with it, for the report, in one sentence."""
    why_no_class: ClassVar[str] = "the form is one of another package"
    """Why rows of equal quasi-identifiers are not those among whom a person is found."""
    visible: ClassVar[tuple[str, str] | None] = None
    """What can be seen in it of single persons, for the report, as (headline, sentence); None where
    nothing can.
    """
    drawn_from: "ClassVar[type[Drawing] | None]" = None
    """The type of what its values were drawn from, where chance chose them: private evidence, and
    no draft leaves without it, as its guarantee could not be checked.
    """
    tells_itself_alone: ClassVar[bool] = False
    """Whether nothing but the release may be told of the table, no count and no finding."""

    attributes: tuple[PublishedAttribute, ...]
    table: pl.DataFrame
    """The table that most readers want, one row per tuple."""
    counterfeits: pl.DataFrame | None = None
    """(group, count) of rows that are counterfeits; None where the form has no word of any."""
    registered: pl.DataFrame | None = None
    """(group, count) of registered persons without a row; None where the form has no word of
    any.
    """

    @classmethod
    def expect(cls, form: "Form") -> Self:
        """A form of this kind; ReleaseError where it is of another one."""
        if isinstance(form, cls):
            return form
        raise other_kind(form, [cls.kind])

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many tuples are published, counterfeits among them."""

    @property
    @abstractmethod
    def groups(self) -> int:
        """How many groups there are."""

    @abstractmethod
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """What is written, by the name of the file."""

    @abstractmethod
    def headers(self) -> Mapping[str, list[str]]:
        """The columns that each table must have, by the manifest."""

    @classmethod
    @abstractmethod
    def of_folder(cls, manifest: Manifest, tables: Mapping[str, pl.DataFrame]) -> Self:
        """The form that a folder's tables hold; ReleaseError where they cannot be such a form."""

    @classmethod
    def files(cls, manifest: Manifest) -> tuple[AbstractSet[str], AbstractSet[str]]:
        """The tables that its folder must have, and those that it may have."""
        return {"data"}, {"data"}

    @classmethod
    def csv_types(cls, manifest: Manifest, table: str) -> dict[str, Any]:
        """The types of a table's columns that the values in a CSV file alone do not tell."""
        return {
            column: dtype
            for attribute in manifest.attributes
            for column, dtype in types_of(attribute).items()
        }

    @property
    def is_drawn(self) -> bool:
        """Whether chance chose its values."""
        return self.drawn_from is not None

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

    def manifest_fields(self) -> dict[str, Any]:
        """What the manifest says of this form alone: the field that it is described by."""
        return {}

    def sensitive_counts(self) -> SensitiveCounts:
        """How often each sensitive value stands in each group; asked only of a form that has
        groups.
        """
        return SensitiveCounts(
            self.table[self.id_column],
            None if self.sensitive is None else self.table[self.sensitive],
        )

    def in_random_order(self) -> Iterator[RandomOrder]:
        """The tables whose rows' order is chance's."""
        columns = [column for column in self.table.columns if column != self.id_column]
        yield RandomOrder(self.table, columns, columns if self.id_column else [])

    def in_sorted_order(self) -> Iterator[SortedCounts]:
        """The tables of counts that stand in the order of what they say."""
        yield from ()

    def together(self) -> Sequence[Together]:
        """Which attributes' values stand together, in groups; nothing where values do not stand as
        they are.
        """
        return ()

    def faults(self) -> Sequence[str]:
        """How its files contradict each other or the manifest, one sentence each; of forms of ours
        the checks look for that themselves.
        """
        return ()

    def untrue(self, microdata: "Microdata", groups: "npt.NDArray[np.int64]") -> int | None:
        """How many values of persons are not published as they are: ``groups`` (n,) are where each
        row was published, 0 for a suppressed one.

        None where the form cannot tell; of forms of ours the checks find that out themselves.
        """
        return None

    def view(self, manifest: Manifest) -> Any:
        """What estimates are made from, and what is drawn, as ``phalanx.estimators.view.View``;
        ReleaseError where nothing is. Forms of ours are read by ``phalanx.estimators``.
        """
        raise ReleaseError(
            f"nothing is known of how to estimate from {self.kind} releases; count in its tables,"
            " or ask for a newer version of the package that it was made with."
        )

    def attribute(self, role: str) -> list[PublishedAttribute]:
        """The attributes of one role, in order."""
        return [a for a in self.attributes if a.role == role]

    @property
    def sensitive(self) -> str | None:
        """The sensitive column, or None."""
        return next((a.columns[0] for a in self.attributes if a.role == "sensitive"), None)


def by_kind(form: Form, readers: Mapping[str, T]) -> T:
    """What there is for a form of its kind; ReleaseError where there is nothing."""
    if form.kind not in readers:
        raise other_kind(form, list(readers))
    return readers[form.kind]


def other_kind(form: Form, kinds: Sequence[str]) -> ReleaseError:
    """What is asked is about releases of other kinds."""
    about = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    return ReleaseError(
        f"this is about {about} releases, and this one is {form.kind}; choose what fits its form."
    )


def types_of(attribute: PublishedAttribute) -> dict[str, Any]:
    """The types of one attribute's columns; none for numbers, which are what they look like."""
    *node, _, _ = (
        attribute.columns
        if attribute.role == "quasi" and len(attribute.columns) > 1
        else (None, None)
    )
    of_values = {"categorical": pl.String, "set": pl.String, "date": pl.Date}.get(attribute.type)
    of_nodes = dict.fromkeys((c for c in node if c is not None), pl.String)
    return (dict.fromkeys(attribute.columns, of_values) if of_values is not None else {}) | of_nodes
