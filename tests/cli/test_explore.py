# SPDX-License-Identifier: Apache-2.0
"""``phalanx explore``: says on what it ran and why, shows the points, and keeps its keys."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

from cli.test_keys import help_of, named
from phalanx.cli.explore import check_some

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "explore.md"
LAST = "who,age,zip,ill\n" + "".join(
    f"q{i},{20 + i % 9},{10000 + i * 41 % 9},{'abcd'[i % 4]}\n" for i in range(60)
)
TRY = ("--try", "anatomy l=2,9")


def test_it_says_on_what_it_ran_and_shows_every_point(ward) -> None:
    """The sentence first; then figures, what is promised, what cannot be, and the picture."""
    (ward.path / "last.csv").write_text(LAST)
    said = ward.call("explore", "plan.toml", "--surrogate", "last.csv", *TRY)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("This ran on last.csv, and not on the table, because to choose")
    assert "a plain sample of the same size" in said.out and "without the release" in said.out
    assert re.search(r"^ *2 +anatomy l=2 ", said.out, re.MULTILINE)
    assert "more than 1/2 of the persons have the same sensitive value" in said.out
    assert "3 anatomy l=9 cannot be published: the most frequent value" in said.out
    assert "Nothing was published." in said.out and not (ward.path / "out").exists()
    assert (ward.path / "ward.explore" / "picture.svg").read_text().startswith("<svg")
    done = ward.call(
        "explore", "plan.toml", "--surrogate", "last.csv", *TRY, "--adopt", "2", "new.toml"
    )
    assert "adopted:   new.toml" in done.out and ward.call("publish", "new.toml").code == 0
    stated = json.loads(
        ward.call("explore", "plan.toml", "--surrogate", "last.csv", *TRY, "--json").out
    )
    table = HOW_TO.read_text(encoding="utf-8").split("## `--json`")[1]
    cells = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    assert list(stated) == [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]
    of_help, of_each = named(help_of("explore"))
    assert of_help == list(stated) and of_each["points"] == list(stated["points"][0])
    assert stated["resumed"] == 3
    of_points = re.search(r"each with (.*?), `risks` \(each (.*?)\), (.*?) \|", table)
    inner = [re.findall(r"`([^`]+)`", part) for part in of_points.groups()]
    assert [*inner[0], "risks", *inner[2]] == list(stated["points"][0])
    assert inner[1] == list(stated["points"][0]["risks"][0])


def test_a_table_on_which_nothing_can_be_tried_is_refused(ward) -> None:
    """Where every point is refused for one reason it is a fault of the table, and no success; where
    reasons differ, or one point could be tried, they stand beside their points.
    """
    (ward.path / "last.csv").write_text(LAST.replace("zip", "plz", 1))
    said = ward.call("explore", "plan.toml", "--surrogate", "last.csv", "--workers", "1", "--json")
    assert (said.code, said.err) == (2, "")
    assert json.loads(said.out)["error"].startswith(
        "nothing can be tried on last.csv: the quasi column 'zip' is not in the table"
    )
    for reasons in (("one", "other"), ("one", None), (None,)):
        points = [SimpleNamespace(refused=reason) for reason in reasons]
        check_some(SimpleNamespace(points=points, ran_on="t"))  # type: ignore[arg-type]


def test_nothing_is_run_on_the_table_by_default(ward) -> None:
    """In one sentence, with the ways out; no folder is left."""
    said = ward.call("explore", "plan.toml")
    assert (said.code, said.out) == (2, "")
    assert "has no release yet that could serve; name another table" in said.err
    assert not (ward.path / "ward.explore").exists()


def test_wrong_words_are_refused(ward) -> None:
    """One sentence each, before anything is run."""
    for words, says in (
        (["--try", "anatomi l=2", "--surrogate", "t.csv"], "did you mean 'anatomy'"),
        (["--surrogate", "nowhere.csv"], "there is no file"),
        (["--sample", "half"], "--sample"),
        (["--sample", "1/2", "--on-the-table"], "exclude each other"),
        (["--surrogate", "t.csv", "--workers", "0"], "workers"),
        (["--surrogate", "t.csv", "--picture", "."], "'.' is no name of such a file"),
        (["--on-the-table", "--adopt", "1", "plan.toml"], "plan.toml exists; name a new file"),
        (["--on-the-table", "--adopt", "1", "out/new.toml"], "is in another folder"),
        (["--surrogate", "t.csv", "--picture", "no/p.svg"], "no such file or directory"),
    ):
        said = ward.call("explore", "plan.toml", *words)
        assert (said.code, said.out) == (2, "") and says in said.err, words
        assert not (ward.path / "ward.explore").exists()


def test_points_that_no_adversary_reads_are_shown_without_a_picture(ward) -> None:
    """Of safe sampling there are rows alone; nothing that was found is lost."""
    ward.plan(
        method='name = "safe-sampling"\nepsilon = 2\ndelta = 0.01\nallow_empty = true\n'
        "[method.scheme]\nage = { low = 0, high = 100, width = 50 }\n"
        "zip = { low = 0, high = 100000, width = 50000 }\n"
    )
    names, *rows = LAST.splitlines(keepends=True)
    many = (row.replace("q", f"q{i}-") for i in range(20) for row in rows)
    (ward.path / "last.csv").write_text(names + "".join(many))
    words = ("explore", "plan.toml", "--surrogate", "last.csv")
    words = (*words, "--try", "safe-sampling epsilon=1,2")
    said = ward.call(*words)
    assert said.code == 0 and "picture:" not in said.out and "Nothing was published" in said.out
    found = json.loads(ward.call(*words, "--json").out)
    assert found["picture"] is None and len(found["points"]) == 2
