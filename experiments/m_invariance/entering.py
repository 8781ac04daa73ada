# SPDX-License-Identifier: Apache-2.0
"""How few counterfeits can be had where nothing is filled: the census series by counts alone, with
several ways for newcomers to enter signatures.

    PHALANX_DATA=FOLDER python experiments/m_invariance/entering.py [--seeds 6] [--releases 20]
    [--first 150000] [--replaced 5000] [--m 10]

Who leaves is drawn, so that the number of persons of each signature and value is all that is
needed: a release takes milliseconds. Every way looks at nothing but the newcomers of each value,
the signatures, and the most persons of any value in each, as exactness asks. Prints, over the
seeds, the counterfeits of the last release (mean, least, most), those under signatures of the first
release and under later ones, the signatures, and the newcomers who fitted into none.

*largest first* is the package's. *in proportion*: in twenty rounds, each signature a twentieth of
its share, then largest first. *fewest left over*: a linear program that leaves the fewest newcomers
over, rounded down, then largest first. *least spread*: the same, where a set costs what it adds to
the root of a signature's size. *half of each*: the signatures of release 1 take half of what they
may, so that there are more of middling size; newcomers enter as by *least spread*.

The last line is no way but a floor: the counterfeits if every value were in one signature only,
whose values all are equally frequent.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy.optimize import linprog

import series as common
from phalanx.methods.m_invariance.kernels import assignment

Ints = common.Ints
Signature = tuple[int, ...]
Enter = Callable[[list[Signature], Ints, Ints, int], Ints]
HALF_DOWN_TO = 100


def fits(left: Ints, signature: Signature, m: int) -> int:
    """The most whole sets of a signature that leave the rest m-eligible."""
    own, size = left[list(signature)], len(signature)
    others = np.delete(left, signature).max(initial=0)
    most = min(int(own.min()), int(left.sum() - m * others) // size)
    if size > m:
        most = min(most, int(left.sum() - m * own.max()) // (size - m))
    return max(most, 0)


def take(left: Ints, signature: Signature, sets: int) -> int:
    left[list(signature)] -= sets
    return sets


def largest_first(signatures: list[Signature], members: Ints, left: Ints, m: int) -> Ints:
    sets = np.zeros(len(signatures), dtype=np.int64)
    for b in np.argsort(-members, kind="stable"):
        sets[b] = take(left, signatures[b], fits(left, signatures[b], m))
    return sets


def in_proportion(
    signatures: list[Signature], members: Ints, left: Ints, m: int, rounds: int = 20
) -> Ints:
    sets, sizes = np.zeros(len(signatures), dtype=np.int64), np.array([len(s) for s in signatures])
    share = left.sum() * members / (members * sizes).sum()
    for turn in range(1, rounds + 1):
        for b in np.argsort(-members, kind="stable"):
            wanted = int(share[b] * turn / rounds) - int(sets[b])
            sets[b] += take(left, signatures[b], min(max(wanted, 0), fits(left, signatures[b], m)))
    return sets + largest_first(signatures, members, left, m)


def by_program(
    signatures: list[Signature], members: Ints, left: Ints, m: int, price: float | None
) -> Ints:
    """``price``: what it costs to leave a newcomer over; None where only their number counts."""
    holds = np.zeros((len(left), len(signatures)))
    for b, signature in enumerate(signatures):
        holds[list(signature), b] = 1
    sizes = holds.sum(axis=0)
    limits, room = (
        np.vstack([holds, sizes - m * holds]),
        np.concatenate([left, left.sum() - m * left]),
    )
    found = left.sum() * members / (members * sizes).sum()
    for _ in range(1 if price is None else 4):
        cost = (
            -1.0
            if price is None
            else 1 / (np.sqrt(members + found) + np.sqrt(members) + 0.5) - price
        )
        found = linprog(sizes * cost, A_ub=limits, b_ub=room, bounds=(0, None), method="highs").x
    sets = np.floor(found + 1e-9).astype(np.int64)
    left -= (holds @ sets).astype(np.int64)
    while (
        left.sum() and m * left.max() > left.sum()
    ):  # rounding down may have made a value too frequent
        without = [b for b in np.flatnonzero(sets) if int(left.argmax()) not in signatures[b]]
        least = min(without, key=lambda b: int(members[b]))
        sets[least] += take(left, signatures[least], -1)
    return sets + largest_first(signatures, members, left, m)


def fewest_left_over(signatures: list[Signature], members: Ints, left: Ints, m: int) -> Ints:
    return by_program(signatures, members, left, m, None)


def least_spread(signatures: list[Signature], members: Ints, left: Ints, m: int) -> Ints:
    return by_program(signatures, members, left, m, 0.5)


def assigned(left: Ints, m: int, part: float) -> dict[Signature, int]:
    """The paper's assignment; ``part``: how much of what a large signature may take it takes."""
    found: dict[Signature, int] = {}
    left = left.copy()
    while left.any():
        alphas, betas, values = assignment(left, m, 0)
        signature, sets = tuple(sorted(values[: betas[0]].tolist())), int(alphas[0])
        sets = max(HALF_DOWN_TO, int(sets * part)) if sets > HALF_DOWN_TO else sets
        found[signature] = found.get(signature, 0) + take(left, signature, sets)
    return found


@dataclass
class Publication:
    """Everybody published so far who is still there, by signature and value."""

    persons: dict[Signature, Ints] = field(default_factory=dict)

    def leave(self, number: int, rng: np.random.Generator) -> None:
        everybody = np.concatenate(list(self.persons.values()))
        stay = everybody - rng.multivariate_hypergeometric(everybody, number, method="marginals")
        ends = np.cumsum([len(s) for s in self.persons])[:-1]
        self.persons = dict(zip(self.persons, np.split(stay, ends), strict=True))

    def arrive(self, new: Ints, m: int, enter: Enter, part: float) -> int:
        signatures, left = list(self.persons), new.copy()
        if signatures:
            sets = enter(
                signatures, np.array([each.max() for each in self.persons.values()]), left, m
            )
            for signature, more in zip(signatures, sets, strict=True):
                self.persons[signature] = self.persons[signature] + int(more)
        over = int(left.sum())
        for signature, more in assigned(left, m, part if not signatures else 1).items():
            self.persons[signature] = (
                self.persons.get(signature, np.zeros(len(signature), dtype=np.int64)) + more
            )
        return over

    def counterfeits(self) -> Ints:
        return np.array(
            [len(each) * each.max() - each.sum() for each in self.persons.values()], dtype=np.int64
        )


def run(codes: Ints, asked: argparse.Namespace, seed: int, enter: Enter, part: float) -> list[int]:
    """Counterfeits of the last release, those under signatures of the first release, and under
    later ones; signatures; newcomers that fitted into none.
    """
    rng = np.random.default_rng(seed)
    pool, values = codes[rng.permutation(len(codes))], int(codes.max()) + 1
    publication = Publication()
    publication.arrive(np.bincount(pool[: asked.first], minlength=values), asked.m, enter, part)
    at_first, at, over = len(publication.persons), asked.first, 0
    for _ in range(asked.releases - 1):
        publication.leave(asked.replaced, rng)
        over += publication.arrive(
            np.bincount(pool[at : at + asked.replaced], minlength=values), asked.m, enter, part
        )
        at += asked.replaced
    found = publication.counterfeits()
    return [
        int(found.sum()),
        int(found[:at_first].sum()),
        int(found[at_first:].sum()),
        len(publication.persons),
        over // (asked.releases - 1),
    ]


def floor(codes: Ints, asked: argparse.Namespace) -> float:
    """How far the largest of m normal numbers is above their mean, m times, for the spread that
    those who left make in each value.
    """
    largest = np.random.default_rng(0).standard_normal((200_000, asked.m)).max(axis=1).mean()
    stays = 1 - asked.replaced / asked.first
    there = [
        (asked.first, stays ** (asked.releases - 1)),
        *((asked.replaced, stays**age) for age in range(asked.releases - 1)),
    ]
    spread = sum(n * p * (1 - p) for n, p in there) / len(codes)
    return float(largest * np.sqrt(spread * np.bincount(codes)).sum())


WAYS: dict[str, tuple[Enter, float]] = {
    "largest first": (largest_first, 1),
    "in proportion": (in_proportion, 1),
    "fewest left over": (fewest_left_over, 1),
    "least spread": (least_spread, 1),
    "half of each": (least_spread, 0.5),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (
        ("seeds", 6),
        ("releases", 20),
        ("first", 150_000),
        ("replaced", 5_000),
        ("m", 10),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    codes = (
        pl.read_parquet(common.data_file("acs2018_occsal.parquet"))["occupation50"]
        .cast(pl.String)
        .rank("dense")
        .to_numpy()
        .astype(np.int64)
        - 1
    )
    rows = []
    for name, (enter, part) in WAYS.items():
        found = np.array([run(codes, asked, seed, enter, part) for seed in range(asked.seeds)])
        total, *rest = found.mean(axis=0)
        rows.append(
            (
                name,
                f"{total:.0f}",
                f"{found[:, 0].min()} to {found[:, 0].max()}",
                f"{total / asked.first:.1%}",
                *(f"{x:.0f}" for x in rest),
            )
        )
    least = floor(codes, asked)
    rows.append(("floor", f"{least:.0f}", "", f"{least / asked.first:.1%}", "", "", "", ""))
    header = (
        "newcomers enter",
        "counterfeits",
        "of the runs",
        "of the rows",
        "signatures of release 1",
        "later ones",
        "signatures",
        "left over a release",
    )
    print(
        f"### Release {asked.releases} by counts, m = {asked.m}, {asked.seeds}"
        f" runs\n\n{common.table_of(header, rows)}"
    )


if __name__ == "__main__":
    main()
