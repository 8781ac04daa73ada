# SPDX-License-Identifier: Apache-2.0
"""A folder with a plan and a table in it, and the command line called as a shell would call it."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from phalanx.cli import main

TABLE = "who,age,zip,ill\n" + "".join(
    f"p{i},{20 + i % 7},{10000 + i * 37 % 9},{'abcd'[i % 4]}\n" for i in range(40)
)
SCHEMA = 'identifier = "who"\nquasi = ["age", "zip"]\nsensitive = "ill"'


def plan_text(
    *,
    path: str = "t.csv",
    schema: str = SCHEMA,
    method: str = 'name = "m-invariance"\nm = 2',
    to: str = "out",
    more: str = "",
) -> str:
    return (
        '[series]\nname = "ward"\n[source]\npath ='
        f' "{path}"\n[schema]\n{schema}\n[method]\n{method}\n[publish]\nto = "{to}"\nformats ='
        f' ["parquet", "csv"]\n{more}\n'
    )


@dataclass(frozen=True)
class Said:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Ward:
    """A folder with ``plan.toml`` and ``t.csv``."""

    path: Path
    call: Callable[..., Said]

    def plan(self, **said: str) -> None:
        (self.path / "plan.toml").write_text(plan_text(**said), encoding="utf-8")

    def table(self, content: str | bytes) -> None:
        (self.path / "t.csv").write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )

    def publish(self, *options: str) -> Said:
        return self.call("publish", "plan.toml", *options)

    def snapshot(self) -> dict[str, str]:
        """Every file and folder below, with the digests of what is in them."""
        found = sorted(self.path.rglob("*"))
        return {
            str(p.relative_to(self.path)): (
                hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else "folder"
            )
            for p in found
        }


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["phalanx", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Said(left.value.code or 0, captured.out, captured.err)  # type: ignore[arg-type]

    return run


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., Said]) -> Ward:
    monkeypatch.chdir(tmp_path)
    made = Ward(tmp_path, call)
    made.table(TABLE)
    made.plan()
    return made
