# SPDX-License-Identifier: Apache-2.0
"""One page for all figures and tables of the five papers: the paper's claim, ours, the verdict, and
why.

    PHALANX_DATA=FOLDER python experiments/page.py [--quick] [--only FOLDER] [--to PLACE]

Measures what the ``paper.py`` of every folder declares, or that of one, each in a process of its
own, so that its scripts find each other as they do when they are run by themselves. What came out
goes into ``figures/`` of the place, which is ``experiments/`` itself, with the pictures; then its
``README.md`` is written from all that stands there. ``--quick``: less of everything; each figure says
what. Nothing is tuned: settings are the paper's where they are known, and a claim that does not
hold is printed like any other.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from charts import draw
from claims import Claim, Figure, Variant

HERE = Path(__file__).resolve().parent
FOLDERS = ("m_invariance", "global_guarantee", "slicing", "mutual_cover", "safe_sampling")
VERDICTS = {True: "holds", False: "**does not hold**", None: "not judged"}


def measure(folder: str, place: Path, variant: Variant) -> None:
    """Measure and draw all figures of one folder's paper, and keep what came out in a place."""
    sys.path.insert(0, str(HERE / folder))
    paper = importlib.import_module("paper").PAPER
    figures = []
    for figure in paper.figures:
        figures.append(_figure(figure, place / folder, variant))
        print(f"{folder}, {figure.name}: {figures[-1]['seconds']:.0f} s", file=sys.stderr)
    found = {
        "title": paper.title,
        "figures": figures,
        "not_made": dict(paper.not_made),
        "variant": variant,
        "day": time.strftime("%d %B %Y", time.gmtime()),
        "phalanx": version("phalanx"),
        "cores": os.cpu_count(),
    }
    at = place / f"{folder}.json"
    at.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _figure(figure: Figure, begins: Path, variant: Variant) -> dict[str, Any]:
    began = time.perf_counter()
    found = figure.measured(variant)
    less = figure.quickly if variant == "quick" else ""
    picture = begins.with_name(f"{begins.name}-{figure.name.lower().replace(' ', '-')}.svg")
    if figure.panels is not None:
        draw(picture, figure.panels(found), columns=2)
    return {
        "name": figure.name,
        "shows": figure.shows,
        "setting": f"{figure.setting} {variant.capitalize()}: {less}" if less else figure.setting,
        "picture": picture.name if figure.panels is not None else None,
        "claims": [_claim(claim, found) for claim in figure.claims],
        "seconds": time.perf_counter() - began,
    }


def _claim(claim: Claim, found: Any) -> dict[str, Any]:
    held = claim.holds(found)
    held = held if held is None else bool(held)  # numpy has a truth of its own
    why = claim.why(found) if callable(claim.why) else claim.why
    return {
        "says": claim.says + (f" *({claim.rule})*" if claim.rule else ""),
        "ours": claim.ours(found),
        "verdict": VERDICTS[held],
        "why": why or "not explained" if held is False else "",
    }


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def section(paper: dict[str, Any]) -> Iterator[str]:
    """The lines of one paper."""
    minutes = sum(figure["seconds"] for figure in paper["figures"]) / 60
    yield from (f"## {paper['title']}", "")
    yield f"The {paper['variant']} variant, on {paper['day']}, with Phalanx {paper['phalanx']}:"
    yield from (f"{minutes:.1f} minutes on {paper['cores']} cores.", "")
    for figure in paper["figures"]:
        yield from (f"### {figure['name']}: {figure['shows']}", "", figure["setting"], "")
        yield from (row("the paper", "ours", "verdict", "why"), row(*["---"] * 4))
        for claim in figure["claims"]:
            yield row(claim["says"], claim["ours"], claim["verdict"], claim["why"])
        yield ""
        if figure["picture"]:
            yield from (f"![{figure['name']}](figures/{figure['picture']})", "")
    if paper["not_made"]:
        yield from ("### Not made", "")
        yield from (f"- **{name}**: {why}" for name, why in paper["not_made"].items())
        yield ""


def kept(place: Path) -> list[dict[str, Any]]:
    """What came out of the papers that were measured, in the order of the page."""
    found = [place / f"{folder}.json" for folder in FOLDERS]
    return [json.loads(at.read_text(encoding="utf-8")) for at in found if at.is_file()]


def counted(papers: Sequence[dict[str, Any]]) -> list[str]:
    """How many claims there are, hold, do not hold, and are not made, and how many minutes all of
    it took.
    """
    figures = [figure for paper in papers for figure in paper["figures"]]
    verdicts = Counter(claim["verdict"] for figure in figures for claim in figure["claims"])
    return [
        str(verdicts.total()),
        str(verdicts[VERDICTS[True]]),
        str(verdicts[VERDICTS[False]]),
        str(sum(len(paper["not_made"]) for paper in papers)),
        f"{sum(figure['seconds'] for figure in figures) / 60:.1f}",
    ]


def page(papers: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of the whole page."""
    yield from (
        "# The five papers, figure by figure",
        "",
        "Written by `make experiments`, or with `VARIANT=--quick`, which measures less of everything;",
        "`python experiments/page.py --only FOLDER` measures one paper anew. The table says which",
        "variant each paper was measured in, and how long it took. For each figure, table and claim:",
        "what the paper says, what came out here, whether it holds, and if not, why. The rule stands",
        "in brackets where the paper's words leave it open. Series are published anew in each run, so",
        "that a verdict that hangs on little, such as on the errors of a hundred queries or on seconds,",
        "may be another one the next time. What each definition and each line of the algorithms became",
        "is on [another page](../docs/explanation/fidelity.md); the tables that each folder's own",
        "scripts print (`make tables`) are in its README, and beside the papers there are",
        "[answers](answers/README.md), [judges](judges/README.md), [NIST's judge](nist/README.md),",
        "[other tools](head_to_head/README.md), [other tables](other_tables/README.md) and [somebody",
        "who knows the method](knowing_the_method/README.md).",
        "",
        row("paper", "variant", "claims", "hold", "do not hold", "not made", "minutes"),
        row("---", "---", *["---:"] * 5),
    )
    for paper in papers:
        yield row(paper["title"].split(",")[0], paper["variant"], *counted([paper]))
    yield row("all", "", *counted(papers))
    yield ""
    if len(papers) < len(FOLDERS):
        yield from (f"Not measured yet: {len(FOLDERS) - len(papers)} of {len(FOLDERS)} papers.", "")
    for paper in papers:
        yield from section(paper)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_const", const="quick", dest="variant", default="full"
    )
    parser.add_argument("--only", choices=FOLDERS)
    parser.add_argument("--to", type=Path, default=HERE)
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    place = asked.to / "figures"
    place.mkdir(parents=True, exist_ok=True)
    if asked.in_this_process:
        measure(asked.only, place, asked.variant)
        return
    for folder in [asked.only] if asked.only else FOLDERS:
        command = [
            sys.executable,
            __file__,
            "--only",
            folder,
            "--to",
            asked.to,
            "--in-this-process",
        ]
        flag = ["--quick"] if asked.variant == "quick" else []
        if code := subprocess.run(command + flag, check=False).returncode:
            sys.exit(code)
    lines = "\n".join(page(kept(place))).rstrip() + "\n"
    (asked.to / "README.md").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
