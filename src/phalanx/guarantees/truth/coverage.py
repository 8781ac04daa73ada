# SPDX-License-Identifier: Apache-2.0
"""Whether each person of the original table is published, or counted as suppressed, as far as that
shows without knowing who is in which group.

Published rows that are no counterfeits are of one person each. So the original table has as many
persons more as were suppressed; and persons who fit no group, by their quasi-identifiers and their
value, are among those. What is looked for is necessary, and not enough: who is in which of several
groups only the ledger tells.
"""

from collections.abc import Iterator
from typing import Final

from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.truth.covering import Covering, OfBucketized, OfGeneralized, OfSliced
from phalanx.guarantees.views.widening import follow_persons, widths_of
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.sliced import Sliced
from phalanx.release.part import Part

NAME: Final = "persons of the original"
_OF_ROWS: Final = frozenset({"changed-value", "no-group", "not-eligible"})
"""The reasons of a manifest for which rows may be missing; a spent budget takes values out of rows
that are published.
"""


def check_mapped(release: Release, microdata: Microdata, published: int) -> Verdict:
    """The same where a mapping says how many rows of the original table were ``published``, of
    which :func:`truth.check` asks more.
    """
    faults = list(suppression_faults(release, microdata.rows - published))
    note = f"{microdata.rows} person(s); {_suppressed(microdata.rows - published)}"
    return Verdict(
        name=NAME, bound=0, worst=len(faults), holds=not faults, note="; ".join(faults) or note
    )


def check(
    release: Release, original: Microdata | Combinations, *, hides_values: bool
) -> Verdict | None:
    """What the original table shows of a sound release without a mapping; None for a form of which
    other checks show it. Of a release in parts one part is in memory at a time.

    ``hides_values``: whether rows may show less than their person's value. The worst figure is the
    number of persons and rows that fit nowhere.
    """
    if isinstance(original, Microdata):
        original = Combinations.of(original)
    microdata, covering = original.microdata, None
    real, faults = 0, list[str]()
    for form in _forms(release):
        if lacking := [
            a.name
            for a in form.attributes
            if (a.role == "weight" and microdata.weights is None)
            or (a.role in ("quasi", "sensitive") and a.name not in microdata.columns)
        ]:
            return Verdict(
                name=NAME,
                bound=0,
                worst=None,
                holds=False,
                note=f"the original table has no column {lacking[0]!r}",
            )
        if (
            covering is None
            and (covering := _covering(release, form, original, hides_values=hides_values)) is None
        ):
            return None
        covering.add(form)
        real += form.rows - form.counterfeit_rows
    people = original.people
    faults += suppression_faults(release, people - real)
    if covering is not None:
        faults += covering.faults()
        if covering.uncovered > max(0, people - real):
            faults.append(
                f"{covering.uncovered} person(s) of the original table fit no group, and"
                f" {max(0, people - real)} can be suppressed by the number of rows"
            )
    note = (
        f"{people} person(s); {_suppressed(people - real)}; not checked: who is in which group,"
        " which the ledger tells"
    )
    return Verdict(
        name=NAME, bound=0, worst=len(faults), holds=not faults, note="; ".join(faults) or note
    )


def _forms(release: Release) -> Iterator[Form]:
    """The release, or its parts, one after the other; whole where it shows weights, of which all
    groups are looked at together.
    """
    manifest = release.manifest
    if not manifest.parts or any(a.role == "weight" for a in manifest.attributes):
        yield release.form
        return
    for number in range(len(manifest.parts)):
        yield Part.read_part(release.path, manifest, number).form


def _covering(
    release: Release, form: Form, original: Combinations, *, hides_values: bool
) -> Covering | None:
    """What is looked for in a release of this form; None where other checks do."""
    if isinstance(form, Generalized):
        manifest = release.manifest
        boxes = manifest.boxes if follow_persons(manifest) else None
        widths = widths_of(manifest)
        return OfGeneralized(original, hides_values=hides_values, boxes=boxes, widths=widths)
    if isinstance(form, Bucketized):
        return OfBucketized(original, form)
    if isinstance(form, Sliced):
        return OfSliced(original, form)
    return None


def suppression_faults(release: Release, absent: int) -> Iterator[str]:
    """More rows than persons, or persons without a row where the manifest allows none to be
    suppressed.
    """
    if absent < 0:
        yield (
            f"the release shows {-absent} person(s) more than the original table has, so that"
            " counterfeits are not counted or it is another table"
        )
        return
    reasons = release.manifest.may_suppress
    if absent and reasons is not None and _OF_ROWS.isdisjoint(reasons):
        yield (
            f"{absent} person(s) of the original table are not published, and the manifest says"
            " that none may be suppressed"
        )


def of_draft(release: Release, absent: int, counted: int | None) -> Verdict | None:
    """What is wrong with how many rows of the original are in no group, as the publisher counts
    them; ``counted``: how many the method says that it suppressed, None where that may not be said.
    None where nothing is wrong.
    """
    if release.form.tells_itself_alone:
        return None
    faults = list(suppression_faults(release, absent))
    if counted is not None and counted != absent and not faults:
        faults = [
            f"{absent} row(s) are in no group, and the method says that it suppressed {counted}"
        ]
    if not faults:
        return None
    return Verdict(name=NAME, bound=0, worst=absent, holds=False, note=faults[0])


def _suppressed(absent: int) -> str:
    return f"{absent} of them suppressed" if absent else "none of them suppressed"
