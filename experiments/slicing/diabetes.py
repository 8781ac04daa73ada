# SPDX-License-Identifier: Apache-2.0
"""A second table for the scripts beside this one: the first encounters of each patient of
diabetes130, where the file lies beside the paper's table.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from adult import microdata

from phalanx.data.microdata import Microdata

_NAME = "diabetes130.parquet"
QUASI = ["race", "gender", "age", "admission_type", "time_in_hospital", "number_diagnoses"]
MORE = [*QUASI, "num_lab_procedures", "num_medications"]
SENSITIVE = "diag_1_chapter"


def there() -> bool:
    """Whether the file lies in the folder that PHALANX_DATA names."""
    return Path(os.environ.get("PHALANX_DATA", ""), _NAME).is_file()


def first_encounters(quasi: Sequence[str] = QUASI) -> Microdata:
    """The complete rows of everybody's first encounter, of women and men; the chapter of the first
    diagnosis is sensitive.
    """
    found = pl.read_parquet(Path(os.environ["PHALANX_DATA"], _NAME)).filter(
        pl.col("visit_no") == 1, pl.col("gender").is_in(["Female", "Male"])
    )
    return microdata(quasi, found.select(*quasi, SENSITIVE).drop_nulls(), SENSITIVE)


def in_folder(name: str) -> pl.DataFrame | None:
    """Another table of the folder; None where it is not there."""
    path = Path(os.environ.get("PHALANX_DATA", ""), name)
    if not path.is_file():
        return None
    return (
        pl.read_csv(path, infer_schema_length=None)
        if path.suffix == ".csv"
        else pl.read_parquet(path)
    )
