# SPDX-License-Identifier: Apache-2.0
"""The contracts as checks: ours keep them, and of every part of a contract there is a broken twin
that is caught.
"""

import sys
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from phalanx import Anatomy, Extremes, Linkage, Mondrian, Posterior, Schema, SinglingOut, publish
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, MethodError
from phalanx.guarantees.anatomy import AnatomyDiversity
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.differential_privacy.guarantee import DifferentialPrivacy
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.k_anonymity import KAnonymity
from phalanx.guarantees.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from phalanx.guarantees.m_invariance.guarantee import MInvariance
from phalanx.guarantees.m_invariance.m_uniqueness import MUniqueness
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.guarantees.slicing.counting import SlicedCounting
from phalanx.guarantees.slicing.guarantee import (
    SlicedCloseness,
    SlicedDistinct,
    SlicedDiversity,
    SlicedRecursive,
)
from phalanx.guarantees.t_closeness import Closeness
from phalanx.methods.base import Suppressed
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.form import RandomOrder, SensitiveCounts
from phalanx.release.forms.generalized import Generalized
from phalanx.testing import (
    _refuses_nonsense,
    check_adversary,
    check_form,
    check_guarantee,
    check_method,
)

PEOPLE = pl.DataFrame(
    {
        "who": [f"p{i}" for i in range(24)],
        "age": [20 + 7 * i % 31 for i in range(24)],
        "ill": ["abc"[i % 3] for i in range(24)],
    }
)
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")
EVIDENCE = Evidence(microdata={1: Microdata.encode(PEOPLE, SCHEMA)})
GUARANTEES = [
    KAnonymity(2), FrequencyDiversity(2), DistinctDiversity(2), EntropyDiversity(2), RecursiveDiversity(2, 2), Closeness("1/2"), MUniqueness(2), MInvariance(2),
    GlobalGuarantee(2), SlicedDiversity(2), SlicedCounting(2), SlicedDistinct(2), SlicedRecursive(2, 2), SlicedCloseness("1/2"), AnatomyDiversity(2),
    MutualCover("1/2"), DifferentialPrivacy(1, "1e-6", 63, "0.39"),
]  # fmt: skip


@pytest.fixture(scope="module")
def three() -> Any:
    return publish(PEOPLE, SCHEMA, Mondrian(k=3, l=2), seed=1)


@pytest.fixture(scope="module")
def two() -> Any:
    return publish(PEOPLE.head(16), SCHEMA, Mondrian(k=2), seed=1)


@pytest.mark.parametrize(
    "method", [Mondrian(k=3, l=2), Anatomy(l=2)], ids=lambda method: method.name
)
def test_our_methods_and_forms_pass(method: Any) -> None:
    """A method of ours, and the form that it publishes."""
    check_method(method, PEOPLE, SCHEMA)
    check_form(publish(PEOPLE, SCHEMA, method, seed=1).form)


def test_our_guarantees_pass(three: Any, two: Any) -> None:
    """3-anonymity holds of groups of three, and not of groups of two."""
    check_guarantee(KAnonymity(3), keeps=[three], breaks=[two])


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda guarantee: guarantee.name)
def test_all_our_guarantees_refuse_nonsense(guarantee: Any) -> None:
    """In the place of every parameter."""
    _refuses_nonsense(guarantee)


@pytest.mark.parametrize(
    "adversary",
    [Extremes(), Linkage(), Posterior(), Posterior(by="learning"), SinglingOut()],
    ids=lambda adversary: adversary.name,
)
def test_our_adversaries_pass(three: Any, adversary: Any) -> None:
    """Those of one release in boxes."""
    check_adversary(adversary, [three], EVIDENCE)


class Thawed(Mondrian):
    """Not frozen: a parameter can be changed after it was validated."""

    __setattr__ = object.__setattr__


@dataclass(frozen=True, kw_only=True)
class Careless(Mondrian):
    """Takes whatever it is given."""

    extra: Any = 1


@dataclass(frozen=True, kw_only=True)
class Elsewhere(Mondrian):
    """Shows what is no parameter."""

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"mood": "good"}


@dataclass(frozen=True, kw_only=True)
class Promiseless(Mondrian):
    """Promises nothing."""

    guarantees: ClassVar[list[Any]] = []  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True)
class Moody(Mondrian):
    """Makes something else each time."""

    times: ClassVar[list[int]] = []

    def publish(self, *given: Any) -> Any:
        self.times.append(1)
        return Mondrian(k=self.k + len(self.times), l=self.l).publish(*given)


@dataclass(frozen=True, kw_only=True)
class Drafting(Mondrian):
    """Changes what it drafts, which is no parameter of its own."""

    change: ClassVar[Any] = None

    def publish(self, microdata: Any, memory: Any, rng: Any) -> Any:
        return type(self).change(super().publish(microdata, memory, rng), memory)


def drafting(change: Any, name: str = "mondrian") -> Any:
    """A method whose drafts are changed, by name."""
    parts = {"change": staticmethod(change), "name": name, "__doc__": "Changes what it drafts."}
    return type("Drafting", (Drafting,), parts)(k=3, l=2)


def remembering(draft: Any, memory: Any) -> Any:
    """A draft that remembers a column more from release to release."""
    columns = {f"column {i}": [0] for i in range(memory.releases + 1)}
    return replace(draft, remember={"seen": pl.DataFrame(columns)})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda *_: None, "makes a draft that is of the type NoneType"),
        (lambda draft, _: replace(draft, form=PEOPLE), "makes a form that is"),
        (lambda draft, _: replace(draft, groups=draft.groups.tolist()), "gives groups that are"),
        (lambda draft, _: replace(draft, groups=draft.groups.astype("int32")), "gives groups of int32"),
        (lambda draft, _: replace(draft, groups=draft.groups[1:]), r"groups of the shape \(23,\), and there are 24 persons"),
        (lambda draft, _: replace(draft, suppressed=3), "says of what is suppressed"),
        (lambda draft, _: replace(draft, guarantees=3), "names guarantees that are"),
        (lambda draft, _: replace(draft, remember=[]), "tables by name are asked"),
        (lambda draft, _: replace(draft, remember={"seen": {}}), "remembers as 'seen' what is"),
        (lambda draft, _: replace(draft, state={"seen": pl.DataFrame({"a": [object()]})}), "carries Python objects in 'seen'"),
        (remembering, r"remembers 'seen' with other columns"),
        (lambda draft, _: replace(draft, remember={3: PEOPLE}), "remembers a table under "),
        (lambda draft, _: replace(draft, remember={"seen": PEOPLE}, state={"seen": PEOPLE}), "one name is for one of both"),
        (lambda draft, _: replace(draft, suppressed=Suppressed(rows=[3])), "counts suppressed rows by "),
        (lambda draft, _: replace(draft, suppressed=Suppressed(values={"no-group": "3"})), "counts suppressed values by something else"),
        (lambda draft, _: replace(draft, suppressed=Suppressed(rows={"no-group": 3})), "0 row.* the method says that it suppressed 3"),
        (lambda draft, _: replace(draft, guarantees=["k"]), "names a guarantee that is"),
        (lambda draft, _: replace(draft, guarantees=[KAnonymity(2)]), "promises less in its draft"),
        (lambda draft, _: draft.nothing, r"publish\(\) fails: a fault of"),
    ],
)  # fmt: skip
def test_broken_drafts_are_caught(change: Any, sentence: str) -> None:
    """What is no draft is told as what it is, before anything is made of it."""
    with pytest.raises(AssertionError, match=sentence):
        check_method(drafting(change, "drafting"), PEOPLE, SCHEMA)


@dataclass(frozen=True, kw_only=True)
class LeavingOut(Mondrian):
    """Publishes no row of the first person, and may say so."""

    name: ClassVar[str] = "leaving-out"
    told: ClassVar[dict[str, int]] = {}

    def publish(self, microdata: Any, memory: Any, rng: Any) -> Any:
        draft = super().publish(microdata.take(np.arange(1, microdata.rows)), memory, rng)
        groups = np.concatenate([[0], draft.groups])
        return replace(draft, groups=groups, suppressed=Suppressed(rows=self.told))


@dataclass(frozen=True, kw_only=True)
class Suppressing(LeavingOut):
    """Says that it may."""

    name: ClassVar[str] = "suppressing"
    may_suppress: ClassVar[Any] = ("no-group",)
    told: ClassVar[dict[str, int]] = {"no-group": 1}


@dataclass(frozen=True, kw_only=True)
class Miscounting(Suppressing):
    """Suppresses one row, and says that it were 77."""

    name: ClassVar[str] = "miscounting"
    told: ClassVar[dict[str, int]] = {"no-group": 77}


def test_who_is_left_out_is_told() -> None:
    """A release leaves with each row of its table, but for those of which its manifest says that it
    may suppress them, and as many as the method says.
    """
    assert publish(PEOPLE, SCHEMA, Suppressing(k=3, l=2), seed=1).suppressed_rows == {"no-group": 1}
    for method, sentence in (
        (LeavingOut(k=3, l=2), "1 person.* are not published, and .* none may be suppressed"),
        (Miscounting(k=3, l=2), "1 row.* in no group, and the method says that it suppressed 77"),
    ):
        with pytest.raises(GuaranteeError, match=sentence):
            publish(PEOPLE, SCHEMA, method, seed=1)


def test_a_method_that_ends_the_program_tells_nothing() -> None:
    """What it says on leaving may be of persons."""

    def leaving(*_: Any) -> None:
        sys.exit("p3 has a")

    with pytest.raises(MethodError) as refused:
        publish(PEOPLE, SCHEMA, drafting(leaving, "leaving"), seed=1)
    assert "'leaving' ends the program" in str(refused.value) and "p3" not in str(refused.value)


@dataclass(frozen=True, kw_only=True)
class Numberless(Mondrian):
    """Shows in its parameters what no JSON has."""

    name: ClassVar[str] = "numberless"
    shown: ClassVar[Any] = {"x": float("nan")}

    def parameters(self) -> Any:
        return super().parameters() | self.shown


@dataclass(frozen=True, kw_only=True)
class Arrayed(Numberless):
    """The same of a number of NumPy."""

    name: ClassVar[str] = "arrayed"
    shown: ClassVar[Any] = {"x": np.int64(3)}


@dataclass(frozen=True, kw_only=True)
class Disguised(Numberless):
    """Shows the name of another method."""

    name: ClassVar[str] = "disguised"
    shown: ClassVar[Any] = {"name": "mondrian"}


@dataclass(frozen=True, kw_only=True)
class Wordless(Mondrian):
    """May suppress for a reason that no manifest takes."""

    name: ClassVar[str] = "wordless"
    may_suppress: ClassVar[Any] = ("moody",)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (Numberless(k=3, l=2), r"in parameters\(\) something else than JSON with finite numbers"),
        (Arrayed(k=3, l=2), r"in parameters\(\) something else than JSON with finite numbers"),
        (Disguised(k=3, l=2), "shows the name 'mondrian'"),
        (Wordless(k=3, l=2), "may suppress for 'moody'"),
    ],
)
def test_what_no_manifest_can_show_is_not_published(method: Any, sentence: str) -> None:
    """A manifest that cannot be read again would be called exchanged; a name is the method's own."""
    with pytest.raises(MethodError, match=sentence):
        publish(PEOPLE, SCHEMA, method, seed=1)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (Thawed(k=3, l=2), "is not frozen"),
        (Careless(k=3, l=2), "extra = <nonsense> is taken without a word"),
        (Elsewhere(k=3, l=2), "which is no parameter of the method"),
        (Promiseless(k=3, l=2), "it promises nothing"),
        (Moody(k=2, l=2), "the same seed gives another release"),
        (Mondrian(k=24, l=2), "all of the table is one group"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_broken_methods_are_caught(method: Any, sentence: str) -> None:
    """Each by the part of the contract that it breaks."""
    with pytest.raises(AssertionError, match=sentence):
        check_method(method, PEOPLE, SCHEMA)


@dataclass(frozen=True)
class Generous(KAnonymity):
    """Holds of everything."""

    def check(self, *given: Any) -> list[Verdict]:
        return [replace(verdict, holds=True) for verdict in super().check(*given)]


@dataclass(frozen=True)
class Wordy(KAnonymity):
    """Tells a story."""

    def in_words(self, *, sensitive: bool = True) -> str:
        return "One line\nand another."


@dataclass(frozen=True)
class Renamed(KAnonymity):
    """Is known by nobody."""

    name: ClassVar[str] = "nobody's"


@dataclass(frozen=True)
class Failing(KAnonymity):
    """Stumbles."""

    def check(self, *given: Any) -> list[Verdict]:
        raise KeyError("nothing")


@dataclass(frozen=True)
class Humble(KAnonymity):
    """Says that it promises nothing."""

    def promises_nothing(self) -> str:
        return "nothing"

    def weaker_than(self, before: Any) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("guarantee", "sentence"),
    [
        (Generous(3), "release 1 of 'release' holds, and should not"),
        (Wordy(3), r"in_words\(\) is not one line"),
        (Renamed(3), "no entry point of the group phalanx.guarantees is called"),
        (Humble(3), "it says that it promises nothing"),
        (Failing(3), r"check\(\) fails: a fault of"),
        (KAnonymity(25), "release 1 of 'release' fails, and should not"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_broken_guarantees_are_caught(three: Any, two: Any, guarantee: Any, sentence: str) -> None:
    """Each by the part of the contract that it breaks."""
    with pytest.raises(AssertionError, match=sentence):
        check_guarantee(guarantee, keeps=[three], breaks=[two])


@dataclass(frozen=True, eq=False)
class Other(Generalized):
    """Another class of our kind."""


def broken(name: str, answer: Any) -> Any:
    """A patch of the form of ours, which stays the form of its kind."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Generalized, name, answer)

    return patch


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        (broken("faults", lambda _: None), r"faults\(\) is no list"),
        (broken("faults", lambda _: ["it is torn"]), "it has a fault: it is torn"),
        (
            broken("headers", lambda _: {"data": ["group"]}),
            r"the columns of data are not those of headers\(\)",
        ),
        (broken("headers", lambda _: {}), "are not about the same files"),
        (
            broken(
                "sensitive_counts", lambda self: SensitiveCounts(self.table["group"].head(2), None)
            ),
            r"sensitive_counts\(\) is about 2 row",
        ),
        (
            broken("in_random_order", lambda self: iter([RandomOrder(self.table, ["mood"], [])])),
            "names columns that its table has not",
        ),
        (
            broken(
                "of_folder",
                classmethod(
                    lambda cls, manifest, tables: cls(
                        tables["data"].reverse(), tuple(manifest.attributes)
                    )
                ),
            ),
            "is read as something else",
        ),
    ],
)
def test_broken_forms_are_caught(
    three: Any, monkeypatch: pytest.MonkeyPatch, patch: Any, sentence: str
) -> None:
    """Each by the part of the contract that it breaks."""
    patch(monkeypatch)
    with pytest.raises(AssertionError, match=sentence):
        check_form(three.form)


def test_a_form_of_another_kind_is_caught(three: Any) -> None:
    """A kind belongs to one class."""
    with pytest.raises(AssertionError, match="the kind 'generalized' is that of another form"):
        check_form(Other(three.form.table, three.form.attributes))


@dataclass(frozen=True)
class Asks(Extremes):
    """Asks what no regulator asks."""

    question: ClassVar[str] = "weather"


@dataclass(frozen=True)
class Blind(Extremes):
    """Takes no evidence for an error of Python's."""

    drawn: list[int] = field(default_factory=list)

    def attack(self, releases: Any, evidence: Evidence | None = None) -> Any:
        self.drawn.append(1)
        found = super().attack(
            releases, Evidence(microdata={1: evidence.microdata[1]}) if evidence else None
        )  # type: ignore[union-attr]
        return replace(found, note=str(len(self.drawn))) if self.drawn[0] == 0 else found


@pytest.mark.parametrize(
    ("adversary", "sentence"),
    [
        (Asks(), "its question is none of singling out, linkability, inference"),
        (Blind(), "without evidence is a KeyError"),
        (Blind(drawn=[0]), "it finds something else when it attacks again"),
    ],
    ids=["asks", "blind", "moody"],
)
def test_broken_adversaries_are_caught(
    three: Any, monkeypatch: pytest.MonkeyPatch, adversary: Any, sentence: str
) -> None:
    """Each by the part of the contract that it breaks; as if it were the one of its name."""
    monkeypatch.setattr("phalanx.adversaries.groups.extremes.Extremes", type(adversary))
    with pytest.raises(AssertionError, match=sentence):
        check_adversary(adversary, [three], EVIDENCE)


def test_an_adversary_that_nobody_can_play_is_caught(three: Any) -> None:
    """A name belongs to one class."""
    with pytest.raises(AssertionError, match="the name 'extremes' is that of another adversary"):
        check_adversary(Asks(), [three], EVIDENCE)
