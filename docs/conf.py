# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site of all Markdown pages of the repository; `make docs` runs it.

The pages stay plain Markdown, readable where they lie: what only the site needs, its side bar and
the pages about public names, is added here.
"""

import re
import sys
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402 - it lies beside this file

reference.write()

project = "Phalanx"
author = "The Phalanx founders"
release = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "version"
]

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/*/*.md",
    "experiments/README.md",
    "experiments/*/README.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "benchmarks"]
myst_heading_anchors = 6
highlight_language = "text"

html_theme = "furo"
html_title = "Phalanx"
html_copy_source = False
html_show_copyright = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]

# The side bar: what a reader looks for, in this order; a `*` stands for all pages of a folder.
BAR = {
    "First steps": ["/README", "/docs/installing", "/docs/tutorial", "/docs/tutorial/*"],
    "How to": ["/docs/how-to/*", "/docs/extending"],
    "Understand": ["/docs/explanation/*"],
    "Look up": ["/docs/reference/index"],
    "Experiments": ["/experiments/README", "/experiments/*/README"],
    "The project": ["/CONTRIBUTING", "/CHANGELOG"],
}


def with_bar(_: Sphinx, page: str, source: list[str]) -> None:
    """Add the side bar to the first page, and the list of its pages to the reference."""
    if page == "docs/index":
        source[0] += "".join(toctree(names, caption) for caption, names in BAR.items())
    if page == "docs/reference/index":
        source[0] += toctree(["*"])


def toctree(pages: list[str], caption: str | None = None) -> str:
    """A list of pages that is shown in the side bar and not in the text."""
    said = [] if caption is None else [f":caption: {caption}"]
    return "\n".join(["", "```{toctree}", ":hidden:", ":glob:", *said, "", *pages, "```", ""])


def with_breaks(_: Sphinx, page: nodes.document) -> None:
    """Paths in tables may be broken behind a slash and a colon."""
    for literal in page.findall(nodes.literal):
        if re.fullmatch(r"[\w/-]+\.py(:[\w.]+)?", literal.astext()):
            literal[0] = nodes.Text(re.sub(r"([/:])", "\\1\u200b", literal.astext()))


def with_front_page(app: Sphinx, failed: Exception | None) -> None:
    """Whoever opens the folder of the site comes to the first page."""
    if failed is None:
        to = f"{root_doc}.html"
        text = f'<!doctype html><meta http-equiv="refresh" content="0; url={to}"><a href="{to}">Phalanx</a>\n'
        (Path(app.outdir) / "index.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect all three."""
    app.connect("source-read", with_bar)
    app.connect("doctree-read", with_breaks)
    app.connect("build-finished", with_front_page)
