# SPDX-License-Identifier: Apache-2.0
"""What is installed under a name: ours first, others' by entry point, and no package in the place
of another.
"""

import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

from phalanx import Extremes, Mondrian, Schema, publish
from phalanx.adversaries import registry as adversaries
from phalanx.adversaries.base import attacked_by
from phalanx.adversaries.opinion import play_all
from phalanx.data.microdata import Microdata
from phalanx.errors import ExtraError, ReleaseError
from phalanx.guarantees import registry
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.strength import promises_nothing, weakened
from phalanx.guarantees.verify import verify
from phalanx.installed import Installed
from phalanx.methods import base as methods
from phalanx.release import kinds
from phalanx.release.evidence.evidence import Evidence
from phalanx.report.promises import in_words, warnings
from report.test_promises import manifest
from support.third_party import install

ROOT = Path(__file__).resolve().parents[1]
ROWS = '''
"""A guarantee of somebody else."""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from phalanx.guarantees.base import Verdict


@dataclass(frozen=True)
class Rows:
    """A release has at least so many rows."""

    name: ClassVar[str] = "many rows"
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    rows: int = 2

    def check(self, release, earlier=(), evidence=None):
        return [Verdict(name=self.name, bound=self.rows, worst=release.form.rows, holds=release.form.rows >= self.rows)]

    def parameters(self):
        return {"name": self.name, "rows": self.rows}
'''
SPOKEN = f"""{ROWS}
    def in_words(self, *, sensitive=True):
        return f"There are at least {{self.rows}} rows."

    def limits(self, manifest, earlier=(), *, reidentified=None):
        yield "Rows are no persons", "One person may have all of them."

    def promises_nothing(self):
        return "every table has 0 rows" if self.rows == 0 else ""

    def weaker_than(self, before):
        if self.rows < before.rows:
            yield "fewer rows"
"""


def rows(
    tmp_path: Path, patch: pytest.MonkeyPatch, source: str, name: str = "other-rows"
) -> dict[str, Any]:
    install(
        tmp_path / name,
        name,
        {"rows": source},
        {"phalanx.guarantees": {"many rows": f"{name.replace('-', '_')}.rows:Rows"}},
        patch,
    )
    return {"name": "many rows", "rows": 3}


@pytest.mark.parametrize(
    "known",
    [methods.KNOWN, registry.KNOWN, kinds.KNOWN, adversaries.KNOWN],
    ids=lambda known: known.group,
)
def test_ours_are_announced_too(known: Installed) -> None:
    """Whoever lists entry points finds ours among them: pyproject.toml says what the registry says,
    and each is there.
    """
    announced = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        known.group
    ]
    assert announced == dict(known.ours)
    assert all(isinstance(known[name], type) for name in announced)
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) for name in announced)


def test_what_is_announced_is_there() -> None:
    """Every name of ours leads to a class of that name, or one of whose variants that is."""
    for name in registry.OURS:
        cls = registry.KNOWN[name]
        assert name == cls.name or name in cls.variants


def test_a_guarantee_of_somebody_else_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name alone; without a sentence of its own, the report shows name and parameters."""
    public = rows(tmp_path, monkeypatch, ROWS)
    guarantee = from_parameters(public)
    assert guarantee.parameters() == public and "many rows" in list(registry.KNOWN)
    assert in_words(public) == "many rows: rows = 3"
    assert promises_nothing(from_parameters(public)) == ""
    assert list(weakened([public | {"rows": 2}], [public])) == [
        "it promises less than the release before it (many rows: rows was 3 and is 2)"
    ]


def test_a_guarantee_of_somebody_else_speaks_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own sentence, what it leaves out, when it promises nothing, and what is less than
    before.
    """
    public = rows(tmp_path, monkeypatch, SPOKEN, "spoken-rows")
    assert in_words(public) == "There are at least 3 rows."
    assert (
        promises_nothing(from_parameters(public | {"rows": 0})) == "every table has 0 rows"
        and promises_nothing(from_parameters(public)) == ""
    )
    assert list(weakened([public | {"rows": 2}], [public])) == [
        "it promises less than the release before it (many rows: fewer rows)"
    ]
    assert list(weakened([public | {"rows": 4}], [public])) == []
    assert list(weakened([], [public])) == [
        "it no longer promises many rows, which the release before it does"
    ]
    assert [title for title, _ in warnings(manifest(from_parameters(public)))] == [
        "One release at a time",
        "Rows are no persons",
    ]


def test_nobody_takes_the_place_of_a_check_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that announces our name is not asked."""
    install(
        tmp_path,
        "usurper",
        {"k": "raise SystemExit('asked')"},
        {"phalanx.guarantees": {"k-anonymity": "usurper.k:K"}},
        monkeypatch,
    )
    assert (
        type(from_parameters({"name": "k-anonymity", "k": 2})).__module__
        == "phalanx.guarantees.k_anonymity"
    )
    assert list(registry.KNOWN).count("k-anonymity") == 1


def test_two_packages_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them is meant, nobody knows."""
    public = rows(tmp_path, monkeypatch, ROWS)
    rows(tmp_path, monkeypatch, ROWS, "more-rows")
    with pytest.raises(
        ReleaseError,
        match=(
            r"cannot be checked: 'many rows' is announced for phalanx\.guarantees by 2 installed"
            r" packages"
        ),
    ):
        from_parameters(public)


def broken(tmp_path: Path, patch: pytest.MonkeyPatch, *groups: str) -> None:
    """A package that announces what it cannot load."""
    announces = {group: {"half": "broken.parts:Half"} for group in groups}
    install(tmp_path, "broken", {"parts": "import not_there"}, announces, patch)


def test_a_package_that_cannot_be_loaded_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence, and no traceback out of somebody else's module."""
    broken(tmp_path, monkeypatch, "phalanx.nothing")
    known = Installed("phalanx.nothing", {})
    assert "half" in known and len(known) == 1 and "third" not in known
    with pytest.raises(
        ExtraError, match=r"cannot be loaded \(ModuleNotFoundError\); install that package again"
    ):
        known["half"]
    with pytest.raises(KeyError):
        known["third"]


def test_a_package_that_cannot_be_loaded_stands_in_no_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is offered of all that is installed leaves it out; its own name is refused."""
    broken(tmp_path, monkeypatch, "phalanx.guarantees", "phalanx.methods")
    assert "k" in registry.askable() and "mondrian" in methods.offers()
    assert "half" not in dict(registry.KNOWN.loaded()) and "half" in registry.KNOWN
    with pytest.raises(ExtraError, match="cannot be loaded"):
        methods.make("half", {})


@pytest.mark.parametrize(
    ("verdicts", "what"),
    [
        ("[]", "it gives no verdict"),
        ("None", "it gives no verdict"),
        ("True", "it gives no verdict"),
        ("[{'holds': True}]", "it gives no verdict"),
    ],
)
def test_a_guarantee_that_gives_no_verdict_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdicts: str, what: str
) -> None:
    """Nothing that was not looked at is said to hold, of one release and in a series."""
    begin, _, _ = ROWS.partition("        return [Verdict")
    source = f"{begin}        return {verdicts}\n{ROWS[ROWS.index('    def parameters') - 1 :]}"
    public = rows(tmp_path, monkeypatch, source, "silent-rows")
    people = pl.DataFrame({"who": range(8), "age": range(8)})
    made = publish(people, Schema(identifier="who", quasi=["age"]), Mondrian(k=2))
    promising = replace(made, manifest=made.manifest.model_copy(update={"guarantees": [public]}))
    (said,) = [v for v in verify([promising]) if "many rows" in v.name]
    assert not said.holds and what in said.note


def test_a_verdict_is_one() -> None:
    """What another package gives for one is true or false."""
    with pytest.raises(TypeError, match="True or False"):
        Verdict(name="a", bound=1, worst=1, holds="no")  # type: ignore[arg-type]


class Wrong(Extremes):
    """Finds what it is told to find."""

    answer: ClassVar[Any] = None

    def attack(self, releases: Any, evidence: Any = None) -> Any:
        return type(self).answer(super().attack(releases, evidence))


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda _: None, "finds what is of the type NoneType"),
        (lambda a: replace(a, exposed=9), "exposes 9 of 8 persons"),
        (lambda a: replace(a, success=float("nan")), "is right about nan of them"),
        (lambda a: replace(a, baseline=2.0), "is right about 2.0 of them"),
    ],
)
def test_what_an_adversary_cannot_find_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, answer: Any, what: str
) -> None:
    """It is told as not played, and by itself it is refused."""
    people = pl.DataFrame({"who": range(8), "age": range(8)})
    schema = Schema(identifier="who", quasi=["age"])
    made = publish(people, schema, Mondrian(k=2))
    monkeypatch.setattr(Wrong, "answer", staticmethod(answer))
    monkeypatch.setattr("phalanx.adversaries.groups.extremes.Extremes", Wrong)
    evidence = Evidence(microdata={1: Microdata.encode(people, schema)})
    with pytest.raises(ReleaseError) as refused:
        attacked_by(Wrong(), [made], evidence)
    assert what in str(refused.value)
    (asked, *_) = play_all([made], evidence)
    assert what in asked.not_played["extremes"]


def test_a_guarantee_nobody_knows_is_refused_with_the_nearest() -> None:
    """Never a silent pass."""
    with pytest.raises(
        ReleaseError, match="which no check is known for; did you mean 'k-anonymity'"
    ):
        from_parameters({"name": "k-anonimity", "k": 2})


def test_to_find_ours_looks_at_no_package() -> None:
    """What is installed is read only for a name that is not ours: `phalanx verify` of our releases
    never pays for it.
    """
    source = (
        "import importlib.metadata as m\n"
        "real = m.entry_points\n"
        "def no(group):\n"
        "    assert not group.startswith('phalanx'), 'looked'\n"
        "    return real(group=group)\n"
        "m.entry_points = no\n"
        "from phalanx.guarantees.registry import from_parameters\n"
        "print(from_parameters({'name': 'k-anonymity', 'k': 3}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "KAnonymity(k=3)", done.stderr
