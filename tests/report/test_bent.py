# SPDX-License-Identifier: Apache-2.0
"""A manifest that lacks a part, or has another thing in its place, gets a page or a sentence."""

import copy
import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from phalanx.errors import PhalanxError
from phalanx.release.manifest import Manifest
from phalanx.report import AUDIENCES, write_report
from phalanx.series.released import Release
from report.test_page import EVIL, people, publish

GONE = object()
ODD = (GONE, None, EVIL, -1, 1e300, [], {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A release of groups."""
    published, _, _ = publish(tmp_path_factory.mktemp("bent"), [people()])
    return Path(published[-1].path)


def ways(inside: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a manifest."""
    if way:
        yield way
    if isinstance(inside, dict | list):
        for key, part in inside.items() if isinstance(inside, dict) else enumerate(inside):
            yield from ways(part, (*way, key))


def bent(folder: Path, to: Path, way: tuple[Any, ...], value: Any) -> Path:
    """A copy of a release with something else in one place of its manifest, or nothing."""
    manifest = json.loads((folder / "release.json").read_bytes())
    place = manifest
    for key in way[:-1]:
        place = place[key]
    if value is GONE:
        del place[way[-1]]
    else:
        place[way[-1]] = copy.deepcopy(value)
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    content = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    with suppress(PhalanxError):  # it has no canonical form
        content = Manifest.from_bytes(content, to).to_bytes()
    (to / "release.json").write_bytes(content)
    return to


def page_of(folder: Path, to: Path) -> str:
    """Both pages about a release as its files are; a sentence where there is none."""
    try:
        release = Release.read(folder)
        for audience in AUDIENCES:
            write_report(to, [release], [], summary={}, audience=audience)
    except PhalanxError as error:
        return str(error)
    return to.read_text(encoding="utf-8")


@pytest.mark.parametrize("first", range(len(ODD)))
def test_a_bent_manifest_gets_a_page_or_a_sentence(folder, tmp_path, first) -> None:
    """Whatever is missing or of another type, in whatever place: nothing else is raised, and what
    stands there is escaped. In seven cases each place has each of seven odd things.
    """
    manifest = json.loads((folder / "release.json").read_bytes())
    places = [way for way in ways(manifest) if way[0] != "files"]
    assert ("method", "name") in places and ("guarantees", 0, "name") in places
    for at, way in enumerate(places, first):
        odd = bent(folder, tmp_path / folder.name, way, ODD[at % len(ODD)])
        text = page_of(odd, tmp_path / "page.html")
        assert text and ("<html" not in text or EVIL not in text), way


def test_a_method_without_a_name_gets_a_page(folder, tmp_path) -> None:
    """It is said that the manifest does not name it."""
    release = bent(folder, tmp_path / folder.name, ("method", "name"), GONE)
    text = page_of(release, tmp_path / "page.html")
    assert "Published by a method that the manifest does not name." in text
