# SPDX-License-Identifier: Apache-2.0
"""Pages of figures: the templates, the numbers as a person's language writes them, the style."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from phalanx.errors import PhalanxError
from phalanx.exact import at_most
from phalanx.report import multiples
from phalanx.studio.place import Place

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC: Final[Mapping[str, str]] = {
    "style.css": "text/css",
    "htmx.min.js": "text/javascript",
    "studio.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""What pages load, and of which kind it is."""


@cache
def static(name: str) -> bytes:
    """A file that pages load; our style follows the report's own, which stands in its page."""
    style = (files("phalanx.studio") / "static" / name).read_bytes()
    if name != "style.css":
        return style
    report = (files("phalanx.report") / "templates" / "release.html").read_text(encoding="utf-8")
    theirs = report.partition("<style>")[2].partition("</style>")[0] + multiples.style()
    return theirs.encode() + style


def render(
    place: Place, template: str, fields: Mapping[str, Any], headers: Mapping[str, str]
) -> str:
    """A page of what was found; numbers follow the first language that the browser asks for."""
    german = headers.get("accept-language", "").strip().lower().startswith("de")
    return (
        _templates()
        .get_template(f"{template}.html")
        .render(fields, _german=german, place=_standing(place), template=template)
    )


def _standing(place: Place) -> dict[str, Any]:
    """What the top of every page shows: the plan, and the newest release of its series."""
    standing: dict[str, Any] = {"plan": None, "series": None, "newest": 0}
    try:
        if place.has_plan:
            plan = place.plan()
            standing |= {"plan": place.plan_path.name, "series": plan.name}
            standing["newest"] = len(place.entries(plan.name))
    except PhalanxError:  # the page itself says what is wrong
        return standing
    return standing


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context

    environment = Environment(
        loader=PackageLoader("phalanx.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": pass_context(lambda context, n: number(n, german=context["_german"])),
        "at_most": pass_context(lambda context, n: spent(n, german=context["_german"])),
        "percent": pass_context(lambda context, n: percent(n, german=context["_german"])),
        "sentence": pass_context(lambda context, s: sentence(s, german=context["_german"])),
        "picture": pass_context(lambda context, s: _picture(s, german=context["_german"])),
    }
    return environment


def number(value: float | None, *, german: bool) -> str:
    """A number with its thousands apart; a dash for none.

    >>> number(1234.5, german=True), number(1234, german=False)
    ('1.234,5', '1,234')
    """
    if value is None:
        return "–"
    whole = isinstance(value, int) or float(value).is_integer()
    shown = f"{value:,.0f}" if whole else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.1f}"
    return shown.translate(str.maketrans(",.", ".,")) if german else shown


def spent(value: float, *, german: bool) -> str:
    """A figure that is spent at most, rounded up.

    >>> spent(1.00801, german=True), spent(2.0, german=False)
    ('1,009', '2')
    """
    shown = at_most(value)
    return shown.replace(".", ",") if german else shown


_FIGURE: Final = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+(?= ?%| to [\d.,]+ ?%))(?!\w)"
)
"""Thousands, and parts of a hundred; what else has a point may be a value of the table."""


def sentence(text: object, *, german: bool) -> str:
    """A sentence or a picture that was made in English, with its figures as the language has them.

    >>> sentence("1,234 rows, 6.2 % (3.8 to 10.1 %) of code 401.9", german=True)
    '1.234 rows, 6,2 % (3,8 to 10,1 %) of code 401.9'
    """
    turned = str.maketrans(",.", ".,")
    return _FIGURE.sub(lambda of: of[0].translate(turned), str(text)) if german else str(text)


def _picture(svg: str, *, german: bool) -> Markup:
    """A picture of ours, in which every text is escaped already."""
    texts = re.sub(r"(?<=>)[^<]+(?=<)", lambda of: sentence(of[0], german=german), svg)
    return Markup(texts)  # noqa: S704 - the charts escape what they show


def percent(share: float | None, *, german: bool) -> str:
    """A share as a percentage.

    >>> percent(0.0421, german=True), percent(1, german=False)
    ('4,2 %', '100.0%')
    """
    if share is None:
        return "–"
    return f"{share * 100:.1f} %".replace(".", ",") if german else f"{share:.1%}"
