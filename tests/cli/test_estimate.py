# SPDX-License-Identifier: Apache-2.0
"""`phalanx estimate`: an answer from a folder, as text and as JSON; what cannot be asked is one
sentence.
"""

import json
from contextlib import contextmanager


def test_estimate(ward) -> None:
    """The answer of a release's folder: bounds, estimate and interval, and why something is
    missing.
    """
    ward.plan(method='name = "mondrian"\nk = 4')
    ward.publish()
    said = ward.call("estimate", "out/ward-1", "count(*) where age between 20 and 23 and ill = 'a'")
    assert said.code == 0 and "certainly" in said.out and "interval (model)" in said.out
    found = json.loads(ward.call("estimate", "out/ward-1", "count(*) group by ill", "--json").out)
    assert list(found) == ["query", "by", "level", "model", "figures", "notes", "weight"]
    assert [f["low"] for f in found["figures"]] == [10, 10, 10, 10]


def test_other_releases_beside_it(ward) -> None:
    """Where values lie is learned from all that are named; the figures are of the first one."""
    ward.plan(method='name = "mondrian"\nk = 4')
    for ages in (range(20, 40), range(25, 45)):
        rows = (f"{w},{ages[w % 20]},1000{w % 3},{'abcd'[w % 4]}\n" for w in range(40))
        ward.table("who,age,zip,ill\n" + "".join(rows))
        assert ward.publish().code == 0
    query = ["count(*) where age = 27", "--json"]
    alone = json.loads(ward.call("estimate", "out/ward-1", *query).out)["figures"][0]
    beside = ward.call("estimate", "out/ward-1", *query, "--beside", "out/ward-2")
    beside = json.loads(beside.out)["figures"][0]
    assert (alone["low"], alone["high"]) == (beside["low"], beside["high"])
    assert alone["estimate"] != beside["estimate"]


def test_a_release_with_weights_answers_by_them(ward) -> None:
    """What all weigh, and with --unweighted how many rows there are; the note says by which column,
    and no interval is shown.
    """
    ward.plan(schema='quasi = ["age"]\nweight = "w"', method='name = "mondrian"\nk = 4')
    ward.table("age,w\n" + "".join(f"{20 + i % 7},2.5\n" for i in range(40)))
    ward.publish()
    said = ward.call("estimate", "out/ward-1", "count(*)")
    assert said.code == 0 and "100" in said.out and "Weighted by 'w'" in said.out
    found = json.loads(ward.call("estimate", "out/ward-1", "count(*)", "--json").out)
    assert (found["weight"], found["figures"][0]["interval"]) == ("w", None)
    plain = ward.call("estimate", "out/ward-1", "count(*)", "--unweighted", "--json")
    found = json.loads(plain.out)
    assert (found["weight"], found["figures"][0]["low"]) == (None, 40)


def test_what_cannot_be_asked(ward) -> None:
    """Wrong queries and wrong folders are one sentence, exit code 2."""
    ward.plan(method='name = "mondrian"\nk = 4')
    ward.publish()
    for words in (
        ["out/ward-1", "count(*) where agee = 3"],
        ["out/ward-1", "drop table x"],
        ["nowhere", "count(*)"],
    ):
        said = ward.call("estimate", *words)
        assert said.code == 2 and said.err.count("\n") == 1
        assert "error" in json.loads(ward.call("estimate", *words, "--json").out)


def test_estimate_says_how_far_it_is(ward, monkeypatch) -> None:
    """By a bar over groups, but for --quiet and --json."""
    ward.plan(method='name = "mondrian"\nk = 4')
    ward.publish()
    told: list[tuple[str, int, int | None]] = []

    @contextmanager
    def telling(first: str, *, quiet: bool):
        yield lambda *what: None if quiet else told.append(what)
        assert first == "groups"

    monkeypatch.setattr("phalanx.cli.estimate.watching", telling)
    words = ("estimate", "out/ward-1", "count(*) group by ill")
    assert ward.call(*words, "--quiet").code == ward.call(*words, "--json").code == 0
    assert told == []
    assert ward.call(*words).code == 0
    assert told == [("groups", n, 4) for n in range(5)]
