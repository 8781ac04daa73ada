"""The report shows released figures, rightly, and nothing else; it loads nothing and runs nothing."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest

from phalanx.data.hierarchy import Tree
from phalanx.data.schema import Schema
from phalanx.methods.m_invariance import MInvariance
from phalanx.methods.mondrian import Mondrian
from phalanx.publishing import Series
from phalanx.report import write_report

EVIL = '<img src=x onerror="alert(1)">'


class Page(HTMLParser):
    """Tags, attributes and the text outside of the style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.parts, self._skip = [], [], [], False
        self.feed(text)
        self.text = " ".join(" ".join(self.parts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._skip = tag == "style"

    def handle_endtag(self, tag):
        self._skip = False

    def handle_data(self, data):
        if not self._skip:
            self.parts.append(data)


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
    schema = Schema(**({"identifier": "who", "quasi": quasi, "sensitive": "ill", "drop": ["notes"]} | settings.pop("schema", {})))
    series = Series("clinic", schema=schema, method=method or MInvariance(m=2, not_eligible="hold-back"), to=tmp_path / "out", **settings)
    published = [series.publish(t.rename(names)) for t in tables]
    return published, Page(published[-1].report.read_text(encoding="utf-8")), published[-1].report.read_text(encoding="utf-8")


def test_the_page_stands_alone(tmp_path):
    """No script, nothing to load, and a policy that forbids both; every element is closed in order."""
    _, page, text = publish(tmp_path, [people(), people(50, 10)])

    assert "script" not in page.tags and not any(name.startswith("on") for name, _ in page.attributes)
    assert not any(name in ("src", "href", "srcset", "action", "data") for name, _ in page.attributes)
    assert "http" not in text.replace("http-equiv", "") and "url(" not in text and "@import" not in text
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert text.count("<svg") == text.count("</svg>") > 0


def test_its_numbers_are_those_of_the_files(tmp_path):
    """Rows, groups, widths and the series table equal what is computed from the published table here."""
    published, page, _ = publish(tmp_path, [people(), people(50, 10)])

    last = published[-1]
    table = pl.read_parquet(last.path / "data.parquet")
    low, high = table["age_low"], table["age_high"]
    mean = float(((high - low) / (high.max() - low.min())).mean())
    towns = sorted(set(table["town_low"]) | set(table["town_high"]))
    town = [(towns.index(b) - towns.index(a)) / (len(towns) - 1) for a, b in table.select("town_low", "town_high").iter_rows()]
    expected = {
        rf"age {low.min()} to {high.max()} ": mean,
        rf"town {len(towns)} values ": sum(town) / len(town),
        rf"{table.height} {table['group'].n_unique()} {last.counterfeits} ": (mean + sum(town) / len(town)) / 2,
    }
    for before, share in expected.items():
        shown = re.search(before + r"([0-9.]+)%", page.text)
        assert shown, before
        assert float(shown[1]) == pytest.approx(100 * share, abs=0.0501)  # one decimal is printed
    assert f"{table['group'].n_unique():,} groups of" in page.text
    assert all(f" {p.number} {p.rows} {p.groups} {p.counterfeits} " in page.text for p in published)


def test_only_released_values_are_shown(tmp_path):
    """Identifiers and dropped columns appear nowhere."""
    _, _, text = publish(tmp_path, [people(), people(50, 10)])

    assert "marker-person" not in text and "marker-note" not in text


def test_everything_is_escaped(tmp_path):
    """A column's name and values that are markup are shown as text."""
    table = people().with_columns(pl.when(pl.col("age") > 40).then(pl.lit(EVIL)).otherwise("town").alias("town"))
    _, page, text = publish(tmp_path, [table, table], rename={"town": EVIL})

    assert "img" not in page.tags and "<img" not in text
    assert "onerror" in page.text


def test_the_check_is_shown_part_by_part(tmp_path):
    """Each verdict is a row with its result; what was not checked says so."""
    published, page, _ = publish(tmp_path, [people()])

    assert page.text.count(" holds ") >= sum(v.holds and not v.note.startswith("not checked") for v in published[-1].verdicts)
    assert "not checked" in page.text
    assert "linked to them with more than 1/2" in page.text


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
    """A warning that is always there would warn of nothing."""
    _, page, _ = publish(tmp_path, [people()])

    assert ("class", "warning") not in page.attributes


def test_held_back_rows_are_counted_by_reason(tmp_path):
    """The steward sees how many and why."""
    changed = people().with_columns(pl.when(pl.col("who") == "marker-person-3").then(pl.lit("gout")).otherwise("ill").alias("ill"))
    _, page, _ = publish(tmp_path, [people(), changed], method=MInvariance(m=2, changed="hold-back"))

    assert "1 row(s): changed value" in page.text


def test_odd_releases_have_a_page(tmp_path):
    """CSV alone, no sensitive attribute, all values equal, a tree, missing values, one group."""
    tree = Tree.of_mapping({"west": ["Aachen", "Bonn"], "north": ["Celle"]})
    _, page, _ = publish(tmp_path / "a", [people()], formats=("csv",), schema={"hierarchies": {"town": tree}})
    assert "town 3 values" in page.text
    bare = {"sensitive": None, "drop": ["notes", "ill"]}
    _, page, _ = publish(tmp_path / "b", [people()], method=Mondrian(k=40), schema=bare)
    assert "1 groups of 40 rows" in page.text
    equal = people().with_columns(age=pl.lit(30), town=pl.lit(None, dtype=pl.String))
    _, page, _ = publish(tmp_path / "c", [equal], schema={"missing": "value"})
    assert "age 30 to 30 0.0%" in page.text


def test_an_old_page_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    """A failure while writing leaves the old page and no fragment."""
    published, _, before = publish(tmp_path, [people()])
    path = published[-1].report

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(path, [published[-1].release], published[-1].verdicts, summary={})
    assert path.read_text(encoding="utf-8") == before
    assert not [p for p in path.parent.iterdir() if p.name.endswith(".part")]
