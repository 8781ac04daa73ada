# SPDX-License-Identifier: Apache-2.0
"""What a bucketized release shows: the quasi-identifiers of every row, and the sensitive values of
its bucket.
"""

import numpy as np

from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.view import View
from phalanx.release.folder import Release
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.sliced import BUCKET, COUNT


def view(release: Release) -> View:
    """Two facets of exact values; which row of a bucket has which sensitive value is not said."""
    form = Bucketized.expect(release.form)
    ids, rows = np.unique(form.table[BUCKET].to_numpy(), return_counts=True)
    quasi = (
        form.table.group_by(form.table.columns, maintain_order=True).len("")
        if "" not in form.table.columns
        else form.table
    )
    counts = quasi[""].to_numpy().astype(np.int64)
    named = {a.name: Ends.of_values(quasi[a.columns[0]]) for a in form.attribute("quasi")}
    sensitive = form.values[str(form.sensitive)]
    facets = (
        Facet(np.searchsorted(ids, quasi[BUCKET].to_numpy()), counts, named),
        Facet(
            np.searchsorted(ids, form.values[BUCKET].to_numpy()),
            form.values[COUNT].to_numpy().astype(np.int64),
            {str(form.sensitive): Ends.of_values(sensitive)},
        ),
    )
    return View(
        "bucketized",
        form.attributes,
        rows.astype(np.int64),
        np.zeros(len(ids), dtype=np.int64),
        facets,
        model="values of a bucket meet by chance, or as all buckets together tell",
        dealt=True,
    )
