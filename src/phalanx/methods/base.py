# SPDX-License-Identifier: Apache-2.0
"""What a method is: parameters in, a draft of a release out; and what it says of itself where none
is chosen yet. The registry finds methods by name, third parties' too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Final, Literal, Protocol, get_args, runtime_checkable

import polars as pl

from phalanx.arrays import Ints
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError, PlanError, did_you_mean
from phalanx.exact import plain
from phalanx.guarantees.base import Guarantee
from phalanx.installed import Installed
from phalanx.randomness import Randomness, Stream
from phalanx.release.evidence.evidence import Tables
from phalanx.release.form import Form

LooksBack = Literal["all", "digests", "last"]
"""What the check of a new release looks at of those before it: the files of all, and who was in
which group; or, since what was checked is in memory, that all files are as they were published,
without reading their tables; or the last release alone.
"""


@dataclass(frozen=True)
class Memory:
    """What a method remembers about persons between releases, as tables it alone understands.

    ``tables`` grow by what each draft appends; ``state`` is what the last draft replaced;
    ``groups`` is the person-to-group mapping of the last release (person, group), None before the
    first.
    """

    releases: int = 0
    tables: Tables = field(default_factory=dict)
    groups: pl.DataFrame | None = None
    state: Tables = field(default_factory=dict)

    @property
    def everything(self) -> Tables:
        """All tables that are remembered, by name; each is read as it is asked for."""
        return Beside(self.tables, self.state)

    def after(self, draft: "Draft", groups: pl.DataFrame | None) -> "Memory":
        """What is remembered once a draft has left, and ``groups`` with it."""
        return self.grown(draft.remember, draft.state, groups)

    def grown(self, remember: Tables, state: Tables, groups: pl.DataFrame | None) -> "Memory":
        """What is remembered with the next release, which appends rows, and replaces tables;
        MethodError where one of a name is to do both, since one would hide the other.
        """
        both = set(state) & {*self.tables, *remember} | set(remember) & set(self.state)
        if both:
            raise MethodError(
                f"the method remembers a table {min(both)!r} and carries another one of that name;"
                " nothing was published, please report this."
            )
        appended = {
            name: pl.concat([self.tables[name], rows], how="vertical_relaxed")
            if name in self.tables
            else rows
            for name, rows in remember.items()
        }
        return Memory(self.releases + 1, Beside(appended, self.tables), groups, state)


class Beside(Mapping[str, pl.DataFrame]):
    """Some tables, and those of others that have no table of that name among them; of both, each is
    read as it is asked for.

    >>> sorted(Beside({"a": pl.DataFrame()}, {"a": pl.DataFrame(), "b": pl.DataFrame()}))
    ['a', 'b']
    """

    def __init__(self, some: Tables, others: Tables) -> None:
        self.some: Tables = some
        self.others: Tables = others
        if isinstance(others, Beside):  # one below the other would be as many as there are releases
            self.some, self.others = {**others.some, **some}, others.others

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self.some[name] if name in self.some else self.others[name]

    def __contains__(self, name: object) -> bool:
        return name in self.some or name in self.others

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.some, *self.others)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Suppressed:
    """What of a table is not published, by reason."""

    rows: Mapping[str, int] | None = field(default_factory=dict)
    """How many rows; None where that may not be told, as it would say more of the rows than the
    promise covers.
    """
    values: Mapping[str, int] = field(default_factory=dict)
    """How many sensitive values of published rows."""
    microdata: Microdata | None = None
    """The microdata without these values, where there are any; None where all are as they came."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draft:
    """What a method proposes to publish; it leaves only if the independent check of its files
    holds.
    """

    form: Form
    groups: Ints
    """The published group id of every microdata row, and behind them of every row of its registry,
    where it has one, shape (n + r,); 0 for one that is in no group. Of a perturbed form the number
    of its row, from 1.
    """
    remember: Tables = field(default_factory=dict)
    """Rows to append to the memory's tables."""
    state: Tables = field(default_factory=dict)
    """Tables in the place of all those that the release before gave; memory keeps no older ones."""
    suppressed: Suppressed = field(default_factory=Suppressed)
    guarantees: Sequence[Guarantee] | None = None
    """What its manifest promises where that says more than the series may never change (a budget);
    None: the method's own.
    """
    evidence: object = None
    """What its form or its guarantee asks for by type beyond all this (``Evidence.part``); private,
    and remembered only if it is in ``remember``, too.
    """

    def mapping(self, microdata: Microdata) -> pl.DataFrame | None:
        """Who is in which group (person, group), registered persons without a row among them; None
        where the microdata name no persons.
        """
        if microdata.persons is None:
            return None
        registry = microdata.registry
        everyone = [microdata.persons, None if registry is None else registry.persons]
        persons = [each for each in everyone if each is not None]
        members = pl.DataFrame({"person": pl.concat(persons), "group": self.groups})
        in_one = members["group"] > 0
        return members if in_one.all() else members.filter(in_one)


@runtime_checkable
class Method(Protocol):
    """A frozen, validated dataclass of parameters. ``name`` is the word in the plan. It may have
    ``stays``: the parameters that no later release of a series may have otherwise.
    """

    name: ClassVar[str]
    needs_persons: ClassVar[bool]
    looks_back: ClassVar[LooksBack]
    takes_registry: ClassVar[bool]
    """Whether a registry is of use: whether registered persons without a row may be put into
    groups.
    """

    @property
    def guarantees(self) -> list[Guarantee]:
        """What a release by this method promises."""

    @property
    def holds_if_method_known(self) -> bool:
        """Whether that holds also against an adversary who has this source code and runs it on
        every table that could have been ours.
        """

    @property
    def may_suppress(self) -> Sequence[str]:
        """Why rows, or values of rows, may be suppressed, where values decide which; from the plan
        alone, since whether it came to it would say more of the table.
        """

    def publish(self, microdata: Microdata, memory: Memory, rng: Randomness) -> Draft:
        """Publish the microdata once.

        Parameters
        ----------
        microdata : Microdata
            The table, encoded, of n rows.
        memory : Memory
            What the releases before remembered; empty before the first.
        rng : Randomness
            The one source of chance.

        Returns
        -------
        Draft
            What is proposed; it leaves only if the check of its files holds.

        Raises
        ------
        MethodError
            Where the guarantee cannot be kept.
        """

    def parameters(self) -> dict[str, Any]:
        """The parameters that the manifest shows."""


@dataclass(frozen=True)
class Asked:
    """One parameter that a person is asked for; the plan may set others by hand."""

    key: str
    label: str
    begins: str
    """What stands there before anybody wrote something; empty where nothing is asked for."""
    whole: bool = True
    choices: Sequence[str] = ()
    """The words to choose from, where it is no figure."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A method in the words of a steward who has a table and a duty."""

    table: str
    """Which table it is for."""
    promise: str
    """What it promises; ``{it}`` stands for the sensitive attribute, a parameter's name for its
    figure.
    """
    open: str
    """What it does not hide."""
    assumes: str = ""
    """What must be so for the promise to hold, beside what is said of every method."""
    asked: Sequence[Asked]
    needs_sensitive: bool = False
    """Whether it is for nothing where no attribute is sensitive."""
    tried: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """What ``phalanx explore`` tries where no values are named, by parameter."""
    tried_beside: Mapping[str, Any] = field(default_factory=dict)
    """What stands beside that where an attribute is sensitive."""
    compiled_by: Sequence[Mapping[str, Any]] = ()
    """Parameters that between them reach every kernel, for ``phalanx warm``; none: no kernels."""


@runtime_checkable
class Widening(Protocol):
    """A method whose plan may bound what adversaries find out, and which can hide more than its
    plan asks for.
    """

    bounds: Mapping[str, Any]
    """By adversary, the greatest share of rows that it may name rightly."""

    def wider(self, rows: int) -> "Method | None":
        """The same method, hiding more in wider groups, for a table of so many rows; None where
        there are none so wide.
        """


@runtime_checkable
class Budgeted(Protocol):
    """A method whose plan may bound what all releases of a series cost together, which only a
    memory of them can keep.
    """

    budget: Mapping[str, Any]
    """What they may cost; empty where the plan bounds nothing."""

    def cost(self, releases: int) -> Mapping[str, float]:
        """What so many releases cost together: epsilon, delta, releases."""


Division = Literal["regions", "chance", "counts"]


@runtime_checkable
class Divisible(Protocol):
    """A method that can publish a table in parts, each as if it were a table by itself, because what
    it promises is about every group by itself.

    No part is chosen by a sensitive value: whatever holds of a table that is published alone against
    who knows the method holds of each part then.
    """

    bytes_per_value: ClassVar[int]
    """What it is estimated to take for a value of the table at most; benchmarks print peaks."""

    @property
    def divided_by(self) -> Division | None:
        """``regions`` of the quasi-identifiers, where groups are narrow in parts that are; or
        ``chance``, where quasi-identifiers have no part in groups; ``counts``, where the table is
        read some rows at a time and published whole (``Counting``); None where these parameters
        need the whole table.
        """


@runtime_checkable
class Summing(Protocol):
    """A counting method whose counts of parts of a table add up to those of all of it, so that each
    part may be counted where its rows are.
    """

    sums: bool
    """Whether it does so with these parameters."""

    def admitted(self, schema: Schema, memory: Memory, rng: Randomness) -> str:
        """What marks the next release, where there may be one.

        Parameters
        ----------
        schema : Schema
            The role of each column.
        memory : Memory
            What the releases before remembered.
        rng : Randomness
            The one source of chance.

        Returns
        -------
        str
            The mark, which no release had.

        Raises
        ------
        MethodError
            Where the budget is spent, or a sample would answer twice.
        """

    def counted(self, microdata: Microdata, stream: Stream) -> tuple[pl.DataFrame, Ints, Ints]:
        """Count some rows.

        Parameters
        ----------
        microdata : Microdata
            The rows, n of them.
        stream : Stream
            Draws the sample.

        Returns
        -------
        tuple[pl.DataFrame, Ints, Ints]
            The different images of those in the sample, how often each occurs, shape (g,), and that
            of each row, from 0, -1 for one that is not in the sample, shape (n,).

        Raises
        ------
        SchemaError
            Where a column is of another type than its recoding is for.
        """

    def crowded(
        self, counted: Iterable[tuple[pl.DataFrame, Ints]], schema: Schema, most: int
    ) -> tuple[pl.DataFrame, Ints]:
        """The images that are published, once all parts were counted.

        Parameters
        ----------
        counted : Iterable[tuple[pl.DataFrame, Ints]]
            Of each part the images and how often they occur.
        schema : Schema
            The role of each column.
        most : int
            So many different images may be held.

        Returns
        -------
        tuple[pl.DataFrame, Ints]
            In the order in which they are published, and how often each is, shape (g,).

        Raises
        ------
        MethodError
            Where there are more to hold.
        """

    def drafted(self, images: pl.DataFrame, times: Ints, schema: Schema, mark: str) -> "Draft":
        """The draft of some of these images, which has groups of no row.

        Parameters
        ----------
        images : pl.DataFrame
            Different images, in their order, shape (g, columns).
        times : Ints
            How often each is published, shape (g,).
        schema : Schema
            The role of each column.
        mark : str
            As ``admitted`` gave it.

        Returns
        -------
        Draft
            What is proposed.
        """


@runtime_checkable
class Following(Protocol):
    """A divisible method that follows persons. Each stays in the part in which they were first
    published, so that a part is a series by itself, with a memory of its own.
    """

    def known(self, memory: Memory) -> pl.Series:
        """Who is remembered; of those who are not, it only matters that they stay in their part.

        Parameters
        ----------
        memory : Memory
            What is remembered of a series, or of a part of one.

        Returns
        -------
        pl.Series
            The keyed hash of each person, once or more.
        """


@runtime_checkable
class Settling(Protocol):
    """A method that may choose something by the table as a whole, which all parts must share."""

    settles: bool
    """Whether anything is left to choose."""

    def settled(self, sample: Microdata) -> "Method":
        """The same method, once that is chosen; by it parts are published, while the manifest says
        what the plan does.

        Parameters
        ----------
        sample : Microdata
            Rows that chance drew from the table, each as likely as any other.

        Returns
        -------
        Method
            One that chooses nothing by the rows of a part which parts must share.
        """


@runtime_checkable
class Deciding(Protocol):
    """A method of which the schema decides what the plan leaves open."""

    def under(self, schema: Schema) -> "Method":
        """The same method, as it is used with a schema, which its manifest says.

        Parameters
        ----------
        schema : Schema
            The roles of the columns.

        Returns
        -------
        Method
            One whose parameters say what it does.
        """


def under(method: Method, schema: Schema) -> Method:
    """A method as it is used with a schema; itself where that decides nothing."""
    return method.under(schema) if isinstance(method, Deciding) else method


@runtime_checkable
class Counting(Protocol):
    """A method whose release follows from counts over all rows, so that the rows may come some at a
    time. What is published is the same as of the table in memory. Its parts, if it has any, follow
    from published rows alone: others would tell how many rows there are.
    """

    def publish_counted(
        self,
        read: Callable[[], Iterable[Microdata]],
        memory: Memory,
        rng: Randomness,
        *,
        most: int,
        at_once: int | None = None,
    ) -> tuple[Iterator[Draft], Iterable[tuple[Microdata, Ints]]]:
        """Publish a table that is read some rows at a time, more than once.

        Parameters
        ----------
        read : Callable[[], Iterable[Microdata]]
            Reads the table from its beginning, the same rows at a time whenever it is called.
        memory : Memory
            What the releases before remembered.
        rng : Randomness
            The one source of chance.
        most : int
            So many different rows of counts may be held.
        at_once : int, optional
            So many published rows are in a draft, or one group alone; all in one if not given.

        Returns
        -------
        tuple[Iterator[Draft], Iterable[tuple[Microdata, Ints]]]
            What is proposed, draft by draft in the order of the release, with groups of no row; and
            for the check all rows once more, some at a time, with the group of each.

        Raises
        ------
        MethodError
            Where the guarantee cannot be kept, or there are more counts than can be held.
        """


@runtime_checkable
class Recollecting(Protocol):
    """A method whose memory of a release follows from the release folder, so that a ledger that
    lost it can be brought up to what was published.
    """

    @staticmethod
    def recollect(digest: str, guarantees: Sequence[Mapping[str, Any]]) -> Tables:
        """What a release must be remembered by, as its draft had it, or stricter.

        Parameters
        ----------
        digest : str
            Of the release's manifest.
        guarantees : Sequence[Mapping[str, Any]]
            What its manifest lists.

        Returns
        -------
        Tables
            By name, the tables that its draft remembered; none where it remembers nothing.
        """


def privacy_unit(method: Method, schema: Schema | None = None) -> str:
    """Whom the promise covers: ``household`` where the schema declares a cluster, else ``person``,
    or ``record`` where the method says so.
    """
    if schema is not None and schema.cluster is not None:
        return "household"
    return str(getattr(method, "privacy_unit", "person"))


def strengthened(method: Method, rows: int) -> Iterator[Method]:
    """The method, and where its plan bounds adversaries, the method with wider and wider groups, in
    which it hides more and more.
    """
    yield method
    while isinstance(method, Widening) and method.bounds:
        wider = method.wider(rows)
        if wider is None:
            return
        yield wider
        method = wider


def parameters_of(method: Any, **instead: Any) -> dict[str, Any]:
    """The name and the fields of a method, as the manifest shows them: exact numbers, without what
    is None or empty. ``instead``: what is shown in place of a field.
    """
    shown: dict[str, Any] = {"name": method.name}
    for parameter in fields(method):
        value = instead.get(parameter.name, getattr(method, parameter.name))
        if isinstance(value, Mapping):
            value = dict(value)
        elif value is not None and Fraction in get_args(parameter.type):  # a Number
            value = plain(value)
        if value is not None and value != {}:
            shown[parameter.name] = value
    return shown


def check_word(parameter: str, word: object, allowed: Sequence[str]) -> None:
    """PlanError where a parameter is none of the words that are ``allowed``."""
    if word not in allowed:
        hint = did_you_mean(str(word), allowed) or f"; use one of {', '.join(allowed)}."
        raise PlanError(f"[method] {parameter} = {word!r} is not known{hint}")


def check_widths(widths: object) -> None:
    """PlanError where the least widths are no table of numbers above 0."""
    if not isinstance(widths, Mapping):
        raise PlanError(
            "[method] min_width is a table with a width for each attribute; write it as in { age ="
            " 5 }."
        )
    for name, width in widths.items():
        if (
            isinstance(width, bool)
            or not isinstance(width, int | float)
            or not 0 < width < float("inf")
        ):
            raise PlanError(
                f"[method] min_width for {name!r} is {width!r} and must be a number above 0."
            )


def check_min_width(widths: Mapping[str, float], microdata: Microdata) -> None:
    """PlanError where a least width is of no quasi-identifier, or of one whose leaves only the rows
    tell: there is no grid that depends on no data.
    """
    for name in widths:
        if name not in microdata.schema.quasi:
            raise PlanError(
                f"[method] min_width names {name!r}, which is no"
                f" quasi-identifier{did_you_mean(name, microdata.schema.quasi) or '; remove it.'}"
            )
        domain = microdata.columns[name].domain
        if domain.type == "categorical" and not isinstance(domain.hierarchy, Tree):
            raise PlanError(
                f"[method] min_width names {name!r}, a categorical attribute whose values are not"
                " declared; give it a hierarchy that names all leaves, or remove it."
            )


OURS: Final[Mapping[str, str]] = {
    "mondrian": "phalanx.methods.mondrian.method:Mondrian",
    "slicing": "phalanx.methods.slicing.method:Slicing",
    "anatomy": "phalanx.methods.anatomy.method:Anatomy",
    "mutual-cover": "phalanx.methods.mutual_cover.method:MutualCover",
    "safe-sampling": "phalanx.methods.safe_sampling.method:SafeSampling",
    "m-invariance": "phalanx.methods.m_invariance.method:MInvariance",
    "global-guarantee": "phalanx.methods.global_guarantee.method:GlobalGuarantee",
}
"""What ``pyproject.toml`` lists too."""


def _unfit(name: str, cls: Any) -> str:
    """Why a class of another package is no method of this name."""
    if getattr(cls, "name", None) != name:
        return f"it calls itself {getattr(cls, 'name', None)!r}"
    if not callable(getattr(cls, "publish", None)):
        return "it has no publish()"
    offer = getattr(cls, "offer", None)
    if offer is not None and not isinstance(offer, Offer):
        return "its offer is no Offer"
    takes = {parameter.name for parameter in fields(cls)}
    unknown = {key for way in offer.compiled_by for key in way} - takes if offer else set()
    return f"its offer compiles by {min(unknown)!r}, which it does not take" if unknown else ""


KNOWN: Final = Installed("phalanx.methods", OURS, _unfit)


def registered() -> dict[str, EntryPoint]:
    """Every installed method, by name; ``load`` gives its class."""
    return KNOWN.points()


def offers() -> dict[str, Offer]:
    """What each installed method says of itself, by name; a method without an offer must be named
    by anyone who wants it.
    """
    return {name: cls.offer for name, cls in KNOWN.loaded() if getattr(cls, "offer", None)}


def make(name: str, parameters: Mapping[str, Any]) -> Method:
    """The method of a name with parameters from a plan; PlanError where the name or a parameter is
    unknown or wrong.
    """
    import dataclasses

    if name not in KNOWN:
        raise PlanError(
            f"[method] name = {name!r} is not a"
            f" method{did_you_mean(name, KNOWN) or '; known are ' + ', '.join(sorted(KNOWN)) + '.'}"
        )
    cls = KNOWN[name]
    fields = [f.name for f in dataclasses.fields(cls)]
    for parameter in parameters:
        if parameter in (refused := getattr(cls, "refused", {})):
            raise PlanError(f"[method] {parameter} {refused[parameter]}")
        if parameter not in fields:
            raise PlanError(
                f"[method] has an unknown key {parameter!r} for"
                f" {name}{did_you_mean(parameter, fields) or '; it takes ' + ', '.join(fields) + '.'}"
            )
    missing = [
        f.name
        for f in dataclasses.fields(cls)
        if f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
        and f.name not in parameters
    ]
    if missing:
        raise PlanError(f"[method] name = {name!r} needs the key {missing[0]!r}; add it.")
    method: Method = cls(**parameters)
    return method
