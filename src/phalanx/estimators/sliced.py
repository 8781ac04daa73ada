# SPDX-License-Identifier: Apache-2.0
"""What a sliced release shows: of every bucket, which values stand together in each of its
columns.
"""

import numpy as np

from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.view import View
from phalanx.release.folder import Release
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced


def view(release: Release) -> View:
    """A facet for each column; values that were generalized are intervals, whose ends are
    a person's of the table and perhaps of no row of the bucket.
    """
    form = Sliced.expect(release.form)
    by_name = {a.name: a for a in form.attributes}
    ids = form.sizes[BUCKET].to_numpy()
    facets = []
    for names, part in zip(form.columns, form.parts, strict=True):
        ends = {}
        for name in names:
            columns = by_name[name].columns
            ends[name] = (
                Ends.of_values(part[columns[0]])
                if len(columns) == 1
                else Ends.of_interval(part[columns[-2]], part[columns[-1]])
            )
        facets.append(
            Facet(
                np.searchsorted(ids, part[BUCKET].to_numpy()),
                part[COUNT].to_numpy().astype(np.int64),
                ends,
            )
        )
    dealt = release.manifest.method.get("grouping") == "random"
    rows = form.sizes[COUNT].to_numpy().astype(np.int64)
    return View(
        "sliced",
        form.attributes,
        rows,
        np.zeros(len(ids), dtype=np.int64),
        tuple(facets),
        model="columns of a bucket meet by chance"
        + (", or as all buckets together tell" if dealt else ""),
        dealt=dealt,
    )
