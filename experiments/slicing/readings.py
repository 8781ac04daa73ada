# SPDX-License-Identifier: Apache-2.0
"""What relaxed cuts with the exact check leave: how many persons have a value with more than 1/l,
by each way to weigh the buckets that they match.

    PHALANX_DATA=folder python experiments/slicing/readings.py [--uncounted]

By *shares*: every bucket alike, as the paper has it. By *rows*: every published row alike. By
*counting*: in the mean of all ways to put everybody into buckets. ``--uncounted`` makes the buckets
as they would be if the exact check asked for shares and rows only.
"""

import argparse
import time
from unittest import mock

import diabetes
import numpy as np
from adult import OCC_7, SENSITIVE, microdata, publish, show

from phalanx.adversaries import Posterior
from phalanx.data.microdata import Microdata
from phalanx.errors import NotEligible
from phalanx.methods.slicing import cuts
from phalanx.methods.slicing.method import Slicing
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

COLUMNS = {
    "OCC-7, two columns": [[name for name in OCC_7 if name != "sex"], ["sex", SENSITIVE]],
    "OCC-7, three columns": [
        ["age", "race"],
        ["workclass", "education", "marital_status"],
        ["sex", SENSITIVE],
    ],
    "diabetes130, two columns": [
        [name for name in diabetes.QUASI if name != "gender"],
        ["gender", diabetes.SENSITIVE],
    ],
    "diabetes130, three columns": [
        ["race", "age", "admission_type"],
        ["time_in_hospital", "number_diagnoses"],
        ["gender", diabetes.SENSITIVE],
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--uncounted", action="store_true")
    if parser.parse_args().uncounted:
        with mock.patch.object(
            cuts, "above", lambda coded, *_: np.zeros(coded.distinct.shape[1], dtype=bool)
        ):
            figures()
        return
    figures()


def figures() -> None:
    tables: dict[str, Microdata] = {"OCC-7": microdata(OCC_7)}
    if diabetes.there():
        tables["diabetes130"] = diabetes.first_encounters()
    rows = []
    for title, columns in COLUMNS.items():
        table = tables.get(title.split(",")[0])
        for l in (2, 3) if table is not None else ():
            began = time.perf_counter()
            try:
                form = publish(Slicing(l=l, columns=columns, cuts="relaxed"), table, 1).form
            except NotEligible:
                continue
            seconds = time.perf_counter() - began
            about = {
                "series": "s",
                "number": 1,
                "method": {},
                "guarantees": [],
                "boxes": "exact",
                "not_for_publication": True,
                "files": [],
            }
            manifest = Manifest(
                form="sliced",
                attributes=list(form.attributes),
                rows=form.rows,
                groups=form.groups,
                counterfeits=0,
                **form.manifest_fields(),
                **about,
            )
            found = Posterior(bound=f"1/{l}").attack(
                [Release(manifest, form, None)], Evidence(microdata={1: table})
            )
            rows.append(
                [
                    title,
                    l,
                    form.groups,
                    *(f"{of.above}, {of.largest:.4f}" for of in found.readings.values()),
                    f"{seconds:.1f}",
                ]
            )
    header = [
        "table",
        "l",
        "buckets",
        "by shares: persons above 1/l, largest",
        "by rows",
        "by counting",
        "seconds",
    ]
    show("Relaxed cuts, exact check", header, rows)


if __name__ == "__main__":
    main()
