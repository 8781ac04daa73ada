# SPDX-License-Identifier: Apache-2.0
"""A part of a release is freed when the next one comes: nothing of it refers to itself, as what does
waits for a search for cycles, which comes late or never, and the parts before wait with it.
"""

import gc

import numpy as np
import polars as pl
import pytest

from phalanx import Anatomy, GlobalGuarantee, MInvariance, Mondrian, Series, Slicing, verify
from phalanx.engines import choosing
from support.staying_cases import SCHEMA, tables

METHODS = [
    Mondrian(k=5),
    Mondrian(k=5, l=3),
    Anatomy(l=3),
    Slicing(l=3, columns=2, sensitive_column_size=1, compact=True),
    MInvariance(m=3),
    GlobalGuarantee(l=3),
]
ROWS = 100
"""A library that is loaded meanwhile holds constants of fewer."""


@pytest.fixture
def small(monkeypatch):
    """So little memory that a table has several parts."""
    for method in (GlobalGuarantee, MInvariance):
        monkeypatch.setattr(method, "bytes_per_value", 170)
    monkeypatch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 170 / 0.4) + 1)


def in_cycles(run):
    """What of our own, or of a table, only a search for cycles would free after ``run``.

    None is made meanwhile: what it finds would keep alive all that hangs on it.
    """
    gc.collect()
    before = len(gc.garbage)
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.disable()
    try:
        run()
        gc.collect()
        garbage = gc.garbage[before:]
    finally:
        gc.enable()
        gc.set_debug(0)
        del gc.garbage[before:]
    ours = [each for each in garbage if type(each).__module__.startswith("phalanx")]
    rows = [
        held
        for each in garbage
        for held in gc.get_referents(each)
        if isinstance(held, pl.DataFrame | pl.Series | np.ndarray)
        if held.shape and held.shape[0] >= ROWS
    ]
    return {f"{type(each).__module__}.{type(each).__name__}" for each in [*ours, *rows]}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_nothing_of_a_part_refers_to_itself(tmp_path, method):
    """Neither of one that is published nor of one that is checked, of the first release and the
    next.
    """
    series = Series("s", SCHEMA, method, to=tmp_path / "out")
    made = []

    def run():
        for number, table in enumerate(tables()[:2]):
            table.write_parquet(tmp_path / f"t{number}.parquet")
            made.append(series.publish(tmp_path / f"t{number}.parquet"))
        paths = [each.path for each in made]
        assert verify(paths, ledger=f"sqlite:///{tmp_path}/s.db").checks
        assert verify(paths[0]).checks

    assert in_cycles(run) == set()
    assert min(len(each.manifest.parts) for each in made) > 3


def test_what_refers_to_itself_is_found():
    """A twin that remembers itself, as a view of groups did."""

    class Twin:
        def __init__(self):
            self.members, self.counts = self, np.arange(ROWS)

    assert in_cycles(Twin) == {"numpy.ndarray"}
