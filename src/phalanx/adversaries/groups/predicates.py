# SPDX-License-Identifier: Apache-2.0
"""Regions that a release names, and for each the predicate that most probably holds for one row and
has a low weight.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phalanx.adversaries.candidates import Values
from phalanx.adversaries.groups.meeting import meeting
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
        for a in range(len(self.below)):
            weight *= self.share_on(a, low[..., a], high[..., a])
        return weight

    def share_on(self, a: int, low: Ints, high: Ints) -> Floats:
        """The share of one attribute's codes from ``low`` to ``high``; 0 where there are none."""
        below = self.below[a]
        last, first = (np.clip(end, 0, len(below) - 1) for end in (high + 1, low))
        return np.maximum(below[last] - below[first], 0)

    def narrowed(self, low: Ints, high: Ints) -> Iterator[tuple[int, Ints, Ints, Floats]]:
        """Boxes of shape (t, d) with one end alone of one attribute in the place of its interval,
        where that is more than a code: the attribute, which of the boxes, the end's code, and the
        weight.

        All attributes but one are multiplied once for all of them, so that the work grows with
        their number and not with its square.
        """
        d = len(self.below)
        after = np.ones((d + 1, len(low)))
        for a in reversed(range(d)):
            after[a] = after[a + 1] * self.share_on(a, low[:, a], high[:, a])
        before = np.ones(len(low))
        for a in range(d):
            at = np.flatnonzero(low[:, a] < high[:, a])
            for end in (low[at, a], high[at, a]):
                yield a, at, end, before[at] * self.share_on(a, end, end) * after[a + 1, at]
            before *= self.share_on(a, low[:, a], high[:, a])

    def others(self, tried: Ints) -> Floats:
        """How many rows of other regions are expected to lie in each of these, shape (t,): those
        whose boxes reach into theirs, by the shares.
        """
        expected, own_share = np.zeros(len(tried)), self.share(self.low, self.high)
        each = self.rows / np.where(own_share > 0, own_share, 1)
        for at, theirs in meeting((self.low[tried], self.high[tried]), (self.low, self.high)):
            ours = tried[at]
            both = self.share(
                np.maximum(self.low[ours], self.low[theirs]),
                np.minimum(self.high[ours], self.high[theirs]),
            )
            rows = np.where(ours == theirs, 0, both * each[theirs])
            expected += np.bincount(at, weights=rows, minlength=len(tried))
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
        options = _Options.of(regions, tried)
        light = np.flatnonzero((options.weight <= most) & (options.weight > 0))
        order = light[
            np.lexsort(
                (options.weight[light], -np.round(options.likely[light], 6), options.region[light])
            )
        ]
        first = order[np.diff(options.region[order], prepend=-1) > 0]
        region, attribute = tried[options.region[first]], options.attribute[first]
        low, high = regions.low[region], regions.high[region]  # copies
        at_end = np.flatnonzero(attribute != _ANY)
        for ends in (low, high):
            ends[at_end, attribute[at_end]] = options.end[first][at_end]
        return cls(low, high, options.value[first], options.bit[first], options.weight[first])


@dataclass(frozen=True, eq=False)
class _Options:
    """Everything that may be asked of regions, a question in each place; its box is that of the
    region, but for one attribute at most.
    """

    region: Ints
    """Which of those that are tried."""
    likely: Floats
    """How probably each holds for exactly one row."""
    weight: Floats
    value: Ints
    """The sensitive value (-1: any)."""
    bit: Floats
    attribute: Ints
    """The attribute of which an end alone is asked for (-1: none), and the end's code."""
    end: Ints

    @classmethod
    def of(cls, regions: Regions, tried: Ints) -> "_Options":
        """All of these regions."""
        low, high = regions.low[tried], regions.high[tried]
        rows, number = np.maximum(regions.rows[tried], 1), np.arange(len(tried))
        weight, others = regions.share(low, high), regions.others(tried)
        bit, any_of = 1 / rows, np.full(len(tried), _ANY)
        likely = _once(rows, bit) * np.exp(-others * bit)
        parts = [(number, likely, weight * bit, any_of, bit, any_of, any_of)]
        place = np.full(len(regions), -1, dtype=np.int64)
        place[tried] = number
        cells = np.flatnonzero(place[regions.cell_region] >= 0)
        if len(cells):
            at, value = place[regions.cell_region[cells]], regions.cell_value[cells]
            count = regions.cell_count[cells].astype(np.float64)
            bit, share, whole = 1 / count, regions.of_value[value], np.full(len(cells), _ANY)
            likely = _once(count, bit) * np.exp(-others[at] * share * bit)
            parts.append((at, likely, weight[at] * share * bit, value, bit, whole, whole))
        for a, boxes, ends, shares in regions.narrowed(low, high) if regions.tight else ():
            several = rows[boxes] > 1
            at, end, narrow = boxes[several], ends[several], shares[several]
            part = narrow / np.where(weight[at] > 0, weight[at], 1)
            likely = (
                _once(rows[at], part)
                / np.maximum(1 - (1 - part) ** rows[at], 1e-12)
                * np.exp(-others[at] * part)
            )
            any_of, on = np.full(len(at), _ANY), np.full(len(at), a)
            parts.append((at, likely, narrow, any_of, np.ones(len(at)), on, end))
        return cls(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _once(rows: Floats, share: Floats) -> Floats:
    """How probably exactly one of so many rows has what each has with such a probability."""
    return np.asarray(
        rows * share * np.where(rows > 1, (1 - np.minimum(share, 1)) ** (rows - 1), 1)
    )
