# SPDX-License-Identifier: Apache-2.0
"""What a perturbed release shows: sensitive values as they are, and quasi-identifiers of which any
may have been another.
"""

import numpy as np

from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.view import View
from phalanx.release.folder import Release


def view(release: Release) -> View:
    """One group of all rows. Of quasi-identifiers nothing holds by construction, since groups and
    random output tables are private.

    A point estimate goes by the rows as they were published.
    """
    form = release.form
    n = form.table.height
    one, all_rows = np.zeros(min(n, 1), dtype=np.int64), np.array([n] * min(n, 1), dtype=np.int64)
    facets = [
        Facet(one, all_rows, {a.name: Ends.anything(form.table[a.columns[0]], len(one))})
        for a in form.attribute("quasi")
    ]
    counted = form.table.group_by(form.table.columns, maintain_order=True).len("")
    count, group = counted[""].to_numpy().astype(np.int64), np.zeros(counted.height, dtype=np.int64)
    exact = {a.name: Ends.of_values(counted[a.columns[0]]) for a in form.attributes}
    exact_ends = {a.name: exact[a.name] for a in form.attribute("sensitive")}
    if exact_ends:
        facets.append(Facet(group, count, exact_ends))
    return View(
        "perturbed",
        form.attributes,
        all_rows,
        np.zeros(len(one), dtype=np.int64),
        tuple(facets),
        model="rows as they were published",
        shown=(Facet(group, count, exact),),
    )
