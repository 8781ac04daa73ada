# SPDX-License-Identifier: Apache-2.0
"""The promise of safe sampling is checked from its files: good releases hold, and each way of
breaking the promise is refused.
"""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from phalanx.accounting import solve, together
from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import PlanError, ReleaseError
from phalanx.guarantees.consistency.recoded import Images
from phalanx.guarantees.differential_privacy import guarantee as differential_privacy
from phalanx.guarantees.differential_privacy import hockey_stick
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.guarantees.differential_privacy.hockey_stick import theorem_delta, tight_delta
from phalanx.guarantees.registry import from_parameters
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.forms.recoded import Recoded
from support.recoded_cases import (
    AGES,
    JOBS,
    PROMISE,
    attributes,
    beside,
    columns,
    encoded,
    ordered,
    people,
    publish,
    verdicts,
)
from support.work import lines

ROWS = people(600, 3)
FEW = {"age": 2, "dose": 1, "since": 2, "job": 1, "zip": 2, "income": 3, "sex": 0, "ill": 0}
"""Levels at which many rows are alike."""
SAMPLE = np.flatnonzero(np.random.default_rng(3).random(ROWS.height) < 0.5).tolist()
PARTS = ["crowd", "scheme", "counts", "delta", "sample", "choice of the scheme"]


def made(**changes):
    """A sample of half of the rows in crowds of three, and its promise."""
    return publish(ROWS, SAMPLE, FEW, 3, [replace(PROMISE, **changes)])[0]


def test_a_good_release_holds(tmp_path):
    """Every part holds, with the figures that one counts by hand; what no file shows is said not to
    be checked.
    """
    good = made()
    smallest = int(good.form.table.group_by(pl.all()).len()["len"].min())
    found = verdicts(good.written(tmp_path / "r"), beside(encoded(ROWS)))
    assert [name for name in found if name in PARTS] == PARTS and all(
        v.holds for v in found.values()
    )
    assert (found["crowd"].bound, found["crowd"].worst) == (3, smallest)
    assert found["crowd"].worst_cases["rows"][0] == smallest
    assert (found["scheme"].worst, found["counts"].worst) == (0, 0)
    assert (found["delta"].bound, found["delta"].worst) == (Fraction(1, 8), 0.125)
    assert found["delta"].note == "by the tight reckoning 0.125, by the theorem 0.125"
    assert {name for name, v in found.items() if v.note.startswith("not checked")} == {
        "sample",
        "choice of the scheme",
    }


def test_what_cannot_be_checked_is_said(tmp_path):
    """Without the original table its counts are not checked, and the verdict says so."""
    found = verdicts(made().written(tmp_path / "r"))
    assert (
        found["counts"].holds and found["counts"].note == "not checked: no original table was given"
    )


def test_no_rows_keep_the_promise(tmp_path):
    """A table without rows is a possible outcome, and is as well checked as others."""
    empty, _ = publish(ROWS, SAMPLE, FEW, 10**6, [PROMISE])
    found = verdicts(empty.written(tmp_path / "r"), beside(encoded(ROWS)))
    assert all(v.holds for v in found.values()) and "possible outcome" in found["crowd"].note


def broken(what):
    """A release that breaks its promise, and the verdict that must say so."""
    good = made()
    rows = good.form.table.rows()
    rarest = min(set(rows), key=rows.count)
    entries = good.form.scheme["attributes"]
    rows_less = [row for row in rows if row != rarest] + [rarest] * 2
    row = dict(zip(good.form.table.columns, rows[0], strict=True))
    return {
        "an image with k - 1 rows": (good.with_rows(rows_less), "crowd"),
        "a row off the grid": (
            good.with_rows([*rows, *[tuple((row | {"age_low": 30, "age_high": 40}).values())] * 3]),
            "scheme",
        ),
        "a node of another level": (
            good.with_rows([*rows, *[tuple((row | {"job": "judge"}).values())] * 3]),
            "scheme",
        ),
        "a scheme that was not paid for": (good.with_scheme("levels", entries), "scheme"),
        "more rows than the original has": (
            good.with_rows(rows + [rarest] * ROWS.height),
            "counts",
        ),
        "a delta below the true one": (
            replace(
                good, guarantees=[replace(PROMISE, delta=Fraction(1, 8) * (1 - Fraction(1, 10**9)))]
            ),
            "delta",
        ),
        "a delta of 0": (replace(good, guarantees=[replace(PROMISE, delta=0)]), "delta"),
        "a k below what is promised": (
            replace(good, guarantees=[replace(PROMISE, k=rows.count(rarest) + 1)]),
            "crowd",
        ),
        "a delta that is not below beta": (
            replace(good, guarantees=[replace(PROMISE, delta="1/2")]),
            "delta",
        ),
        "a beta above the theorem's bound": (
            replace(
                good,
                guarantees=[replace(PROMISE, epsilon="0.69", delta="0.4", accounting="theorem")],
            ),
            "delta",
        ),
        "too little epsilon beside the choice of the scheme": (
            replace(good, guarantees=[replace(PROMISE, epsilon_scheme=1, delta="0.1251")]),
            "delta",
        ),
        "a budget that the first release exceeds": (
            replace(good, guarantees=[replace(PROMISE, budget={"epsilon": "1.9", "delta": "1/8"})]),
            "budget",
        ),
    }[what]


BROKEN = [
    "an image with k - 1 rows", "a row off the grid", "a node of another level", "a scheme that was not paid for", "more rows than the original has",
    "a delta below the true one", "a delta of 0", "a k below what is promised", "a delta that is not below beta", "a beta above the theorem's bound",
    "a budget that the first release exceeds",
]  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_broken_promises_are_refused(tmp_path, what):
    """Each release breaks the promise in one way, and just the verdict about that says so."""
    release, part = broken(what)
    found = verdicts(release.written(tmp_path / "r"), beside(encoded(ROWS)))
    refused = {name for name, v in found.items() if not v.holds}
    assert refused - {"counts"} == {part} - {"counts"} and part in refused


def test_one_row_more_than_the_original_has(tmp_path):
    """An image may be published as often as the original table has it, and not once more."""
    good = made()
    row = good.form.table.row(0)
    (column,) = np.flatnonzero([image == row for image in Images.of(good.form).table.rows()])
    times = int(Images.of(good.form).originals(Combinations.of(encoded(ROWS)))[column])
    others = [other for other in good.form.table.rows() if other != row]
    for number in (times, times + 1):
        release = good.with_rows(others + [row] * number).written(tmp_path / f"{number}")
        found = verdicts(release, beside(encoded(ROWS)))["counts"]
        assert (found.worst, found.holds) == (number - times, number == times)


def test_a_column_that_is_kept_is_refused(tmp_path):
    """A column outside the scheme is refused when the folder is read, and by the promise where the
    form is handed over as it is.
    """
    good = made()
    kept = attributes()[0].model_copy(
        update={"name": "note", "role": "keep", "columns": ["note"], "type": "categorical"}
    )
    form = replace(
        good.form,
        table=good.form.table.with_columns(note=pl.lit("x")),
        attributes=(*good.form.attributes, kept),
    )
    with pytest.raises(ReleaseError, match="node, or the two ends"):
        replace(good, form=form).written(tmp_path / "r")
    release = good.written(tmp_path / "good")
    found = PROMISE.check(replace(release, form=form))
    assert not found[0].holds and "'note' is kept as it is" in found[0].note


def test_another_form_keeps_no_promise(tmp_path):
    """The promise is about recoded releases."""
    release = made().written(tmp_path / "r")
    other = type("Other", (), {"kind": "perturbed"})()
    with pytest.raises(ReleaseError, match="about recoded releases"):
        PROMISE.check(replace(release, form=other))


def partition(boxes):
    """A partition of ages and jobs, four rows in each of its boxes."""
    names = ("age", "job", "sex")
    rows = [(*ages, job, "f") for ages, job in boxes for _ in range(4)]
    table = ordered(pl.DataFrame(rows, schema=columns(names), orient="row"))
    entries = {"age": AGES, "job": {}, "sex": {"level": 0}}
    return Recoded(table, attributes(names), {"chosen": "partition", "attributes": entries})


DISJOINT = [
    [
        ((20, 30), "*"),
        ((30, 95), "office"),
        ((30, 70), "farmer"),
        ((70, 95), "farmer"),
        ((30, 95), "pilot"),
        ((30, 95), None),
    ],
    [
        ((20, 95), "judge"),
        ((20, 95), "clerk"),
        ((20, 50), "outside"),
        ((50, 95), "outside"),
        ((20, 95), None),
    ],
    [((20, 95), "*")],
]
OVERLAPPING = [
    [((20, 40), "*"), ((30, 95), "office")],
    [((20, 95), "judge"), ((20, 95), "office")],
    [((20, 95), "*"), ((20, 95), None)],
    [((20, 95), "office"), ((40, 50), "clerk")],
    [((20, 95), "farmer"), ((20, 30), "farmer")],
    [((20, 95), "*"), ((None, None), "*")],
]
STRAYS = [
    [((20, 35), "*")],
    [((30, 20), "*")],
    [((20, 95), "nobody")],
    [((20, 95), "*"), ((0, 20), "*")],
]
"""Ends that are none of the finest grid, crossed ends, a node that is none, and a box beyond the
range.
"""


@pytest.mark.parametrize("boxes", DISJOINT)
def test_disjoint_boxes_are_a_partition(tmp_path, boxes):
    """Boxes of whole finest cells and nodes of any level hold where no row fits two of them."""
    good = replace(
        made(), form=partition(boxes), guarantees=[replace(PROMISE, epsilon=3, epsilon_scheme=1)]
    )
    assert verdicts(good.written(tmp_path / "r"))["scheme"].holds


@pytest.mark.parametrize("boxes", OVERLAPPING + STRAYS)
def test_what_is_no_partition(tmp_path, boxes):
    """Two boxes that some row would fit, and boxes that the declared grid and hierarchy do not
    have, are refused.
    """
    bad = replace(
        made(), form=partition(boxes), guarantees=[replace(PROMISE, epsilon=3, epsilon_scheme=1)]
    )
    found = verdicts(bad.written(tmp_path / "r"))
    assert [name for name, v in found.items() if not v.holds] == ["scheme"]
    assert ("overlap" in found["scheme"].note) == (boxes in OVERLAPPING)
    assert found["scheme"].bound == 0 and found["scheme"].worst != 0
    counts = verdicts(bad.written(tmp_path / "s"), beside(encoded(ROWS)))["counts"]
    assert (counts.bound, counts.worst, counts.holds) == (0, None, False)
    assert counts.note.startswith("not looked at")


@pytest.mark.parametrize(
    ("codes", "holds"),
    [
        (["0037", "0111", "01**"], False),
        (["0037", "0074", "01**", None], True),
        (["00**", "0074"], False),
        (["0111", "01**"], False),
    ],
)
def test_codes_of_a_partition(codes, holds):
    """A code lies under each of its beginnings, wherever it stands among the others."""
    rows = [(code,) for code in codes for _ in range(4)]
    table = ordered(pl.DataFrame(rows, schema=columns(("zip",)), orient="row"))
    images = Images.of(
        Recoded(table, attributes(("zip",)), {"chosen": "partition", "attributes": {"zip": {}}})
    )
    assert images.strays == 0 and images.overlaps != holds


def test_boxes_are_free_only_in_a_partition():
    """Where the scheme is said to be levels, boxes of many levels are strays."""
    form = partition(DISJOINT[1])
    entries = {"age": AGES | {"level": 2}, "job": {"level": 1}, "sex": {"level": 0}}
    levels = replace(form, scheme={"chosen": "levels", "attributes": entries})
    assert Images.of(form).strays == 0 and Images.of(levels).strays == 16


def test_originals_of_a_partition_are_counted():
    """Rows of the original table are counted box by box, those beyond the range in its end
    cells.
    """
    frame = people(300, 5).filter(pl.col("age").is_not_null()).select("age", "job", sex=pl.lit("f"))
    boxes = DISJOINT[0]
    inside = [
        (low <= max(20, min(age, 94)) < high) and node in ("*", over(job))
        for (low, high), node in boxes
        for age, job, _ in frame.rows()
    ]
    counts = np.array(inside).reshape(len(boxes), frame.height).sum(axis=1)
    assert counts.sum() == frame.height
    microdata = Microdata.encode(
        frame, Schema(quasi=["age", "job", "sex"], hierarchies={"job": JOBS}, missing="value")
    )
    assert sorted(
        Images.of(partition(boxes)).originals(Combinations.of(microdata)).tolist()
    ) == sorted(counts.tolist())


def over(job):
    return {"judge": "office", "clerk": "office"}.get(job, job)


PARAMETERS = [
    {"epsilon": -1}, {"epsilon": 1001}, {"delta": -1}, {"delta": "2"}, {"beta": 0}, {"beta": 1}, {"beta": "x"}, {"k": 0}, {"k": 2.5}, {"k": True},
    {"accounting": "loose"}, {"epsilon_scheme": -1}, {"epsilon_scheme": 3}, {"budget": {"epsilon": 1}}, {"budget": {"epsilon": 1, "delta": 2}}, {"budget": 4},
    {"budget": {"epsilon": -1, "delta": 0}},
]  # fmt: skip


@pytest.mark.parametrize("changes", PARAMETERS)
def test_parameters_that_mean_nothing(changes):
    """Each is refused in one sentence that names it, in a plan and in a manifest."""
    with pytest.raises(PlanError, match=next(iter(changes))):
        replace(PROMISE, **changes)
    with pytest.raises(ReleaseError, match="wrong parameter"):
        from_parameters(PROMISE.parameters() | changes)


PROMISES = [
    PROMISE,
    DifferentialPrivacy(
        epsilon="1/3", delta="1e-6", k=74, beta="0.6321205588285577", accounting="theorem"
    ),
    DifferentialPrivacy(
        epsilon=2.5,
        delta=Fraction(1, 3**20),
        k=20,
        beta=Fraction(1, 7),
        epsilon_scheme="0.1",
        budget={"epsilon": 10, "delta": "1e-5"},
    ),
]


@pytest.mark.parametrize("promise", PROMISES)
def test_what_the_manifest_says_is_the_promise(promise):
    """Name and parameters are written as people write them, exactly, and read back as the same
    promise.
    """
    said = json.loads(json.dumps(promise.parameters()))
    assert (
        from_parameters(said) == promise
        and from_parameters(said).parameters() == promise.parameters()
    )
    assert ("epsilon_scheme" in said) == (promise.epsilon_scheme > 0) and ("budget" in said) == (
        promise.budget is not None
    )


@pytest.mark.parametrize("accounting", ["tight", "theorem"])
@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [(10, "0.1", "0.5"), (27, "0.39", "0.5"), (131, "0.86", "2"), (500, "0.05", "0.2")],
)
def test_delta_is_exact(tmp_path, accounting, k, beta, epsilon):
    """The true delta is promised, and one part in 10^9 less is not, by either accounting; ten more
    rows in a crowd would make up for it.
    """
    reckoned = {"tight": tight_delta, "theorem": theorem_delta}[accounting](
        k, Fraction(beta), Fraction(epsilon)
    ).delta
    release = made().written(tmp_path / "r")
    for share, holds in ((1, True), (1 - Fraction(1, 10**9), False)):
        promise = DifferentialPrivacy(
            epsilon=epsilon, delta=reckoned * share, k=k, beta=beta, accounting=accounting
        )
        found = next(v for v in promise.check(release) if v.name.endswith("delta"))
        assert found.holds == holds and (Fraction(found.worst) <= found.bound) == holds
        more = next(
            v for v in replace(promise, k=k + 10).check(release) if v.name.endswith("delta")
        )
        assert more.holds


def test_the_scheme_costs_its_part(tmp_path):
    """Delta is reckoned at what the choice of the scheme leaves of epsilon."""
    reckoned = tight_delta(10, Fraction(1, 5), Fraction(1)).delta
    release = made().written(tmp_path / "r")
    promise = DifferentialPrivacy(
        epsilon="1.5", delta=reckoned, k=10, beta="0.2", epsilon_scheme="0.5"
    )
    (found,) = [v for v in promise.check(release) if v.name.endswith("delta")]
    assert found.holds
    (found,) = [
        v for v in replace(promise, epsilon="1.49").check(release) if v.name.endswith("delta")
    ]
    assert not found.holds


def test_what_no_file_shows_of_the_scheme_is_said(tmp_path):
    """Of a scheme that was fixed, that it never saw the table; of one that was chosen, what that
    cost.
    """
    promise = DifferentialPrivacy(
        epsilon="1.5", delta="1e-3", k=10, beta="0.2", epsilon_scheme="0.5"
    )
    fixed = made()
    chosen = fixed.with_scheme("levels", fixed.form.scheme["attributes"])
    for name, one, said in (
        ("fixed", fixed, "the scheme never saw the table"),
        ("chosen", chosen, "the choice of the scheme cost no more than epsilon_scheme = 0.5"),
    ):
        last = promise.check(one.written(tmp_path / name))[-1]
        assert (last.holds, last.worst) == (True, None)
        assert last.note == f"not checked: no file shows that {said}"


def test_what_takes_too_long_is_refused(tmp_path, monkeypatch):
    """A delta that cannot be reckoned is not believed."""
    monkeypatch.setattr(hockey_stick, "MOST_STEPS", 50)
    promise = DifferentialPrivacy(epsilon="0.1", delta="0.009", k=100, beta="0.01")
    (found,) = [
        v for v in promise.check(made().written(tmp_path / "r")) if v.name.endswith("delta")
    ]
    assert not found.holds and "not settled" in found.note


def budget_of(promise, number, tmp_path, earlier=()):
    release = replace(
        made(), guarantees=[promise], number=number, previous=None if number == 1 else "0" * 64
    ).written(tmp_path / f"r{number}")
    (found,) = [v for v in promise.check(release, earlier) if v.name.endswith("budget")]
    return found


CROWD = DifferentialPrivacy(epsilon="0.5", delta="1e-6", k=10, beta="0.1")


@pytest.mark.parametrize("accounting", ["tight", "theorem"])
@pytest.mark.parametrize("number", [2**32, 2**32 + 1, 10**30])
def test_a_budget_of_more_releases_than_there_can_be(tmp_path, accounting, number):
    """A manifest may say any number; the budget is exceeded, and nothing overflows."""
    promise = replace(PROMISE, accounting=accounting, budget={"epsilon": 400, "delta": "1/2"})
    assert not budget_of(promise, number, tmp_path).holds


def test_a_budget_by_plain_addition(tmp_path):
    """Two releases fit a budget of twice their cost exactly, and three do not."""
    promise = replace(PROMISE, accounting="theorem", budget={"epsilon": 4, "delta": "1/4"})
    assert [budget_of(promise, number, tmp_path).holds for number in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert (
        budget_of(promise, 2, tmp_path).worst
        == budget_of(promise, 2, tmp_path).bound
        == "epsilon 4 at delta 0.25"
    )
    for less in ({"epsilon": 3, "delta": "1/4"}, {"epsilon": 4, "delta": "0.22"}):
        assert not budget_of(replace(promise, budget=less), 2, tmp_path).holds


@pytest.mark.parametrize(
    ("accounting", "most", "numbers"),
    [("tight", 1, (1, 10, 31, 40)), ("theorem", 20, (1, 40, 60, 120))],
)
def test_a_budget_that_is_some_releases_too_short(tmp_path, accounting, most, numbers):
    """More releases fit than by plain addition, as composition costs less, until they are too
    many.
    """
    promise = replace(
        CROWD,
        accounting=accounting,
        delta="1e-6" if accounting == "tight" else "3e-5",
        budget={"epsilon": most, "delta": "1e-5" if accounting == "tight" else "1e-2"},
    )
    found = [budget_of(promise, number, tmp_path) for number in numbers]
    assert [v.holds for v in found] == [True, True, True, False]
    assert promise.epsilon * numbers[2] > most and all(
        f"{number} release(s)" in v.note for v, number in zip(found, numbers, strict=True)
    )


def test_a_budget_that_is_one_release_too_short(tmp_path):
    """34 releases fit, as the makers' accounting finds too, and 35 do not."""
    promise = replace(CROWD, budget={"epsilon": 1, "delta": "1e-5"})
    assert [budget_of(promise, number, tmp_path).holds for number in (34, 35)] == [True, False]
    made_by = solve(
        epsilon=Fraction(1, 2),
        k=10,
        beta=Fraction(1, 10),
        accounting="tight",
        epsilon_scheme=Fraction(0),
    )
    assert together(made_by, 34).epsilon_at(1e-5) <= 1 < together(made_by, 35).epsilon_at(1e-5)


def test_all_releases_of_a_series_promise_the_same(tmp_path):
    """The budget is of equal releases; one of another cost, or of none that is known, is not added
    up. Another budget is no other cost.
    """
    promise = replace(CROWD, budget={"epsilon": 4, "delta": "1e-4"})
    first = replace(
        made(), guarantees=[replace(promise, budget={"epsilon": 1, "delta": "1e-5"})]
    ).written(tmp_path / "first")
    assert budget_of(promise, 2, tmp_path, [first]).holds
    for other in ([replace(promise, beta="0.2")], []):
        before = replace(made(), guarantees=other).written(tmp_path / f"other{len(other)}")
        found = budget_of(promise, 2, tmp_path, [before])
        assert not found.holds and "release 1 does not make the same promise" in found.note


def test_method_and_promise_say_the_same(tmp_path):
    """A method that says another epsilon or beta than the promise is inconsistent."""
    for parameter in ("epsilon", "beta", "delta", "k"):
        good = replace(made(), method={parameter: PROMISE.parameters()[parameter]})
        assert verdicts(good.written(tmp_path / f"good {parameter}"))["consistency"].holds
        bad = replace(made(), method={parameter: 17})
        assert not verdicts(bad.written(tmp_path / f"bad {parameter}"))["consistency"].holds


def test_it_shares_no_code_with_the_maker():
    """Neither the makers' accounting nor its libraries are loaded by the check."""
    code = "import sys, phalanx.guarantees.differential_privacy.guarantee; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    strangers = (
        "numba",
        "dp_accounting",
        "opendp",
        "scipy",
        "phalanx.accounting",
        "phalanx.methods",
        "phalanx.kernels",
    )
    assert "phalanx.guarantees.differential_privacy.hockey_stick" in loaded and not [
        name for name in loaded if name.startswith(strangers)
    ]


def test_a_check_is_little_work(tmp_path):
    """With hundreds of rows in a crowd, a small sample and a small epsilon the whole check is less
    than a million lines.
    """
    release = made().written(tmp_path / "r")
    promise = DifferentialPrivacy(epsilon="0.2", delta="0.01", k=500, beta="0.05")
    found = []
    assert lines(lambda: found.extend(promise.check(release, (), Evidence()))) < 10**6
    assert (
        all(v.holds for v in found if not v.name.endswith("crowd"))
        and differential_privacy.MOST_EPSILON == 500
    )
