# SPDX-License-Identifier: Apache-2.0
"""What a shell is told to offer: commands, adversaries, options; and how it learns to ask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = "import sys\nfrom phalanx.cli import main\nsys.argv[0] = 'phalanx'\nmain()"
HEAVY = "print('loaded:', *[name for name in ('polars', 'numpy') if name in sys.modules])"


def offered(words: str, script: str = SCRIPT) -> list[str]:
    """What a bash offers for the last of some words."""
    asks = {"_PHALANX_COMPLETE": "complete_bash", "COMP_WORDS": words}
    asks["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | asks,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stderr == ""
    return run.stdout.split("\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("phalanx pub", ["publish"]),
        ("phalanx attack post", ["posterior", "posterior-learning"]),
        ("phalanx attack linkage --p", ["--p-match"]),
        ("phalanx series sh", ["show"]),
        ("phalanx nothing-like-it", []),
    ],
)
def test_words_are_completed(words: str, expected: list[str]) -> None:
    """Commands, the adversaries that are installed, and the options of each."""
    assert [word for word in offered(words) if word] == expected


def test_a_list_of_adversaries_is_light() -> None:
    """Whoever presses a key does not wait for packages of frames."""
    script = f"import sys, atexit\natexit.register(lambda: {HEAVY})\n{SCRIPT}"
    assert offered("phalanx attack ", script)[-2:] == ["loaded:", ""]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_shown(call, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """As ``--install-completion`` would write it into the shell's own file."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    shown = call("--show-completion")
    assert (shown.code, shown.err) == (0, "")
    assert f"_PHALANX_COMPLETE=complete_{shell}" in shown.out


def test_it_is_installed(call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Into the files of whoever asks, which are named."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = call("--install-completion")
    assert shown.code == 0
    assert "bash completion installed in" in shown.out
    assert list(tmp_path.rglob("phalanx.sh"))
