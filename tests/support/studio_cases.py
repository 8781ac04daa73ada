# SPDX-License-Identifier: Apache-2.0
"""A studio for tests: a plan about made-up people, and a browser that came in by the door."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from starlette.testclient import TestClient

from phalanx.studio.app import make_app
from phalanx.studio.place import Place

HOST = "127.0.0.1:8765"
PLAN = """# A comment that stays.
[series]
name = "ward"

[source]
path = "people.csv"

[schema]
identifier = "patient"
quasi = ["age", "sex"]
sensitive = "diagnosis"
drop = ["note"]

[method]
name = "m-invariance"
m = 3  # enough

[publish]
to = "releases/"
formats = ["csv"]
"""
OWN = {"sec-fetch-site": "same-origin", "origin": f"http://{HOST}"}
"""What a browser says of a form of the studio itself."""


def people(rows: int = 240) -> pl.DataFrame:
    """As many persons, each with a name, an age, a sex, a diagnosis, and a note."""
    diagnoses = ["flu", "gout", "rash", "ulcer", "burn", "cold"]
    return pl.DataFrame(
        {
            "patient": [f"p{i}" for i in range(rows)],
            "age": [20 + i * 7 % 60 for i in range(rows)],
            "sex": ["fm"[i % 2] for i in range(rows)],
            "diagnosis": [diagnoses[i // 2 % 6] for i in range(rows)],
            "note": [None if i % 3 else "seen" for i in range(rows)],
        }
    )


def adult() -> pl.DataFrame:
    """Adult's complete rows from the folder that PHALANX_DATA names, or made-up rows like them."""
    path = Path(os.environ.get("PHALANX_DATA", ""), "adult.parquet")
    names = ["row_id", "age", "workclass", "education", "race", "sex", "occupation"]
    if path.is_file():
        return pl.read_parquet(path).filter("complete").select(names)
    draw = np.random.default_rng(20)
    rows = 1000
    words = {
        "workclass": ["Private", "Self-emp", "Local-gov", "State-gov"],
        "education": ["Some-college", "HS-grad", "Bachelors", "Masters", "11th"],
        "race": ["White", "Black", "Asian-Pac-Islander", "Other"],
        "sex": ["Male", "Female"],
        "occupation": ["Craft-repair", "Sales", "Exec-managerial", "Other-service", "Tech-support"],
    }
    frame = {"row_id": np.arange(rows), "age": draw.integers(17, 91, rows)}
    return pl.DataFrame(frame | {name: draw.choice(of, rows) for name, of in words.items()})


def write(frame: pl.DataFrame, path: Path) -> Path:
    """A table as a file."""
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path, statistics=False)
    return path


@dataclass
class Studio:
    """A studio on a folder: what it looks at, its door, and the tokens that it announced."""

    place: Place
    tokens: list[str] = field(default_factory=list)
    door: Any = None

    def __post_init__(self) -> None:
        self.place.patience = 60  # an estimate stands on the page, however busy the machine is
        self.door = make_app(self.place, HOST, self.tokens.append)

    def browser(self, headers: Mapping[str, str] | None = None) -> TestClient:
        """A browser that has not come in."""
        own = {"host": HOST, **(headers or {})}
        return TestClient(
            self.door,
            base_url=f"http://{HOST}",
            headers=own,
            follow_redirects=False,
            raise_server_exceptions=False,
        )

    def inside(self) -> TestClient:
        """A browser that came in by the newest token."""
        browser = self.browser()
        assert browser.get(f"/enter?token={self.tokens[-1]}").status_code == 200
        return browser

    def send(self, browser: TestClient, path: str, **form: Any) -> Any:
        """A form of the studio itself."""
        return browser.post(path, data=form, headers=OWN)

    def finish(self, answer: Any) -> Mapping[str, Any]:
        """Wait for the work that a form began."""
        assert answer.status_code == 303, answer.text
        number = int(answer.headers["location"].rsplit("/", 1)[1])
        job = self.place.jobs.get(number)
        self.place.jobs.wait(number)
        return job.to_json()


def studio_on(folder: Path, plan: str | None = PLAN, frame: pl.DataFrame | None = None) -> Studio:
    """A studio whose plan stands in a folder, beside its table."""
    write(people() if frame is None else frame, folder / "people.csv")
    if plan is not None:
        (folder / "plan.toml").write_text(plan, encoding="utf-8")
    return Studio(Place(folder / "plan.toml"))


@contextmanager
def opened(folder: Path, **given: Any) -> Iterator[tuple[Studio, TestClient]]:
    """A studio and a browser inside; its work ends with it."""
    studio = studio_on(folder, **given)
    try:
        yield studio, studio.inside()
    finally:
        studio.place.jobs.end()
