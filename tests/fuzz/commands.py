# SPDX-License-Identifier: Apache-2.0
"""Command lines: every command with options and arguments at random, and adversaries who are given
what they do not expect.
"""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from fuzz import scene
from fuzz.damage import NUMBERS, TEXTS
from fuzz.releases import ADVERSARIES, attack
from phalanx.cli import app

PLACES = [
    *(f"out/{name}-1" for name in scene.METHODS), "out/ward-2", "out", "out/reports/ward-1.html", "out/ward-1/data.parquet", "out/ward-1/release.json", "t1.csv", "t2.csv",
    "t.parquet", "t.arrow",
    *(f"{name}.toml" for name in scene.METHODS), "ward.series", "ward.series.key", "ledger.db", "ledger.db.key", "sqlite:///ledger.db", "backup", ".", "nowhere", "nowhere/x", "/dev/null",
    "/dev/zero",
    "/proc/self/mem", "/proc/1/mem", "new.toml", "new.svg", "new", "x" * 300, "postgresql://127.0.0.1:1/x", "/",
]  # fmt: skip
WORDS = [
    "who",
    "age",
    "town",
    "ill",
    "income",
    "note",
    "age,town",
    "ward",
    "mondrian",
    "tight",
    "theorem",
    "1/2",
    "1",
    "2",
    "0.5",
    "1e-3",
    "1/10",
    "Qz",
    "nobody",
]


@cache
def commands() -> list[tuple[tuple[str, ...], list[Any]]]:
    """Every command there is, with its parameters; but for the demo, which takes its time and no
    input, and the studio, which serves until it is ended.
    """

    def below(
        command: Any, words: tuple[str, ...] = ()
    ) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield words, command.params
        else:
            for name, each in inner.items():
                yield from below(each, (*words, name))

    return [
        (words, parameters)
        for words, parameters in below(typer.main.get_command(app))
        if words not in {("demo",), ("studio",)}
    ]


def value(fate: random.Random) -> str:
    """What may stand behind an option."""
    chosen = fate.choice(
        [
            fate.choice(PLACES),
            fate.choice(PLACES),
            fate.choice(WORDS),
            fate.choice(WORDS),
            fate.choice(TEXTS),
            str(fate.choice([n for n in NUMBERS if abs(n) < 10**101 or n != n])),
        ]
    )
    return chosen.replace("\0", "")  # which no shell can pass on


def command(fate: random.Random) -> list[str]:
    """A command with some of its options and arguments, each with what may or may not fit;
    sometimes with words that are not its own.
    """
    words, parameters = fate.choice(commands())
    said: list[str] = []
    for parameter in parameters:
        option = parameter.opts[0]
        if not option.startswith("-"):
            said += [value(fate) for _ in range(fate.choice([1, 1, 1, 2, 0]))]
        elif fate.random() < 0.45:
            said += [option] if parameter.is_flag else [option, value(fate)]
    for _ in range(fate.choice([0, 0, 0, 0, 1, 2])):
        said.insert(
            fate.randrange(len(said) + 1),
            fate.choice(
                [value(fate), "--help", "--jsn", "-x", "--", "--no", "--ledger", "=", "--k=2", "-h"]
            ),
        )
    return [*words[: len(words) - (fate.random() < 0.03)], *said]


def adversary(fate: random.Random) -> list[str]:
    """An adversary who is given nearly what it needs."""
    series = fate.choice([*scene.METHODS, "ward", "ward"])
    words = attack(
        fate.choice(ADVERSARIES),
        [f"out/{series}-{n}" for n in ((1, 2) if series == "ward" else (1,))],
        fate,
    )
    for _ in range(fate.choice([0, 1, 1, 2])):
        at = fate.randrange(2, len(words))
        match fate.randrange(4):
            case 0:
                words[at] = value(fate)
            case 1:
                del words[at]
            case 2:
                words[at:at] = [
                    fate.choice(
                        [
                            "--sample",
                            "--bound",
                            "--p-match",
                            "--expected",
                            "--value",
                            "--identifier",
                            "--original",
                        ]
                    ),
                    value(fate),
                ]
            case _:
                words.append(fate.choice(PLACES))
    return words


def budget(fate: random.Random) -> list[str]:
    """Numbers of a promise at their extremes."""
    numbers = [
        "1",
        "2",
        "0.1",
        "1e-3",
        "1e-5",
        "1/3",
        "0",
        "-1",
        "1e-300",
        "1e300",
        "nan",
        "inf",
        "1e400000",
        "9" * 400,
        "1e-99999",
        "0.999999999",
        "10",
        "100",
        "1000000",
        "1e9",
        "2/3",
        "1/0",
        "",
    ]
    said: list[str] = ["budget"]
    for option in (
        "--epsilon",
        "--delta",
        "--k",
        "--beta",
        "--releases",
        "--cell",
        "--amplify",
        "--epsilon-scheme",
    ):
        if fate.random() < (0.6 if option in {"--epsilon", "--delta"} else 0.25):
            said += [option, fate.choice(numbers)]
    return said + fate.choice(
        [
            [],
            [],
            ["--json"],
            ["--accounting", "tight"],
            ["--accounting", "theorem"],
            ["--plot", "chart.svg"],
            ["--table"],
        ]
    )
