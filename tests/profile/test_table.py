# SPDX-License-Identifier: Apache-2.0
"""A profile counts, a proposal errs on the safe side, and neither holds a value of the table."""

import datetime as dt
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from phalanx.data.microdata import Microdata
from phalanx.errors import SourceError
from phalanx.plan import Plan
from phalanx.profile.columns import counted
from phalanx.profile.proposal import series_of, slug
from phalanx.profile.scales import scale_of
from phalanx.profile.table import profile, propose_plan
from phalanx.profile.use import Changes, Use

N = 200
HOSPITAL = pl.DataFrame(
    {
        "patient_nbr": [f"MARKER-P{i}" for i in range(N)],
        "visit_id": range(N),
        "Name": [f"MARKER-N{i % 50}" for i in range(N)],
        "age": [20 + i % 60 for i in range(N)],
        "zip": [f"{90000 + i % 150}" for i in range(N)],
        "shoe": [None if i % 10 == 0 else i % 7 for i in range(N)],
        "notes": [
            f"MARKER {i} came in on a rainy day and told a rather long story" for i in range(N)
        ],
        "diagnosis": [f"MARKER-D{i % 3}" for i in range(N)],
    }
)


def roles(frame: pl.DataFrame) -> dict[str, str]:
    return {c.name: c.role for c in profile(frame)}


def test_roles_of_a_hospital():
    """Person, attributes that others know, secret, names, free text and numbers are told apart;
    what is unknown is quasi.
    """
    assert roles(HOSPITAL) == {
        "patient_nbr": "identifier",
        "visit_id": "drop",
        "Name": "drop",
        "age": "quasi",
        "zip": "quasi",
        "shoe": "quasi",
        "notes": "drop",
        "diagnosis": "sensitive",
    }


def test_counts():
    """Distinct values, missing ones and uniqueness are what they are; NaN is missing."""
    seen = {
        c.name: c for c in profile(HOSPITAL.with_columns(x=pl.Series([1.0, float("nan")] * 100)))
    }

    assert (seen["age"].distinct, seen["age"].missing, seen["age"].uniqueness) == (60, 0, 0.3)
    assert (seen["shoe"].distinct, seen["shoe"].missing) == (7, 20)
    assert (seen["x"].distinct, seen["x"].missing) == (1, 100)


@pytest.mark.parametrize(
    ("rows", "distinct", "near"),
    [(49, 49, False), (50, 50, True), (100, 90, False), (100, 91, True), (6, 3, False)],
)
def test_values_that_hardly_come_again_are_near_unique(rows, distinct, near):
    """More than nine tenths of 50 rows or more; and each value is one of so many as come as often."""
    seen = counted(pl.Series("x", [i % distinct for i in range(rows)]))
    assert seen.near_unique == near
    assert seen.largest_m == min(distinct, rows // math.ceil(rows / distinct))
    assert (seen.alike, seen.shared) == (0, 0)


def test_timestamps_are_counted_by_their_day():
    """A day of a timestamp is what is published, in the column's own zone: so many are told apart,
    so many hide a value, and a column of the same days says the same.
    """
    start = dt.datetime(2024, 1, 1, 23, tzinfo=dt.UTC)
    times = [start + dt.timedelta(days=i % 4, minutes=i % 50) for i in range(N)]
    frame = pl.DataFrame({"age": [20 + i % 60 for i in range(N)], "seen": times, "again": times})
    for zone, days in (("UTC", 4), ("Europe/Berlin", 4), ("Atlantic/Cape_Verde", 4)):
        there = frame.with_columns(pl.col(pl.Datetime).dt.convert_time_zone(zone))
        there = there.with_columns(again=pl.col("seen").dt.truncate("1h").dt.date())
        seen = {c.name: c for c in profile(there)}
        assert (seen["seen"].distinct, seen["seen"].largest_m) == (days, 4)
        assert {seen["seen"].role, seen["again"].role} == {"quasi", "drop"}


def test_the_proposal_is_a_plan_without_values():
    """What is proposed parses, has each column in one role, names counts, and holds no value of a
    row.
    """
    text = propose_plan("discharges.csv", profile(HOSPITAL), "discharges")
    plan = Plan.parse(text, Path("plan.toml"))
    schema = plan.schema()

    assert "MARKER" not in text
    assert {name: schema.role(name) for name in HOSPITAL.columns} == roles(HOSPITAL)
    assert "shoe" in schema.may_be_missing
    assert schema.hierarchies["zip"].parameters() == {"kind": "prefix", "lengths": [5, 4, 3, 2, 0]}
    assert plan.sections.method_.model_extra == {"m": 2}
    assert all(f'"{name}"' in text for name in HOSPITAL.columns)
    assert "60 distinct in 200 rows" in text


@pytest.mark.parametrize(
    ("counts", "m"),
    [
        ([50, 50], 2),
        ([34, 33, 33], 2),
        ([33, 33, 34], 2),
        ([25] * 4, 4),
        ([10] * 10, 5),
        ([20] * 5, 5),
    ],
)
def test_m_is_what_the_frequencies_allow(counts, m):
    """The largest m up to 5 of which the most frequent value has at most 1/m."""
    rows = sum(counts)
    frame = pl.DataFrame(
        {
            "id": range(rows),
            "age": [i % 9 for i in range(rows)],
            "disease": [f"d{i}" for i, n in enumerate(counts) for _ in range(n)],
        }
    )
    method = tomllib.loads(propose_plan("x.csv", profile(frame), "x"))["method"]

    assert method == {"name": "m-invariance", "m": m}


def test_a_value_of_most_rows_is_no_secret_to_cover():
    """Where one value has more than half the rows no m is possible, and k-anonymity alone is
    proposed, saying so.
    """
    frame = pl.DataFrame(
        {
            "id": range(100),
            "age": [i % 9 for i in range(100)],
            "disease": ["flu"] * 51 + ["cold"] * 49,
        }
    )
    text = propose_plan("x.csv", profile(frame), "x")

    assert tomllib.loads(text)["method"] == {"name": "mondrian", "k": 5}
    assert "no value is protected" in text


def test_without_an_identifier_one_release_is_protected():
    """Where nobody can be recognised again, a method for one release is proposed."""
    frame = pl.DataFrame(
        {"age": [i % 9 for i in range(100)], "disease": [f"d{i % 4}" for i in range(100)]}
    )

    assert tomllib.loads(propose_plan("x.csv", profile(frame), "x"))["method"] == {
        "name": "mondrian",
        "k": 5,
        "l": 3,
    }


def test_what_counts_the_rows_is_no_person():
    """What a program writes beside a table is somebody else's number in the next one, unless its
    name says that it is a person's, or the numbers are not in their order.
    """
    counts = pl.DataFrame({"Unnamed: 0": range(N), "sex": ["f", "m"] * (N // 2)})
    (first, *_) = profile(counts)
    assert (first.role, first.reason) == (
        "drop",
        "it counts the rows, and in another table the same number may be another person",
    )
    beside = counts.with_columns(Versichertennr=pl.Series([f"X{i * 7 % N}" for i in range(N)]))
    assert roles(beside) == {"Unnamed: 0": "drop", "sex": "quasi", "Versichertennr": "identifier"}
    assert roles(counts.rename({"Unnamed: 0": "customer"}))["customer"] == "identifier"
    assert roles(counts.reverse())["Unnamed: 0"] == "identifier"


def test_what_counts_the_rows_is_seen_in_a_sample():
    """Where rows at equal distances are looked at, it goes up by more than one; of few rows that may
    be chance.
    """
    counts = pl.DataFrame({"n": range(0, 70 * N, 7), "sex": ["f", "m"] * (5 * N)})
    assert roles(counts)["n"] == "drop"
    assert roles(counts.head(100))["n"] == "identifier"
    assert roles(counts.with_columns(pl.lit(7).alias("n")))["n"] != "identifier"


def test_persons_who_recur_are_still_persons():
    """A patient number beside a unique visit number is the identifier."""
    frame = pl.DataFrame(
        {
            "visit_id": range(300),
            "patient": [i // 3 for i in range(300)],
            "age": [i % 9 for i in range(300)],
        }
    )

    assert roles(frame) == {"visit_id": "drop", "patient": "identifier", "age": "quasi"}


def test_a_near_unique_quasi_identifier_is_vouched_for():
    """A number that others know and that tells nearly everybody apart gets its type declared, as
    encoding asks for.
    """
    frame = pl.DataFrame(
        {
            "id": range(100),
            "birth": [19000000 + 7 * i for i in range(100)],
            "s": [i % 4 for i in range(100)],
        }
    )
    schema = Plan.parse(propose_plan("x.csv", profile(frame), "x"), Path("p.toml")).schema()

    assert schema.role("birth") == "quasi"
    assert schema.types == {"birth": "numeric"}


names = st.text(min_size=1, max_size=12).filter(
    lambda t: (
        max(t) < "\ud800"
        and "\0" not in t
        and t[0] != "\ufeff"
        and t != "*"
        and not (t[0] == "^" and t[-1] == "$")
    )
)
STRANGE = [
    'say "hi"',
    "it's",
    "back\\slash",
    "new\nline\r",
    "]\n[method]\nname = 1",
    "🙂",
    "x; DROP TABLE t",
    "\x01\x7f\x1b",
    "#",
    "a.b",
    "\u2028",
    "true",
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(names, st.sampled_from(STRANGE)), min_size=2, max_size=6, unique=True))
def test_any_column_names_make_a_plan(columns):
    """Quotes, line breaks, control characters, emoji and TOML in column names are escaped: each
    name comes back in one role. Where all are numbers, they are a row and no names.
    """
    assume(pl.Series(columns).cast(pl.Float64, strict=False).null_count())
    frame = pl.DataFrame(
        {name: [(i * (k + 2)) % 11 for i in range(60)] for k, name in enumerate(columns)}
    )
    seen = profile(frame)
    if not {c.role for c in seen} & {"quasi", "sensitive"}:
        return
    schema = Plan.parse(propose_plan('we "ird\n.csv', seen, "🙂"), Path("p.toml")).schema()

    assert sorted(schema.columns) == sorted(columns)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("a b/c", "a-b-c"),
        ("..", "series"),
        ("🙂", "series"),
        ("x" * 200, "x" * 100),
        (".hid", "hid"),
        ("ok_1.2-b", "ok_1.2-b"),
    ],
)
def test_slugs(name, made):
    """Any name becomes one that may name a folder."""
    assert slug(name) == made


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("data/ward a.csv", "ward-a"),
        ("sqlite:////data/ward.db", "ward"),
        ("postgresql://ann:SECRET@host:5432/clinic", "clinic"),
        ("postgresql://ann:SECRET@db.host", "series"),
        ("postgresql://ann:SEC[RET@host?x=1/SECRET", "series"),
        ("postgresql://ann:SEC/RET@db.host", "series"),
        ("postgresql:///clinic?user=ann&password=SECRET", "clinic"),
    ],
)
def test_no_password_names_a_series(source, made):
    """The name is published, in the manifest and in names of folders."""
    assert series_of(source) == made


def test_odd_tables():
    """No rows or columns are refused; one row, constant, nested, time and empty columns are
    profiled.
    """
    with pytest.raises(SourceError, match="no rows"):
        profile(pl.DataFrame({"a": []}))
    with pytest.raises(SourceError, match="no rows"):
        profile(pl.DataFrame())
    with pytest.raises(SourceError, match="no column of the table could be"):
        propose_plan("x.csv", profile(pl.DataFrame({"id": range(100)})), "x")
    seen = profile(
        pl.DataFrame(
            {
                "a": [1],
                "l": [[1]],
                "t": [dt.time(1)],
                "e": pl.Series([None], dtype=pl.String),
                "b": [True],
                "d": [dt.date(2026, 1, 1)],
            }
        )
    )
    assert {c.name: (c.role, c.type) for c in seen} == {
        "a": ("quasi", "numeric"),
        "l": ("drop", "set"),
        "t": ("drop", "categorical"),
        "e": ("drop", "categorical"),
        "b": ("quasi", "categorical"),
        "d": ("quasi", "date"),
    }


def test_what_cannot_be_published_is_counted_too():
    """Times, bytes, durations and records: values that come again are one."""
    columns = {
        "t": [dt.time(1), dt.time(2), None] * 4,
        "b": [b"x"] * 12,
        "d": [dt.timedelta(i % 5) for i in range(12)],
        "r": [{"x": i % 2} for i in range(12)],
    }
    seen = {c.name: c for c in profile(pl.DataFrame(columns))}
    assert {name: c.distinct for name, c in seen.items()} == {"t": 2, "b": 1, "d": 5, "r": 2}
    assert {name: c.most_frequent for name, c in seen.items()} == {"t": 4, "b": 12, "d": 3, "r": 6}
    assert {c.role for c in seen.values()} == {"drop"}


REACTIONS = [[f"MARKER-R{j}" for j in range(30) if (i * j + i) % 11 == 0] for i in range(N)]


@pytest.mark.parametrize("name", ["reactions", "anything"])
@pytest.mark.parametrize("kind", ["lists", "texts"])
def test_sets_of_values_are_recognised(name, kind):
    """Lists, and texts with semicolons, are proposed as a sensitive attribute of type set, in a
    plan that encodes the table and holds none of its values.
    """
    lists = pl.Series(name, REACTIONS)
    frame = HOSPITAL.drop("diagnosis").with_columns(
        lists if kind == "lists" else lists.list.join(";") + ";"
    )
    (seen,) = [c for c in profile(frame) if c.name == name]
    text = propose_plan("x.parquet", profile(frame), "x")
    plan = Plan.parse(text, Path("p.toml"))

    assert (seen.role, seen.type, seen.distinct, seen.near_unique) == (
        "sensitive",
        "set",
        len({tuple(r) for r in REACTIONS}),
        False,
    )
    assert plan.schema().types == {name: "set"}
    assert plan.method().parameters()["name"] == "mondrian"
    assert "MARKER" not in text
    assert Microdata.encode(frame, plan.schema()).sensitive.domain.type == "set"


def test_prose_with_semicolons_is_no_set():
    """Parts that never come again are no values of a set; lists of them tell people apart, and are
    dropped.
    """
    texts = pl.Series("anything", [f"came at {i}; left at {i + N}" for i in range(N)])
    seen = {
        c.name: c
        for c in profile(
            HOSPITAL.select("patient_nbr", "age").with_columns(
                texts, texts.str.split("; ").alias("lists")
            )
        )
    }

    assert (seen["anything"].role, seen["anything"].type) == ("drop", "categorical")
    assert (seen["lists"].role, seen["lists"].type, seen["lists"].near_unique) == (
        "drop",
        "set",
        True,
    )


def test_one_set_is_sensitive_and_others_are_dropped():
    """A set cannot be a quasi-identifier, so those that are not taken for sensitive are left out;
    with nothing else there is no plan.
    """
    two = pl.DataFrame(
        {
            "age": [i % 9 for i in range(N)],
            "reactions": REACTIONS,
            "drugs": REACTIONS[::-1],
            "broken": [[""]] * N,
        }
    )

    assert roles(two) == {
        "age": "quasi",
        "reactions": "sensitive",
        "drugs": "drop",
        "broken": "drop",
    }
    with pytest.raises(SourceError, match="no column of the table could be"):
        propose_plan("x.parquet", profile(two.select("reactions")), "x")


def test_a_database_keeps_its_query():
    """A plan for a database has url and query, escaped."""
    text = propose_plan("sqlite:///x.db", profile(HOSPITAL), "x", query='select "a"\nfrom t')

    assert tomllib.loads(text)["source"] == {"url": "sqlite:///x.db", "query": 'select "a"\nfrom t'}


BANK = pl.DataFrame({
    "age": [20 + i * 7 % 50 for i in range(240)],
    "job": [f"MARKER-J{i % 11}" for i in range(240)],
    "marital": ["single", "married"] * 120,
    "education": [["primary", "secondary", "tertiary", "unknown"][i % 4] for i in range(240)],
    "balance": [i * 31 % 117 for i in range(240)],
    "month": [["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"][i * 5 % 12] for i in range(240)],
    "duration": [i * 17 % 93 for i in range(240)],
    "poutcome": [None] * 200 + ["failure"] * 40,
})  # fmt: skip
CREDIT = pl.DataFrame({
    "account_status": [f"MARKER-S{i % 4}" for i in range(200)],
    "installment_rate_percent_of_income": [i // 3 % 4 for i in range(200)],
    "telephone": ["none", "yes"] * 100,
    "income": [1000 + i % 40 for i in range(200)],
    "alter": [20 + i % 50 for i in range(200)],
})  # fmt: skip


def test_a_bank_survey():
    """What others know is proposed and money is sensitive; what nothing is known of, and what is
    missing in most rows, does not widen all intervals.
    """
    assert roles(BANK) == {
        "age": "quasi", "job": "drop", "marital": "quasi", "education": "quasi", "balance": "sensitive", "month": "drop", "duration": "drop", "poutcome": "drop"
    }  # fmt: skip
    text = propose_plan("bank.csv", profile(BANK), "bank")
    assert (
        '"balance" has 117 different values: near ones count as different' in text
        and "make it coarser at the source" in text
    )
    assert "MARKER" not in text


def test_a_credit_file():
    """An account's state names nobody, a share of income is no income, and German attributes are
    known.
    """
    assert roles(CREDIT) == {
        "account_status": "quasi", "installment_rate_percent_of_income": "quasi", "telephone": "quasi", "income": "sensitive", "alter": "quasi"
    }  # fmt: skip
    names = pl.DataFrame(
        {"age": [i % 9 for i in range(200)], "telephone": [f"MARKER {i % 90}" for i in range(200)]}
    )
    assert roles(names)["telephone"] == "drop"


def test_a_panel():
    """Persons recur, and the column in which nobody is twice is the wave: of no row, but of a
    release; a column in which somebody is twice is none.
    """
    panel = pl.DataFrame(
        {
            "idcode": [i // 5 for i in range(500)],
            "year": [68 + i % 5 for i in range(500)],
            "age": [20 + i % 40 for i in range(500)],
        }
    )
    seen = {c.name: c for c in profile(panel)}
    assert (seen["idcode"].role, seen["year"].role) == ("identifier", "wave")
    assert "each wave is a release of its own" in seen["year"].reason
    assert tomllib.loads(propose_plan("p.csv", profile(panel), "p"))["source"] == {
        "path": "p.csv", "wave": "year"
    }  # fmt: skip
    assert roles(panel.with_columns(year=pl.col("year") // 2))["year"] == "quasi"


def test_what_a_panel_shows_of_its_sensitive_attribute():
    """The m that every wave allows, and whether the value stays true of those who recur: where it
    changes for many, a method for values that change is proposed; where for few, these are
    suppressed.
    """

    def panel(changes: int) -> pl.DataFrame:
        """Three waves of 300; in the second ``a`` is in half of the rows; the value of the first
        ``changes`` persons changes in the third.
        """
        return pl.DataFrame([
            {"person": i, "wave": w, "age": 20 + i % 40,
             "illness": "abcd"[(i + (w == 3 and i < changes)) % 4 if w != 2 or i >= 300 else i % 4]}
            for w in (1, 2, 3)
            for i in [*range(200), *range(200 + 100 * w, 300 + 100 * w)]
        ]).with_columns(
            illness=pl.when((pl.col("wave") == 2) & (pl.col("person") >= 300))
            .then(pl.lit("a"))
            .otherwise("illness")
        )  # fmt: skip

    few, many = profile(panel(5)), profile(panel(60))
    seen = {c.name: c for c in few}["illness"]
    assert (seen.role, seen.of_waves, seen.largest_m) == ("sensitive", 2, 2)
    assert seen.changing == pytest.approx(5 / 200)
    method = tomllib.loads(propose_plan("p.csv", few, "p"))["method"]
    assert method == {"name": "m-invariance", "m": 2, "changed": "suppress"}
    method = tomllib.loads(propose_plan("p.csv", many, "p"))["method"]
    assert method["name"] == "global-guarantee"


@pytest.mark.parametrize(
    ("numbers", "codes", "coded"),
    [(11, 5, 10), (20, 6, 0), (10, 5, 0), (0, 1, 0), (9, 0, 0)],
)
def test_few_codes_stand_among_numbers(numbers, codes, coded):
    """Of five kinds at most, in less than half of the rows that are not missing."""
    texts = [str(i) for i in range(numbers)] + [f"code {i}" for i in range(codes)] * 2 + [None]
    assert counted(pl.Series("x", texts)).coded == coded


@pytest.mark.parametrize(("missing", "role"), [(N // 2, "quasi"), (N // 2 + 1, "drop")])
def test_what_is_missing_in_most_rows_is_left_out(missing, role):
    """Half of them is not most."""
    shoe = pl.Series([None] * missing + [i % 7 for i in range(N - missing)])
    assert roles(HOSPITAL.with_columns(shoe=shoe))["shoe"] == role


def test_a_text_that_comes_again_is_no_prose():
    """However long it is, others may know it."""
    answers = [f"an answer that was printed to be ticked off, {i}" for i in range(9)]
    frame = HOSPITAL.select("age", ticked=pl.Series([answers[i % 9] for i in range(N)]))
    assert roles(frame)["ticked"] != "drop"


def test_a_code_among_numbers_is_told():
    """A few rows that say "not applicable" make numbers words, which have no order: init says in
    how many rows, and not which code.
    """
    income = [f"{1000 + i % 40}" if i % 9 else "MARKER" for i in range(360)]
    frame = pl.DataFrame({"age": [20 + i % 40 for i in range(360)], "income": income})
    text = propose_plan("t.csv", profile(frame), "t")
    assert "numbers but for 40 row(s) with a code, which makes them words" in text
    assert "MARKER" not in text
    words = frame.with_columns(income=pl.Series([f"w{i % 7}" for i in range(360)]))
    assert "with a code" not in propose_plan("t.csv", profile(words), "t")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("fnlwgt", "weight"), ("PWGTP", "weight"), ("sample_weight", "weight"), ("weight", "quasi"),
        ("PWGTP7", "drop"), ("WGTP", "drop"), ("v005", "weight"),
        ("hhid", "drop"), ("household_id", "drop"), ("SERIALNO", "drop"), ("household_size", "quasi"),
    ],
)  # fmt: skip
def test_weights_and_households(name, role):
    """A survey weight is one, and that of a replicate or of households and the number of a
    household are left out, with a reason that says what that means; the weight of a body and the
    size of a household are what others may know.
    """
    few = name == "household_size"
    frame = pl.DataFrame(
        {
            "person": [f"p{i}" for i in range(400)],
            name: [i % 4 if few else 40 + i // 3 for i in range(400)],
            "sex": ["f", "m"] * 200,
        }
    )
    seen = {c.name: c for c in profile(frame)}[name]
    assert seen.role == role
    if role in ("drop", "weight"):
        assert "no household as one" in seen.reason or "survey weight" in seen.reason


@pytest.mark.parametrize(
    ("use", "role"), [(Use(changes=Changes.no), "weight"), (Use(), "drop")]
)  # mondrian, and m-invariance
def test_a_weight_is_proposed_where_the_method_weighs(use, role):
    """The plan has the role where the proposed method takes it, and is a plan; else the column is
    dropped. A column with weights that no row may have is dropped in any case.
    """
    frame = pl.DataFrame(
        {
            "person": [f"p{i}" for i in range(400)],
            "age": [20 + i % 50 for i in range(400)],
            "disease": [f"d{i % 7}" for i in range(400)],
            "pwgtp": [40 + i // 3 for i in range(400)],
        }
    )

    def roles(of):
        plan = Plan.parse(propose_plan("x.csv", profile(of), "x", use=use), Path("p.toml"))
        plan.series()
        return plan.schema().roles

    assert roles(frame)["pwgtp"] == role
    wrong = [0, -1, None, float("inf")]
    for first in wrong if role == "weight" else []:
        weights = pl.Series([first, *frame["pwgtp"][1:].cast(pl.Float64)], strict=False)
        assert roles(frame.with_columns(pwgtp=weights))["pwgtp"] == "drop", first


@pytest.mark.parametrize("spelled", [str.lower, str.title, str.upper])
def test_words_are_published_in_their_own_order(spelled):
    """Months and degrees get a hierarchy in their order, in their own spelling, so that no interval
    goes from June to May; other words get none.
    """
    frame = BANK.select(
        "age",
        "marital",
        "balance",
        region=pl.col("month").map_elements(spelled, return_dtype=pl.String),
    )
    plan = Plan.parse(propose_plan("x.csv", profile(frame), "x"), Path("p.toml"))
    months = [
        spelled(month)
        for month in [
            "jan",
            "feb",
            "mar",
            "apr",
            "may",
            "jun",
            "jul",
            "aug",
            "sep",
            "oct",
            "nov",
            "dec",
        ]
    ]
    domain = Microdata.encode(frame, plan.schema()).columns["region"].domain
    assert [value for value in domain.values.to_list() if value in months] == months
    assert (
        "region"
        not in Plan.parse(
            propose_plan("x.csv", profile(frame.with_columns(region=pl.lit("Bonn"))), "x"),
            Path("p.toml"),
        )
        .schema()
        .hierarchies
    )


@pytest.mark.parametrize(
    ("values", "place"),
    [
        (["5-9", "10-14", "40-44", "unknown"], ["5-9", "10-14", "40-44", "unknown"]),
        (["[10-20)", "[0-10)", "[100-110)"], ["[0-10)", "[10-20)", "[100-110)"]),
        (["Masters", "HS-grad", "9th"], ["9th", "HS-grad", "Masters"]),
        (["Strongly disagree", "Agree", "Neutral"], ["Strongly disagree", "Neutral", "Agree"]),
    ],
)
def test_ranges_degrees_and_answers_have_their_order(values, place):
    """Ranges of ages by their numbers, degrees and answers by what they mean; the words are the
    scale's, so that which of them the table holds is not told.
    """
    scale = scale_of(pl.Series(values))
    assert [word for word in scale if word in values] == place
    assert len(scale) > len(values)
    assert scale_of(pl.Series([*values, "else"])) == ()


@pytest.mark.parametrize("values", [["5-9", "10-19", "20-29"], ["7-11", "12-16", "17-21"], ["1" * 5000 + "-9", "5-9", "0-4"]])  # fmt: skip
def test_ranges_of_several_widths_are_no_scale(values):
    """Nor are those that do not begin at 0, as nobody can say which others there are, or are too
    long to be ages.
    """
    assert scale_of(pl.Series(values)) == ()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        *((["low", "high"], 0), (["low", "high", "unknown"], 0), (["low", "high", "none"], 5)),
        *((["0-19", "20-39"], 0), (["0-19", "20-39", "60-79"], 7), (["0-20", "21-41", "42-62"], 0)),
        (["0-24", "25-49", "50-74"], 0),
    ],
)
def test_three_words_are_a_scale(values, words):
    """Fewer may be chance; ranges of ages are of 5, 10, 15 or 20 years."""
    assert len(scale_of(pl.Series(values))) == words


def test_hierarchies_of_ages_and_diagnoses():
    """An age in bands, a code of ICD-10 by its category and its letter, where others may know it;
    codes of several lengths have no such hierarchy.
    """
    frame = pl.DataFrame(
        {
            "age": [20 + i % 50 for i in range(200)],
            "sex": ["f", "m"] * 100,
            "admission_code": [f"{'ABEJ'[i % 4]}{10 + i % 30}.{i % 9}" for i in range(200)],
            "income": [1000 + i % 7 for i in range(200)],
            "illness": [f"i{i % 8}" for i in range(200)],
        }
    )
    plan = Plan.parse(propose_plan("t.csv", profile(frame), "t"), Path("p.toml"))
    assert {n: h.parameters() for n, h in plan.schema().hierarchies.items()} == {
        "age": {"kind": "bands", "widths": [5, 10, 20]},
        "admission_code": {"kind": "prefix", "lengths": [5, 3, 1, 0]},
    }
    mixed = frame.with_columns(
        admission_code=pl.when(pl.col("age") > 30).then("admission_code").otherwise(pl.lit("A10"))
    )
    assert {p.name: p.prefix for p in profile(mixed)}["admission_code"] == ()


def test_what_is_said_twice_is_published_once():
    """Of a code beside its words the words stay; two attributes that differ for one row both do."""
    frame = pl.DataFrame(
        {
            "age": [20 + i * 7 % 50 for i in range(400)],
            "region_code": [i % 9 for i in range(400)],
            "region": [f"MARKER{i % 9}" for i in range(400)],
            "sex": ["f", "m"] * 200,
            "illness": [f"i{i // 3 % 8}" for i in range(400)],
        }
    )
    seen = {p.name: p for p in profile(frame)}
    assert (seen["region"].role, seen["region_code"].role) == ("quasi", "drop")
    assert seen["region_code"].reason == "it says the same as 'region'"
    other = frame.with_columns(
        region_code=pl.Series([8, *range(1, 9), *(i % 9 for i in range(9, 400))])
    )
    assert roles(other)["region_code"] == "quasi"


def of_children(words: Sequence[str]) -> pl.DataFrame:
    """Persons of whom a third are children, with one of the words for their income."""
    incomes = [f"{1000 + i % 40}" if i % 3 else words[i % len(words)] for i in range(360)]
    return pl.DataFrame(
        {
            "age": [20 + i % 40 if i % 3 else i % 14 for i in range(360)],
            "sex": ["f", "m"] * 180,
            "income": incomes,
        }
    )


def test_values_that_are_not_applicable_are_proposed_in_a_comment():
    """No guarantee covers such rows, so that the plan has them as values until somebody says that
    everybody may know them; a word of the table that is in no dictionary is not in the plan.
    """
    text = propose_plan("t.csv", profile(of_children(["N", "n/a"])), "t")
    assert '# not_applicable = ["N", "n/a"]' in text
    assert "# 120 row(s) may be of persons who have none." in text
    assert Plan.parse(text, Path("p.toml")).schema().not_applicable == ()
    assert "leave these empty" not in text
    text = propose_plan("t.csv", profile(of_children(["MARKER"])), "t")
    assert "not_applicable" not in text and "MARKER" not in text
    no = pl.DataFrame({"age": [20, 30, 40] * 60, "illness": ["n", "y", "x"] * 60})
    assert "not_applicable" not in propose_plan("t.csv", profile(no), "t")


def test_values_that_are_said_not_to_be_applicable_are_set_aside():
    """What is sensitive is counted without them, and a method is chosen that has groups for them;
    where no sensitive attribute holds them, that is said.
    """
    frame = of_children(["N"]).with_columns(person=pl.Series([f"p{i}" for i in range(360)]))
    seen = {p.name: p for p in profile(frame)}["income"]
    assert (seen.largest_m, seen.distinct) == (3, 41)
    aside = profile(frame, not_applicable=["N"])
    seen = {p.name: p for p in aside}["income"]
    assert (seen.largest_m, seen.distinct, seen.applicable) == (40, 40, 240)
    for changes, looks_original, name in (
        (None, False, "m-invariance"),
        (Changes.no, True, "mutual-cover"),
        (Changes.values, False, "global-guarantee"),
    ):
        use = Use(changes=changes, looks_original=looks_original)
        plan = Plan.parse(propose_plan("t.csv", aside, "t", use=use), Path("p.toml"))
        assert plan.schema().not_applicable == ("N",)
        assert plan.method().name == name
    with pytest.raises(
        SourceError, match=r"no attribute that may be sensitive holds 'MARKER'; cor"
    ):
        profile(frame, not_applicable=["MARKER"])


def test_a_column_may_be_called_count():
    """The name that counts get elsewhere is a name like any other."""
    frame = pl.DataFrame({"count": ["a", "b", "a", "c"] * 5, "age": list(range(20))})
    seen = {column.name: column for column in profile(frame)}
    assert (seen["count"].distinct, seen["count"].most_frequent) == (3, 10)


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ({"34": [41, 29], "f": ["m", "f"], "angina": ["flu", "cold"]}, True),
        ({"2020-01-03": [dt.date(2020, 1, 4)] * 2, "5.5": [4.0, 3.0], "x": ["y", "x"]}, True),
        ({"f": ["f", "m"], "flu": ["flu", "cold"]}, True),
        ({"f": ["f", "m"], "Ann": ["Bob", "Eve"], "12 Oak St": ["a", "b"]}, False),
        ({"age": [41, 29], "f": ["m", "f"], "flu": ["flu", "flu"]}, False),
        ({"country": ["fr"], "2019": [3], "2020": [4], "born": [1900]}, False),
        ({"name": ["Ann"], "sex": ["f"], "2019": [3], "2020": [4]}, False),
        ({"2019": [41, 29], "2020": [3, 4], "2021": [5, 6]}, False),
        ({"34": [41, 29], "1": [0, 1], "10115": [10117, 10119]}, True),
        (
            {
                "24,47": [24.1, 25.9],
                "16.11.2024": [dt.date(2024, 1, 1), dt.date(2025, 2, 3)],
                "3": [1, 2],
            },
            True,
        ),
        ({"0": [41, 29], "1": [3, 4], "2": [5, 6]}, False),
        ({"1": [41, 29], "2": [3, 4]}, False),
        ({"34": [41, 29]}, False),
    ],
)
def test_a_row_is_not_taken_for_names(columns, row):
    """A table whose first line is a person's row: what stands in it would be published as names.
    Years, numbers of columns, and a word that is also a value are names.
    """
    frame = pl.DataFrame(columns)
    if not row:
        assert len(profile(frame)) == frame.width
        return
    with pytest.raises(
        SourceError, match=r"look like the first row .* a line of names above it\.$"
    ):
        profile(frame)


def test_columns_are_compared_by_themselves(monkeypatch):
    """A pair is not taken out of all columns again, which took minutes where there are thousands."""
    asked = []
    select = pl.DataFrame.select
    monkeypatch.setattr(
        pl.DataFrame, "select", lambda frame, *of: asked.append(frame.width) or select(frame, *of)
    )
    often = []
    for many in (4, 8):
        asked.clear()
        profile(pl.DataFrame({f"c{i}": [j % 2 for j in range(90)] for i in range(many)}))
        often.append(asked.count(many))
    assert often[0] == often[1]
