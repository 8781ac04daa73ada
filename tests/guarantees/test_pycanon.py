# SPDX-License-Identifier: Apache-2.0
"""On tables that somebody else made, our levels are those of the PyPI package pycanon, or the test
says who is right and why.

pycanon (1.3.6) runs in an environment of its own, made on demand beside the repository; without it
the tests are skipped with the reason.
"""

import json
import math
import subprocess
import sys
import venv
from pathlib import Path

import pandas as pd
import pytest

from phalanx.guarantees.levels import levels
from phalanx.release.foreign import Foreign

HOME = Path(__file__).parents[2] / ".venv-pycanon"
SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
from pycanon import anonymity as a
path, quasi, sensitive, index = json.loads(sys.argv[1])
table = pd.read_csv(path)
if index: table.index = index
def told(f):
    try: return float(f())
    except Exception as error: return type(error).__name__
print(json.dumps({
    "k": told(lambda: a.k_anonymity(table, quasi)),
    "l": told(lambda: a.l_diversity(table, quasi, [sensitive])),
    "entropy": told(lambda: a.entropy_l_diversity(table, quasi, [sensitive])),
    "c": told(lambda: a.recursive_c_l_diversity(table, quasi, [sensitive])[0]),
    "t": told(lambda: a.t_closeness(table, quasi, [sensitive])),
}))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python():
    """The interpreter of pycanon's own environment."""
    found = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not found.exists():
        venv.create(HOME, with_pip=True)
    if subprocess.run([found, "-c", "import pycanon"], capture_output=True, check=False).returncode:
        done = subprocess.run(
            [found, "-m", "pip", "install", "-q", "pycanon==1.3.6"],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        if done.returncode:
            pytest.skip(
                "pycanon cannot be installed here:"
                f" {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'pip failed'}"
            )
    return found


@pytest.fixture
def both(python, tmp_path):
    """Our levels and pycanon's figures on one table, each read from the same CSV file."""

    def compare(table, quasi=("q", "z"), sensitive="s", index=None):
        path = tmp_path / "t.csv"
        table.to_csv(path, index=False)
        done = subprocess.run(
            [python, "-c", SCRIPT, json.dumps([str(path), list(quasi), sensitive, index])],
            capture_output=True,
            text=True,
            check=True,
        )
        return levels(Foreign.read(path, quasi=quasi, sensitive=sensitive)), json.loads(done.stdout)

    return compare


def table_of(*groups, names="abcdefgh"):
    """A table whose groups have these sensitive counts; rows of the groups are mixed."""
    rows = [
        (g // 2, "xy"[g % 2], names[v])
        for g, counts in enumerate(groups)
        for v, r in enumerate(counts)
        for _ in range(r)
    ]
    return (
        pd.DataFrame(rows, columns=["q", "z", "s"])
        .sort_values("s", kind="stable")
        .reset_index(drop=True)
    )


def agrees_on_k_l_entropy(ours, theirs):
    assert ours["k"] == theirs["k"]
    assert ours["distinct_l"] == theirs["l"]
    assert math.floor(ours["entropy_l"]) == theirs["entropy"]


def test_text(both):
    """k, distinct l, entropy l (which it cuts to a whole number) and t of equal distances agree."""
    for groups in (
        [[3, 2, 2], [2, 2, 3, 1], [1, 4, 2]],
        [[5, 1], [1, 5], [3, 2]],
        [[4, 1, 1, 2], [2, 2, 2, 2]],
    ):
        ours, theirs = both(table_of(*groups))
        agrees_on_k_l_entropy(ours, theirs)
        assert float(ours["t_equal"]) == pytest.approx(theirs["t"], abs=1e-12)


def test_numbers(both):
    """Ordered distances: t agrees where the sensitive values are numbers."""
    for groups in ([[3, 2, 2], [2, 2, 3, 1], [1, 4, 2]], [[2, 1, 1], [1, 1, 0, 2]]):
        ours, theirs = both(table_of(*groups, names=[3, 5, 11, 20]))
        agrees_on_k_l_entropy(ours, theirs)
        assert float(ours["t_ordered"]) == pytest.approx(theirs["t"], abs=1e-12)


def test_c_of_even_groups(both):
    """Where all counts of a group are equal, its c is the least whole number above our ratio."""
    ours, theirs = both(table_of([2, 2, 2], [3, 3, 3]))
    assert math.floor(ours["recursive"][3]) + 1 == theirs["c"]


def test_c_of_uneven_groups(both):
    """Counts 5 and 1 need c > 5 at l = 2. pycanon sorts the counts upward and takes the rarest
    value for the most frequent: it says 1. We are right.

    Machanavajjhala et al. 2006, Definition 4.1: r_1 is the count of the most frequent value.
    """
    ours, theirs = both(table_of([5, 1], [5, 1]))
    assert ours["recursive"][2] == 5
    assert theirs["c"] == 1


def test_missing_quasi_identifier(both):
    """A row whose quasi-identifier is missing is published too and stands alone: k is 1. We are
    right.

    With one quasi-identifier pycanon's group-by drops it and says 3, with two it keeps it.
    """
    table = table_of([2, 1], [0], [1, 2]).astype({"q": "Float64"})
    table.loc[len(table)] = [pd.NA, "x", "a"]
    for quasi, said in (("q",), 3), (("q", "z"), 1):
        ours, theirs = both(table, quasi=quasi)
        assert (ours["k"], ours["rows"]) == (1, 7)
        assert theirs["k"] == said


def test_missing_number(both):
    """A missing sensitive number is one more value for both; pycanon's entropy compares NaN with
    itself, finds nothing and fails. We are right.
    """
    table = table_of([1, 1], [1, 1], names=[1, 2]).astype({"s": "Float64"})
    table.loc[table["s"] == 2, "s"] = pd.NA
    ours, theirs = both(table)
    assert ours["distinct_l"] == theirs["l"] == 2
    assert ours["entropy_l"] == 2
    assert isinstance(theirs["entropy"], str) or math.isnan(theirs["entropy"])


def test_missing_text(both):
    """A missing sensitive text is a value for us; pycanon cannot sort it beside text and fails."""
    table = table_of([1, 1], [1, 1])
    table.loc[table["s"] == "b", "s"] = None
    ours, theirs = both(table)
    assert ours["distinct_l"] == 2
    assert theirs["l"] == "TypeError"


def test_index(both):
    """Index labels are row positions for pycanon: shuffle the index of the same rows and its l
    changes. Rows have no order for us. We are right.
    """
    table = table_of([2], [0, 2])
    ours, theirs = both(table)
    assert ours["distinct_l"] == theirs["l"] == 1
    _, shuffled = both(table, index=[0, 2, 1, 3])
    assert shuffled["l"] == 2


def test_whole_entropy(both):
    """Even counts have an entropy of exactly ln l; pycanon cuts a float that may lie just below, so
    it may say one less. We are right.
    """
    for l in range(2, 8):
        ours, theirs = both(table_of([1] * l, [2] * l))
        assert ours["entropy_l"] == l
        assert theirs["entropy"] in (l, l - 1)
