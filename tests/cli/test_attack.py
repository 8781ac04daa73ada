# SPDX-License-Identifier: Apache-2.0
"""`phalanx attack ADVERSARY`: what each asks for, what it prints, and the keys that the
documentation promises.
"""

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "attack.md"
RELEASES = ("out/ward-1", "out/ward-2")


def alone(adversary):
    """How an adversary of one release is called."""
    return ("attack", adversary, "out/ward-1", "--original", "t.csv")


POSTERIOR, MEMBERSHIP, LINKAGE, EXTREMES = map(
    alone, ("posterior", "membership", "linkage", "extremes")
)
WITH_LEDGER = ("--ledger", "ward.db", "--identifier", "who")
BESIDE = ("--identifier", "who", "--beside", "out/ward-2", "--beside-original", "t.csv")
HISTORY = ("attack", "history", *RELEASES, "--ledger", "ward.db")


def keys(heading):
    """The keys in the table under a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(heading, 1)[1].split("\n## ")[0]
    return re.findall(r"^\| `([a-z_]+)` \|", section, flags=re.MULTILINE)


@pytest.fixture
def twice(ward):
    """Two releases of one table by Mondrian, which looks at each by itself."""
    ward.plan(method='name = "mondrian"\nk = 4\nl = 2\ncuts = "strict"')
    for _ in RELEASES:
        assert ward.publish("--quiet").code == 0
    return ward


def test_the_keys_are_those_of_the_page(twice) -> None:
    """The keys of every attack, and those that the page lists for this one; two releases link
    persons more than one alone.
    """
    cells = keys("## `--json`\n") + keys("## `--json` of the history adversary\n")
    both, one = (
        json.loads(twice.call("attack", "history", *releases, *HISTORY[4:], "--json").out)
        for releases in (RELEASES, RELEASES[:1])
    )
    assert list(both) == cells
    assert (both["persons"], both["bound"], both["success"]) == (40, "1/2", None)
    assert both["above"] > one["above"] == 0


def test_bound_and_values(twice) -> None:
    """A higher bound leaves fewer above, 1 nobody; fewer values link to fewer."""
    above = {
        bound: json.loads(twice.call(*HISTORY, "--bound", bound, "--json").out)["above"]
        for bound in ("0", "1/2", "0.7", "1")
    }
    assert above["0"] == 40 >= above["1/2"] >= above["0.7"] >= above["1"] == 0
    some = json.loads(twice.call(*HISTORY, "--value", "a", "--value", "b", "--json").out)
    assert max(map(int, some["candidates"])) <= 2
    assert "looked for 2 value(s)" in some["note"]


def test_it_is_said_in_words(twice) -> None:
    """Persons above the bound, and how many are linked with how much."""
    said = twice.call(*HISTORY)
    assert said.code == 0
    for words in (
        "history knows in which group",
        "linked with more than 1/2",
        "linked with up to",
        "values that come and go",
    ):
        assert words in said.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("attack", "history", *RELEASES),
            "missing option '--ledger'; phalanx attack history --help says how.",
        ),
        ((*HISTORY, "--bound", "2"), "the bound must be at least 0 and at most 1"),
        ((*HISTORY, "--value", "aa"), "no release shows the value 'aa'"),
        ((*HISTORY, "--original", "t.csv"), "no such option: --original"),
        (("attack", "intersection", *RELEASES), "missing option '--original'"),
        (
            ("attack", "intersection", *RELEASES, "--original", "t.csv"),
            "missing option '--identifier'",
        ),
        (
            (*alone("intersection"), "--identifier", "who", "--bound", "1/2"),
            "no such option: --bound",
        ),
        (
            (*alone("intersection"), "--identifier", "who", "--value", "a"),
            "no such option: --value",
        ),
        (
            (*alone("intersection-by-person"), "--identifier", "who"),
            "has no person-to-group mapping, without which the worst case is unknown; name its ledger",
        ),
        ((*POSTERIOR, "--value", "a"), "no such option: --value"),
        ((*POSTERIOR, "--bound", "2"), "the bound must be at least 0 and at most 1"),
        ((*POSTERIOR, "--original", "t.csv"), "2 original table(s) are given for 1 release(s)"),
        (
            ("attack", "posterior", "out/ward-1"),
            "missing option '--original'; phalanx attack posterior --help says how.",
        ),
        (
            (*alone("posterior-learning"), "out/ward-2"),
            "posterior-learning looks at one release at a time, and 2 are given; name one of them",
        ),
        ((*POSTERIOR, "--ledger", "ward.db"), "needs its identifier column"),
        ((*MEMBERSHIP, "--bound", "1/2"), "no such option: --bound"),
        (
            MEMBERSHIP,
            "this is about sliced releases, and this one is generalized",
        ),
        ((*MEMBERSHIP, "out/ward-2"), "membership looks at one release at a time"),
        ((*MEMBERSHIP, "--p-match", "1/2"), "no such option: --p-match"),
        ((*MEMBERSHIP, "--sample", "5"), "no such option: --sample"),
        ((*LINKAGE, "--p-match", "0"), "p_match must be above 0 and at most 1"),
        ((*LINKAGE, "--sample", "0"), "sample must be a whole number of at least 1"),
        ((*LINKAGE, "--bound", "1/2"), "no such option: --bound"),
        ((*LINKAGE, "out/ward-2"), "linkage looks at one release at a time"),
        ((*EXTREMES, "out/ward-2"), "extremes looks at one release at a time"),
        (
            alone("informed"),
            "this is about perturbed releases, and this one is generalized",
        ),
        (
            alone("omniscient"),
            "this is about perturbed releases, and this one is generalized",
        ),
        (("attack", "omniscient", "out/ward-1"), "missing option '--original'"),
        (
            (*alone("singling-out"), "--expected", "0"),
            "the expected number of rows must be above 0",
        ),
        ((*alone("singling-out"), "out/ward-2"), "singling-out looks at one release at a time"),
        ((*alone("downcoding"), "out/ward-2"), "downcoding looks at one release at a time"),
        ((*alone("composition"), "--identifier", "who"), "missing option '--beside'"),
        (
            (*alone("composition"), *BESIDE, "--beside", "out/ward-1"),
            "1 original table(s) are given for 2 release(s)",
        ),
        (
            (*alone("learning"), "out/ward-2", "--identifier", "who"),
            "1 original table(s) are given for 2 release(s)",
        ),
        (("attack", "histroy", *RELEASES), "did you mean 'history'?"),
        (("attack", *RELEASES), "no such command 'out/ward-1'; phalanx attack --help says how."),
    ],
    ids=str,
)
def test_wrong_questions(twice, words, sentence) -> None:
    """One sentence each."""
    said = twice.call(*words)
    assert (said.code, said.out) == (2, "")
    assert sentence in said.err
    assert said.err.count("\n") == 1


METHODS = {
    "generalized": 'name = "mondrian"\nk = 4\nl = 2\ncuts = "strict"\ncut_at = "median"',
    "sliced": 'name = "slicing"\ncolumns = 2\nsensitive_column_size = 1\nl = 2',
}


@pytest.mark.parametrize("form", METHODS)
def test_the_posterior_of_one_release(ward, form) -> None:
    """Its keys are those of the page; it needs no identifier, and the law keeps the promise of 1/l,
    which learning may pass.
    """
    ward.plan(method=METHODS[form])
    assert ward.publish("--quiet").code == 0
    by_law, by_learning = (
        json.loads(ward.call(*alone(name), "--bound", "1/2", "--json").out)
        for name in ("posterior", "posterior-learning")
    )
    assert (
        list(by_law)
        == list(by_learning)
        == keys("## `--json`\n") + keys("## `--json` of the posterior adversaries\n")
    )
    assert (by_law["adversary"], by_law["persons"], by_law["bound"], by_law["above"]) == (
        "posterior",
        40,
        "1/2",
        0,
    )
    assert by_law["largest"] <= 0.5
    assert (by_learning["adversary"], by_learning["candidates"]) == (
        "posterior-learning",
        by_law["candidates"],
    )


def test_the_posterior_in_words(ward) -> None:
    """How often it is right with its interval, who is above the bound, and what it knows; with the
    ledger it says the same.
    """
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    said = ward.call(*POSTERIOR)
    assert said.code == 0
    for words in (
        "posterior knows each person's quasi-identifier values",
        "95 % interval",
        "a value above 1/2",
        "no person",
        "values possible",
    ):
        assert words in said.out
    assert ward.call(*POSTERIOR, "--ledger", "ward.db", "--identifier", "who").out == said.out


def test_the_posterior_of_another_table(ward) -> None:
    """A table that the release was not made of is refused in one sentence, by any adversary."""
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    (ward.path / "other.csv").write_text(
        "who,age,zip,ill\nq,90,99999,a\nr,91,99998,b\n", encoding="utf-8"
    )
    for adversary in ("posterior", "linkage", "all"):
        said = ward.call("attack", adversary, "out/ward-1", "--original", "other.csv")
        assert (said.code, said.out) == (2, "")
        assert "this is not the table that release 1 was made of" in said.err


def test_who_is_in_a_sliced_release(ward) -> None:
    """Its keys are those of the page; in words, both areas, fake tuples, and the bins of matching
    buckets that the paper has.
    """
    ward.plan(method=METHODS["sliced"])
    assert ward.publish("--quiet").code == 0
    found = json.loads(ward.call(*MEMBERSHIP, "--json").out)
    assert list(found) == keys("## `--json`\n") + keys("## `--json` of the membership adversary\n")
    assert found["persons"] == sum(found["candidates"].values()) > 0
    assert found["fakes"] == sum(found["fake_candidates"].values())
    said = ward.call(*MEMBERSHIP)
    assert said.code == 0
    for words in (
        "membership knows",
        "the number of matching buckets",
        "the matching degree",
        "fake tuples",
        "more than 20",
    ):
        assert words in said.out


KEYS = {
    "linkage": "## `--json` of the linkage adversary\n",
    "informed": "",
    "omniscient": "## `--json` of the omniscient adversary\n",
}
COVER = 'name = "mutual-cover"\ndelta = "1/4"\nkeep_tables = '


@pytest.mark.parametrize("adversary", KEYS)
def test_which_row_is_whose(ward, adversary) -> None:
    """Of a perturbed release, with the ledger: its keys are those of the page; in words how often
    it picks the own record, and by picking any.
    """
    ward.plan(method=COVER + "true")
    assert ward.publish("--quiet").code == 0
    words = (*alone(adversary), *WITH_LEDGER)
    found = json.loads(ward.call(*words, "--json").out)
    more = keys(KEYS[adversary]) if KEYS[adversary] else []
    assert (
        list(found)
        == keys("## `--json`\n")
        + keys("## `--json` of the linkage, informed and omniscient adversaries\n")
        + more
    )
    assert (found["adversary"], found["persons"], found["sample"], found["identity_baseline"]) == (
        adversary,
        40,
        None,
        0.025,
    )
    assert sum(found["candidates"].values()) == 40
    said = ward.call(*words)
    assert said.code == 0
    for part in (
        f"{adversary} knows each person",
        "the person's own record",
        "a record with the person's value",
        "by picking any",
        "2.5%",
        "records left",
    ):
        assert part in said.out
    assert ("if it uses each value with" in said.out) == (adversary == "linkage")
    assert ("the most probable one" in said.out) == (adversary == "omniscient")
    assert json.loads(ward.call(*words, "--sample", "4", "--json").out)["sample"] in range(4, 40)


def test_who_knows_more_finds_more(ward) -> None:
    """The three adversaries of the same release in the order of what they know; a p_match finds
    what the table of all of them says.
    """
    ward.plan(method=COVER + "true")
    assert ward.publish("--quiet").code == 0
    identity = {
        name: json.loads(ward.call(*alone(name), *WITH_LEDGER, "--json").out)["identity"]
        for name in KEYS
    }
    assert identity["linkage"] == 0 < identity["informed"]
    assert identity["omniscient"] > 0.1
    half = json.loads(ward.call(*LINKAGE, *WITH_LEDGER, "--p-match", "0.5", "--json").out)
    assert half["p_match"] == "1/2"
    assert f"{half['identity']:.1%}" in ward.call(*LINKAGE, *WITH_LEDGER).out


def test_all_adversaries_of_rows_without_groups(ward) -> None:
    """With the ledger at hand, those who ask for groups are not played on a release that has none,
    and are named with the reason.
    """
    ward.plan(method=COVER + "true")
    assert ward.publish("--quiet").code == 0
    said = ward.call("attack", "all", *LINKAGE[2:], *WITH_LEDGER, "--json")
    assert said.code == 0
    not_played = [
        each for question in json.loads(said.out)["questions"] for each in question["not_played"]
    ]
    assert {
        "adversary": "history",
        "why": "a perturbed release has no groups; ask about it what fits its form",
    } in not_played


@pytest.mark.parametrize("adversary", KEYS)
def test_who_is_in_which_row_must_be_known(ward, adversary) -> None:
    """Without the ledger nobody knows whose row is whose; and omniscient needs the tables, which
    the ledger keeps only if it is asked to.
    """
    ward.plan(method=COVER + "false")
    assert ward.publish("--quiet").code == 0
    said = ward.call(*alone(adversary))
    assert (said.code, said.out) == (2, "")
    assert "name the ledger, and the identifier column" in said.err
    said = ward.call(*alone(adversary), *WITH_LEDGER)
    assert said.code == (2 if adversary == "omniscient" else 0)
    assert ("publish with keep_tables = true" in said.err) == (adversary == "omniscient")


def test_linkage_of_groups_needs_no_ledger(ward) -> None:
    """A generalized release is attacked with the original table alone."""
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    found = json.loads(ward.call(*LINKAGE, "--json").out)
    assert (found["persons"], found["exposed"]) == (40, 0)
    assert 0 < found["identity"] <= 1 / 4


def test_who_must_be_in_a_release(ward) -> None:
    """Its keys are those of the page; in words, who is certainly there, and the exact extremes that
    one person alone has.
    """
    ward.table(
        "who,age,zip,ill\n"
        + "".join(f"p{i},{20 + i % 7},{10000 + i * 37 % 9},{'abcd'[i % 4]}\n" for i in range(39))
        + "rich,99,10004,a\n"
    )
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    found = json.loads(ward.call(*EXTREMES, "--json").out)
    section = keys("## `--json` of the extremes adversary\n")
    assert list(found) == keys("## `--json`\n") + section
    (oldest,) = found["extremes"]
    assert (oldest["attribute"], oldest["end"], oldest["value"]) == ("age", "largest", "99")
    assert list(oldest) == ["attribute", "end", "value", "group", "rows", "sensitive", "share"]
    assert (found["persons"], found["alone"], found["success"]) == (40, 1, None)
    assert 1 <= found["exposed"] == found["candidates"]["1"]

    said = ward.call(*EXTREMES)
    assert said.code == 0
    for words in (
        "extremes knows each person's",
        "certainly in the table",
        "one person's alone",
        "99",
        "no end can be theirs",
    ):
        assert words in said.out


def test_who_must_be_in_a_release_of_twins(ward) -> None:
    """Where everybody has somebody with the same values, nobody must be there, and no extreme is
    shown.
    """
    ward.table(
        "who,age,zip,ill\n"
        + "".join(
            f"p{i},{20 + i // 2 % 7},{10000 + i // 2 % 9},{'abcd'[i % 4]}\n" for i in range(126)
        )
    )
    ward.plan(method=METHODS["generalized"])
    assert ward.publish("--quiet").code == 0
    said = ward.call(*EXTREMES)
    assert said.code == 0
    assert "one person's alone" not in said.out
    assert json.loads(ward.call(*EXTREMES, "--json").out)["exposed"] == 0


OF_TWO = (*RELEASES, "--original", "t.csv", "--original", "t.csv", "--identifier", "who")
MORE = {
    "singling-out": (
        (*alone("singling-out"), "--expected", "1"),
        ("singling-out knows how frequent", "hold for one row", "of the same weights"),
    ),
    "downcoding": (
        (*alone("downcoding"), *WITH_LEDGER),
        ("downcoding knows how frequent", "narrowed rightly", "right by chance", "narrowed on"),
    ),
    "composition": (
        (*alone("composition"), *BESIDE),
        (
            "composition knows each person's",
            "both publishers",
            "the second alone",
            "40 persons in both",
        ),
    ),
    "learning": (
        ("attack", "learning", *OF_TWO),
        (
            "learning knows each person's",
            "learns from all releases",
            "learns nothing",
            "values possible",
        ),
    ),
}


@pytest.mark.parametrize("adversary", MORE)
def test_more_adversaries(twice, adversary) -> None:
    """Their keys are those of the page; in words, what they did, and what it is to be compared
    with.
    """
    words, said_words = MORE[adversary]
    found = json.loads(twice.call(*words, "--json").out)
    assert list(found) == keys("## `--json`\n") + keys(
        f"## `--json` of the {adversary} adversary\n"
    )
    assert (found["adversary"], found["persons"]) == (adversary, 40)
    said = twice.call(*words)
    assert said.code == 0
    for part in said_words:
        assert part in said.out


def test_the_regulators_questions(twice) -> None:
    """All adversaries that can be played, under three questions; the keys are those of the page,
    and who could not be played is named with the reason.
    """
    said = twice.call("attack", "all", *OF_TWO, "--ledger", "ward.db", "--json")
    found = json.loads(said.out)
    of_all = keys("## `--json` of all\n")
    assert [*found, *found["questions"][0]] == of_all
    played = {
        question["question"]: [a["adversary"] for a in question["adversaries"]]
        for question in found["questions"]
    }
    assert played["singling out"] == ["singling-out", "extremes"]
    assert played["linkability"] == ["linkage", "intersection", "intersection-by-person"]
    assert set(played["inference"]) == {
        "posterior",
        "posterior-learning",
        "downcoding",
        "minimality",
        "learning",
        "history",
    }
    assert all(
        a["sentence"] and a["knows"]
        for question in found["questions"]
        for a in question["adversaries"]
    )
    words = twice.call("attack", "all", *OF_TWO, "--ledger", "ward.db")
    assert words.code == 0
    for part in (
        "Singling out. Can",
        "Linkability. Can",
        "Inference. Can",
        "played on release 2",
        "Not played",
        "no other publisher",
        "NOT ASKED",
    ):
        assert (part in words.out) == (part != "NOT ASKED")


def test_a_question_that_nobody_asked(ward) -> None:
    """Of a sliced release nobody plays linkability: it is not asked, which is said, and not
    good.
    """
    ward.plan(method=METHODS["sliced"])
    assert ward.publish("--quiet").code == 0
    _, linkability, inference = json.loads(ward.call(*alone("all"), "--json").out)["questions"]
    assert (linkability["asked"], linkability["adversaries"], inference["asked"]) == (
        False,
        [],
        True,
    )
    assert {"linkage", "intersection", "composition"} <= {
        those["adversary"] for those in linkability["not_played"]
    }
    said = ward.call(*alone("all")).out
    assert said.count("NOT ASKED: no adversary was played, so that nothing is known.") == 1


REPLAYED = {
    "minimality": ('name = "mondrian"\nk = 4\nl = 2\ncuts = "strict"', "replays the method"),
    "growth": ('name = "global-guarantee"\nl = 2\nprotect = ["a"]', "one member can have grown it"),
    "counterfeits": ('name = "m-invariance"\nm = 2', "persons with one value left"),
}


@pytest.mark.parametrize("adversary", REPLAYED)
def test_who_knows_the_method(ward, adversary) -> None:
    """Each replays its own method: its keys are those of the page, and in words what it names, and
    how often rightly.
    """
    method, part = REPLAYED[adversary]
    ward.plan(method=method)
    assert ward.publish("--quiet").code == 0
    words = (*alone(adversary), *WITH_LEDGER)
    found = json.loads(ward.call(*words, "--json").out)
    assert list(found) == keys("## `--json`\n") + keys(
        f"## `--json` of the {adversary} adversary\n"
    )
    said = ward.call(*words)
    assert said.code == 0
    assert part in said.out
