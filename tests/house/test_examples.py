# SPDX-License-Identifier: Apache-2.0
"""The examples of docstrings, which the reference shows, give what stands below them."""

import doctest
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from phalanx.errors import ExtraError

SOURCE = Path(__file__).resolve().parents[2] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in (SOURCE / "phalanx").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def wrong(module: ModuleType) -> list[str]:
    """The examples of a module that give something else; ExtraError where one needs an extra."""
    faults: list[str] = []
    runner = doctest.DebugRunner()
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        try:
            runner.run(test)
        except doctest.DocTestFailure as fault:
            faults.append(f"{test.name}: {fault.example.source.strip()} gives {fault.got.strip()}")
        except doctest.UnexpectedException as fault:
            error = fault.exc_info[1]
            if isinstance(error, ExtraError):
                raise error from None
            faults.append(f"{test.name}: {fault.example.source.strip()} raises {error!r}")
    return faults


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder, one module after the other."""
    monkeypatch.chdir(tmp_path)
    try:
        assert wrong(import_module(name)) == []
    except (ExtraError, ModuleNotFoundError) as missing:
        pytest.skip(f"an extra is not installed: {missing}")


def test_an_example_that_is_wrong_is_seen() -> None:
    """One that gives something else, and one that cannot be run."""
    made = ModuleType("made")
    made.__doc__ = "Adds.\n\n>>> 1 + 1\n3\n"
    other = ModuleType("other")
    other.__doc__ = "Adds.\n\n>>> one + 1\n2\n"
    assert wrong(made) == ["made: 1 + 1 gives 2"]
    assert len(wrong(other)) == 1 and "raises NameError" in wrong(other)[0]
