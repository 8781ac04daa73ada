# SPDX-License-Identifier: Apache-2.0
"""What is cited of the five papers is there: a section, definition or figure with that number, and
a definition or lemma that says what the sentence is about.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ("src", "docs", "tests", "experiments")

SECTIONS = {
    "m-invariance": "1 1.1 1.2 2 3 3.1 3.2 3.3 4 4.1 4.2 4.3 4.4 5 5.1 5.2 6 7",
    "global-guarantee": "1 2 3 3.1 4 4.1 4.2 5 5.1 5.2 6 6.1 6.2 6.3 7 8 9 10",
    "slicing": "1 1.1 1.2 2 2.1 2.2 2.3 2.4 3 3.1 3.2 4 4.1 4.1.1 4.1.2 4.1.3 4.2 4.3 5 6 6.1 6.2"
    " 6.3 7 8",
    "mutual-cover": "1 1.1 1.2 2 2.1 2.2 3 3.1 3.2 4 5 5.1 5.2 5.3 5.4 6",
    "safe-sampling": "1 2 2.1 2.2 2.3 2.4 2.5 2.6 2.7 3 3.1 3.2 3.3 3.4 3.5 4 5",
}
FIGURES = {
    "m-invariance": (9, 5),
    "global-guarantee": (9, 1),
    "slicing": (7, 2),
    "mutual-cover": (10, 1),
    "safe-sampling": (6, 2),
}
"""The last figure, and the last table."""
SAYS = {
    "m-invariance": {
        "Definition 1": "group|partition",
        "Definition 2": "counterfeit|interval|generali",
        "Definition 3": "auxiliary|counterfeit",
        "Definition 4": "principle",
        "Definition 5": "union|lifespan",
        "Definition 6": "knowledge",
        "Definition 7": "breach",
        "Definition 8": "re-publication",
        "Definition 9": "union|surjection",
        "Definition 10": "surjection",
        "Definition 11": "instance|surjection",
        "Definition 12": "instance|surjection",
        "Definition 13": "surjection|worlds?",
        "Definition 14": "risk|share of worlds",
        "Definition 15": "candidate",
        "Definition 16": "signature",
        "Definition 17": "m-uni|m-invarian|SIGMOD",
        "Lemma 1": "vulnerable|candidate|intersect|adversary|possible|box",
        "Lemma 2": "intersection",
        "Lemma 3": "risk|1/m|vulnerable|same signature|lifespan",
        "Lemma 4": "release|series",
        "Lemma 5": "assigned|solution",
    },
    "global-guarantee": {
        "Principle 1": "localized",
        "Principle 2": "global",
        "Problem 1": "global",
        "Definition 1": "possible world",
        "Definition 2": "breach probability",
        "Definition 3": "group",
        "Definition 4": "group",
        "Definition 5": "min-max",
        "Lemma 1": "localized",
        "Lemma 2": "group",
        "Lemma 3": "worlds",
        "Lemma 4": r"closed form|how likely|probability|multiplied|exposure|1/l|n members|p\(o, s, k\)|worlds",
        "Lemma 5": "without the value|leaves|changes nothing",
        "Theorem 1": "ratio|least",
        "Theorem 2": "last|never|spends",
        "Theorem 3": "monoton",
        "Theorem 4": "largest group|constant|optimal",
        "Corollary 1": "localized",
        "Corollary 2": "least ratio",
        "Corollary 3": "fails",
        "Example 1": "3/4|Examples",
        "Example 2": "3/4|Examples",
        "Example 3": "3/4|Examples",
    },
    "slicing": {
        "Definition 1": "columns",
        "Definition 2": "buckets",
        "Definition 3": "slicing",
        "Definition 3.2": "l-diverse slicing",
        "Definition 4": "generali",
        "Definition 5": "match",
        "Definition 6": r"D\(t, B\)",
        "Fact 1": "sums? to 1",
    },
    "mutual-cover": {
        "Definition 1": "output tables?|probabilities",
        "Definition 2": "strategy",
        "Definition 3": "delta-probability|largest probability|no tolerance",
        "Definition 4.1": "distance",
        "Definition 4.2": "l1",
        "Property 1": "1/m",
        "Corollary 3.2": "1/delta|1/2-probability|delta-probability",
        "Example 1": r"\.3741|value",
        "Algorithm 1": "groups|Mondrian|attribute|paper's",
        "Algorithm 2": "changed|weights|redraws|paper's",
    },
    "safe-sampling": {
        "Definition 1": "differential",
        "Definition 2": "differential",
        "Definition 3": "under sampling",
        "Definition 3.6": "k-anonymity",
        "Definition 3.7": "strongly safe",
        "Definition 3.10": "safe",
        "Theorem 1": "amplif|sampl",
        "Theorem 2": "post-processing",
        "Theorem 2.4": "two",
        "Theorem 3.9": "d.k, beta|delta|theorem",
        "Theorem 3.11": "scheme|choos|adds? up|ours",
        "Proposition 1": "safe",
        "Algorithm 1": "cluster",
    },
}
"""By paper and number a word that a sentence about it has; what is not here is in no paper."""
_KIND = (
    "[Ss]ection|[Ff]igure|Definition|Lemma|Theorem|Corollary|Principle|Problem|Property"
    "|Proposition|Fact|Example|Algorithm|Table"
)
_NUMBER = r"[1-9]\d*(?:\.\d+)*"
AUTHORS = {
    "m-invariance": r"Tao,\s+SIGMOD",
    "global-guarantee": r"Wong,\s+Fu",
    "slicing": r"Zhang,\s+Molloy",
    "mutual-cover": r"Li,\s+Ma,\s+Xi",
    "safe-sampling": r"Li,\s+Qardaji",
}
CITED = re.compile(rf"\b({_KIND})s? ({_NUMBER})((?:(?:,| and| to|, and) {_NUMBER}\b)*)")


def cited(text: str) -> Iterator[tuple[str, str, str]]:
    """(kind, number, paragraph) of everything that a text cites by number."""
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[|-] )", text):
        for kind, first, more in CITED.findall(" ".join(paragraph.split())):
            for number in numbers(first, more):
                yield kind.capitalize(), number, paragraph


def numbers(first: str, more: str) -> list[str]:
    """All that "9 to 13 and 15" names."""
    found = [first]
    for word, number in re.findall(rf"(to|and|,) ({_NUMBER})", more):
        whole = word == "to" and "." not in found[-1] + number
        between = range(int(found[-1]) + 1, int(number)) if whole else ()
        found += [*map(str, between), number]
    return found


def wrong(paper: str, text: str) -> list[str]:
    """What a text cites of a paper that is not there, or says something else there."""
    found = []
    figures, tables = FIGURES[paper]
    for kind, number, paragraph in cited(text):
        if kind == "Section":
            right = number in SECTIONS[paper].split()
        elif kind in ("Figure", "Table"):
            right = "." in number or int(number) <= (figures if kind == "Figure" else tables)
        else:
            words = SAYS[paper].get(f"{kind} {number}")
            right = words is not None and re.search(words, paragraph, re.IGNORECASE) is not None
        if not right:
            found.append(f"{kind} {number}: {' '.join(paragraph.split())[:90]}")
    return found


def about(paper: str) -> list[Path]:
    """The files of a paper's rooms: those whose path has its name."""
    names = (paper, paper.replace("-", "_"))
    return sorted(
        path
        for folder in WRITTEN
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md")
        and any(name in part for part in path.relative_to(ROOT).parts for name in names)
    )


@pytest.mark.parametrize("paper", SECTIONS)
def test_what_is_cited_is_there(paper: str) -> None:
    """In the rooms of a method, on its pages, in its tests and in its experiments."""
    files = about(paper)
    assert len(files) > 10
    found = {str(p.relative_to(ROOT)): wrong(paper, p.read_text(encoding="utf-8")) for p in files}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("paper", SECTIONS)
def test_what_is_cited_elsewhere_is_there(paper: str) -> None:
    """In every other file, where a paragraph names the authors."""
    rooms, found = about(paper), {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path not in rooms and re.search(AUTHORS[paper], text):
            named = [p for p in text.split("\n\n") if re.search(AUTHORS[paper], p)]
            found[str(path.relative_to(ROOT))] = wrong(paper, "\n\n".join(named))
    assert found
    assert {path: lines for path, lines in found.items() if lines} == {}


def on_the_page_of_all_papers(paper: str) -> str:
    """A paper's section of docs/explanation/fidelity.md."""
    text = (ROOT / "docs" / "explanation" / "fidelity.md").read_text(encoding="utf-8")
    parts = {
        part.partition("\n")[0].lower().replace(" ", "-"): part for part in text.split("\n## ")
    }
    (own,) = [part for title, part in parts.items() if title.removeprefix("the-") == paper]
    return own


@pytest.mark.parametrize("paper", SECTIONS)
def test_what_the_page_of_all_papers_cites_is_there(paper: str) -> None:
    """What it says of a number is what the paper has under that number."""
    assert wrong(paper, on_the_page_of_all_papers(paper)) == []


@pytest.mark.parametrize("paper", SECTIONS)
def test_the_page_of_all_papers_leaves_nothing_out(paper: str) -> None:
    """Each definition, lemma, theorem and algorithm of each paper has its row."""
    found = {f"{kind} {number}" for kind, number, _ in cited(on_the_page_of_all_papers(paper))}
    assert set(SAYS[paper]) - found == set()


@pytest.mark.parametrize(
    ("paper", "text"),
    [
        ("m-invariance", "Every release is m-unique (Xiao & Tao, Definition 4)."),
        ("m-invariance", "m-invariance, Definition 7."),
        ("m-invariance", "the workload (Section 5.3)"),
        ("global-guarantee", "the constant ratio (Section 4.3)"),
        ("slicing", "Definition 7: p(t, s)"),
        ("slicing", "Figure 8"),
        ("safe-sampling", "sections 2.2 and 2.8"),
    ],
)
def test_a_wrong_citation_is_found(paper: str, text: str) -> None:
    """A number that the paper has not, or that is something else there."""
    assert wrong(paper, text)


def test_a_range_names_what_lies_between() -> None:
    """9 to 12 are four, whatever stands before and after."""
    text = "Lemmas 1 and 3, Definitions 9 to 12 and 14, sections 4.1 to 4.3"
    found = [f"{kind[0]}{number}" for kind, number, _ in cited(text)]
    assert found == ["L1", "L3", "D9", "D10", "D11", "D12", "D14", "S4.1", "S4.3"]


def test_right_citations_are_accepted() -> None:
    """And what is right is not complained of."""
    assert (
        wrong("m-invariance", "m-unique (Definition 17), sections 4.2 and 5.2, Figures 4 to 9")
        == []
    )
