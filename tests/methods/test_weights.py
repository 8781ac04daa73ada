# SPDX-License-Identifier: Apache-2.0
"""Survey weights: published as one mean for each group by Mondrian, checked from the files, and
refused by every other method.
"""

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.data.weights import DIGITS
from phalanx.errors import SchemaError
from phalanx.guarantees.consistency import check as consistency
from phalanx.guarantees.truth import check as truth
from phalanx.methods.base import registered
from phalanx.release.folder import Release, write_folder

SCHEMA = px.Schema(identifier="who", quasi=["age", "zip"], sensitive="ill", weight="w")
METHODS = [
    px.Mondrian(k=4),
    px.Mondrian(k=4, cuts="relaxed"),
    px.Mondrian(k=4, l=2),
    px.Mondrian(k=4, l=2, cuts="strict", min_width={"age": 5}),
]
OTHERS = [
    px.Anatomy(l=2),
    px.Slicing(l=2),
    px.MutualCover(delta="1/4"),
    px.SafeSampling(epsilon=4, delta="7/10", k=2, beta="3/4", allow_empty=True),
    px.MInvariance(m=2),
    px.GlobalGuarantee(l=2),
]


def survey(n=120, seed=1):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "zip": rng.integers(0, 6, n),
            "ill": rng.choice(["flu", "cold", "gout", "rash"], n),
            "w": rng.lognormal(4, 1, n),
        }
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda m: str(m.parameters()))
def test_a_group_shows_the_mean_of_its_rows(method):
    """In every row the same number, of as many digits as are stated, beside exact fractions; the
    manifest names the column, and every check holds.
    """
    table = survey()
    release = px.publish(table, SCHEMA, method)
    groups = release.evidence.groups[1]
    persons = release.evidence.microdata[1].persons
    joined = pl.DataFrame({"person": persons, "w": table["w"]}).join(groups, on="person")
    shown = dict(release.form.table.select("group", "w").unique().iter_rows())
    assert (
        len(shown) == release.form.groups == release.form.table.select("group", "w").unique().height
    )
    for (group,), rows in joined.partition_by("group", as_dict=True).items():
        mean = float(sum(map(Fraction, rows["w"])) / rows.height)
        assert shown[group] == float(f"{mean:.{DIGITS}g}")
    assert release.verify().holds
    (attribute,) = [a for a in release.manifest.attributes if a.role == "weight"]
    assert attribute.columns == ["w"]


def test_the_table_that_it_was_made_of_is_compared(tmp_path):
    """By the folder alone and the original table: another weight of one person, whose group is
    known or not, and a table without weights, are seen.
    """
    table, method = survey(), px.Mondrian(k=4, cuts="strict")
    px.publish(table, SCHEMA, method).save(tmp_path / "s")
    px.publish(table, SCHEMA, px.Mondrian(k=4, l=2)).save(tmp_path / "o")
    heavier = table.with_columns(w=pl.when(pl.col("who") == "p7").then(1e4).otherwise("w"))

    def said(folder, original):
        checks = px.verify(folder, originals=[original], identifier="who").checks
        return "; ".join(c.note for c in checks if not c.holds)

    assert said(tmp_path / "s", table) == said(tmp_path / "o", table) == ""
    assert "1 group(s) show another weight 'w' than the mean of their rows'" in said(
        tmp_path / "s", heavier
    )  # strict cuts: who is in which group follows from the boxes
    assert "'w'" in said(tmp_path / "o", heavier)
    assert "no column 'w'" in said(tmp_path / "s", table.drop("w"))


def test_who_is_where_is_known_to_the_publisher():
    """With the groups of persons at hand, each group's mean is compared before anything leaves; a
    twin that publishes another one is refused.
    """
    release = px.publish(survey(), SCHEMA, px.Mondrian(k=4, l=2))
    microdata, mapping = release.evidence.microdata[1], release.evidence.groups[1]
    persons = microdata.persons.to_frame("person")
    groups = persons.join(mapping, on="person", how="left", maintain_order="left")["group"]
    groups = groups.to_numpy().astype("int64")
    assert truth.check(release, microdata, groups).holds
    shifted = release.form.table.with_columns(
        w=pl.when(pl.col("group") == 1).then(pl.col("w") * 2).otherwise("w")
    )
    wrong = type(release.form)(shifted, release.form.attributes)
    found = truth.check(Release(release.manifest, wrong, release.path), microdata, groups)
    assert not found.holds and "1 group(s) show another weight" in found.note


TAMPERED = {
    "another row's": (lambda w: w.scatter([0], 77.0), "have another weight 'w' than their group"),
    "its own rows'": (lambda _: survey()["w"], "have another weight 'w' than their group"),
    "negative": (lambda w: -w, "are no finite numbers above 0"),
    "zero": (lambda w: w * 0, "are no finite numbers above 0"),
    "infinite": (lambda w: w / 0, "are no finite numbers above 0"),
    "missing": (lambda w: pl.Series("w", [None] * len(w), dtype=pl.Float64), "no finite numbers"),
    "more digits": (lambda w: w + 1e-7, "have more than 4 digits"),
    "texts": (lambda w: w.cast(pl.String), "is declared numeric"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_files_alone_show_what_is_no_weight_of_a_group(how, tmp_path):
    """A release whose weights differ within a group, so that they name rows, or are no weights,
    does not hold.
    """
    change, note = TAMPERED[how]
    release = px.publish(survey(), SCHEMA, px.Mondrian(k=4))
    table = release.form.table.with_columns(change(release.form.table["w"]).alias("w"))
    form = type(release.form)(table, release.form.attributes)
    fields = json.loads(release.manifest.to_bytes())
    made = ("form", "attributes", "rows", "groups", "counterfeits", "files", "format")
    write_folder(tmp_path, form, ("parquet",), **{k: v for k, v in fields.items() if k not in made})
    first = consistency.check(Release.read(tmp_path))[0]
    assert not first.holds and note in first.note


@pytest.mark.parametrize("method", OTHERS, ids=lambda m: m.name)
def test_methods_that_do_not_weigh_say_what_to_do(method, tmp_path):
    """One sentence, before the table is read, once and in a series: a mean would say who of those
    that could be in a group has a row there.
    """
    for publish in (
        lambda: px.publish(survey(), SCHEMA, method),
        lambda: px.Series("s", SCHEMA, method, to=tmp_path / "out"),
    ):
        with pytest.raises(SchemaError) as error:
            publish()
        assert str(error.value) == (
            f"column 'w' is declared weight, and {method.name} does not weigh rows; use mondrian,"
            " or drop the column and say that answers are of the sample."
        )


def test_all_methods_are_asked():
    """A method that comes later is on one of the two lists."""
    assert {m.name for m in (*METHODS, *OTHERS)} == set(registered()) - {"acme"}


def test_weights_that_were_made_from_values_tell_of_them():
    """As the documents say: of two worlds in which a woman and a man change values, releases are
    alike but for weights, and differ where these follow from sex and value together.
    """
    weight = {("f", "flu"): 1.0, ("f", "hiv"): 2.0, ("m", "flu"): 3.0, ("m", "hiv"): 5.0}
    of = px.Schema(quasi=["sex"], sensitive="ill", weight="w")

    def shown(ill, weights):
        table = pl.DataFrame({"sex": ["f", "m"], "ill": ill, "w": weights})
        rows = px.publish(table, of, px.Mondrian(k=2)).form.table
        return sorted(rows["ill"]), set(rows["w"])

    worlds = [["flu", "hiv"], ["hiv", "flu"]]
    made = [[weight[s, v] for s, v in zip("fm", ill, strict=True)] for ill in worlds]
    assert shown(worlds[0], [1.0, 4.0]) == shown(worlds[1], [1.0, 4.0])
    assert shown(worlds[0], made[0]) != shown(worlds[1], made[1])


def test_weights_stand_beside_no_counterfeits():
    """Where some rows of a group are nobody's, or members have none, a weight would tell who: such
    a release is not consistent.
    """
    release = px.publish(survey(), SCHEMA, px.Mondrian(k=4))
    counts = pl.DataFrame({"group": [1], "count": [1]})
    for beside in ({"counterfeits": counts}, {"registered": counts}):
        form = type(release.form)(release.form.table, release.form.attributes, **beside)
        first = consistency.check(Release(release.manifest, form, release.path))[0]
        assert "tells who has a row" in first.note


def test_a_table_in_parts_is_weighed(tmp_path):
    """Published larger than memory, weights are means of groups all the same, and every check
    holds.
    """
    table = survey(4000).drop("who")
    table.write_parquet(tmp_path / "t.parquet")
    of = px.Schema(quasi=["age", "zip"], sensitive="ill", weight="w")
    series = px.Series(
        "s", of, px.Mondrian(k=4), to=tmp_path / "out", engine="out-of-core", report=False
    )
    release = series.publish(tmp_path / "t.parquet")
    by_group = release.form.table.group_by("group").agg(
        pl.col("w").n_unique(), pl.col("w").first().alias("m"), pl.len()
    )
    assert (by_group["w"] == 1).all() and series.verify().holds
    assert (by_group["m"] * by_group["len"]).sum() == pytest.approx(table["w"].sum(), rel=1e-3)
