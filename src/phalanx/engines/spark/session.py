# SPDX-License-Identifier: Apache-2.0
"""A Spark that is private and silent: no page of its own, no word but errors, its files where no other
user may look, and workers that are the running interpreter.

What the workers write down between two stages is encrypted under a key that ends with the process,
so that a kill leaves no row behind.
"""

import logging
import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from phalanx.errors import ExtraError, PlanError, require_extra

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEATURE: Final = "engine = 'spark'"
LOCAL: Final = "local[*]"
"""All processors of this machine."""

_ALWAYS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.io.encryption.enabled": "true",
}
"""Of a session that is started here."""
_WHILE: Final = {
    "spark.sql.adaptive.enabled": "false",  # it would put small cells together into one task
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 17),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.session.timeZone": "UTC",
}
"""Of any session, for as long as it is used."""
_EXACT: Final = {"spark.sql.caseSensitive": "true"}
"""Where names of columns are told apart by their case, too: as those of a file are. A frame's columns
were found in its files by the setting of its session, and would be missing under another one.
"""
_SILENT: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""
_WORKERS: Final = {
    "POLARS_MAX_THREADS": "1",
    "PHALANX_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONSAFEPATH": "1",
}
"""Their environment: each has one processor, and takes no code from the working folder."""
_INTERRUPTING: Final = (signal.SIGINT, signal.SIGUSR1)
"""As which an interruption comes: by itself, and handed on by the process that waits for this one."""
_TAKEN: Final = ("PYTHONPATH", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_OPT")
"""What they take over from this one."""


@contextmanager
def session(
    place: Path, master: str | None = None, frame: "DataFrame | None" = None
) -> "Iterator[SparkSession]":
    """A session to work with: that of a frame, or the one that is active, which go on afterwards; else
    one of our own, for as long as it is needed.

    Parameters
    ----------
    place : Path
        A private folder on a disk with room for the rows; nothing is left there.
    master : str, optional
        Where Spark runs, in its own words, as ``local[4]`` or ``spark://host:7077``; all processors
        of this machine if not given.
    frame : DataFrame, optional
        A data frame that is worked with.

    Yields
    ------
    SparkSession
        The session.

    Raises
    ------
    ExtraError
        Where PySpark or Java is missing.
    PlanError
        Where nothing answers there, or another session is active than the one that is asked for.
    """
    require_extra("spark", FEATURE)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions that PySpark does not know yet
        if frame is not None:
            alike = len({name.lower() for name in frame.columns}) < len(set(frame.columns))
            with _set(frame.sparkSession, exact=alike):
                yield frame.sparkSession
            return
        active = SparkSession.getActiveSession()
        if active is None and SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark has no other name for it
            active = SparkSession.builder.getOrCreate()  # which another thread began
        if active is not None:
            if master is not None and active.sparkContext.master != master:
                raise PlanError(
                    f"a Spark session is active at {active.sparkContext.master!r}, and"
                    f" spark_master = {master!r}; leave one of the two."
                )
            with _set(active, exact=True):
                yield active
            return
        with _started(place, master or LOCAL) as own, _set(own, exact=True):
            yield own


@contextmanager
def _started(place: Path, master: str) -> "Iterator[SparkSession]":
    """A session of our own, and its private folder."""
    local, own = master.startswith("local"), place / "spark"
    if local and "," in str(own):
        raise PlanError(
            f"Spark would take {str(place.parent)!r} for several folders, as there is a comma in it;"
            " choose a folder without one."
        )
    from pyspark.sql import SparkSession

    _check_java()
    own.mkdir(mode=0o700)
    settings = {**_ALWAYS, **_of_workers()}
    hidden = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    if local:
        hidden["SPARK_LOCAL_DIRS"] = str(own)
        settings |= {
            "spark.local.dir": str(own),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
        }
    if "SPARK_CONF_DIR" not in os.environ:  # who has one decides what is logged
        (own / "log4j2.properties").write_text(_SILENT, encoding="utf-8")
        written = (own / "log4j2.properties").absolute().as_uri()  # without a blank or a quote
        quiet = f"-Dlog4j2.configurationFile={written}"
        settings |= {"spark.driver.extraJavaOptions": quiet, "spark.log.level": "ERROR"}
    builder = SparkSession.builder.appName("phalanx").master(_retrying(master))
    for name, value in settings.items():
        builder = builder.config(name, value)
    loud = "SPARK_CONF_DIR" in os.environ
    try:
        with _environment(hidden), _interruptible() as interruptible, _java():
            try:
                with nullcontext() if loud else _mute():
                    made = builder.getOrCreate()
            except Exception as error:  # noqa: BLE001 - py4j's and Java's own, in many words
                raise PlanError(
                    f"Spark does not start at {master!r} ({type(error).__name__}); check"
                    " spark_master, and that Java 17 or later runs here."
                ) from None
            interruptible()
            try:
                yield made
            finally:
                made.stop()
    finally:
        shutil.rmtree(own, ignore_errors=True)


@contextmanager
def _java() -> Iterator[None]:
    """The process of Java that PySpark starts ends with the session: another one would go on writing
    where this one was told to, which is not there any more.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    there_before = SparkContext._gateway is not None  # noqa: SLF001 - PySpark has no other name for it
    try:
        yield
    finally:
        gateway = SparkContext._gateway  # noqa: SLF001
        if gateway is not None and not there_before:
            gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
            SparkContext._active_spark_context = SparkSession._instantiatedSession = None  # noqa: SLF001 - which one that did not start leaves
            _end(getattr(gateway, "proc", None))


@contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """Ctrl-C does what it did before, once what is given is called: PySpark's own answer to it asks Java
    in the midst of a question, which fails; and until then, while Java starts, it is remembered, as
    Java would be left behind. What is logged of an interrupted question is not said.
    """
    in_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in _INTERRUPTING if in_main}
    root, java = logging.getLogger(), logging.getLogger("py4j")
    came: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if came.count(number) > 1 and callable(then := before[signal.Signals(number)]):
            then(number, frame)

    def as_before() -> None:
        for number, then in before.items():
            if then is not None:
                signal.signal(number, then)
        for first in came[:1]:
            if callable(then := before[signal.Signals(first)]):
                then(first, None)

    for number, then in before.items():
        if callable(then):
            signal.signal(number, remember)

    level = java.level
    java.setLevel(logging.CRITICAL + 1)
    root.addFilter(_of_others)
    try:
        yield as_before
    finally:
        for number, then in before.items():
            if signal.getsignal(number) is remember:
                signal.signal(number, then)
        root.removeFilter(_of_others)
        java.setLevel(level)


def _of_others(record: logging.LogRecord) -> bool:
    """Whether it was not the way to Java that logged something."""
    return "py4j" not in Path(record.pathname).parts


def _end(process: "Popen[bytes] | None") -> None:
    """It ends when what it reads does; one that does not is killed."""
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(30)
    except TimeoutExpired:
        process.kill()
        process.wait()


def _retrying(master: str) -> str:
    """A master in this process that gives a task four attempts, as all others do.

    >>> _retrying("local[*]"), _retrying("local"), _retrying("local[2,1]"), _retrying("yarn")
    ('local[*,4]', 'local[1,4]', 'local[2,1]', 'yarn')
    """
    if master == "local":
        return "local[1,4]"
    if master.startswith("local[") and "," not in master:
        return f"{master[:-1]},4]"
    return master


def _of_workers() -> dict[str, str]:
    """The environment of workers, as settings."""
    taken = {name: os.environ[name] for name in _TAKEN if name in os.environ}
    return {f"spark.executorEnv.{name}": word for name, word in {**_WORKERS, **taken}.items()}


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise ExtraError(
            f"{FEATURE} needs Java 17 or later, and none is here; install it, or name its folder in"
            " JAVA_HOME."
        )


@contextmanager
def _set(spark: "SparkSession", *, exact: bool) -> Iterator[None]:
    """The session's settings, and then those that it had."""
    settings = (
        _WHILE
        | (_EXACT if exact else {})
        | {"spark.sql.shuffle.partitions": str(spark.sparkContext.defaultParallelism)}
    )
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        _restore(spark, before)


def _restore(spark: "SparkSession", before: Mapping[str, Any]) -> None:
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@contextmanager
def _environment(words: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in words}
    os.environ.update(words)
    try:
        yield
    finally:
        for name, word in before.items():
            if word is None:
                del os.environ[name]
            else:
                os.environ[name] = word


@contextmanager
def _mute() -> Iterator[None]:
    """What Java says while it starts is of no use to who publishes; a fault there is an exception
    here.
    """
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
