# SPDX-License-Identifier: Apache-2.0
"""From a draft to a release whose very files were checked; what is done with it then, its publisher
says.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from phalanx.adversaries.disclosure import Disclosed
from phalanx.data.microdata import Microdata
from phalanx.errors import GuaranteeError, MethodError, SchemaError
from phalanx.guarantees.base import Guarantee, Verdict
from phalanx.guarantees.strength import weakened
from phalanx.guarantees.truth import check as truth
from phalanx.guarantees.truth import coverage
from phalanx.guarantees.verify import verify
from phalanx.methods import households, not_applicable
from phalanx.methods.agreed import agreed
from phalanx.methods.base import (
    Budgeted,
    Draft,
    Following,
    Memory,
    Method,
    Suppressed,
    Widening,
    privacy_unit,
    strengthened,
)
from phalanx.progress import Progress
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence, Tables
from phalanx.release.folder import Release, write_folder
from phalanx.release.manifest import PublishedAttribute
from phalanx.series.bounds import beyond, disclosed
from phalanx.series.given import warn_of_strangers
from phalanx.series.staging import Folder

if TYPE_CHECKING:
    import polars as pl

    from phalanx.report.looks import Look

T = TypeVar("T")
_LOWER: Final = re.compile(r"\blower ([klm])\b|\bask for smaller groups\b")
"""The advice to promise less."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Checked:
    """A draft whose files were written, read back and checked, in a staging folder that has no
    published name yet.
    """

    release: Release
    groups: "pl.DataFrame | Mapping[int, pl.DataFrame] | None"
    """Who is in which group (person, group), or that of each part in which persons stay; None where
    persons are not followed, or must be forgotten.
    """
    evidence: Evidence
    """What the check was given, with the keyed hashes of the persons; private."""
    verdicts: Sequence[Verdict]
    suppressed: Suppressed
    remember: Tables = field(default_factory=dict)
    """Rows to append to the memory's tables."""
    state: Tables = field(default_factory=dict)
    """Tables in the place of all those that the release before gave."""
    attacks: Sequence[Disclosed]
    """What adversaries find out of it, where a report or a bound asks for it."""
    spent: Mapping[str, float] | None
    """What it and those before it cost together, where the method keeps a budget."""
    look: "Look | None" = None
    """What a page tells of a release in parts, which were looked at as they were made; None where no
    page is asked for.
    """


@dataclass(frozen=True, kw_only=True, eq=False)
class Drafting:
    """What the next release of a series is made from."""

    series: str
    number: int
    method: Method
    microdata: Microdata
    formats: Sequence[str]
    seed: int | None
    attacked: bool
    """Whether adversaries are played although no bound asks for it."""
    memory: Memory
    earlier: Sequence[Release] = ()
    groups: "Mapping[int, pl.DataFrame]"
    """Release number -> who was in which group, of the earlier ones."""

    def check(
        self,
        room: Callable[[], AbstractContextManager[Folder]],
        take: Callable[[Folder, Checked], T],
        progress: Progress,
    ) -> T:
        """Make drafts until one holds and keeps the bounds of the plan, and hand it to ``take``
        while its folder is there.

        ``room`` makes an empty folder that only its owner may read. GuaranteeError where the check
        of the files fails, MethodError where no draft keeps the bounds on adversaries.
        """
        not_applicable.check_takes(self.method, self.microdata.schema)
        households.check_takes(self.method, self.microdata.schema)
        bounds = self.method.bounds if isinstance(self.method, Widening) else {}
        for attempt, method in enumerate(strengthened(self.method, self.microdata.rows)):
            progress("group", 0, None)
            rng = self.randomness(attempt)
            draft = drafted(method, self.microdata, self.memory, rng)
            check_attributes(self.earlier, draft.form.attributes)
            check_strength(self.earlier, draft.guarantees)
            if not attempt:  # of what is refused nothing else is said
                self._warn_of_strangers()
            with room() as folder:
                progress("write", 0, None)
                write_folder(
                    folder.path, draft.form, self.formats, **self.manifest_fields(draft, rng)
                )
                progress("check", 0, None)
                others = {each.name: getattr(draft, each.name) for each in fields(draft)}
                del others["form"], draft  # what was written is not held twice
                release = Release.read(folder.path)
                draft = Draft(form=release.form, **others)
                checked = self.checked(draft, release, bounds)
                too_much = beyond(checked.attacks, bounds)
                if too_much is None:
                    return take(folder, checked)
            refusal = MethodError(
                f"the {too_much.adversary} adversary names {too_much.named_rightly[0]:.1%} of the"
                f" rows rightly, and the plan allows {bounds[too_much.adversary]}; raise its bound"
                " in [method.bounds], or ask for more changes."
            )
        raise refusal  # the method itself is always the first to be tried

    def _warn_of_strangers(self) -> None:
        persons = self.microdata.persons
        if self.number > 1 and isinstance(self.method, Following) and persons is not None:
            warn_of_strangers(self.number, persons, self.method.known(self.memory))

    def checked(self, draft: Draft, release: Release, bounds: Mapping[str, Any]) -> Checked:
        """The check of files that were just written."""
        told_alone = draft.form.tells_itself_alone
        person_to_group = None if told_alone else draft.mapping(self.microdata)
        evidence = self._evidence(
            draft,
            self.groups
            if person_to_group is None
            else {**self.groups, self.number: person_to_group},
        )
        of_tuples = replace(
            evidence, microdata={self.number: replace(self.microdata, persons=None)}
        )  # what a promise says of tuples, not of persons
        verdicts = verify(
            [*self.earlier, release],
            of_tuples,
            allow_seeded=self.seed is not None,
            only_last=True,
            by_rows=False,  # the truth of each row is looked at below
        )
        verdicts.append(self.truth(draft, release))
        refuse_broken(verdicts, told_alone=told_alone)
        attacks = disclosed(release, of_tuples, bounds, shown=self.attacked)
        return Checked(
            suppressed=draft.suppressed,
            remember=draft.remember,
            state=draft.state,
            release=release,
            groups=person_to_group,
            evidence=evidence,
            verdicts=verdicts,
            attacks=attacks,
            spent=self.method.cost(self.number) if isinstance(self.method, Budgeted) else None,
        )

    def truth(self, draft: Draft, release: Release) -> Verdict:
        """Whether what the files say of each row is so, and no row is left out but as is said."""
        rows, counted = draft.groups[: self.microdata.rows], draft.suppressed.rows
        absent = self.microdata.rows - int(np.count_nonzero(rows))
        suppressed = None if counted is None else sum(counted.values())
        left_out = coverage.of_draft(release, absent, suppressed)
        return left_out or truth.check(
            release,
            self.microdata,
            rows,
            draft.suppressed.microdata or self.microdata,
            draft.groups[self.microdata.rows :],
        )

    def _evidence(self, draft: Draft, groups: "Mapping[int, pl.DataFrame]") -> Evidence:
        evidence = Evidence(
            groups=groups,
            microdata={self.number: self.microdata},
            rows=(
                {self.number: draft.groups[: self.microdata.rows]}
                if draft.form.is_drawn or self.microdata.households is not None
                else {}
            ),
            parts={self.number: draft.evidence},
            state=None if self.method.looks_back == "all" else self.state(draft),
            added=list(draft.remember),
        )
        drawn_from = draft.form.drawn_from
        if drawn_from is not None and evidence.part(drawn_from, self.number) is None:
            raise GuaranteeError(
                f"{self.method.name} does not say what its {draft.form.kind} release was drawn"
                " from; nothing was published, please report this."
            )
        return evidence

    def state(self, draft: Draft) -> tuple[Tables, Tables]:
        """What the ledger remembers before the release, and what it will with it."""
        return self.memory.everything, self.memory.after(draft, None).everything

    def randomness(self, attempt: int) -> Randomness:
        """Fresh randomness for each draft of each release."""
        if self.seed is None:
            return Randomness.secure()
        return Randomness.seeded(
            self.seed + self.number
            if attempt == 0
            else (self.seed + self.number + (attempt << 32)) % 2**64
        )

    def manifest_fields(self, draft: Draft, rng: Randomness) -> dict[str, Any]:
        method = self.method.parameters()
        promised = draft.guarantees or households.guarantees_of(self.method, self.microdata.schema)
        lasting = any(getattr(guarantee, "over_series", False) for guarantee in promised)
        shown = {
            "series": self.series,
            "number": self.number,
            "method": method,
            "guarantees": [guarantee.parameters() for guarantee in promised],
            "boxes": (
                "fixed"
                if draft.form.tells_itself_alone
                else (
                    "widened"
                    if method.get("min_width")
                    else "tight"
                    if draft.form.has_intervals
                    else "exact"
                )
            ),
            "privacy_unit": privacy_unit(self.method, self.microdata.schema),
            "holds_if_method_known": self.method.holds_if_method_known
            # who is not in the table has no row, and hides no one whose value is not shown
            and self.microdata.registry is None
            # a promise about all releases stays broken for who was told by an earlier one
            and not (lasting and any(map(_tells, self.earlier)))
            # a kept value that stays with a person links the person's rows of all releases
            and not (lasting and self.microdata.schema.keep),
            "may_suppress": list(self.method.may_suppress),
            "not_for_publication": not rng.for_publication,
            "previous": self.earlier[-1].digest if self.earlier else None,
        }
        if self.earlier:
            # with kept columns the statement was not so
            kept = self.microdata.schema.keep
            _refuse_taken_back(self.earlier[-1], shown, self.method, lasting=lasting and not kept)
        return shown


def _tells(before: Release) -> bool:
    """Whether a release may have told an adversary who knows the method more than it promises."""
    return before.manifest.holds_if_method_known is not True


def _refuse_taken_back(
    before: Release, shown: Mapping[str, Any], method: Method, *, lasting: bool
) -> None:
    """MethodError where a plan changes what stays in a series, or takes back what was stated of all
    its releases.
    """
    was, now = before.manifest.method, shown["method"]
    others = [f"{name} = {now.get(name)!r}" for name in now if now[name] != was.get(name)]
    for name in getattr(method, "stays", ()):
        both = was.get(name), now.get(name)
        listed = all(isinstance(of, list) for of in both)  # which promises show, and compare
        if both[0] != both[1] and not listed:
            raise MethodError(
                f"{name} is {both[1]!r} in the plan and was {both[0]!r} in release {before.number},"
                " and a series keeps it; put it back."
            )
    if lasting and before.manifest.holds_if_method_known and not shown["holds_if_method_known"]:
        why = " or ".join(others) if others and not method.holds_if_method_known else "a registry"
        raise MethodError(
            f"release {before.number} says of all releases that they hold against who knows the method,"
            f" and with {why} they do not; put it back, or begin another series."
        )


def drafted(method: Method, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
    """What a method makes of some rows; where a series has begun, no refusal advises to promise less
    without saying that it cannot.
    """
    try:
        return agreed(method.publish(microdata, memory, rng), method, microdata, memory)
    except SystemExit:  # whose words may quote values, and whose code would be a verdict
        raise MethodError(
            f"the method {method.name!r} ends the program; nothing was published, and its makers"
            " should know."
        ) from None
    except MethodError as error:
        if not memory.releases or (lowered := _LOWER.search(str(error))) is None:
            raise
        raise type(error)(
            f"{str(error).removesuffix('.')} (but a series that has begun keeps its"
            f" {lowered[1] or _sizes(method)})."
        ) from None


def _sizes(method: Method) -> str:
    """Which of its parameters say how large groups are."""
    parameters = method.parameters()
    sizes = [name for name in ("k", "l", "m") if parameters.get(name) is not None]
    return " and ".join(sizes) or "groups"


def refuse_broken(verdicts: Sequence[Verdict], *, told_alone: bool = False) -> None:
    """GuaranteeError where a check of the written files does not hold; without figures where only
    the release may tell them (``told_alone``).
    """
    if broken := [v for v in verdicts if not v.holds]:
        v = broken[0]
        if told_alone:
            raise GuaranteeError(
                f"the check of the written files failed ({v.name}); nothing was published, please report"
                " this."
            )
        worst, bound = v.figures
        raise GuaranteeError(
            f"the check of the written files failed ({v.name}: bound {bound}, worst"
            f" {worst or None}; {v.note}); nothing was published, please report this."
        )


def check_attributes(earlier: Sequence[Release], attributes: Sequence[PublishedAttribute]) -> None:
    """SchemaError where the columns are not those of the release before, as when one row makes a
    column of numbers one of texts.
    """
    if not earlier:
        return
    before = earlier[-1]
    types_before = {attribute.name: attribute.type for attribute in before.manifest.attributes}
    for now in attributes:
        if types_before.get(now.name, now.type) != now.type:
            raise SchemaError(
                f"column {now.name!r} is {now.type} in this table, and was {types_before[now.name]} in"
                f" release {before.number}; correct the table, or name the type in the schema's"
                " types."
            )
    if other := next(_others(before.manifest.attributes, attributes), None):
        raise SchemaError(
            f"{other} release {before.number}, and a series keeps what it publishes; put it back, or"
            " give the plan another series name."
        )


def check_strength(earlier: Sequence[Release], guarantees: Sequence[Guarantee] | None) -> None:
    """MethodError where a draft says by itself what it promises, and that is less than the release
    before it does, as where a budget was raised.
    """
    if not earlier or not guarantees:
        return
    promised = [guarantee.parameters() for guarantee in guarantees]
    if less := next(weakened(promised, earlier[-1].manifest.guarantees), None):
        raise MethodError(
            f"{less}; put it back in the plan, or stop here, as nothing that was promised is taken"
            " back."
        )


def _others(
    before: Sequence[PublishedAttribute], now: Sequence[PublishedAttribute]
) -> Iterator[str]:
    """What is published in another way than it was, each up to where the release is named."""
    known, names = {a.name: a for a in before}, [a.name for a in now]
    for attribute in now:
        name, was = attribute.name, known.get(attribute.name)
        if was is None:
            yield f"column {name!r} is published now and was not in"
        elif attribute.role != was.role:
            yield f"column {name!r} is {attribute.role} and was {was.role} in"
        elif attribute.hierarchy != was.hierarchy:
            yield f"the hierarchy of column {name!r} is not that of"
        elif attribute.not_applicable != was.not_applicable:
            yield f"what 'not_applicable' lists of column {name!r} is not what it was in"
        elif attribute != was:
            yield f"column {name!r} is not published as in"
    for attribute in before:
        if attribute.name not in names:
            yield f"column {attribute.name!r} is not published now and was in"
    if names != list(known):
        yield "the order of the columns is not that of"
