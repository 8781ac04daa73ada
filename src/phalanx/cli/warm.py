# SPDX-License-Identifier: Apache-2.0
"""``phalanx warm``: compile the kernels now, so that no command waits for them later."""

from typing import Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_table, show_text, steps


def warm(
    method: Annotated[
        str | None, typer.Argument(help="Only this method; all of them where none is named.")
    ] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Compile the kernels of the methods, and say where they lie.

    Run it once as the user who installed Phalanx, where those who use it may not write to the
    installation (a container, a service user). JSON keys: place, kept, methods (each name,
    seconds), kernels.
    """
    from phalanx.warming import warm as compile_kernels
    from phalanx.warming import ways

    with steps(list(ways(method)), quiet=quiet or json) as progress:
        compiled = compile_kernels(method, progress)
    if json:
        show_json(compiled.to_json())
        return
    show_table(
        "",
        ["method", "seconds"],
        [[name, f"{seconds:.1f}"] for name, seconds in compiled.seconds.items()],
        right=(1,),
    )
    show_text(
        f"{compiled.kernels} kernels lie compiled in {compiled.place}"
        if compiled.kept
        else "nothing is kept for the next run"
    )
