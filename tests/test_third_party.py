# SPDX-License-Identifier: Apache-2.0
"""A package of somebody else publishes, is verified, attacked and reported on, and no file of ours
knows it.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx import Mondrian, Release, Schema, Series, publish, verify
from phalanx.adversaries.opinion import play_all, play_none, play_one
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, ReleaseError, fault
from phalanx.exploration.grid import sections
from phalanx.guarantees.verify import verify as verify_releases
from phalanx.methods.base import offers
from phalanx.release.evidence.evidence import Evidence
from phalanx.studio.pages import promise
from phalanx.studio.place import Place
from phalanx.testing import check_adversary, check_form, check_guarantee, check_method
from phalanx.warming import warm
from support.acme import ANNOUNCES, MODULES
from support.pythons import run
from support.third_party import install

SOURCE = Path(__file__).resolve().parents[1] / "src"
SCHEMA = Schema(identifier="who", quasi=["age", "pay"], sensitive="ill")
PLAN = """
[series]
name = "ward"
[source]
path = "t.csv"
[schema]
identifier = "who"
quasi = ["age", "pay"]
sensitive = "ill"
[method]
name = "acme-neighbours"
rows = 3
[publish]
to = "out"
formats = ["parquet", "csv"]
"""


def people(n: int = 24) -> pl.DataFrame:
    every = range(n)
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in every],
            "age": [20 + 5 * i % 47 for i in every],
            "pay": [i * i % 31 for i in every],
            "ill": ["abc"[i % 3] for i in every],
        }
    )


@dataclass(frozen=True)
class Acme:
    """The package, and the folder that it is installed in."""

    folder: Path

    def make(self, name: str, **parameters: Any) -> Any:
        """A part by hand, as somebody makes it who imports it."""
        module, _, cls = {
            word: where for points in ANNOUNCES.values() for word, where in points.items()
        }[name].partition(":")
        return getattr(import_module(module), cls)(**parameters)


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Acme]:
    """The package in a folder on the path."""
    with pytest.MonkeyPatch.context() as patch:
        yield Acme(install(tmp_path_factory.mktemp("site"), "acme", MODULES, ANNOUNCES, patch))
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def ward(acme: Acme, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A release by the package's method, made in Python."""
    return Series(
        "ward",
        SCHEMA,
        acme.make("acme-neighbours", rows=3),
        to=tmp_path_factory.mktemp("ward") / "out",
    ).publish(people())


def test_no_file_of_ours_knows_it() -> None:
    """Not its names, and not those of its parts."""
    names = {"acme", *(word for points in ANNOUNCES.values() for word in points)}
    for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.html")]:
        assert not [name for name in names if name in path.read_text(encoding="utf-8")], path


def test_it_keeps_every_contract(acme: Acme) -> None:
    """What we ask of our own parts, it passes."""
    check_method(acme.make("acme-neighbours", rows=3), people(), SCHEMA)
    tally = publish(people(), SCHEMA, acme.make("acme-neighbours", rows=3), seed=1)
    by_mondrian = publish(people(), SCHEMA, Mondrian(k=2), seed=1)
    check_form(tally.form)
    check_guarantee(
        acme.make("acme-rows", rows=3),
        keeps=[tally],
        breaks=[
            by_mondrian,
            publish(people(), SCHEMA, acme.make("acme-neighbours", rows=2), seed=1),
        ],
    )
    check_adversary(
        acme.make("acme-guesser", rank=2),
        [tally],
        Evidence(microdata={1: Microdata.encode(people(), SCHEMA)}),
    )


def test_it_is_verified_from_its_files(ward: Release) -> None:
    """Its guarantee, consistency by what its form says, truth by how its form reads itself; nobody
    needs the method for it.
    """
    found = verify(
        [ward.path],
        originals=[people()],
        identifier="who",
        ledger=f"sqlite:///{ward.path.parents[1]}/ward.db",
    )
    assert found.holds, [v.note for v in found.checks if not v.holds]
    told = {v.name.removeprefix("release 1: "): v for v in found.checks}
    assert (told["acme-rows"].worst, told["acme-rows"].bound) == (3, 3)
    assert "by the package that reads acme-tally releases" in told["truth"].note
    assert "what the form says of itself" in told["consistency"].note


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (
            lambda t: t.with_columns(
                count=pl.when(pl.int_range(pl.len()) == 0).then(0).otherwise("count")
            ),
            "a count is below 1",
        ),
        (lambda t: t.reverse(), "the rows are not in the order of their groups"),
        (
            lambda t: t.with_columns(age_high=pl.lit(0, dtype=pl.Int64)),
            "value(s) of persons are not published as they are",
        ),
    ],
)
def test_broken_releases_are_refused(
    acme: Acme, spoil: Callable[[pl.DataFrame], pl.DataFrame], what: str
) -> None:
    """Counts that are none, an order that tells, intervals that lie: each is seen."""
    method = acme.make("acme-neighbours", rows=3)
    real = type(method).publish

    def spoiled(self: Any, *given: Any) -> Any:
        draft = real(self, *given)
        return replace(draft, form=replace(draft.form, counts=spoil(draft.form.counts)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(method), "publish", spoiled)
        with pytest.raises(GuaranteeError) as refused:
            publish(people(), SCHEMA, method)
    assert what in str(refused.value)


def test_a_promise_that_is_not_kept_is_seen(ward: Release) -> None:
    """The manifest promises more than the tables keep: its own check says so."""
    more = replace(
        Release.read(ward.path),
        manifest=ward.manifest.model_copy(
            update={"guarantees": [{"name": "acme-rows", "rows": 4}]}
        ),
    )
    assert [
        (v.worst, v.bound)
        for v in verify_releases([more])
        if v.name == "release 1: acme-rows" and not v.holds
    ] == [(3, 4)]
    nothing = replace(
        more,
        manifest=ward.manifest.model_copy(
            update={"guarantees": [{"name": "acme-rows", "rows": 1}]}
        ),
    )
    assert [
        "promises nothing" in v.note
        for v in verify_releases([nothing])
        if v.name == "release 1: acme-rows"
    ] == [True]


def test_its_report_speaks_its_words(ward: Release) -> None:
    """The guarantee's sentence, what stands in the files, and its adversary among those of the
    regulator's questions.
    """
    assert ward.page is not None
    text = ward.page.read_text(encoding="utf-8")
    for words in (
        "Every group of this tally has at least 3 rows.",
        "The file data counts the values of each group.",
        "Add up its counts.",
        "a tally has no rows of persons",
        "acme-guesser",
    ):
        assert words in text


def test_its_form_is_estimated_from_and_drawn(ward: Release, acme: Acme) -> None:
    """By the view that it gives of itself; without one, there is a sentence."""
    exactly = people()["ill"].to_list().count("a")
    (figure,) = ward.estimate("count(*) where ill = 'a'").figures
    assert (figure.low, figure.estimate, figure.high) == (exactly, exactly, exactly)
    assert ward.estimate("count(*) where age < 40").model == "values lie evenly in their boxes"
    drawn = ward.draw()[0]
    assert sorted(drawn["ill"]) == sorted(people()["ill"]) and set(drawn.columns) == {
        "age",
        "pay",
        "ill",
    }
    form = type(ward.form)
    unread = publish(people(), SCHEMA, acme.make("acme-neighbours", rows=3), seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(form, "view")
        with pytest.raises(ReleaseError, match="how to estimate from acme-tally releases"):
            unread.estimate("count(*)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form, "view", lambda *_: None)
        with pytest.raises(ReleaseError, match="acme-tally releases gives no view of this one"):
            unread.estimate("count(*)")
        assert unread.report(ward.path.parent / "page.html", audience="external").is_file()


def test_its_adversary_answers_a_question(ward: Release) -> None:
    """It is played with all others, on forms of ours too; where nobody is, it is named."""
    evidence = Evidence(microdata={1: Microdata.encode(people(), SCHEMA)})
    for release in (ward, publish(people(), SCHEMA, Mondrian(k=3))):
        inference = play_all([release], evidence)[2]
        assert "acme-guesser" in [attack.adversary for attack in inference.played]
    assert "acme-guesser" in play_none("no time")[2].not_played
    assert all(answer.asked for answer in play_one(ward, evidence)[2:])


def test_without_the_package_its_release_is_not_read(ward: Release) -> None:
    """One sentence that says what is missing."""
    script = (
        "from phalanx import Release\nfrom phalanx.errors import ReleaseError\ntry:\n   "
        f" Release.read({str(ward.path)!r})\nexcept ReleaseError as error:\n    print(error)"
    )
    said = run("-c", script)
    assert (
        said.stdout.strip()
        == "the manifest says 'acme-tally', a form that nothing installed here reads; install the"
        " package that it was made with."
    )


def test_from_the_command_line(acme: Acme, tmp_path: Path) -> None:
    """Published by a plan, verified, attacked by its own subcommand with its own option, as text
    and as JSON.
    """
    people().write_csv(tmp_path / "t.csv")
    (tmp_path / "plan.toml").write_text(PLAN)

    def phalanx(*words: str) -> "subprocess.CompletedProcess[str]":
        main = "from phalanx.cli import main; main()"
        return run("-c", main, *words, cwd=tmp_path, path=[acme.folder])

    published = phalanx("publish", "plan.toml", "--quiet")
    assert published.returncode == 0, published.stderr
    verified = phalanx("verify", "out/ward-1", "--json")
    assert (verified.returncode, json.loads(verified.stdout)["holds"]) == (0, True)
    attack = ("attack", "acme-guesser", "out/ward-1", "--original", "t.csv")
    assert "the guess" in phalanx(*attack).stdout
    guesses = [
        json.loads(phalanx(*attack, *rank, "--json").stdout)["success"]
        for rank in ((), ("--rank", "2"))
    ]
    assert guesses == [pytest.approx(1 / 3), pytest.approx(1 / 3)]
    assert (
        phalanx(*attack, "--rank", "4").stderr.strip()
        == "phalanx: rank must be 1, 2 or 3, and is 4."
    )
    listed, own = (
        phalanx("attack", "--help").stdout,
        phalanx("attack", "acme-guesser", "--help").stdout,
    )
    assert "acme-guesser" in listed and "Names the value that stands most often" in listed
    assert "--rank" in own and "or the third" in own
    assert "acme-guesser" in phalanx("attack", "all", "out/ward-1", "--original", "t.csv").stdout
    table = ("verify", "t.csv", "--quasi", "ill", "--json")
    codes = [phalanx(*table, "--rows", rows).returncode for rows in ("8", "9")]
    assert codes == [0, 1] and "groups of so many rows" in phalanx("verify", "--help").stdout


def test_its_method_is_offered_tried_and_compiled(acme: Acme, tmp_path: Path) -> None:
    """In its own words and over its own figures, where nobody names it; not where the table lacks
    what it needs.
    """
    assert acme.folder
    offer = offers()["acme-neighbours"]
    assert offer.asked[0].key == "rows" and "{rows}" in offer.promise
    own = {"name": "mondrian", "k": 4}
    points = [each for each in sections(own, SCHEMA) if each["name"] == "acme-neighbours"]
    assert [each["rows"] for each in points] == [3, 6]
    without = sections(own, Schema(identifier="who", quasi=["age", "pay"]))
    assert "acme-neighbours" not in {each["name"] for each in without}
    steps: list[str] = []
    compiled = warm("acme-neighbours", lambda step, *_: steps.append(step))
    assert list(compiled.seconds) == ["acme-neighbours"] == steps
    people().write_csv(tmp_path / "t.csv")
    plan = PLAN.replace('"acme-neighbours"\nrows = 3', '"mondrian"\nk = 4')
    (tmp_path / "plan.toml").write_text(plan)
    page = promise.page(Place(tmp_path / "plan.toml"), {"method": "acme-neighbours", "rows": "7"})
    (card,) = [card for card in page["offers"] if card["name"] == "acme-neighbours"]
    assert card["wrong"] == ""
    assert card["promise"] == "Everybody is one of at least 7 persons who are counted together."
    assert card["guarantees"] == ["Every group of this tally has at least 7 rows."]


def test_a_form_must_describe_its_layout(tmp_path: Path) -> None:
    """What a manifest says of a layout goes with the form: of ours, which have none, it is
    refused.
    """
    made = publish(people(), SCHEMA, Mondrian(k=3)).save(tmp_path / "ours")
    manifest = json.loads((made.path / "release.json").read_bytes())
    said = {
        key: value
        for entry in manifest.items()
        for key, value in (
            [entry, ("layout", {"counted": True})] if entry[0] == "form" else [entry]
        )
    }
    (made.path / "release.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    with pytest.raises(
        ReleaseError, match="the manifest says generalized and does not describe its layout so"
    ):
        Release.read(made.path)


def test_a_fault_of_a_package_is_its_own(tmp_path, monkeypatch) -> None:
    """Its makers are told of it, and not ours; of one that adds nothing to Phalanx we are."""
    source = "def fails():\n    raise NotImplementedError('secret')\n\ndef calls():\n    import json\n    json.loads('secret')\n"
    announced = {"phalanx.adversaries": {"their-adversary": "their_package.code:Theirs"}}
    install(tmp_path / "a", "their-package", {"code": source}, announced, monkeypatch)
    install(tmp_path / "b", "other-package", {"code": source}, {}, monkeypatch)
    told = []
    for name in ("their_package", "other_package"):
        with pytest.raises(NotImplementedError) as raised:
            import_module(f"{name}.code").fails()
        told.append(fault(raised.value))
    assert told[0] == (
        "a fault of the package 'their_package' (NotImplementedError in code.py, line 2); please"
        " report it to its makers."
    )
    assert told[1].startswith("a fault of Phalanx itself (NotImplementedError in code.py")
    with pytest.raises(ValueError) as raised:
        import_module("their_package.code").calls()
    assert fault(raised.value).startswith("a fault of the package 'their_package' (JSONDecodeError")
