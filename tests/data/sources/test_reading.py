# SPDX-License-Identifier: Apache-2.0
"""The one reader of files: damage, bombs, panics and want of memory end in one sentence that quotes
nothing.
"""

import errno
import gzip
import io
import itertools
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import phalanx as px
from phalanx.data.sources import available_memory as memory
from phalanx.data.sources import csv_files, databases, reading
from phalanx.data.sources.frames import to_polars
from phalanx.data.sources.reading import refusing
from phalanx.data.sources.source import read_source
from phalanx.errors import MachineError, PhalanxError, ReleaseError, SourceError
from phalanx.release.folder import read_csv
from phalanx.verification import verify_table

MARK = "MARKERVALUE"


def panics() -> None:
    raise pl.exceptions.PanicException(MARK)


def of_a_reader() -> None:
    raise ValueError(MARK)


@pytest.mark.parametrize("fails", [panics, of_a_reader])
@pytest.mark.parametrize("kind", [SourceError, ReleaseError])
def test_whatever_a_reader_raises_is_one_refusal(
    fails: Callable[[], None], kind: type[PhalanxError]
) -> None:
    """A panic, which is no Exception, and any error become the door's own error, without the words
    of the reader.
    """
    with pytest.raises(kind) as refused, refusing(kind("this file is refused.")):
        fails()
    assert MARK not in str(refused.value)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(MARK), "more memory than is left"),
        (pa.ArrowMemoryError(MARK), "more memory than is left"),
        (OSError(errno.ENOMEM, MARK), "more memory than is left"),
        (OSError(f"{MARK} Detail: [errno 12] Cannot allocate memory"), "more memory than is left"),
        (OSError(errno.EMFILE, MARK), "opens no more files"),
        (OSError(f"{MARK} Detail: [errno 24] Too many open files"), "opens no more files"),
        (OSError(errno.EAGAIN, MARK), "starts no more threads"),
        (RuntimeError("can't start new thread"), "starts no more threads"),
        (
            pa.ArrowException(
                "Unknown error: Failed to launch worker thread: Resource temporarily"
            ),
            "starts no more threads",
        ),
        (MachineError("the machine is small."), "the machine is small"),
    ],
    ids=lambda shown: type(shown).__name__ if isinstance(shown, Exception) else "",
)
@pytest.mark.parametrize("door", [SourceError, ReleaseError])
def test_what_the_machine_lacks_is_no_fault_of_a_file(
    error: Exception, words: str, door: type[PhalanxError]
) -> None:
    """It is neither a table nor a release that is wrong, at whatever door, so that no check takes it
    for one.
    """
    with pytest.raises(MachineError, match=words) as refused, refusing(door("this is damaged.")):
        raise error
    assert MARK not in str(refused.value)
    assert not issubclass(MachineError, SourceError | ReleaseError)
    assert refused.value.__suppress_context__ or error is refused.value


def test_our_own_refusals_keep_their_words() -> None:
    """What a door inside says is said by the door outside, as its own kind of error."""
    with (
        pytest.raises(ReleaseError, match="column 'x' is nested"),
        refusing(ReleaseError("another sentence.")),
    ):
        raise SourceError("column 'x' is nested; drop it.")


@pytest.mark.parametrize("leaving", [KeyboardInterrupt, SystemExit])
def test_leaving_is_not_refused(leaving: type[BaseException]) -> None:
    """Ctrl-C and exit pass."""
    with pytest.raises(leaving), refusing(SourceError("refused.")):
        raise leaving


def writes_and_raises() -> None:
    os.write(2, MARK.encode())
    raise ValueError(MARK)


def test_a_reader_is_silent_and_what_comes_after_is_heard(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What native code writes to standard error is dropped while a file is read, also after a
    refusal and inside another door; then it is heard again.
    """
    os.write(2, b"before ")
    for _ in range(2):
        with (
            pytest.raises(SourceError),
            refusing(SourceError("refused.")),
            refusing(SourceError("refused.")),
        ):
            writes_and_raises()
    os.write(2, b"after")
    assert capfd.readouterr().err == "before after"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_of_a_reader_reads_nothing() -> None:
    """The threads that read are not in a fork, which would wait for them for ever: it is told so,
    wherever a table, a file or a release comes in; the process that was forked reads on.
    """
    table = pl.DataFrame({"a": [1, 1], "s": ["x", "y"]})
    release = px.publish(table, px.Schema(quasi=["a"], sensitive="s"), px.Mondrian(k=2))
    doors: list[Callable[[], object]] = [
        lambda: to_polars(table),
        lambda: to_polars(table.lazy()),
        lambda: release.estimate(pl.col("a") < 2),
        release.verify,
    ]
    for door in doors:
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(20)
                door()
            except PhalanxError as error:
                os._exit(0 if "this process is a fork of one" in str(error) else 2)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    assert to_polars(table).height == 2


def test_no_standard_error_at_all() -> None:
    """A service may run with its standard error closed."""
    script = (
        "import os; os.close(2)\nfrom phalanx.data.sources.reading import refusing\nfrom"
        " phalanx.errors import SourceError\nwith refusing(SourceError('x')): print('read')"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=False, timeout=60
    )
    assert (run.returncode, run.stdout) == (0, "read\n")


def files() -> dict[str, bytes]:
    """A table in each format, with marked values."""
    frame = pl.DataFrame(
        {
            "a": range(60),
            "b": [f"{MARK}{i}" for i in range(60)],
            "c": pl.Series([f"{MARK}{i % 4}" for i in range(60)], dtype=pl.Categorical),
        }
    )
    parquet, of_arrow = io.BytesIO(), io.BytesIO()
    frame.write_parquet(parquet)
    pq.write_table(frame.to_arrow(), of_arrow, use_dictionary=False)
    made = {
        "p.parquet": parquet.getvalue(),
        "q.parquet": of_arrow.getvalue(),
        "t.csv": frame.write_csv().encode(),
    }
    for name, opened in (("f.arrow", pa.ipc.new_file), ("s.arrow", pa.ipc.new_stream)):
        sink = io.BytesIO()
        with opened(sink, frame.to_arrow().schema) as writer:
            writer.write_table(frame.to_arrow(), max_chunksize=20)
        made[name] = sink.getvalue()
    return made


def bent(content: bytes, rng: random.Random) -> bytes:
    """The same with a few bits, bytes or stretches changed, most of them near the end, where
    footers are.
    """
    made = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        i = (
            rng.randrange(len(made))
            if rng.random() < 0.5
            else max(0, len(made) - 1 - rng.randrange(min(len(made), 1200)))
        )
        match rng.randrange(4):
            case 0:
                made[i] ^= 1 << rng.randrange(8)
            case 1:
                del made[i : i + rng.randrange(1, 20)]
            case 2:
                made[i:i] = rng.randbytes(rng.randrange(1, 9))
            case _:
                made[i : i + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff" * 4])
        made = made or bytearray(b"x")
    return bytes(made)


@pytest.mark.parametrize("name", files())
def test_bent_files_are_read_or_refused(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever is changed in a file, it is read or refused as a source and as somebody's table, and
    no value is said or written anywhere.
    """
    rng, path, refusals = random.Random(name), tmp_path / name, []
    for _ in range(60):
        path.write_bytes(bent(files()[name], rng))
        for door in (lambda: read_source(path, drop=None), lambda: verify_table(path, quasi=["b"])):
            try:
                door()
            except PhalanxError as refused:
                refusals.append(str(refused))
    assert len(refusals) > 10
    assert [said for said in refusals if MARK in said] == []
    assert capfd.readouterr().err == ""


def test_a_batch_is_checked_before_it_is_measured(tmp_path: Path) -> None:
    """An Arrow stream whose offsets point outside of the file is refused; asking how large it is
    would end the process.
    """
    table = pa.table({"b": [f"value {i}" for i in range(60)]})
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    content = (tmp_path / "t.arrow").read_bytes()
    offsets = b"".join(i.to_bytes(4, "little") for i in (0, 7, 14))
    assert offsets in content
    (tmp_path / "t.arrow").write_bytes(
        content.replace(offsets, (0).to_bytes(4, "little") + b"\xff\xff\xff\x7f" * 2)
    )
    with pytest.raises(SourceError, match="not a whole Arrow file"):
        read_source(tmp_path / "t.arrow")


def test_more_than_the_memory_is_refused_before_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that needs more memory than is left is refused by its header or its size, whichever
    door it comes to; of a Parquet file also by what its texts take.
    """
    frame = pl.DataFrame({"a": range(100_000)})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(reading, "memory_left", lambda: 100_000)
    for name in ("t.parquet", "t.arrow", "t.csv"):
        with pytest.raises(
            MachineError, match=r"needs \d+(\.\d)? MB of memory or more, and \d+(\.\d)? MB are left"
        ) as refused:
            read_source(tmp_path / name)
        assert ("save it as CSV or Parquet" in str(refused.value)) == (name == "t.arrow")
        with pytest.raises(MachineError, match="of memory or more"):
            verify_table(tmp_path / name, quasi=["a"])
    with pytest.raises(MachineError, match="of memory or more"):
        read_csv(tmp_path / "t.csv", {})
    pl.DataFrame({"a": ["x"] * 100_000}).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(reading, "memory_left", lambda: 16 * 100_000)
    assert read_source(tmp_path / "t.parquet").height == 100_000
    monkeypatch.setattr(reading, "memory_left", lambda: 16 * 100_000 - 1)
    with pytest.raises(MachineError, match="of memory or more"):
        read_source(tmp_path / "t.parquet")


def test_a_sparse_file_is_refused_by_its_size(tmp_path: Path) -> None:
    """A terabyte of nothing is not read."""
    with (tmp_path / "t.csv").open("wb") as file:
        file.write(b"a,b\n1,2\n")
        file.truncate(1 << 40)
    with pytest.raises(MachineError, match="of memory or more"):
        read_source(tmp_path / "t.csv")


def test_a_packed_file_is_unpacked_no_further_than_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file that unpacks to more than half of what is left is refused on the way."""
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * 500_000))
    monkeypatch.setattr(csv_files, "memory_left", lambda: 1_000_000)
    with pytest.raises(SourceError, match="unpacks to more than 500000 bytes"):
        read_source(tmp_path / "t.csv.gz")


def test_memory_is_what_the_tightest_limit_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's, the container's and the process's limits are all asked, where there are any; of
    what they leave, libraries take some, and half at most.
    """
    monkeypatch.setattr(memory, "_BESIDE", 500_000)
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    monkeypatch.setattr(memory, "_MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    monkeypatch.setattr(memory, "_of_process", lambda: 1 << 62)
    assert memory.memory_left() == (4000 << 10) - 500_000
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert memory.memory_left() == 1_500_000
    (tmp_path / "memory.current").write_text("2800000\n")
    assert memory.memory_left() == 100_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.memory_left() == (4000 << 10) - 500_000
    monkeypatch.setattr(memory, "_of_process", lambda: -5)
    assert memory.memory_left() == 0
    monkeypatch.setattr(memory, "_MACHINE", tmp_path / "none")
    assert memory._of_machine() > 0


def test_a_process_under_a_limit_knows_it() -> None:
    """Under a limit of the address space, what is left is less than the limit."""
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\nfrom"
        " phalanx.data.sources.available_memory import memory_left; print(memory_left())"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert 0 < int(run.stdout) < 2 << 30


def test_lazy_tables_fail_in_a_sentence(tmp_path: Path) -> None:
    """A lazy table over a damaged file is refused when it is computed."""
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SourceError, match="the lazy table cannot be computed"):
        to_polars(pl.scan_parquet(tmp_path / "t.parquet"))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_type_that_is_not_read_is_named_as_that(tmp_path: Path, kind: str) -> None:
    """Whole numbers of 128 bits, which Polars writes and Arrow does not read: the file is not
    called damaged.
    """
    frame = pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int128)})
    getattr(frame, {"parquet": "write_parquet", "arrow": "write_ipc"}[kind])(tmp_path / f"t.{kind}")
    with pytest.raises(SourceError, match="holds a type that is not read, such as numbers beyond"):
        read_source(tmp_path / f"t.{kind}", drop=None)


LONG = "x" * ((1 << 24) + 1)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("whole", [LONG, LONG.replace("xxxx", "x\nxx")], ids=["line", "lines"])
def test_a_value_that_is_no_attribute_of_a_person(tmp_path: Path, name: str, whole: str) -> None:
    """A value of more than 16 MB is refused by every reader, in one line or in many."""
    frame, path = pl.DataFrame({"a": ["y", whole], "b": [1, 2]}), tmp_path / name
    if name == "t.csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode(), 1))
    else:
        getattr(
            frame, {"csv": "write_csv", "arrow": "write_ipc"}.get(path.suffix[1:], "write_parquet")
        )(path)
    with pytest.raises(SourceError, match=r"of more than 16 MB, which (is )?no"):
        read_source(path)
    fits = frame.with_columns(pl.col("a").str.head(1000))
    fits.write_csv(tmp_path / "fits.csv")
    assert read_source(tmp_path / "fits.csv").shape == (2, 2)


def test_a_line_is_measured_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line as long as the limit is read, wherever it stands; one byte more is refused."""
    monkeypatch.setattr(csv_files, "MAX_LINE", 10)
    for before, after in itertools.product(["", "1,2\n", "1,2\n" * 7], ["", "\n", "\n1,2\n"]):
        (tmp_path / "t.csv").write_text(f"a,b\n{before}1234567,10{after}")
        assert read_source(tmp_path / "t.csv")["b"].max() == 10
        (tmp_path / "t.csv").write_text(f"a,b\n{before}1234567,101{after}")
        with pytest.raises(SourceError, match="a line of more than"):
            read_source(tmp_path / "t.csv")


def test_a_packed_line_without_an_end_is_refused_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file whose line has no end is unpacked little further than a line may be long."""
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n" + bytes(10**8)))
    read = []

    class Counted(gzip.GzipFile):
        def read(self, size: int | None = -1) -> bytes:
            read.append(part := super().read(size))
            return part

    monkeypatch.setattr(csv_files.gzip, "open", Counted)
    with pytest.raises(SourceError, match="a line of more than 16 MB"):
        read_source(tmp_path / "t.csv.gz")
    assert sum(map(len, read)) < 20_000_000


def test_many_small_cells_count_with_what_each_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of short values needs more memory than its bytes, and is refused by that."""
    (tmp_path / "t.csv").write_bytes(b"a\n" + b"1\n" * 100_000)
    monkeypatch.setattr(reading, "memory_left", lambda: 1_000_000)
    with pytest.raises(MachineError, match="of memory or more"):
        read_source(tmp_path / "t.csv")
    monkeypatch.setattr(reading, "memory_left", lambda: 2_000_000)
    assert read_source(tmp_path / "t.csv").height == 100_000


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT printf('%.*c', 20000000, 'x') AS a", "column 'a' holds a value of more than 16"),
        ("SELECT zeroblob(20000000) AS a", "column 'a' holds a value of more than 16 MB"),
        ("SELECT zeroblob(999999999) AS a", "it needs too much memory for a row"),
        ("SELECT printf('%.*c', 999999999, 'x') AS a", "it needs too much memory for a row"),
    ],
)
def test_a_query_makes_no_value_without_an_end(tmp_path: Path, query: str, said: str) -> None:
    """SQLite makes any value of nothing: it is refused before it is copied, or made."""
    (tmp_path / "d.db").touch()
    with pytest.raises(SourceError, match=said):
        read_source(f"sqlite:///{tmp_path}/d.db", query=query)


def test_a_query_gives_no_rows_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are taken until half of the memory is full, and then refused."""
    (tmp_path / "d.db").touch()
    endless = "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a FROM c"
    monkeypatch.setattr(databases, "memory_left", lambda: 50_000_000)
    with pytest.raises(MachineError, match="more rows than there is memory for"):
        read_source(f"sqlite:///{tmp_path}/d.db", query=endless)
    few = read_source(f"sqlite:///{tmp_path}/d.db", query=endless + " LIMIT 1000000")
    assert few["a"].to_list() == list(range(1, 1_000_001))


def test_headers_have_an_end(tmp_path: Path) -> None:
    """More than ten thousand columns, and a header longer than a megabyte, are refused at once."""
    for count, said in ((10_001, "more than 10000 columns"), (200_000, "is longer than 1 MB")):
        (tmp_path / "t.csv").write_text(",".join(f"c{i}" for i in range(count)) + "\n")
        with pytest.raises(SourceError, match=said):
            read_source(tmp_path / "t.csv")
    with pytest.raises(SourceError, match="more than 10000 columns"):
        to_polars(pl.DataFrame({f"c{i}": [1] for i in range(10_001)}))
