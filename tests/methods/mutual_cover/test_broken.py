# SPDX-License-Identifier: Apache-2.0
"""Mutual cover with one part broken: whatever step goes wrong on the way from groups to rows, the
independent check of what was written refuses it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx.data.schema import Schema
from phalanx.errors import GuaranteeError
from phalanx.methods.mutual_cover import method as mutual_cover
from phalanx.methods.mutual_cover import output_tables
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.methods.mutual_cover.output_tables import Tables
from phalanx.methods.mutual_cover.problems import Problems
from phalanx.series.series import Series

Break = Callable[[pytest.MonkeyPatch], None]


def table(n: int = 90) -> pl.DataFrame:
    """Persons with few ages, so that some tuples would stay as they are, and illnesses of which
    each is frequent somewhere.
    """
    rng = np.random.default_rng(8)
    ages = rng.integers(0, 12, n)
    town = rng.choice(["Aachen", "Bonn", "Celle"], n)
    return pl.DataFrame(
        {
            "age": ages,
            "sex": rng.choice(["f", "m"], n),
            "town": town,
            "ill": [
                f"ill {(a // 3 + x) % 5}" for a, x in zip(ages, rng.integers(0, 2, n), strict=True)
            ],
        }
    )


def publish(folder: Path, **parameters: Any) -> None:
    """Publish by the whole way, with a seed, so that what is left to chance is found each time."""
    schema = Schema(quasi=["age", "sex", "town"], sensitive="ill", types={"age": "numeric"})
    Series(
        "s",
        schema=schema,
        method=MutualCover(**({"delta": "1/4"} | parameters)),
        to=folder / "out",
        seed=6,
        report=False,
    ).publish(table())


def around(patch: pytest.MonkeyPatch, place: Any, name: str, change: Callable[..., Any]) -> None:
    """Let a function of the makers be followed by a ``change`` of what it found, given that and its
    arguments.
    """
    real = getattr(place, name)
    patch.setattr(
        place, name, lambda *arguments, **named: change(real(*arguments, **named), *arguments)
    )


def ignores_tables(patch: pytest.MonkeyPatch) -> None:
    """Every value of the group is equally likely, whatever the tables say, as long as it is
    another.
    """

    def another(_: Any, tables: Tables, *rest: Any) -> Any:
        k = np.diff(tables.problems.starts)[tables.table]
        step = rest[-1].stream("test").integers(2**40, tables.own.size).reshape(
            tables.own.shape
        ) % np.maximum(k - 1, 1) + (k > 1)
        return (tables.own + step) % k

    around(patch, mutual_cover, "draw", another)


def all_as_they_were(patch: pytest.MonkeyPatch) -> None:
    """Nobody changes."""
    around(patch, mutual_cover, "draw", lambda _, tables, *__: tables.own)


def one_as_it_was(patch: pytest.MonkeyPatch) -> None:
    """The last row comes out as it went in."""

    def last(drawn: Any, tables: Tables, *_: Any) -> Any:
        drawn[-1] = tables.own[-1]
        return drawn

    around(patch, mutual_cover, "draw", last)


def of_another_group(patch: pytest.MonkeyPatch) -> None:
    """One row gets an age that nobody of its group has, though somebody else does."""

    def strange(codes: Any, tables: Tables, *_: Any) -> Any:
        problems, first = tables.problems, tables.problems.starts[tables.of[tables.group[0], 0]]
        k = problems.starts[tables.of[tables.group[0], 0] + 1] - first
        codes["age"][0] = min(
            set(tables.codes[: problems.starts[len(tables.of)]].tolist())
            - set(tables.codes[first : first + k].tolist())
        )
        return codes

    around(patch, mutual_cover, "drawn_codes", strange)


def one_unit_more(patch: pytest.MonkeyPatch) -> None:
    """Rounding gives a cell that has all that delta allows one unit more, of the same row."""

    def breach(units: Any, problems: Problems, *_: Any) -> Any:
        for p in range(len(problems)):
            counts, cells = (
                problems.counts[problems.starts[p] : problems.starts[p + 1]],
                problems.part(units, p),
            )
            for i, j in np.ndindex(*cells.shape):
                if cells[i, j] == 0 or 4 * (cells[i, j] + 1) <= counts @ cells[:, j] + counts[i]:
                    continue
                others = [x for x in range(len(counts)) if x != j and cells[i, x] > 0]
                if others and counts[i] < 4:
                    cells[i, j] += 1
                    cells[i, others[0]] -= 1
                    return units
        raise AssertionError("no cell has all that delta allows")

    around(patch, output_tables, "rounded", breach)


def a_row_too_long(patch: pytest.MonkeyPatch) -> None:
    """A row of a table sums to a unit more than it may."""

    def longer(units: Any, *_: Any) -> Any:
        units[int(units.argmax())] += 1
        return units

    around(patch, output_tables, "rounded", longer)


def may_stay(patch: pytest.MonkeyPatch) -> None:
    """Tables are made for every attribute by itself, and rows are drawn as if everybody changed by
    them.
    """
    real = output_tables.units_of
    patch.setattr(
        output_tables,
        "units_of",
        lambda layout, delta, _, denominator: real(layout, delta, 0, denominator),
    )


def more_than_delta(patch: pytest.MonkeyPatch) -> None:
    """Each of a group publishes the value of the next one."""

    def next_one(units: Any, problems: Problems, *_: Any) -> Any:
        for p in range(len(problems)):
            cells = problems.part(units, p)
            whole = cells[0].sum()
            cells[:] = whole * np.roll(np.eye(len(cells), dtype=np.int64), 1, axis=1)
        return units

    around(patch, output_tables, "rounded", next_one)


def none_turned(patch: pytest.MonkeyPatch) -> None:
    """Values are published as often as they occur in a group, by those who have them, too."""
    real = output_tables.alike
    patch.setattr(output_tables, "alike", lambda layout, delta, _: real(layout, delta, 0))
    patch.setattr(
        output_tables, "_stay", lambda layout, *_: np.zeros(layout.groups, dtype=np.bool_)
    )


def others_illnesses(patch: pytest.MonkeyPatch) -> None:
    """Each row gets the illness of the row after it, so that all are as frequent as before."""

    def moved(found: Any, *_: Any) -> Any:
        form, row = found
        return replace(
            form,
            table=form.table.with_columns(
                pl.col("ill").gather((pl.int_range(pl.len()) + 1) % pl.len())
            ),
        ), row

    around(patch, mutual_cover, "perturb", moved)


def an_illness_of_nobody(patch: pytest.MonkeyPatch) -> None:
    """One row gets another illness, so that this one is too frequent by one."""

    def other(found: Any, *_: Any) -> Any:
        form, row = found
        ill = form.table["ill"].to_list()
        ill[0] = next(value for value in ill if value != ill[0])
        return replace(form, table=form.table.with_columns(ill=pl.Series(ill))), row

    around(patch, mutual_cover, "perturb", other)


BROKEN: dict[str, tuple[Break, dict[str, Any], str]] = {
    "tables are ignored": (ignores_tables, {}, "drawing"),
    "nobody changes": (all_as_they_were, {}, "changed rows"),
    "one row as it was": (one_as_it_was, {}, "changed rows"),
    "a value of another group": (of_another_group, {}, "drawing"),
    "one unit more than delta": (
        one_unit_more,
        {"outputs": "least-cost"},
        "delta-probability",
    ),
    "alike, more than delta": (more_than_delta, {}, "delta-probability"),
    "alike, and none is turned": (none_turned, {"changes": 2}, "changed rows|drawing"),
    "a row of a table too long": (a_row_too_long, {}, "random output tables"),
    "tables by which some may stay": (
        may_stay,
        {"changes": 2, "outputs": "least-cost"},
        "changed rows|drawing",
    ),
    "others' illnesses": (others_illnesses, {}, "truth"),
    "an illness of nobody": (an_illness_of_nobody, {}, "values of the original"),
}


@pytest.mark.parametrize(("spoil", "parameters", "found"), BROKEN.values(), ids=BROKEN)
def test_a_broken_maker_publishes_nothing(tmp_path, monkeypatch, spoil, parameters, found):
    """The fault is found by the part of the check that is about it, and nothing leaves; unbroken,
    the same is published.
    """
    with monkeypatch.context() as patch:
        spoil(patch)
        with pytest.raises(GuaranteeError, match=rf"[:(] ?({found}): bound"):
            publish(tmp_path, **parameters)
    assert list((tmp_path / "out").iterdir()) == []
    publish(tmp_path, **parameters)
    assert len(list((tmp_path / "out").iterdir())) == 1
