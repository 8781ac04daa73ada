"""What the oracle is asked: every method with every grouping, strategy and option that a plan can name, on tables small enough for all worlds.

A line is a method, its parameters, a setting, the bound, and what is claimed. ``holds``: the bound holds against who knows the method. ``open_``: it does
not, and the oracle must catch it; such a line is also the broken twin that shows that the oracle sees. ``soon`` marks options that do not exist yet.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from phalanx.errors import PlanError
from phalanx.methods.base import make
from worlds.choices import Fold, NotEnumerableError, by_value, dealt
from worlds.oracle import Answer, Bound, Kind, Look, ask, unseen
from worlds.publications import REFUSED, Output
from worlds.settings import ABSENT, Beside, Setting, any_series, anything, once, passing, series


@dataclass(frozen=True, eq=False)
class Case:
    """One line of the table."""

    method: str
    parameters: Mapping[str, Any]
    table: str
    """The persons and their values, in words."""
    setting: Setting
    bound: Bound
    claimed: bool
    """Whether the bound is claimed to hold against who knows the method."""
    how: Kind = "enumerated"
    runs: int = 2
    folds: Mapping[str, Fold] = field(default_factory=dict)
    only: tuple[Any, ...] | None = None
    look: Look = lambda output: output
    refusals: bool = False
    quick: bool = False
    """Whether it is asked in every run of the tests."""
    soon: bool = False
    """Whether the option is expected and may not exist yet; the case is then skipped with a reason."""

    @property
    def option(self) -> str:
        """The parameters, as a plan writes them."""
        return ", ".join(f"{name} = {_plain(value)}" for name, value in self.parameters.items())

    def __str__(self) -> str:
        return f"{self.method}: {self.option}: {self.table}"

    def made(self) -> Any:
        """The method with its parameters, as a plan makes it."""
        return make(self.method, self.parameters)

    def missing(self) -> str | None:
        """Why the case cannot be asked yet; None where it can."""
        try:
            self.made()
        except PlanError as wrong:
            if self.soon:
                return f"not there yet ({wrong})"
            raise
        return None

    def answer(self, progress: Callable[[int, int], None] = unseen) -> Answer:
        """Ask the oracle; what is new and cannot be enumerated is sampled, and says so."""
        method = self.made()
        given = {"folds": self.folds, "only": self.only, "look": self.look, "refusals": self.refusals, "progress": progress}
        try:
            return ask(method, self.setting, self.bound, how=self.how, runs=self.runs, **given)
        except NotEnumerableError:
            if not self.soon:
                raise
            return ask(method, self.setting, self.bound, how="sampled", runs=1500, **given)

    def verdict(self, answer: Answer) -> str:
        """What the answer says of the claim; a word in capitals where they do not agree."""
        above = any(finding.above > 0 for finding in answer.findings)
        if self.claimed:
            return "ABOVE ITS BOUND" if above else "holds" if answer.kind == "exact" else "nothing above"
        return "open" if above else "open, NOT SEEN"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_plain(of)}" for name, of in value.items()) + "}"
    return "[" + ", ".join(map(_plain, value)) + "]" if isinstance(value, list | tuple) else str(value)


def without_values(output: Output) -> Output:
    """An output less its sensitive values, which stand last in a row: what groupings that do not look at values must leave independent of them."""
    return tuple(
        shown if shown == REFUSED else tuple(tuple((name, tuple(row[:-1] for row in rows)) for name, rows in group) for group in shown[0]) for shown in output
    )


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
AGE = [["q0"], ["sick"]]
ONE_OF_SIX = {"a": THIRD, "b": THIRD, "c": THIRD}
FOLDS: Mapping[str, Fold] = {"m-invariance": by_value, "anatomy": by_value}


def holds(method: str, parameters: Mapping[str, Any], table: str, setting: Setting, bound: Bound, **more: Any) -> Case:
    """A bound that must hold against who knows the method."""
    return Case(method, parameters, table, setting, bound, claimed=True, **({"folds": FOLDS} | more))


def open_(method: str, parameters: Mapping[str, Any], table: str, setting: Setting, bound: Bound, **more: Any) -> Case:
    """A bound that does not hold against who knows the method, which the oracle must see."""
    return Case(method, parameters, table, setting, bound, claimed=False, **({"folds": FOLDS} | more))


def anatomy() -> Iterable[Case]:
    yield holds("anatomy", {"l": 2}, "aabbc (residue)", once("aabbc"), HALF, quick=True)
    yield holds("anatomy", {"l": 2}, "aabbcc", once("aabbcc"), HALF)
    yield holds("anatomy", {"l": 3}, "aabbcc", once("aabbcc"), THIRD)
    yield holds("anatomy", {"l": 3}, "abcde (residue)", once("abcde"), THIRD)
    yield holds("anatomy", {"l": "3/2"}, "aabbc", once("aabbc"), HALF)
    yield holds("anatomy", {"l": 2}, "all of {a, b, c}^5", anything("abc", 5), HALF)


GROWING = (((1, 2), "ab"), ((1, 2, 11, 16), "ac"))
LEAVING = (((1, 2, 4, 7), "aabb"), ((1, 2, 11, 16), "ab"))
SHORT = (((1, 2), "ab"), ((1, 11, 22, 29), "acd"))
STOCKED = (((1, 2, 4, 7), "abcc"), ((1, 2, 11, 16, 22), "abc"))
RETURNING = (((1, 2, 4, 7), "abcc"), ((1, 4, 11, 16), "bd"), ((1, 2, 7, 11, 22, 29), "ac"))
BOB = (((20, 21), ("hiv", "ulcer")), ((20, 31, 33, 36, 40, 45), ("hiv", "hiv", "flu", "flu", "cold")))
KEPT = (((1, 2), [Beside("a", "k"), Beside("b", "l")]), ((1, 11, 16), [Beside("a", "x"), Beside("b", "y")]))
CHANGED = replace(passing(((1, 2, 4, 7), "abcc"), ((1, 2, 11, 16), "abcc")), records=True)
ANY = any_series("abc", (1, 2), (1, 4, 7, 11))
REFUSING = any_series("abc", (1, 2), (1, 4, 7))
TWO_QI = [(1, 5), (2, 9), (4, 2), (7, 7), (11, 1), (16, 4), (22, 3), (29, 8)]


def m_invariance() -> Iterable[Case]:
    for table in ("aabb", "aabbc", "aabbcc"):
        yield holds("m-invariance", {"m": 2}, table, once(table), HALF, quick=table == "aabbc")
    yield holds("m-invariance", {"m": 2}, "aabbcc, two QI", once("aabbcc", quasi=TWO_QI[:6]), HALF)
    yield holds("m-invariance", {"m": 3}, "aabbcc", once("aabbcc"), THIRD)
    yield holds("m-invariance", {"m": 2, "min_width": {"q0": 5}}, "aabbc", once("aabbc"), HALF)
    yield holds("m-invariance", {"m": 2}, "all of {a, b, c}^5", anything("abc", 5), HALF)
    yield holds("m-invariance", {"m": 2}, "ab stay, ac come", series(*GROWING), HALF, quick=True)
    yield open_("m-invariance", {"m": 2}, "ab, one leaves, acd come", series(*SHORT), HALF, quick=True)
    yield open_("m-invariance", {"m": 2}, "abcc, two leave, abc come", series(*STOCKED), HALF)
    yield open_("m-invariance", {"m": 2}, "hiv ulcer, one leaves, 2 hiv 2 flu cold come", series(*BOB), HALF)
    yield holds("m-invariance", {"m": 2}, "abcc; two leave, bd come; two return, ac come", series(*RETURNING), HALF)
    yield open_("m-invariance", {"m": 2}, "all of {a, b, c}: 1 2; 1 4 7 11", ANY, HALF)
    yield open_("m-invariance", {"m": 2}, "all of {a, b, c}: 1 2; 1 4 7, one refused", REFUSING, HALF, refusals=True)
    yield open_("m-invariance", {"m": 2, "not_eligible": "hold-back"}, "aaab", once("aaab"), HALF)
    yield open_("m-invariance", {"m": 3, "not_eligible": "hold-back"}, "aabbc", once("aabbc"), THIRD)
    yield open_("m-invariance", {"m": 2, "not_eligible": "hold-back"}, "all of {a, b, c}^4", anything("abc", 4), HALF)
    yield open_("m-invariance", {"m": 2, "remember": False}, "abcc; two leave, bd come; two return, ac come", series(*RETURNING), HALF)
    yield open_("m-invariance", {"m": 2}, "a and b with kept k and l; one leaves, a and b with x and y come", series(*KEPT), HALF, how="sampled", runs=500)
    for changed in ("hold-back", "new-record"):
        yield open_("m-invariance", {"m": 2, "changed": changed}, "abcc; two leave, two come, abcc, all may change", CHANGED, HALF)
    for table, setting in (
        ("ab, one leaves, acd come", series(*SHORT)),
        ("abcc, two leave, abc come", series(*STOCKED)),
        ("hiv ulcer, one leaves, 2 hiv 2 flu cold come", series(*BOB)),
        ("aabb, two leave, ab come", series(*LEAVING)),
        ("abcc; two leave, bd come; two return, ac come", series(*RETURNING)),
        ("all of {a, b, c}: 1 2; 1 4 7 11", ANY),
    ):
        yield holds("m-invariance", {"m": 2, "balancing": "exact"}, table, setting, HALF, soon=True)
    yield open_("m-invariance", {"m": 2, "balancing": "paper"}, "ab, one leaves, acd come", series(*SHORT), HALF, soon=True)
    yield open_("m-invariance", {"m": 2, "balancing": "paper"}, "abcc, two leave, abc come", series(*STOCKED), HALF, soon=True)


def hiv(holders: int, persons: int) -> list[str]:
    return ["hiv"] * holders + ["none"] * (persons - holders)


TWICE = passing(((1, 2, 4, 7, 11, 16, 22, 29), hiv(1, 8)), ((1, 2, 4, 7, 11, 16, 37, 46), hiv(1, 8)))
UNEQUAL = passing(
    ((1, 2, 4, 7), hiv(1, 4)),
    ((1, 100, 4, 7, 11, 16, 22, 29), hiv(1, 8)),
    quasi={age: (age,) for age in (1, 2, 4, 7, 11, 16, 22, 29)} | {100: (1,)},
)
SETS = [frozenset({"hiv"}), frozenset({"hiv", "flu"}), *[frozenset({"flu"})] * 2, *[frozenset[str]()] * 2]
REGISTERED = ["hiv", "none", "none", "none", "none", ABSENT, ABSENT]
STRATEGIES: tuple[Mapping[str, Any], ...] = ({"strategy": "adaptive"}, {"strategy": "geometric"}, {"strategy": "constant-ratio", "horizon": 2})


def global_guarantee() -> Iterable[Case]:
    on = {"how": "repeated", "only": ("hiv",)}
    base = {"l": 2, "protect": ["hiv"]}
    for spending in STRATEGIES:
        given = base | dict(spending) | {"grouping": "bottom-up"}
        adaptive = spending["strategy"] == "adaptive"
        yield open_("global-guarantee", given, "1 of 12", once(hiv(1, 12)), HALF, quick=adaptive, **on)
        yield open_("global-guarantee", given, "2 of 8", once(hiv(2, 8)), HALF, **on)
        yield open_("global-guarantee", given, "1 of 8, twice, two replaced", TWICE, HALF, **on)
        yield open_("global-guarantee", given, "1 of 4; 1 of 8, a newcomer of the age of one who stays", UNEQUAL, HALF, **on)
        down = given | {"grouping": "top-down"}
        if spending["strategy"] != "constant-ratio":
            table, setting = ("2 of 8", once(hiv(2, 8))) if adaptive else ("1 of 8, twice, two replaced", TWICE)
            yield open_("global-guarantee", down, table, setting, HALF, **on)
        even = given | {"grouping": "balanced"}
        for table, setting in (("2 of 5", once(hiv(2, 5))), ("1 of 8, twice, two replaced", TWICE), ("1 of 4; 1 of 8, one of equal age", UNEQUAL)):
            yield holds("global-guarantee", even, table, setting, HALF, soon=True, **(on | {"how": "enumerated"}))
    grown = {"l": 2, "grouping": "bottom-up"}
    adaptive = grown | {"protect": ["hiv"], "strategy": "adaptive"}
    all_values = grown | {"protect": "all"}
    yield open_("global-guarantee", all_values | {"strategy": "constant-ratio", "horizon": 1}, "aabbcc", once("aabbcc"), HALF, how="repeated")
    down = all_values | {"strategy": "constant-ratio", "horizon": 1, "grouping": "top-down"}
    yield open_("global-guarantee", down, "aabbcc", once("aabbcc"), HALF, how="repeated")
    yield open_("global-guarantee", grown | {"protect": ["a", "b"]}, "abcccccc", once("abcccccc"), HALF, how="repeated", only=("a", "b"))
    yield open_("global-guarantee", grown | {"protect": {"least_frequent": 0.5}}, "aaaaaabb", once("aaaaaabb"), HALF, how="repeated", only=("b",))
    yield open_("global-guarantee", adaptive, "sets: hiv, hiv flu, 2 flu, 2 empty", once(SETS), HALF, how="repeated", only=("hiv",))
    yield open_("global-guarantee", adaptive, "1 of 7 registered has it, 2 are absent", once(REGISTERED, registry=True), HALF, **on)
    yield open_("global-guarantee", adaptive | {"permanent": ["hiv"]}, "1 of 6 for good, one leaves, one comes", LASTING, HALF, **on)
    yield open_("global-guarantee", adaptive | {"k": 3}, "1 of 12", once(hiv(1, 12)), HALF, **on)
    yield open_("global-guarantee", adaptive | {"min_width": {"q0": 5}}, "1 of 12", once(hiv(1, 12)), HALF, **on)


LASTING = series(((1, 2, 4, 7, 11, 16), hiv(1, 6)), ((2, 4, 7, 11, 16, 22), ["none"]))


def mondrian() -> Iterable[Case]:
    on = {"how": "enumerated"}  # strict cuts draw nothing that shows
    off = {"how": "repeated"}
    yield holds("mondrian", {"k": 2}, "aabbcc: boxes, without their values", once("aabbcc"), ONE_OF_SIX, look=without_values, quick=True, **on)
    for table in ("aabbcc", "aabbcd", "aaabbcc"):
        yield open_("mondrian", {"k": 2, "cuts": "strict", "l": 2}, table, once(table), HALF, quick=table == "aabbcc", **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "l": 2}, "aabbcc, two QI", once("aabbcc", quasi=TWO_QI[:6]), HALF, **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "l": 2}, "all of {a, b, c}^6", anything("abc", 6), HALF, **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "l": 2, "min_width": {"q0": 5}}, "aabbcc", once("aabbcc"), HALF, **on)
    ties = once("aabbcc", quasi=[(1,), (1,), (2,), (2,), (3,), (3,)])
    yield holds("mondrian", {"k": 2, "l": 2, "cuts": "relaxed"}, "aabbcc, ages 1 1 2 2 3 3", ties, HALF, how="sampled", runs=1500)
    yield holds("mondrian", {"k": 2, "l": 2, "cuts": "relaxed"}, "aaabbcc", once("aaabbcc"), HALF, **off)
    yield open_("mondrian", {"k": 2, "l": 2, "cuts": "relaxed"}, "aaabbbcc, two QI", once("aaabbbcc", quasi=TWO_QI), HALF, **off)
    yield holds("mondrian", {"k": 3, "cuts": "strict", "l": 3}, "aabbcc", once("aabbcc"), THIRD, **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "l": 2, "diversity": "distinct"}, "aaaabb", once("aaaabb"), HALF, **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "l": "1.7", "diversity": "entropy"}, "aaabbc", once("aaabbc"), Fraction(17, 20), **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "l": 2, "diversity": "recursive", "c": 2}, "aaabbcc", once("aaabbcc"), Fraction(2, 3), **on)
    yield open_("mondrian", {"k": 2, "cuts": "strict", "t": "1/6"}, "aaaabb", once("aaaabb"), {"a": Fraction(5, 6), "b": HALF}, **on)
    near = {"a": Fraction(5, 6), "b": HALF}
    yield open_("mondrian", {"k": 2, "cuts": "strict", "t": "1/6", "distance": "ordered"}, "aaaabb", once("aaaabb"), near, **on)
    for table in ("aabbc", "aabbcc"):
        yield holds("mondrian", {"k": 2, "l": 2, "cuts": "balanced"}, table, once(table), HALF, soon=True)
    yield holds("mondrian", {"k": 2, "l": 2, "cuts": "balanced"}, "all of {a, b, c}^5", anything("abc", 5), HALF, soon=True)
    yield holds("mondrian", {"k": 2, "t": "1/6", "cuts": "balanced"}, "aaaabb", once("aaaabb"), {"a": Fraction(5, 6), "b": HALF}, soon=True)


def slicing() -> Iterable[Case]:
    on = {"how": "enumerated"}
    dealt_out = {"l": 2, "columns": AGE, "grouping": "random", "bucket_size": 2}
    yield holds("slicing", dealt_out, "aabbc", once("aabbc"), HALF, folds={"deal": dealt(2)}, quick=True)
    yield holds("slicing", dealt_out, "aabbcc", once("aabbcc"), HALF, folds={"deal": dealt(3)})
    yield holds("slicing", dealt_out, "all of {a, b, c}^4", anything("abc", 4), HALF, folds={"deal": dealt(2)})
    yield holds("slicing", dealt_out | {"compact": True}, "aabbc", once("aabbc"), HALF, folds={"deal": dealt(2)})
    for check in ("exact", "local"):
        yield open_("slicing", {"l": 2, "grouping": "mondrian", "columns": AGE, "check": check}, "aabbcc", once("aabbcc"), HALF, quick=check == "exact", **on)
    yield open_("slicing", {"l": 2, "grouping": "mondrian", "columns": AGE}, "aaabbcc", once("aaabbcc"), HALF, **on)
    pairs = [(age, sex) for age, sex in zip((1, 2, 4, 7, 11, 16), "mfmfmf", strict=True)]
    yield open_(
        "slicing",
        {"l": 2, "grouping": "mondrian", "columns": [["q0", "q1"], ["sick"]]},
        "aabbcc, two QI in one column",
        once("aabbcc", quasi=pairs),
        HALF,
        **on,
    )
    beside = {"l": 2, "grouping": "mondrian", "columns": [["q0"], ["q1", "sick"]]}
    yield open_("slicing", beside, "aaabbcc, one QI beside the value", once("aaabbcc", quasi=[(age, "m") for age in (1, 2, 4, 7, 11, 16, 22)]), HALF, **on)
    wide = {"l": 2, "grouping": "mondrian", "columns": [["q0", "q1"], ["sick"]], "generalize_columns_k": 2}
    yield open_("slicing", wide, "aabbcc, two QI in one column", once("aabbcc", quasi=pairs), HALF, **on)
    ties = [(1, 1), (1, 2), (2, 1), (2, 1), (3, 2)]
    for check in ("exact", "local"):
        given = {"l": 2, "grouping": "mondrian", "columns": [["q0"], ["q1"], ["sick"]], "cuts": "relaxed", "check": check}
        yield open_("slicing", given, "aabcd, equal ages", once("aabcd", quasi=ties), HALF)
    member = {"l": 2, "columns": AGE, "grouping": "membership", "bucket_size": 2}
    yield open_("slicing", member, "aaabbc", once("aaabbc"), HALF, how="sampled", runs=2000)
    yield open_("slicing", dealt_out | {"not_eligible": "hold-back"}, "aaab", once("aaab"), HALF, how="sampled", runs=600)
    yield open_("slicing", {"l": 2, "grouping": "mondrian", "columns": AGE, "diversity": "distinct"}, "aaaabb", once("aaaabb"), HALF, **on)
    yield open_("slicing", {"l": 2, "grouping": "mondrian", "columns": AGE, "diversity": "recursive", "c": 2}, "aaabbcc", once("aaabbcc"), Fraction(2, 3), **on)
    yield open_("slicing", {"l": 1, "grouping": "mondrian", "columns": AGE, "t": "1/6"}, "aaaabb", once("aaaabb"), {"a": Fraction(5, 6), "b": HALF}, **on)
    near = {"a": Fraction(5, 6), "b": HALF}
    yield open_("slicing", {"l": 1, "grouping": "mondrian", "columns": AGE, "t": "1/6", "distance": "ordered"}, "aaaabb", once("aaaabb"), near, **on)
    even = {"l": 2, "columns": AGE, "grouping": "balanced"}
    for table in ("aabbc", "aabbcc"):
        yield holds("slicing", even, table, once(table), HALF, soon=True)
    yield holds("slicing", even, "all of {a, b, c}^5", anything("abc", 5), HALF, soon=True)


def mutual_cover() -> Iterable[Case]:
    alone = {"how": "sampled", "runs": 2000}
    yield holds("mutual-cover", {"delta": "1/2"}, "aabbcc: rows, without their values", once("aabbcc"), ONE_OF_SIX, look=without_values, **alone)
    for unchanged in ("coupled", "paper"):
        for grouping in ("cost", "mondrian"):
            given = {"delta": "1/2", "l": 2, "grouping": grouping, "unchanged": unchanged}
            table = "aaabbc" if unchanged == "coupled" else "aabb"  # where rows are changed afterwards there are more outputs, each seen less often
            yield open_("mutual-cover", given, table, once(table), HALF, **alone)
    for diversity, bound in (
        ({"l": 2, "diversity": "distinct"}, HALF),
        ({"l": "1.7", "diversity": "entropy"}, Fraction(7, 9)),
        ({"l": 2, "diversity": "recursive", "c": 2}, Fraction(2, 3)),
    ):
        yield open_("mutual-cover", {"delta": "1/2"} | diversity, "aabb", once("aabb"), bound, how="sampled", runs=1500)
    yield open_("mutual-cover", {"delta": "1/2", "l": 2, "changes": 2}, "aabb, two QI", once("aabb", quasi=TWO_QI[:4]), HALF, **alone)
    yield open_("mutual-cover", {"delta": "1/2", "l": 2}, "aabbcc, two QI", once("aabbcc", quasi=TWO_QI[:6]), HALF, **alone)


CASES: tuple[Case, ...] = tuple(case for list_of in (anatomy, m_invariance, global_guarantee, mondrian, slicing, mutual_cover) for case in list_of())
