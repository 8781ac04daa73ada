# SPDX-License-Identifier: Apache-2.0
"""One column of a table, as counts; no values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from phalanx.data import sets
from phalanx.data.column import infer_type
from phalanx.data.not_applicable import is_listed
from phalanx.data.schema import Type
from phalanx.errors import SourceError
from phalanx.profile.dictionary import (
    AMONG_NUMBERS,
    CODES,
    ENDINGS,
    MODIFIERS,
    NOT_APPLICABLE,
    QUASI,
)
from phalanx.profile.scales import scale_of

NEAR_UNIQUE: Final = 0.9
UNIQUE_ROWS: Final = 50
"""Below this many values uniqueness says nothing (as when the table is encoded)."""
_FEW_ROWS: Final = 10
"""But that so many texts are all different, as names are."""

_MOST_CODES: Final = 5
"""So many different codes at most stand among numbers."""
_POSTAL: Final = frozenset({"zip", "zipcode", "postcode", "postal", "plz"})
_ICD: Final = r"^[A-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?$"
"""A code of ICD-10: a letter and two signs are the category, and more make it finer."""


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """One column, as counts; ``role`` is a proposal that errs on the safe side, ``reason`` says
    why.
    """

    name: str
    type: Type
    rows: int
    distinct: int
    """Distinct values, missing not among them; a set is one value."""
    missing: int
    """Rows without a value: null or NaN."""
    most_frequent: int
    """Rows of the most frequent value, a missing one counted as a value; of sets, rows that have
    it.
    """
    near_unique: bool
    """Whether it names people by its mere values: whole numbers or text, nearly as many as rows; in
    sets, values that hardly ever come again.
    """
    prefix: tuple[int, ...] = ()
    """Lengths of a prefix hierarchy for codes of one length, as zip codes and ICD codes are; empty
    for all else.
    """
    scale: tuple[str, ...] = ()
    """Words with an order of their own (months, degrees) where it holds these and no others; the
    words are the scale's, not the table's.
    """
    coded: int = 0
    """Rows with a code in a column of numbers, such as one for "not applicable", which makes it one
    of words.
    """
    inapplicable: int = 0
    """Rows of which the value is not applicable: of those values that are said to be, else of the
    words of a dictionary.
    """
    not_applicable: tuple[str | int | float, ...] = ()
    """The values that are said to be not applicable and that it holds; ``distinct`` and
    ``most_frequent`` are of the others.
    """
    perhaps_not_applicable: tuple[str, ...] = ()
    """Words of the dictionary that it holds, where nothing is said."""
    of_waves: int | None = None
    """Of a panel's sensitive attribute, the largest m that each wave by itself allows."""
    changing: float | None = None
    """Of a panel's sensitive attribute, the share of the persons who recur whose value changes."""
    alike: int = 0
    """Of what says who lives together, the fewest households of one size; 0 for all else."""
    shared: int = 0
    """Of the same, the largest l for which no sensitive value is one of any member's in more than
    1/l of the households of one size.
    """
    role: str = "quasi"
    reason: str = "nothing says that it is harmless"

    @property
    def uniqueness(self) -> float:
        """Distinct values per row."""
        return self.distinct / self.rows

    @property
    def applicable(self) -> int:
        """The rows of which nothing says that the value is not applicable."""
        return self.rows - (self.inapplicable if self.not_applicable else 0)

    @property
    def largest_m(self) -> int:
        """The largest m for which no value has more than 1/m of the rows, of any wave where there
        are waves, at most the number of values.
        """
        if self.of_waves is not None:
            return self.of_waves
        values = self.distinct + (self.missing > 0)
        return min(self.applicable // max(1, self.most_frequent), values)


def words(name: str) -> set[str]:
    """The words of a column's name, small, without digits: ``PatientNbr2`` says patient and nbr,
    ``Hauptdiagnose`` says diagnose, too, and DHS's ``v012`` says age.
    """
    plain = _plain_words(name)
    return plain | {end for end in ENDINGS for word in plain if word.endswith(end)}


def _plain_words(name: str) -> set[str]:
    """The same without the last part of a German compound: ``HIVStatus`` says hiv and status."""
    apart = re.sub(
        r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})", " ", CODES.get(name.lower(), name)
    )
    return {word for word in re.split(r"[\W\d_]+", apart.lower()) if word}


def is_known(name: str) -> bool:
    """Whether a column is called after what others are known to know, and after nothing else:
    ``sex`` and ``sex_at_birth``, but not ``sex_offender``.
    """
    plain = _plain_words(name)
    return bool(plain & QUASI) and plain <= QUASI | MODIFIERS


def counted(
    values: pl.Series, not_applicable: Sequence[str | int | float] | None = None
) -> ColumnProfile:
    """The counts of a column; a date or number in its own order, a timestamp by its day, as it is
    published, all else as text; None where nothing is said of values that are not applicable.
    """
    name, rows = values.name, len(values)
    if (seen := _of_sets(values)) is not None:
        return seen
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object, pl.Time, pl.Duration):
        counts = values.to_frame("value").group_by("value").len()
        blank = ColumnProfile(
            name=name,
            type="categorical",
            rows=rows,
            distinct=counts.height - (values.null_count() > 0),
            missing=values.null_count(),
            most_frequent=max(counts["len"].to_list(), default=0),
            near_unique=False,
        )
        return replace(blank, role="drop", reason="lists, bytes and times cannot be published")
    kind = infer_type(values.dtype)
    values = values.fill_nan(None) if values.dtype.is_float() else values
    if kind == "categorical":
        values = values.cast(pl.String)
    if values.dtype == pl.Datetime:
        values = values.dt.date()
    counts = values.alias("value").value_counts()
    missing = values.null_count()
    coded = _coded(counts, rows - missing) if values.dtype == pl.String else 0
    aside = perhaps = counts.clear()
    if not_applicable:
        listed = is_listed(counts["value"], not_applicable)
        aside, counts = counts.filter(listed), counts.filter(~listed)
    elif not_applicable is None and values.dtype == pl.String:
        words_for_none = AMONG_NUMBERS if coded else NOT_APPLICABLE
        plain = pl.col("value").str.strip_chars().str.to_lowercase()
        perhaps = counts.filter(plain.is_in(words_for_none))
    distinct = counts.height - (missing > 0)
    discrete = values.dtype.is_integer() or values.dtype == pl.String
    whole = values.dtype.is_float() and bool((counts["value"].drop_nulls() % 1 == 0).all())
    return ColumnProfile(
        name=name,
        type=kind,
        rows=rows,
        distinct=distinct,
        missing=missing,
        most_frequent=int(counts["count"].max() or 0),  # type: ignore[arg-type]
        near_unique=(discrete or whole) and _is_near_unique(values, distinct, rows - missing),
        prefix=_prefix(counts["value"], name) if discrete else (),
        scale=scale_of(counts["value"]),
        coded=coded,
        inapplicable=int((aside if len(aside) else perhaps)["count"].sum()),
        not_applicable=tuple(aside["value"].to_list()),
        perhaps_not_applicable=tuple(sorted(perhaps["value"].to_list())),
    )


def _is_near_unique(values: pl.Series, distinct: int, filled: int) -> bool:
    """Whether hardly any of so many values that are there comes again; of few texts, none."""
    few = values.dtype == pl.String and filled >= _FEW_ROWS and distinct == filled
    return few or (filled >= UNIQUE_ROWS and distinct > NEAR_UNIQUE * filled)


def _of_sets(values: pl.Series) -> ColumnProfile | None:
    """The counts of lists, and of texts of which most hold a semicolon and whose parts come again,
    as those of prose do not; None for other columns.
    """
    texts = (
        values.dtype == pl.String
        and 2 * int(values.str.contains(";", literal=True).sum())
        > len(values) - values.null_count()
    )
    if not texts and not sets.holds_sets(values.dtype):
        return None
    try:
        member_values, counts = (
            sets.members(values)["value"],
            sets.canonical(values).alias("value").value_counts(),
        )
    except SourceError:  # its lists hold what cannot be published
        return None
    rare = 2 * member_values.n_unique() > len(member_values)
    if texts and rare:
        return None
    rows, missing = len(values), values.null_count()
    return ColumnProfile(
        name=values.name,
        type="set",
        rows=rows,
        distinct=counts.height - (missing > 0),
        missing=missing,
        most_frequent=max(member_values.value_counts()["count"].to_list(), default=rows),
        near_unique=rare and rows >= UNIQUE_ROWS,
    )


def _coded(counts: pl.DataFrame, texts: int) -> int:
    """How many of so many texts, given as they are counted, are none of the numbers that most are; 0
    where they are of many kinds.
    """
    values = counts["value"]
    others = values.cast(pl.Float64, strict=False).null_count() - values.null_count()
    if not 0 < others <= _MOST_CODES:
        return 0
    value = pl.col("value")
    of_others = value.is_not_null() & value.cast(pl.Float64, strict=False).is_null()
    rows = int(counts.filter(of_others)["count"].sum())
    return rows if 2 * rows < texts else 0


def _prefix(distinct: pl.Series, name: str) -> tuple[int, ...]:
    """Of postal codes and of ICD-10 codes, all of one length: digit by digit, and an ICD code by its
    category and its letter.
    """
    postal = bool(words(name) & _POSTAL)
    some = next((value for value in distinct.head(2).to_list() if value is not None), None)
    if not postal and not (isinstance(some, str) and re.match(_ICD, some)):
        return ()
    codes = distinct.drop_nulls().cast(pl.String)
    lengths = codes.str.len_chars().unique().to_list()
    if len(lengths) != 1 or not 3 <= lengths[0] <= 10:
        return ()
    if postal:
        return (*range(lengths[0], 1, -1), 0)
    of_icd = codes.str.contains(_ICD).all()
    return tuple(dict.fromkeys((lengths[0], 3, 1, 0))) if of_icd else ()
