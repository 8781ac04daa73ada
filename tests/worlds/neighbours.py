# SPDX-License-Identifier: Apache-2.0
"""Safe sampling's own claim, asked of its whole publishing code: for all pairs of tables that
differ in one person, and every set of outputs.

Its promise is no bound on a posterior but (epsilon, delta): what anybody sees is at most e^epsilon
times as likely, and delta more, with a person as without. So the odds of any two worlds of a person
move by no more than that, whatever the prior. ``tests/worlds/test_safe_sampling.py`` asks the same
of many more tables, schemes and parameters, of the step that samples and recodes; here it is the
method as a plan names it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from naive.safe_sampling import exponential_between
from phalanx.data.hierarchies.hierarchy import Hierarchy, Tree
from phalanx.methods.base import make
from worlds.choices import FLIPS
from worlds.publications import Publisher
from worlds.settings import ABSENT, AGES, Setting

Distribution = Mapping[Any, Fraction]
RANGE = {"q0": {"low": 0, "high": 8, "width": 8}}
TOWNS = Tree.of_mapping({"north": ["oslo", "turku"], "south": ["rome", "bari"]})


@dataclass(frozen=True)
class Plan:
    """What is asked: the method's parameters, of all tables of up to so many persons, who each have
    one of the values or are absent.
    """

    parameters: Mapping[str, Any]
    scheme: Mapping[str, Any] = field(default_factory=lambda: RANGE)
    persons: int = 4
    releases: int = 1
    """How many releases of the same table there are."""
    towns: bool = False
    """Whether the quasi-identifier is a town, under a hierarchy, and not an age."""
    values: str = "ab"
    quick: bool = False

    @property
    def option(self) -> str:
        """The parameters, as a plan writes them; a scheme where it is not one range."""
        shown = (
            dict(self.parameters)
            if self.scheme is RANGE
            else {**self.parameters, "scheme": self.scheme}
        )
        return ", ".join(f"{name} = {_plain(value)}" for name, value in shown.items())

    @property
    def table(self) -> str:
        """The tables, in words."""
        again = f", {self.releases} releases" if self.releases > 1 else ""
        return (
            f"all tables of up to {self.persons} of {self.persons} persons, values a and b{again}"
        )


@dataclass(frozen=True)
class Neighbours:
    """What was found: the largest delta that any pair of neighbouring tables needs, and the
    promised one.
    """

    tables: int
    publications: int
    outputs: int
    needed: Fraction
    """Rounded up by what the chances of a private choice may be off."""
    promised: Fraction


def ask(plan: Plan) -> Neighbours:
    """Publish from all tables by every sample and every choice."""
    method = make("safe-sampling", {**plan.parameters, "scheme": plan.scheme, "allow_empty": True})
    tables = [
        values
        for values in product([ABSENT, *plan.values], repeat=plan.persons)
        if any(value is not ABSENT for value in values)
    ]
    hierarchies: Mapping[str, Hierarchy] = {"q0": TOWNS} if plan.towns else {}
    quasi = (
        dict(zip(AGES, ((path[0],) for path in TOWNS.paths), strict=False)) if plan.towns else None
    )
    there = (AGES[: plan.persons],) * plan.releases
    setting = Setting(
        there,
        tuple((values,) * plan.releases for values in tables),
        quasi=quasi,
        declared={"hierarchies": hierarchies},
    )
    publisher = Publisher(method, setting)
    found = {world[0]: publisher.exactly(world) for world in setting.worlds}
    epsilon, promised = method.guarantees[0].epsilon, method.guarantees[0].delta
    if plan.releases > 1:
        together = method.cost(plan.releases)
        epsilon, promised = Fraction(together["epsilon"]), Fraction(together["delta"])
    factor = exponential_between(epsilon)[
        0
    ]  # from below, so that no delta comes out smaller than it is
    needed = Fraction(0)
    for with_one, there_is in found.items():
        for i, value in enumerate(with_one):
            without = found.get((*with_one[:i], ABSENT, *with_one[i + 1 :]))
            if value is not ABSENT and without is not None:
                needed = max(
                    needed, _excess(there_is, without, factor), _excess(without, there_is, factor)
                )
    slack = 4 * factor * FLIPS if plan.parameters.get("epsilon_scheme") else 0
    return Neighbours(
        len(tables),
        publisher.runs,
        len({output for shown in found.values() for output in shown}),
        needed + slack,
        promised,
    )


def _excess(one: Distribution, other: Distribution, factor: Fraction) -> Fraction:
    return sum(
        (
            max(chance - factor * other.get(output, Fraction(0)), Fraction(0))
            for output, chance in one.items()
        ),
        start=Fraction(0),
    )


def _plain(value: Any) -> str:
    return (
        "{" + ", ".join(f"{name} = {_plain(of)}" for name, of in value.items()) + "}"
        if isinstance(value, Mapping)
        else str(value)
    )


STEPS = {"q0": {"low": 0, "high": 8, "widths": [2, 4]}, "sick": 0}
CHOICE = {"epsilon": "2", "epsilon_scheme": "1", "k": 2, "beta": "2/3"}
PLANS = (
    Plan({"epsilon": "1", "k": 2, "beta": "1/4"}, quick=True),
    Plan({"epsilon": "1", "k": 3, "beta": "1/2"}),
    Plan({"epsilon": "0.5", "k": 2, "beta": "1/4"}),
    Plan({"epsilon": "1", "delta": "0.05", "k": 2}),
    Plan({"epsilon": "1", "k": 2, "beta": "1/4", "accounting": "theorem"}),
    Plan({"epsilon": "1", "k": 2, "beta": "1/4"}, scheme={"q0": 1}, towns=True),
    Plan(
        {"epsilon": "1", "k": 2, "beta": "1/4", "budget": {"epsilon": "2", "delta": "1/8"}},
        persons=3,
        releases=2,
    ),
    Plan(CHOICE, scheme=STEPS),
    Plan({**CHOICE, "choose": "partition", "depth": 2}, scheme=STEPS, persons=3),
)
