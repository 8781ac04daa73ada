# SPDX-License-Identifier: Apache-2.0
"""Whether a method, a guarantee, a form or an adversary keeps its contract: what every one of ours
passes, and one of another package should.

Each check raises an AssertionError that says in one sentence which part of the contract is broken,
as scikit-learn's ``check_estimator`` does, and returns nothing where none is. They need no test
runner.

>>> from phalanx.guarantees.k_anonymity import KAnonymity
>>> from phalanx import Mondrian, Schema, publish
>>> import polars as pl
>>> people = pl.DataFrame({"age": [30, 31, 40, 41], "ill": ["flu", "cold", "flu", "cold"]})
>>> schema = Schema(quasi=["age"], sensitive="ill")
>>> wide, narrow = (publish(people, schema, Mondrian(k=k), seed=1) for k in (3, 2))
>>> check_guarantee(KAnonymity(k=3), keeps=[wide], breaks=[narrow])
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import polars as pl

from phalanx.adversaries.base import Adversary, Attack
from phalanx.adversaries.opinion import QUESTIONS
from phalanx.data.schema import Schema
from phalanx.errors import GuaranteeError, PhalanxError, fault
from phalanx.guarantees.base import Followed, Graded, Guarantee, Limited, Verdict, Worded
from phalanx.guarantees.registry import KNOWN as GUARANTEES
from phalanx.guarantees.registry import from_parameters
from phalanx.methods.base import Draft, Method
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import FORMATS, Release, write_folder
from phalanx.release.form import Form
from phalanx.release.manifest import NAME, Suppressible
from phalanx.series.series import Series
from phalanx.temporary import temporary_folder

_SENTENCES: Final = 2
"""An error has so many at most."""
_IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LOOKS: Final = ("release", "series", "publishers")


def check_method(method: Method, table: pl.DataFrame, schema: Schema) -> None:
    """Whether a method is one that a series can publish by.

    It is frozen, and shows its name and its own parameters; another kind of value in the place of
    each parameter is an error of one sentence; it publishes ``table`` (with an identifier) twice in a
    series, so that all checks of the written files hold; the same seed gives the same release, and a seed marks it
    as not for publication; neither the table nor the method is changed; and if it says another
    person's group of each person, nothing is published.
    """
    _frozen(method)
    shown = _plain(method.parameters(), "parameters()")
    _must(
        shown.get("name") == method.name,
        f"parameters() names {shown.get('name')!r}, and the method is called {method.name!r}",
    )
    strange = sorted(shown.keys() - {"name"} - {one.name for one in fields(method)})  # type: ignore[arg-type]
    _must(not strange, f"parameters() shows {strange[:1]}, which is no parameter of the method")
    _must(bool(method.guarantees), "it promises nothing, so nothing protects anybody")
    unknown = sorted({*method.may_suppress} - {*get_args(Suppressible)})
    _must(
        not unknown,
        f"may_suppress names {unknown[:1]}, and a manifest takes {', '.join(get_args(Suppressible))}",
    )
    _refuses_nonsense(method)
    before, parameters = table.clone(), deepcopy(vars(method))
    first, again = (
        _without_a_fault(partial(_published, method, table, schema), "publish()") for _ in range(2)
    )
    _must(
        table.equals(before) and parameters == vars(method),
        "publishing changes the table or the method",
    )
    _must(first == again, "the same seed gives another release")
    _must(
        json.loads(first[f"checked-1/{NAME}"])["not_for_publication"],
        "a release with a seed is not marked; draw nothing but by the randomness that is given",
    )
    try:
        _published(_elsewhere(method), table, schema)
    except GuaranteeError:
        return
    raise AssertionError(
        "with each person in the next one's group it is published all the same, or all of the"
        " table is one group; give a larger table."
    )


def check_guarantee(
    guarantee: Guarantee,
    *,
    keeps: Sequence[Release],
    breaks: Sequence[Release],
    evidence: Evidence | None = None,
) -> None:
    """Whether a guarantee is a check: ``keeps`` are releases, each by itself, that keep it,
    ``breaks`` those that do not.

    It is frozen; a manifest can show it, and what is shown makes it again; it holds on the ones,
    not on the others, twice alike, and changes no table; its sentence is one line, it promises
    something, and no less than itself; another kind of value in the place of a parameter is an
    error of one sentence.
    """
    _frozen(guarantee)
    shown = _plain(guarantee.parameters(), "parameters()")
    _must(
        shown.get("name") in GUARANTEES,
        f"no entry point of the group phalanx.guarantees is called {shown.get('name')!r}, so no"
        " manifest that names it can be read",
    )
    _must(
        _IDENTIFIER.fullmatch(str(shown["name"])) is not None,
        f"{shown['name']!r} stands in manifests and is no identifier; use small letters, digits"
        " and '-'",
    )
    _must(
        from_parameters(shown).parameters() == shown,
        "what parameters() shows makes another guarantee",
    )
    _must(bool(guarantee.forms), "it is about no form of release")
    _refuses_nonsense(guarantee)
    _must(
        bool(keeps and breaks),
        "a check is shown by releases that keep the promise and by some that break it; give both",
    )
    for releases, expected in ((keeps, True), (breaks, False)):
        for release in releases:
            tables = {name: table.clone() for name, table in release.form.tables().items()}
            verdicts, again = (
                _without_a_fault(partial(guarantee.check, release, (), evidence), "check()")
                for _ in range(2)
            )
            _must(
                bool(verdicts) and all(isinstance(verdict, Verdict) for verdict in verdicts),
                "check() gives no verdicts",
            )
            _must(
                [v.to_json() for v in verdicts] == [v.to_json() for v in again],
                "the same release is judged in another way when it is checked again",
            )
            _must(
                all(table.equals(tables[name]) for name, table in release.form.tables().items()),
                "checking changes the release",
            )
            if isinstance(guarantee, Followed):
                passed = [
                    verdict
                    for each in guarantee.check_each([release], evidence)
                    for verdict in each
                ]
                _must(
                    [v.to_json() for v in verdicts] == [v.to_json() for v in passed],
                    "check_each() finds something else than check()",
                )
            holds = all(verdict.holds for verdict in verdicts)
            _must(
                holds == expected,
                f"release {release.number} of {release.manifest.series!r}"
                f" {'holds' if holds else 'fails'}, and should not",
            )
    if isinstance(guarantee, Worded):
        for sensitive in (True, False):
            _one_line(guarantee.in_words(sensitive=sensitive), "in_words()")
    if isinstance(guarantee, Limited):
        for headline, sentence in guarantee.limits(keeps[0].manifest):
            _one_line(headline, "a headline of limits()")
            _one_line(sentence, "a sentence of limits()")
    if isinstance(guarantee, Graded):
        _must(guarantee.promises_nothing() == "", "it says that it promises nothing")
        _must(
            not list(guarantee.weaker_than(guarantee)), "it says that it promises less than itself"
        )


def check_form(form: Form) -> None:
    """Whether a form can be written to a folder and read again by anyone who has the package.

    It is found by its kind; each table has the columns of its header; as Parquet and as CSV it is
    read back as it was, and with a file too many, or one too few, it is refused; it has no faults;
    what it says of groups, orders and columns is about its own tables, and adds up to its rows.
    """
    from phalanx.release.kinds import form_class

    _frozen(form)
    try:
        registered = form_class(form.kind)
    except PhalanxError as error:
        raise AssertionError(f"the form is not found by its kind: {error}") from None
    _must(
        registered is type(form),
        f"the kind {form.kind!r} is that of another form, {registered.__name__}",
    )
    tables, headers = form.tables(), form.headers()
    _must(tables.keys() == headers.keys(), "tables() and headers() are not about the same files")
    for name, columns in headers.items():
        _must(
            tables[name].columns == list(columns),
            f"the columns of {name} are not those of headers()",
        )
    _must(isinstance(form.faults(), Sequence), "faults() is no list of sentences")
    _must(
        not form.faults(), f"it says of itself that it has a fault: {next(iter(form.faults()), '')}"
    )
    for formats in (["parquet"], ["csv"], list(FORMATS)):
        _reads_back(form, formats)
    if form.id_column:
        counted = form.sensitive_counts()
        rows = len(counted.groups) if counted.times is None else int(counted.times.sum())
        _must(
            rows == form.rows,
            f"sensitive_counts() is about {rows} row(s), and the form has {form.rows}",
        )
        _must(
            counted.groups.n_unique() == form.groups,
            "sensitive_counts() has another number of groups",
        )
    for order in form.in_random_order():
        _must(
            {*order.within, *order.numbered} <= set(order.table.columns),
            "in_random_order() names columns that its table has not",
        )
    for counts in form.in_sorted_order():
        _must(
            {column for column, _ in counts.by} <= set(counts.table.columns),
            "in_sorted_order() names columns that its table has not",
        )
    for column in form.together():
        _must(
            {"bucket", "count"} <= set(column.counts.columns),
            "together() has a table without bucket and count",
        )


def check_adversary(adversary: Adversary, releases: Sequence[Release], evidence: Evidence) -> None:
    """Whether an adversary can be played on ``releases`` with this ``evidence``.

    It is frozen, and found by its name; it says in one line what it knows, which of the regulator's
    questions it answers, and what it looks at; its attack is about some persons, the same when it
    is made again, and changes nothing; what it found is JSON, and tables of as many columns as they
    have heads; and without evidence it is an error of one sentence, or an attack like any other.
    """
    from phalanx.adversaries.registry import KNOWN

    _frozen(adversary)
    _must(
        adversary.name in KNOWN,
        f"no entry point of the group phalanx.adversaries is called {adversary.name!r}, so that"
        " it cannot be played",
    )
    _must(
        KNOWN[adversary.name] is type(adversary),
        f"the name {adversary.name!r} is that of another adversary",
    )
    _one_line(adversary.knows, "knows")
    _must(adversary.question in QUESTIONS, f"its question is none of {', '.join(QUESTIONS)}")
    _must(
        adversary.looks_at in _LOOKS,
        f"it looks at {adversary.looks_at!r}, and should at one of {', '.join(_LOOKS)}",
    )
    before = [
        {name: table.clone() for name, table in release.form.tables().items()}
        for release in releases
    ]
    attack, again = (
        _without_a_fault(partial(adversary.attack, list(releases), evidence), "attack()")
        for _ in range(2)
    )
    _must(
        isinstance(attack, Attack) and attack.adversary == adversary.name,
        "its attack is no Attack, or is that of another class",
    )
    _must(
        0 <= attack.exposed <= attack.persons and attack.persons > 0,
        "it attacks no person, or exposes more than it attacks",
    )
    _must(
        _plain(attack.to_json(), "to_json()") == again.to_json(),
        "it finds something else when it attacks again; draw by a seed of its own",
    )
    for old, release in zip(before, releases, strict=True):
        _must(
            all(table.equals(old[name]) for name, table in release.form.tables().items()),
            "attacking changes a release",
        )
    _one_line(attack.sentence, "the sentence of what it found")
    for header, rows, right in attack.tables():
        _must(
            all(len(row) == len(header) for row in rows),
            "a row of tables() has more or fewer cells than its header",
        )
        _must(
            all(0 <= place < len(header) for place in right),
            "tables() puts a column to the right that is not there",
        )
    _says_what_is_wrong(lambda: adversary.attack(list(releases), Evidence()), "without evidence")


def _elsewhere(method: Method) -> Method:
    """The broken twin of a method: what it publishes is right, and each person is said to be where
    another person is.
    """

    def publish(_: Any, *given: Any) -> Draft:
        draft: Draft = method.publish(*given)
        inside = np.flatnonzero(draft.groups > 0)
        groups = draft.groups.copy()
        groups[inside] = np.roll(draft.groups[inside], len(inside) // 2)
        return replace(draft, groups=groups)

    twin = copy(method)
    object.__setattr__(
        twin, "__class__", type(type(method).__name__, (type(method),), {"publish": publish})
    )
    return twin


def _published(method: Any, table: pl.DataFrame, schema: Schema) -> Mapping[str, bytes]:
    """The files of a first and a second release with a seed."""
    with temporary_folder() as place:
        series = Series(
            "checked",
            schema,
            method,
            to=place / "out",
            ledger=f"sqlite:///{place}/checked.db",
            seed=1,
            report=False,
        )
        made = [series.publish(table).path for _ in range(2)]
        return {
            str(path.relative_to(place / "out")): path.read_bytes()
            for folder in made
            for path in sorted(folder.iterdir())
        }


def _reads_back(form: Form, formats: Sequence[str]) -> None:
    with temporary_folder() as place:
        path = place / "form-1"
        path.mkdir()
        write_folder(
            path,
            form,
            formats,
            series="form",
            number=1,
            method={"name": "by hand"},
            guarantees=[{"name": "k-anonymity", "k": 2}],
            boxes="exact",
        )
        try:
            read = Release.read(path).form
        except PhalanxError as error:
            raise AssertionError(
                f"written as {' and '.join(formats)} it cannot be read again: {error}"
            ) from None
        _must(type(read) is type(form), "another form is read than was written")
        for name, table in form.tables().items():
            _must(
                read.tables()[name].equals(table),
                f"written as {' and '.join(formats)}, {name} is read as something else",
            )
        _must(
            (read.rows, read.groups, read.attributes) == (form.rows, form.groups, form.attributes),
            "it has other rows, groups or attributes when it is read again",
        )
        extra = path / f"more.{formats[0]}"
        extra.write_bytes(b"")
        _must_refuse(path, "a file too many")
        extra.unlink()
        next(iter(path.glob(f"*.{formats[0]}"))).unlink()
        _must_refuse(path, "a file too few")


def _without_a_fault(call: Callable[[], Any], what: str) -> Any:
    """What it gives; an AssertionError where it fails."""
    try:
        return call()
    except PhalanxError as error:
        raise AssertionError(f"{what} fails: {error}") from error
    except Exception as error:
        raise AssertionError(f"{what} fails: {fault(error)}") from error


def _must_refuse(path: Path, what: str) -> None:
    try:
        Release.read(path)
    except PhalanxError:
        return
    raise AssertionError(f"a folder with {what} is read as if nothing were wrong.")


def _must(holds: bool, sentence: str) -> None:  # noqa: FBT001 - what must hold, and what is wrong where it does not
    if not holds:
        raise AssertionError(f"{sentence}.")


def _frozen(part: Any) -> None:
    """Parameters that do not change after they were validated."""
    _must(
        is_dataclass(part) and not isinstance(part, type), f"{type(part).__name__} is no dataclass"
    )
    name = next((one.name for one in fields(part)), None)
    if name is None:
        _must(bool(type(part).__dataclass_params__.frozen), f"{type(part).__name__} is not frozen")
        return
    try:
        setattr(part, name, getattr(part, name))
    except FrozenInstanceError:
        return
    raise AssertionError(f"{type(part).__name__} is not frozen: its {name} can be changed.")


def _plain(shown: Any, what: str) -> Any:
    """What stands in a manifest or is printed is JSON, and says the same when it is read."""
    try:
        same = json.loads(json.dumps(shown, allow_nan=False)) == shown
    except (TypeError, ValueError):
        same = False
    _must(isinstance(shown, Mapping) and same, f"{what} is no plain JSON object")
    return shown


def _refuses_nonsense(part: Any) -> None:
    """Another kind of value in the place of a parameter is refused where the parameters are made,
    not deep in a kernel.
    """
    for one in fields(part):
        if one.init:
            _says_what_is_wrong(
                partial(replace, part, **{one.name: _Nonsense()}),
                f"{one.name} = {_Nonsense()!r}",
                must=True,
            )


class _Nonsense:
    """A value that no parameter takes."""

    def __repr__(self) -> str:
        return "<nonsense>"


def _says_what_is_wrong(call: Callable[[], object], what: str, *, must: bool = False) -> None:
    """An error is ours, and at most two sentences; ``must``: there has to be one."""
    try:
        call()
    except PhalanxError as error:
        text = str(error)
        _must(
            "\n" not in text and bool(text) and text.count(". ") < _SENTENCES,
            f"{what} is refused in more than two sentences",
        )
    except Exception as error:
        raise AssertionError(
            f"{what} is a {type(error).__name__}, and should be a sentence of phalanx.errors."
        ) from error
    else:
        _must(not must, f"{what} is taken without a word")


def _one_line(text: object, what: str) -> None:
    _must(
        isinstance(text, str) and bool(text.strip()) and "\n" not in str(text),
        f"{what} is not one line of text",
    )


__all__ = ["check_adversary", "check_form", "check_guarantee", "check_method"]
