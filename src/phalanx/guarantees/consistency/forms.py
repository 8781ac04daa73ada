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

_OURS: Final[Mapping[str, Callable[[Any], Sequence[str]]]] = {
    "generalized": lambda _: (),  # its groups and boxes are looked at with the release
    "sliced": sliced_faults,
    "bucketized": bucketized_faults,
    "perturbed": row_faults,
    "recoded": cell_faults,
}
_seen: WeakKeyDictionary[Form, Sequence[str]] = WeakKeyDictionary()


def form_faults(form: Form) -> Sequence[str]:
    """What is wrong with a form, one sentence each."""
    if form not in _seen:
        look = _OURS.get(form.kind)
        _seen[form] = form.faults() if look is None else look(form)
    return _seen[form]
