# SPDX-License-Identifier: Apache-2.0
"""A package whose parts are none stands in nobody's way: what is not to contract is left out of what
is offered, and told by its name where it is named.
"""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from phalanx import Schema, Series
from phalanx.adversaries import registry as adversaries
from phalanx.cli import app
from phalanx.errors import ExtraError, PhalanxError
from phalanx.guarantees import registry as guarantees
from phalanx.methods import base as methods
from phalanx.methods.mondrian.method import Mondrian
from phalanx.release import kinds
from phalanx.warming import ways
from support.third_party import install

PARTS = '''
"""Parts that keep no contract."""
from dataclasses import dataclass, field
from typing import Any, ClassVar
from phalanx import Mondrian
from phalanx.adversaries.groups.extremes import Extremes
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.methods.base import Offer
from phalanx.release.forms.generalized import Generalized


@dataclass(frozen=True, kw_only=True)
class Texts(Mondrian):
    """Its offer is a text."""
    name: ClassVar[str] = "texts"
    offer: ClassVar[Any] = "take me"


@dataclass(frozen=True, kw_only=True)
class Compiling(Mondrian):
    """Is compiled by what it does not take."""
    name: ClassVar[str] = "compiling"
    offer: ClassVar[Any] = Offer(table="t", promise="p", open="o", asked=(), compiled_by=({"q": 3},))


@dataclass(frozen=True, kw_only=True)
class Disguised(Mondrian):
    """Calls itself as another."""


class Plain:
    """No dataclass."""


def function():
    """No class."""


@dataclass(frozen=True)
class Renamed(Generalized):
    """Is called otherwise than it is announced."""


@dataclass(frozen=True)
class Questioning(Extremes):
    """Asks what nobody asked."""
    name: ClassVar[str] = "questioning"
    question: ClassVar[str] = "why"


@dataclass(frozen=True)
class All(Extremes):
    """Is called as the command is."""
    name: ClassVar[str] = "all"


@dataclass(frozen=True)
class Quasi(KAnonymity):
    """Has a field that is called as an option of ours is."""
    name: ClassVar[str] = "quasi-rows"
    quasi: int = field(default=2, metadata={"help": "Ask for so many."})
    json: int = field(default=2, metadata={"help": "Ask for so many."})


@dataclass(frozen=True)
class Checkless:
    """Has no check."""
    name: ClassVar[str] = "checkless"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    rows: int = field(default=2, metadata={"help": "Ask for so many rows."})
    parameters = dict
'''
ANNOUNCES = {
    "phalanx.methods": {
        "texts": "Texts",
        "compiling": "Compiling",
        "disguised": "Disguised",
        "plain": "Plain",
        "function": "function",
        "lost": "Lost",
    },
    "phalanx.adversaries": {
        "questioning": "Questioning",
        "all": "All",
        "another": "All",
        "plain": "Plain",
        "lost": "Lost",
    },
    "phalanx.forms": {"loose": "Checkless", "renamed": "Renamed"},
    "phalanx.guarantees": {"quasi-rows": "Quasi", "checkless": "Checkless", "plain": "Plain"},
}
PEOPLE = pl.DataFrame({"who": range(12), "age": range(12), "ill": ["a", "b", "c"] * 4})


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package, and a table in the folder that commands are run in."""
    announces = {
        group: {name: f"unfit.parts:{cls}" for name, cls in points.items()}
        for group, points in ANNOUNCES.items()
    }
    install(tmp_path / "site", "unfit", {"parts": PARTS}, announces, monkeypatch)
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("t.csv")


@pytest.mark.parametrize(
    ("known", "name", "sentence"),
    [
        (methods.KNOWN, "texts", "its offer is no Offer"),
        (methods.KNOWN, "compiling", "its offer compiles by 'q', which it does not take"),
        (methods.KNOWN, "disguised", "it calls itself 'mondrian'"),
        (methods.KNOWN, "plain", "it is no dataclass"),
        (methods.KNOWN, "function", "it is no dataclass"),
        (adversaries.KNOWN, "questioning", "its question is 'why', and known are singling out"),
        (adversaries.KNOWN, "another", "it calls itself 'all'"),
        (kinds.KNOWN, "loose", "it is not derived from Form"),
        (kinds.KNOWN, "renamed", "it calls itself 'generalized'"),
        (guarantees.KNOWN, "checkless", "it has no check"),
        (guarantees.KNOWN, "plain", "it is no dataclass"),
    ],
)
def test_who_names_it_is_told_why(known: object, name: str, sentence: str) -> None:
    """Its name, its package's makers, and what is wrong."""
    with pytest.raises(ExtraError) as refused:
        known[name]  # type: ignore[index]
    assert sentence in str(refused.value) and repr(name) in str(refused.value)


def test_what_is_offered_is_without_it() -> None:
    """``explore`` and the studio ask for offers, ``warm`` for what compiles kernels, ``verify`` for
    bounds.
    """
    assert set(methods.offers()) == set(methods.OURS)
    assert "mondrian" in ways() and "compiling" not in ways()
    assert guarantees.askable()["k"] is guarantees.KNOWN["k-anonymity"]
    with pytest.raises(PhalanxError, match=r"'disguised' is announced .* cannot be used"):
        methods.make("disguised", {})


def test_all_adversaries_are_listed_and_played() -> None:
    """Those that cannot be used stand by themselves, and ``all`` is the command's own."""
    release = Series("ward", Schema(identifier="who", quasi=["age"], sensitive="ill"), Mondrian(k=3), to="out").publish(PEOPLE)  # fmt: skip
    shown = CliRunner().invoke(app, ["attack", "--help"])
    assert shown.exit_code == 0 and shown.output.count("linkage") == 1
    assert " all " in shown.output and "questioning" in shown.output

    played = CliRunner().invoke(app, ["attack", "all", str(release.path), "--original", "t.csv"])
    assert played.exit_code == 0, played.output
    assert "posterior" in played.output and "cannot be used" in played.output
    asked = CliRunner().invoke(app, ["attack", "questioning", str(release.path)])
    assert isinstance(asked.exception, ExtraError)  # which the command line shows, with exit code 2


def test_options_of_verify_are_its_own() -> None:
    """A field of a guarantee that is called as an option of ours is none."""
    shown = CliRunner().invoke(app, ["verify", "--help"])
    assert shown.exit_code == 0 and shown.output.count("--quasi ") == 1
    told = CliRunner().invoke(app, ["verify", "t.csv", "--quasi", "age", "--k", "2", "--json"])
    assert told.exit_code == 1 and '"holds": false' in told.output, told.output
