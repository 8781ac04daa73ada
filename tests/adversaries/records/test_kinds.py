# SPDX-License-Identifier: Apache-2.0
"""Groups count by the unlike persons and unlike rows in them, and a budget by their pairs."""

import numpy as np
import pytest

from phalanx.adversaries import Omniscient
from phalanx.adversaries.records import kinds, omniscient
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.series import bounds
from support.perturbed_cases import people, random_drawing


def crowds(rng):
    """Two groups in which all persons are unlike, and one of many alike."""
    unlike = [(i, f"z{i}", "mn"[i % 2], "st"[i % 2]) for i in range(24)]
    alike_ = [(90, "same", "m", "st"[i % 2]) for i in range(60)]
    microdata = people([*unlike, *alike_], persons=True)
    groups = np.repeat([0, 1, 2], [12, 12, 60])
    drawing = random_drawing(microdata, groups, rng)
    return microdata, drawing


def test_groups_beyond_the_budget_are_left_out_and_said():
    """A group counts by the unlike persons and rows in it: of 60 alike persons it takes less than
    of 12 unlike ones. Groups that the budget does not suffice for are left out, which is said; where
    it suffices for none, that is an error.
    """
    microdata, drawing = crowds(np.random.default_rng(2))
    release, evidence = drawing.publish(
        microdata, drawing.draw(microdata, np.random.default_rng(3))
    )
    drawn = DrawnRows.of(evidence.parts[1], evidence.microdata[1], release.form, evidence.rows[1])
    persons, rows = kinds.kinds_of(drawn)
    few, *_, most = sorted(kinds.pairs_by_group(persons, rows).tolist())
    assert (few, most) == (kinds.pairs_by_group(persons, rows)[2], 144)
    everybody = Omniscient(work=1 << 22).attack([release], evidence)
    some = Omniscient(work=few * 8).attack([release], evidence)
    assert (everybody.persons, everybody.note.count("budget")) == (84, 0)
    assert (some.persons, some.sample) == (60, 60)
    assert some.note.startswith(
        "60 of 84 persons were drawn, by groups; larger groups are beyond the budget"
    )
    with pytest.raises(
        omniscient.TooLargeError, match=f"leaves {few} pairs or more .* suffices for {few - 1}"
    ):
        Omniscient(work=few * 8 - 1).attack([release], evidence)


def test_a_page_leaves_out_whom_its_budget_does_not_suffice_for(monkeypatch):
    """Of groups that are too large for it the omniscient adversary is not played, and the others
    are; where a plan bounds it, it is.
    """
    microdata, drawing = crowds(np.random.default_rng(2))
    release, evidence = drawing.publish(
        microdata, drawing.draw(microdata, np.random.default_rng(3))
    )
    monkeypatch.setattr(bounds, "_STATES", 1)
    played = [each.adversary for each in bounds.disclosed(release, evidence, {}, shown=True)]
    bound = {"omniscient": "1/2"}
    asked, alone = (
        [each.adversary for each in bounds.disclosed(release, evidence, bound, shown=shown)]
        for shown in (True, False)
    )
    assert (played, asked) == (["informed", "linkage"], ["omniscient", "informed", "linkage"])
    assert alone == ["omniscient"]
