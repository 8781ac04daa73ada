# SPDX-License-Identifier: Apache-2.0
"""`phalanx warm` compiles what it says, and nothing is left but the compiled kernels."""

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

import phalanx
from phalanx import warming
from phalanx.errors import PlanError
from phalanx.kernels import cache
from phalanx.methods.base import OURS, make


def test_every_method_is_warmed() -> None:
    """Every method of ours has its ways, and every way is one that its plan may have."""
    assert set(warming.ways()) == set(OURS)
    for name, parameters in warming.ways().items():
        assert [make(name, way).name for way in parameters] == [name] * len(parameters)


def test_a_method_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the one that is named is compiled, its temporary releases are gone, and each step is
    told.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    steps: list[str] = []
    found = warming.warm("anatomy", lambda step, *_: steps.append(step))
    assert steps == ["anatomy"] == list(found.seconds)
    assert list(cache.PLACE.rglob("kernels.bucketization-*.nbi"))
    assert found.kernels >= 1
    assert found.kept == (not cache.PLACE.name.startswith("phalanx-kernels-"))
    assert list(tmp_path.iterdir()) == []


def test_a_method_that_is_none() -> None:
    """A mistyped method has its nearest."""
    with pytest.raises(
        PlanError, match=r"'anatomi' is not a method to compile; did you mean 'anatomy'\?"
    ):
        warming.warm("anatomi")


def every_kernel() -> dict[str, set[str]]:
    """The compiled functions of the package, as their files are called
    (``anatomy.bucketization``), and which of them each calls.
    """
    names = [
        found.name
        for found in pkgutil.walk_packages(phalanx.__path__, "phalanx.")
        if not found.name.endswith("__main__")
    ]
    everything = [part for name in names for part in vars(importlib.import_module(name)).values()]
    kernels = [k.py_func for k in everything if isinstance(k, Dispatcher)]
    return {file_of(k): {file_of(part) for part in parts_of(k)} for k in kernels}


def file_of(kernel: Any) -> str:
    return f"{Path(kernel.__code__.co_filename).stem}.{kernel.__name__}"


def parts_of(kernel: Any) -> list[Any]:
    """The kernels that a kernel calls, which are compiled as parts of it."""
    called = (kernel.__globals__.get(name) for name in kernel.__code__.co_names)
    return [part.py_func for part in called if isinstance(part, Dispatcher)]


@pytest.mark.slow
def test_every_kernel_is_compiled(tmp_path: Path) -> None:
    """In an empty cache, each kernel of the source has its file afterwards, or is a part of one that
    has.
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", "from phalanx.cli import main; main()", "warm", "--json"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    there = {path.name.split("-")[0] for path in (tmp_path / "cache").rglob("*.nbi")}
    kernels, reached = every_kernel(), set()
    new = there & kernels.keys()
    while new:
        reached |= new
        new = {part for kernel in new for part in kernels[kernel]} - reached
    assert len(kernels) > 60 and set(kernels) - reached == set()
    assert json.loads(run.stdout)["place"] == str(tmp_path / "cache")


@pytest.mark.parametrize("file", ["Makefile", "hatch_build.py"])
def test_whoever_compiles_beforehand_names_all_methods(file: str) -> None:
    """`make` and the build of a wheel begin with what compiles longest, and leave no method out."""
    text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    begin, end = ("WARMED   := ", "\n") if file == "Makefile" else ("METHODS = (", ")\n\n")
    named = re.findall(r"[a-z-]+", text.split(begin)[1].split(end)[0].split("first\n")[-1])
    assert sorted(named) == sorted(warming.ways())
