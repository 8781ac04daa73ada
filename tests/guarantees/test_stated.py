# SPDX-License-Identifier: Apache-2.0
"""What a manifest states of who and what is not covered: ``verify`` says it, by itself and as JSON,
and a release that states nothing is as before.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pytest

import phalanx
from phalanx import (
    Anatomy,
    GlobalGuarantee,
    MInvariance,
    Mondrian,
    MutualCover,
    Plan,
    SafeSampling,
    Schema,
    Series,
    Slicing,
    verify,
)
from phalanx.cli import main
from phalanx.errors import MethodError
from phalanx.release.folder import Release
from phalanx.release.manifest import NAME, Manifest
from phalanx.report.promises import KNOWN_METHOD
from phalanx.series import drafting
from support.tampering_cases import refusal, stated

KNOWN, SUPPRESSED = "adversary who knows the method", "suppressed rows"
VALUES = "aaaaaaaabbcd"
SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")


def people(values=VALUES):
    return pl.DataFrame(
        {
            "who": [f"p{i}" for i in range(len(values))],
            "age": [20 + i for i in range(len(values))],
            "ill": list(values),
        }
    )


def publish(tmp_path, method, *tables, schema=SCHEMA):
    series = Series("clinic", schema=schema, method=method, to=tmp_path / "out")
    return [series.publish(table) for table in tables or (people(),)]


def results(made):
    return {v.name.removeprefix(f"release {made.number}: "): v for v in verify([made.path]).checks}


@pytest.mark.parametrize(
    ("method", "known", "suppresses"),
    [
        (Mondrian(k=2), True, []),
        (Mondrian(k=2, l=2), True, []),
        (Mondrian(k=2, l=2, cuts="strict"), False, []),
        (Mondrian(k=2, t="1/2"), True, []),
        (Mondrian(k=2, t="1/2", cuts="relaxed"), False, []),
        (Anatomy(l=2), True, []),
        (Slicing(l=2, grouping="random", bucket_size=2, sensitive_column_size=1), True, []),
        (Slicing(l=2, grouping="random", bucket_size=2, columns=[["age"], ["ill"]]), True, []),
        (Slicing(l=2, grouping="random", bucket_size=2), False, []),
        (
            Slicing(l=2, grouping="membership", bucket_size=2, not_eligible="suppress"),
            False,
            ["not-eligible"],
        ),
        (Slicing(l=2, grouping="membership", bucket_size=2, columns=[["age"], ["ill"]]), True, []),
        (Slicing(l=2), False, []),
        (Slicing(l=2, cuts="balanced"), False, []),
        (Slicing(l=2, cuts="balanced", columns=[["age"], ["ill"]]), True, []),
        (Slicing(l=2, sensitive_column_size=1), True, []),
        (Slicing(l=2, sensitive_column_size=1, cuts="strict"), False, []),
        (MInvariance(m=2), True, []),
        (MInvariance(m=2, balancing="paper"), False, []),
        (MInvariance(m=2, remember=False), False, []),
        (MInvariance(m=2, changed="new-record"), False, []),
        (
            MInvariance(m=2, changed="suppress", not_eligible="suppress"),
            False,
            ["changed-value", "not-eligible"],
        ),
        (GlobalGuarantee(l=2), True, ["spent-budget", "no-group"]),
        (GlobalGuarantee(l=2, permanent=["hiv"]), False, ["spent-budget", "no-group"]),
        (GlobalGuarantee(l=2, grouping="bottom-up"), False, ["no-group"]),
        (MutualCover(delta="1/2"), False, []),
        (SafeSampling(epsilon=1, delta="1/100"), True, []),
    ],
    ids=lambda value: str(value)[:60],
)
def test_every_method_states_both(method, known, suppresses):
    """By its parameters alone, so that nothing of the table is said."""
    assert (method.holds_if_method_known, list(method.may_suppress)) == (known, suppresses)


def test_suppressed_rows_are_not_covered(tmp_path, monkeypatch, capsys):
    """Rows were suppressed because their value is frequent: the manifest, ``verify`` in words and
    as JSON, and the report say that nothing covers them.
    """
    (made,) = publish(tmp_path, MInvariance(m=2, not_eligible="suppress"))
    assert sum(made.suppressed_rows.values()) == 4
    assert json.loads((made.path / NAME).read_text())["may_suppress"] == ["not-eligible"]

    verdict = results(made)[SUPPRESSED]
    assert (
        verdict.result == "not covered"
        and verdict.holds
        and "value is too frequent" in verdict.note
    )
    assert "4" not in verdict.note
    report = made.page.read_text()
    assert (
        "Suppressed rows are not covered" in report
        and "likely to hold one of the most frequent" in report
    )

    for words, code in ((["verify", str(made.path)], 0), (["verify", str(made.path), "--json"], 0)):
        monkeypatch.setattr("sys.argv", ["phalanx", *words])
        with pytest.raises(SystemExit) as left:
            main()
        assert (left.value.code or 0) == code
    out = capsys.readouterr().out
    text, _, found = out.partition("{")
    assert any(
        line.startswith("not covered: rows may have been suppressed")
        and "(suppressed rows)" in line
        for line in text.splitlines()
    )
    told = {check["name"]: check for check in json.loads("{" + found)["checks"]}
    assert (
        told[f"release 1: {SUPPRESSED}"]["note"].startswith("not covered: ")
        and told[f"release 1: {SUPPRESSED}"]["worst"] is None
    )


def test_whether_it_came_to_it_is_not_said(tmp_path):
    """The manifest of a table from which nothing had to be suppressed says what that of one does
    from which rows were: the bit would be about values.
    """
    method = MInvariance(m=2, not_eligible="suppress")
    (few,), (none,) = (
        publish(tmp_path / "a", method),
        publish(tmp_path / "b", method, people("aabbccdd")),
    )
    assert (sum(few.suppressed_rows.values()), none.suppressed_rows) == (4, {})
    assert few.manifest.may_suppress == none.manifest.may_suppress == ["not-eligible"]


ALONE = {
    "balanced": (
        {"permanent": ["hiv"], "k": 20},
        people(["hiv"] + ["none"] * 19),
        people(["hiv"] + ["none"] * 20),
    ),
    "bottom-up": (
        {"strategy": "constant-ratio", "horizon": 1, "grouping": "bottom-up"},
        people(["hiv", "none"]),
        pl.concat(
            [people(["none"]), people(["hiv", "none"]).with_columns(who=pl.col("who") + " new")]
        ),
    ),
}


@pytest.mark.parametrize("grouping", ALONE)
def test_rows_that_no_group_takes_are_stated(tmp_path, grouping):
    """A row may be alone beside a cohort, or its budget spent for the value of all groups: the
    manifest names that reason, else the missing row is refused.
    """
    settings, before, again = ALONE[grouping]
    method = GlobalGuarantee(l=2, protect=["hiv"], **settings)
    first, second = publish(tmp_path, method, before, again)
    assert second.suppressed_rows == {"too few rows for a group": 1}
    assert second.manifest.rows == before.height
    tables = [before, again]
    assert verify([first.path, second.path], originals=tables, identifier="who").holds
    fields = json.loads((second.path / NAME).read_text()) | {
        "may_suppress": ["spent-budget"],
        "method": {"name": "of another package"},  # of ours it is known what they must say
    }
    (second.path / NAME).write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n")
    refused = [
        v
        for v in verify([first.path, second.path], originals=tables, identifier="who").checks
        if not v.holds
    ]
    assert [v.name for v in refused] == [
        "release 2: persons of the original"
    ] and "1 person(s) of the original table are not published" in refused[0].note


def test_nothing_is_added_under_differential_privacy(tmp_path):
    """Rows that are dropped from a sample are a part of what is promised."""
    schema = Schema(quasi=["age", "ill"], drop=["who"], types={"age": "numeric"})
    table, plain = people("ab" * 200), SafeSampling(epsilon=1, delta="1/100")
    (made,) = publish(
        tmp_path,
        SafeSampling(
            epsilon=1,
            delta="1/100",
            expected_rows=400,
            scheme={"age": {"low": 0, "high": 800, "width": 400}},
        ),
        table,
        schema=schema,
    )
    assert plain.may_suppress == () and made.manifest.may_suppress == []
    assert SUPPRESSED not in results(made) and results(made)[KNOWN].result == "stated"
    assert "Suppressed rows" not in made.page.read_text()


TAKEN_BACK = {
    "suppressed for a change": (MInvariance(m=2), MInvariance(m=2, changed="suppress")),
    "suppressed as not eligible": (MInvariance(m=2), MInvariance(m=2, not_eligible="suppress")),
    "grown groups": (
        GlobalGuarantee(l=2, protect=["a"]),
        GlobalGuarantee(l=2, protect=["a"], grouping="bottom-up"),
    ),
}


@pytest.mark.parametrize("change", TAKEN_BACK)
def test_what_was_stated_of_all_releases_is_not_taken_back(tmp_path, change):
    """A plan by which the promise of all releases no longer holds against who knows the method is
    refused in a series that states it; a release that says so, as of an earlier version, is read as
    it is.
    """
    before, after = TAKEN_BACK[change]
    table = people("abcd" * 5)
    (first,) = publish(tmp_path, before, table)
    with pytest.raises(MethodError, match=r"release 1 says of all releases .* put it back"):
        publish(tmp_path, after, table)
    (second,) = publish(tmp_path, before, table)

    assert first.manifest.holds_if_method_known and second.manifest.holds_if_method_known
    assert refusal([first.path, second.path]) == ""
    stated(second.path, holds_if_method_known=False)
    assert refusal([first.path, second.path]) == ""
    assert results(Release.read(second.path))[KNOWN].result == "not covered"


@dataclass(frozen=True, kw_only=True)
class Staying(Mondrian):
    """A method of another package, of which a parameter is shown where it is set, and stays."""

    name: ClassVar[str] = "staying"
    stays: ClassVar[Any] = ("extra",)
    extra: int | None = None


def test_a_parameter_that_stays_may_be_new(tmp_path):
    """What the release before did not show is no fault of ours, and is refused in a sentence."""
    table = people("abcd" * 5)
    publish(tmp_path, Staying(k=2), table)
    with pytest.raises(MethodError, match="extra is 1 in the plan and was None in release 1"):
        publish(tmp_path, Staying(k=2, extra=1), table)


def test_a_registry_takes_it_back(tmp_path):
    """Of registered persons nothing holds against who knows the method."""
    method = GlobalGuarantee(l=2, protect=["a"])
    table = people("abcd" * 5)
    publish(tmp_path, method, table)
    registry = people("abcd" * 6).drop("ill")
    for again in (method, GlobalGuarantee(l=2, protect=["a"], k=3)):
        with pytest.raises(MethodError, match="with a registry they do not"):
            Series("clinic", schema=SCHEMA, method=again, to=tmp_path / "out").publish(
                table, registry=registry
            )


WITH_WARDS = Schema(identifier="who", quasi=["age"], sensitive="ill", keep=["ward"])


def with_wards():
    """A table whose kept values are few."""
    table = people("abcd" * 5)
    return table.with_columns(ward=pl.Series(["north", "south"] * 10))


@pytest.mark.parametrize(
    "method", [MInvariance(m=2), GlobalGuarantee(l=2, protect=["a"])], ids=lambda m: m.name
)
def test_kept_values_link_releases(tmp_path, method):
    """A kept value that stays with a person tells which rows of several releases are the person's
    (worlds.cases), so no release of a promise of all of them says that it holds against who knows
    the method, and the report warns; a promise of one release is not touched.
    """
    first, second = publish(tmp_path, method, with_wards(), with_wards(), schema=WITH_WARDS)
    for made in (first, second):
        assert made.manifest.holds_if_method_known is False
        assert results(made)[KNOWN].result == "not covered"
        assert (
            "which rows of several releases are the same person's"
            in results(made)["kept columns"].note
        )
        assert "Kept columns tell whose rows are whose" in made.page.read_text()
    (alone,) = publish(tmp_path / "k", Mondrian(k=2), with_wards(), schema=WITH_WARDS)
    assert alone.manifest.holds_if_method_known is True
    assert "several releases" not in results(alone)["kept columns"].note
    assert "Kept columns tell whose rows are whose" not in alone.page.read_text()


def test_an_earlier_version_stated_it_with_kept_columns(tmp_path):
    """That was not so: ``verify`` says that it is not covered, and the series goes on without the
    statement, as it was never one of all releases.
    """
    series = Series("clinic", schema=WITH_WARDS, method=MInvariance(m=2), to=tmp_path / "out")
    with pytest.MonkeyPatch.context() as patched:
        before = drafting.Drafting.manifest_fields
        patched.setattr(
            drafting.Drafting,
            "manifest_fields",
            lambda *given: before(*given) | {"holds_if_method_known": True},
        )
        first = series.publish(with_wards())
    assert first.manifest.holds_if_method_known
    found = results(first)[KNOWN]
    assert found.result == "not covered" and "where kept values stay with persons" in found.note
    page = tmp_path / "page.html"
    again = phalanx.Release.read(first.path)
    assert KNOWN_METHOD not in again.report(page, audience="external").read_text()
    second = series.publish(with_wards())
    assert second.manifest.holds_if_method_known is False
    assert refusal([first.path, second.path]) == ""


def test_who_knows_the_method(tmp_path):
    """What holds against whoever knows the method is stated, not checked; what does not is not
    covered; the report says either.
    """
    (held,), (open_,) = (
        publish(tmp_path / "a", Mondrian(k=2)),
        publish(tmp_path / "b", Mondrian(k=2, l="3/2", cuts="strict")),
    )
    assert results(held)[KNOWN].result == "stated" and KNOWN_METHOD in held.page.read_text()
    assert (
        results(open_)[KNOWN].result == "not covered" and KNOWN_METHOD not in open_.page.read_text()
    )
    assert "Only against those who do not know the method" in open_.page.read_text()


def test_a_release_that_states_nothing(tmp_path):
    """Its manifest has the bytes that it had before anything was stated, and ``verify`` adds
    nothing.
    """
    (made,) = publish(tmp_path, Mondrian(k=2))
    fields = json.loads((made.path / NAME).read_text())
    before = {
        key: value
        for key, value in fields.items()
        if key not in ("holds_if_method_known", "may_suppress")
    }
    content = (json.dumps(before, indent=1, ensure_ascii=False) + "\n").encode()
    (made.path / NAME).write_bytes(content)

    assert (
        Release.read(made.path).manifest.to_bytes() == content
        and Manifest.from_bytes(content, made.path).may_suppress is None
    )
    found = {v.name.removeprefix("release 1: "): v for v in verify([made.path]).checks}
    assert all(v.holds for v in found.values()) and not {KNOWN, SUPPRESSED} & found.keys()


def test_a_plan_publishes_what_its_method_states(tmp_path):
    """From a plan as from Python."""
    people().write_csv(tmp_path / "t.csv")
    text = (
        '[series]\nname = "c"\n[source]\npath = "t.csv"\n[schema]\nidentifier = "who"\nquasi ='
        ' ["age"]\nsensitive = "ill"\n'
    )
    (tmp_path / "plan.toml").write_text(
        text
        + '[method]\nname = "slicing"\nl = 2\ncolumns = 2\nnot_eligible = "suppress"\n[publish]\nto'
        ' = "out"\n'
    )
    plan = Plan.read(tmp_path / "plan.toml")
    made = plan.series().publish(pl.read_csv(tmp_path / "t.csv"))
    assert (
        made.manifest.may_suppress == ["not-eligible"]
        and made.manifest.holds_if_method_known is False
    )


AGES = [1, 2, 4, 7, 11, 16, 22, 29]
TOLD = {
    "suppressed rows": (
        [MInvariance(m=2, not_eligible="suppress"), MInvariance(m=2), MInvariance(m=2)],
        ["aaab", "aaabbb", "aaabbb"],
    ),
    "groups grown around holders": (
        [
            GlobalGuarantee(l=2, protect=["a"], grouping="bottom-up"),
            GlobalGuarantee(l=2, protect=["a"]),
            GlobalGuarantee(l=2, protect=["a"]),
        ],
        ["abbbbbbb", "bbbbbbba", "bbbbbbba"],
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_an_earlier_release_told_stays_told(tmp_path, case):
    """A promise about all releases does not hold again against who knows the method once a release
    did not state it; nor may a manifest say that it does.
    """
    made = []
    for method, ill in zip(*TOLD[case], strict=True):
        table = pl.DataFrame({"who": AGES[: len(ill)], "age": AGES[: len(ill)], "ill": list(ill)})
        series = Series(
            "s",
            Schema(identifier="who", quasi=["age"], sensitive="ill"),
            method,
            to=tmp_path,
            ledger=f"sqlite:///{tmp_path}/l.db",
            report=False,
        )
        made.append(series.publish(table).path)
    assert [Release.read(path).manifest.holds_if_method_known for path in made] == [False] * 3
    assert verify(made).holds
    stated(made[-1], holds_if_method_known=True)
    assert "and the release before it does not say so" in refusal(made)
    assert "the release before it" not in refusal(made[-1:])


def test_a_promise_about_one_release_is_its_own(tmp_path):
    """Strict cuts told of the first; what balanced ones promise of the second holds."""
    for method, holds in ((Mondrian(k=2, l=2, cuts="strict"), False), (Mondrian(k=2, l=2), True)):
        (made,) = publish(tmp_path, method, people("aabbccddeeff"))
        assert made.manifest.holds_if_method_known is holds
    assert made.number == 2 and verify([tmp_path / "out" / f"clinic-{n}" for n in (1, 2)]).holds
