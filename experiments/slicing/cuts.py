# SPDX-License-Identifier: Apache-2.0
"""What the exact check and relaxed cuts bring: buckets, what they lose, and how many of them a
tuple matches.

    PHALANX_DATA=folder python experiments/slicing/cuts.py

*Rows a bucket* is the mean over rows; *loss* the mean over rows and attributes of the interval that
the row's bucket spans, as a share of the domain; *matches* the mean and the largest number of
buckets that a tuple of the table matches; *error* the median relative error of counts of an
occupation and a value of another attribute (sex apart), over random pairs that occur. *Files
alone*: whether the promise can be verified without the table.
"""

import numpy as np
from adult import OCC_7, SENSITIVE, Ints, microdata, publish, show
from membership import utility

from phalanx.data.microdata import Microdata
from phalanx.errors import NotEligible
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.guarantees.slicing.posterior import matches
from phalanx.guarantees.views.sliced import View
from phalanx.methods.slicing.method import Slicing

WAYS = {
    "strict / local": {"check": "local"},
    "strict / exact": {},
    "relaxed / local": {"cuts": "relaxed", "check": "local"},
    "relaxed / exact": {"cuts": "relaxed"},
}
QUERIES = 1000
REST = [name for name in OCC_7 if name != "sex"]
COLUMNS = {
    "{sex, occupation} and the rest": [REST, ["sex", SENSITIVE]],
    "occupation alone and the rest": [OCC_7, [SENSITIVE]],
    "{sex, occupation} and each other alone": [*[[name] for name in REST], ["sex", SENSITIVE]],
    "every attribute alone": [*[[name] for name in OCC_7], [SENSITIVE]],
}


def spans(table: Microdata, buckets: Ints) -> float:
    """The mean over rows and attributes of the bucket's interval, as a share of the domain."""
    order = np.argsort(buckets, kind="stable")
    starts = np.flatnonzero(np.diff(buckets[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    widths = []
    for name in OCC_7:
        places = table.columns[name].domain.normalised[table.columns[name].codes[order]]
        widths.append(
            (np.maximum.reduceat(places, starts) - np.minimum.reduceat(places, starts))
            @ sizes
            / len(order)
        )
    return float(np.mean(widths))


def main() -> None:
    table = microdata(OCC_7)
    for title, columns in COLUMNS.items():
        rows, refused = [], dict[float, str]()
        for l in (2, 3, 3.9, 5, 7, 8):
            for way, parameters in WAYS.items():
                try:
                    draft = publish(Slicing(l=l, columns=columns, **parameters), table, 1)
                except NotEligible as sentence:
                    refused[l] = str(sentence)
                    continue
                view = View.of(draft.form)
                people = np.unique(view.of_people(table, np.arange(table.rows)), axis=0)
                matched = np.bincount(
                    np.concatenate([found.tuple for found in matches(view, people)]),
                    minlength=len(people),
                )
                sizes = np.bincount(draft.groups)
                alone = SlicedDiversity(l=l).check(draft.form)[0].holds
                rows.append(
                    [l, way, draft.form.groups, f"{(sizes.astype(float) ** 2).sum() / sizes.sum():.0f}", f"{spans(table, draft.groups):.3f}",
                     f"{matched.mean():.2f}, {matched.max()}", utility(table, REST, draft.groups, QUERIES)[1], "yes" if alone else "no"]
                )  # fmt: skip
        show(
            title,
            [
                "l",
                "cuts / check",
                "buckets",
                "rows a bucket",
                "loss",
                "matches",
                "error",
                "files alone",
            ],
            rows,
        )
        if refused:
            print(f"From l = {min(refused)} on none: {refused[min(refused)]}\n")


if __name__ == "__main__":
    main()
