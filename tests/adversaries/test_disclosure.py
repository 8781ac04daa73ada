# SPDX-License-Identifier: Apache-2.0
"""What an adversary that links records is judged by: the record that it would name, which for one
with probabilities is the most probable.
"""

import numpy as np
import pytest

from phalanx.adversaries import Informed, Omniscient
from phalanx.series.bounds import beyond
from support.perturbed_cases import people, random_drawing


@pytest.fixture(scope="module")
def attacked():
    """What both adversaries of mutual cover found out of one release."""
    rng = np.random.default_rng(4)
    microdata = people(
        [(int(rng.integers(4)), "xy"[i % 2], "mn"[i // 5 % 2], "stu"[i % 3]) for i in range(200)]
    )
    drawing = random_drawing(microdata, np.arange(200) // 5, rng)
    release, evidence = drawing.publish(microdata, drawing.draw(microdata, rng))
    return [adversary.attack([release], evidence) for adversary in (Informed(), Omniscient())]


def test_an_adversary_names_the_row_that_it_believes_in_most(attacked):
    """Who picks one of the nearest rows names so many rightly as it picks; who has probabilities
    names the most probable row, and is right more often.
    """
    informed, omniscient = attacked
    assert informed.named_rightly == (informed.identity, informed.identity_interval)
    assert omniscient.named_rightly == (omniscient.named, omniscient.named_interval)
    assert omniscient.named > omniscient.identity


def test_a_bound_is_about_the_row_that_is_named(attacked):
    """A bound between drawing a row by its probabilities and naming the most probable one is
    exceeded; one at the latter is kept.
    """
    omniscient = attacked[1]
    assert (
        beyond([omniscient], {"omniscient": (omniscient.identity + omniscient.named) / 2})
        is omniscient
    )
    assert beyond([omniscient], {"omniscient": omniscient.named}) is None
