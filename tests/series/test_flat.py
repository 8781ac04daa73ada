# SPDX-License-Identifier: Apache-2.0
"""A release costs the same whatever its number: counted in tables and mappings that are read, never
in seconds.
"""

import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from phalanx import GlobalGuarantee, MInvariance, Mondrian, Schema, Series, verification
from phalanx.errors import GuaranteeError, ReleaseError
from phalanx.ledger import recall as ledger_module
from phalanx.release import folder
from phalanx.release.evidence.signatures import PERSONS, SIGNATURES

SCHEMA = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill")
METHODS = {
    "m-invariance": MInvariance(m=2),
    "of neighbours": MInvariance(m=2, remember=False),
    "records": MInvariance(m=2, changed="new-record"),
    "mondrian": Mondrian(k=2, l=2),
    "global guarantee": GlobalGuarantee(l=2),
}


def table(number: int) -> pl.DataFrame:
    """Forty persons, four of whom leave at every release for newcomers."""
    who = range(4 * number, 4 * number + 40)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in who],
            "age": [20 + 7 * i % 50 for i in who],
            "sex": ["fm"[i % 2] for i in who],
            "ill": [("flu", "cold", "gout", "none")[i % 4] for i in who],
        }
    )


MAPPING = ["person", "group"]


def series_in(path: Path, method=METHODS["m-invariance"], **said) -> Series:
    return Series("s", SCHEMA, method, to=path / "out", ledger=path / "s.db", **said)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often tables of a folder, and mappings of the ledger, were read."""
    counts: Counter[str] = Counter()
    tables, unpacked = folder.read_tables, ledger_module.unpack

    def counting_tables(path, manifest):
        counts["tables"] += 1
        return tables(path, manifest)

    def counting_mappings(content):
        table = unpacked(content)
        counts["mappings"] += table.columns == MAPPING
        return table

    monkeypatch.setattr(folder, "read_tables", counting_tables)
    monkeypatch.setattr(ledger_module, "unpack", counting_mappings)
    return counts


@pytest.mark.parametrize("report", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_a_release_reads_no_more_than_the_one_before(
    tmp_path: Path, read: Counter[str], method: str, *, report: bool
) -> None:
    """From the second release on, as many tables and mappings are read for each; that of neighbours
    alone reads the release before.
    """
    costs = []
    for number in range(5):
        read.clear()
        series_in(tmp_path, METHODS[method], report=report).publish(table(number))
        costs.append((read["tables"], read["mappings"]))
    own = 2 if method == "of neighbours" else 1
    assert costs[1:] == [(own, 1)] * 4
    assert series_in(tmp_path).verify().holds


def test_the_page_has_the_series_so_far(tmp_path: Path) -> None:
    """Of earlier releases it shows what it would show if it read them again."""
    releases = [series_in(tmp_path).publish(table(number)) for number in range(4)]
    last = releases[-1]
    assert last.page is not None
    shown = last.page.read_text()
    assert "The series so far" in shown
    again = folder.Release.read(last.path)
    assert len(last._so_far) == 3
    from phalanx.report.looks import Look
    from phalanx.report.so_far import SoFar

    read = [folder.Release.read(release.path) for release in releases[:-1]]
    assert last._so_far == [SoFar.of(Look.of(release)) for release in read]
    assert again.digest == last.digest


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_exchanged_folder_is_refused(tmp_path: Path, number: int) -> None:
    """Another release in the place of an earlier one, whichever it is, or a file that was changed in
    it, stops the series, although none of their tables is read.
    """
    for place in ("one", "two"):
        for release in range(3):
            series_in(tmp_path / place, report=False).publish(table(release))
    mine = tmp_path / "one" / "out" / f"s-{number}"
    mine.rename(tmp_path / "kept")
    shutil.copytree(tmp_path / "two" / "out" / f"s-{number}", mine)
    with pytest.raises(ReleaseError, match=f"not what the ledger recorded as release {number} "):
        series_in(tmp_path / "one").publish(table(3))
    shutil.rmtree(mine)
    (tmp_path / "kept").rename(mine)
    data = mine / "data.parquet"
    content = data.read_bytes()
    data.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    with pytest.raises(ReleaseError, match=r"data.parquet was changed after it was published"):
        series_in(tmp_path / "one").publish(table(3))
    data.write_bytes(content)
    assert series_in(tmp_path / "one").publish(table(3)).number == 4


def test_tables_that_change_between_two_looks(tmp_path: Path) -> None:
    """A folder that is exchanged after its digests were compared is refused when it is read."""
    made = series_in(tmp_path, report=False).publish(table(0))
    other = series_in(tmp_path / "other", report=False).publish(table(0))
    unread = folder.Unread(made.path)
    assert (unread.number, unread.digest) == (1, made.digest)
    shutil.rmtree(made.path)
    shutil.copytree(other.path, made.path)
    with pytest.raises(ReleaseError, match="was exchanged while it was looked at"):
        _ = unread.form


@pytest.mark.parametrize("method", METHODS)
def test_a_series_is_checked_without_holding_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Counter[str], method: str
) -> None:
    """Where there is room for one release alone, each is read at most three times, however many
    there are, and the same is found as where all are in memory; a release that was changed is found,
    too.
    """
    made = [series_in(tmp_path, METHODS[method], report=False).publish(table(n)) for n in range(6)]
    folders, ledger = [each.path for each in made], f"sqlite:///{tmp_path}/s.db"
    read.clear()
    whole = verification.verify(folders, ledger=ledger)
    assert read["tables"] == 6 and read["mappings"] == 6 and whole.holds
    monkeypatch.setattr(verification.check, "share", lambda: 0)
    for many in (3, 6):
        read.clear()
        alone = verification.verify(folders[:many], ledger=ledger)
        assert max(read.values()) <= 3 * many
        assert (alone.holds and many < 6) or alone.to_json() == whole.to_json()

    def short(content, unpacked=ledger_module.unpack):
        table = unpacked(content)
        return table[1:] if table.columns == MAPPING else table

    monkeypatch.setattr(ledger_module, "unpack", short)
    followed = method != "mondrian"  # else nobody is looked up
    assert verification.verify(folders, ledger=ledger).holds is not followed


LIES = {
    "a newcomer is not remembered": (PERSONS, lambda t: t[1:]),
    "newcomers change places": (PERSONS, lambda t: t.with_columns(pl.col("person").reverse())),
    "a signature lacks a value": (SIGNATURES, lambda t: t[1:]),
    "nobody is remembered": (PERSONS, lambda t: t.clear()),
}


@pytest.mark.parametrize("how", LIES)
def test_a_memory_that_lies_is_never_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """A method that remembers something else than it publishes publishes nothing: later releases
    would be checked beside it.
    """
    name, lie = LIES[how]
    honest = MInvariance.publish

    def lying(self, microdata, memory, rng):
        draft = honest(self, microdata, memory, rng)
        draft.remember[name] = lie(draft.remember[name])
        return draft

    monkeypatch.setattr(MInvariance, "publish", lying)
    with pytest.raises(GuaranteeError, match="signatures"):
        series_in(tmp_path, report=False).publish(table(0))
    monkeypatch.undo()
    assert series_in(tmp_path, report=False).publish(table(0)).number == 1
