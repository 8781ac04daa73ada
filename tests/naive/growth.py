# SPDX-License-Identifier: Apache-2.0
"""The slow twin of the growth adversary: for each group, all rows and all cells are looked at."""

import numpy as np

from phalanx.adversaries.series import growth
from phalanx.adversaries.series.growing import Demand, Group, reached
from phalanx.arrays import in_order
from phalanx.guarantees.views.groups import Groups


def attacked(release, evidence, survival):
    """All groups of a release with a protected value, as the adversary goes through them."""
    microdata, place = growth._placed(release, evidence)
    groups, promise = Groups.of(release).members, growth._promise(release)
    passes, lasts = promise.passes(groups.values), promise.lasts(groups.values)
    persons, values = microdata.persons.to_list(), groups.values.to_list()
    positions = np.stack(
        [column.domain.normalised[column.codes] for column in microdata.quasi], axis=1
    )
    demand = Demand.of(release.manifest.method)
    asked = {
        value: demand.ratio(np.array([survival[value].get(p, 1.0) for p in persons]))
        for value, counts in zip(values, passes.tolist(), strict=True)
        if counts
    }
    cell = np.flatnonzero(passes[groups.cell_value])
    protecting = np.bincount(groups.cell_group[cell], minlength=len(groups)) > 0
    # rows of cohorts stand where they stood before; they are no person's neighbours
    cohort = np.bincount(groups.cell_group[lasts[groups.cell_value]], minlength=len(groups)) > 0
    taken_at = np.where(place >= 0, np.where(protecting, groups.sizes, 0)[place], 0)
    holds = growth._held(microdata)
    after = []
    by_place = in_order(place)
    starts = np.searchsorted(place[by_place], np.arange(len(groups) + 1))
    for g in np.flatnonzero(protecting).tolist():
        rows = by_place[starts[g] : starts[g + 1]]
        size = int(groups.sizes[g])
        mine = cell[groups.cell_group[cell] == g]
        here = {values[int(groups.cell_value[i])]: int(groups.cell_count[i]) for i in mine.tolist()}
        after += [
            (value, persons[row], 1 - count / size)
            for value, count in here.items()
            for row in rows.tolist()
        ]
        if cohort[g] or size < 2:
            continue
        free = np.flatnonzero((taken_at < size) & (place != g) & ~(cohort[place] & (place >= 0)))
        demanded = np.max([count * asked[value] for value, count in here.items()], axis=0)
        sizes = reached(
            Group(
                positions[rows],
                positions[free],
                demanded[rows],
                demanded[free],
                single=sum(here.values()) == 1,
            ),
            demand,
        )
        has_value = np.array(
            [
                any(value in here for value in holds[microdata.sensitive.codes[row]])
                for row in rows.tolist()
            ]
        )
        pressing = demanded[rows] >= demanded[rows].max() - growth._ROUNDING
        best, possible = sizes == sizes.max(), int((sizes == size - 1).sum())
        best &= demanded[rows] >= demanded[rows][best].max() - growth._ROUNDING
        yield growth._Named(
            names=[persons[row] for row in rows[best].tolist()],
            candidates=possible or size,
            members=size,
            right=float(has_value[best].mean()),
            promised=float(has_value.mean()),
            by_past=float(has_value[pressing].mean()),
            clear=possible == 1,
        )
    for value, person, factor in after:
        survival[value][person] = survival[value].get(person, 1.0) * factor
