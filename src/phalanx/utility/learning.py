# SPDX-License-Identifier: Apache-2.0
"""What is learned from a table: how often naive Bayes, trained on it, names the sensitive value of
other people rightly.
"""

import numpy as np

from phalanx.utility.bins import Bins, Coded
from phalanx.utility.losses import counted


def accuracy(training: Coded, others: Coded, target: str, bins: Bins) -> float:
    """The share of rows of ``others`` with a value of the target of which it is named rightly by the
    rest of the row; counts are smoothed by one (Laplace). Rows without a value teach nothing, and
    only values are named that some row has; where none has one, none is.
    """
    training, others = (
        {name: codes[rows[target] != 0] for name, codes in rows.items()}
        for rows in (training, others)
    )
    size = bins.size(target)
    values, times = counted(training, [target], [size])
    prior = np.zeros(size)
    prior[values] = 1 + times
    if not len(values) or not len(others[target]):
        return 0.0
    with np.errstate(divide="ignore"):  # what no row has is never named
        score = np.tile(np.log(prior), (len(others[target]), 1))
    for name in training:
        if name != target:
            cells, times = counted(training, [target, name], [size, bins.size(name)])
            counts = np.ones((size, bins.size(name)))
            counts.reshape(-1)[cells] += times
            score += np.log(counts / counts.sum(axis=1, keepdims=True)).T[others[name]]
    return float((score.argmax(axis=1) == others[target]).mean())
