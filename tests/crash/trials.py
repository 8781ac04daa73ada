# SPDX-License-Identifier: Apache-2.0
"""Publishers that are stopped, one after the other: each publishes the same table on the same
state, and is looked at afterwards.

    echo '[["/tmp/place"], {"how": "full", "releases": 0}]' | python -m crash.trials  (from tests/)

reads a line for each order: a folder, where the ledger is in PostgreSQL with the URL of the server
and its folder behind it, and what an :class:`Order` says. It prints one line of JSON per trial, and
then one with the status. It runs as a process of its own, because the publishers are forks of it:
all is imported and every kernel compiled before, once for all orders, so that a publisher takes a
twentieth of a second; and nothing is ever published in it, so that it has one thread.
"""

import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from crash import aftermath, scene, tracer
from crash.disk import Disk
from crash.forks import forked
from crash.places import Place
from crash.twins import TWINS
from phalanx.errors import PhalanxError
from support.warm import begin_again, warm_up


@dataclass(frozen=True, kw_only=True)
class Order:
    """Which trials to make."""

    releases: int = 1
    """So many releases are there already."""
    how: str = "before"
    first: int = 1
    step: int = 1
    """Of the calls at which it is stopped, every so many, from this one on."""
    power: str = ""
    """The power fails as well: ``flushed`` leaves what was flushed, ``names`` all names and what
    was flushed of the files.
    """
    again: int | None = None
    """Kill the next publisher as well, at a call that this number chooses."""
    twin: str = ""
    """A way in which publishing is broken on purpose."""
    since: str = ""
    """Count from the first call that holds this text."""
    only: str = ""
    """Stop publishers only at calls that hold this text, as one who comes through makes them, and
    one behind the last call.
    """


@dataclass
class Trial:
    """What became of one publisher."""

    at: int
    call: str = ""
    """The call at which it was stopped."""
    passed: bool = False
    """Whether it came through without reaching that call."""
    said: str = ""
    recorded: bool = False
    """Whether its release is in the ledger."""
    faults: list[str] = field(default_factory=list)
    calls: int = 0
    seconds: float = 0.0


class Trials:
    """Trials on one place."""

    def __init__(self, place: Place, order: Order) -> None:
        self.place, self.order = place, order
        place.begin()
        if order.releases:
            forked(
                lambda: [
                    scene.publish(place.out, place.ledger, n).number
                    for n in range(1, order.releases + 1)
                ]
            )
        place.keep()

    def all(self) -> Iterator[Trial]:
        """One trial after the other, until a publisher passes."""
        order = self.order
        if order.only:
            chosen = [at for at, call in enumerate(self.calls(), 1) if order.only in call]
            yield from map(self.one, [*chosen[order.first - 1 :: order.step], 10_000])
            return
        before = 0
        if order.since:
            before = next(at for at, call in enumerate(self.calls()) if order.since in call)
        for at in itertools.count(before + order.first, order.step):
            trial = self.one(at)
            yield trial
            if trial.passed:
                return

    def calls(self) -> list[str]:
        """What a publisher calls who comes through."""
        self.place.reset()
        return [str(call) for call in self.publisher(None, self.order.how)[0].calls]

    def one(self, at: int) -> Trial:
        """Stop a publisher at a call, look, publish again, look again."""
        began = time.perf_counter()
        self.place.reset()
        trial = Trial(at=at)
        disk = Disk(self.place.world) if self.order.power else None
        ended, trial.said = self.publisher(at, self.order.how, disk)
        if disk is not None:
            disk.fail(keep_names=self.order.power == "names")
        trial.calls, trial.passed = len(ended.calls), len(ended.calls) < at
        trial.call = str(ended.calls[at - 1]) if not trial.passed else ""
        trial.faults += [
            f"{call} is outside of the place" for call in ended.calls if not self.place.covers(call)
        ]
        trial.faults += forked(lambda: aftermath.look(self.place))
        if self.order.again is not None:
            self.publisher(1 + (self.order.again + at) % 90, self.order.how)
            trial.faults += forked(lambda: aftermath.look(self.place))
        stopped = 1 if self.order.again is None else 2
        after = forked(lambda: aftermath.mend(self.place, self.order.releases, stopped))
        trial.recorded = after["recorded"]
        trial.faults += after["faults"]
        if not ended.killed:
            trial.faults += aftermath.untrue(
                trial.said, succeeded=ended.status == 0, recorded=after["recorded"]
            )
        trial.seconds = round(time.perf_counter() - began, 3)
        return trial

    def publisher(
        self, at: int | None, how: str, disk: Disk | None = None
    ) -> tuple[tracer.Ended, str]:
        """Let a fork publish and stop it; how it ended, and what it said."""
        log = os.memfd_create("log")

        def work() -> int:
            os.dup2(log, 1)
            os.dup2(log, 2)
            try:
                scene.publish(self.place.out, self.place.ledger, self.order.releases + 1)
            except PhalanxError as error:
                os.write(2, f"{error}\n".encode())
                return 1
            return 0

        try:
            ended = tracer.run(work, at=at, how=how, watch=None if disk is None else disk.watch)
            os.lseek(log, 0, os.SEEK_SET)
            return ended, os.read(log, 1 << 20).decode()
        finally:
            os.close(log)


def rehearse(place: Place) -> None:
    """Publish twice, as publishers do."""
    place.begin()
    for release in (1, 2):
        scene.publish(place.out, place.ledger, release)


def main() -> None:
    """Make the trials; begin again first where a library would have started threads."""
    begin_again("crash.trials")
    with tempfile.TemporaryDirectory() as folder:
        warm_up(lambda: rehearse(Place(Path(folder))))
    for line in sys.stdin:
        where, order = json.loads(line)
        if (pid := os.fork()) == 0:  # a process of its own, which a twin may break
            status = 1
            try:
                make(place_of(*where), Order(**order))
                status = 0
            except BaseException:  # noqa: BLE001 - the fork must never go on as if it were its parent
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        tell({"status": status, "used": sum(os.times()[:4])})


def place_of(folder: str, url: str = "", server: str = "") -> Place:
    """The place in a folder, with its ledger in a file or on a server."""
    if not url:
        return Place(Path(folder))
    from crash.postgresql_place import PostgresqlPlace

    return PostgresqlPlace(Path(folder), url, Path(server))


def make(place: Place, order: Order) -> None:
    """The trials of one order, told one by one."""
    if order.twin:
        TWINS[order.twin]()
    last = None
    for trial in Trials(place, order).all():
        if last is not None:
            tell(asdict(last))
        last = trial
    if last is not None:
        last.faults += forked(place.strays_of_all)
        tell(asdict(last))


def tell(what: dict[str, Any]) -> None:
    """One line."""
    print(json.dumps(what), flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main()
