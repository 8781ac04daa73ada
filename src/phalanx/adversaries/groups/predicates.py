# SPDX-License-Identifier: Apache-2.0
"""Regions that a release names, and for each the predicate that most probably holds for one row and
has a low weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phalanx.adversaries.candidates import Values
from phalanx.arrays import Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.exact import bounded
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.consistency.recoded import Images
from phalanx.guarantees.views.boxes import box_ends, codes_of_ends
from phalanx.guarantees.views.groups import Groups
from phalanx.release.folder import Release
from phalanx.release.form import by_kind
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.recoded import Recoded

_AT_ONCE: Final = 1 << 22
"""Pairs of regions that are compared at once."""
_ANY: Final = -1
_LOOSE: Final = False
"""No end need be a row's value."""


@dataclass(frozen=True, eq=False)
class Regions:
    """What a release says of its rows without saying whose they are: so many rows lie in a box of
    codes, and have these sensitive values.
    """

    names: Sequence[str]
    """The attributes of the boxes."""
    low: Ints
    """The first and the last code of every region on every attribute, shape (g, d)."""
    high: Ints
    rows: Floats
    """How many rows of the original table lie there, shape (g,); of a sample, how many are
    expected.
    """
    tight: bool
    """Whether every end is some row's value."""
    cell_region: Ints
    """Where sensitive values are known: the region, the code and the count of each."""
    cell_value: Ints
    cell_count: Ints
    below: Sequence[Floats]
    """For every attribute the share of the original table with a code below each, and at the end
    1.
    """
    of_value: Floats
    """The share of every sensitive value, by code; empty where there is none."""

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def of(cls, release: Release, microdata: Microdata) -> "Regions":
        """Those of a generalized, bucketized or recoded release; ReleaseError for other ones."""
        read = {
            "generalized": cls._of_generalized,
            "bucketized": cls._of_bucketized,
            "recoded": cls._of_recoded,
        }
        return by_kind(release.form, read)(release, microdata)

    @classmethod
    def _of_generalized(cls, release: Release, microdata: Microdata) -> "Regions":
        form = Generalized.expect(release.form)
        groups = Groups.of(form)
        low, high = (
            np.stack(side, axis=1) for side in zip(*box_ends(microdata, form), strict=True)
        )
        region, value, count = (np.zeros(0, dtype=np.int64),) * 3
        if groups.values is not None and microdata.schema.sensitive is not None:
            domain = microdata.sensitive.domain.values
            numbered = Values.of([domain, groups.values])
            code = np.full(len(numbered.domain), _ANY, dtype=np.int64)
            code[numbered.places(domain)] = np.arange(len(domain))
            value = code[numbered.places(groups.values)][groups.cell_value]
            # a counterfeit's value is no person's, so that what is counted with one is not known
            is_original = (value != _ANY) & (groups.counterfeits[groups.cell_group] == 0)
            region, value, count = (
                groups.cell_group[is_original],
                value[is_original],
                groups.cell_count[is_original],
            )
        tight = release.manifest.boxes == "tight" and not release.manifest.registered
        rows = (groups.sizes - groups.counterfeits).astype(np.float64)
        names = [a.name for a in form.attribute("quasi")]
        return cls(names, low, high, rows, tight, region, value, count, *_shares(names, microdata))

    @classmethod
    def _of_bucketized(cls, release: Release, microdata: Microdata) -> "Regions":
        form = Bucketized.expect(release.form)
        names = [a.name for a in form.attribute("quasi")]
        counted = form.table.group_by(names, maintain_order=True).len("\0rows")
        ends = [
            codes_of_ends(microdata.columns[name].domain, counted[name], counted[name])
            for name in names
        ]
        low, high = (np.stack(side, axis=1) for side in zip(*ends, strict=True))
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            names,
            low,
            high,
            counted["\0rows"].to_numpy().astype(np.float64),
            _LOOSE,
            nothing,
            nothing,
            nothing,
            *_shares(names, microdata),
        )

    @classmethod
    def _of_recoded(cls, release: Release, microdata: Microdata) -> "Regions":
        form = Recoded.expect(release.form)
        if faults := form_faults(form):
            raise ReleaseError(
                f"the release contradicts itself ({faults[0]}); see what 'phalanx verify' says"
                " of it."
            )
        images, names = Images.of(form), [a.name for a in form.attributes]
        spans = []
        for recoding, (cells, place), name in zip(
            images.recodings, images.cells, names, strict=True
        ):
            first, last = recoding.codes(cells, microdata.columns[name].domain)
            spans.append((first[place], last[place]))
        low, high = (np.stack(side, axis=1) for side in zip(*spans, strict=True))
        sampled = float(bounded(release.manifest.method.get("beta", 1), "beta", 0, 1))
        if not sampled:
            raise ReleaseError(
                "the manifest says that no row was sampled; ask the publisher again."
            )
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            names,
            low,
            high,
            images.counts / sampled,
            _LOOSE,
            nothing,
            nothing,
            nothing,
            *_shares(names, microdata),
        )

    def share(self, low: Ints, high: Ints) -> Floats:
        """The weight of boxes, as the product of the attributes' shares: ``low``, ``high`` of shape
        (…, d); 0 where a box is empty.
        """
        weight = np.ones(low.shape[:-1])
        for a, below in enumerate(self.below):
            last = np.clip(high[..., a] + 1, 0, len(below) - 1)
            weight *= np.maximum(below[last] - below[np.clip(low[..., a], 0, len(below) - 1)], 0)
        return weight

    def others(self, tried: Ints) -> Floats:
        """How many rows of other regions are expected to lie in each of these, shape (t,): those
        whose boxes reach into theirs, by the shares.
        """
        expected, own_share = np.zeros(len(tried)), self.share(self.low, self.high)
        step = max(1, _AT_ONCE // max(len(self), 1))
        for start in range(0, len(tried), step):
            part = tried[start : start + step]
            meet = part[:, None] != np.arange(len(self))
            for a in range(self.low.shape[1]):
                meet &= (self.low[part, a, None] <= self.high[:, a]) & (
                    self.high[part, a, None] >= self.low[:, a]
                )
            ours, theirs = np.nonzero(meet)
            both = self.share(
                np.maximum(self.low[part[ours]], self.low[theirs]),
                np.minimum(self.high[part[ours]], self.high[theirs]),
            )
            rows = both / np.where(own_share[theirs] > 0, own_share[theirs], 1) * self.rows[theirs]
            expected[start : start + step] = np.bincount(ours, weights=rows, minlength=len(part))
        return expected


def _shares(names: Sequence[str], microdata: Microdata) -> tuple[list[Floats], Floats]:
    """The share of every code of the attributes, summed up, and that of every sensitive value."""
    below = [
        np.concatenate(
            [
                [0.0],
                np.cumsum(np.bincount(column.codes, minlength=len(column.domain)) / microdata.rows),
            ]
        )
        for column in (microdata.columns[name] for name in names)
    ]
    if microdata.schema.sensitive is None:
        return below, np.zeros(0)
    return (
        below,
        np.bincount(microdata.sensitive.codes, minlength=len(microdata.sensitive.domain))
        / microdata.rows,
    )


@dataclass(frozen=True, eq=False)
class Predicates:
    """Predicates, one for a region: in a box, with a sensitive value (-1: any), and with a random
    bit that is below ``bit``.
    """

    low: Ints
    high: Ints
    value: Ints
    bit: Floats
    weight: Floats
    """How probably a person drawn from the population satisfies each."""

    def __len__(self) -> int:
        return len(self.low)

    @classmethod
    def best(cls, regions: Regions, tried: Ints, most: float) -> "Predicates":
        """For each of these regions the predicate of a weight of at most ``most`` that holds for
        one row most probably; of several, the lightest.

        Regions of which every predicate is heavier have none.
        """
        options = _options(regions, tried)
        light = np.flatnonzero((options.weight <= most) & (options.weight > 0))
        order = light[
            np.lexsort(
                (options.weight[light], -np.round(options.likely[light], 6), options.region[light])
            )
        ]
        first = order[np.diff(options.region[order], prepend=-1) > 0]
        made = options.predicates
        return cls(
            made.low[first],
            made.high[first],
            made.value[first],
            made.bit[first],
            options.weight[first],
        )


@dataclass(frozen=True, eq=False)
class _Options:
    """Everything that may be asked of regions."""

    region: Ints
    likely: Floats
    """How probably each holds for exactly one row."""
    predicates: Predicates

    @property
    def weight(self) -> Floats:
        return self.predicates.weight


def _options(regions: Regions, tried: Ints) -> _Options:
    low, high, rows = regions.low[tried], regions.high[tried], np.maximum(regions.rows[tried], 1)
    weight, others = regions.share(low, high), regions.others(tried)
    number = np.arange(len(tried))
    bit = 1 / rows
    parts = [
        (
            number,
            _once(rows, bit) * np.exp(-others * bit),
            Predicates(low, high, np.full(len(tried), _ANY), bit, weight * bit),
        )
    ]
    place = np.full(len(regions), -1, dtype=np.int64)
    place[tried] = number
    cells = (
        np.flatnonzero(place[regions.cell_region] >= 0)
        if len(regions.cell_region)
        else np.zeros(0, dtype=np.int64)
    )
    if len(cells):
        at, value, count = (
            place[regions.cell_region[cells]],
            regions.cell_value[cells],
            regions.cell_count[cells].astype(np.float64),
        )
        bit, share = 1 / count, regions.of_value[value]
        made = Predicates(low[at], high[at], value, bit, weight[at] * share * bit)
        parts.append((at, _once(count, bit) * np.exp(-others[at] * share * bit), made))
    for a in range(low.shape[1]) if regions.tight else ():
        for end in (low, high):
            at = np.flatnonzero((low[:, a] < high[:, a]) & (rows > 1))
            ends_low, ends_high = low[at].copy(), high[at].copy()
            ends_low[:, a] = ends_high[:, a] = end[at, a]
            narrow = regions.share(ends_low, ends_high)
            part = narrow / np.where(weight[at] > 0, weight[at], 1)
            likely = (
                _once(rows[at], part)
                / np.maximum(1 - (1 - part) ** rows[at], 1e-12)
                * np.exp(-others[at] * part)
            )
            parts.append(
                (
                    at,
                    likely,
                    Predicates(
                        ends_low, ends_high, np.full(len(at), _ANY), np.ones(len(at)), narrow
                    ),
                )
            )
    every = [predicates for _, _, predicates in parts]
    together = Predicates(
        *(
            np.concatenate([getattr(each, name) for each in every])
            for name in ("low", "high", "value", "bit", "weight")
        )
    )
    return _Options(
        np.concatenate([at for at, _, _ in parts]),
        np.concatenate([likely for _, likely, _ in parts]),
        together,
    )


def _once(rows: Floats, share: Floats) -> Floats:
    """How probably exactly one of so many rows has what each has with such a probability."""
    return np.asarray(
        rows * share * np.where(rows > 1, (1 - np.minimum(share, 1)) ** (rows - 1), 1)
    )
