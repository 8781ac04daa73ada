# SPDX-License-Identifier: Apache-2.0
"""The oracle: publish from every world, and ask what an output says about the world it came from.

An adversary knows everybody's quasi-identifiers and presence, the plan, the source code, and a
prior that is exchangeable over persons. Bayes over all worlds gives the probability of every
(person, value); the largest one is compared with what the method claims. Where all random choices
are gone through the figures are exact fractions; where they are drawn, a figure counts only with a
Clopper-Pearson lower bound.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, Literal

from scipy.special import betaincinv

from phalanx.randomness import Randomness
from worlds.choices import Fold
from worlds.publications import REFUSED, Output, Publisher
from worlds.settings import PRIORS, Beside, Setting, World

FALSE_ALARM = 1e-6
"""With this probability at most does anything in a whole run look surely above its bound that is
not.
"""
SAMPLED_CASES = 100
"""The false alarm is shared among so many cases and priors, more than there are."""
SEEN = 60
"""A sampled posterior is shown only of outputs that were seen so often."""

Kind = Literal["enumerated", "repeated", "sampled"]
Bound = Fraction | Mapping[Any, Fraction]
Look = Callable[[Output], Output]


@dataclass(frozen=True)
class Finding:
    """What one prior says of one case; shares are of all publications (world and randomness) under
    that prior.
    """

    prior: str
    largest: Fraction
    """The largest posterior; of a sample, the largest relative frequency in an output that was seen
    ``SEEN`` times.
    """
    surely: Fraction
    """The largest posterior that is beyond doubt: the largest lower bound, or ``largest``
    itself.
    """
    above: Fraction
    """The share of publications in which somebody's posterior is (surely) above the bound."""
    certain: Fraction
    """The share in which somebody's value is certain; of a sample, among outputs that were seen
    ``SEEN`` times.
    """
    refused: Fraction
    """The share of series that are left out because a release was refused, all or, with
    ``refusals``, only those in which all releases were.
    """


@dataclass(frozen=True)
class Answer:
    """What the oracle found."""

    worlds: int
    publications: int
    outputs: int
    kind: str
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Finding:
        """The prior that goes worst: by what is above, and then by the largest posterior."""
        return max(
            self.findings, key=lambda finding: (finding.above, finding.surely, finding.largest)
        )


def facts(
    setting: Setting, world: World, output: Output, only: frozenset[Any] | None
) -> set[tuple[Any, Any]]:
    """Who has, or in some release had, which value, among the persons of the releases that were
    published; ``only`` these values, if they are given.

    Where a setting is about records, a person of every release stands for themselves; where it is
    about households, the first member stands for all.
    """
    found: set[tuple[Any, Any]] = set()
    for release, (persons, values, shown) in enumerate(
        zip(setting.present, world, output, strict=True)
    ):
        if shown != REFUSED:
            hidden = _without_value(shown) if setting.shown_only else []
            for at, (person, value) in enumerate(zip(persons, values, strict=True)):
                if any(low <= setting.quasi_of(person)[0] <= high for low, high in hidden):
                    continue
                members = (
                    value
                    if isinstance(value, frozenset)
                    else (value.value,)
                    if isinstance(value, Beside)
                    else (value,)
                )
                found.update(
                    (
                        (person, release)
                        if setting.records
                        else persons[at - at % setting.members],
                        member,
                    )
                    for member in members
                    if member is not None and (only is None or member in only)
                )
    return found


def _without_value(shown: Any) -> list[tuple[Any, Any]]:
    """The intervals of published rows without a sensitive value, which stands last in a row."""
    groups = shown[0] if shown else ()
    return [
        (row[0], row[1]) for group in groups for _, rows in group for row in rows if row[-1] is None
    ]


def ask(
    method: Any,
    setting: Setting,
    bound: Bound,
    *,
    how: Kind,
    folds: Mapping[str, Fold] | None = None,
    only: Iterable[Any] | None = None,
    runs: int = 2,
    look: Look = lambda output: output,
    refusals: bool = False,
    then: Sequence[Any] = (),
) -> Answer:
    """Publish from every world and compare all posteriors with ``bound`` (one for all values, or by
    value); ``then``: the methods of later releases, where they are others.

    ``how``: ``enumerated``: every random choice; ``repeated``: ``runs`` times each, and ten times
    where outputs differ; ``sampled``: ``runs`` times in all, each from a world drawn from the
    prior. ``only``: the values that are protected. ``look``: the part of an output that counts, all
    by default. ``refusals``: count series in which a release was refused, too; what a refusal tells
    (some value is too frequent) is the table's, not a choice.
    """
    publisher = Publisher(method, setting, dict(folds or {}), then)
    priors = asked_priors(setting)
    wanted = None if only is None else frozenset(only)
    if how == "sampled":
        findings = [
            _judged_by_sample(
                publisher, name, weights, bound, wanted, runs, look, refusals=refusals
            )
            for name, weights in priors.items()
        ]
        return Answer(
            len(setting.worlds),
            publisher.runs,
            sum(n for n, _ in findings),
            how,
            tuple(finding for _, finding in findings),
        )
    outputs, varied = _distributions(publisher, how, runs, look)
    findings = [
        judged(setting, outputs, name, weights, bound, wanted, refusals=refusals)
        for name, weights in priors.items()
    ]
    kind = "exact" if how == "enumerated" else f"near exact ({varied or 'no'} worlds vary)"
    return Answer(len(setting.worlds), publisher.runs, len(outputs), kind, tuple(findings))


def asked_priors(setting: Setting) -> dict[str, list[Fraction]]:
    """The weights of all worlds under each prior; without those that are uniform on these worlds,
    as they are where all worlds hold the same values.
    """
    weights = {name: prior(setting) for name, prior in PRIORS.items()}
    return {
        name: weighed
        for name, weighed in weights.items()
        if name == "uniform" or len(set(weighed)) > 1
    }


def _distributions(
    publisher: Publisher, how: Kind, runs: int, look: Look
) -> tuple[dict[Any, dict[int, Fraction]], int]:
    """For every output the worlds that it comes from, with its probability in each; and how many
    worlds did not always give the same.
    """
    outputs: dict[Any, dict[int, Fraction]] = defaultdict(dict)
    worlds, varied = publisher.setting.worlds, 0
    for i, world in enumerate(worlds):
        if how == "enumerated":
            found = publisher.exactly(world)
        else:
            counted = publisher.repeated(world, runs, 10)
            found = {output: Fraction(n, counted.total()) for output, n in counted.items()}
        varied += len(found) > 1
        for output, chance in found.items():
            seen = outputs[look(output)]
            seen[i] = seen.get(i, Fraction(0)) + chance
    return outputs, varied


def judged(
    setting: Setting,
    outputs: Mapping[Any, Mapping[int, Fraction]],
    prior: str,
    weights: Sequence[Fraction],
    bound: Bound,
    only: frozenset[Any] | None,
    *,
    refusals: bool = False,
) -> Finding:
    """Bayes, in whole numbers: the prior and the probabilities over their common denominators."""
    scale = lcm(*(weight.denominator for weight in weights))
    grain = lcm(*(chance.denominator for worlds in outputs.values() for chance in worlds.values()))
    whole = [int(weight * scale) for weight in weights]
    largest, published, above, certain, total = Fraction(0), 0, 0, 0, 0
    for output, worlds in outputs.items():
        held: Counter[Any] = Counter()
        mass = 0
        for i, chance in worlds.items():
            weight = whole[i] * int(chance * grain)
            mass += weight
            for fact in facts(setting, setting.worlds[i], output, only):
                held[fact] += weight
        total += mass
        if REFUSED in output and (not refusals or set(output) == {REFUSED}):
            continue
        published += mass
        largest = max(largest, Fraction(max(held.values(), default=0), mass))
        above += mass * any(
            Fraction(weight, mass) > _of(bound, value) for (_, value), weight in held.items()
        )
        certain += mass * any(weight == mass for weight in held.values())
    part = max(published, 1)
    return Finding(
        prior,
        largest,
        largest,
        Fraction(above, part),
        Fraction(certain, part),
        1 - Fraction(published, total),
    )


def _judged_by_sample(
    publisher: Publisher,
    prior: str,
    weights: Sequence[Fraction],
    bound: Bound,
    only: frozenset[Any] | None,
    runs: int,
    look: Look,
    *,
    refusals: bool,
) -> tuple[int, Finding]:
    """Draw a world from the prior and publish it, again and again: given an output, each world it
    came from is a draw from the posterior.
    """
    setting = publisher.setting
    drawn: dict[Any, Counter[int]] = defaultdict(Counter)
    for i in _draw(weights, runs):
        drawn[look(publisher.sampled(setting.worlds[i]))][i] += 1
    kinds = len(
        {
            fact
            for world in setting.worlds
            for fact in facts(setting, world, ("",) * len(world), only)
        }
    )
    alarm = FALSE_ALARM / SAMPLED_CASES / (runs * max(kinds, 1))
    largest, surely, published, above, certain = Fraction(0), 0.0, 0, 0, 0
    for output, worlds in drawn.items():
        if REFUSED in output and (not refusals or set(output) == {REFUSED}):
            continue
        n, held = worlds.total(), Counter[Any]()
        for i, times in worlds.items():
            for fact in facts(setting, setting.worlds[i], output, only):
                held[fact] += times
        published += n
        least = {(k, _of(bound, value)): at_least(k, n, alarm) for (_, value), k in held.items()}
        surely = max(surely, *least.values(), 0.0)
        above += n * any(low > limit for (_, limit), low in least.items())
        if n >= SEEN:
            largest = max(largest, Fraction(max(held.values(), default=0), n))
            certain += n * any(k == n for k in held.values())
    part = max(published, 1)
    return len(drawn), Finding(
        prior,
        largest,
        Fraction(surely),
        Fraction(above, part),
        Fraction(certain, part),
        1 - Fraction(published, runs),
    )


def at_least(k: int, n: int, alarm: float) -> float:
    """Clopper and Pearson: a probability that is too high with at most the probability ``alarm``,
    where ``k`` of ``n`` independent draws were hits.
    """
    return float(betaincinv(k, n - k + 1, alarm)) if k else 0.0


def _draw(weights: Sequence[Fraction], runs: int) -> list[int]:
    """Numbers of worlds, independent, with these weights, by fresh randomness."""
    scale = lcm(*(weight.denominator for weight in weights))
    ends = list(accumulate(int(weight * scale) for weight in weights))
    stream = Randomness.secure().stream("worlds")
    if ends[-1] < 2**63:
        return [bisect_right(ends, int(number)) for number in stream.integers(ends[-1], runs)]
    return [
        bisect_right(ends, int.from_bytes(stream.words(8).tobytes()) * ends[-1] >> 512)
        for _ in range(runs)
    ]


def _of(bound: Bound, value: Any) -> Fraction:
    return bound[value] if isinstance(bound, Mapping) else bound
