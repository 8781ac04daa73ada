# SPDX-License-Identifier: Apache-2.0
"""What is installed works: every method publishes and its release verifies, and what needs an extra
that is missing says so.

CI runs this file by itself where only the core is installed, on the lowest versions that are
declared, and on other Pythons. It needs pytest and nothing else.
"""

import os
import pkgutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import phalanx
from phalanx.errors import EXTRAS
from phalanx.kernels.loading import njit

ROOT = Path(__file__).resolve().parents[2]
SCHEME = (
    "\n[method.scheme]\nage = { low = 0, high = 100, width = 50 }\nzip = { low = 0, high = 100000,"
    " width = 50000 }"
)
SAMPLE = 'name = "safe-sampling"\nepsilon = 2\ndelta = 0.1\nallow_empty = true'
COMMANDS = ("init", "publish", "verify", "attack", "series", "budget", "demo")

PLANS = {  # (extra, the plan's method)
    "mondrian": ("", 'name = "mondrian"\nk = 4\nl = 2'),
    "mondrian by t-closeness": ("", 'name = "mondrian"\nk = 4\nt = 0.5'),
    "anatomy": ("", 'name = "anatomy"\nl = 2'),
    "m-invariance": ("", 'name = "m-invariance"\nm = 2'),
    "global-guarantee": ("", 'name = "global-guarantee"\nl = 2\nprotect = ["a"]'),
    "slicing": ("", 'name = "slicing"\nl = 2\ncolumns = 2'),
    "safe-sampling": ("", SAMPLE + SCHEME),
    "safe-sampling, a scheme chosen": (
        "dp",
        SAMPLE + "\nepsilon_scheme = 0.5" + SCHEME.replace("width = 50 ", "widths = [25, 50] "),
    ),
    "safe-sampling, a budget": ("dp", SAMPLE + "\nbudget = { epsilon = 9, delta = 0.5 }" + SCHEME),
    "mutual-cover": ("mutual-cover", 'name = "mutual-cover"\ndelta = "1/4"'),
}
ASKED = {  # what else needs an extra: (extra, the words)
    "the cost of releases": (
        "dp",
        ("budget", "--epsilon", "1", "--delta", "1e-6", "--releases", "8"),
    ),
    "a ledger in PostgreSQL": (
        "postgres",
        ("series", "list", "--ledger", "postgresql://ann:hunter2@h/d"),
    ),
    "the demo": ("demo", ("demo",)),
}


def needs(extra: str) -> None:
    """Skip where an extra is not installed."""
    if extra and any(find_spec(module) is None for module in EXTRAS[extra]):
        pytest.skip(f"the extra {extra!r} is not installed")


@pytest.mark.parametrize("words", [(), *((command,) for command in COMMANDS)], ids=" ".join)
def test_help(call, words: tuple[str, ...]) -> None:
    """`--help` works with the typer that is installed."""
    said = call(*words, "--help")
    assert (said.code, said.err) == (0, "")
    assert "Usage: phalanx" in said.out


@pytest.mark.parametrize(("extra", "method"), PLANS.values(), ids=PLANS)
def test_what_is_published_verifies(ward, extra: str, method: str) -> None:
    """Each method publishes two releases, or one where that is all it promises, and both verify,
    with the original and without.
    """
    needs(extra)
    ward.plan(method=method)
    releases = (
        ["out/ward-1", "out/ward-2"]
        if "invariance" in method or "global" in method or "budget" in method
        else ["out/ward-1"]
    )
    for _ in releases:
        published = ward.publish()
        assert (published.code, published.err) == (0, "")
    assert ward.call("verify", *releases).code == 0
    assert ward.call("verify", "out/ward-1", "--original", "t.csv", "--identifier", "who").code == 0


def compiled_here() -> list[str]:
    """The kernels that this process compiled, and did not find as they were installed."""
    kernel = type(njit(cache=False, nogil=True, fastmath=False)(compiled_here))
    kernels = {
        id(each): each
        for name, module in list(sys.modules.items())
        if name.startswith("phalanx.")
        for each in vars(module).values()
        if isinstance(each, kernel)
    }
    assert len(kernels) > 20
    return [each.__name__ for each in kernels.values() if each.stats.cache_misses]


def test_nobody_waits_for_a_compiler() -> None:
    """An installation from the source brings all kernels that were used above; where PHALANX_KERNELS
    says that it has some, as in `make core`.
    """
    if "PHALANX_KERNELS" not in os.environ:
        pytest.skip("PHALANX_KERNELS is not set, so kernels are compiled as they are used")
    assert compiled_here() == []


def test_the_budget_needs_no_extra(call) -> None:
    """What one release costs is our own arithmetic."""
    assert call("budget", "--epsilon", "1", "--delta", "1e-6").code == 0


def test_releases_together(call) -> None:
    """What releases cost together is computed where its extra is there."""
    extra, words = ASKED["the cost of releases"]
    needs(extra)
    assert call(*words).code == 0


@pytest.mark.parametrize("name", [name for name, (extra, _) in {**PLANS, **ASKED}.items() if extra])
def test_a_missing_extra_is_named(ward, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whatever needs an extra ends in one sentence that names it, with exit code 2, and leaves
    nothing; of a series, at its first release.
    """
    extra, _ = {**PLANS, **ASKED}[name]
    for module in EXTRAS[extra]:
        monkeypatch.setitem(sys.modules, module, None)
    if name in PLANS:
        ward.plan(method=PLANS[name][1])
    before = ward.snapshot()
    said = ward.publish() if name in PLANS else ward.call(*ASKED[name][1])
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith(f"needs the extra {extra!r}; run pip install 'phalanx[{extra}]'.\n")
    assert said.err.count("\n") == 1
    assert "hunter2" not in said.err
    assert ward.snapshot() == before


def test_every_module_is_there_without_extras() -> None:
    """No module imports, as it is loaded, what an extra brings: the core alone has all of them. The
    studio's own are the extra's.
    """
    modules = [name for names in EXTRAS.values() for name in names]
    script = (
        f"import importlib, sys\nsys.modules.update(dict.fromkeys({modules}))\nfor name in"
        " sys.argv[1:]: importlib.import_module(name)\n"
    )
    script += "import phalanx\nfor name in phalanx.__all__: getattr(phalanx, name)"
    ours = [
        found.name
        for found in pkgutil.walk_packages(phalanx.__path__, "phalanx.")
        if not found.name.endswith("__main__") and not found.name.startswith("phalanx.studio.")
    ]
    assert len(ours) > 100
    run = subprocess.run(
        [sys.executable, "-c", script, *ours],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr


def test_an_early_import_would_be_seen() -> None:
    """The broken twin: a module that is blocked so cannot be imported."""
    script = "import sys\nsys.modules['json'] = None\nimport json"
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=False, timeout=600
        ).returncode
        != 0
    )


def test_errors_name_the_extras_of_the_package() -> None:
    """`phalanx.errors.EXTRAS` and pyproject.toml say the same, and `all` is all of them but Spark,
    which is half a gigabyte and needs Java.
    """
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    modules = {
        extra: tuple(
            part.split(">")[0].split("=")[0].split("[")[0].replace("-", "_")
            for part in declared[extra]
        )
        for extra in EXTRAS
    }
    assert {extra: set(names) for extra, names in modules.items()} == {
        extra: set(names) for extra, names in EXTRAS.items()
    }
    assert declared["all"] == [f"phalanx[{','.join(each for each in EXTRAS if each != 'spark')}]"]
    assert set(declared) - set(EXTRAS) == {"all", "test", "check"}
    assert all("phalanx[all]" in declared[extra] for extra in ("test", "check"))


def test_the_package_is_the_one_that_was_installed() -> None:
    """Where PHALANX_INSTALLED names a folder, as in CI, the package tested is the one in it and not
    that of the checkout.
    """
    if "PHALANX_INSTALLED" not in os.environ:
        pytest.skip("PHALANX_INSTALLED names no folder, so the checkout is meant")
    assert Path(phalanx.__path__[0]).is_relative_to(os.environ["PHALANX_INSTALLED"])
