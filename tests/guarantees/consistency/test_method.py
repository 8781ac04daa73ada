# SPDX-License-Identifier: Apache-2.0
"""What a manifest says of its method, and of what the method promises: it cannot be more than it
promises, nor say of itself what its parameters refute.
"""

from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from phalanx import GlobalGuarantee, Schema, Series, Slicing, verify
from phalanx.guarantees.consistency.method import _METHODS, method_faults
from phalanx.methods.base import make, registered
from phalanx.release.manifest import Manifest
from support.tampering_cases import METHODS, chained, issue, notes, people, refusal, stated

ALL = METHODS | {"exposed": GlobalGuarantee(l=2, protect=["flu"])}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, Path]]:
    """One release by each method, with its manifest as it was."""
    made = {
        kind: issue(tmp_path_factory.mktemp(kind), method, [people()])[0]
        for kind, method in ALL.items()
    }
    return {kind: ((path / "release.json").read_bytes(), path) for kind, path in made.items()}


def bent(releases: dict[str, tuple[bytes, Path]], kind: str, **changes: object) -> str:
    """What is said against a release whose manifest was edited."""
    manifest, path = releases[kind]
    try:
        stated(path, **changes)
        return refusal([path])
    finally:
        (path / "release.json").write_bytes(manifest)


def also(**more: object) -> object:
    return lambda method: method | more


def without(*parameters: str) -> object:
    return lambda method: {name: said for name, said in method.items() if name not in parameters}


def weaker(name: str) -> object:
    """The promises, of which the last one has another name and the same numbers."""
    kept = {"k", "l", "m"}
    return lambda listed: [
        *listed[:-1],
        {"name": name} | {key: value for key, value in listed[-1].items() if key in kept},
    ]


def protecting(value: str) -> object:
    return lambda listed: [listed[0] | {"protected": [value]}]


@pytest.mark.parametrize("kind", ALL)
def test_what_a_method_says_of_itself_holds(releases, kind):
    """An honest manifest has no such fault."""
    assert bent(releases, kind) == ""


@pytest.mark.parametrize(
    ("kind", "changes", "what"),
    [
        ("generalized", {"guarantees": lambda g: g[:1]}, "l = 2, and nothing promises it"),
        ("generalized", {"method": also(t=0.01)}, "t = 0.01, and nothing promises it"),
        ("generalized", {"method": {"name": "m-invariance", "m": 10}}, "m = 10, and nothing promises it"),
        ("generalized", {"method": {"name": "safe-sampling"}}, "it is generalized, and safe-sampling publishes recoded"),
        ("perturbed", {"method": also(k=5000)}, "k = 5000, and there are 240 rows and registered persons"),
        ("perturbed", {"holds_if_method_known": True}, "by what it says of mutual-cover they do not"),
        ("generalized", {"method": also(cuts="strict"), "holds_if_method_known": True}, "of mondrian they do not"),
        ("series", {"method": also(changed="suppress"), "holds_if_method_known": True}, "of m-invariance they do not"),
        ("series", {"method": also(changed="suppress"), "holds_if_method_known": False}, "rows may be suppressed (changed-value)"),
        ("series", {"method": also(remember=False), "holds_if_method_known": True}, "of m-invariance they do not"),
        ("exposed", {"method": also(grouping="bottom-up"), "holds_if_method_known": True}, "of global-guarantee they do not"),
        ("exposed", {"method": also(permanent=["flu"]), "holds_if_method_known": True}, "of global-guarantee they do not"),
        ("exposed", {"may_suppress": []}, "rows may be suppressed (no-group, spent-budget)"),
        ("sliced", {"method": also(sensitive_column_size=2), "holds_if_method_known": True}, "of slicing they do not"),
        ("sliced", {"method": also(not_eligible="suppress")}, "rows may be suppressed (not-eligible)"),
        ("generalized", {"guarantees": weaker("distinct-l-diversity")}, "it promises frequency-l-diversity, and no"),
        ("generalized", {"method": also(diversity="entropy")}, "it promises entropy-l-diversity, and no"),
        ("sliced", {"guarantees": weaker("distinct-l-diverse-slicing")}, "it promises l-diverse-slicing, and no"),
        ("sliced", {"method": also(cuts="relaxed", check="exact")}, "it promises l-diverse-slicing-counted, and no"),
        ("series", {"guarantees": weaker("m-invariance-consecutive")}, "it promises m-invariance, and no"),
        ("series", {"guarantees": weaker("m-uniqueness")}, "it promises m-invariance, and no"),
        ("exposed", {"guarantees": weaker("frequency-l-diversity")}, "it promises global-guarantee, and no"),
        ("exposed", {"guarantees": protecting("nope")}, "it promises global-guarantee, and no"),
        ("exposed", {"method": also(protect="all")}, "it promises global-guarantee, and no"),
        ("exposed", {"method": also(permanent=["flu"])}, "it promises global-guarantee, and no"),
        ("bucketized", {"guarantees": weaker("frequency-l-diversity")}, "it promises anatomy-l-diversity, and no"),
        ("perturbed", {"guarantees": [{"name": "k-anonymity", "k": 2}]}, "it promises mutual-cover, and no"),
    ],
)  # fmt: skip
def test_what_it_says_and_cannot_be(releases, kind, changes, what):
    """A manifest that says more of its method than is promised, or than its parameters allow."""
    assert what in bent(releases, kind, **changes)


def test_registered_persons_fill_groups(tmp_path):
    """So that fewer rows than k may be published; and what an older release states of who knows the
    method is not covered beside them.
    """
    everyone = pl.DataFrame({"who": range(100), "age": [20 + i % 50 for i in range(100)]})
    table = everyone.head(4).with_columns(ill=pl.Series(["flu", "gout", "hiv", "flu"]))
    schema = Schema(identifier="who", quasi=["age"], sensitive="ill")
    method = GlobalGuarantee(l=2, k=6)
    series = Series(
        "s", schema, method, to=tmp_path, ledger=f"sqlite:///{tmp_path}/l.db", report=False
    )
    path = series.publish(table, registry=everyone).path
    assert verify(path).holds
    stated(path, holds_if_method_known=True)
    said = {v.name: v for v in verify(path).checks}
    known = said["release 1: adversary who knows the method"]
    assert (known.result, "beside registered persons they may not" in known.note) == (
        "not covered",
        True,
    )


OPTIONS: dict[str, list[dict[str, object]]] = {
    "mondrian": [
        {"k": 4}, {"k": 4, "l": 2}, {"k": 4, "l": 2, "cuts": "strict"}, {"k": 4, "cuts": "strict"}, {"k": 4, "t": "1/2"},
        {"k": 4, "l": 2, "diversity": "distinct"}, {"k": 4, "l": 2, "diversity": "entropy"}, {"k": 4, "l": 2, "diversity": "recursive", "c": 2},
    ],
    "anatomy": [{"l": 2}],
    "m-invariance": [
        {"m": 2}, {"m": 2, "balancing": "paper"}, {"m": 2, "remember": False}, {"m": 2, "changed": "suppress"},
        {"m": 2, "changed": "new-record"}, {"m": 2, "not_eligible": "suppress"},
    ],
    "global-guarantee": [
        {"l": 2}, {"l": 2, "grouping": "bottom-up"}, {"l": 2, "permanent": ["hiv"]}, {"l": 2, "protect": ["hiv", 3]},
        {"l": 2, "protect": {"least_frequent": 0.1}},
    ],
    "slicing": [
        {"l": 2, "columns": 2}, {"l": 2, "columns": 2, "sensitive_column_size": 1}, {"l": 2, "columns": [["a"], ["b"]]},
        {"l": 2, "columns": [["a"], ["b"]], "cuts": "balanced"}, {"l": 2, "columns": 2, "not_eligible": "suppress"},
        {"l": 2, "columns": 2, "grouping": "membership", "bucket_size": 2}, {"l": 2, "columns": 2, "workload": [["a", "b"]]},
        {"l": 2, "columns": 2, "cuts": "balanced", "workload": [["a", "b"]]}, {"l": 2, "columns": 2, "diversity": "distinct"},
        {"l": 2, "columns": 2, "diversity": "recursive", "c": 2}, {"l": 2, "columns": 2, "t": "1/2"},
        {"l": 2, "columns": 2, "cuts": "relaxed", "check": "exact"}, {"l": 2, "columns": 2, "cuts": "relaxed", "not_eligible": "suppress"},
        {"l": 2, "columns": 2, "cuts": "relaxed", "check": "local"},
    ],
    "mutual-cover": [{"delta": "1/4"}],
    "safe-sampling": [{"epsilon": 1, "delta": 1e-6}],
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_what_is_known_of_a_method_is_what_it_says(name):
    """The check shares no code with it, and must come to the same."""
    for options in OPTIONS[name]:
        method = make(name, options)
        said, known = method.parameters(), _METHODS[name]
        assert known.tells(said) == (not method.holds_if_method_known), options
        assert known.suppresses(said) == set(method.may_suppress), options
        promised = [promise.parameters() for promise in method.guarantees]
        assert known.parameters | {"name"} >= said.keys() >= known.tell_by(said), options
        for asked, of_it in known.asks(said).items():
            (one,) = (promise for promise in promised if promise["name"] == asked)
            assert all((one.get(field) or None) == (of or None) for field, of in of_it.items()), (
                options
            )
        about_values = {promise["name"] for promise in promised} - {"k-anonymity"}
        assert about_values == known.asks(said).keys(), options
        assert {form for promise in method.guarantees for form in promise.forms} >= {known.form}


def test_of_another_method_nothing_is_known(releases):
    """What a method of another package says of itself is its own."""
    assert bent(releases, "generalized", method={"name": "acme", "m": 50}) == ""


def test_a_promise_that_stands_twice(tmp_path):
    """It is a fault, in a series too, and is checked once."""
    series = issue(tmp_path, METHODS["series"], [people(), people()])
    for path in series:
        stated(path, guarantees=lambda g: g + g)
    chained(series)
    for given in (series[:1], series):
        assert "the promise m-invariance stands twice" in refusal(given)
    assert notes(series[:1]).count("m-uniqueness") == notes(
        issue(tmp_path / "once", METHODS["series"], [people()])
    ).count("m-uniqueness")


def test_a_cell_of_nobody_is_no_fault():
    """A sample of which nothing is published may have fewer rows than k."""
    manifest = Manifest(
        series="s", number=1, form="recoded", method={"name": "safe-sampling", "k": 20},
        guarantees=[{"name": "differential-privacy", "k": 20}], attributes=[], rows=0, groups=0, counterfeits=0,
        boxes="fixed", files=[],
    )  # fmt: skip
    assert list(method_faults(manifest)) == []


@pytest.mark.parametrize("kind", ALL)
def test_a_parameter_that_a_method_does_not_have(releases, kind):
    """Anything could be hidden under a name that nothing reads."""
    assert "'note', which is no parameter of" in bent(releases, kind, method=also(note="x has y"))


@pytest.mark.parametrize("name", _METHODS)
def test_all_parameters_of_a_method_are_known(name):
    """Those of its class, whichever of them its manifests show."""
    own = {f.name for f in fields(registered()[name].load())}
    planned = {
        "scheme",
        "depth",
        "budget",
        "expected_rows",
        "allow_empty",
    }  # shown elsewhere, or of no release
    assert own - (planned if name == "safe-sampling" else set()) == _METHODS[name].parameters


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("series", ["balancing"]),
        ("series", ["remember"]),
        ("series", ["changed", "not_eligible"]),
        ("generalized", ["cuts"]),
        ("sliced", ["grouping"]),
        ("sliced", ["cuts"]),
        ("exposed", ["grouping"]),
    ],
)
def test_what_tells_of_an_adversary_who_knows_the_method_is_said(releases, kind, parameters):
    """Who leaves out how groups were made cannot say that they tell nothing."""
    less = {"method": without(*parameters), "holds_if_method_known": True}
    told = bent(releases, kind, **less)
    assert "adversary who knows the method" in told
    assert f"{', '.join(parameters)} of" in told or "they do not" in told


@pytest.mark.parametrize("method", [{}, {"name": ""}, {"name": 3}, {"k": 4}])
def test_a_release_of_no_method(releases, method):
    """It is said by which method it was made."""
    assert "does not say by which method" in bent(releases, "generalized", method=method)


def test_what_another_package_says_of_its_method_is_not_said_by_this_one(releases):
    """Nothing is known of it, and the sentence says so."""
    manifest, path = releases["generalized"]
    try:
        stated(path, method={"name": "acme"}, holds_if_method_known=True)
        assert "its package says so, and nothing here tells" in notes([path])
    finally:
        (path / "release.json").write_bytes(manifest)


def test_intervals_of_slicing_say_how_they_were_made(tmp_path):
    """Without it, they would be said to tell nothing to who knows the method."""
    slicing = Slicing(l=2, columns=2, grouping="random", bucket_size=20, generalize_columns_k=60)
    (path,) = issue(tmp_path, slicing, [people()])
    assert refusal([path]) == ""
    stated(path, method=without("generalize_columns_k"), holds_if_method_known=True)
    assert "says no generalize_columns_k" in refusal([path])
