# SPDX-License-Identifier: Apache-2.0
"""The four questions that a page answers first, in sentences: is the guarantee kept, who could be
found, what was lost, what can be done with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phalanx.estimators.reading import can_be_read
from phalanx.guarantees.sentences import percent
from phalanx.release.folder import Release
from phalanx.report.adversaries import Question
from phalanx.report.classes import Classes
from phalanx.report.figures import Figures
from phalanx.report.looks import Look
from phalanx.report.usefulness import Usefulness

_TELLS: Final = 0.05
"""A phi² below this is of two attributes of which hardly one tells the other."""


def kept(results: Mapping[str, int], rows: int) -> tuple[str, bool]:
    """Whether the check holds, and whether that is good news.

    >>> kept({"holds": 2, "fails": 0, "not checked": 1}, 9)
    ('Yes: all 2 checks of the published files hold; 1 part was not checked.', True)
    """
    fails, holds, open_ = (results[kind] for kind in ("fails", "holds", "not checked"))
    if fails:
        return f"{_many(fails, 'check')} failed: do not hand this release out.", False
    if not holds:
        return "Nothing was checked: do not hand this release out.", False
    if not rows:
        return "No row is published: the release holds, and is of no use to anybody.", False
    all_ = "the check" if holds == 1 else f"all {holds} checks"
    verb = "holds" if holds == 1 else "hold"
    parts = "" if not open_ else f"; {_many(open_, 'part')} {_was(open_)} not checked"
    return f"Yes: {all_} of the published files {verb}{parts}.", True


def found(release: Release, look: Look, answers: Sequence[Question], *, inside: bool) -> list[str]:
    """Who could still be found, and by whom."""
    sentences = [by_class(look.classes, look.why_no_class)]
    if not inside:
        sentences.append(
            "What adversaries find who are judged by the original table is not said here."
        )
        return sentences
    from phalanx.adversaries.verdict import verdict

    played: list[Any] = [attack for answer in answers for attack in answer.played]
    if not played:
        sentences.append(
            "No adversary was played for this page, which says no more of it; 'phalanx attack' plays them."
        )
        return sentences
    certain = max(played, key=_certain)
    sentences.append(
        f"{_many(len(played), 'adversary')} {_was(len(played))} played on this release. "
        + (
            f"Most certain is {certain.adversary}: {verdict(certain, [release])}"
            if certain.exposed
            else "None of them is certain, and right, about anybody."
        )
    )
    for answer in answers:
        if answer.played:
            best: Any = max(answer.played, key=_right)
            sentences.append(f"{answer.question.capitalize()}: {best.adversary} {best.sentence}.")
    return sentences


def by_class(classes: Classes | None, why_not: str) -> str:
    """What the sizes of classes say of a person who is known to be in the table; ``why_not``: why
    there are none.
    """
    if classes is None or not classes.rows:
        why = "there is no row" if classes is not None else why_not
        return f"No size of a class says who could be found: {why}."
    least = int(classes.sizes[classes.held > 0].min())
    if least == 1:
        alone = classes.alone
        return (
            f"An adversary who knows all quasi-identifiers of a person finds the person's row:"
            f" {_many(alone, 'row')} {'is' if alone == 1 else 'are'} alone with them."
        )
    return (
        f"An adversary who knows all quasi-identifiers of a person finds at least {least:,} rows"
        f" that may be the person's: the right one with at most {percent(classes.worst)}, and with"
        f" {percent(classes.average)} on average."
    )


def lost(
    figures: Figures, use: Usefulness, suppressed: int | None, values: int, *, intervals: bool
) -> list[str]:
    """What was lost, in figures that can be compared."""
    sentences = []
    if intervals and figures.widths and figures.measured:
        sentences.append(
            f"An interval covers {percent(figures.loss)} of its attribute's range on average."
        )
    if use.error is not None and use.sample_error is not None:
        sentences.append(
            f"Half of {len(use.errors)} typical counts are off by more than {percent(use.error)};"
            f" in a plain sample of as many rows, by more than {percent(use.sample_error)}."
        )
    if use.moved is not None:
        sentences.append(
            f"To have the original's shares again, {percent(use.moved)} of the rows would have to"
            " be moved, on average over attributes."
        )
    if suppressed is not None:
        rows = f"{_many(suppressed, 'row')} {_is(suppressed)}" if suppressed else "No row is"
        more = f", and {_many(values, 'value')} of published rows" if values else ""
        sentences.append(f"{rows} suppressed{more}.")
    if use.why_not:
        sentences.append(f"Nothing else was measured: {use.why_not}.")
    return sentences or ["What was lost is measured beside the original, by 'phalanx measure'."]


def usable(look: Look, use: Usefulness) -> list[str]:
    """What can be done with it."""
    form = look.form
    if not look.figures.rows:
        return ["Nothing: there is no row."]
    sentences = [form.used_for or form.read_as or "Read what its package says of it."]
    if use.pairs:
        sentences.append(_kept([pair for pair in use.pairs if pair[2] >= _TELLS]))
    if can_be_read(form):
        sentences.append(
            "Count, add up and average by 'phalanx estimate', which says how far it can be off;"
            " for other analyses, draw plain tables by 'phalanx draw'."
        )
    sentences.append("It is not for finding out about single persons.")
    return sentences


def _certain(attack: Any) -> float:
    return float(attack.exposed / attack.persons) if attack.persons else 0.0


def _right(attack: Any) -> float:
    """How much more often an adversary is right than one without the release."""
    named = getattr(attack, "named_rightly", None)
    if named is not None:
        return float(named[0] - attack.identity_baseline)
    return float((attack.success or 0.0) - (attack.baseline or 0.0))


def _kept(pairs: Sequence[tuple[str, str, float, float]]) -> str:
    """Of pairs that tell of each other in the original, what the release keeps of it."""
    if not pairs:
        return "No two attributes tell much of each other in the original."
    best, worst = min(pairs, key=_changed), max(pairs, key=_changed)
    if len(pairs) == 1:
        return (
            f"Of the two attributes that tell most of each other, {best[0]} and {best[1]}, phi² is"
            f" {best[2]:.2f} in the original, and {best[3]:.2f} released."
        )
    return (
        f"Best kept together: {best[0]} and {best[1]} (phi² {best[2]:.2f}, released"
        f" {best[3]:.2f}); least: {worst[0]} and {worst[1]} ({worst[2]:.2f}, released"
        f" {worst[3]:.2f})."
    )


def _changed(pair: tuple[str, str, float, float]) -> float:
    return abs(pair[3] - pair[2])


def _many(number: int, one: str) -> str:
    more = one[:-1] + "ies" if one.endswith("y") else one + "s"
    return f"{number:,} {one if number == 1 else more}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
