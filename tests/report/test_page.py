# SPDX-License-Identifier: Apache-2.0
"""The report shows released figures, rightly, and nothing else; it loads nothing and runs
nothing.
"""

import re
from fractions import Fraction

import polars as pl
import pytest

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.schema import Schema
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.households import HouseholdAnonymity, HouseholdDiversity
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.guarantees.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from phalanx.guarantees.m_invariance.guarantee import MInvariance as InvarianceOverSeries
from phalanx.guarantees.m_invariance.m_uniqueness import MUniqueness
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.registry import KNOWN, OURS
from phalanx.guarantees.slicing.counting import SlicedCounting
from phalanx.guarantees.slicing.guarantee import (
    SlicedCloseness,
    SlicedDistinct,
    SlicedDiversity,
    SlicedRecursive,
)
from phalanx.guarantees.t_closeness import Closeness
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian
from phalanx.report import write_report
from phalanx.report.promises import in_words
from phalanx.series.series import Series
from report.reader import Page
from support import one_group

EVIL = '<img src=x onerror="alert(1)">'


def people(n=40, shift=0):
    ill = ["flu", "gout", "acne", "ulcer"]
    return pl.DataFrame(
        {
            "who": [f"marker-person-{i}" for i in range(shift, shift + n)],
            "age": [20 + (i * 7) % 41 for i in range(n)],
            "town": [["Aachen", "Bonn", "Celle"][i % 3] for i in range(n)],
            "notes": [f"marker-note-{i}" for i in range(n)],
            "ill": [ill[i % 4] for i in range(shift, shift + n)],
        }
    )


def publish(tmp_path, tables, *, method=None, rename=None, **settings):
    names = rename or {}
    quasi = [names.get(c, c) for c in ("age", "town")]
    schema = Schema(
        **(
            {"identifier": "who", "quasi": quasi, "sensitive": "ill", "drop": ["notes"]}
            | settings.pop("schema", {})
        )
    )
    series = Series(
        "clinic",
        schema=schema,
        method=method or MInvariance(m=2, not_eligible="suppress"),
        to=tmp_path / "out",
        **settings,
    )
    published = [series.publish(t.rename(names)) for t in tables]
    return (
        published,
        Page(published[-1].page.read_text(encoding="utf-8")),
        published[-1].page.read_text(encoding="utf-8"),
    )


def test_the_page_stands_alone(tmp_path):
    """No script, nothing to load, and a policy that forbids both; every element is closed in
    order.
    """
    _, page, text = publish(tmp_path, [people(), people(50, 10)])

    assert "script" not in page.tags and not any(
        name.startswith("on") for name, _ in page.attributes
    )
    assert not any(
        name in ("src", "href", "srcset", "action", "data") for name, _ in page.attributes
    )
    assert (
        "http" not in text.replace("http-equiv", "")
        and "url(" not in text
        and "@import" not in text
    )
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert page.open == [] and page.tags.count("svg") > 0
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {
        one for name, value in page.attributes if name == "aria-labelledby" for one in value.split()
    } == set(ids)


def test_its_numbers_are_those_of_the_files(tmp_path):
    """Rows, groups, widths and the series table equal what is computed from the published table
    here.
    """
    published, page, _ = publish(tmp_path, [people(), people(50, 10)])

    last = published[-1]
    table = pl.read_parquet(last.path / "data.parquet")
    low, high = table["age_low"], table["age_high"]
    mean = float(((high - low) / (high.max() - low.min())).mean())
    towns = sorted(set(table["town_low"]) | set(table["town_high"]))
    town = [
        (towns.index(b) - towns.index(a)) / (len(towns) - 1)
        for a, b in table.select("town_low", "town_high").iter_rows()
    ]
    expected = {
        rf"age {low.min()} to {high.max()} ": mean,
        rf"town {len(towns)} values ": sum(town) / len(town),
        rf"{table.height} {table['group'].n_unique()} {last.counterfeits} ": (
            (mean + sum(town) / len(town)) / 2
        ),
    }
    for before, share in expected.items():
        shown = re.search(before + r"([0-9.]+)%", page.text)
        assert shown, before
        assert float(shown[1]) == pytest.approx(100 * share, abs=0.0501)  # one decimal is printed
    sizes = table.group_by("group").len().group_by("len").len("groups").sort("len")
    assert f"{table['group'].n_unique():,} groups of" in page.text
    told = "; ".join(f"{size}: {n} groups" for size, n in sizes.iter_rows())
    assert (told in page.text) == (sizes.height > 2)  # a sentence tells of two as much
    exact = float((low == high).mean())
    assert f" {exact:.1%} town" in page.text if exact else " 0% town" in page.text
    assert all(f" {p.number} {p.rows} {p.groups} {p.counterfeits} " in page.text for p in published)


def test_only_released_values_are_shown(tmp_path):
    """Identifiers, dropped columns, values of rows suppressed, the source's and the ledger's places
    appear nowhere.
    """
    lone = people(1, 90).with_columns(
        age=pl.lit(97, dtype=pl.Int64), town=pl.lit("Marker-Town"), ill=pl.lit("gout")
    )
    first = people().with_columns(
        pl.when(pl.col("who") == "marker-person-3").then(97).otherwise("age").alias("age")
    )
    gone = first.with_columns(
        pl.when(pl.col("age") == 97).then(pl.lit("Marker-Town")).otherwise("town").alias("town")
    )
    changed = gone.with_columns(
        pl.when(pl.col("age") == 97).then(pl.lit("flu")).otherwise("ill").alias("ill")
    )
    published, _, text = publish(
        tmp_path, [people(), changed], method=MInvariance(m=2, changed="suppress")
    )

    assert published[-1].suppressed_rows == {"changed value": 1}
    assert "marker-person" not in text and "marker-note" not in text
    figures = (  # of which one may be 97
        r"<style>.*</style>|<svg.*?</svg>|<code>.*?</code>|[\d.]+ ?%|<h2>The regulator.*?(?=<h2>)"
    )
    assert "Marker-Town" not in text and "97" not in re.sub(figures, "", text, flags=re.DOTALL)
    assert str(tmp_path) not in text and ".db" not in text
    both, _, text = publish(tmp_path / "b", [pl.concat([people(), lone])])
    assert both[-1].suppressed_rows == {} and "97" in text  # the twin: what is released is shown


def test_everything_is_escaped(tmp_path):
    """A column's name and values that are markup are shown as text."""
    table = people().with_columns(
        pl.when(pl.col("age") > 40).then(pl.lit(EVIL)).otherwise("town").alias("town")
    )
    _, page, text = publish(tmp_path, [table, table], rename={"town": EVIL})

    assert "img" not in page.tags and "<img" not in text
    assert "onerror" in page.text


def test_the_check_is_shown_part_by_part(tmp_path):
    """Each verdict is a row with its result; what was not checked says so."""
    published, page, _ = publish(tmp_path, [people()])

    assert page.text.count(" holds ") >= sum(v.result == "holds" for v in published[-1].checks)
    assert "not checked" in page.text
    assert "linked to them with more than 1/2" in page.text
    assert "private record of who was published" in page.text
    _, alone, _ = publish(tmp_path / "b", [people()], method=Mondrian(k=3))
    assert (
        any("person" in v.name for v in published[-1].checks) and "private record" not in alone.text
    )


@pytest.mark.parametrize(
    ("settings", "headline"),
    [
        ({"seed": 1}, "Not for publication"),
        ({"method": MInvariance(m=2, changed="new-record")}, "Per record, not per person"),
        ({"method": MInvariance(m=2, remember=False)}, "Those who return are not covered"),
        ({"method": Mondrian(k=3, l=2)}, "One release at a time"),
    ],
)
def test_warnings_stand_at_the_top(tmp_path, settings, headline):
    """Who hands the release out must read them first."""
    _, page, _ = publish(tmp_path, [people()], **settings)

    assert page.text.index(headline) < page.text.index("What is promised")


def test_a_sound_release_has_no_warning(tmp_path):
    """A warning that is always there would warn of nothing; the one about the method stands where
    the method says so.
    """
    published, page, _ = publish(tmp_path, [people()], method=MInvariance(m=2))

    assert page.attributes.count(("class", "warning")) == (
        not published[-1].manifest.holds_if_method_known
    )


def test_a_page_of_groups_does_not_speak_of_buckets(tmp_path):
    """Buckets, columns of attributes and their correlations are of other forms, and so is a heading
    about intervals alone.
    """
    _, page, _ = publish(tmp_path, [people()])
    text = re.sub(
        "The regulator’s three questions.*The check", "", page.text
    )  # adversaries say what they know in words for all forms

    assert not re.search("bucket|Columns|Correlations", text)
    assert "Interval widths and information loss" in page.text


def test_suppressed_rows_are_counted_by_reason(tmp_path):
    """The steward sees how many and why."""
    changed = people().with_columns(
        pl.when(pl.col("who") == "marker-person-3")
        .then(pl.lit("gout"))
        .otherwise("ill")
        .alias("ill")
    )
    _, page, _ = publish(tmp_path, [people(), changed], method=MInvariance(m=2, changed="suppress"))

    assert "1 row: changed value" in page.text


def test_odd_releases_have_a_page(tmp_path):
    """CSV alone, no sensitive attribute, all values equal, a tree, missing values, one group."""
    tree = Tree.of_mapping({"west": ["Aachen", "Bonn"], "north": ["Celle"]})
    _, page, _ = publish(
        tmp_path / "a", [people()], formats=("csv",), schema={"hierarchies": {"town": tree}}
    )
    assert "town 3 values of the hierarchy" in page.text
    bare = {"sensitive": None, "drop": ["notes", "ill"]}
    _, page, _ = publish(tmp_path / "b", [people()], method=Mondrian(k=40), schema=bare)
    assert "1 group of 40 rows" in page.text
    equal = people().with_columns(age=pl.lit(30), town=pl.lit(None, dtype=pl.String))
    _, page, _ = publish(tmp_path / "c", [equal], schema={"missing": "value"})
    assert (
        "age 30 only 0% 0% 100%" in page.text
        and "town 0 values and missing 0% 0% 100%" in page.text
    )
    assert "An interval without a lower end includes missing values" in page.text
    _, page, _ = publish(tmp_path / "d", [people(2)], method=Mondrian(k=2), schema=bare)
    assert "1 group of 2 rows." in page.text and "each person is one of at least 2" in page.text


def test_counterfeits_are_counted_by_group(tmp_path):
    """How many rows are counterfeits, in how many groups, is what the published counts say."""
    ill = ["flu", "gout", "acne", "ulcer"]
    later = (
        people(44)
        .filter(pl.col("ill").is_in(ill[:1]) | (pl.int_range(pl.len()) > 30))
        .with_columns(pl.col("ill"))
    )
    published, page, _ = publish(tmp_path, [people(), later])

    counts = pl.read_parquet(published[-1].path / "counterfeits.parquet")
    rows, groups = int(counts["count"].sum()), counts.height
    assert rows == published[-1].counterfeits > 0
    assert (
        f"{rows} counterfeit{'s' * (rows != 1)} in {groups} group{'s' * (groups != 1)}" in page.text
    )


def test_what_fails_or_was_not_checked_is_said_first(tmp_path):
    """A page of a release whose check fails, or that nobody checked, says not to hand it out;
    figures are never cut short.
    """
    published, page, _ = publish(tmp_path, [people()])
    release, path = published[-1], tmp_path / "page.html"
    assert re.search(
        r"Yes: all \d+ checks of the published files hold; \d parts? (was|were) not checked",
        page.text,
    )
    long = Fraction(10**20, 3 * 10**20 + 1)
    bad = Verdict(name="t-closeness", bound=Fraction(1, 6), worst=long, holds=False, note=EVIL)
    write_report(path, [release], [bad], summary={"suppressed_rows": {"no group": 3}})
    page = Page(path.read_text(encoding="utf-8"))

    assert page.text.index("1 check failed: do not hand this release out") < page.text.index(
        "What is promised"
    )
    assert "t-closeness fails 1/6 0.3334" in page.text and "3 rows: no group" in page.text
    assert "img" not in page.tags
    write_report(path, [release], [], summary={})
    assert "Nothing was checked: do not hand this release out" in path.read_text(encoding="utf-8")


def test_every_promise_has_words():
    """Each guarantee that a manifest can list is told as a sentence with its parameters; an unknown
    one by its parameters.
    """
    examples = [
        (KAnonymity(k=7), "at least 7 rows"),
        (HouseholdAnonymity(k=7), "each household is one of at least 7"),
        (HouseholdDiversity(l=4), "at most 1/4 have a member"),
        (FrequencyDiversity(l=Fraction(5, 2)), "more than 2/5 of the rows"),
        (DistinctDiversity(l=4), "at least 4 different"),
        (EntropyDiversity(l=Fraction(5, 2)), "as mixed as 5/2 equally"),
        (
            RecursiveDiversity(c=Fraction(3, 2), l=3),
            "less than 3/2 times as frequent as the 3rd most",
        ),
        (
            Closeness(t=Fraction(1, 6), distance="ordered"),
            "up to a distance of 1/6 (ordered distance",
        ),
        (MUniqueness(m=5), "at least 5 rows, all with different"),
        (InvarianceOverSeries(m=5), "more than 1/5"),
        (
            InvarianceOverSeries(m=5, consecutive=True),
            "A person who leaves and returns is not covered",
        ),
        (
            GlobalGuarantee(l=Fraction(5, 2)),
            "so far is at most 2/5, even for an adversary who knows",
        ),
        (GlobalGuarantee(l=2, unprotected=["flu", "cold"]), "Protected: all values but flu, cold."),
        (
            GlobalGuarantee(l=2, protected=list("abcdefghijklmn"), permanent=["hiv"]),
            "Protected: a, b, c, d, e, f, g, h, i, j, k, l and 2 more; permanent: hiv (a person who",
        ),
        (
            SlicedDiversity(l=Fraction(5, 2)),
            "links them with no sensitive value with a probability above 2/5, over all buckets",
        ),
        (
            SlicedCounting(l=Fraction(5, 2)),
            (
                "counts who must be in which bucket, links no person with a sensitive value with a"
                " probability above 2/5"
            ),
        ),
        (SlicedDistinct(l=4), "is left with at least 4 sensitive values"),
        (
            SlicedRecursive(c=Fraction(3, 2), l=3),
            "is less than 3/2 times as probable as the 3rd most",
        ),
        (
            SlicedCloseness(t=Fraction(1, 6)),
            "as they are frequent in the whole table, up to a distance of 1/6 (equal distance",
        ),
        (
            AnatomyDiversity(l=Fraction(5, 2)),
            "In no bucket do more than 2/5 of the persons have the same sensitive value",
        ),
        (
            DifferentialPrivacy(epsilon="1/2", delta="1e-6", k=63, beta="0.39"),
            "at most 1.649 times (e^0.5) as probable with the row as without it",
        ),
        (
            MutualCover(delta="2/11"),
            (
                "from at least 6 of whom it could stem, and no single person accounts for more than"
                " 2/11"
            ),
        ),
    ]
    assert {type(g).name for g, _ in examples} == {KNOWN[name].name for name in OURS}
    for guarantee, words in examples:
        assert words in in_words(guarantee.parameters())
    assert "every column is treated as if it were: in no bucket do more than 2/5" in in_words(
        SlicedDiversity(l=Fraction(5, 2)).parameters(), sensitive=False
    )
    assert in_words(DistinctDiversity(l=4).parameters(), sensitive=False) == in_words(
        DistinctDiversity(l=4).parameters()
    )
    assert (
        in_words({"name": "stars", "k": 3, "deep": {"a": [1, True]}})
        == "stars: k = 3, deep = (a = 1 / yes)"
    )
    assert in_words({"name": "stars"}) == "stars"


def test_an_old_page_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    """A failure while writing leaves the old page and no fragment."""
    published, _, before = publish(tmp_path, [people()])
    path = published[-1].page

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(path, [published[-1]], published[-1].checks, summary={})
    assert path.read_text(encoding="utf-8") == before
    assert not [p for p in path.parent.iterdir() if p.name.endswith(".part")]


def test_registered_persons_and_suppressed_values_are_told_where_there_are_any(tmp_path):
    """How many persons without a row, in how many groups, and how many values were taken out and
    why; a page without them does not speak of them.
    """
    series = Series(
        "clinic",
        schema=one_group.SCHEMA,
        method=one_group.OneGroup(groups=3, without=2),
        to=tmp_path / "out",
    )
    published = series.publish(one_group.rows(), registry=one_group.registry())
    text = published.page.read_text(encoding="utf-8")
    told = Page(text).text

    assert published.registered == 6
    assert "6 registered persons in 3 groups" in told and "registered 6" in told
    assert (
        "3 groups of 4 rows. With the registered persons, who have no row, they are of 6 members."
        in told
    )
    assert "2 values: too rare" in told and "suppressed values 2" in told
    assert "MARKER" not in text and not re.search(r">v\d<", text)
    _, none, _ = publish(tmp_path / "b", [people()])
    again = Page(
        series.publish(one_group.rows(), registry=one_group.registry().head(6)).page.read_text(
            encoding="utf-8"
        )
    ).text
    assert "release rows groups counterfeits registered mean width 1 12 3 0 6 " in again
    assert (
        "registered" not in none.text
        and "suppressed values" not in none.text
        and "taken out" not in none.text
    )
