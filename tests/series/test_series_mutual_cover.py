# SPDX-License-Identifier: Apache-2.0
"""Mutual cover on the way of the data: what a broken method would publish is found by the check of
the written files, and does not leave.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx import Ledger, Schema, Series
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError
from phalanx.methods.base import Draft, Memory
from phalanx.methods.mutual_cover.method import MutualCover, Outputs
from phalanx.randomness import Randomness
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.forms.perturbed import Perturbed


def table(n: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "who": range(n),
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": [["a", "b", "c", "d"][i % 4] for i in range(n)],
        }
    )


def series_in(to: Path, *, persons: bool = True, outputs: Outputs = "alike") -> Series:
    schema = Schema(
        identifier="who" if persons else None,
        quasi=["age", "sex"],
        sensitive="ill",
        drop=[] if persons else ["who"],
    )
    method = MutualCover(delta="1/4", keep_tables=True, outputs=outputs)
    return Series(
        "s",
        schema=schema,
        method=method,
        to=to / "out",
        ledger=f"sqlite:///{to}/l.db",
        report=False,
    )


Spoil = Callable[[Draft, Perturbed, OutputTables, Microdata], Draft]


def as_it_was(draft: Draft, form: Perturbed, _: OutputTables, microdata: Microdata) -> Draft:
    """The row of the first person shows their own values."""
    own = {
        name: column.domain.values[int(column.codes[0])]
        for name, column in microdata.columns.items()
    }
    here = pl.int_range(pl.len()) == int(draft.groups[0]) - 1
    columns = [
        pl.when(here)
        .then(pl.lit(own[name], dtype=form.table[name].dtype))
        .otherwise(name)
        .alias(name)
        for name in form.table.columns
    ]
    return replace(draft, form=replace(form, table=form.table.with_columns(columns)))


def more_than_delta(draft: Draft, _: Perturbed, outputs: OutputTables, __: Microdata) -> Draft:
    """The tuples of one class keep their value."""
    units = outputs.units.copy()
    table = next(
        t for t in range(len(outputs.starts) - 1) if outputs.starts[t + 1] - outputs.starts[t] > 1
    )
    k = int(outputs.starts[table + 1] - outputs.starts[table])
    units[outputs.cells[table] : outputs.cells[table] + k] = 0
    units[outputs.cells[table]] = outputs.denominator
    return replace(draft, evidence=replace(outputs, units=units))


def others_rows(draft: Draft, form: Perturbed, _: OutputTables, __: Microdata) -> Draft:
    """Two persons with different illnesses are said to be in each other's rows."""
    rows = draft.groups.copy()
    ill = form.table["ill"].gather(rows - 1)
    other = int((ill != ill[0]).arg_max() or 0)
    rows[[0, other]] = rows[[other, 0]]
    return replace(draft, groups=rows)


def invented(draft: Draft, form: Perturbed, _: OutputTables, __: Microdata) -> Draft:
    """One age is nobody's."""
    return replace(
        draft,
        form=replace(
            form,
            table=form.table.with_columns(
                age=pl.when(pl.int_range(pl.len()) == 3).then(99).otherwise("age")
            ),
        ),
    )


def one_group(draft: Draft, _: Perturbed, outputs: OutputTables, __: Microdata) -> Draft:
    """All rows are said to be of one group, with its tables."""
    return replace(
        draft, evidence=replace(outputs, group=np.zeros_like(outputs.group), of=outputs.of[:1])
    )


def a_value_exchanged(draft: Draft, form: Perturbed, _: OutputTables, __: Microdata) -> Draft:
    """Two sensitive values stand in each other's rows, each as often as before."""
    other = int((form.table["ill"] != form.table["ill"][0]).arg_max() or 0)
    order = list(range(form.rows))
    order[0], order[other] = other, 0
    return replace(
        draft,
        form=replace(form, table=form.table.with_columns(ill=form.table["ill"].gather(order))),
    )


BROKEN: dict[str, tuple[Spoil, str]] = {
    "a row as it was": (as_it_was, "mutual-cover: changed rows"),
    "more than delta": (more_than_delta, "mutual-cover: delta-probability"),
    "rows of others": (others_rows, "mutual-cover: drawing|mutual-cover: changed rows|truth"),
    "a value of nobody": (invented, "mutual-cover: values of the original"),
    "one group": (one_group, "mutual-cover: random output tables"),
    "a sensitive value exchanged": (a_value_exchanged, "truth"),
}


@pytest.mark.parametrize("persons", [True, False])
@pytest.mark.parametrize(("spoil", "part"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_method_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, part: str, persons: bool
) -> None:
    """Rows, tables or words that are not so are found, with and without persons; nothing is
    published or remembered, and the next release is number 1.
    """
    real = MutualCover.publish
    # in tables alike whoever keeps more than delta changes too seldom, which is found first
    outputs: Outputs = "least-cost" if spoil is more_than_delta else "alike"

    def broken(self: MutualCover, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        draft = real(self, microdata, memory, rng)
        assert isinstance(draft.form, Perturbed) and draft.evidence is not None
        return spoil(draft, draft.form, draft.evidence, microdata)

    with monkeypatch.context() as patch:
        patch.setattr(MutualCover, "publish", broken)
        with pytest.raises(GuaranteeError, match=part):
            series_in(tmp_path, persons=persons, outputs=outputs).publish(table())
    assert list((tmp_path / "out").iterdir()) == []
    with Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        assert ledger.releases("s") == [] and not ledger.remembered("s")
    assert series_in(tmp_path, persons=persons, outputs=outputs).publish(table()).number == 1


@pytest.mark.parametrize("persons", [True, False])
def test_everything_is_checked_when_it_is_published(tmp_path: Path, persons: bool) -> None:
    """With all that the method knows at hand, no part is left unchecked, whether persons are
    declared or not.
    """
    made = series_in(tmp_path, persons=persons).publish(table())
    assert all(v.holds for v in made.checks)
    assert [v.name for v in made.checks if v.note.startswith("not checked")] == []
    assert {v.name.split(": ")[-1] for v in made.checks} >= {
        "changed rows",
        "delta-probability",
        "tuples behind a value",
        "drawing",
        "truth",
    }
