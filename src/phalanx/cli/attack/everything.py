# SPDX-License-Identifier: Apache-2.0
"""``phalanx attack all``: every adversary that can be played, as answers to the regulator's three
questions.
"""

import typer

from phalanx.cli.attack.options import IDENTIFIER, LEDGER, ORIGINAL, RELEASES
from phalanx.cli.output import JSON, QUIET, show_json, show_table, show_text, steps

app = typer.Typer(rich_markup_mode="markdown")


@app.command("all", rich_help_panel="All of them")
def everything(
    releases: RELEASES,
    original: ORIGINAL,
    identifier: IDENTIFIER = None,
    ledger: LEDGER = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Plays whom the releases and the tables allow, and answers the regulator's questions: singling
    out, linkability, inference.

    JSON keys: questions (each question, asks, asked, adversaries, not_played).
    """
    from phalanx.adversaries.opinion import QUESTIONS, play_all
    from phalanx.adversaries.registry import KNOWN
    from phalanx.cli.locations import ledger_url
    from phalanx.verification import gather_evidence, read_releases
    from phalanx.verification.originals import refuse_others

    read = read_releases(releases)
    url = None if ledger is None else ledger_url(ledger)
    evidence, _ = gather_evidence(
        read, ledger=url, originals=original, identifier=identifier, persons=len(read) > 1
    )
    refuse_others(read, original)
    with steps(list(KNOWN), quiet=quiet or json) as progress:
        answers = play_all(read, evidence, progress)
    if json:
        show_json({"questions": [answer.to_json() for answer in answers]})
        return
    show_text(
        "The three questions of the Article 29 Working Party (Opinion 05/2014), and what"
        " adversaries found who were played."
    )
    if len(read) > 1:
        show_text(
            "Adversaries of one release were played on release"
            f" {max(release.number for release in read)}."
        )
    for answer in answers:
        show_text("")
        title = f"{answer.question.capitalize()}. {QUESTIONS[answer.question]}"
        if answer.asked:
            show_table(
                title,
                ["adversary", "what it found"],
                [[attack.adversary, attack.sentence] for attack in answer.played],
            )
        else:
            show_text(title)
            show_text("NOT ASKED: no adversary was played, so that nothing is known.")
    show_text("")
    rows = [[name, why] for answer in answers for name, why in answer.not_played.items()]
    show_table("Not played", ["adversary", "because"], rows)
    show_text(
        "What no adversary found, another one may find: these are the ones that were played, who"
        " know what their help says."
    )
