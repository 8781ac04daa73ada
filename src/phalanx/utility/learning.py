# SPDX-License-Identifier: Apache-2.0
"""What is learned from a table: how often naive Bayes, trained on it, names the sensitive value of
other people rightly.
"""

import numpy as np

from phalanx.utility.bins import Bins, Coded
from phalanx.utility.losses import counted


def accuracy(training: Coded, others: Coded, target: str, bins: Bins) -> float:
    """The share of rows of ``others`` whose target is named rightly by the rest of the row; counts
    are smoothed by one (Laplace).
    """
    size = bins.size(target)
    values, times = counted(training, [target], [size])
    prior = np.ones(size)
    prior[values] += times
    score = np.tile(np.log(prior), (len(others[target]), 1))
    for name in training:
        if name != target:
            cells, times = counted(training, [target, name], [size, bins.size(name)])
            counts = np.ones((size, bins.size(name)))
            counts.reshape(-1)[cells] += times
            score += np.log(counts / counts.sum(axis=1, keepdims=True)).T[others[name]]
    return float((score.argmax(axis=1) == others[target]).mean())
