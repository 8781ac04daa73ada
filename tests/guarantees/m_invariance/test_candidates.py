# SPDX-License-Identifier: Apache-2.0
"""Which values the public view leaves a person, beside going through all groups."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from guarantees.m_invariance.test_guarantee import PEOPLE, microdata_of, release_of, verdicts_of
from naive import guarantees as naive
from phalanx.guarantees.views.boxes import candidate_sets
from phalanx.guarantees.views.groups import Groups
from phalanx.release.evidence.evidence import Evidence


@settings(max_examples=120, deadline=None)
@given(PEOPLE, st.randoms(use_true_random=False))
def test_candidate_sets_against_the_slow_twin(rows, dice):
    """The candidate sets are the values of all groups whose box holds the person, missing values
    included.
    """
    people = {f"p{i}": row for i, row in enumerate(rows)}
    names = list(people)
    dice.shuffle(names)
    cut = dice.randint(1, len(names))
    release = release_of(1, people, [g for g in (names[:cut], names[cut:]) if g])
    table = release.form.table
    values = Groups.of(release).values.to_list()
    number = np.arange(len(values))
    distinct, whose = candidate_sets(microdata_of(people), release.form, number, len(values))
    sets = distinct[whose]
    for i, (age, code, own) in enumerate(rows):
        expected = {
            row[5]
            for row in table.rows()
            if naive.in_interval(age, row[1], row[2]) and naive.in_interval(code, row[3], row[4])
        }
        assert {value for v, value in enumerate(values) if int(sets[i, 0]) >> v & 1} == expected
        assert own in expected


def test_a_value_that_comes_later_is_left_to_no_one_who_was_there_before():
    """The first release holds 64 values, all that a word has room for; in the second the first
    person stands beside a value of the next word.
    """
    first = {f"p{i}": (i // 16, i % 16, f"d{i % 64:02}") for i in range(128)}
    second = {"p0": first["p0"], "new": (0, 1, "d64")}
    series = [
        release_of(1, first, [[f"p{i}", f"p{i + 1}"] for i in range(0, 128, 2)]),
        release_of(2, second, [["p0", "new"]]),
    ]
    evidence = Evidence(microdata={1: microdata_of(first), 2: microdata_of(second)})
    assert verdicts_of(series, evidence=evidence)["candidate sets by box"].worst == 1
