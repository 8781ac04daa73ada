# SPDX-License-Identifier: Apache-2.0
"""The tutorial for whoever receives a release: its Python runs as it stands, and what it says comes
out.
"""

import re
from pathlib import Path

from support.pythons import run

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "tutorial" / "analyse.md").read_text(
    encoding="utf-8"
)


def test_the_tutorial_runs(tmp_path: Path) -> None:
    """All Python of the page, one block after the other; the slope of income by age is found, and
    the truth about one count is within its bounds.
    """
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
    checks = (
        "truth = people.filter((pl.col('sex') == 'F') & pl.col('age').is_between(30, 40) &"
        " (pl.col('ill') == 'gout')).height\nassert found.low <= truth <= found.high\nassert"
        " all(table.filter((pl.col('age') < 20) & (pl.col('ill') == 'gout')).is_empty() for table"
        " in draws)\nassert len(slopes) == 20 and 0.4 < sum(slopes) / 20 < 0.6\n"
    )
    script = "\n".join([*blocks, checks])
    done = run("-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<Estimate of count(*)")
