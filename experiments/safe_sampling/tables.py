# SPDX-License-Identifier: Apache-2.0
"""The two tables: their attributes, what a plan declares of each without looking, three schemes
that somebody might have fixed, and which rows are held out.

Ranges and trees are public knowledge (ages of workers, hours of a week, ladders of schooling,
regions of the census, groups of occupations). A fixed scheme is a guess; three are tried, as
whoever makes a plan cannot try them on the table.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema

Ints = npt.NDArray[np.int64]
HELD_OUT = 5
"""One row of so many is held out for classifiers, by a seeded draw."""

AGE = {"low": 16, "high": 96, "widths": [5, 10, 20]}

ADULT_EDUCATION = Tree.of_mapping(
    {
        "no diploma": {
            "up to 8th": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
            "9th to 12th": ["9th", "10th", "11th", "12th"],
        },
        "diploma": {
            "high school": ["HS-grad"],
            "some college": ["Some-college", "Assoc-voc", "Assoc-acdm"],
        },
        "degree": {"bachelor": ["Bachelors"], "beyond": ["Masters", "Prof-school", "Doctorate"]},
    }
)
MARRIAGE = Tree.of_mapping(
    {
        "married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
        "was married": ["Divorced", "Separated", "Widowed"],
        "never": ["Never-married"],
    }
)
OCCSAL_EDUCATION = Tree.of_mapping(
    {
        "no diploma": {
            "up to 8th": [
                "No schooling completed",
                "Nursery to grade 4",
                "Grade 5 or 6",
                "Grade 7 or 8",
            ],
            "9th to 12th": ["Grade 9", "Grade 10", "Grade 11", "12th grade - no diploma"],
        },
        "diploma": {
            "high school": ["Regular high school diploma", "GED or alternative credential"],
            "some college": [
                "Some college, but less than 1 year",
                "1 or more years of college credit, no degree",
                "Associate's degree",
            ],
        },
        "degree": {
            "bachelor": ["Bachelor's degree"],
            "beyond": [
                "Master's degree",
                "Professional degree beyond a bachelor's degree",
                "Doctorate degree",
            ],
        },
    }
)
STATES = {
    "Northeast": (
        "Connecticut/CT Maine/ME Massachusetts/MA New_Hampshire/NH Rhode_Island/RI Vermont/VT"
        " New_Jersey/NJ New_York/NY Pennsylvania/PA"
    ),
    "Midwest": (
        "Illinois/IL Indiana/IN Michigan/MI Ohio/OH Wisconsin/WI Iowa/IA Kansas/KS Minnesota/MN"
        " Missouri/MO Nebraska/NE North_Dakota/ND South_Dakota/SD"
    ),
    "South": (
        "Delaware/DE District_of_Columbia/DC Florida/FL Georgia/GA Maryland/MD North_Carolina/NC"
        " South_Carolina/SC Virginia/VA West_Virginia/WV Alabama/AL Kentucky/KY Mississippi/MS"
        " Tennessee/TN Arkansas/AR Louisiana/LA Oklahoma/OK Texas/TX"
    ),
    "West": (
        "Arizona/AZ Colorado/CO Idaho/ID Montana/MT Nevada/NV New_Mexico/NM Utah/UT Wyoming/WY"
        " Alaska/AK California/CA Hawaii/HI Oregon/OR Washington/WA"
    ),
}
BIRTHPLACE = Tree.of_mapping(
    {
        "states": {
            region: [state.replace("_", " ") for state in names.split()]
            for region, names in STATES.items()
        },
        "elsewhere": {
            "Latin America": ["Mexico", "Puerto Rico"],
            "Asia": ["China", "India", "Philippines"],
            "other places": ["Other abroad"],
        },
    }
)
OCCUPATIONS = {
    "management": {"MGR": 4, "BUS": 2, "FIN": 1},
    "professions": {"CMM": 2, "ENG": 1, "SCI": 1, "CMS": 1, "LGL": 1, "EDU": 3, "ENT": 1, "MED": 3},
    "service": {"HLS": 2, "PRT": 1, "EAT": 2, "CLN": 2, "PRS": 1},
    "sales and office": {"SAL": 4, "OFF": 5},
    "building and repair": {"FFF": 1, "CON": 2, "EXT": 1, "RPR": 2},
    "production and transport": {"PRD": 3, "TRN": 3},
    "military": {"MIL": 1},
}
"""The parts into which each census group of occupations is cut."""
OCCUPATION = Tree.of_mapping(
    {
        major: {
            group: [f"{group}-{i + 1}" for i in range(parts)] if parts > 1 else [group]
            for group, parts in groups.items()
        }
        for major, groups in OCCUPATIONS.items()
    }
)
SEX = Tree.of_mapping({"Female": [], "Male": []})
INCOME = Tree.of_mapping({"<=50K": [], ">50K": []})


@dataclass(frozen=True, kw_only=True)
class Table:
    """One of the two tables; ``classes``: from which position on a value of ``target`` is the upper
    class.
    """

    name: str
    file: str
    schema: Schema
    declared: Mapping[str, Any]
    """What a plan says of numbers: their range and the widths on offer."""
    fixed: Mapping[str, Mapping[str, int]]
    """Three schemes that somebody might have fixed: a level for each attribute."""
    must: Mapping[str, int]
    """Levels that a plan fixes even where the others are chosen, since the target must be told."""
    target: str
    classes: int

    def scheme(self, levels: Mapping[str, int]) -> dict[str, Any]:
        """``[method.scheme]`` of a plan with these levels; attributes that are not named are left
        to a choice.
        """
        named = [name for name in self.names if name in self.declared or name in levels]
        return {
            name: {
                **self.declared.get(name, {}),
                **({"level": levels[name]} if name in levels else {}),
            }
            for name in named
        }

    def tree(self, name: str) -> Tree:
        """The tree of an attribute that is no number."""
        return self.schema.hierarchies[name]  # type: ignore[return-value]  # all are trees here

    @property
    def names(self) -> tuple[str, ...]:
        """All attributes, which are all covered."""
        return (
            *self.schema.quasi,
            *(() if self.schema.sensitive is None else (self.schema.sensitive,)),
        )

    @cached_property
    def whole(self) -> Microdata:
        """All rows."""
        folder = os.environ.get("PHALANX_DATA")
        if not folder or not Path(folder, self.file).is_file():
            sys.exit(f"Set PHALANX_DATA to the folder that holds {self.file}.")
        return Microdata.encode(
            pl.read_parquet(Path(folder, self.file), columns=list(self.names)), self.schema
        )

    @cached_property
    def _drawn(self) -> Ints:
        return np.random.default_rng(20).permutation(self.whole.rows)

    @cached_property
    def held(self) -> Microdata:
        """The rows on which classifiers are tested; no release sees them."""
        return self.whole.take(np.sort(self._drawn[: self.whole.rows // HELD_OUT]))

    @cached_property
    def published(self) -> Microdata:
        """The rows that are published: all others."""
        return self.whole.take(np.sort(self._drawn[self.whole.rows // HELD_OUT :]))


@cache
def tables() -> dict[str, Table]:
    adult = Table(
        name="Adult",
        file="adult.parquet",
        schema=Schema(
            quasi=["age", "education", "marital_status", "sex", "hours_per_week"],
            sensitive="income",
            hierarchies={
                "education": ADULT_EDUCATION,
                "marital_status": MARRIAGE,
                "sex": SEX,
                "income": INCOME,
            },
        ),
        declared={"age": AGE, "hours_per_week": {"low": 0, "high": 100, "widths": [5, 10, 20]}},
        fixed={
            "fine": {
                "age": 1,
                "education": 1,
                "marital_status": 0,
                "sex": 0,
                "hours_per_week": 1,
                "income": 0,
            },
            "middle": {
                "age": 2,
                "education": 1,
                "marital_status": 1,
                "sex": 0,
                "hours_per_week": 2,
                "income": 0,
            },
            "coarse": {
                "age": 2,
                "education": 2,
                "marital_status": 1,
                "sex": 1,
                "hours_per_week": 3,
                "income": 0,
            },
        },
        must={"income": 0},
        target="income",
        classes=1,
    )
    occsal = Table(
        name="acs2018_occsal",
        file="acs2018_occsal.parquet",
        schema=Schema(
            quasi=["age", "sex", "education17", "birthplace57", "occupation50"],
            sensitive="income50",
            hierarchies={
                "sex": SEX,
                "education17": OCCSAL_EDUCATION,
                "birthplace57": BIRTHPLACE,
                "occupation50": OCCUPATION,
            },
        ),
        declared={"age": AGE, "income50": {"low": 0, "high": 50, "widths": [1, 5, 10]}},
        fixed={
            "fine": {
                "age": 1,
                "sex": 0,
                "education17": 1,
                "birthplace57": 2,
                "occupation50": 1,
                "income50": 1,
            },
            "middle": {
                "age": 1,
                "sex": 0,
                "education17": 1,
                "birthplace57": 2,
                "occupation50": 2,
                "income50": 2,
            },
            "coarse": {
                "age": 2,
                "sex": 0,
                "education17": 2,
                "birthplace57": 3,
                "occupation50": 2,
                "income50": 2,
            },
        },
        must={"income50": 2},
        target="income50",
        classes=10,
    )
    return {"adult": adult, "occsal": occsal}
