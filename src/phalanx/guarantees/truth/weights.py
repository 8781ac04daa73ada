# SPDX-License-Identifier: Apache-2.0
"""Whether the published weight of a group is the mean of its rows' weights."""

import math

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.data.weights import group_means, half_units
from phalanx.guarantees.views.groups import Groups, places
from phalanx.release.form import Form

_SLACK = 1e-9
"""A mean may lie so far beyond half a unit of the last digit, in units of it: it is a rounded number
itself.
"""


def published_weights(form: Form) -> Floats | None:
    """The weight of every group, by its place among the ids, shape (g,); None where none is."""
    if not form.attribute("weight"):
        return None
    ids, place = places(form.table[form.id_column])
    means = np.full(len(ids), np.nan)
    means[place] = form.table[form.attribute("weight")[0].columns[0]].to_numpy()
    return means


def wrong_means(form: Form, microdata: Microdata, rows: Ints, at: Ints) -> int:
    """How many groups do not show the mean weight of their rows; none where no weights are
    published, or nothing is known of those of the original table.

    ``rows`` (p,): rows of the microdata, ``at`` (p,): the place of the group of each; groups of
    which none is given are not looked at.
    """
    published = published_weights(form)
    if published is None or microdata.weights is None or not len(rows):
        return 0
    means = group_means(microdata.weights[rows], at, len(published))
    off = np.abs(published - means) > half_units(published) * (1 + _SLACK)
    return int((off & ~np.isnan(means)).sum())


def sum_is_off(form: Form, groups: Groups, microdata: Microdata) -> bool:
    """Whether published weights add up to another sum than those of the original table, of which
    all rows are published: by more than rounding can have changed.
    """
    published = published_weights(form)
    if published is None or microdata.weights is None:
        return False
    total, room = (
        math.fsum((groups.sizes * part).tolist()) for part in (published, half_units(published))
    )
    whole = math.fsum(microdata.weights.tolist())
    return abs(total - whole) > room + _SLACK * whole
