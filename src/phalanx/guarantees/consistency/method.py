# SPDX-License-Identifier: Apache-2.0
"""What a manifest says of its method, beside what it promises: of the methods of this package it is
known which form they publish, which of their parameters are promises, and what their parameters tell
of an adversary who knows the method and of suppressed rows. Of other methods nothing is known, and
nothing is asked but a name.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from phalanx.release.manifest import Manifest

_Parameters = Mapping[str, Any]


def _no_reason(_: _Parameters) -> frozenset[str]:
    return frozenset()


def _nothing(_: _Parameters) -> Mapping[str, _Parameters]:
    return {}


@dataclass(frozen=True)
class _Known:
    """What is known of a method."""

    form: str
    promised: frozenset[str]
    """Parameters that are promises wherever they are given."""
    parameters: frozenset[str]
    """All of its parameters."""
    tells: Callable[[_Parameters], bool]
    """Whether these parameters let an adversary who knows the method infer more than is promised."""
    tell_by: Callable[[_Parameters], frozenset[str]] = _no_reason
    """By which of its parameters that is so or not."""
    suppresses: Callable[[_Parameters], frozenset[str]] = _no_reason
    """Why rows may be suppressed with them."""
    asks: Callable[[_Parameters], Mapping[str, _Parameters]] = _nothing
    """Which promises they ask for, by name, with what each must say beside its numbers."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _about_values(method: _Parameters) -> bool:
    return any(method.get(name) is not None for name in ("l", "t"))


def _mondrian_tells(method: _Parameters) -> bool:
    return _about_values(method) and method.get("cuts", "balanced") != "balanced"


def _m_invariance_tells(method: _Parameters) -> bool:
    careful = {"balancing": "exact", "changed": "refuse", "not_eligible": "refuse"}
    return method.get("remember") is False or any(
        method.get(name, word) != word for name, word in careful.items()
    )


def _slicing_tells(method: _Parameters) -> bool:
    chosen = isinstance(method.get("columns"), int) and not method.get("workload")
    chosen |= method.get("generalize_columns_k") is not None
    cut = method.get("grouping") == "mondrian" and method.get("cuts", "balanced") != "balanced"
    return cut or (chosen and method.get("sensitive_column_size") != 1)


def _mondrian_tells_by(method: _Parameters) -> frozenset[str]:
    return frozenset({"cuts"} if _about_values(method) else ())


def _slicing_tells_by(method: _Parameters) -> frozenset[str]:
    return frozenset(
        {"columns", "grouping"} | ({"cuts"} if method.get("grouping") == "mondrian" else set())
    )


_OF_SHARES: Final[Mapping[str, str]] = {
    "frequency": "l-diverse-slicing",
    "distinct": "distinct-l-diverse-slicing",
    "recursive": "recursive-l-diverse-slicing",
}


def _mondrian_asks(method: _Parameters) -> Mapping[str, _Parameters]:
    asked = []
    if method.get("l") is not None:
        asked.append(f"{method.get('diversity', 'frequency')}-l-diversity")
    if method.get("t") is not None:
        asked.append("t-closeness")
    return {name: {} for name in asked}


def _slicing_asks(method: _Parameters) -> Mapping[str, _Parameters]:
    diversity = method.get("diversity", "frequency")
    asked = [_OF_SHARES.get(str(diversity), str(diversity))]
    several = method.get("cuts") == "relaxed" or method.get("generalize_columns_k") is not None
    refuses = method.get("not_eligible", "refuse") == "refuse"
    if diversity == "frequency" and method.get("check") == "exact" and several and refuses:
        asked.append("l-diverse-slicing-counted")
    if method.get("t") is not None:
        asked.append("t-close-slicing")
    return {name: {} for name in asked}


def _m_invariance_asks(method: _Parameters) -> Mapping[str, _Parameters]:
    return {f"m-invariance{'-consecutive' * (method.get('remember') is False)}": {}}


def _global_asks(method: _Parameters) -> Mapping[str, _Parameters]:
    protect = method.get("protect", "all")
    listed = protect if isinstance(protect, list) else "all"
    but = {} if isinstance(protect, dict) else {"unprotected": None}
    return {"global-guarantee": {"protected": listed, "permanent": method.get("permanent"), **but}}


def _always(name: str) -> Callable[[_Parameters], Mapping[str, _Parameters]]:
    return lambda _: {name: {}}


def _where_asked(**words: str) -> Callable[[_Parameters], frozenset[str]]:
    """The reasons of parameters that say "suppress"."""
    return lambda method: frozenset(
        reason for name, reason in words.items() if method.get(name) == "suppress"
    )


def _global_suppresses(method: _Parameters) -> frozenset[str]:
    spent = {"spent-budget"} if method.get("grouping", "balanced") == "balanced" else set()
    return frozenset({"no-group"} | spent)


_METHODS: Final[Mapping[str, _Known]] = {
    "anatomy": _Known(
        "bucketized",
        frozenset("l"),
        frozenset("l"),
        lambda _: False,
        asks=_always("anatomy-l-diversity"),
    ),
    "global-guarantee": _Known(
        "generalized",
        frozenset("l"),
        _words("l strategy horizon alpha protect permanent expected_later grouping k min_width"),
        lambda method: (
            method.get("grouping", "balanced") != "balanced" or bool(method.get("permanent"))
        ),
        lambda _: frozenset({"grouping"}),
        _global_suppresses,
        _global_asks,
    ),
    "m-invariance": _Known(
        "generalized",
        frozenset("m"),
        _words("m balancing regions remember changed not_eligible min_width"),
        _m_invariance_tells,
        lambda _: _words("balancing remember changed not_eligible"),
        _where_asked(changed="changed-value", not_eligible="not-eligible"),
        _m_invariance_asks,
    ),
    "mondrian": _Known(
        "generalized",
        frozenset("klct"),
        _words("k l diversity c t distance cuts cut_at keep_cuts min_width"),
        _mondrian_tells,
        _mondrian_tells_by,
        asks=_mondrian_asks,
    ),
    "mutual-cover": _Known(
        "perturbed",
        frozenset({"delta", "changes"}),
        _words("delta k grouping outputs changes distances bounds keep_tables"),
        lambda _: True,
        asks=_always("mutual-cover"),
    ),
    "safe-sampling": _Known(
        "recoded",
        frozenset({"epsilon", "delta", "k", "beta"}),
        _words("epsilon delta k beta accounting epsilon_scheme choose"),
        lambda _: False,
        asks=_always("differential-privacy"),
    ),
    "slicing": _Known(
        "sliced",
        frozenset("lct"),
        _words(
            "l diversity columns sensitive_column_size workload generalize_columns_k check cuts"
            " grouping bucket_size not_eligible bins c t distance compact"
        ),
        _slicing_tells,
        _slicing_tells_by,
        _where_asked(not_eligible="not-eligible"),
        _slicing_asks,
    ),
}


def is_of_this_package(manifest: Manifest) -> bool:
    """Whether it is known what the method of a manifest is."""
    return manifest.method.get("name") in _METHODS


def _form_faults(manifest: Manifest, form: str) -> Iterator[str]:
    """What is published otherwise than a method does it."""
    name, columns = manifest.method.get("name"), manifest.method.get("generalize_columns_k")
    if manifest.form != form:
        yield f"it is {manifest.form}, and {name} publishes {form} releases"
    elif (
        form == "sliced"
        and columns is None
        and any(len(a.columns) > 1 for a in manifest.attributes)
    ):
        yield "it has intervals, and the method says no generalize_columns_k, which makes them"


def method_faults(manifest: Manifest) -> Iterator[str]:
    """What a manifest says of a method of this package, and cannot be so."""
    method, name = manifest.method, manifest.method.get("name")
    if not isinstance(name, str) or not name:
        yield "it does not say by which method it was made"
        return
    known = _METHODS.get(name)
    if known is None:
        return
    for parameter in sorted(method.keys() - known.parameters - {"name"}):
        yield f"the method says {parameter[:40]!r}, which is no parameter of {name}"
    yield from _form_faults(manifest, known.form)
    promised = {parameter for promise in manifest.guarantees for parameter in promise}
    for parameter in sorted(known.promised - promised & method.keys()):
        if method.get(parameter) is not None and (parameter, method[parameter]) != ("k", 1):
            yield f"the method says {parameter} = {method[parameter]}, and nothing promises it"
    for asked, fields in known.asks(method).items():
        if not any(
            promise.get("name") == asked
            and all((promise.get(field) or None) == (of or None) for field, of in fields.items())
            for promise in manifest.guarantees
        ):
            yield f"by what the method says it promises {asked}, and no promise says so"
    k = method.get("k")
    persons = manifest.rows + manifest.registered
    if isinstance(k, int) and k > persons > 0:
        yield f"the method says k = {k}, and there are {persons} rows and registered persons"
    if manifest.holds_if_method_known and known.tells(method):
        yield (
            "it says that its promises hold also against an adversary who knows the method, and by"
            f" what it says of {name} they do not"
        )
    elif manifest.holds_if_method_known and (unsaid := known.tell_by(method) - method.keys()):
        yield (
            "it says that its promises hold also against an adversary who knows the method, and not"
            f" {', '.join(sorted(unsaid))} of {name}, by which that is told"
        )
    silent = known.suppresses(method) - set(manifest.may_suppress or ())
    if silent and manifest.may_suppress is not None:
        yield f"it does not say that rows may be suppressed ({', '.join(sorted(silent))})"
