# SPDX-License-Identifier: Apache-2.0
"""Publishers that are killed at random moments: `make kills`, or from tests/: python -m
crash.moments [N] [--seed S] [--ledger sqlite|postgresql]. Ends with 1 on a fault.

The calls that last are where a kill makes a difference, and crash.trials kills at every one of
them; here a kill comes whenever it comes, between them as well. The moments are spread evenly over
the time that a publisher takes, and a little beyond it.
"""

import argparse
import os
import random
import re
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from crash import aftermath, scene
from crash.forks import forked
from crash.places import Place
from crash.trials import place_of, rehearse
from crash.twins import TWINS
from support import postgresql_server
from support.warm import begin_again, warm_up

BEYOND = 1.1
"""The last moment, as a share of the time that a publisher took."""


def killed(place: Place, release: int, seconds: float | None) -> float | None:
    """Let a fork publish a release and kill it after some time; the time that it took where it came
    through.
    """
    began = time.monotonic()
    if (pid := os.fork()) == 0:
        status = 1
        try:
            nothing = os.open("/dev/null", os.O_WRONLY)
            os.dup2(nothing, 1)
            scene.publish(place.out, place.ledger, release)
            status = 0
        except BaseException:  # noqa: BLE001 - the fork must never go on as if it were its parent
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(status)
    watched = os.pidfd_open(pid)
    select.select([watched], [], [], 600 if seconds is None else seconds)
    took = time.monotonic() - began
    os.close(watched)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and (seconds is None or os.WTERMSIG(status) != signal.SIGKILL):
        raise RuntimeError("a publisher hangs or crashes")
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("a publisher fails")
    return None if os.WIFSIGNALED(status) else took


def kill(place: Place, releases: int, seconds: float) -> tuple[str, float | None, list[str]]:
    """Kill one publisher on a place that was kept, and look: what was there, how long it took where
    it came through, and what is wrong.
    """
    place.reset()
    took = killed(place, releases + 1, seconds)
    named, staged = (
        bool(forked(lambda pattern=pattern: [str(p) for p in aftermath.folders(place, pattern)]))
        for pattern in (_next(releases), ".*.staging")
    )
    found = (
        "came through"
        if took is not None
        else "named"
        if named
        else "staged"
        if staged
        else "nothing yet"
    )
    faults = forked(lambda: aftermath.look(place))
    after = forked(lambda: aftermath.mend(place, releases))
    if found == "staged" and after["recorded"]:
        found = "recorded"
    if (named or took is not None) and not after["recorded"]:
        faults.append("a release had its name, and is not recorded")
    return found, took, [*faults, *after["faults"]]


def _next(releases: int) -> str:
    return f"{scene.NAME}-{releases + 1}"


def kills(place: Place, count: int, fate: random.Random, until: float) -> int:
    """Kill so many publishers, or until the time is over, of a first and of a second release by
    turns, and print what was found; how many faults there are.
    """
    found: Counter[str] = Counter()
    faults: list[str] = []
    began = time.monotonic()
    for releases in (0, 1):
        place.begin()
        if releases:
            forked(lambda: [scene.publish(place.out, place.ledger, n).number for n in range(1, 2)])
        place.keep()
        share = count - count // 2 if releases else count // 2
        takes = [_whole(place, releases) for _ in range(3)]
        shares = random.Random(fate.random()).sample(
            [(at + fate.random()) / share for at in range(share)], share
        )
        ends = began + (until - began) * (releases + 1) / 2
        for at, moment in enumerate(shares):
            if time.monotonic() > ends:
                break
            seconds = BEYOND * moment * sorted(takes[-5:])[len(takes[-5:]) // 2]
            state, _, wrong = kill(place, releases, seconds)
            found[state] += 1
            faults += [
                f"release {releases + 1}, killed after {seconds:.3f} s ({state}): {fault}"
                for fault in wrong
            ]
            if at % 10 == 9:  # others use the machine, too
                takes.append(_whole(place, releases))
    faults += forked(place.strays_of_all)
    states = ", ".join(
        f"{found[state]} {state}"
        for state in ("nothing yet", "staged", "recorded", "named", "came through")
    )
    said = (
        f"{sum(found.values())} publishers killed at random moments ({states}) in"
        f" {time.monotonic() - began:.0f} s: {len(faults)} fault(s)"
    )
    print(f"{type(place).__name__}: {said}", flush=True)  # noqa: T201 - a script
    for fault in faults:
        print(f"    {fault}", flush=True)  # noqa: T201
    return len(faults)


def _whole(place: Place, releases: int) -> float:
    """How long a publisher takes who is not killed."""
    place.reset()
    took = killed(place, releases + 1, None)
    if took is None:
        raise RuntimeError("a publisher hangs or crashes")
    return took


def main() -> int:
    """Kill on the ledgers that are asked for."""
    asked = argparse.ArgumentParser(prog="python -m crash.moments", description=__doc__)
    asked.add_argument("kills", nargs="?", type=int, default=200)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument(
        "--minutes",
        type=float,
        default=1e6,
        help="for each ledger: end then, however many kills are left",
    )
    asked.add_argument("--ledger", choices=["sqlite", "postgresql"], action="append")
    asked.add_argument("--twin", choices=TWINS)
    said = asked.parse_args()
    begin_again("crash.moments")
    wrong = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for ledger in said.ledger or ["sqlite", "postgresql"]:
            server: tuple[str, ...] = ()
            short = ""
            if ledger == "postgresql":
                if reason := postgresql_server.missing():
                    print(f"no kills with PostgreSQL: {reason}")  # noqa: T201
                    continue
                short = stack.enter_context(tempfile.TemporaryDirectory(prefix="pg", dir="/tmp"))
                server = (stack.enter_context(postgresql_server.server(short)), short)
            place = place_of(str(folder / ledger), *server)
            warm_up(lambda place=place: rehearse(place))
            if said.twin:
                TWINS[said.twin]()
            try:
                wrong += kills(
                    place,
                    said.kills,
                    random.Random(said.seed),
                    time.monotonic() + 60 * said.minutes,
                )
            except BaseException:
                for log in [Path(short, "log")] if server else []:
                    print(  # noqa: T201
                        "\n".join(
                            line
                            for line in log.read_text(errors="replace").splitlines()
                            if re.search("(ERROR|FATAL|PANIC): ", line)
                        )[-3000:]
                    )
                raise
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
