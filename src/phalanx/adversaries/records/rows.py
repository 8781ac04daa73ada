# SPDX-License-Identifier: Apache-2.0
"""Persons and the rows of a release whose quasi-identifiers are single values, as codes over
domains that hold both.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.release.form import Form

BITS: Final = 62
"""So many attributes have a bit in one whole number."""


@dataclass(frozen=True, eq=False)
class Records:
    """Codes of the quasi-identifiers of all persons in the original table, and of every published
    row.
    """

    domains: tuple[Domain, ...]
    """Those of the original table, and where they have no hierarchy with the values that only the
    release has.
    """
    persons: Ints
    """Shape (p, d)."""
    rows: Ints
    """Shape (n, d); -1 for a value that is in no domain, which no person has."""

    @classmethod
    def of(cls, form: Form, microdata: Microdata) -> "Records":
        """Read a perturbed or bucketized form; ReleaseError where it has no quasi-identifier."""
        attributes = form.attribute("quasi")
        if not attributes:
            raise ReleaseError(
                "the release has no quasi-identifier, so there is nothing to link it by."
            )
        columns = [
            _together(microdata.columns[a.name].domain, form.table[a.columns[0]])
            for a in attributes
        ]
        persons = [
            place[microdata.columns[a.name].codes]
            for a, (_, place, _) in zip(attributes, columns, strict=True)
        ]
        return cls(
            tuple(domain for domain, _, _ in columns),
            np.stack(persons, axis=1),
            np.stack([codes for _, _, codes in columns], axis=1),
        )

    def differ(self, persons: Ints, rows: Ints) -> np.ndarray:
        """On which quasi-identifiers each of some persons differs from the row beside it, shape (m,
        d).
        """
        return np.asarray(self.persons[persons] != self.rows[rows])


def codes_of(domain: Domain, published: pl.Series) -> Ints:
    """The code of every published value in a domain, -1 for one that is not in it, shape (n,)."""
    values, wanted, lost = _alike(domain.values, published)
    codes = _places(values, wanted)
    codes[lost] = -1
    return codes


def _together(domain: Domain, published: pl.Series) -> tuple[Domain, Ints, Ints]:
    """A domain that holds both, the code in it of each of the domain's own values, and that of
    every published value.
    """
    codes = codes_of(domain, published)
    own = np.arange(len(domain))
    if domain.hierarchy is not None or (codes >= 0).all():
        return domain, own, codes
    values, wanted, lost = _alike(domain.values, published)
    kept = wanted.filter(pl.Series(~lost))
    wider = replace(domain, values=pl.concat([values, kept.alias(values.name)]).unique().sort())
    codes = _places(wider.values, wanted)
    codes[lost] = -1
    return wider, _places(wider.values, values), codes


def _alike(values: pl.Series, published: pl.Series) -> tuple[pl.Series, pl.Series, np.ndarray]:
    """Both of one type, and which published values have no counterpart in it; numbers are equal
    whatever their type.
    """
    kind = values.dtype
    if published.dtype != kind and kind.is_numeric() and published.dtype.is_numeric():
        kind = pl.Int64() if kind.is_integer() and published.dtype.is_integer() else pl.Float64()
    wanted = published.cast(kind, strict=False)
    return values.cast(kind), wanted, (wanted.is_null() & published.is_not_null()).to_numpy()


def _places(values: pl.Series, wanted: pl.Series) -> Ints:
    """The place of each wanted value, -1 for none."""
    lookup = pl.DataFrame({"value": values, "place": np.arange(len(values), dtype=np.int64)})
    places = wanted.to_frame("value").join(
        lookup, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["place"]
    return places.fill_null(-1).to_numpy().astype(np.int64)


def bits_of(has: npt.NDArray[np.bool_]) -> Ints:
    """The rows of a table as bits of whole numbers, the first column the lowest of the first;
    ``BITS`` columns have a bit in each of these words, shape (words, m).
    """
    words: list[Ints] = []
    for first in range(0, max(1, has.shape[1]), BITS):
        some = has[:, first : first + BITS].astype(np.int64)
        words.append((some << np.arange(some.shape[1])).sum(axis=1))
    return np.stack(words)
