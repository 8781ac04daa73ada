# SPDX-License-Identifier: Apache-2.0
"""What no linter sees: rules of this house, checked on the syntax tree of every source file.

Why by hand: ruff bans imports and bare names, but not "every njit states its flags", "a Parquet
file is written without statistics" or "guarantees see only what is published"; grep finds the words
in comments too. Each rule is a function from a file to its offences, and has a broken twin, a
snippet that it must reject: a rule that rejects nothing is no rule.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FILES = sorted((SOURCE / "phalanx").rglob("*.py"))
MOST_LINES = 500
"""Without docstrings: what documents a file does not make it two."""
MOST_ARGUMENTS = 9
"""Of a kernel."""
SCRIPTS = ("src", "tests", "docs", "experiments", "benchmarks")


@dataclass(frozen=True)
class File:
    """One source file: its place in the package (``methods/mondrian/method.py``), its text, its
    tree.
    """

    place: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Parsed once, so that a node is the same node in every walk."""
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        """The folder or top-level module that the file belongs to."""
        return Path(self.place).parts[0].removesuffix(".py")

    @property
    def is_kernel(self) -> bool:
        """Whether it holds kernels: what all of them share, or those beside a method."""
        return bool({"kernels", "kernels.py"} & set(Path(self.place).parts))

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every imported name with its module, dotted, wherever in the file; with its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.place}:{node.lineno} imports relatively"
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


@cache
def source() -> list[File]:
    """Every file of the package, read and parsed once for all rules."""
    return [
        File(path.relative_to(SOURCE / "phalanx").as_posix(), path.read_text(encoding="utf-8"))
        for path in FILES
    ]


def word(node: ast.expr) -> str:
    """The last word of a name or an attribute: ``njit`` for ``numba.njit``."""
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def dotted(node: ast.expr) -> str:
    """``np.random`` for the attribute of that name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def stated(call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call."""
    return {k.arg: k.value for k in call.keywords if k.arg}


def is_false(node: ast.expr | None) -> bool:
    """Whether an argument is the word False."""
    return isinstance(node, ast.Constant) and node.value is False


def no_print(file: File) -> Iterator[str]:
    """Only the command line speaks, and it does so through rich, which knows what a terminal is."""
    for call in file.calls():
        if (
            dotted(call.func) in {"print", "sys.stdout.write", "sys.stderr.write"}
            and file.room != "cli"
        ):
            yield f"{call.lineno}: {dotted(call.func)}"
        elif dotted(call.func) == "print" and "rich.print" not in {
            name for name, _ in file.imports()
        }:
            yield f"{call.lineno}: a bare print"


def one_door_to_randomness(file: File) -> Iterator[str]:
    """Predictable draws undo a release (seeds are found again by trying them), so only
    randomness.py draws.
    """
    if file.place == "randomness.py":
        return
    for name, line in file.imports():
        if (
            name.split(".")[0] in {"random", "secrets", "uuid"}
            or name.startswith("numpy.random")
            or name == "os.urandom"
        ):
            yield f"{line}: {name}"
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute) and dotted(node) in {
            "np.random",
            "numpy.random",
            "os.urandom",
        }:
            yield f"{node.lineno}: {dotted(node)}"
    for call in file.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr in {"sample", "shuffle"}:
            yield f"{call.lineno}: .{call.func.attr}() draws from a frame library's own generator"


def nothing_within_calls_itself(file: File) -> Iterator[str]:
    """A function within another that names itself refers to itself, and to all that it sees there:
    only a search for cycles frees it, which comes late, and whole tables wait with it.
    """
    for outer in ast.walk(file.tree):
        if not isinstance(outer, ast.FunctionDef):
            continue
        for inner in ast.walk(outer):
            if isinstance(inner, ast.FunctionDef) and inner is not outer:
                named = {node.id for node in ast.walk(inner) if isinstance(node, ast.Name)}
                if inner.name in named:
                    yield f"{inner.lineno}: {inner.name} is within {outer.name} and calls itself"


def njit_states_its_flags(file: File) -> Iterator[str]:
    """Fastmath changes results and nogil changes what may run beside it: both are decisions, made
    in writing.
    """
    called = {id(call.func): call for call in file.calls()}
    for node in ast.walk(file.tree):
        if (
            isinstance(node, (ast.Name, ast.Attribute))
            and word(node) in {"njit", "jit", "vectorize", "guvectorize"}
            and isinstance(node.ctx, ast.Load)
        ):
            given = stated(called[id(node)]) if id(node) in called else {}
            if missing := {"cache", "nogil", "fastmath"} - set(given):
                yield f"{node.lineno}: {word(node)} does not state {', '.join(sorted(missing))}"


def no_code_from_data(file: File) -> Iterator[str]:
    """Reading somebody's file or plan must never run it."""
    for name, line in file.imports():
        if name.split(".")[0] in {
            "cloudpickle",
            "dill",
            "joblib",
            "marshal",
            "pickle",
            "shelve",
            "yaml",
        }:
            yield f"{line}: {name}"
    for call in file.calls():
        if isinstance(call.func, ast.Name) and call.func.id in {
            "__import__",
            "compile",
            "eval",
            "exec",
        }:
            yield f"{call.lineno}: {call.func.id}"
        if isinstance(call.func, ast.Attribute) and call.func.attr in {
            "eval",
            "query",
            "read_pickle",
            "to_pickle",
        }:
            yield f"{call.lineno}: .{call.func.attr}() (pandas runs what it is given)"
        if "allow_pickle" in stated(call) and not is_false(stated(call)["allow_pickle"]):
            yield f"{call.lineno}: allow_pickle"


def nothing_hidden_is_written(file: File) -> Iterator[str]:
    """Dictionary pages, column statistics, IPC padding and a frame's index have all been seen to
    carry rows that were filtered out.

    The ledger is private, and seals what it stores; parts of a table larger than memory lie in files
    without a name until they are published.
    """
    if file.room in {"ledger", "engines"}:
        return
    for call in file.calls():
        name, given = word(call.func), stated(call)
        if name in {"write_parquet", "sink_parquet"} and not is_false(given.get("statistics")):
            yield f"{call.lineno}: {name} without statistics=False"
        if name in {"write_table", "ParquetWriter"} and not (
            is_false(given.get("use_dictionary")) and is_false(given.get("write_statistics"))
        ):
            yield f"{call.lineno}: {name} without use_dictionary=False, write_statistics=False"
        if name in {
            "dictionary_encode",
            "new_file",
            "sink_ipc",
            "to_csv",
            "to_feather",
            "to_parquet",
            "write_feather",
            "write_ipc",
        }:
            yield f"{call.lineno}: {name}"
        if name == "cast" and any(
            word(part) in {"Categorical", "Enum"}
            for argument in call.args
            for part in ast.walk(argument)
            if isinstance(part, ast.expr)
        ):
            yield f"{call.lineno}: a cast to a type that carries its list of categories"


def everything_public_is_described(file: File) -> Iterator[str]:
    """A module, class or function says what it promises; a method may leave that to the protocol or
    base class it implements.
    """
    tree = file.tree
    if tree.body and ast.get_docstring(tree) is None:
        yield "1: the module"
    defined = (ast.FunctionDef, ast.ClassDef)
    described = described_by_protocols()
    for node in tree.body:
        if (
            isinstance(node, defined)
            and not node.name.startswith("_")
            and ast.get_docstring(node) is None
        ):
            yield f"{node.lineno}: {node.name}"
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                own = (
                    isinstance(method, defined)
                    and not method.name.startswith("_")
                    and method.name not in described
                )
                if own and ast.get_docstring(method) is None:
                    yield f"{method.lineno}: {node.name}.{method.name}"


@cache
def described_by_protocols() -> set[str]:
    """Methods that some protocol or abstract class of the package describes, for all who implement
    it.
    """
    names = set()
    for file in source():
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and any(
                word(base) in {"Protocol", "ABC"} for base in node.bases
            ):
                names |= {
                    m.name
                    for m in node.body
                    if isinstance(m, ast.FunctionDef) and ast.get_docstring(m)
                }
    return names


def kernels_name_their_arguments(file: File) -> Iterator[str]:
    """Arrays have no columns to read, so a kernel's docstring, or that of its module, names every
    argument.
    """
    if not file.is_kernel:
        return
    for node in file.tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            said = f"{ast.get_docstring(file.tree)} {ast.get_docstring(node)}"
            if unnamed := [
                a.arg
                for a in (*node.args.args, *node.args.kwonlyargs)
                if not re.search(rf"\b{re.escape(a.arg)}\b", said)
            ]:
                yield f"{node.lineno}: {node.name} does not name {', '.join(unnamed)}"


def kernels_take_few_arguments(file: File) -> Iterator[str]:
    """Arguments by place are mixed up unnoticed: arrays that belong together are a NamedTuple."""
    if file.is_kernel:
        for node in file.tree.body:
            if isinstance(node, ast.FunctionDef) and len(node.args.args) > MOST_ARGUMENTS:
                yield f"{node.lineno}: {node.name} takes {len(node.args.args)} arguments"


def no_bare_except(file: File) -> Iterator[str]:
    """A bare except swallows Ctrl-C and the bug behind it."""
    yield from (
        f"{node.lineno}: except without a name"
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    )


def small_files(file: File) -> Iterator[str]:
    """What does not fit in a sitting is two things."""
    described = [
        node.body[0]
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    ]
    docstrings = sum((text.end_lineno or 0) - text.lineno + 1 for text in described)
    if (lines := file.text.count("\n") - docstrings) > MOST_LINES:
        yield f"{lines} lines without docstrings"


def rooms_have_names(file: File) -> Iterator[str]:
    """A module is called by the noun of what is in it; these words are called by nothing."""
    parts = Path(file.place).with_suffix("").parts
    yield from (
        f"called {part!r}"
        for part in parts
        if re.search(r"(^|_)(utils?|helpers?|common|misc|managers?)(_|$)", part)
    )


# Beside itself, a room sees only these. import-linter has the layers; this list is tighter, and
# covers imports inside functions.
MAY_SEE = {
    "adversaries": {
        "arrays",
        "data",
        "errors",
        "exact",
        "guarantees",
        "installed",
        "progress",
        "randomness",
        "release",
    },
    "arrays": set(),
    "data": {"arrays", "errors", "randomness"},
    "errors": set(),
    "estimators": {"arrays", "data", "errors", "exact", "progress", "randomness", "release"},
    "exact": {"arrays", "errors"},
    "guarantees": {"arrays", "data", "errors", "exact", "installed", "release"},
    "installed": {"arrays", "errors"},
    "kernels": {"arrays", "errors"},
    "ledger": {"arrays", "data", "errors", "randomness"},
    "progress": {"errors"},
    "randomness": {"arrays", "errors"},
    "release": {"arrays", "data", "errors", "installed", "randomness"},
}


def is_reader(call: ast.Call) -> bool:
    """Whether a call takes in a table that somebody else made."""
    module, _, name = dotted(call.func).rpartition(".")
    return (
        module == "pl" and name.startswith(("read_", "scan_", "from_arrow", "from_pandas"))
    ) or (
        (
            module in {"pq", "pa_csv", "pa.csv"}
            and name.startswith(("ParquetFile", "ParquetDataset", "open_", "read_"))
        )
        or (module == "pa.ipc" and name.startswith("open_"))
    )


def readers_are_refused_for(file: File) -> Iterator[str]:
    """A reader panics, runs out of memory and quotes what it read: it is called inside ``with
    refusing(...)``, and its names pass ``check_names``.

    The ledger reads what it sealed itself, an engine the nameless files that it wrote, and the demo
    what a package ships.
    """
    if file.room in {"ledger", "engines", "demo"}:
        return
    calls = {word(call.func) for call in file.calls()}
    doors = [
        n
        for n in ast.walk(file.tree)
        if isinstance(n, ast.With)
        and any(word(c.func) in ("refusing", "refusing_parquet") for c in calls_in(n.items))
    ]
    inside = {id(call) for door in doors for call in calls_in([door])}
    for call in file.calls():
        if is_reader(call) and id(call) not in inside:
            yield f"{call.lineno}: {dotted(call.func)} outside of 'with refusing(...)'"
        if is_reader(call) and dotted(call.func).startswith("pl.") and "check_names" not in calls:
            yield (
                f"{call.lineno}: {dotted(call.func)} without check_names, so that a column called"
                " '*' stands for all"
            )


def calls_in(nodes: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """Every call below some nodes."""
    return (call for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call))


def rooms_see_only_what_they_may(file: File) -> Iterator[str]:
    """What checks shares nothing with what makes; what remembers knows no methods."""
    for name, line in file.imports():
        parts = name.split(".")
        if (
            file.room in MAY_SEE
            and parts[0] == "phalanx"
            and parts[1] not in MAY_SEE[file.room] | {file.room}
        ):
            yield f"{line}: {file.room} imports {name}"
        if (
            file.is_kernel
            and parts[0] == "phalanx"
            and not {"arrays", "errors", "kernels"} & set(parts)
        ):
            yield f"{line}: a kernel imports {name}"
        if file.is_kernel and parts[0] in {"narwhals", "pandas", "polars", "pyarrow"}:
            yield f"{line}: a kernel imports {name}; it takes and gives arrays"


OLD_WORDS = {
    r"(?i)held[ _-]back|hold[ _-]back|holding back": "suppressed rows",
    r"\bever_wider\b": "strengthened",
    r"\.public\(\)|def public\(": "parameters()",
    r"\.said\(\)": "manifest_fields()",
    r"(?i)\bstands? for no person\b": "a counterfeit",
    r"(?i)\b(?:no|every|some)body\b|\bwhoever\b": "a person, an adversary, a reader, a user, …",
}
"""What one thing was called before it had one word, and the word (docs/explanation/glossary.md)."""


def one_word_for_one_thing(file: File) -> Iterator[str]:
    """A reader who meets two words looks for two things."""
    for old, word_now in OLD_WORDS.items():
        for found in re.finditer(old, file.text):
            yield (
                f"{file.text.count(chr(10), 0, found.start()) + 1}: {found[0]!r} is called"
                f" {word_now!r}"
            )


def no_release_is_moved_away(file: File) -> Iterator[str]:
    """A ledger that went back in time publishes again where nothing is in its way, so that nobody is
    told to put a release out of the way.
    """
    for node in ast.walk(file.tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"\bmove (it|them|(the|that|this) (release|folder))\b", node.value)
        ):
            yield f"{node.lineno}: {node.value!r} tells somebody to move something away"


OLD_NAMES = frozenset({"said", "found", "told"})
"""Names that say that something was said, and not what it is."""


def names_say_what_a_thing_is(file: File) -> Iterator[str]:
    """``manifest_fields``, ``attack``, ``settings``: whoever reads on need not look back."""
    for node in ast.walk(file.tree):
        name = node.arg if isinstance(node, ast.arg) else ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        if name in OLD_NAMES:
            yield f"{node.lineno}: {name!r} is no name of a thing"  # type: ignore[attr-defined]


LONGEST_ERROR = 150


def longest(node: ast.AST) -> int:
    """How many characters a message has at least, its figures and names counted as two each."""
    if isinstance(node, ast.Constant):
        return len(node.value) if isinstance(node.value, str) else 0
    if isinstance(node, ast.JoinedStr):
        return sum(map(longest, node.values))
    if isinstance(node, ast.BinOp):
        return longest(node.left) + longest(node.right)
    if isinstance(node, ast.IfExp):
        return max(longest(node.body), longest(node.orelse))
    return 2 if isinstance(node, ast.FormattedValue) else 0


def errors_are_short(file: File) -> Iterator[str]:
    """What is wrong and where, and what to do: two short sentences; more is not read."""
    for call in file.calls():
        if (
            word(call.func).endswith("Error")
            and call.args
            and longest(call.args[0]) > LONGEST_ERROR
        ):
            yield f"{call.lineno}: an error of {longest(call.args[0])} characters"


Rule = Callable[[File], Iterator[str]]

BROKEN_TWINS: list[tuple[Rule, str, str]] = [
    (no_print, "data/a.py", "print('x')"),
    (no_print, "report/a.py", "import sys\nsys.stdout.write('x')"),
    (no_print, "cli/a.py", "print('x')"),
    (one_door_to_randomness, "methods/a.py", "import random"),
    (one_door_to_randomness, "methods/a.py", "def f():\n    from numpy.random import default_rng"),
    (one_door_to_randomness, "methods/a.py", "from numpy import random"),
    (one_door_to_randomness, "methods/a.py", "import numpy as np\nx = np.random.default_rng(1)"),
    (one_door_to_randomness, "ledger/a.py", "from secrets import token_bytes"),
    (one_door_to_randomness, "ledger/a.py", "import os\nkey = os.urandom(32)"),
    (one_door_to_randomness, "release/a.py", "t = t.sample(fraction=1.0, shuffle=True)"),
    (njit_states_its_flags, "kernels/a.py", "from numba import njit\n@njit\ndef f(x): ..."),
    (
        njit_states_its_flags,
        "kernels/a.py",
        "import numba\n@numba.njit(cache=True, nogil=True)\ndef f(x): ...",
    ),
    (
        nothing_within_calls_itself,
        "data/a.py",
        "def f(tree):\n    def walk(n):\n        return [walk(m) for m in n]\n    return walk(tree)",
    ),
    (no_code_from_data, "data/a.py", "import pickle"),
    (no_code_from_data, "data/a.py", "from yaml import load"),
    (no_code_from_data, "plan.py", "x = eval(text)"),
    (no_code_from_data, "data/a.py", "np.load(path, allow_pickle=True)"),
    (no_code_from_data, "data/a.py", "frame.query(text)"),
    (nothing_hidden_is_written, "release/a.py", "t.write_parquet(f)"),
    (nothing_hidden_is_written, "release/a.py", "pq.write_table(t, f, write_statistics=False)"),
    (nothing_hidden_is_written, "release/a.py", "t.write_ipc(f)"),
    (nothing_hidden_is_written, "release/a.py", "pandas_frame.to_csv(f)"),
    (nothing_hidden_is_written, "release/a.py", "s.cast(pl.Enum(['a', 'b']))"),
    (everything_public_is_described, "data/a.py", "x = 1"),
    (everything_public_is_described, "data/a.py", '"""M."""\ndef f(): ...'),
    (
        everything_public_is_described,
        "data/a.py",
        '"""M."""\nclass A:\n    """A."""\n    def nobody_describes_this(self): ...',
    ),
    (kernels_name_their_arguments, "kernels/a.py", 'def f(codes, k):\n    """Cut ``codes``."""'),
    (
        kernels_take_few_arguments,
        "methods/anatomy/kernels.py",
        f"def f({', '.join(f'a{i}' for i in range(MOST_ARGUMENTS + 1))}): ...",
    ),
    (no_bare_except, "data/a.py", "try:\n    f()\nexcept:\n    pass"),
    (small_files, "data/a.py", "x = 1\n" * (MOST_LINES + 1)),
    (errors_are_short, "data/a.py", f"raise SchemaError(f'{{x}}{'a' * LONGEST_ERROR}')"),
    (names_say_what_a_thing_is, "data/a.py", "def f(said): ..."),
    (names_say_what_a_thing_is, "report/a.py", "x = [found for found in y]"),
    (one_word_for_one_thing, "methods/a.py", "held_back = 3"),
    (one_word_for_one_thing, "methods/a.py", "def public(self): ..."),
    (one_word_for_one_thing, "methods/a.py", "# Nobody is linked"),
    (one_word_for_one_thing, "cli/a.py", "'1 row held back'"),
    (no_release_is_moved_away, "series/a.py", "raise ReleaseError(f'{x} is there; move it away.')"),
    (rooms_have_names, "data/utils.py", ""),
    (rooms_have_names, "release_helpers/a.py", ""),
    (
        readers_are_refused_for,
        "release/a.py",
        "with refusing(error):\n    pass\ncheck_names(pl.read_parquet(path).columns)",
    ),
    (readers_are_refused_for, "data/a.py", "with refusing(error):\n    frame = pl.read_csv(path)"),
    (readers_are_refused_for, "guarantees/a.py", "with pq.ParquetFile(path) as file:\n    pass"),
    (rooms_see_only_what_they_may, "guarantees/a.py", "from phalanx.methods.base import Memory"),
    (
        rooms_see_only_what_they_may,
        "adversaries/a.py",
        "def f():\n    import phalanx.methods.mondrian.kernels.cuts",
    ),
    (rooms_see_only_what_they_may, "ledger/a.py", "from phalanx import release"),
    (rooms_see_only_what_they_may, "kernels/a.py", "import polars as pl"),
    (rooms_see_only_what_they_may, "methods/anatomy/kernels.py", "import polars as pl"),
    (
        rooms_see_only_what_they_may,
        "methods/slicing/kernels/a.py",
        "from phalanx.data.microdata import Microdata",
    ),
]
RULES = list(dict.fromkeys(rule for rule, _, _ in BROKEN_TWINS))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_source_keeps_the_rule(rule: Rule) -> None:
    """Every source file keeps every rule of the house."""
    offences = [
        f"src/phalanx/{file.place}:{offence}" for file in source() for offence in rule(file)
    ]
    assert not offences, f"{rule.__doc__}\n" + "\n".join(offences)


def test_pages_are_in_the_same_words() -> None:
    """What a template says has the words of the source."""
    pages = sorted((SOURCE / "phalanx").rglob("*.html"))
    assert pages
    assert [
        f"{page.name}:{offence}"
        for page in pages
        for offence in one_word_for_one_thing(File(page.name, page.read_text(encoding="utf-8")))
    ] == []


def in_old_words(page: str, text: str) -> list[str]:
    """The old words of a document, also those with a line's end in them."""
    one_line = File(page, " ".join(text.split()))
    return [f"{page}:{offence}" for offence in one_word_for_one_thing(one_line)]


def test_documents_are_in_the_same_words() -> None:
    """A reader of the documents meets the words of the program, and no others."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert len(pages) > 30
    assert [
        offence
        for page in pages
        for offence in in_old_words(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize(
    "text", ["Hold back only these.", "rows are held\n  back", "It exposes nobody.", "Whoever asks"]
)
def test_old_words_of_a_document_are_seen(text: str) -> None:
    """At the beginning of a sentence, and over the end of a line."""
    assert in_old_words("a.md", text)


@pytest.mark.parametrize(
    ("rule", "place", "text"), BROKEN_TWINS, ids=lambda part: getattr(part, "__name__", None)
)
def test_rule_rejects_its_broken_twin(rule: Rule, place: str, text: str) -> None:
    """Every rule rejects what it was written against."""
    assert list(rule(File(place, text)))


def test_rules_accept_good_source() -> None:
    """No rule rejects a file that keeps them all, not even one that speaks of what is banned."""
    good = '''"""Never np.random, never pickle."""
from numba import njit
@njit(cache=True, nogil=True, fastmath=False)
def cut(codes):
    """Halve ``codes``."""
'''
    assert [
        offence
        for rule in RULES
        for offence in rule(File("methods/mondrian/kernels/cuts.py", good))
    ] == []


def test_every_file_says_its_licence() -> None:
    """A file that is copied out of here takes its licence along."""
    licence = "# SPDX-License-Identifier: Apache-2.0\n"
    scripts = [
        path
        for folder in SCRIPTS
        for path in (ROOT / folder).rglob("*.py")
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    ]
    bare = [
        str(path) for path in scripts if (text := path.read_text()) and licence not in text[:99]
    ]
    assert len(scripts) > 500 and not bare


def test_there_is_source_to_check() -> None:
    """The rules looked at the package, and not at an empty folder."""
    assert len(FILES) > 20
