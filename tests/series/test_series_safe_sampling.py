# SPDX-License-Identifier: Apache-2.0
"""Safe sampling on the way of the data: what leaves, what is remembered, what is refused, and that
a broken method publishes nothing.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx import Ledger, Schema, Series
from phalanx.accounting import composition, solve, together
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, MethodError, PhalanxError, PlanError, SchemaError
from phalanx.exact import at_most
from phalanx.methods.base import Draft, Memory
from phalanx.methods.safe_sampling.method import SafeSampling
from phalanx.randomness import Randomness
from phalanx.release.folder import Release
from phalanx.release.forms.recoded import Recoded
from phalanx.verification import verify

ROWS = 7919
"""A number of rows that stands nowhere else."""
AGE = {"low": 0, "high": 100, "width": 20}


def table(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame({
        "who": range(rows),
        "age": rng.integers(20, 80, rows),
        "sex": rng.choice(["f", "m"], rows),
        "ill": [["flu", "ulcer", "asthma"][i] for i in rng.integers(0, 3, rows)],
    })  # fmt: skip


def series_in(
    to: Path,
    *,
    persons: bool = True,
    seed: int | None = None,
    schema: dict[str, Any] | None = None,
    **parameters: Any,
) -> Series:
    asked: dict[str, Any] = {
        "epsilon": 1,
        "delta": 1e-6,
        "scheme": {"age": AGE},
        "expected_rows": 8000,
    } | parameters
    roles: dict[str, Any] = {
        "identifier": "who" if persons else None,
        "quasi": ["age", "sex"],
        "sensitive": "ill",
        "drop": [] if persons else ["who"],
    }
    return Series(
        "s",
        schema=Schema(**roles | (schema or {})),
        method=SafeSampling(**asked),
        to=to / "out",
        ledger=f"sqlite:///{to}/l.db",
        report=False,
        formats=("parquet", "csv"),
        seed=seed,
    )


@pytest.mark.parametrize("persons", [True, False])
def test_a_release_holds_crowds_and_nothing_else(tmp_path: Path, persons: bool) -> None:
    """Every published row is one of k alike, on the declared grid; the folder verifies, from either
    format.
    """
    made = series_in(tmp_path, persons=persons).publish(table())
    release = Release.read(made.path)
    k = release.manifest.method["k"]
    counted = release.form.table.group_by(pl.all()).len()
    assert counted["len"].min() >= k > 1  # type: ignore[operator]
    assert release.form.table.columns == ["age_low", "age_high", "sex", "ill"]
    assert set(release.form.table["age_low"]) <= {0, 20, 40, 60, 80}
    assert release.manifest.boxes == "fixed"
    assert release.form.table.equals(release.form.table.sort(pl.all()))
    assert verify([made.path]).holds
    (made.path / "data.parquet").unlink()
    manifest = release.manifest.model_copy(
        update={"files": [f for f in release.manifest.files if f.name.endswith(".csv")]}
    )
    (made.path / "release.json").write_bytes(manifest.to_bytes())
    assert Release.read(made.path).form.table.equals(release.form.table)


def test_what_the_proof_does_not_cover_is_told_nowhere(tmp_path: Path) -> None:
    """How many rows the table has, how many were sampled and how many dropped is neither in the
    folder, nor in the report, the ledger, or what publish returns.
    """
    series = series_in(tmp_path)
    series._is = replace(series._is, report=True)
    made = series.publish(table())
    assert made.suppressed_rows is None
    assert made.to_json()["suppressed_rows"] is None
    texts = [
        str(made.to_json()["checks"]),
        (made.path / "release.json").read_text(),
        (tmp_path / "out" / "reports" / "s-1.html").read_text(),
    ]
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        (entry,) = ledger.releases("s")
        texts.append(str(entry.summary))
        assert ledger.groups("s", 1) is None
        assert set(ledger.remembered("s")) == {"spent"}
        assert ledger.remembered("s")["spent"].columns == ["mark", "epsilon", "delta"]
    published = str(made.rows)
    for text in texts:
        for told in (str(ROWS), f"{ROWS:,}", str(ROWS - made.rows)):
            assert not re.search(rf"(?<![\w.]){told}(?!\w)", text.replace(published, ""))


def test_rows_that_were_not_sampled_and_rows_that_were_dropped_leave_no_trace(
    tmp_path: Path,
) -> None:
    """A value that no crowd shares is in no byte of what is handed out, in no column (the strongest
    peer published both kinds of rows).
    """
    frame = table().with_columns(
        ill=pl.when(pl.col("who") % 1000 == 7)
        .then(pl.lit("ZqMarker") + pl.col("who").cast(pl.String))
        .otherwise("ill")
    )
    made = series_in(tmp_path).publish(frame)
    assert made.rows < frame.height
    for file in [*made.path.iterdir(), tmp_path / "l.db"]:
        assert b"ZqMarker" not in file.read_bytes()
    assert made.form.table.null_count().sum_horizontal()[0] == 0
    assert "*" not in made.form.table["ill"]


def test_an_empty_release_is_a_release(tmp_path: Path) -> None:
    """Where no crowd is large enough an empty table is published, as refusing would tell something;
    it verifies, and no page calls it good.
    """
    series = series_in(tmp_path)
    series._is = replace(series._is, report=True)
    made = series.publish(table(30))
    page = made.page.read_text(encoding="utf-8")  # type: ignore[union-attr]
    assert made.rows == 0 and "No row is published" in page
    assert made.form.table.columns == ["age_low", "age_high", "sex", "ill"]
    assert verify([made.path]).holds
    assert '<p class="status holds">' not in page and '<p class="status fails">' in page


def test_what_is_likely_to_be_empty_is_refused_before_it_is_paid_for(tmp_path: Path) -> None:
    """By what the plan declares alone: the same sentence for a table that is large, and one that is
    small, and nothing is spent.
    """
    told = set()
    for rows in (30, 20_000):
        for parameters in ({"expected_rows": 300}, {"expected_rows": None}):
            with pytest.raises(PlanError) as refused:
                series_in(tmp_path, budget={"epsilon": 2, "delta": 2e-6}, **parameters).publish(
                    table(rows)
                )
            told.add(str(refused.value))
            assert not list((tmp_path / "out").glob("s-*"))
    assert len(told) == 2
    assert any(
        "makes 20 or more cells of about 15 row(s), and one is published from about" in said
        for said in told
    )
    assert any("expected_rows is not declared" in said for said in told)
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert not ledger.releases("s") and not ledger.remembered("s")
    assert series_in(tmp_path, expected_rows=None, allow_empty=True).publish(table(30)).rows == 0


def test_cells_are_counted_by_what_is_declared(tmp_path: Path) -> None:
    """Ranges, and trees, whose leaves are declared; where only the table tells how many values
    there are, they are two.
    """
    tree = Tree.of_mapping({"young": ["f", "m"], "old": ["x"]})
    schema = {"hierarchies": {"sex": tree}}
    for scheme, cells in (
        ({"age": AGE, "sex": 0}, 30),
        ({"age": AGE, "sex": 1}, 20),
        ({"age": AGE, "sex": 2}, 10),
        ({"age": AGE | {"width": 7}}, 90),
    ):
        with pytest.raises(PlanError, match=f"makes {cells} or more cells"):
            series_in(tmp_path, schema=schema, scheme=scheme, expected_rows=100).publish(table(10))


def test_what_would_be_too_much_is_more_than_is_allowed(tmp_path: Path) -> None:
    """The cost of a release that is refused is rounded up: beside a budget of 1.1852 it is not told to
    be 1.185.
    """
    series = series_in(tmp_path, budget={"epsilon": 1.1852, "delta": 1e-5})
    for _ in range(2):
        series.publish(table())
    with pytest.raises(MethodError, match=r"would cost epsilon 1\.189 at delta 1e-5, and the plan"):
        series.publish(table())


def test_releases_of_a_series_spend_its_budget(tmp_path: Path) -> None:
    """Two releases fit a budget of two, the third is refused and nothing of it is left; the ledger
    says what was spent.
    """
    series = series_in(tmp_path, budget={"epsilon": 2, "delta": 2e-6}, accounting="theorem")
    assert [series.publish(table()).number for _ in range(2)] == [1, 2]
    with pytest.raises(
        MethodError,
        match=(
            "release 3 and those before it would cost epsilon 3 at delta 3e-6, and the plan"
            " allows epsilon 2 at delta 2e-06"
        ),
    ):
        series.publish(table())
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert [e.summary["spent"] for e in ledger.releases("s")] == [
            {"epsilon": 1.0, "delta": 1e-6, "releases": 1},
            {"epsilon": pytest.approx(2, rel=1e-5), "delta": 2e-6, "releases": 2},
        ]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["s-1", "s-2"]
    assert verify(
        [tmp_path / "out" / "s-1", tmp_path / "out" / "s-2"], ledger=f"sqlite:///{tmp_path}/l.db"
    ).holds


def test_tight_accounting_lets_more_releases_into_a_budget(tmp_path: Path) -> None:
    """Six releases whose epsilons add up to more than the budget are within it, by exact
    composition; the independent check agrees.
    """
    budget = {"epsilon": 4, "delta": 1e-5}
    theorem = series_in(tmp_path / "theorem", accounting="theorem", budget=budget)
    for _ in range(4):
        theorem.publish(table(200))
    with pytest.raises(MethodError, match="release 5 and those before it would cost"):
        theorem.publish(table(200))
    tight = series_in(tmp_path / "tight", budget=budget)
    made = [tight.publish(table(200)) for _ in range(6)]
    assert made[-1].number == 6
    assert all(v.holds for v in made[-1].checks)


def test_without_a_budget_a_series_has_that_of_one_release(tmp_path: Path) -> None:
    """A steward who says nothing is not let into a second release."""
    series_in(tmp_path).publish(table(200))
    with pytest.raises(MethodError, match=r"no more than one release; give \[method\] a budget"):
        series_in(tmp_path).publish(table(200))
    assert series_in(tmp_path, budget={"epsilon": 2, "delta": 2e-6}).publish(table(200)).number == 2


def test_a_budget_is_not_raised(tmp_path: Path) -> None:
    """It is what all who were published were promised; a lower one promises more."""
    budget = {"epsilon": 2, "delta": 2e-6}
    series_in(tmp_path, budget=budget).publish(table(200))
    with pytest.raises(MethodError, match=r"budget was epsilon 2, .* nothing that was promised"):
        series_in(tmp_path, budget={"epsilon": 3, "delta": 2e-6}).publish(table(200))
    lower = {"epsilon": Fraction(199, 100), "delta": 2e-6}
    assert series_in(tmp_path, budget=lower).publish(table(200)).number == 2
    with pytest.raises(MethodError, match="stop here, as a series keeps its budget"):
        [series_in(tmp_path, budget=lower).publish(table(200)) for _ in range(9)]


def test_one_sample_answers_once(tmp_path: Path) -> None:
    """Randomness that was used before, as by another seed that comes to the same, is refused; the
    sample would answer a second time.
    """
    budget = {"epsilon": 5, "delta": 1e-5}
    series_in(tmp_path, seed=5, budget=budget).publish(table(200))
    with pytest.raises(MethodError, match="a sample answers once"):
        series_in(tmp_path, seed=4, budget=budget).publish(table(200))
    assert series_in(tmp_path, seed=9, budget=budget).publish(table(200)).number == 2


def test_two_releases_draw_two_samples(tmp_path: Path) -> None:
    """The same table published twice gives two tables whose counts differ."""
    series = series_in(tmp_path, budget={"epsilon": 5, "delta": 1e-5})
    one, two = (series.publish(table()).form.table for _ in range(2))
    assert not one.equals(two)


REFUSED: dict[str, tuple[dict[str, Any], type[PhalanxError], str]] = {
    "a kept column": (
        {"schema": {"quasi": ["age"], "keep": ["sex"]}},
        SchemaError,
        "every published column is covered",
    ),
    "numbers without a range": ({"scheme": {}}, SchemaError, "declare its range"),
    "a choice that chooses nothing": (
        {"epsilon_scheme": 0.1, "scheme": {"age": AGE, "sex": 0, "ill": 0}},
        PlanError,
        "leaves none",
    ),
    "a column that is not published": (
        {"scheme": {"age": AGE, "who": 0}},
        PlanError,
        "'who', which is not published",
    ),
}


@pytest.mark.parametrize(("asked", "error", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_what_would_not_be_covered_is_refused(
    tmp_path: Path, asked: dict[str, Any], error: type[PhalanxError], says: str
) -> None:
    """One sentence, and nothing is written or spent."""
    with pytest.raises(error, match=says):
        series_in(tmp_path, **asked).publish(table(200))
    assert list((tmp_path / "out").iterdir()) == []
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert ledger.releases("s") == []


@pytest.mark.parametrize("choose", ["levels", "partition"])
def test_a_chosen_scheme_is_published_and_paid_for(tmp_path: Path, choose: str) -> None:
    """What the choice cost is a part of epsilon, and the check sees a scheme that fits the rows."""
    age = {"low": 0, "high": 100, "widths": [5, 10, 20]}
    made = series_in(
        tmp_path, epsilon=2, epsilon_scheme=0.5, choose=choose, scheme={"age": age}, depth=4
    ).publish(table())
    promised = made.manifest.guarantees[0]
    assert promised["epsilon"] == 2 and promised["epsilon_scheme"] == 0.5
    assert made.manifest.scheme is not None and made.manifest.scheme["chosen"] == choose
    assert made.rows > 0
    assert verify([made.path], originals=[table()], identifier="who").holds


Spoil = Callable[[Draft, Recoded, Microdata], Draft]


def less_than_a_crowd(draft: Draft, form: Recoded, _: Microdata) -> Draft:
    """Of one image k - 1 rows are left."""
    k = draft.guarantees[0].k  # type: ignore[index,attr-defined]
    first = form.table[:1]
    others = form.table.join(first, on=form.table.columns, how="anti", nulls_equal=True)
    return replace(
        draft, form=replace(form, table=pl.concat([first[[0] * (k - 1)], others]).sort(pl.all()))
    )


def stars(draft: Draft, form: Recoded, microdata: Microdata) -> Draft:
    """Rows that were dropped are there as stars."""
    left_out = microdata.rows - form.rows
    star = form.table.clear(left_out).with_columns(sex=pl.lit("*"), ill=pl.lit("*"))
    return replace(draft, form=replace(form, table=pl.concat([form.table, star])))


def tight_boxes(draft: Draft, form: Recoded, _: Microdata) -> Draft:
    """A cell ends at the greatest age that was seen."""
    return replace(
        draft,
        form=replace(
            form, table=form.table.with_columns(age_high=pl.col("age_high").replace(80, 79))
        ),
    )


def others_image(draft: Draft, _: Recoded, __: Microdata) -> Draft:
    """Two rows are said to be in each other's images."""
    groups = draft.groups.copy()
    one = int(np.flatnonzero(groups == 1)[0])
    groups[one] = 2
    return replace(draft, groups=groups)


def a_row_suppressed(draft: Draft, form: Recoded, _: Microdata) -> Draft:
    """One sampled row of a crowd is not published, and the crowd is still one."""
    return replace(draft, form=replace(form, table=form.table[1:]))


def promised_too_well(draft: Draft, _: Recoded, __: Microdata) -> Draft:
    """The promise says a smaller delta than these parameters have."""
    return replace(draft, guarantees=[replace(draft.guarantees[0], delta=1e-12)])  # type: ignore[index,type-var]


BROKEN: dict[str, tuple[Spoil, str]] = {
    "less than a crowd": (less_than_a_crowd, "differential-privacy: crowd"),
    "stars": (stars, "differential-privacy: scheme|consistency|differential-privacy"),
    "a cell that follows the data": (tight_boxes, "differential-privacy|consistency"),
    "the image of another": (others_image, "truth"),
    "a row suppressed": (a_row_suppressed, "truth"),
    "a smaller delta": (promised_too_well, "differential-privacy: delta|consistency"),
}


@pytest.mark.parametrize(("spoil", "part"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_method_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, part: str
) -> None:
    """What is not so is found in the written files; nothing is published, remembered or spent, and
    the next release is number 1.
    """
    real = SafeSampling.publish

    def broken(self: SafeSampling, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        draft = real(self, microdata, memory, rng)
        assert isinstance(draft.form, Recoded)
        return spoil(draft, draft.form, microdata)

    with monkeypatch.context() as patch:
        patch.setattr(SafeSampling, "publish", broken)
        with pytest.raises(GuaranteeError, match=part):
            series_in(tmp_path).publish(table())
    assert list((tmp_path / "out").iterdir()) == []
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert ledger.releases("s") == [] and not ledger.remembered("s")
    assert series_in(tmp_path).publish(table()).number == 1


def test_a_threshold_too_low_does_not_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that keeps images of k - 1 rows is caught by the check of the files, where such an
    image came up.
    """
    from phalanx.methods.safe_sampling.kernels import images as kernel

    real = kernel.crowded
    monkeypatch.setattr(
        "phalanx.methods.safe_sampling.method.kernel.crowded",
        lambda image, counts, k: real(image, counts, k - 1),
    )

    def many() -> None:
        for rows in range(700, 1300, 10):
            series_in(tmp_path / str(rows), k=20, beta=0.5, delta=None).publish(table(rows))

    with pytest.raises(GuaranteeError, match="crowd"):
        many()


def test_every_entry_point_asks_the_system_for_randomness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample is drawn under a fresh key of the operating system, once for each release."""
    import os

    from phalanx import randomness

    asked: list[int] = []

    def urandom(n: int) -> bytes:
        asked.append(n)
        return os.urandom(n)

    monkeypatch.setattr(
        randomness,
        "os",
        type("os", (), {"urandom": staticmethod(urandom), "getpid": staticmethod(os.getpid)}),
    )
    series_in(tmp_path).publish(table(200))
    assert asked.count(32) >= 2  # the staging folder's name, and the sample


PRINTED = [
    ("tight", "0.25", "1e-6", 2, "0"),
    ("tight", "0.5", "1e-6", 4, "0"),
    ("tight", "0.8", "1e-6", 2, "0"),
    ("tight", "0.25", "1e-5", 3, "0"),
    ("tight", "1.1", "1e-6", 2, "0.1"),
    ("theorem", "2", "1e-5", 2, "0"),
    ("theorem", "1", "1e-6", 6, "0.1"),
]


@pytest.mark.parametrize(("accounting", "epsilon", "delta", "releases", "scheme"), PRINTED)
def test_what_releases_cost_together_can_be_spent(accounting, epsilon, delta, releases, scheme):
    """The figures that ``phalanx budget`` prints, put into a plan, last for as many releases, by the
    bound of the check too; and the figures themselves, which are not rounded up.
    """
    promise = solve(epsilon=epsilon, delta=delta, accounting=accounting, epsilon_scheme=scheme)
    cost = together(promise, releases)
    for figure in (at_most(cost.tight_epsilon), repr(cost.tight_epsilon)):
        method = SafeSampling(
            epsilon=epsilon,
            delta=delta,
            accounting=accounting,
            epsilon_scheme=scheme,
            budget={"epsilon": figure, "delta": at_most(cost.delta)},
            expected_rows=200,
        )
        assert method._within(releases) and not method._within(100 * releases)


def test_the_door_asks_the_check_before_a_sample_is_drawn(monkeypatch):
    """A budget that the makers' accounting finds large enough, and the check does not, is refused as
    one that is spent.
    """
    budget = {"epsilon": "0.2952", "delta": "2e-6"}
    method = SafeSampling(epsilon="0.25", delta="1e-6", budget=budget, allow_empty=True)
    assert method._within(2) is False
    monkeypatch.setattr(composition, "_AGREED", 1)
    together.cache_clear()
    promise = solve(epsilon="0.25", delta="1e-6", accounting="tight")
    assert together(promise, 2).epsilon_at(2e-6) <= 0.2952
    assert method._within(2) is False
    with pytest.raises(MethodError, match="stop here, as a series keeps its budget"):
        method._check_budget(2)
    together.cache_clear()
