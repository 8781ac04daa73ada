# SPDX-License-Identifier: Apache-2.0
"""The public face: what `import phalanx` brings, and what it leaves alone until somebody asks for
it.
"""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import phalanx

# The command line and the kernels are what is slow to import or rarely wanted.
LATER = ("altair", "jinja2", "numba", "pandas", "scipy", "sklearn", "typer")


def loaded_by(statement: str) -> set[str]:
    """The modules of LATER that a fresh interpreter has loaded after a statement."""
    script = f"import sys\n{statement}\nprint(*[name for name in {LATER!r} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(run.stdout.split())


def shelf(name: str) -> tuple[int, str]:
    """The order of names in ``__all__``: constants, classes, functions; each by the alphabet."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def misfiled(module: object) -> list[str]:
    """What is wrong with a module's ``__all__``: names out of order, named twice, or not there."""
    names = list(getattr(module, "__all__", []))
    wrong = [name for name in names if not hasattr(module, name)]
    if names != sorted(set(names), key=shelf):
        wrong.append("not in order")
    return wrong


def test_importing_phalanx_is_light() -> None:
    """`import phalanx` loads no compiler, no templates, no pandas and no command line."""
    assert loaded_by("import phalanx") == set()


def test_a_heavy_import_would_be_seen() -> None:
    """The look into a fresh interpreter sees what is there: pandas, when it is asked for."""
    assert "pandas" in loaded_by("import phalanx, pandas")


def test_public_names_exist_and_are_in_order() -> None:
    """Every name in an `__all__` of the package exists, once, in the order in which one looks for
    it.
    """
    names = [
        "phalanx",
        *(
            found.name
            for found in pkgutil.walk_packages(phalanx.__path__, "phalanx.")
            if not found.name.endswith("__main__")
        ),
    ]
    assert {
        name: wrong for name in names if (wrong := misfiled(importlib.import_module(name)))
    } == {}


@pytest.mark.parametrize("names", [["b", "A"], ["A", "A"], ["A", "nowhere"]])
def test_misfiled_names_are_seen(names: list[str]) -> None:
    """Names out of order, named twice or missing are found."""
    module = type("module", (), {"__all__": names, "A": 1, "b": 2})
    assert misfiled(module)


def test_every_public_name_is_described() -> None:
    """Each public name has a docstring of its own, which the reference shows."""
    assert [
        name
        for name in phalanx.__all__
        if not name.startswith("__") and not getattr(phalanx, name).__doc__
    ] == []
