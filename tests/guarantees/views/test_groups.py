# SPDX-License-Identifier: Apache-2.0
"""The cells of groups, of single values and of sets of them, against counting by hand."""

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.sets import SEPARATOR
from phalanx.guarantees.views.groups import Groups, places
from phalanx.release.forms.generalized import Generalized
from phalanx.release.manifest import PublishedAttribute

rows = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.one_of(st.none(), st.frozensets(st.sampled_from("abcdef"), max_size=4)),
    ),
    min_size=1,
    max_size=30,
)


def groups_of(told, kind="set"):
    """The groups of rows (group, set); the counterfeits of group 1 are its first row."""
    texts = [None if s is None else SEPARATOR.join(sorted(s)) for _, s in told]
    attribute = PublishedAttribute(name="s", role="sensitive", type=kind, columns=["s"])
    table = pl.DataFrame({"group": [g for g, _ in told], "s": pl.Series(texts, dtype=pl.String)})
    return Groups.of(Generalized(table, (attribute,), pl.DataFrame({"group": [1], "count": [1]})))


def cells(groups):
    ids, values = groups.ids.to_list(), groups.values.to_list()
    return [
        (ids[g], values[v], n)
        for g, v, n in zip(
            groups.cell_group.tolist(),
            groups.cell_value.tolist(),
            groups.cell_count.tolist(),
            strict=True,
        )
    ]


@given(rows)
def test_members_count_the_rows_whose_set_holds_a_value(told):
    """Each cell (group, value, rows) is what counting by hand gives, in order; empty and missing
    sets are in none.
    """
    counted = Counter((g, v) for g, s in told for v in s or ())

    members = groups_of(told).members

    assert cells(members) == [(*cell, n) for cell, n in sorted(counted.items())]


@given(rows)
def test_members_are_of_the_same_groups(told):
    """Ids, sizes and counterfeits are those of the table, also of groups that hold empty sets only,
    and each figure of a group is its own.
    """
    groups = groups_of(told)
    members = groups.members

    assert members.ids.equals(groups.ids)
    assert (members.sizes == groups.sizes).all()
    assert (members.counterfeits == groups.counterfeits).all()
    for place, group in enumerate(groups.ids.to_list()):
        counted = Counter(v for g, s in told if g == group for v in s or ())
        assert members.distinct[place] == len(counted)
        assert members.largest[place] == max(counted.values(), default=0)
        assert members.signature(place) == sorted(counted)
    assert members.totals.sum() == sum(len(s or ()) for _, s in told)


@given(rows)
def test_a_set_is_one_value_to_the_groups_themselves(told):
    """Without looking at members, equal sets are equal values; a missing set is one, and so is the
    empty one.
    """
    counted = Counter((g, None if s is None else SEPARATOR.join(sorted(s))) for g, s in told)

    groups = groups_of(told)

    assert Counter({(g, v): n for g, v, n in cells(groups)}) == counted


def test_members_of_single_values_are_the_values():
    """A categorical attribute is not taken apart, whatever its texts look like; members are
    computed once.
    """
    told = [(1, frozenset("ab")), (1, frozenset("a"))]
    plain, sets = groups_of(told, kind="categorical"), groups_of(told)

    assert plain.members is plain
    assert sets.members is sets.members
    assert sets.members.members is sets.members
    assert cells(sets.members) == [(1, "a", 2), (1, "b", 1)]
    assert cells(plain) == [(1, "a", 1), (1, "a; b", 1)]


def test_places_of_numbers_beyond_a_sign() -> None:
    """Whole numbers that only 64 bits without a sign hold have a place like any other."""
    column = pl.Series("n", [2**63 + 1, 2**63, 2**63 + 1], dtype=pl.UInt64)
    distinct, place = places(column)
    assert distinct.to_list() == [2**63, 2**63 + 1] and place.tolist() == [1, 0, 1]


def test_totals_of_every_value() -> None:
    """How often each value stands in the table, values that are in no set among them; none where
    no attribute is sensitive.
    """
    view = groups_of([(1, {"a", "b"}), (1, {"a"}), (2, set()), (2, None), (2, {"a"})])
    shown = dict(zip(view.values.to_list(), view.totals.tolist(), strict=True))
    assert shown == {None: 1, "": 1, "a": 2, "a; b": 1}
    single = view.members
    shown = dict(zip(single.values.to_list(), single.totals.tolist(), strict=True))
    assert shown == {"a": 3, "b": 1}
    bare = Groups.of(Generalized(pl.DataFrame({"group": [1, 1, 2]}), ()))
    assert (bare.totals.tolist(), bare.sizes.tolist()) == ([], [2, 1])
