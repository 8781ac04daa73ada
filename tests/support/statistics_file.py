# SPDX-License-Identifier: Apache-2.0
"""The statistics file of a series, release by release, as its method and a ledger keep it; and all
of it as a dictionary, read the slow way.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from phalanx.methods.base import Memory
from phalanx.methods.global_guarantee.exposures import ELSEWHERE, Statistics
from phalanx.release.evidence.exposures import LAID, LEFT, Exposures


class StatisticsFile:
    """What is remembered of persons who come, go and return."""

    def __init__(self):
        self.memory = Memory()

    def beside(self, persons, names):
        """It, beside the persons of a table."""
        tables = self.memory.everything
        return Statistics.of(Exposures.of_tables(tables), persons, names, tables)

    def release(self, persons, names, groups, hosts):
        """Count one release; what goes on."""
        release = self.memory.releases + 1
        onward = self.beside(persons, names).after(persons, groups, hosts, release)
        state = onward.carried.to_tables() | {ELSEWHERE: pl.DataFrame({"pairs": onward.elsewhere})}
        aside = onward.aside.to_tables_aside(release)
        self.memory = self.memory.grown(aside, state, None)
        return onward


def pairs_of(carried):
    """By person: value -> (survival, times), of one set of exposures."""
    starts = carried.starts.tolist()
    columns = (each.tolist() for each in (carried.value, carried.survival, carried.times))
    pairs = [(value, (survival, times)) for value, survival, times in zip(*columns, strict=True)]
    return {
        person: dict(pairs[starts[of] : starts[of + 1]])
        for person, of in zip(carried.persons.to_list(), carried.history.tolist(), strict=True)
    }


def everyone(tables):
    """(person, value) -> (survival, times): who left, as they left last, unless they are there."""
    known, asides = {}, {}
    for release in tables[LAID]["release"].unique() if LAID in tables else ():
        aside = Exposures.laid_aside(tables, release)
        histories = range(len(aside.origin))
        whole = replace(aside, persons=pl.Series(histories), history=np.array(histories))
        asides |= dict(zip(aside.origin.tolist(), pairs_of(whole).values(), strict=True))
    if LEFT in tables:
        known |= {person: asides[history] for person, history in tables[LEFT].iter_rows()}
    known |= pairs_of(Exposures.of_tables(tables))
    return {(person, value): pair for person, of in known.items() for value, pair in of.items()}
