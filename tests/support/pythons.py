# SPDX-License-Identifier: Apache-2.0
"""Scripts run in forks of one warm process, in which all of Phalanx is imported: a new Python would
import it again, which takes longer than most scripts do.

    echo '{"words": ["-c", "print(1)"], …}' | python -m support.pythons     (from tests/)

reads a line for each script and prints a line with its status once it has ended.
"""

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from support import thoroughly
from support.warm import begin_again, import_all

TESTS = Path(__file__).parents[1]


def run(
    *words: object,
    cwd: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    path: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    """What ``python WORDS`` would do: a script with its arguments, or ``-c`` and lines; ``path`` is
    searched for modules first.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked = {
            "words": [str(word) for word in words],
            "cwd": str(cwd or Path.cwd()),
            "environment": dict(environment),
            "path": [str(folder) for folder in path],
            "said": [f"{folder}/out", f"{folder}/err"],
        }
        process = _process()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        told = json.loads(process.stdout.readline())
        thoroughly.elsewhere["pythons"] = told["used"]
        said = [Path(file).read_text(encoding="utf-8") for file in asked["said"]]
    return subprocess.CompletedProcess(asked["words"], told["status"], *said)


@cache
def _process() -> "subprocess.Popen[str]":
    """The warm process; it ends with this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "support.pythons"],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def main() -> None:
    """Import everything, then fork for each line that comes in."""
    begin_again("support.pythons")
    import_all()
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            _be(**json.loads(line))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        told = {"status": status, "used": sum(os.times()[:4])}
        print(json.dumps(told), flush=True)  # noqa: T201 - a script


def _be(
    words: list[str], cwd: str, environment: dict[str, str], path: list[str], said: list[str]
) -> NoReturn:
    """Be a Python that runs a script, and end with its status."""
    status: Any = 0
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, file in enumerate(said, 1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[0:1] = ["" if words[0] == "-c" else str(Path(words[0]).parent), *path]
        if words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a test wrote it
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        status = ended.code
    except BaseException:  # noqa: BLE001 - the fork must never go on as if it were its parent
        traceback.print_exc()
        status = 1
    finally:
        if status is not None and not isinstance(status, int):
            sys.stderr.write(f"{status}\n")
            status = 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)


if __name__ == "__main__":
    main()
