# SPDX-License-Identifier: Apache-2.0
"""What is learned from a table: how often naive Bayes, trained on it, names the sensitive value of
other people rightly.
"""

import numpy as np

from phalanx.utility.losses import Bins, Coded


def accuracy(training: Coded, others: Coded, target: str, bins: Bins) -> float:
    """The share of rows of ``others`` whose target is named rightly by the rest of the row; counts
    are smoothed by one (Laplace).
    """
    size = bins.size(target)
    labels = training[target]
    prior = np.bincount(labels, minlength=size) + 1.0
    score = np.tile(np.log(prior), (len(others[target]), 1))
    for name in training:
        if name != target:
            counts = (
                np.bincount(
                    labels * bins.size(name) + training[name], minlength=size * bins.size(name)
                ).reshape(size, -1)
                + 1.0
            )
            score += np.log(counts / counts.sum(axis=1, keepdims=True)).T[others[name]]
    return float((score.argmax(axis=1) == others[target]).mean())
