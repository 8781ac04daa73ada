# SPDX-License-Identifier: Apache-2.0
"""Every trial there is, on each ledger, with its figures: `python -m crash` (from tests/). Ends
with 1 where anything is wrong.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from crash.conftest import Warm, faults, run_alone
from support import postgresql_server

ORDERS = [
    {"releases": 0, "how": "before"},
    {"releases": 0, "how": "after"},
    {"releases": 1, "how": "before"},
    {"releases": 1, "how": "after"},
    {"releases": 0, "how": "full"},
    {"releases": 1, "how": "full"},
    {"releases": 0, "how": "fail"},
    {"releases": 1, "how": "fail"},
    {"releases": 0, "how": "after", "power": "flushed"},
    {"releases": 1, "how": "after", "power": "flushed"},
    {"releases": 0, "how": "after", "power": "names"},
    {"releases": 1, "how": "after", "power": "names"},
    *(
        {"releases": 1, "how": "after", "step": 3, "first": 1 + again % 3, "again": again}
        for again in range(1, 90, 11)
    ),
]


def main() -> int:
    """Make them all; tell for each order the calls, the trials, those after which the release was
    there, the seconds, and what is wrong.
    """
    if reason := run_alone("-m", "crash.tracer").strip():
        print(f"nothing can be tried: {reason}")  # noqa: T201 - a script
        return 0
    wrong = 0
    print("ledger      releases  how     power    again  calls  trials  recorded  seconds  wrong")  # noqa: T201
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        warm = Warm(folder / "errors")
        stack.callback(warm.close)
        ledgers = {"sqlite": warm.make(str(folder / "sqlite"))}
        if reason := postgresql_server.missing():
            print(f"no trials with PostgreSQL: {reason}")  # noqa: T201
        else:
            short = stack.enter_context(tempfile.TemporaryDirectory(prefix="pg", dir="/tmp"))
            url = stack.enter_context(postgresql_server.server(short))
            ledgers["postgresql"] = warm.make(str(folder / "postgresql"), url, short)
        for ledger, trials in ledgers.items():
            for order in ORDERS:
                (made,) = trials(order)
                found = faults(made)
                seconds, recorded = (
                    sum(trial["seconds"] for trial in made),
                    sum(bool(trial["recorded"]) for trial in made),
                )
                words = (
                    f"{ledger:12}{order['releases']:8} "
                    f" {order['how']:8}{order.get('power', ''):9}{order.get('again', ''):5}"
                )
                print(  # noqa: T201
                    f"{words}{made[-1]['calls']:7}{len(made):8}{recorded:10}{seconds:9.1f}{len(found):7}",
                    flush=True,
                )
                for fault in found:
                    print(f"    {fault}")  # noqa: T201
                wrong += len(found)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
