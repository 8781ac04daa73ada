# SPDX-License-Identifier: Apache-2.0
"""Where commands write: never into the folder of a release, which is handed out as it is, and no page
or picture in the place of another kind of file.
"""

from pathlib import Path

import pytest

import phalanx as px

WORDS = {
    "a page": ("report", "out/ward-1", "--for", "internal", "--to", "out/ward-1/page.html"),
    "a page, by another name": ("report", "out/ward-1", "--for", "external", "--to", "link/page.html"),
    "drawn tables": ("draw", "out/ward-1", "--times", "1", "--to", "out/ward-1/further/drawn"),
    "a series and its key": ("series", "export", "ward", "--ledger", "ward.db", "--copy", "--to", "out/ward-1/x"),
    "a backup": ("series", "backup", "--ledger", "ward.db", "--to", "out/ward-1/backup"),
    "a release": ("publish", "within.toml"),
    "a release, were it published": ("check", "within.toml"),
}  # fmt: skip


@pytest.fixture
def published(ward) -> Path:
    """The folder of a release, into which a link leads, and a plan that publishes into it."""
    assert ward.publish().code == 0
    (ward.path / "link").symlink_to(ward.path / "out" / "ward-1" / "pages")
    plan = (ward.path / "plan.toml").read_text(encoding="utf-8")
    (ward.path / "within.toml").write_text(
        plan.replace('to = "out"', 'to = "out/ward-1"').replace('"ward"', '"other"')
    )
    return ward.path / "out" / "ward-1"


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
def test_nothing_is_written_into_a_release(ward, published: Path, words: tuple[str, ...]) -> None:
    """It is refused in a sentence, no file is added, and the release can be verified still."""
    before = sorted(ward.path.rglob("*"))
    said = ward.call(*words)
    assert (said.code, said.out) == (2, "")
    assert "is in the folder of a release" in said.err and "choose a place outside it" in said.err
    assert sorted(ward.path.rglob("*")) == before
    assert ward.call("verify", str(published)).code == 0


def test_no_release_is_saved_into_another(published: Path) -> None:
    """In Python neither."""
    release = px.Release.read(published)
    with pytest.raises(px.PhalanxError, match="is in the folder of a release"):
        release.save(published / "copy")
    release.save(published.parent / "copy")


def test_a_release_json_of_others_is_no_release(ward) -> None:
    """A file of that name that is none of ours, or a folder, is in nobody's way."""
    (ward.path / "release.json").write_text('{"version": "1.0"}')
    (ward.path / "out" / "release.json").mkdir(parents=True)
    assert ward.publish().code == 0


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (("report", "out/ward-1", "--for", "external", "--to"), ".html or .htm"),
        (("budget", "--epsilon", "1", "--plot"), ".svg"),
        (("explore", "plan.toml", "--try", "anatomy l=2", "--picture"), ".svg"),
    ],
    ids=["report", "budget", "explore"],
)
@pytest.mark.usefixtures("published")
def test_no_page_replaces_a_plan_or_a_ledger(ward, words: tuple[str, ...], ending: str) -> None:
    """A name that is none of a page or a picture is refused, and what is there stays as it is."""
    for name in ("plan.toml", "ward.db", "t.csv", "new.png", "new"):
        before = (ward.path / name).read_bytes() if (ward.path / name).exists() else None
        said = ward.call(*words, name)
        assert (said.code, said.out) == (2, "")
        assert f"{name!r} is no name of such a file; let it end in {ending}." in said.err
        after = (ward.path / name).read_bytes() if (ward.path / name).exists() else None
        assert after == before
    if words[0] != "explore":  # which takes seconds
        assert ward.call(*words, f"new{ending.split(maxsplit=1)[0].upper()}").code == 0
