# SPDX-License-Identifier: Apache-2.0
"""phalanx budget answers without data: the reference values, every way to ask, what releases cost,
tables, charts, and one sentence for wrong questions.
"""

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from phalanx.accounting import solve
from phalanx.exact import at_least, at_most

DOCS = Path(__file__).resolve().parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def never(word: str) -> None:
    """Infinity and NaN are no JSON."""
    raise AssertionError(word)


@pytest.fixture
def ask(call):
    """The JSON that a question gets."""

    def asked(*words: object) -> dict[str, Any]:
        said = call("budget", *words, "--json")
        assert (said.code, said.err) == (0, "")
        found: dict[str, Any] = json.loads(said.out, parse_constant=never)
        return found

    return asked


@pytest.mark.parametrize(
    ("epsilon", "delta", "beta", "k"),
    [
        ("0.5", "1e-3", None, 27), ("0.5", "1e-6", None, 63), ("1", "1e-3", None, 34), ("1", "1e-6", None, 74), ("2", "1e-6", None, 131),
        ("2", "1e-6", "0.75", 66), ("2", "1e-6", "0.5", 24), ("2", "1e-6", "1/4", 12), ("2", "1e-6", "0.1", 7),
    ],
)  # fmt: skip
def test_the_k_of_the_reference_values(
    ask, epsilon: str, delta: str, beta: str | None, k: int
) -> None:
    """By the theorem, at the largest beta and at given ones; the tight k is never larger, and both
    deltas are within what was asked for.
    """
    found = ask("--epsilon", epsilon, "--delta", delta, *(["--beta", beta] if beta else []))
    assert (found["k"], found["accounting"]) == (k, "theorem")
    assert found["k_theorem"] == k >= found["k_tight"]
    assert found["delta_tight"] <= found["delta_theorem"] <= found["delta"] == float(delta)
    assert (
        beta is not None or found["beta"] <= 1 - math.exp(-float(epsilon)) < found["beta"] + 1e-12
    )


def test_what_is_left_out_is_solved_for(ask) -> None:
    """Any of delta, k, beta and epsilon from the others, as `phalanx.accounting` solves it, by
    either accounting.
    """
    for way in ("theorem", "tight"):
        for given in (
            {"epsilon": "1", "k": 40},
            {"epsilon": "1", "k": 40, "beta": "0.3"},
            {"epsilon": "1", "delta": "1e-5", "k": 40},
            {"delta": "1e-5", "k": 40, "beta": "0.3"},
        ):
            found = ask(
                *(word for name, value in given.items() for word in (f"--{name}", value)),
                "--accounting",
                way,
            )
            expected = solve(**given, accounting=way).to_json()  # type: ignore[arg-type]
            assert {key: found[key] for key in expected} == expected
            assert found["k_theorem"] is found["k_tight"] is None


def test_each_k_stands_beside_its_beta(ask) -> None:
    """Where both are chosen for a cell, by either accounting: the pair keeps what was asked."""
    found = ask("--epsilon", 1, "--delta", "1e-6", "--cell", 100, "--accounting", "tight")
    assert (found["k"], found["beta"]) == (found["k_tight"], found["beta_tight"])
    k, beta = found["k_theorem"], found["beta_theorem"]
    assert solve(epsilon=1, k=k, beta=beta, accounting="theorem").to_json()["delta"] <= 1e-6


def test_tight_accounting_takes_a_smaller_k(ask) -> None:
    """With --accounting tight the answer is the other column's; both stand in either."""
    theorem, tight = (
        ask("--epsilon", 1, "--delta", "1e-6", "--accounting", way) for way in ("theorem", "tight")
    )
    assert (
        (theorem["k"], tight["k"])
        == (theorem["k_theorem"], theorem["k_tight"])
        == (tight["k_theorem"], tight["k_tight"])
    )
    assert tight["k"] < theorem["k"]


def test_a_scheme_is_paid_for_out_of_epsilon(ask) -> None:
    """The sample lives on what is left: the k of a smaller epsilon, at its beta."""
    whole, rest = (
        ask("--epsilon", "1", "--epsilon-scheme", "0.5", "--delta", "1e-6"),
        ask("--epsilon", "0.5", "--delta", "1e-6"),
    )
    assert (whole["k"], whole["beta"]) == (rest["k"], rest["beta"])
    assert (whole["epsilon"], whole["epsilon_scheme"]) == (1.0, 0.5)


def test_releases_add_up(ask) -> None:
    """By addition R times as much; exactly, never more than that."""
    found = ask("--epsilon", "0.5", "--delta", "1e-6", "--releases", 8, "--accounting", "tight")[
        "together"
    ]
    assert found["releases"] == 8
    assert (found["epsilon"], found["delta"]) == pytest.approx((4, 8e-6))
    assert found["tight_epsilon"] < 4 and found["tight_delta"] < 8e-6


@pytest.mark.parametrize("way", ["theorem", "tight"])
def test_releases_never_cost_more_than_they_add_up_to(ask, way: str) -> None:
    """Also where delta was solved for, and is as small as it can be: composing is no worse than
    adding, and is a number.
    """
    found = ask(
        "--epsilon", "1", "--k", "50", "--beta", "0.3", "--releases", 5, "--accounting", way
    )["together"]
    assert found["tight_epsilon"] <= found["epsilon"] == 5
    assert found["tight_delta"] <= found["delta"]


def test_a_cell_comes_through(ask) -> None:
    """The beta for a cell of so many rows publishes more of it than the largest beta does, whose k
    the cell hardly reaches.
    """
    found = ask("--epsilon", 1, "--delta", "1e-6", "--cell", 60)
    largest = ask("--epsilon", 1, "--delta", "1e-6")

    def expected(beta: float, k: int) -> float:
        return sum(j * math.comb(60, j) * beta**j * (1 - beta) ** (60 - j) for j in range(k, 61))

    assert expected(found["beta"], found["k"]) > expected(largest["beta"], largest["k"])
    assert found["delta_theorem"] <= 1e-6
    assert found["published"] == pytest.approx(expected(found["beta"], found["k"]) / 60)


def test_amplification_goes_both_ways(ask) -> None:
    """A method on a sample promises more; what it may promise alone, put on the sample, comes
    back.
    """
    found = ask("--epsilon", "1", "--delta", "1e-5", "--amplify", "0.1")
    assert found["sampled"] == pytest.approx(
        {"epsilon": math.log(1 + 0.1 * (math.e - 1)), "delta": 1e-6}
    )
    back = ask(
        "--epsilon",
        found["alone"]["epsilon"],
        "--delta",
        found["alone"]["delta"],
        "--amplify",
        "0.1",
    )
    assert back["sampled"] == pytest.approx({"epsilon": 1, "delta": 1e-5})
    assert ask("--epsilon", "1", "--amplify", "0.1")["delta"] == 0


def test_a_delta_of_beta_or_more_is_no_question_on_a_sample(ask, call) -> None:
    """A method with delta = 0.2 keeps 0.02 on a tenth; what may have 0.2 on a tenth is any method,
    of which nothing is said.
    """
    found = ask("--epsilon", "1", "--delta", "0.2", "--amplify", "0.1")
    assert (found["sampled"]["delta"], found["alone"]) == (0.02, None)
    done = call("budget", "--epsilon", "1", "--delta", "0.2", "--amplify", "0.1")
    assert "On a sample any method keeps a delta of beta or more." in done.out


def test_the_table_has_28_promises(ask, call) -> None:
    """Every pair once, with its largest beta and the k by both accountings; as text, a line for
    each epsilon.
    """
    cells = ask("--table")["table"]
    assert [(c["epsilon"], c["delta"]) for c in cells] == [
        (e, d) for e in (0.01, 0.1, 0.5, 1, 1.5, 2, 3) for d in (1e-3, 1e-5, 1e-6, 1e-8)
    ]
    by_pair = {(c["epsilon"], c["delta"]): c for c in cells}
    assert [
        by_pair[pair]["k_theorem"]
        for pair in ((0.5, 1e-3), (0.5, 1e-6), (1, 1e-3), (1, 1e-6), (2, 1e-6))
    ] == [27, 63, 34, 74, 131]
    assert all(c["k_tight"] <= c["k_theorem"] for c in cells)
    of_rest = ask("--table", "--epsilon-scheme", "0.1")["table"]
    assert [c["epsilon"] for c in of_rest[::4]] == [0.5, 1, 1.5, 2, 3]
    written = call("budget", "--table").out
    assert [line.split()[:1] for line in written.splitlines()].count(
        ["0.01"]
    ) == 2 and " 131 " in written
    half = ask("--table", "--beta", "0.5")["table"]
    assert all(c["beta"] == 0.5 for c in half)
    assert [c["k_theorem"] is None for c in half[:8]] == [True] * 8 and half[-1][
        "k_theorem"
    ] is not None


def test_the_chart_shows_k_by_beta(ask, tmp_path: Path) -> None:
    """A well-formed SVG file with a line for each delta and accounting; beside the answer where
    there is one, else alone.
    """
    alone = ask("--epsilon", 1, "--plot", tmp_path / "all.svg")
    assert alone["plot"] == str(tmp_path / "all.svg") and alone["k"] is None
    named = [
        path.findtext(f"{SVG}title")
        for path in ET.parse(tmp_path / "all.svg")  # noqa: S314 - our own
        .getroot()
        .iter(f"{SVG}path")
    ]
    lines = [
        f"delta {delta}, {way}"
        for delta in ("1e-3", "1e-5", "1e-6", "1e-8")
        for way in ("tight", "theorem")
    ]
    assert [name for name in named if name] == lines
    one = ask("--epsilon", "0.01", "--delta", "1e-3", "--plot", tmp_path / "one.svg")
    assert one["k"] == 26
    said = ET.parse(tmp_path / "one.svg").getroot().findtext(f"{SVG}desc")  # noqa: S314
    assert (
        said is not None
        and "delta 1e-3, theorem" in said
        and "26 at 0.00995" in said
        and "1e-5" not in said
    )


def test_the_text_is_short_and_says_both(call) -> None:
    """A line for each accounting, with what is not shown as less than it is; and what the other
    accounting says nothing of.
    """
    said = call("budget", "--epsilon", "1", "--delta", "1e-6", "--releases", "3")
    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    assert ["theorem", "1", "0.6321", "74", "8.995e-7", "118", "rows"] in lines
    assert next(line for line in lines if line[:1] == ["tight"])[3] == "58"
    assert (
        "3 releases, each of a fresh sample: by addition epsilon 3 at delta 3e-6; composed:"
        in said.out
    )
    assert ["theorem", "74", "3", "3e-6"] in lines and len(lines) < 12
    solved = call("budget", "--epsilon", "1", "--k", "50", "--beta", "0.3", "--releases", "5").out
    assert (
        "epsilon at delta 3.278e-13" in solved
    )  # the same for both, though the tight delta of one release is smaller
    cell = call("budget", "--epsilon", "1", "--delta", "1e-6", "--cell", "10").out
    assert (
        "published of a cell of 10" in cell
        and "<0.1%" in cell
        and "it needs to be told the beta" in cell
    )
    beyond = call(
        "budget", "--epsilon", "1", "--k", "50", "--beta", "0.8", "--accounting", "tight"
    ).out
    assert "theorem: beta = 0.8 is more than the theorem allows" in beyond


EXAMPLES = {
    f"{page.stem}: {words}": (words.split(), printed.rstrip("\n"))
    for page in (DOCS / "how-to" / "budget.md", DOCS / "explanation" / "safe-sampling.md")
    for words, printed in re.findall(
        r"^```text\n\$ phalanx budget (.*)\n((?:.*\n)*?)```",
        page.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
}


@pytest.mark.parametrize(("words", "printed"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_documents_show_what_it_prints(call, words: list[str], printed: str) -> None:
    """What stands below a question in the documents is what it prints."""
    said = "\n".join(line.rstrip() for line in call("budget", *words).out.rstrip("\n").split("\n"))
    assert said == printed


def test_documents_show_something() -> None:
    """There are examples, so that the test above does not pass for want of any."""
    assert len(EXAMPLES) == 8


@pytest.mark.parametrize(
    "number",
    [
        1.0,
        2.71828,
        1e-06,
        0.30000000000000004,
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(7, 10**9),
        Fraction(99999),
        0.0,
    ],
)
def test_figures_are_rounded_to_the_side_they_are_said_to(number: float | Fraction) -> None:
    """A figure that holds at most is never printed as less, one that holds at least never as more;
    a float is its shortest decimal text.
    """
    exact = Fraction(repr(number)) if isinstance(number, float) else number
    assert (
        Fraction(at_least(number))
        <= exact
        <= Fraction(at_most(number))
        <= exact * Fraction(1001, 1000)
    )
    assert len(at_most(number)) <= 9


WRONG = {
    "nothing": ([], "does not determine the promise"),
    "one thing": (["--epsilon", "1"], "give delta or k as well"),
    "no number": (["--epsilon", "much", "--delta", "1e-6"], "epsilon must be a number"),
    "epsilon 0": (["--epsilon", "0", "--delta", "1e-6"], "epsilon must be above 0"),
    "delta 1": (["--epsilon", "1", "--delta", "1"], "delta must be above 0 and below 1"),
    "beta 1": (
        ["--epsilon", "1", "--delta", "1e-6", "--beta", "1"],
        "beta must be above 0 and below 1",
    ),
    "beta too large": (
        ["--epsilon", "1", "--delta", "1e-6", "--beta", "0.7"],
        "take a beta of at most 0.632120558828557",
    ),
    "k 0": (["--epsilon", "1", "--k", "0"], "k must be a whole number of at least 1"),
    "k that is none": (["--epsilon", "1", "--k", "2.5"], "invalid value for '--k'"),
    "k too small": (
        ["--epsilon", "1", "--delta", "1e-6", "--beta", "0.6", "--k", "5"],
        "take k = ",
    ),
    "epsilon_scheme": (
        ["--epsilon", "1", "--delta", "1e-6", "--epsilon-scheme", "1"],
        "above epsilon_scheme",
    ),
    "accounting": (
        ["--epsilon", "1", "--delta", "1e-6", "--accounting", "tigth"],
        "did you mean 'tight'?",
    ),
    "another accounting": (
        ["--epsilon", "1", "--delta", "1e-6", "--accounting", "renyi"],
        "use theorem or tight",
    ),
    "releases": (
        ["--epsilon", "1", "--delta", "1e-6", "--releases", "0"],
        "--releases must be a whole number of at least 1",
    ),
    "cell": (["--epsilon", "1", "--delta", "1e-6", "--cell", "0"], "at least 1"),
    "cell and k": (
        ["--epsilon", "1", "--delta", "1e-6", "--cell", "9", "--k", "3"],
        "leave --k out",
    ),
    "cell without delta": (["--epsilon", "1", "--k", "3", "--cell", "9"], "leave --k out"),
    "cell alone": (["--epsilon", "1", "--cell", "9"], "give both"),
    "amplify without epsilon": (["--amplify", "0.1"], "--amplify needs the epsilon"),
    "amplify and k": (["--amplify", "0.1", "--epsilon", "1", "--k", "3"], "leave --k out"),
    "amplify and a delta below 0": (
        ["--amplify", "0.1", "--epsilon", "1", "--delta=-0.1"],
        "delta must be at least 0 and below 1",
    ),
    "amplify and a delta of 1": (
        ["--amplify", "0.1", "--epsilon", "1", "--delta", "1"],
        "delta must be at least 0 and below 1",
    ),
    "amplify 2": (["--amplify", "2", "--epsilon", "1"], "beta must be above 0"),
    "table and delta": (["--table", "--delta", "1e-6"], "leave --delta out"),
    "table and plot": (["--table", "--plot", "x.svg"], "leave --plot out"),
    "table and accounting": (["--table", "--accounting", "tight"], "leave --accounting out"),
    "amplify and accounting": (
        ["--amplify", "0.1", "--epsilon", "1", "--accounting", "tight"],
        "leave --accounting out",
    ),
    "amplify and a scheme": (
        ["--amplify", "0.1", "--epsilon", "1", "--epsilon-scheme", "0.1"],
        "leave --epsilon-scheme out",
    ),
    "plot of a huge part": (
        ["--epsilon", "1", "--epsilon-scheme", "9" * 400, "--plot", "x.svg"],
        "epsilon_scheme must be at least 0 and at most 500",
    ),
    "plot without epsilon": (["--delta", "1e-6", "--k", "40", "--plot", "x.svg"], "give --epsilon"),
    "plot into nothing": (["--epsilon", "1", "--plot", "nowhere/x.svg"], "cannot be written"),
}


@pytest.mark.parametrize(("words", "sentence"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("as_json", [False, True])
def test_a_wrong_question_gets_one_sentence(
    call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    sentence: str,
    as_json: bool,
) -> None:
    """Exit code 2 and one sentence on standard error; with --json the same as an object on standard
    output; no file is left.
    """
    monkeypatch.chdir(tmp_path)
    said = call("budget", *words, *(["--json"] if as_json else []))
    assert said.code == 2 and not list(tmp_path.iterdir())
    if as_json:
        assert (said.err, list(json.loads(said.out))) == ("", ["error"])
        assert sentence in json.loads(said.out)["error"]
    else:
        assert said.out == "" and said.err.startswith("phalanx: ") and said.err.count("\n") == 1
        assert sentence in said.err


def test_a_promise_that_no_check_can_follow_is_told(call) -> None:
    """The question is answered, and that a plan with it is refused is said; of others nothing is."""
    said = call("budget", "--epsilon", "1e-5", "--delta", "1e-12")
    assert said.code == 0
    assert "No check of a release ends with the tight one" in said.out
    assert "No check" not in call("budget", "--epsilon", "1", "--delta", "1e-6").out
