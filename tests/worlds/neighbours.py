"""Safe sampling's own claim, asked of its whole publishing code: for all pairs of tables that differ in one person, and every set of outputs.

Its promise is no bound on a posterior but (epsilon, delta): what anybody sees is at most e^epsilon times as likely, and delta more, with a person as
without. So the odds of any two worlds of a person move by no more than that, whatever the prior. ``tests/worlds/test_safe_sampling.py`` asks the same of
many more tables, schemes and parameters, of the step that samples and recodes; here it is the method as a plan names it.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from naive.safe_sampling import exponential_between
from phalanx.methods.base import make
from worlds.publications import Publisher
from worlds.settings import ABSENT, AGES, Setting

SCHEME = {"q0": {"low": 0, "high": 8, "width": 8}}


@dataclass(frozen=True)
class Neighbours:
    """What was found: the largest delta that any pair of neighbouring tables needs, and the promised one."""

    option: str
    tables: int
    publications: int
    outputs: int
    needed: Fraction
    promised: Fraction


def ask(parameters: dict[str, object], persons: int = 4, values: str = "ab") -> Neighbours:
    """Publish from all tables of up to so many persons by every sample; each has one of the values, or is absent."""
    method = make("safe-sampling", parameters | {"scheme": SCHEME})
    worlds = tuple((world,) for world in product([ABSENT, *values], repeat=persons) if any(value is not ABSENT for value in world))
    publisher = Publisher(method, Setting((AGES[:persons],), worlds))
    found = {world[0]: publisher.exactly(world) for world in worlds}
    factor = exponential_between(Fraction(str(parameters["epsilon"])))[0]  # from below, so that no delta comes out smaller than it is
    needed = Fraction(0)
    for with_one, there in found.items():
        for i, value in enumerate(with_one):
            without = found.get((*with_one[:i], ABSENT, *with_one[i + 1 :]))
            if value is not ABSENT and without is not None:
                needed = max(needed, _excess(there, without, factor), _excess(without, there, factor))
    option = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    outputs = len({output for shown in found.values() for output in shown})
    return Neighbours(option, len(worlds), publisher.runs, outputs, needed, method.guarantees[0].delta)


def _excess(one: dict[object, Fraction], other: dict[object, Fraction], factor: Fraction) -> Fraction:
    return sum((max(chance - factor * other.get(output, Fraction(0)), Fraction(0)) for output, chance in one.items()), start=Fraction(0))


PLANS = ({"epsilon": "1", "k": 2, "beta": "1/4"}, {"epsilon": "1", "k": 3, "beta": "1/2"}, {"epsilon": "0.5", "k": 2, "beta": "1/4"})
