# SPDX-License-Identifier: Apache-2.0
"""A release in parts beside its original table, of which some rows are in memory at a time."""

import polars as pl
import pytest

import phalanx as px
from phalanx import Anatomy, GlobalGuarantee, MInvariance, Mondrian, Schema, Series, Slicing, verify
from phalanx.adversaries import Linkage
from phalanx.data.microdata import Microdata
from phalanx.engines import choosing
from phalanx.errors import ReleaseError, SchemaError, SourceError
from phalanx.guarantees.truth import coverage
from phalanx.release.folder import Release
from phalanx.release.part import Part
from phalanx.verification import gathering
from series.test_in_parts import SCHEMA
from series.test_in_parts import people as persons

METHODS = {
    "k": Mondrian(k=5),
    "l": Mondrian(k=5, l=3),
    "anatomy": Anatomy(l=3),
    "sliced": Slicing(l=3, columns=[["age", "sex"], ["zip"], ["ill"]]),
    "compact": Slicing(l=3, columns=2, sensitive_column_size=1, compact=True),
}
FOLLOWED = {
    "m-invariance": MInvariance(m=3),
    "global guarantee": GlobalGuarantee(l=3),
}
NAME = "release 1: persons of the original"


def people():
    """Persons whose illness goes with their age a little, and a column that is not published."""
    return persons(8_000).with_columns(note=pl.Series([[1, 2]] * 8_000))


@pytest.fixture
def published(tmp_path, monkeypatch):
    """What publishes the table by a method, in parts of some 2,500 rows, and its folder."""
    people().write_parquet(tmp_path / "t.parquet")
    schema = Schema(**{**vars(SCHEMA), "drop": ["note"]})

    def publish(method):
        with monkeypatch.context() as patch:
            patch.setattr(type(method), "bytes_per_value", 170)
            patch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 170 / 0.4) + 1)
            made = Series(
                "s",
                schema,
                method,
                to=tmp_path / "out",
                ledger=f"sqlite:///{tmp_path}/s.db",
                seed=1,
            ).publish(tmp_path / "t.parquet")
        assert len(made.manifest.parts) > 2
        return made.path

    return publish


def said(folder, original, **asked):
    """What a check says of the original's persons."""
    checks = verify(folder, originals=[original], allow_seeded=True, **asked).checks
    return next((v.worst, v.holds, v.note) for v in checks if v.name == NAME)


def of_the_whole(folder, table):
    """The same, of a release and a table that are read whole."""
    whole = Release.read(folder)
    release = Release(
        manifest=whole.manifest.model_copy(update={"parts": []}), form=whole.form, path=folder
    )
    verdict = coverage.check(release, Microdata.encode(table, SCHEMA), hides_values=False)
    return verdict.worst, verdict.holds, verdict.note


def wrong(table):
    """Ten persons less, and others in the place of twelve."""
    older = table[10:20].with_columns(age=pl.lit(200, pl.Int64))
    moved = table[20:22].with_columns(zip=pl.lit(3, pl.Int64))
    return pl.concat([older, moved, table[22:]])


@pytest.mark.parametrize("method", METHODS | FOLLOWED)
@pytest.mark.parametrize(
    "change", [lambda table: table, wrong, lambda table: table[3:]], ids=["own", "wrong", "fewer"]
)
def test_it_says_what_the_whole_says(tmp_path, published, monkeypatch, method, change):
    """Whatever the original is, a file, a folder of files or a CSV file, and neither the release nor
    the original is read whole.
    """
    folder = published((METHODS | FOLLOWED)[method])
    other = change(people()).drop("note")
    expected = of_the_whole(folder, other)
    assert expected[1] == (other.height == 8_000)
    monkeypatch.setattr(Release, "read", lambda *_: pytest.fail("the whole release was read"))
    monkeypatch.setattr(gathering, "read_source", lambda *_: pytest.fail("all rows were read"))
    other.write_parquet(tmp_path / "other.parquet")
    other.write_csv(tmp_path / "other.csv")
    (tmp_path / "files").mkdir()
    other[:100].write_parquet(tmp_path / "files" / "a.parquet")
    other[100:].write_parquet(tmp_path / "files" / "b.parquet")
    for original in ("other.parquet", "other.csv", "files"):
        assert said(folder, tmp_path / original) == expected
    if method not in FOLLOWED:  # where it is asked which person is in which group
        known = {"identifier": "who", "ledger": f"sqlite:///{tmp_path}/s.db"}
        assert said(folder, tmp_path / "other.parquet", **known) == expected


def test_that_ends_are_checked_is_said(tmp_path, published):
    """Where the original is given, nothing says that it would show more of intervals."""
    folder, words = published(METHODS["k"]), "whether intervals end at values of persons"
    notes = [
        verify(folder, allow_seeded=True, **given).checks[0].note
        for given in ({}, {"originals": [tmp_path / "t.parquet"]})
    ]
    assert [words in note for note in notes] == [True, False]


def test_one_part_is_in_memory_at_a_time(tmp_path, published, monkeypatch):
    """Each part is asked for twice, by the check of its groups and beside the original."""
    folder = published(METHODS["l"])
    asked = []
    read = Part.read_part
    monkeypatch.setattr(
        Part, "read_part", lambda path, manifest, at: asked.append(at) or read(path, manifest, at)
    )
    assert said(folder, tmp_path / "t.parquet")[1]
    parts = list(range(len(list(folder.glob("data-*.parquet")))))
    assert asked == [*parts, *parts]


def test_who_asks_for_rows_has_them(tmp_path, published):
    """An adversary and a page for inside look at the persons of the original, and so need its rows,
    where a check counts them.
    """
    folder, table = published(METHODS["l"]), tmp_path / "t.parquet"
    beside = px.Release.read(folder).with_evidence(original=table)
    assert beside.attack(Linkage()).persons == 8_000
    evidence, _ = gathering.gather_evidence(
        [Release.read(folder)], ledger=None, originals=[table], identifier="who"
    )
    assert len(evidence.microdata[1].persons) == 8_000
    page = beside.report(tmp_path / "page.html", audience="internal").read_text()
    assert "beside figures of the original table" in page


def test_what_is_wrong_with_the_original_is_said(tmp_path, published):
    """A person who is there twice, a column that is not there, a table without rows, and a folder
    that is none; each in the words of a table that is read whole.
    """
    folder = published(METHODS["k"])
    table, file = people(), tmp_path / "other.parquet"
    pl.concat([table, table[:2]]).write_parquet(file)
    with pytest.raises(SourceError, match=r"2 row\(s\) repeat a person in identifier column 'who'"):
        said(folder, file, identifier="who")
    table.drop("zip").write_parquet(file)
    with pytest.raises(SchemaError, match="table of release 1: the quasi column 'zip' is not in"):
        said(folder, file)
    table.write_parquet(file)
    with pytest.raises(SchemaError, match="the identifier column 'whom' is not in the table"):
        said(folder, file, identifier="whom")
    table.clear().write_parquet(file)
    with pytest.raises(SourceError, match="the table has no rows"):
        said(folder, file)
    with pytest.raises(SourceError, match="nowhere"):
        said(folder, tmp_path / "nowhere.parquet")
    with pytest.raises(ReleaseError, match="2 original table"):
        verify(folder, originals=[file, file], allow_seeded=True)


def test_a_check_tells_how_far_it_is(tmp_path, published):
    """Of files, of the rows of an original, which are read once for their persons and twice for
    their values, and of parts: each from 0 to its end.
    """
    folder = published(Mondrian(k=5))
    steps: dict[str, list[tuple[int, int | None]]] = {}
    verify(
        folder,
        originals=[tmp_path / "t.parquet"],
        identifier="who",
        allow_seeded=True,
        progress=lambda what, done, of: steps.setdefault(what, []).append((done, of)),
    )
    manifest = Release.read(folder).manifest
    assert list(steps) == ["files", "original", "parts"]
    read = [done for done, of in steps["original"] if of == 24_000]
    assert (read, len(read)) == ([0, 8_000, 8_000, 16_000, 16_000, 24_000], len(steps["original"]))
    for what, of in (("files", len(manifest.files)), ("parts", len(manifest.parts))):
        assert steps[what] == [(done, of) for done in range(of + 1)]
