"""``phalanx attack``: what an adversary could learn. A subcommand for every adversary, a file for every family of them.

A new adversary is a function with its own options in the file of its family, decorated with ``@app.command``, that calls ``play``; a new family is one
line more below.
"""

import typer

from phalanx.cli.attack import everything, members, method, publishers, records, series, values

app = typer.Typer(help="What an adversary could learn from releases: play one, who knows what its help says.", no_args_is_help=True)
for family in (everything, series, publishers, values, method, members, records):
    app.add_typer(family.app)
