# SPDX-License-Identifier: Apache-2.0
"""Warnings are told where they hold and nowhere else; every sentence that a promise needs is
there.
"""

import pytest

from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.m_invariance.guarantee import MInvariance
from phalanx.release.manifest import Manifest, PublishedAttribute
from phalanx.report.promises import in_words, settings, warnings

STRANGERS = "Only against those who do not know who is in the table"
UNPROTECTED = "Unprotected values are promised nothing"
PASSING = "For values that come and go"
MISSING = "A missing value tells something"
IGNORES = "Only against those who ignore the method"


def manifest(*guarantees, registered=0, values="categorical", form="generalized", **stated):
    ill = PublishedAttribute(name="ill", role="sensitive", type=values, columns=["ill"])
    return Manifest(
        series="clinic", number=1, form=form, method={"name": "by hand"}, guarantees=[g.parameters() for g in guarantees], attributes=[ill],
        rows=4, groups=2, counterfeits=0, registered=registered, boxes="tight", files=[], **stated,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("promise", "told", "headlines"),
    [
        (GlobalGuarantee(l=2), {}, [PASSING]),
        (GlobalGuarantee(l=2, protected=["hiv"]), {}, [UNPROTECTED, PASSING]),
        (GlobalGuarantee(l=2, unprotected=["flu"]), {}, [UNPROTECTED, PASSING]),
        (GlobalGuarantee(l=2), {"suppressed_values": 1}, [PASSING, MISSING]),
        (MInvariance(m=2), {}, []),
        (MInvariance(m=2, balancing="paper"), {}, [IGNORES]),
        (MInvariance(m=2), {"suppressed_values": 1}, [MISSING]),
    ],
)
def test_a_warning_is_told_where_it_holds(promise, told, headlines):
    """Unprotected values, values that stay and missing ones are spoken of in releases that they are
    about, and in no others.
    """
    assert [headline for headline, _ in warnings(manifest(promise), **told)] == headlines


def test_weights_are_warned_of():
    """A release with weights says what they tell, and one without does not."""
    weight = PublishedAttribute(name="w", role="weight", type="numeric", columns=["w"])
    plain = manifest(MInvariance(m=2))
    weighed = plain.model_copy(update={"attributes": [*plain.attributes, weight]})
    told = [dict(warnings(m)).get("Weights tell who is in which group") for m in (weighed, plain)]
    assert "the mean w of its rows" in told[0] and told[1] is None


def test_filling_as_in_the_paper_is_told_with_the_promise():
    """The sentence says against whom it holds, of a series that remembers as of one that forgets;
    without filling it does not.
    """
    for consecutive in (False, True):
        said = [
            in_words(MInvariance(m=2, consecutive=consecutive, balancing=way).parameters())
            for way in ("exact", "paper")
        ]
        assert (
            said[1].startswith(said[0])
            and "ignores the method" in said[1]
            and "ignores" not in said[0]
        )


def test_a_registry_is_told_in_this_release_and_all_later_ones():
    """Registered persons dilute what the series adds up to, also in a release that has none
    itself.
    """
    without, listed = manifest(GlobalGuarantee(l=2)), manifest(GlobalGuarantee(l=2), registered=3)

    assert STRANGERS not in dict(warnings(without, [without]))
    assert "more than is promised" in dict(warnings(listed))[STRANGERS]
    assert STRANGERS in dict(warnings(without, [without, listed]))
    assert STRANGERS not in dict(warnings(manifest(MInvariance(m=2), registered=3)))


def test_a_value_taken_out_of_a_set_leaves_no_trace():
    """Where rows hold sets, an empty one is a set like any other, and nothing is told of missing
    values.
    """
    assert MISSING not in dict(
        warnings(manifest(GlobalGuarantee(l=2), values="set"), suppressed_values=5)
    )


def test_values_that_stay_are_named_or_not_covered():
    """Without permanent values, one that stays is not covered; with them, the promise is
    about what was so when a cohort was founded.
    """
    assert (
        "chronic disease, is not covered" in dict(warnings(manifest(GlobalGuarantee(l=2))))[PASSING]
    )
    assert (
        "cohort was founded"
        in dict(warnings(manifest(GlobalGuarantee(l=2, permanent=["hiv"]))))[PASSING]
    )


@pytest.mark.parametrize(
    ("form", "headline", "sentence"),
    [
        (
            "sliced",
            "Values can be seen, and combinations within a column",
            "a rare combination of values of one column, tells an adversary who knows whose it is",
        ),
        (
            "bucketized",
            "Who is in the table can be seen",
            "Only the link with the sensitive value is hidden.",
        ),
        (
            "perturbed",
            "Values are real ones of other persons, and sensitive values are exact",
            "An adversary who knows how the rows were made",
        ),
    ],
)
def test_what_buckets_do_not_hide_is_told(form, headline, sentence):
    """Whatever the method is called, its promise is about one release, and what can be seen in it
    is said; groups with intervals have no such warning.
    """
    told = dict(warnings(manifest(form=form)))

    assert list(told) == ["One release at a time", headline]
    assert sentence in told[headline]
    assert warnings(manifest()) == []


def test_lists_of_lists_can_be_told_apart():
    """Which attributes a plan puts into one column is seen in its settings."""
    assert (
        settings({"columns": [["age", "sex"], ["zip"]], "bins": 10})
        == "columns = (age / sex) / (zip), bins = 10"
    )


def test_a_long_list_is_cut_short():
    """Hundreds of protected values do not fill the page; the manifest has them all."""
    assert settings({"protect": list(range(12))}).endswith("10 / 11")
    assert settings({"protect": list(range(686))}).endswith("10 / 11 and 674 more")


def test_what_the_method_states_is_told():
    """Who knows the method, and suppressed rows, where no guarantee covers them: one sentence each,
    and none where nothing is stated or nothing is left out.
    """
    known, suppressed = (
        "Only against those who do not know the method",
        "Suppressed rows are not covered",
    )
    assert warnings(manifest(MInvariance(m=2), holds_if_method_known=True, may_suppress=[])) == []
    found = dict(
        warnings(
            manifest(
                MInvariance(m=2),
                holds_if_method_known=False,
                may_suppress=["not-eligible", "changed-value"],
            )
        )
    )
    assert list(found) == [known, suppressed]
    assert "runs the method on every table" in found[known]
    assert (
        "likely to hold one of the most frequent; and those of persons whose value changed"
        in found[suppressed]
    )
    assert all(sentence.count(". ") == 0 for sentence in found.values())
