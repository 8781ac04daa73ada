# SPDX-License-Identifier: Apache-2.0
"""What finds clusters of attributes is loaded without what it could be used by."""

import os
import subprocess
import sys
from pathlib import Path

STRANGER = "raise SystemExit('scikit-learn is loaded')"
RUN = """
import sys
import numpy as np
from phalanx.methods.slicing.columns import partition
told = np.array([[1, 0.1, 0.8], [0.1, 1, 0.2], [0.8, 0.2, 1]])
print(partition(["age", "sex", "job"], told, columns=2, sensitive="job"))
print("numba" in sys.modules, "sklearn" in sys.modules)
import kmedoids
"""


def test_columns_are_found_without_scikit_learn_which_others_still_find(tmp_path: Path) -> None:
    """It takes a second to load, which the first command of all would wait for; who loads the
    package by its name loads all of it.
    """
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "__init__.py").write_text(STRANGER)
    made = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.stdout.splitlines() == ["(('sex',), ('age', 'job'))", "False False"]
    assert made.stderr == "scikit-learn is loaded\n"
