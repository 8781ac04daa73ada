# SPDX-License-Identifier: Apache-2.0
"""``phalanx attack``: what an adversary could learn, with a subcommand for each that is known.

A subcommand is made of what the class of its adversary says of itself (``subcommands``), so that no
file here names one; a list of all reads that from the source (``described``) and loads no package
of frames. ``everything``: all of them, as answers to the regulator's questions.
"""

import typer

from phalanx.cli.attack import everything
from phalanx.cli.attack.subcommands import Subcommands

app = typer.Typer(
    cls=Subcommands,
    help="What an adversary could learn from releases: play one, who knows what its help says.",
    no_args_is_help=True,
)
app.add_typer(everything.app)
