# SPDX-License-Identifier: Apache-2.0
"""Values that look alike are pointed out, and no number of a manifest makes a checker work for
long.
"""

import json
import re
import resource
import shutil
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx import GlobalGuarantee, Prefix, Schema, Series, verify
from phalanx.errors import PhalanxError, ReleaseError
from phalanx.guarantees.lookalikes import lookalikes
from phalanx.release.manifest import NAME
from support.tampering_cases import METHODS, SCHEMA, issue, notes, people, refusal, stated, written
from support.work import lines

TWINS = {
    "case": ("flu", "FLU"),
    "a trailing blank": ("flu", "flu "),
    "two blanks": ("bird flu", "bird  flu"),
    "a blank that does not break": ("bird flu", "bird\N{NO-BREAK SPACE}flu"),
    "a sign that is not seen": ("flu", "f\N{ZERO WIDTH SPACE}lu"),
    "a soft hyphen": ("influenza", "in\N{SOFT HYPHEN}fluenza"),
    "a Cyrillic letter": ("acne", "\N{CYRILLIC SMALL LETTER A}cne"),
    "a Greek letter": ("Angina", "\N{GREEK CAPITAL LETTER ALPHA}ngina"),
    "accents in two parts": (
        unicodedata.normalize("NFC", "Ménière"),
        unicodedata.normalize("NFD", "Ménière"),
    ),
    "a letter like a number": ("I10", "110"),
    "a ligature": ("fluid", "\N{LATIN SMALL LIGATURE FL}uid"),
    "full width": ("flu", "\N{FULLWIDTH LATIN SMALL LETTER F}lu"),
    "a joiner": ("flu", "f\N{COMBINING GRAPHEME JOINER}lu"),
    "a variation selector": ("flu", "flu\N{VARIATION SELECTOR-16}"),
    "a rare variation selector": ("flu", "flu\N{VARIATION SELECTOR-17}"),
    "a Mongolian selector": ("flu", "fl\N{MONGOLIAN FREE VARIATION SELECTOR ONE}u"),
    "a Mongolian separator": ("flu", "fl\N{MONGOLIAN VOWEL SEPARATOR}u"),
    "a filler": ("flu", "f\N{HANGUL FILLER}lu"),
    "a filler like a blank": ("bird flu", "bird\N{HANGUL FILLER}flu"),
    "a filler for a consonant": ("flu", "f\N{HANGUL CHOSEONG FILLER}lu"),
    "a filler for a vowel": ("flu", "f\N{HANGUL JUNGSEONG FILLER}lu"),
    "a narrow filler": ("flu", "\N{HALFWIDTH HANGUL FILLER}flu"),
    "a vowel that is not drawn": ("flu", "flu\N{KHMER VOWEL INHERENT AQ}"),
    "a pattern without dots": ("flu", "f\N{BRAILLE PATTERN BLANK}lu"),
    "a pattern like a blank": ("bird flu", "bird\N{BRAILLE PATTERN BLANK}flu"),
    "a place that Unicode keeps free": ("flu", "flu\u2065"),
    "a tag": ("flu", "flu\N{TAG LATIN SMALL LETTER A}"),
    "upsilon": ("flu", "fl\N{GREEK SMALL LETTER UPSILON}"),
    "rho": ("polyp", "\N{GREEK SMALL LETTER RHO}olyp"),
    "iota and tau": ("gastritis", "gas\N{GREEK SMALL LETTER TAU}r\N{GREEK SMALL LETTER IOTA}tis"),
    "eta": ("angina", "a\N{GREEK SMALL LETTER ETA}gina"),
    "a lunate sigma": ("cough", "\N{GREEK LUNATE SIGMA SYMBOL}ough"),
    "a palochka": ("flu", "f\N{CYRILLIC SMALL LETTER PALOCHKA}u"),
    "a straight U": ("Yaws", "\N{CYRILLIC CAPITAL LETTER STRAIGHT U}aws"),
    "a letter like a small capital": ("typhus", "\N{CYRILLIC SMALL LETTER TE}yphus"),
    "a letter with an accent": ("naïve", "na\N{CYRILLIC SMALL LETTER YI}ve"),
    "small capitals": (
        "flu",
        "\N{LATIN LETTER SMALL CAPITAL F}\N{LATIN LETTER SMALL CAPITAL L}u",
    ),
    "a dot that makes no letter": ("flu", "flu\N{COMBINING DOT ABOVE}"),
    "two dots that make no letter": ("flu", "flu\N{COMBINING DOT ABOVE}\N{COMBINING RING BELOW}"),
    "turned around": ("flu", "\N{RIGHT-TO-LEFT OVERRIDE}ulf\N{POP DIRECTIONAL FORMATTING}"),
    "turned around to the end": ("flu", "f\N{RIGHT-TO-LEFT OVERRIDE}ul"),
    "turned around past an end of another kind": (
        "flu",
        "\N{RIGHT-TO-LEFT OVERRIDE}\N{POP DIRECTIONAL ISOLATE}ulf",
    ),
    "turned around in an isolate": (
        "flu",
        "\N{LEFT-TO-RIGHT ISOLATE}\N{RIGHT-TO-LEFT OVERRIDE}ulf\N{POP DIRECTIONAL ISOLATE}",
    ),
    "turned around twice": (
        "bird flu",
        "\N{RIGHT-TO-LEFT OVERRIDE}ulf\N{LEFT-TO-RIGHT OVERRIDE}bird \N{POP DIRECTIONAL FORMATTING}",
    ),
    "an override that a program passes over": ("flu", "\N{RIGHT-TO-LEFT OVERRIDE}flu"),
    "Hebrew from the left": ("\u05d0\u05d1", "\N{LEFT-TO-RIGHT OVERRIDE}\u05d1\u05d0"),
    "capitals of another script": (
        "\N{CYRILLIC CAPITAL LETTER TE}\N{CYRILLIC CAPITAL LETTER I}\N{CYRILLIC CAPITAL LETTER EF}",
        "\N{CYRILLIC SMALL LETTER TE}\N{CYRILLIC SMALL LETTER I}\N{CYRILLIC SMALL LETTER EF}",
    ),
}


@pytest.mark.parametrize(("one", "other"), TWINS.values(), ids=TWINS.keys())
def test_values_that_look_alike(one: str, other: str) -> None:
    """Two values that no one can tell apart are found, among others that differ."""
    assert one != other
    assert lookalikes([one, "gout", other, "rash"]) == [[one, other]]


def test_values_that_do_not_look_alike() -> None:
    """Different words, accents and numbers are no twins."""
    assert (
        lookalikes(
            [
                "flu",
                "flue",
                "gout",
                "mail",
                "mall",
                "10",
                "100",
                "Meniere",
                "Ménière",
                "",
                "-",
                "E10",
                "E11",
            ]
        )
        == []
    )


HONEST = {
    "accents that make a letter": "a ä e ė é ê z ż f ḟ ç c ñ n İ I ø o ł đ d",
    "dots and accents of a tone": "ọ ọ́ ọ̀ o n ñ ń n̄ n̂ m̃ m",
    "Cyrillic": "и й ус үс нам һам ё э",  # noqa: RUF001
    "Greek": "μα υα σα νυ μυ ρυ α ά",  # noqa: RUF001
    "vowels and tones of other scripts": "क कि की กา ก้า ש שׁ שׂ か が ハ パ 각 가 ب بَ",
    "Chinese": "漢 汉 日 曰",
}
"""Values that differ for all who read their script."""


@pytest.mark.parametrize("values", HONEST.values(), ids=HONEST.keys())
def test_values_that_differ_in_their_own_script(values: str) -> None:
    """A mark that makes a letter, and letters of one script, are differences that are seen."""
    assert lookalikes(values.split()) == []


def test_each_sign_that_is_not_drawn() -> None:
    """Whatever Unicode calls a format, a selector or a filler is not seen, at either end."""
    for code in range(0x80, 0x110000):
        sign = chr(code)
        name = unicodedata.name(sign, "")
        if unicodedata.category(sign) == "Cf" or re.search(
            r"VARIATION SELECTOR|^HANGUL.*FILLER", name
        ):
            assert lookalikes(["flu", f"{sign}flu"]) == [["flu", f"{sign}flu"]], name
            assert lookalikes(["flu", f"flu{sign}"]) == [["flu", f"flu{sign}"]], name


def test_a_text_that_is_opened_without_end() -> None:
    """A value of many overrides takes no time, and none of them is seen."""
    many = "\N{RIGHT-TO-LEFT OVERRIDE}\N{RIGHT-TO-LEFT ISOLATE}" * 20_000 + "flu"
    assert lookalikes(["flu", many]) == [["flu", many]]


@pytest.mark.parametrize("name", ["generalized", "bucketized", "sliced", "perturbed"])
def test_a_twin_in_a_release_is_pointed_out(tmp_path: Path, name: str) -> None:
    """A release whose values differ in a letter of another script says so, with the values beside;
    one without such a value says nothing.
    """
    honest = issue(tmp_path / "honest", METHODS[name], [people()], formats=("parquet",))
    assert "look like another one" not in notes(honest)
    twins = people().with_columns(
        ill=pl.when(pl.col("who").str.ends_with("1"))
        .then(pl.lit("\N{CYRILLIC SMALL LETTER A}cne"))
        .otherwise("ill")
    )
    bent = issue(tmp_path / "bent", METHODS[name], [twins], formats=("parquet",))
    assert (
        "not covered: 2 sensitive values look like another one (case, blanks, letters of another"
        " script) and count as different" in notes(bent)
    )
    found = next(v for v in verify(bent).checks if v.name.endswith("values that look alike"))
    assert (found.result, found.worst_cases.height) == ("not covered", 1)


NO_FOLDERS = (
    "../../../tmp/x\x1b[31m<script>",
    "../x",
    "/x",
    "..",
    ".x",
    "a/b",
    "a\x1b[31m",
    "a\n",
    "a\N{RIGHT-TO-LEFT OVERRIDE}b",
)


def test_a_series_that_is_called_what_no_folder_is(tmp_path: Path) -> None:
    """A name that leaves its folder, or turns a terminal or a page over, is refused and not shown;
    none at all does no harm.
    """
    (folder,) = issue(tmp_path / "out", METHODS["generalized"], [people()], formats=("parquet",))
    manifest = json.loads((folder / NAME).read_text())

    def called(series: str) -> Path:
        content = json.dumps(manifest | {"series": series}, indent=1, ensure_ascii=False)
        (folder / NAME).write_text(content + "\n", encoding="utf-8")
        return folder

    for name in NO_FOLDERS:
        with pytest.raises(ReleaseError, match="a series name that is no folder's") as error:
            verify(called(name))
        assert str(error.value).isprintable() and "script" not in str(error.value)
    for name in ("", "é <b>", "ward-a"):
        assert verify(called(name)).holds


def numbers(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a manifest has a whole number."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(part, (*place, key))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield place


EXTREMES = (-1, 10**10, 2**63, -(2**63) - 1, 10**30, 10**400)


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    to = tmp_path_factory.mktemp("manifests")
    schema = Schema(
        identifier="who",
        quasi=["age", "zip"],
        sensitive="ill",
        hierarchies={"zip": Prefix((3, 2, 0))},
    )
    made = Series(
        "s",
        schema=schema,
        method=METHODS["generalized"],
        to=to / "p",
        ledger=f"sqlite:///{to}/p.db",
        report=False,
    ).publish(people(60))
    forms = {
        name: issue(to / name, METHODS[name], [people(60)], formats=("parquet",))[0]
        for name in ("series", "sliced", "perturbed")
    }
    return forms | {
        "prefixes": made.path,
        "global": issue(to / "g", GlobalGuarantee(l=2), [people(60)], formats=("parquet",))[0],
    }


def worked(folders: list[Path]) -> bool:
    """Whether what a manifest says is refused, by a check that runs no more lines than a loop over
    a large number would.
    """
    found = []

    def check() -> None:
        try:
            found.append(not verify(folders).holds)
        except PhalanxError:
            found.append(True)

    lines(check, most=500_000)
    return found[0]


@pytest.mark.parametrize("name", ["prefixes", "series", "sliced", "perturbed", "global"])
def test_no_number_of_a_manifest_fills_memory_or_time(
    manifests: dict[str, Path], tmp_path: Path, name: str
) -> None:
    """Every whole number of a manifest at its extremes is refused, or checked, with little work and
    memory; the untouched manifest holds.
    """
    folder = Path(shutil.copytree(manifests[name], tmp_path / "s-1"))
    assert refusal([folder]) == ""
    original = json.loads((folder / NAME).read_bytes())
    places = list(numbers(original))
    assert ("number",) in places
    refused, most = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for place in places:
        for extreme in EXTREMES:
            manifest = json.loads(json.dumps(original))
            part = manifest
            for key in place[:-1]:
                part = part[key]
            part[place[-1]] = extreme
            if place == ("number",) and extreme > 1:
                manifest["previous"] = "0" * 64
            (folder / NAME).write_bytes(
                (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
            )
            refused += worked([folder])
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 400 * 2**10, (
                place,
                extreme,
            )  # in kilobytes
    assert refused > len(places)


def test_a_release_of_a_very_long_series(manifests: dict[str, Path], tmp_path: Path) -> None:
    """The ten-thousand-millionth release says which releases are missing, and does not count them
    all.
    """
    folder = Path(shutil.copytree(manifests["global"], tmp_path / "s-1"))
    stated(folder, number=10**10, previous="0" * 64)
    assert (
        "release(s) 1, 2, 3, 4, 5, 6, 7, 8 and 9999999991 more of the series were not given"
        in notes([folder], ledger=f"sqlite:///{manifests['global'].parent}/s.db")
    )


def test_boxes_outside_the_declared_leaves(tmp_path: Path) -> None:
    """An end that the declared hierarchy does not have is refused from the files alone."""
    from phalanx import Tree

    schema = replace(
        SCHEMA, hierarchies={"zip": Tree.of_mapping({"3": [str(z) for z in range(300, 340)]})}
    )
    made = Series(
        "s",
        schema=schema,
        method=METHODS["generalized"],
        to=tmp_path / "out",
        ledger=f"sqlite:///{tmp_path}/s.db",
        report=False,
    ).publish(people())
    assert refusal([made.path]) == ""
    written(
        made.path, lambda form: replace(form, table=form.table.with_columns(zip_high=pl.lit("999")))
    )  # type: ignore[type-var,call-arg]
    assert "zip" in refusal([made.path])
