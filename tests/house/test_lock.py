# SPDX-License-Identifier: Apache-2.0
"""requirements.lock is what pyproject.toml asks for: every package by one version and its hashes,
from nowhere in particular.
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def declared() -> list[Requirement]:
    """All that pyproject.toml asks for, with the extras, less its references to itself; Spark is half
    a gigabyte that no test but its own needs, and has an environment of its own (`make spark`).
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *project["dependencies"],
        *(
            line
            for name, extra in project["optional-dependencies"].items()
            for line in extra
            if name != "spark"
        ),
    ]
    return [wanted for wanted in map(Requirement, lines) if wanted.name != "phalanx"]


def faults(text: str, wanted: list[Requirement]) -> list[str]:
    """What is wrong with a lock: lines of another kind, packages without a hash, requirements that
    it does not meet.
    """
    entries = text.replace(" \\\n", "").splitlines()
    found, locked = [], {}
    for entry in entries:
        if entry.startswith("#"):
            continue
        package = re.fullmatch(
            r"([a-z0-9-]+)==([^ ]+)( ; [^-]+?)?((?: +--hash=sha256:[0-9a-f]{64})+)", entry
        )
        if package is None:
            found.append(f"no package with a version and hashes: {entry[:60]!r}")
        else:
            locked.setdefault(package[1], []).append(package[2])
    for one in wanted:
        versions = locked.get(canonicalize_name(one.name), [])
        if not versions or not all(one.specifier.contains(version) for version in versions):
            found.append(f"{one} is locked as {versions}")
    return found


def test_the_lock_is_what_is_declared() -> None:
    """Every package that pyproject.toml names is locked at a version that it allows; no line names
    a path or an index.
    """
    assert faults((ROOT / "requirements.lock").read_text(encoding="utf-8"), declared()) == []


HASH = f"    --hash=sha256:{'0' * 64}\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"numpy==1.9 \\\n{HASH}",
        "numpy==2.4\n",
        f"numpy>=2.4 \\\n{HASH}",
        f"--extra-index-url https://example.org\nnumpy==2.4 \\\n{HASH}",
        f"numpy @ file:///somewhere/numpy.whl \\\n{HASH}",
        f"numpy==2.4 \\\n{HASH}numpy==1.9 ; python_version < '3.12' \\\n{HASH}",
    ],
    ids=[
        "missing",
        "too old",
        "without a hash",
        "without a version",
        "an index",
        "a path",
        "too old somewhere",
    ],
)
def test_a_wrong_lock_is_seen(text: str) -> None:
    """The broken twins: each is found."""
    assert faults(text, [Requirement("numpy>=2.0")])


def test_a_right_lock_is_accepted() -> None:
    """And a lock that is right is not refused."""
    assert (
        faults(
            f"# made by make\nnumpy==2.4 ; python_full_version < '3.12' \\\n{HASH.rstrip()}"
            f" \\\n{HASH}",
            [Requirement("numpy>=2.0")],
        )
        == []
    )


def test_the_core_is_light() -> None:
    """How large an installation of the core may be, which `make core` measures in CI, is what the
    documentation says.
    """
    bound = re.search(r"^CORE_MB +:= ([0-9]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert bound and f"may take {bound[1]} MB at most" in (ROOT / "docs/installing.md").read_text()
    assert "make core" in (ROOT / ".ci" / "run").read_text()
