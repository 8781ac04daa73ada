"""Perturbed releases by hand, for tests of who attacks or checks them."""

from pathlib import Path

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.randomness import Randomness
from phalanx.release.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest
from phalanx.release.perturbed import perturb

QUASI = ["a", "b", "c"]
KINDS = {"a": pl.Int64, "b": pl.String, "c": pl.String, "s": pl.String}


def people(rows, *, persons=False, **schema):
    """Rows (a, b, c, s) as microdata; with ``persons``, each is a person of its own."""
    said = {"types": {"a": "numeric", "b": "categorical", "c": "categorical"}, "quasi": QUASI, "sensitive": "s"} | schema
    frame = pl.DataFrame(rows, schema=KINDS, orient="row")
    if persons:
        frame = frame.with_columns(who=pl.Series([f"p{i}" for i in range(len(rows))]))
    return Microdata.encode(frame, Schema(identifier="who" if persons else None, missing="value", **said), PersonKey(bytes(32)))


def of_form(form, method=None):
    """A form as a release of its own."""
    manifest = Manifest(
        series="small", number=1, form=form.kind, method=method or {"name": "by hand"}, guarantees=[], attributes=list(form.attributes), rows=form.rows,
        groups=form.groups, counterfeits=0, registered=0, boxes="tight", per="person", files=[], **form.said(),
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def perturbed(microdata, drawn, seed=1, **more):
    """The microdata published with the drawn codes (n, d) of its quasi-identifiers: a release, and the evidence of who is in which row."""
    codes = np.asarray(drawn, dtype=np.int32).reshape(microdata.rows, -1)
    named = {name: codes[:, i] for i, name in enumerate(microdata.schema.quasi)}
    form, rows = perturb(microdata, named, Randomness.seeded(seed).stream("small"))
    return of_form(form), Evidence(microdata={1: microdata}, rows={1: rows}, **more)


def codes_of(microdata):
    """Everybody's quasi-identifiers as codes, shape (n, d)."""
    return np.stack([column.codes for column in microdata.quasi], axis=1)
