# SPDX-License-Identifier: Apache-2.0
"""The downcoding adversary: minimal boxes, wide ones, a slow twin, and what its guess is worth
without minimality.
"""

from math import log, sqrt
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversaries.groups.test_posterior import WORKED, encoded, published
from naive import downcoding as naive
from phalanx import Downcoding, Mondrian, Schema, Tree
from phalanx.adversaries.groups import downcoding
from phalanx.adversaries.groups.ends import Ends
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.errors import ReleaseError
from phalanx.methods.base import Memory
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.generalized import generalize
from phalanx.release.forms.recoded import Recoded

KEY = PersonKey(bytes(32))
QUASI = ["a", "b", "c"]
LEAVES = Tree.of_mapping({"first": list("mnop"), "last": list("qrst")})


def release(form, boxes="tight", method=None):
    """A form as a release of its own whose manifest says of its boxes what it is told to."""
    made = published("generalized", encoded(WORKED), [0] * 8)
    told = {
        "attributes": list(form.attributes),
        "rows": form.rows,
        "groups": form.groups,
        "boxes": boxes,
        "form": form.kind,
        "method": method or {"name": "by hand"},
    }
    manifest = made.manifest.model_copy(update=told)
    return type(made)(manifest, form, made.path)


def table(n=2000, seed=1, **hierarchies):
    """Persons whose attributes go each its own way; b is a leaf of a tree."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "a": rng.integers(18, 90, n),
            "b": rng.choice(list("mnopqrst"), n),
            "c": rng.integers(0, 400, n),
            "s": rng.choice(list("uvwxyz"), n),
        }
    )
    schema = Schema(
        identifier="who",
        quasi=QUASI,
        sensitive="s",
        types={"a": "numeric", "c": "numeric"},
        hierarchies=hierarchies,
    )
    return Microdata.encode(frame, schema, KEY)


def attacked(microdata, method, boxes="tight", *, mapping=True):
    """What the adversary finds in what the method publishes of the table; with ``mapping``, by the
    ledger's word of who is where.
    """
    draft = method.publish(microdata, Memory(), Randomness.seeded(1))
    made = release(draft.form, boxes, method.parameters())
    mapped = (
        {1: pl.DataFrame({"person": microdata.persons, "group": draft.groups})} if mapping else {}
    )
    return Downcoding().attack([made], Evidence(groups=mapped, microdata={1: microdata})), draft


@pytest.mark.parametrize("mapping", [True, False])
@pytest.mark.parametrize(
    "method", [Mondrian(k=5), Mondrian(k=5, l=2, cuts="strict")], ids=["k", "l"]
)
def test_minimal_boxes_are_downcoded(method, mapping):
    """Of tight boxes two records of a group are narrowed, all of them rightly, and far more often
    than the guess is right by chance: beyond the interval.
    """
    found, draft = attacked(table(b=LEAVES), method, mapping=mapping)

    assert found.narrowed == found.exposed == 2 * draft.form.groups
    assert found.interval[0] > 3 * found.baseline
    assert found.histogram[1] == found.narrowed
    assert sum(found.histogram.values()) == found.persons == 2000


def test_wide_boxes_are_not():
    """Of boxes that are snapped to a grid wider than they are, no end is a record's, and nothing is
    claimed.
    """
    found, _ = attacked(
        table(b=LEAVES), Mondrian(k=5, min_width={"a": 100, "b": 8, "c": 1000}), "widened"
    )

    assert (found.narrowed, found.exposed, found.success, found.baseline) == (0, 0, 0, 0)
    assert "boxes were widened" in found.note


def test_a_fixed_scheme_is_not():
    """Cells of a fixed scheme follow no record: the note says so."""
    microdata = table()
    found = Downcoding().attack(
        [release(Recoded(pl.DataFrame({"a": ["*"] * 9}), (), {}))],
        Evidence(microdata={1: microdata}),
    )

    assert (found.persons, found.narrowed, found.exposed) == (2000, 0, 0)
    assert "does not follow the rows" in found.note


@pytest.mark.parametrize("seed", range(3))
def test_the_guess_without_minimality(seed):
    """In boxes that follow no record the guess is right as often as the baseline says.

    Each group's ends are between 0 and 2 right ones, independently, so that by Hoeffding's
    inequality the sum is off by more than sqrt(2 g ln(2 / alpha)) with probability alpha; alpha is
    1e-6. Tight boxes are off by more.
    """
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(30))
    low = rng.integers(0, 20, 800)
    codes = np.stack([low, low + rng.integers(1, 10, 800)], axis=1)
    sizes = rng.integers(2, 9, 800)
    groups = [
        rng.choice(np.arange(a, b + 1), n, p=share[a : b + 1] / share[a : b + 1].sum())
        for (a, b), n in zip(codes, sizes, strict=True)
    ]
    right = sum(
        int((records == end).any())
        for records, ends in zip(groups, codes, strict=True)
        for end in ends
    )
    attribute, chance = downcoding.guesses(codes[:, None, :], sizes, [share])
    allowed = sqrt(2 * len(groups) * log(2 / 1e-6))

    assert (attribute == 0).all()
    assert abs(right - chance.sum()) < allowed
    assert 2 * len(groups) - chance.sum() > allowed


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 1), st.integers(0, 3)),
        min_size=2,
        max_size=14,
    )
)
@settings(max_examples=150, deadline=None)
def test_the_twin_agrees(rows):
    """Records narrowed, those narrowed rightly, and the baseline are those of the slow twin,
    whatever the groups.
    """
    values = [(a, "xyzuvw"[b], "mn"[c], "s") for a, b, c, _ in rows]
    buckets = np.unique([g for *_, g in rows], return_inverse=True)[1]
    microdata = encoded(values, persons=True)
    made = published("generalized", encoded(values), buckets)
    own = [microdata.columns[name].codes.tolist() for name in QUASI]
    records = list(zip(*own, strict=True))
    expected = naive.narrowed(
        [
            [r for r, b in zip(records, buckets, strict=True) if b == g]
            for g in range(buckets.max() + 1)
        ],
        own,
    )
    mapping = {
        1: pl.DataFrame(
            {"person": microdata.persons, "group": published_ids(values, buckets)[buckets]}
        )
    }
    found = Downcoding().attack([made], Evidence(groups=mapping, microdata={1: microdata}))

    assert (found.narrowed, found.exposed) == expected[:2]
    assert found.baseline == pytest.approx(float(expected[2]) / len(rows))
    assert found.narrowed == sum(found.by_attribute.values())


def published_ids(values, buckets):
    """The id of each bucket in the form that `published` makes, by the same seed."""
    microdata = encoded(values)
    return generalize(
        microdata,
        np.arange(microdata.rows),
        np.asarray(buckets, dtype=np.int64),
        Randomness.seeded(1).stream("small"),
    )[1]


def test_what_is_missing_is_named():
    """One sentence for several releases, a form without boxes, a person who fits into several
    groups, and a mapping of another release.
    """
    microdata = encoded(WORKED, persons=True)
    one, evidence = (
        published("generalized", encoded(WORKED), [0, 1] * 4),
        Evidence(microdata={1: microdata}),
    )
    with pytest.raises(ReleaseError, match="one release at a time, and 2 are given"):
        Downcoding().attack([one, one], evidence)
    with pytest.raises(ReleaseError, match="a bucketized release has none"):
        Downcoding().attack([published("bucketized", microdata, [0, 1] * 4)], evidence)
    with (  # before the ends are looked at
        mock.patch.object(Ends, "of", side_effect=AssertionError),
        pytest.raises(ReleaseError, match="into several of release 1; name its ledger"),
    ):
        Downcoding().attack([one], evidence)
    wrong = {1: pl.DataFrame({"person": microdata.persons, "group": [7] * 8})}
    with pytest.raises(ReleaseError, match="does not fit the files of release 1"):
        Downcoding().attack([one], Evidence(groups=wrong, microdata={1: microdata}))


def test_the_json_has_the_documented_keys():
    """Those of every attack, and its own."""
    found, _ = attacked(table(300), Mondrian(k=5))
    keys = [
        "adversary",
        "knows",
        "persons",
        "exposed",
        "success",
        "baseline",
        "candidates",
        "note",
        "interval",
        "narrowed",
        "groups",
        "by_attribute",
    ]
    assert list(found.to_json()) == keys
