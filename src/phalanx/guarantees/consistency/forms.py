# SPDX-License-Identifier: Apache-2.0
"""How the tables of a form contradict each other, looked for once: of ours as the checks see it, of
another package's as it says itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from phalanx.guarantees.consistency.buckets import bucketized_faults, sliced_faults
from phalanx.guarantees.consistency.perturbed import row_faults
from phalanx.guarantees.consistency.recoded import cell_faults
from phalanx.release.form import Form

_OF_BUCKETS: Final[Mapping[str, Callable[..., Sequence[str]]]] = {
    "sliced": sliced_faults,
    "bucketized": bucketized_faults,
}
_OURS: Final[Mapping[str, Callable[[Any], Sequence[str]]]] = {
    **_OF_BUCKETS,
    "generalized": lambda _: (),  # its groups and boxes are looked at with the release
    "perturbed": row_faults,
    "recoded": cell_faults,
}
_seen: WeakKeyDictionary[Form, Sequence[str]] = WeakKeyDictionary()


def form_faults(form: Form) -> Sequence[str]:
    """What is wrong with a form, one sentence each."""
    if form not in _seen:
        look = _OURS.get(form.kind)
        _seen[form] = _as_it_says(form) if look is None else look(form)
    return _seen[form]


def _as_it_says(form: Form) -> Sequence[str]:
    """What another package says of its own form, and whether its figures are those of its rows."""
    faults = form.faults()
    if not isinstance(faults, Sequence) or isinstance(faults, str):
        return ["its faults are no list, so that nothing was checked"]
    if faults or not form.id_column:
        return faults
    counted = form.sensitive_counts()
    rows = len(counted.groups) if counted.times is None else int(counted.times.sum())
    groups = counted.groups.n_unique()
    if (rows, groups) == (form.rows, form.groups):
        return faults
    return [
        f"it has {rows} rows in {groups} groups, and says {form.rows} rows in {form.groups} groups"
    ]


def part_faults(form: Form) -> Sequence[str]:
    """The same of what may be a part of a release, as that of the applicable values: its buckets
    are numbered as in the whole, not one after the other.
    """
    faults, look = form_faults(form), _OF_BUCKETS.get(form.kind)
    return faults if not faults or look is None else look(form, numbered=False)
