# SPDX-License-Identifier: Apache-2.0
"""``phalanx attack``: what an adversary could learn. A subcommand for every adversary, a file for
every family of them.

One of ours is a function with its own options in the file of its family, decorated with
``@app.command``, that calls ``play``, so that its help needs no package of frames; one of another
package is made of what its class says of itself (``others``), and no file here knows it.
"""

import typer

from phalanx.cli.attack import everything, members, method, publishers, records, series, values
from phalanx.cli.attack.others import WithOthers

app = typer.Typer(
    cls=WithOthers,
    help="What an adversary could learn from releases: play one, who knows what its help says.",
    no_args_is_help=True,
)
for family in (everything, series, publishers, values, method, members, records):
    app.add_typer(family.app)
