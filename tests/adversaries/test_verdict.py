# SPDX-License-Identifier: Apache-2.0
"""Whether what an adversary found is a breach: of whatever is promised, and of nothing else."""

from types import SimpleNamespace

import pytest

from phalanx.adversaries import base
from phalanx.adversaries.registry import KNOWN
from phalanx.adversaries.verdict import verdict
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee


def found(adversary, exposed=4):
    return base.Attack(
        adversary=adversary,
        knows="",
        persons=40,
        exposed=exposed,
        success=None,
        baseline=None,
        histogram={},
    )


def release(*guarantees, known=True, privacy_unit="person"):
    given = [{"name": g} if isinstance(g, str) else g for g in guarantees]
    return SimpleNamespace(
        manifest=SimpleNamespace(
            guarantees=given, holds_if_method_known=known, privacy_unit=privacy_unit
        )
    )


ALL = {"name": "global-guarantee", "protected": "all", "unprotected": []}
LASTING = {"name": "global-guarantee", "protected": ["hiv"], "permanent": ["hiv"]}
BREACHES = [
    ("intersection", [release("m-invariance")] * 3, "m-invariance"),
    ("intersection", [release("frequency-l-diversity")], "frequency-l-diversity"),
    ("posterior", [release("k-anonymity", "l-diverse-slicing")], "l-diverse-slicing"),
    ("history", [release(ALL)] * 2, "global-guarantee"),
    ("intersection", [release(ALL)], "global-guarantee"),
    ("minimality", [release("frequency-l-diversity")], "frequency-l-diversity"),
    ("linkage", [release("k-anonymity")], "k-anonymity"),
]
OTHERS = [
    ("extremes", [release("k-anonymity")], "hides who is in the table"),
    ("linkage", [release("mutual-cover")], "hides whose row is which"),
    ("informed", [release("mutual-cover")], "hides whose row is which"),
    ("intersection", [release("frequency-l-diversity")] * 2, "is about each release by itself"),
    ("intersection", [release("k-anonymity")], "bounds how surely a value is linked"),
    (
        "minimality",
        [release("frequency-l-diversity", known=False)],
        "adversaries who do not know the method",
    ),
    (
        "counterfeits",
        [release("m-invariance", known=None)],
        "adversaries who do not know the method",
    ),
    ("intersection", [release("m-invariance", privacy_unit="record")], "for each record"),
    ("history", [release({**ALL, "protected": ["hiv"]})], "some values are not protected"),
    ("history", [release({**ALL, "unprotected": ["flu"]})], "some values are not protected"),
    ("composition", [release("m-invariance")], "two of them"),
    ("intersection", [release(ALL)] * 2, "name in permanent those that do"),
    ("intersection-by-person", [release({**ALL, "permanent": ["hiv"]})] * 2, "come and go"),
    ("learning", [release(ALL)] * 2, "come and go"),
    ("downcoding", [release("m-invariance")], "intervals"),
    ("singling-out", [release("differential-privacy")], "differential privacy bounds"),
]


@pytest.mark.parametrize(("adversary", "releases", "broken"), BREACHES)
def test_what_a_release_promises_is_broken(adversary, releases, broken):
    """Somebody exposed where a guarantee says that nobody is: a breach, of that guarantee."""
    assert verdict(found(adversary), releases).startswith(f"4 of 40 persons: A BREACH of {broken}.")


@pytest.mark.parametrize(("adversary", "releases", "why"), OTHERS)
def test_what_nobody_promised_is_no_breach(adversary, releases, why):
    """The reason is named."""
    said = verdict(found(adversary), releases)
    assert (
        said.startswith("4 of 40 persons: not a breach of what is promised, because ")
        and why in said
    )


def test_values_that_are_permanent_are_promised():
    """Where all that are protected stay by the plan, who takes them to stay refutes the promise,
    but for what else is open.
    """
    assert GlobalGuarantee.not_of_lasting(LASTING) == ""
    assert "permanent" in GlobalGuarantee.not_of_lasting({**LASTING, "protected": ["hiv", "flu"]})


def test_right_by_luck_is_no_breach():
    """An adversary who may be wrong, and is right as often as the promise allows, refutes
    nothing.
    """

    class Lucky(base.Attack):
        by_luck = "It takes 12 for certain and is right about 4."

    lucky = Lucky(**vars(found("counterfeits")))
    assert verdict(lucky, [release("m-invariance")]) == (
        "It takes 12 for certain and is right about 4. That may be luck: no breach is shown, which"
        " is no proof that there is none."
    )
    assert "A BREACH" in verdict(found("counterfeits"), [release("m-invariance")])


def test_two_releases_in_a_row_are_not_a_series():
    """What is promised of consecutive releases is not broken by a series of them."""
    releases = [release("m-invariance-consecutive")] * 3
    assert "for two releases in a row alone" in verdict(found("intersection"), releases)


def test_nobody_exposed_is_no_proof():
    """Nothing is called safe."""
    assert (
        verdict(found("intersection", 0), [release("m-invariance")])
        == "None of 40 persons: this adversary finds no breach, which is no proof that there is"
        " none."
    )


def test_every_adversary_has_a_verdict():
    """Each word of the command line, on a release that promises nothing: no breach of it, with a
    reason.
    """
    assert len(KNOWN) > 10
    assert all("because" in verdict(found(name), [release()]) for name in KNOWN)
