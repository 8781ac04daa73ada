# SPDX-License-Identifier: Apache-2.0
"""The kernels of slicing against their slow twins: the local check, the exact one after every cut,
and matching buckets.
"""

import inspect
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive import mondrian, slicing
from phalanx.methods.mondrian.kernels import cuts as kernel
from phalanx.methods.slicing.kernels import exact_cuts
from phalanx.methods.slicing.kernels.exact_cuts import cut_exact
from phalanx.methods.slicing.kernels.local_cuts import cut_local, keeps

NOT_ABOUT_CLOSENESS = np.empty(0, np.int64), np.empty((1, 0), np.int32), np.empty((1, 0), np.int64)


@dataclass(frozen=True)
class Table:
    """Rows of attributes' codes, where a code lies in [0, 1], each row's value in every column, and
    its sensitive value.
    """

    rows: list[tuple[int, ...]]
    places: list[list[float]]
    values: list[tuple[int, ...]]
    sensitive: list[int]

    def arrays(self) -> tuple[Any, ...]:
        """Attributes, positions and offsets as the kernels take them."""
        offsets = np.cumsum([0, *map(len, self.places)]).astype(np.int64)
        return (
            np.array(self.rows, np.int32).T,
            np.concatenate([np.array(p, np.float64) for p in self.places]),
            offsets,
        )

    def cells(self) -> tuple[Any, ...]:
        """Each row's cell, and what cells stand for, in order."""
        pairs = [(value[-1], s) for value, s in zip(self.values, self.sensitive, strict=True)]
        return about(pairs, qs=max(q for q, _ in pairs) + 1)


def about(pairs: list[tuple[int, int]], qs: int) -> tuple[Any, ...]:
    distinct = sorted(set(pairs))
    first = [sum(q < wanted for q, _ in distinct) for wanted in range(qs + 1)]
    of_row = np.array([distinct.index(pair) for pair in pairs], np.int32)
    return (
        of_row,
        np.array([q for q, _ in distinct], np.int32),
        np.array([s for _, s in distinct], np.int32),
        np.array(first, np.int64),
    )


def numbered(items: list[Any]) -> list[int]:
    known = sorted(set(items))
    return [known.index(item) for item in items]


@st.composite
def tables(draw: st.DrawFn, most: int = 30, values: int = 4) -> Table:
    """Few values, so that ties and several matching buckets abound; attributes are dealt out to
    columns, the last of which may have none.
    """
    d = draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 5)) for _ in range(d)]
    places = [[i / max(1, size - 1) for i in range(size)] for size in sizes]
    n = draw(st.integers(1, most))
    rows = [tuple(draw(st.integers(0, size - 1)) for size in sizes) for _ in range(n)]
    c = draw(st.integers(1, 4))
    column_of = [draw(st.integers(0, c - 1)) for _ in range(d)]
    parts = [
        numbered(
            [tuple(v for v, j in zip(row, column_of, strict=True) if j == column) for row in rows]
        )
        for column in range(c)
    ]
    return Table(
        rows,
        places,
        list(zip(*parts, strict=True)),
        draw(st.lists(st.integers(0, values - 1), min_size=n, max_size=n)),
    )


def generated(seed: int, n: int = 24) -> Table:
    """A table in two columns with a sensitive column of one attribute, of few values, for what must
    be found among many tables.
    """
    rng = np.random.default_rng(seed)
    rows = [tuple(row) for row in rng.integers(0, [3, 3, 2], (n, 3)).tolist()]
    values = list(
        zip(numbered([row[:2] for row in rows]), numbered([row[2] for row in rows]), strict=True)
    )
    return Table(
        rows, [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [0.0, 1.0]], values, rng.integers(0, 3, n).tolist()
    )


def rule(
    n: int, *, l: Fraction = Fraction(1), least: int = 1, relaxed: bool = False, **more: int
) -> Any:
    found = np.ones(kernel.RULE_LENGTH, np.int64)
    found[[kernel.DIVERSITY, kernel.DISTANCE]] = kernel.FREQUENCY, kernel.NONE
    (
        found[kernel.K],
        found[kernel.L_NUM],
        found[kernel.L_DEN],
        found[kernel.ROWS],
        found[kernel.RELAXED],
    ) = (
        least,
        l.numerator,
        l.denominator,
        n,
        relaxed,
    )
    for constant, value in more.items():
        found[getattr(kernel, constant)] = value
    return found


ABOVE_BY_ROWS = (186, 335, 371)
"""Generated tables whose cuts by shares alone leave somebody above the bound by rows; few are,
where there are so few rows.
"""


def buckets_of(rows: Any, begins: Any) -> list[list[int]]:
    return [part.tolist() for part in np.split(rows, np.flatnonzero(begins)[1:])]


def sets(buckets: list[list[int]]) -> set[frozenset[int]]:
    return {frozenset(bucket) for bucket in buckets}


def local(
    table: Table,
    asked: Any,
    log_l: float = 0.0,
    closeness: Any = NOT_ABOUT_CLOSENESS,
    checks: Any = None,
) -> list[list[int]]:
    """The kernel's buckets; ``checks``: lines of cells and what they stand for, where it is not the
    sensitive value that is protected.
    """
    codes, positions, offsets = table.arrays()
    of_row, *cells = table.cells() if checks is None else checks
    codes = np.ascontiguousarray(np.concatenate([codes, of_row.reshape(-1, len(table.rows))]))
    rows, begins = np.arange(len(table.rows), dtype=np.int32), np.zeros(len(table.rows), np.bool_)
    cut_local(codes, rows, positions, offsets, *cells, asked, log_l, *closeness, begins)
    return buckets_of(rows, begins)


def exact(
    table: Table, asked: Any, limit: int = -1, cut: Any = cut_exact, in_each: Any = ()
) -> tuple[list[list[int]], dict[Any, float]]:
    """The kernel's buckets, and its weight of every tuple (as its values) and matching bucket (as
    its rows).
    """
    codes, positions, offsets = table.arrays()
    of_row, *cells = table.cells()
    columns = np.array(table.values, np.int32).T
    tuples = sorted(set(table.values))
    rows, begins = np.arange(len(table.rows), dtype=np.int32), np.zeros(len(table.rows), np.bool_)
    codes = np.ascontiguousarray(np.concatenate([codes, columns[:-1], of_row[None, :]]))
    widths = columns.max(axis=1).astype(np.int64) + 1
    whose, where, weights = cut(
        codes,
        rows,
        positions,
        offsets,
        np.array(tuples, np.int32).T.copy(),
        widths,
        *cells,
        np.array([t in in_each for t in tuples]),
        asked,
        limit,
        begins,
    )
    buckets = buckets_of(rows, begins)
    at = dict(zip(np.flatnonzero(begins).tolist(), buckets, strict=True))
    pairs = [
        (tuples[t], frozenset(at[b])) for t, b in zip(whose.tolist(), where.tolist(), strict=True)
    ]
    assert len(set(pairs)) == len(pairs)
    return buckets, dict(zip(pairs, weights.tolist(), strict=True))


def eligible(table: Table, l: Fraction) -> bool:
    whole = [list(range(len(table.rows)))]
    return all(
        p * l <= 1
        for t in set(table.values)
        for p in slicing.posterior(t, whole, table.values, table.sensitive).values()
    )


def compare(table: Table, l: Fraction, least: int, relaxed: bool, cut: Any = cut_exact) -> int:
    """After every cut: buckets, matching buckets, their weights and p(t, s) are those computed from
    scratch; returns the number of cuts.
    """
    history = slicing.exact_cuts(
        table.rows, table.places, table.values, table.sensitive, l, least=least, relaxed=relaxed
    )
    asked = rule(len(table.rows), l=l, least=least, relaxed=relaxed)
    for limit, expected in [*enumerate(history), (-1, history[-1])]:
        buckets, weights = exact(table, asked, limit, cut)
        assert sets(buckets) == sets(expected)
        for t in set(table.values):
            matched = [bucket for bucket in expected if slicing.degree(t, bucket, table.values)]
            mine = {bucket: weight for (whose, bucket), weight in weights.items() if whose == t}
            assert set(mine) == sets(matched)
            sums: dict[int, float] = {}
            for bucket in matched:
                alike = [i for i in bucket if table.values[i][-1] == t[-1]]
                weight = mine[frozenset(bucket)]
                assert weight * len(alike) == pytest.approx(
                    float(slicing.degree(t, bucket, table.values)), rel=1e-12
                )
                for i in alike:
                    sums[table.sensitive[i]] = sums.get(table.sensitive[i], 0.0) + weight
            p = slicing.posterior(t, expected, table.values, table.sensitive)
            assert {s: x / sum(sums.values()) for s, x in sums.items()} == pytest.approx(
                {s: float(x) for s, x in p.items()}, rel=1e-12
            )
            assert all(
                x * l <= 1
                for by in ("shares", "rows")
                for x in slicing.posterior(t, expected, table.values, table.sensitive, by).values()
            )
    return len(history) - 1


fractions = st.sampled_from(
    [Fraction(1), Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(3)]
)


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@given(tables(), fractions, st.integers(1, 4))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_the_exact_check_is_that_from_scratch_after_every_cut(
    relaxed: bool, table: Table, l: Fraction, least: int
) -> None:
    """Buckets, matching buckets, weights and p(t, s) are the twin's after each cut, and no p(t, s)
    is above 1/l, in fractions.
    """
    if eligible(table, l):
        compare(table, l, least, relaxed)


def test_generated_tables_are_cut_often_and_need_all_buckets() -> None:
    """The same on tables where it matters: many cuts, and buckets that break the promise by
    themselves and keep it over all.
    """
    cuts, needed = 0, 0
    for seed in range(60):
        table, l = generated(seed), Fraction(3, 2)
        if not eligible(table, l):
            continue
        cuts += compare(table, l, 2, True)
        buckets, _ = exact(table, rule(24, l=l, least=2, relaxed=True))
        principle = slicing.locally(mondrian.frequency(l))
        needed += not all(
            principle([(table.values[i][-1], table.sensitive[i]) for i in bucket])
            for bucket in buckets
        )
    assert cuts > 100
    assert needed > 5


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@given(tables(most=40), fractions, st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_the_local_check_makes_the_buckets_of_the_twin(
    relaxed: bool, table: Table, l: Fraction, least: int
) -> None:
    """Row by row; and each candidate's p(t, s), fake ones included, is at most 1/l, in
    fractions.
    """
    if not eligible(table, l):
        return
    pairs: Any = [(value[-1], s) for value, s in zip(table.values, table.sensitive, strict=True)]
    expected = mondrian.groups_of(
        table.rows,
        table.places,
        pairs,
        slicing.locally(mondrian.frequency(l), least),
        relaxed=relaxed,
    )
    found = local(table, rule(len(table.rows), l=l, least=least, relaxed=relaxed))
    assert sets(found) == sets(expected)
    fakes = {
        (*own[:-1], other[-1])
        for own, other in zip(table.values, reversed(table.values), strict=True)
    }
    for t in {*table.values, *fakes}:
        assert all(
            p * l <= 1 for p in slicing.posterior(t, found, table.values, table.sensitive).values()
        )


RULES: list[Any] = [
    ("distinct", {"DIVERSITY": kernel.DISTINCT, "L_NUM": 2}, 0.0, mondrian.distinct(Fraction(2))),
    (
        "entropy",
        {"DIVERSITY": kernel.ENTROPY, "L_NUM": 3, "L_DEN": 2},
        float(np.log(1.5)),
        mondrian.entropy(Fraction(3, 2)),
    ),
    (
        "recursive",
        {"DIVERSITY": kernel.RECURSIVE, "L_NUM": 2, "C_NUM": 5, "C_DEN": 2},
        0.0,
        mondrian.recursive(Fraction(5, 2), 2),
    ),
    ("close", {"DISTANCE": kernel.TREE, "T_NUM": 1, "T_DEN": 2}, 0.0, "equal"),
    ("close in order", {"DISTANCE": kernel.ORDERED, "T_NUM": 2, "T_DEN": 5}, 0.0, "ordered"),
    (
        "diverse and close",
        {"L_NUM": 3, "L_DEN": 2, "DISTANCE": kernel.TREE, "T_NUM": 1, "T_DEN": 2},
        0.0,
        "both",
    ),
]


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize(
    ("more", "log_l", "meaning"), [pytest.param(*case[1:], id=case[0]) for case in RULES]
)
@given(tables(most=40, values=3), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_the_local_check_knows_every_rule(
    more: Any, log_l: float, meaning: Any, relaxed: bool, table: Table, least: int
) -> None:
    """Distinct, entropy and recursive diversity and closeness to the table hold beside each q, as
    the twin says; and for the table as one bucket.
    """
    sensitive = numbered(table.sensitive)
    table = Table(table.rows, table.places, table.values, sensitive)
    t = Fraction(more.get("T_NUM", 1), more.get("T_DEN", 1))
    distance = "equal" if meaning == "both" else meaning
    principle = meaning
    if isinstance(meaning, str):

        def principle(group: list[int]) -> bool:
            diverse = meaning != "both" or mondrian.frequency(Fraction(3, 2))(group)
            return diverse and mondrian.apart(group, sensitive, distance) <= t

    totals = np.bincount(sensitive).astype(np.int64)
    closeness = totals, np.arange(len(totals), dtype=np.int32)[None, :], totals[None, :].copy()
    asked = rule(len(table.rows), least=least, relaxed=relaxed, **more)
    of_row, *cells = table.cells()
    pairs: Any = [(value[-1], s) for value, s in zip(table.values, sensitive, strict=True)]
    whole = bool(keeps(of_row, *cells, asked, log_l, *closeness))
    assert whole == slicing.locally(principle)(pairs)
    if whole:
        expected = mondrian.groups_of(
            table.rows, table.places, pairs, slicing.locally(principle, least), relaxed=relaxed
        )
        assert sets(local(table, asked, log_l, closeness)) == sets(expected)


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@given(tables(most=40), fractions, st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_every_column_alike(relaxed: bool, table: Table, l: Fraction, least: int) -> None:
    """Where no attribute is sensitive, each bucket has each column's values at most 1/l of the
    time, and the buckets are the twin's.
    """

    def principle(bucket: list[Any]) -> bool:
        return len(bucket) >= least and all(
            mondrian.frequency(l)(list(column)) for column in zip(*bucket, strict=True)
        )

    if not principle(table.values) and len(table.rows) >= least:
        return
    lines = [
        about([(j, value[j]) for value in table.values], len(table.values[0]))
        for j in range(len(table.values[0]))
    ]
    starts = np.cumsum([0, *(len(line[1]) for line in lines)])
    of_row = np.stack(
        [line[0] + start for line, start in zip(lines, starts[:-1], strict=True)]
    ).astype(np.int32)
    checks = (
        of_row,
        np.concatenate([line[1] for line in lines]),
        np.concatenate([line[2] for line in lines]),
        starts.astype(np.int64),
    )
    values: Any = table.values
    expected = mondrian.groups_of(table.rows, table.places, values, principle, relaxed=relaxed)
    assert sets(
        local(table, rule(len(table.rows), l=l, least=least, relaxed=relaxed), checks=checks)
    ) == sets(expected)


@given(tables(most=60), fractions, st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_strict_cuts_make_the_same_buckets_under_both_checks(
    table: Table, l: Fraction, least: int
) -> None:
    """A tuple matches only its own box, so that the exact check and the local one agree; each tuple
    then has one entry.
    """
    if not eligible(table, l):
        return
    asked = rule(len(table.rows), l=l, least=least)
    buckets, weights = exact(table, asked)
    assert sets(buckets) == sets(local(table, asked))
    assert len(weights) == len(set(table.values))


def test_a_twin_that_forgets_other_matching_buckets_is_told_apart() -> None:
    """Judging a tuple by one of its buckets makes other buckets than the kernel does, with relaxed
    cuts.
    """
    different = 0
    for seed in range(40):
        table, l = generated(seed), Fraction(3, 2)
        if eligible(table, l):
            wrong = slicing.exact_cuts(
                table.rows,
                table.places,
                table.values,
                table.sensitive,
                l,
                relaxed=True,
                keeps=slicing.in_own_bucket,
            )
            different += sets(wrong[-1]) != sets(exact(table, rule(24, l=l, relaxed=True))[0])
    assert different > 5


def test_tuples_may_be_asked_to_keep_it_in_each_bucket() -> None:
    """With all of them the exact check is the local one; with half of them their buckets keep it,
    and the others' p(t, s) as before.
    """
    halves = 0
    for seed in range(40):
        table, l = generated(seed), Fraction(3, 2)
        if not eligible(table, l):
            continue
        asked, tuples = rule(24, l=l, least=2, relaxed=True), sorted(set(table.values))
        assert sets(exact(table, asked, in_each=tuples)[0]) == sets(local(table, asked))
        buckets, _ = exact(table, asked, in_each=tuples[::2])
        assert all(
            slicing.in_each_bucket(t, buckets, table.values, table.sensitive, l)
            for t in tuples[::2]
        )
        assert all(
            slicing.over_all_buckets(t, buckets, table.values, table.sensitive, l) for t in tuples
        )
        halves += any(
            not slicing.in_each_bucket(t, buckets, table.values, table.sensitive, l) for t in tuples
        )
    assert halves > 5


def test_weighing_by_shares_alone_is_told_apart() -> None:
    """The paper's check lets buckets pass in which somebody is above 1/l by rows; the kernel makes
    other buckets there.
    """
    for seed in ABOVE_BY_ROWS:
        table, l = generated(seed), Fraction(3, 2)
        wrong = slicing.exact_cuts(
            table.rows,
            table.places,
            table.values,
            table.sensitive,
            l,
            least=2,
            relaxed=True,
            keeps=slicing.by_shares_alone,
        )[-1]
        by_rows = [
            p
            for t in table.values
            for p in slicing.posterior(t, wrong, table.values, table.sensitive, "rows").values()
        ]
        assert max(by_rows) * l > 1
        assert sets(wrong) != sets(exact(table, rule(24, l=l, least=2, relaxed=True))[0])
        compare(table, l, 2, True)


def broken(right: str, wrong: str) -> Any:
    """The exact kernel with one part of its source changed, in plain Python."""
    source = inspect.getsource(cut_exact.py_func)
    assert source.count(right) == 1
    room = dict(vars(exact_cuts), _kernel=_as_it_is)
    exec(compile(source.replace(right, wrong), "broken", "exec"), room)  # noqa: S102 - our own source
    return room["cut_exact"]


def _as_it_is(function: Any) -> Any:
    return function


BROKEN: list[tuple[str, str, str]] = [
    ("forgets other buckets", "other = list_of[t]", "other = -1"),
    ("counts the cut bucket, too", "if other != e:", "if True:"),
    ("forgets that other buckets are bad", "left_bads = bads[t] - is_bad[e]", "left_bads = 0"),
    ("never tells that a bucket is good again", "bads[t] -= is_bad[e]", "pass"),
    ("forgets to count bad halves", "bads[t] += bad[h, q]", "pass"),
    (
        "looks at half of the halves",
        "for h in range(2):\n                            if not (matched0",
        "for h in range(1):\n                            if not (matched0",
    ),
    (
        "weighs other buckets alike",
        "w = weight[other] * cell_counts[k]",
        "w = cell_counts[k]",
    ),
    ("keeps tuples that match no longer", "matched = matched and times > 0", "pass"),
    (
        "loses a bucket of a tuple's list",
        "list_of[t] = next_there[e]",
        "list_of[t] = next_there[next_there[e]]",
    ),
    ("leaves sums behind", "by_shares[cell_s[cell]], by_rows[cell_s[cell]] = 0.0, 0.0", "pass"),
    (
        "asks the first tuple only",
        "e = next_here[e]\n                if allowed",
        "e = -1\n                if allowed",
    ),
    ("leaves bad marks behind", "bad[h, cell_q[cell]] = False", "pass"),
    ("forgets what a bucket holds", "held[b], sizes[b] = number_of", "held[b], sizes[b] = 0"),
    (
        "asks too little by shares",
        "l_num * by_shares[s] > l_den * shares",
        "l_num * by_shares[s] > 2 * l_den * shares",
    ),
    (
        "asks too little by rows",
        "l_num * by_rows[s] > l_den * numbers",
        "l_num * by_rows[s] > 2 * l_den * numbers",
    ),
    (
        "forgets how large buckets are",
        "held[b], sizes[b] = number_of, left if h == 0 else size - left",
        "held[b], sizes[b] = number_of, 1",
    ),
    ("uses an entry twice", "free = next_here[free]", "pass"),
]


@pytest.mark.parametrize(
    ("right", "wrong"), [pytest.param(right, wrong, id=name) for name, right, wrong in BROKEN]
)
def test_a_broken_kernel_is_caught(right: str, wrong: str) -> None:
    """Each part of what is kept incrementally is needed: without it the comparison after every cut
    fails on some of the generated tables.
    """
    assert found_out(broken(right, wrong))


def test_the_kernel_in_plain_python_is_not_caught() -> None:
    """It is the change that is caught, and not the lack of compilation."""
    assert not found_out(broken("other = list_of[t]", "other = list_of[t] "))


def found_out(cut: Any) -> bool:
    for seed in (*range(40), *ABOVE_BY_ROWS):
        table, l = generated(seed), Fraction(3, 2)
        if eligible(table, l):
            try:
                compare(table, l, 2, True, cut)
            except (AssertionError, IndexError):
                return True
    return False


def test_weights_too_small_for_floating_point_decline() -> None:
    """Where a hundred columns make f(t, B) vanish, a cut that leaves one value in each half is not
    accepted.
    """
    n, c = 2000, 110
    half = [int(i >= n // 2) for i in range(n)]
    table = Table([(h,) for h in half], [[0.0, 1.0]], [(*([i] * c), 0) for i in range(n)], half)
    buckets, _ = exact(table, rule(n, l=Fraction(2)))
    assert len(buckets) == 1


@pytest.mark.parametrize(
    ("pairs", "l", "kept"),
    [
        ([(0, 0)], Fraction(1), True),
        ([(0, 0)], Fraction(2), False),
        ([(0, 0)] * 5, Fraction(2), False),
        ([(0, 0), (0, 1)], Fraction(2), True),
        ([(0, 0), (0, 1)], Fraction(2**30 + 1, 2**29), False),
        ([(0, 0), (0, 1), (1, 1)], Fraction(2), False),
        ([(0, 0), (0, 1), (1, 1), (1, 2)], Fraction(2), True),
    ],
)
def test_the_table_as_one_bucket(pairs: list[tuple[int, int]], l: Fraction, kept: bool) -> None:
    """One row, one value, the bound itself and just above it, and one q among several that
    fails.
    """
    of_row, *cells = about(pairs, max(q for q, _ in pairs) + 1)
    assert bool(keeps(of_row, *cells, rule(len(pairs), l=l), 0.0, *NOT_ABOUT_CLOSENESS)) is kept


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n: int, relaxed: bool) -> None:
    """One, two and three rows in one column or two, alike or different, are cut as far as the
    promise goes.
    """
    for c in (1, 2):
        alike = Table([(0,)] * n, [[0.0]], [(0,) * c] * n, list(range(n)))
        assert (
            len(exact(alike, rule(n, relaxed=relaxed))[0])
            == len(local(alike, rule(n, relaxed=relaxed)))
            == 1
        )
        different = Table(
            [(i,) for i in range(n)],
            [[i / n for i in range(n)]],
            [(i,) * c for i in range(n)],
            [0] * n,
        )
        assert (
            len(exact(different, rule(n, relaxed=relaxed))[0])
            == len(local(different, rule(n, relaxed=relaxed)))
            == n
        )
