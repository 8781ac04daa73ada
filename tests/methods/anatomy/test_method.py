# SPDX-License-Identifier: Apache-2.0
"""Anatomy from microdata to a draft, and through the whole way of publishing: what is published
keeps the promise, what cannot be kept is refused.
"""

import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx import Release, Schema, Series, verify
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, MethodError, NotEligible, PlanError, SchemaError
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.guarantees.truth import buckets as bucket_truth
from phalanx.methods.anatomy import method as anatomy
from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.base import Draft, Memory, make
from phalanx.randomness import Randomness
from phalanx.release.forms.bucketized import bucketize
from support.uniform import SURE, p_of

SCHEMA = Schema(quasi=["age", "sex", "zip"], sensitive="illness")


def patients(n: int = 400, seed: int = 7) -> pl.DataFrame:
    """Persons with an age, a sex, a zip code and an illness, some more frequent than others, none
    in more than a quarter.
    """
    rng = np.random.default_rng(seed)
    illness = rng.permutation(
        ["flu"] * (n // 4)
        + rng.choice(["cold", "asthma", "ulcer", "rash", "acne", "gout"], n - n // 4).tolist()
    )
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "zip": [f"{z:05d}" for z in 47000 + rng.integers(0, 40, n)],
            "illness": illness,
        }
    )


def ill(values: list[Any]) -> pl.DataFrame:
    """Persons with these illnesses, of 40 ages at most."""
    return pl.DataFrame(
        {
            "age": [20 + i % 40 for i in range(len(values))],
            "sex": "f",
            "zip": "47000",
            "illness": values,
        }
    )


def publish(l: Any, frame: pl.DataFrame, roles: Schema = SCHEMA, seed: int = 5) -> Draft:
    return Anatomy(l=l).publish(Microdata.encode(frame, roles), Memory(), Randomness.seeded(seed))


def buckets_of(draft: Draft) -> list[dict[Any, int]]:
    """How often each sensitive value stands in each published bucket."""
    found: dict[int, dict[Any, int]] = defaultdict(dict)
    for bucket, value, count in draft.form.tables()["sensitive"].iter_rows():
        found[bucket][value] = count
    return list(found.values())


@pytest.mark.parametrize("l", [1, 2, 3, 4, "5/2", 3.5])
def test_every_bucket_holds_each_value_at_most_once(l: Any) -> None:
    """Each has l rows or more, rounded up, all of different values; the guarantee that the method
    names agrees, in fractions.
    """
    frame = patients(403)
    draft = publish(l, frame)
    size = -(-Fraction(l) // 1)
    buckets = buckets_of(draft)
    assert all(set(bucket.values()) == {1} and len(bucket) >= size for bucket in buckets)
    assert sum(map(len, buckets)) == frame.height == draft.form.rows
    assert len(buckets) == draft.form.groups == frame.height // size
    (guarantee,) = Anatomy(l=l).guarantees
    (verdict,) = guarantee.check(draft.form)  # type: ignore[arg-type]
    assert verdict.holds
    assert verdict.bound == 1 / Fraction(l) >= verdict.worst == Fraction(1, int(size))


def test_quasi_identifiers_are_published_as_they_are() -> None:
    """Each row stands in its own bucket with its own values, and the two tables have nothing in
    common but the bucket.
    """
    frame = patients()
    draft = publish(3, frame)
    own = frame.select(pl.Series("bucket", draft.groups), "age", "sex", "zip")
    assert own.sort(pl.all()).equals(draft.form.table.sort(pl.all()))
    assert draft.form.headers() == {
        "data": ["bucket", "age", "sex", "zip"],
        "sensitive": ["bucket", "illness", "count"],
    }
    assert bucket_truth.check_bucketized(
        draft.form, Microdata.encode(frame, SCHEMA), draft.groups
    ).holds


def test_a_row_in_another_bucket_is_not_the_truth() -> None:
    """Two rows whose buckets are exchanged in the mapping are found by the check of truth."""
    frame = patients()
    draft = publish(3, frame)
    swapped = draft.groups.copy()
    other = int(np.flatnonzero(swapped != swapped[0])[0])
    swapped[[0, other]] = swapped[[other, 0]]
    assert not bucket_truth.check_bucketized(
        draft.form, Microdata.encode(frame, SCHEMA), swapped
    ).holds


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any),
    st.sampled_from([1, 2, 3, 4, 5, "3/2", "7/3"]),
    st.integers(0, 2**32),
)
@settings(deadline=None)  # the first call compiles
def test_published_where_eligible_and_refused_where_not(
    counts: list[int], l: Any, seed: int
) -> None:
    """Whatever the counts: a table is published iff no value stands in more than 1/l of it, l
    rounded up, and then keeps the promise.
    """
    frame = ill([f"v{v}" for v, count in enumerate(counts) for _ in range(count)])
    size = -(-Fraction(l) // 1)
    if size * max(counts) > sum(counts):
        with pytest.raises(NotEligible):
            publish(l, frame)
        return
    draft = publish(l, frame, seed=seed)
    assert all(set(bucket.values()) == {1} and len(bucket) >= size for bucket in buckets_of(draft))
    assert AnatomyDiversity(l=l).check(draft.form)[0].holds  # type: ignore[arg-type]


@pytest.mark.parametrize("l", [2, 3, 5])
def test_a_value_in_exactly_its_share_is_published(l: int) -> None:
    """With n / l rows of one value every bucket holds it, and one row more is refused."""
    others = [f"v{i % 11}" for i in range(40 * (l - 1))]
    assert all("flu" in bucket for bucket in buckets_of(publish(l, ill(["flu"] * 40 + others))))
    with pytest.raises(NotEligible):
        publish(l, ill(["flu"] * 41 + others))


REFUSED: list[tuple[Any, list[str], str]] = [
    (
        3,
        ["flu"] * 6 + ["cold"] * 5 + ["rash"] * 3,
        (
            r"'illness' stands in 6 of 14 rows \(42.9 %\) and l = 3 allows at most 1/l; lower l to"
            r" at most 2, suppress"
        ),
    ),
    (
        "5/2",
        ["flu"] * 4 + ["cold"] * 3 + ["rash"] * 3,
        (
            r"l = 5/2 allows at most 1/l, rounded up to 3 as a bucket holds each value once at"
            r" most; lower l to at most 2"
        ),
    ),
    (
        10,
        ["flu", "cold", "rash"],
        r"stands in 1 of 3 rows \(33.3 %\) and l = 10 allows at most 1/l; lower l to at most 3",
    ),
    ("1e300", ["flu", "cold"], r"lower l to at most 2"),
]


@pytest.mark.parametrize(("l", "values", "said"), REFUSED, ids=[str(l) for l, _, _ in REFUSED])
def test_what_is_not_eligible_is_refused_with_the_way_out(
    l: Any, values: list[str], said: str
) -> None:
    """The sentence names the column, its largest share and the largest l that is possible; that one
    is published.
    """
    with pytest.raises(NotEligible, match=said) as refused:
        publish(l, ill(values))
    assert not any(value in str(refused.value) for value in values)
    possible = int(str(refused.value).split("at most ")[-1].split(",")[0])
    assert publish(possible, ill(values)).form.rows == len(values)
    with pytest.raises(NotEligible):
        publish(possible + 1, ill(values))


@pytest.mark.parametrize(("l", "values"), [(2, ["flu"] * 3), ("4/2", ["flu"])])
def test_an_l_of_1_is_no_advice(l: Any, values: list[str]) -> None:
    """Where nothing above 1 fits, the other ways out are named alone."""
    with pytest.raises(
        NotEligible,
        match=r"\(100.0 %\) and l = .* allows at most 1/l; suppress rows with that value, or make",
    ) as refused:
        publish(l, ill(values))
    assert "lower l" not in str(refused.value)


@pytest.mark.parametrize("l", [0, "1/2", -3, "many", True, None, float("nan"), float("inf")])
def test_an_l_that_means_nothing_is_refused(l: Any) -> None:
    """A number of at least 1 is asked for."""
    with pytest.raises(PlanError, match=r"\[method\] l must be"):
        Anatomy(l=l)


def test_a_plan_names_the_method() -> None:
    """By its name, with its one parameter, which it needs; an unknown one is refused."""
    assert make("anatomy", {"l": "5/2"}).parameters() == {"name": "anatomy", "l": "5/2"}
    assert make("anatomy", {"l": 4}).guarantees == [AnatomyDiversity(l=4)]
    with pytest.raises(PlanError, match="needs the key 'l'"):
        make("anatomy", {})
    with pytest.raises(PlanError, match="unknown key 'k'"):
        make("anatomy", {"l": 2, "k": 3})


def test_attributes_without_a_place_are_refused() -> None:
    """A kept column, sets of values, and a table without a sensitive attribute, each in one
    sentence.
    """
    with pytest.raises(
        SchemaError, match=r"column 'zip' is kept, and anatomy .* make it quasi, or drop it\.$"
    ):
        publish(2, patients(), Schema(quasi=["age", "sex"], sensitive="illness", keep=["zip"]))
    with pytest.raises(SchemaError, match="holds sets of values, and anatomy is about one value"):
        publish(
            2,
            pl.DataFrame({"age": [1, 2], "illness": [["flu"], ["cold", "gout"]]}),
            Schema(quasi=["age"], sensitive="illness"),
        )
    with pytest.raises(SchemaError, match="no sensitive attribute is declared"):
        publish(2, patients().drop("illness"), Schema(quasi=["age", "sex", "zip"]))
    with pytest.raises(SchemaError, match="published column would be called 'bucket'"):
        publish(
            2,
            patients().rename({"zip": "bucket"}),
            Schema(quasi=["age", "sex", "bucket"], sensitive="illness"),
        )


def test_a_missing_value_is_a_value_of_its_own() -> None:
    """Of illnesses as of quasi-identifiers, where the schema allows it; no bucket has two missing
    ones.
    """
    frame = pl.DataFrame(
        {
            "age": [None, 30] * 6,
            "sex": ["f"] * 12,
            "zip": ["47000"] * 12,
            "illness": [None, None, "flu", "flu", "cold", "rash"] * 2,
        }
    )
    draft = publish(
        3, frame, Schema(quasi=["age", "sex", "zip"], sensitive="illness", missing="value")
    )
    assert sum(bucket.get(None, 0) for bucket in buckets_of(draft)) == 4
    assert all(bucket[None] == 1 for bucket in buckets_of(draft))
    assert draft.form.table["age"].null_count() == 6


def test_one_row_is_published_where_nothing_is_asked() -> None:
    """L of 1 promises nothing and publishes a single row."""
    draft = publish(1, ill(["flu"]))
    assert draft.groups.tolist() == [1]
    assert buckets_of(draft) == [{"flu": 1}]


def test_the_order_of_the_source_is_not_published() -> None:
    """Four persons in two buckets: each order of rows comes equally often; chi-square, a false
    alarm once in ten million runs.
    """
    frame = ill(["flu", "cold", "rash", "gout"])
    microdata, kinds = Microdata.encode(frame, SCHEMA), math.factorial(4)
    found: Counter[Any] = Counter()
    for seed in range(100 * kinds):
        table = Anatomy(l=2).publish(microdata, Memory(), Randomness.seeded(seed)).form.table
        found[tuple(table["age"])] += 1
    assert p_of(found, kinds) > SURE


def test_the_table_of_values_says_nothing_of_the_source() -> None:
    """It stands in the order of buckets, which are numbered at random, and of values."""
    draft = publish(3, patients())
    values = draft.form.tables()["sensitive"]
    assert values.equals(values.sort("bucket", "illness"))
    assert draft.form.table["bucket"].is_sorted()
    assert draft.form.table["bucket"].unique().sort().to_list() == list(
        range(1, draft.form.groups + 1)
    )
    assert np.corrcoef(np.arange(400), draft.groups)[0, 1] == pytest.approx(
        0, abs=0.27
    )  # 5.4 standard deviations: a false alarm once in ten million seeds


def test_the_promise_is_about_one_release() -> None:
    """The limit that the documentation names: of the same persons published again, some are left
    with one value, and more with every release.
    """
    frame = patients()
    candidates: list[set[str]] = [set(frame["illness"]) for _ in range(frame.height)]
    alone = []
    for seed in range(4):
        draft = publish(3, frame, seed=seed)
        holds: dict[int, set[str]] = defaultdict(set)
        for bucket, value, _ in draft.form.tables()["sensitive"].iter_rows():
            holds[bucket].add(value)
        candidates = [
            left & holds[bucket]
            for left, bucket in zip(candidates, draft.groups.tolist(), strict=True)
        ]
        alone.append(sum(len(left) == 1 for left in candidates))
    assert alone[0] == 0 < alone[1] < alone[2] < alone[3]


def residue_joins_its_own(l: int, microdata: Microdata) -> np.ndarray:
    """A broken twin: the last rows of the most frequent value go to a bucket that holds it
    already.
    """
    codes, n = microdata.sensitive.codes, microdata.rows
    order = np.argsort(codes, kind="stable")
    buckets = np.empty(n, dtype=np.int64)
    buckets[order] = np.arange(n) % (n // l)
    same = np.flatnonzero(codes == codes[order[0]])
    buckets[same[0]] = buckets[same[1]]
    return buckets


def too_small(l: int, microdata: Microdata) -> np.ndarray:
    """A broken twin: one row of a bucket stands alone."""
    buckets = anatomy.bucketization(
        Anatomy(l=l), microdata.sensitive, Randomness.seeded(1).stream("anatomy")
    )
    buckets[0] = buckets.max() + 1
    return buckets


BROKEN = [residue_joins_its_own, too_small]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_twin_is_refused_by_the_guarantee(broken: Any) -> None:
    """A value twice in a bucket of l, or a bucket of one, breaks the promise."""
    microdata = Microdata.encode(patients(), SCHEMA)
    form, _ = bucketize(microdata, broken(4, microdata), Randomness.seeded(1).stream("bucketize"))
    (verdict,) = AnatomyDiversity(l=4).check(form)  # type: ignore[arg-type]
    assert not verdict.holds
    assert verdict.worst > Fraction(1, 4)


WITH_PERSONS = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="illness")


def with_persons(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(who=pl.int_range(pl.len()))


def series(to: Path, schema: Schema = WITH_PERSONS, **said: Any) -> Series:
    return Series(
        "ward",
        **{
            "schema": schema,
            "method": Anatomy(l=3),
            "to": to / "out",
            "ledger": f"sqlite:///{to}/l.db",
            "formats": ("parquet", "csv"),
        }
        | said,
    )


def test_published_and_checked_from_the_files(tmp_path: Path) -> None:
    """Two releases leave as Parquet and CSV; the folders hold by themselves, with the ledger, and
    with the originals.
    """
    tables = [with_persons(patients(seed=1)), with_persons(patients(301, seed=2))]
    made = [series(tmp_path).publish(table) for table in tables]
    assert [(m.rows, m.groups, m.suppressed_rows, m.counterfeits) for m in made] == [
        (400, 133, {}, 0),
        (301, 100, {}, 0),
    ]
    folders = [m.path for m in made]
    assert {p.name for p in folders[0].iterdir()} == {
        "release.json",
        "data.parquet",
        "data.csv",
        "sensitive.parquet",
        "sensitive.csv",
    }
    for said in (
        {},
        {"ledger": f"sqlite:///{tmp_path}/l.db"},
        {"ledger": f"sqlite:///{tmp_path}/l.db", "originals": tables, "identifier": "who"},
    ):
        checked = verify(folders, **said)  # type: ignore[arg-type]
        assert checked.holds, [v for v in checked.checks if not v.holds]
        assert sum("anatomy-l-diversity" in v.name for v in checked.checks) == 2
    read = Release.read(folders[0])
    assert (read.manifest.form, read.manifest.boxes, read.manifest.method) == (
        "bucketized",
        "exact",
        {"name": "anatomy", "l": 3},
    )
    assert pl.read_csv(
        folders[0] / "sensitive.csv", schema_overrides=read.form.tables()["sensitive"].schema
    ).equals(read.form.tables()["sensitive"])


def test_published_without_persons(tmp_path: Path) -> None:
    """No identifier is needed."""
    made = series(tmp_path, SCHEMA).publish(patients())
    assert verify([made.path]).holds
    assert list(made.tables) == ["data", "sensitive"]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_method_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    """The check of the written files stands between a wrong grouping and the folder that is handed
    out.
    """
    frame = patients()
    buckets = broken(3, Microdata.encode(frame, SCHEMA))
    monkeypatch.setattr(anatomy, "bucketization", lambda *_, **__: buckets)
    with pytest.raises(GuaranteeError, match="anatomy-l-diversity"):
        series(tmp_path, SCHEMA).publish(frame)
    assert not list((tmp_path / "out").iterdir())


def test_what_is_refused_publishes_nothing(tmp_path: Path) -> None:
    """A table that is not eligible leaves no folder behind."""
    with pytest.raises(MethodError, match="lower l to at most 2"):
        series(tmp_path, SCHEMA).publish(ill(["flu"] * 20 + ["cold"] * 10 + ["rash"] * 10))
    assert not list((tmp_path / "out").iterdir())
