# SPDX-License-Identifier: Apache-2.0
"""Attributes that tell most of each other, together (Li, Li, Zhang, Molloy, "Slicing", section
4.1.2).
"""

import builtins
import sys
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any, Final

import numpy as np

from phalanx.arrays import Floats

_MOST_SWAPS: Final = 1000
"""PAM swaps while that helps; with so few points it stops long before."""


def clusters(matrix: Floats, columns: int) -> list[list[int]]:
    """The places of the attributes of every cluster, none empty, by their phi^2 of shape (d, d)."""
    if columns == 0:
        return []
    distance = np.ascontiguousarray(1 - matrix, dtype=np.float64)
    np.fill_diagonal(distance, 0)
    clustering = _k_medoids().pam(distance, columns, max_iter=_MOST_SWAPS, init="build")
    medoids = [
        int(medoid) for medoid in clustering.medoids
    ]  # fewer than asked for where that comes to the same distance
    of_medoid = {medoid: [medoid] for medoid in medoids}
    away = {}
    for place in sorted(set(range(len(matrix))) - set(medoids)):
        medoid = medoids[int(clustering.labels[place])]
        of_medoid[medoid].append(place)
        away[place] = float(distance[place, medoid])
    for place in sorted(away, key=lambda place: (-away[place], place))[: columns - len(medoids)]:
        of_medoid[medoids[int(clustering.labels[place])]].remove(place)
        of_medoid[place] = [place]
    return list(of_medoid.values())


@cache
def _k_medoids() -> Any:
    """The package of that name, without what it makes for scikit-learn, which takes a second to load
    where it is installed. It bears a name of ours, so that all others find it whole.
    """

    def load(name: str, *where: Any) -> Any:
        if name.partition(".")[0] == "sklearn":
            raise ImportError(name=name)  # what it then does without
        return builtins.__import__(name, *where)

    package = find_spec("kmedoids")
    spec = package and spec_from_file_location(f"{__name__}.kmedoids", package.origin)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(name="kmedoids")
    module = sys.modules[spec.name] = module_from_spec(spec)
    vars(module)["__builtins__"] = vars(builtins) | {"__import__": load}
    spec.loader.exec_module(module)
    return module
