# SPDX-License-Identifier: Apache-2.0
"""What an installation from the source carries beside it: the kernels, compiled where it is built,
so that nobody waits for them at the first publication.

They are for one version of Python and numba and one kind of processor; elsewhere they are not read,
and compiled at their first use. Where they cannot be compiled while a wheel is built, it is built
without them. `HATCH_BUILD_NO_HOOKS=true` leaves them out.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src", "phalanx")
WARM = "from phalanx.cli import main; main()"
METHODS = (  # what compiles longest begins first
    "mutual-cover",
    "slicing",
    "mondrian",
    "global-guarantee",
    "safe-sampling",
    "m-invariance",
    "anatomy",
)


class Kernels(BuildHookInterface):
    """Compiles the kernels in a copy of the package, and hands what was compiled to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before a wheel is made; a source that is worked on (editable) compiles what it uses."""
        if version != "standard":
            return
        self._place = Path(tempfile.mkdtemp(prefix="phalanx-wheel-"))
        package = self._place / SOURCE.name
        shutil.copytree(
            Path(self.root) / SOURCE, package, ignore=shutil.ignore_patterns("__pycache__")
        )
        self.app.display_info("compiling the kernels, which takes a minute or two")
        with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
            failed = [said for said in side_by_side.map(self._compile, METHODS) if said]
        for said in failed:
            self.app.display_warning(f"kernels are left to their first use: {said}")
        for compiled in package.rglob("__pycache__/*.nb[ic]"):
            build_data["force_include"][str(compiled)] = str(compiled.relative_to(self._place))
            build_data.update(pure_python=False, infer_tag=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After it was made."""
        if version == "standard":
            shutil.rmtree(self._place, ignore_errors=True)

    def _compile(self, method: str) -> str:
        """The kernels of a method, in a process of its own; what it says where that fails."""
        first = [str(self._place), os.environ.get("PYTHONPATH", "")]  # pip finds what we need by it
        paths = os.pathsep.join(path for path in first if path)
        environment = os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": ""}
        done = subprocess.run(  # noqa: S603 - our own words
            [sys.executable, "-c", WARM, "warm", method, "--quiet"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr.strip()[-300:] if done.returncode else ""
