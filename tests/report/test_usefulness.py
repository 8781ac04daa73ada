# SPDX-License-Identifier: Apache-2.0
"""What a page measures: shares, pairs and questions beside the original inside, and outside beside
nothing that was not released.
"""

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.guarantees.sentences import percent
from phalanx.report import usefulness
from phalanx.report.pictures import (
    distributions,
    of_two_values,
    pairs,
    questions,
    risk_over_series,
)
from phalanx.report.usefulness import Distribution, Usefulness

SCHEMA = px.Schema(quasi=["age", "sex", "job"], sensitive="ill")


def people(n: int = 90) -> pl.DataFrame:
    """Made-up people, whose jobs go with their illnesses."""
    rng = np.random.default_rng(3)
    ill = rng.integers(0, 3, n)
    return pl.DataFrame({
        "age": 20 + rng.integers(0, 40, n),
        "sex": [["f", "m"][i] for i in rng.integers(0, 2, n)],
        "job": [["cook", "nurse", "smith"][i] for i in (ill + (rng.random(n) < 0.2)) % 3],
        "ill": [["flu", "gout", "rash"][i] for i in ill],
    })  # fmt: skip


def of(release: px.Release, *, inside: bool = True) -> Usefulness:
    """What a page computes of it."""
    return Usefulness.of(release, release.evidence.microdata[1] if inside else None)


def test_shares_are_the_originals_where_values_stand_as_they_are() -> None:
    """Anatomy moves nothing: its shares are those of a count by hand, in the release and in the
    original, and the pairs that it keeps are kept.
    """
    found = of(px.publish(people(), SCHEMA, px.Anatomy(l=2)))
    by_name = {one.name: one for one in found.distributions}
    for name in ("sex", "job", "ill"):
        counted = people()[name].value_counts().sort(name)
        shares = tuple(counted["count"] / 90)
        assert by_name[name].labels == tuple(counted[name])
        assert by_name[name].released == pytest.approx(shares)
        assert by_name[name].beside == pytest.approx(shares)
    assert found.moved == pytest.approx(0, abs=1e-12) and found.inside
    told = {(a, b): (was, now) for a, b, was, now in found.pairs}
    assert told["sex", "job"][0] == pytest.approx(told["sex", "job"][1])
    assert told["job", "ill"][0] > told["job", "ill"][1] + 0.1
    assert found.correlation_lost > 0.01


def test_outside_nothing_of_the_original_is_used() -> None:
    """The same release with another original gives the same, and there are no errors and pairs."""
    release = px.publish(people(), SCHEMA, px.Mondrian(k=5))
    found = of(release, inside=False)
    assert (found.inside, found.pairs, found.errors, found.moved) == (False, (), (), None)
    beside = {one.name: bool(one.beside) for one in found.distributions}
    assert beside == {"age": True, "sex": True, "job": True, "ill": False}
    for one in found.distributions:
        assert sum(one.released) == pytest.approx(1)
        assert not one.beside or sum(one.beside) == pytest.approx(1)


def test_even_intervals_are_even() -> None:
    """One group over all ages: every bin has its width's share; exact values stay what they are."""
    release = px.publish(people(400), SCHEMA, px.Mondrian(k=400))
    even = usefulness._even(
        usefulness.view_of(release), "age", usefulness.Randomness.seeded(1).stream("t")
    )
    counts = np.bincount(even.to_numpy() - 20, minlength=40)
    assert even.min() >= 20 and even.max() <= 59 and counts.min() > 0 and counts.max() < 30


def test_even_intervals_of_large_numbers_stay_large() -> None:
    """The largest whole numbers of 64 bits are none of the smallest where a picture is drawn."""
    numbers = [2**63 - 1 - i % 9 for i in range(100)] + [-(2**63) + i % 9 for i in range(100)]
    table = pl.DataFrame({"x": numbers, "ill": ["a", "b"] * 100})
    release = px.publish(table, px.Schema(quasi=["x"], sensitive="ill"), px.Mondrian(k=100))
    even = usefulness._even(
        usefulness.view_of(release), "x", usefulness.Randomness.seeded(1).stream("t")
    )
    assert sorted(even.to_list())[99] < -(2**62) and sorted(even.to_list())[100] > 2**62


def test_even_intervals_as_wide_as_there_are_numbers_are_filled() -> None:
    """From end to end, as any others."""
    ends = [-(2**63), 2**63 - 1]
    table = pl.DataFrame({"x": ends * 200, "ill": ["a", "b"] * 200})
    release = px.publish(table, px.Schema(quasi=["x"], sensitive="ill"), px.Mondrian(k=400))
    even = usefulness._even(
        usefulness.view_of(release), "x", usefulness.Randomness.seeded(1).stream("t")
    )
    quarters = [
        int(((even >= low) & (even <= low + 2**62 - 1)).sum())
        for low in range(-(2**63), 2**63, 2**62)
    ]
    assert sum(quarters) == 400 and min(quarters) > 60


def test_no_value_is_named_that_was_not_released() -> None:
    """What falls out of the release's own bins is other, and is counted."""
    table = people().with_columns(
        job=pl.when(pl.int_range(90) == 7).then(pl.lit("MARKER")).otherwise("job")
    )
    release = px.publish(people(), SCHEMA, px.Anatomy(l=2))
    other = px.publish(table, SCHEMA, px.Anatomy(l=2)).evidence.microdata[1]
    found = Usefulness.of(release, other)
    job = next(one for one in found.distributions if one.name == "job")
    assert "MARKER" not in job.labels and job.beside[job.labels.index("other")] == pytest.approx(
        1 / 90
    )


@pytest.mark.parametrize("method", [px.Mondrian(k=3, cuts="strict"), px.Anatomy(l=2)])
def test_values_that_are_numbers_of_categories(method) -> None:
    """Questions are asked of them as they are published, as of texts."""
    numbers = people().with_columns(pl.col("ill").replace_strict({"flu": 0, "gout": 1, "rash": 2}))
    declared = px.Schema(quasi=["age", "sex", "job"], sensitive="ill", types={"ill": "categorical"})
    assert numbers["ill"].dtype == pl.Int64
    assert of(px.publish(numbers, declared, method)).errors


def test_the_picture_says_the_median_of_the_headline() -> None:
    """One page, one figure, of an even number of questions, too."""
    use = Usefulness(inside=True, errors=(0.1, 0.2, 0.3, 0.6), sample_errors=(0.1, 0.2, 0.4, 0.5))
    assert use.error == pytest.approx(0.25)
    assert f"at most {percent(use.error)}" in questions(use).svg


def test_what_one_bar_holds_together_has_moved_too() -> None:
    """Of 60 towns twelve bars are drawn, and all are compared."""
    towns = [f"town {i:02}" for i in range(60)]
    rng = np.random.default_rng(5)
    table = pl.DataFrame({
        "town": rng.choice(towns, 600), "ill": rng.choice(["flu", "gout", "rash"], 600)
    })  # fmt: skip
    schema = px.Schema(quasi=["town"], sensitive="ill")
    release = px.publish(table, schema, px.MutualCover(delta="1/3", k=3))
    drawn = release.draw()[0]
    (one,) = [one for one in of(release).distributions if one.name == "town"]
    shares = [np.array([(t["town"] == town).mean() for town in towns]) for t in (table, drawn)]
    assert len(one.labels) == 12
    assert one.moved == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2)


def test_bins_have_names_that_differ() -> None:
    """Days by their dates, and numbers in as many digits as tell them apart."""
    n = 400
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2025, 2, 3), eager=True)
    table = pl.DataFrame({
        "seen": days, "pay": [1_234_560 + i % 40 for i in range(n)], "part": [i / n / 1e6 + 5 for i in range(n)],
        "ill": ["flu", "gout"] * (n // 2),
    })  # fmt: skip
    schema = px.Schema(quasi=["seen", "pay", "part"], sensitive="ill", types={"part": "numeric"})
    release = px.publish(table, schema, px.Anatomy(l=2))
    named = {one.name: one.labels for one in of(release).distributions}
    assert named["seen"][0] == "to 2024-02-09" and named["seen"][-1] == "over 2024-12-25"
    assert named["pay"][:2] == ("to 1234563.9", "to 1234567.8")
    assert all(len({*labels}) == len(labels) for labels in named.values())
    edges = [2_000_000.5 + 50 * i for i in range(9)]
    for scale in (1, 1e9, 1e290):
        texts = usefulness._edges(np.array(edges) * scale, pl.Float64())
        read = [float(text) for text in texts]
        assert read == sorted({*read})
        assert all(("e" in text) == (scale > 1) and len(text) <= 12 for text in texts)


def test_values_that_a_drawn_table_has_not_are_no_bar_of_their_own() -> None:
    """Where others are put together, they are among them."""
    n = 400
    values = [f"c{i:02}" for i in range(60)]
    table = pl.DataFrame(
        {"town": [values[i * 7 % 60] for i in range(n)], "ill": ["flu", "gout"] * (n // 2)}
    )
    release = px.publish(table, px.Schema(quasi=["town"], sensitive="ill"), px.Anatomy(l=2))
    other = table.with_columns(town=pl.lit("elsewhere") + pl.col("town"))
    microdata = px.publish(
        other, px.Schema(quasi=["town"], sensitive="ill"), px.Anatomy(l=2)
    ).evidence.microdata[1]
    (one,) = [one for one in Usefulness.of(release, microdata).distributions if one.name == "town"]
    assert one.labels.count("other") == 1 and one.beside[-1] == pytest.approx(1)


def test_what_is_beyond_the_budget_says_so(monkeypatch) -> None:
    """By the number of published rows, whatever they hold."""
    release = px.publish(people(), SCHEMA, px.Mondrian(k=5))
    monkeypatch.setattr(usefulness, "MOST_ROWS", 89)
    found = of(release)
    assert (
        "beyond the budget of a page: the release has 90 rows, and up to 89 are drawn"
        in found.why_not
    )
    assert not found.distributions and found.error is None


def test_a_private_sample_is_measured_beside_nothing() -> None:
    """What its original says is for nobody to tell, inside or outside."""
    scheme = {"age": {"low": 0, "high": 100, "width": 50}}
    method = px.SafeSampling(epsilon=8, k=2, beta="0.9", scheme=scheme, allow_empty=True)
    found = of(px.publish(people(), SCHEMA, method))
    assert not found.inside and not found.errors and not found.pairs
    assert all(not one.beside for one in found.distributions)


def test_pictures_say_every_figure() -> None:
    """Each bar, mark, dot and line in words, and none where there is nothing to draw."""
    use = Usefulness(
        inside=True,
        distributions=(
            Distribution("a<b", ("x", "y&", "z"), (0.25, 0.5, 0.25), (0.5, 0.25, 0.25)),
            Distribution("sex", ("f", "m>"), (0.25, 0.75), (0.5, 0.5)),
            Distribution("all alike", ("x",), (1.0,), (1.0,)),
        ),
        pairs=(("age", "sex", 0.4, 0.1),),
        errors=(0.1, 0.2, 3.0),
        sample_errors=(0.05, 0.1, 0.3),
    )
    (drawn,) = distributions(use)
    assert (
        "x: 25.0%, original 50.0%; y&amp;: 50.0%, original 25.0%; z" in drawn.svg
        and drawn.title == "a<b"
    )
    assert drawn.svg.count('class="bar"') == drawn.svg.count('class="mark"') == 3
    two = of_two_values(use).svg
    assert "sex: m&gt;: 75.0%, original 50.0%" in two and "alike" not in two
    assert two.count('class="bar"') == two.count('class="mark"') == 1
    assert of_two_values(Usefulness(inside=False)) is None
    assert "a&lt;b" in drawn.svg and "<b" not in drawn.svg
    assert "age and sex: 0.400 in the original, 0.100 released" in pairs(use).svg
    assert "this release: half of the questions are off by at most 20.0%" in questions(use).svg
    risk = risk_over_series([0.5, 0.25], [0.2, 0.1], [1, 2])
    assert "1: 50.0%, on average 20.0%; 2: 25.0%, on average 10.0%" in risk.svg
    assert pairs(Usefulness(inside=False)) is None and questions(Usefulness(inside=False)) is None
    assert distributions(Usefulness(inside=False)) == []
