# SPDX-License-Identifier: Apache-2.0
"""Environments of their own for programs of others."""

import subprocess
import venv
from pathlib import Path


def environment(folder: Path, requirements: Path, refusal: str) -> Path:
    """The Python of an environment with what is required, which is made where it is not there yet;
    ends with ``refusal`` and the installer's last line where it cannot be.
    """
    python = folder / "bin" / "python"
    if not (folder / "installed").is_file():
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        ran = subprocess.run(
            [*install, "--no-input", "-r", requirements],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise SystemExit(f"{refusal}: {ran.stderr.strip().splitlines()[-1]}")
        (folder / "installed").touch()
    return python
