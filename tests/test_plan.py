# SPDX-License-Identifier: Apache-2.0
"""A plan is read whole, with its paths resolved, or refused in one sentence that names file and
key.
"""

import os
import resource
import signal
from pathlib import Path

import pytest

from phalanx.data.sources.dialects import Dialect
from phalanx.errors import PlanError
from phalanx.plan import Plan
from phalanx.plan_file import write_new
from support.one_group import OneGroup

PLAN = """\
[series]
name = "discharges"
[source]
path = "in/discharges.parquet"
[schema]
identifier = "patient"
quasi = ["age", "zip"]
sensitive = "diagnosis"
drop = ["notes"]
[schema.hierarchies]
zip = { prefix = [5, 3, 0] }
[method]
name = "m-invariance"
m = 10
[publish]
to = "releases/"
"""


def planned(tmp_path, text=PLAN):
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(tmp_path / "plan.toml")


def test_the_example_of_the_design(tmp_path):
    """Every part of a plan arrives where it belongs; paths are absolute, the ledger stands beside
    the plan.
    """
    plan = planned(tmp_path)
    schema = plan.schema()

    assert plan.name == "discharges"
    assert schema.columns == ("patient", "age", "zip", "diagnosis", "notes")
    assert schema.hierarchies["zip"].parameters() == {"kind": "prefix", "lengths": [5, 3, 0]}
    assert (schema.missing, schema.keep, schema.types) == ("refuse", (), {})
    assert plan.source_path() == str(tmp_path / "in" / "discharges.parquet")
    assert plan.query is None
    assert plan.publish_to() == tmp_path / "releases"
    assert plan.ledger_url() == f"sqlite:///{tmp_path / 'discharges.db'}"
    assert plan.formats == ("parquet",)


def test_paths_are_relative_to_the_plan_not_to_the_caller(tmp_path, monkeypatch):
    """Wherever the command runs, the plan means the same files."""
    (tmp_path / "sub").mkdir()
    planned(tmp_path)
    monkeypatch.chdir(tmp_path / "sub")
    plan = Plan.read("../plan.toml")

    assert plan.publish_to() == tmp_path / "releases"
    assert plan.ledger_url() == f"sqlite:///{tmp_path / 'discharges.db'}"


def test_databases(tmp_path):
    """A relative SQLite path is relative to the plan, an absolute one and a server's url stay as
    they are.
    """
    text = PLAN.replace(
        'path = "in/discharges.parquet"', 'url = "sqlite:///in/x.db"\nquery = "select 1"'
    )

    assert planned(tmp_path, text).source_path() == f"sqlite:///{tmp_path / 'in' / 'x.db'}"
    assert planned(tmp_path, text).query == "select 1"
    assert (
        planned(tmp_path, text + '[ledger]\nurl = "sqlite:////srv/l.db"\n').ledger_url()
        == "sqlite:////srv/l.db"
    )
    assert (
        planned(tmp_path, text + '[ledger]\nurl = "postgresql://u:p@h/d"\n').ledger_url()
        == "postgresql://u:p@h/d"
    )


def test_how_a_csv_is_written(tmp_path):
    """What a plan states of its CSV file is what it is read by; a .tsv has tabs, and what is not
    stated is as Phalanx writes it.
    """
    path = 'path = "in/discharges.parquet"'
    stated = 'path = "a.csv"\nseparator = ";"\ndecimal = ","\nencoding = "windows-1252"'

    def dialect(text):
        return planned(tmp_path, PLAN.replace(path, text)).sections.source.dialect

    assert dialect(stated) == Dialect(";", ",", "windows-1252")
    assert dialect('path = "a.tsv.gz"') == Dialect("\t")
    assert dialect('path = "a.csv"') == Dialect(",", None, "utf-8")
    assert dialect('path = "a.csv"\ndecimal = "."').decimal == "."
    with pytest.raises(PlanError, match=r"separator must be ',', ';', '\\t' or '\|'"):
        dialect('path = "a.csv"\nseparator = ":"')
    with pytest.raises(PlanError, match="has decimal, which is of a CSV file only; remove it"):
        dialect('url = "sqlite:///x.db"\nquery = "select 1"\ndecimal = ","')


def test_hierarchies_of_every_kind(tmp_path):
    """Prefix, bands, files and inline tables; files stand beside the plan."""
    (tmp_path / "tree.csv").write_text("flu;lung;*\nulcer;stomach;*\n", encoding="utf-8")
    plan = planned(
        tmp_path,
        PLAN.replace(
            "zip = { prefix = [5, 3, 0] }",
            "zip = { prefix = [5, 0] }\nage = { bands = [5, 10.0] }\ndiagnosis ="
            ' "tree.csv"\npatient = { tree = "tree.csv" }\nnotes = { tree = { a = ["x", 1,'
            " true] } }",
        ),
    )

    kinds = {name: h.parameters()["kind"] for name, h in plan.schema().hierarchies.items()}
    assert kinds == {
        "zip": "prefix",
        "age": "bands",
        "diagnosis": "tree",
        "patient": "tree",
        "notes": "tree",
    }
    assert plan.schema().hierarchies["notes"].parameters()["paths"] == [
        ["x", "a", "*"],
        ["1", "a", "*"],
        ["true", "a", "*"],
    ]


WRONG = [
    ("quasi =", "qausi =", r"\[schema\] has an unknown key 'qausi'; did you mean 'quasi'"),
    ("[publish]", "[publsh]", r"unknown key 'publsh'; did you mean 'publish'"),
    (
        'name = "discharges"',
        'nmae = "discharges"',
        r"\[series\] has an unknown key 'nmae'; did you mean 'name'",
    ),
    ("path =", "pth =", r"\[source\] has an unknown key 'pth'; did you mean 'path'"),
    ("to =", "too =", r"\[publish\] has an unknown key 'too'; did you mean 'to'"),
    (
        "prefix",
        "prefx",
        r"\[schema.hierarchies.zip\] has an unknown key 'prefx'; did you mean 'prefix'",
    ),
    (
        "[publish]",
        "[ledger]\nurI = 1\n[publish]",
        r"\[ledger\] has an unknown key 'urI'; did you mean 'url'",
    ),
    ("to =", "xyzzy = 1\nto =", r"'xyzzy'; it takes to, formats"),
    ('[series]\nname = "discharges"', "", r"there is no section \[series\]"),
    ('to = "releases/"', "", r"\[publish\] needs the key 'to'"),
    ('"discharges"', '"../up"', r"\[series\] name may hold letters"),
    ('"discharges"', '".hidden"', r"\[series\] name may hold letters"),
    ('"discharges"', '"a/b"', r"\[series\] name may hold letters"),
    ('"discharges"', '"x\\n"', r"\[series\] name may hold letters"),
    ('"discharges"', "5", r"\[series\] name must be text"),
    ('["age", "zip"]', '"age"', r"\[schema\] quasi must be a list"),
    ('["age", "zip"]', "[]", r"\[schema\] quasi must not be empty"),
    ('["age", "zip"]', '["age", 5]', r"\[schema\] quasi must be text"),
    ('["age", "zip"]', '["age"', r"not TOML.*line \d+"),
    ('to = "releases/"', 'to = "releases', r"not TOML.*line 16"),
    ('to = "releases/"', "to = " + "[" * 5000, r"not TOML"),
    ('path = "in/discharges.parquet"', "", r"\[source\] needs either path, or url with query"),
    ("path =", 'query = "select 1"\npath =', r"\[source\] needs url and query together"),
    ("path =", 'url = "sqlite:///x"\npath =', r"\[source\] needs either path, or url"),
    ("to =", 'formats = ["xlsx"]\nto =', r"\[publish\] formats must be 'parquet' or 'csv'"),
    ("to =", "formats = []\nto =", r"\[publish\] formats must not be empty"),
    ('"releases/"', '"postgresql:/ann:pw@db/x"', r"\[publish\] has the ':' and '@' of a database"),
    ('"releases/"', '"postgresql/ann:pw@x"', r"\[publish\] has the ':' and '@' of a database's"),
    ("drop =", 'missing = "ignore"\ndrop =', r"\[schema\] missing must be 'refuse' or 'value'"),
    (
        "drop =",
        'missing = { age = "ignore" }\ndrop =',
        r"\[schema.missing\] age must be 'refuse' or 'value'",
    ),
    (
        "drop =",
        'types = { age = "number" }\ndrop =',
        r"\[schema.types\] age must be 'numeric', 'categorical', 'date' or 'set'",
    ),
    (
        "{ prefix = [5, 3, 0] }",
        "{ prefix = [5, 0], bands = [5] }",
        r"needs exactly one of prefix, bands, tree and order",
    ),
    ("{ prefix = [5, 3, 0] }", "5", r"\[schema.hierarchies.zip\] must be a table"),
    (
        "{ prefix = [5, 3, 0] }",
        '{ prefix = "5" }',
        r"\[schema.hierarchies.zip\] prefix must be a list",
    ),
    ("[publish]", "publish = 5\n[x]", r"the top level has an unknown key 'x'"),
]


@pytest.mark.parametrize(("good", "bad", "said"), WRONG)
def test_a_wrong_plan_is_one_sentence(tmp_path, good, bad, said):
    """Every fault that the file shows is refused when it is read, with the file's name and the
    key.
    """
    assert good in PLAN
    with pytest.raises(PlanError, match=said) as refused:
        planned(tmp_path, PLAN.replace(good, bad, 1))
    assert "plan.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ('["age", "zip"]', '["age", "zip", "age"]', "'age' is declared quasi twice"),
        ('["age", "zip"]', '["age", "patient", "zip"]', "both identifier and quasi"),
        ("drop =", 'types = { agee = "numeric" }\ndrop =', "did you mean 'age'"),
        ("[5, 3, 0]", "[0, 3]", r"\[schema.hierarchies\] zip: prefix lengths must fall"),
        ("{ prefix = [5, 3, 0] }", '"zip.csv"', "there is no hierarchy file"),
    ],
)
def test_a_wrong_schema_is_a_plan_error(tmp_path, good, bad, said):
    """What only shows when the roles and hierarchies are put together names the plan too."""
    with pytest.raises(PlanError, match=r"plan\.toml.*" + said):
        planned(tmp_path, PLAN.replace(good, bad, 1)).schema()


def test_an_unknown_method_is_a_plan_error(tmp_path):
    """A method nobody installed is refused with the nearest known name."""
    with pytest.raises(PlanError, match=r"plan\.toml.*did you mean 'm-invariance'"):
        planned(tmp_path, PLAN.replace('"m-invariance"', '"m-invarance"')).method()


def test_no_password_in_an_error(tmp_path):
    """A plan may hold a password; what is wrong with it is said without."""
    text = PLAN.replace(
        'path = "in/discharges.parquet"', 'url = "mysql://u:PASSWORD@h/d"\nquery = 5'
    )

    with pytest.raises(PlanError) as refused:
        planned(tmp_path, text)
    assert "PASSWORD" not in str(refused.value)
    assert "PASSWORD" not in repr(
        planned(tmp_path, text.replace("query = 5", 'query = "select 1"'))
    )
    with pytest.raises(PlanError, match="neither sqlite") as refused:
        planned(tmp_path, text.replace("query = 5", 'query = "select 1"')).source_path()
    assert "PASSWORD" not in str(refused.value)


def test_a_missing_plan_names_its_neighbour(tmp_path):
    """A mistyped plan gets the nearest one; bytes that are not UTF-8 are named."""
    planned(tmp_path)
    (tmp_path / "bad.toml").write_bytes(b"\xff")

    with pytest.raises(PlanError, match=r"did you mean 'plan\.toml'"):
        Plan.read(tmp_path / "plans.toml")
    with pytest.raises(PlanError, match="not UTF-8"):
        Plan.read(tmp_path / "bad.toml")
    with pytest.raises(PlanError, match="no plan"):
        Plan.read(tmp_path / "nowhere" / "x.toml")


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.parquet", "t.csv.gz"])
def test_a_table_is_no_plan(tmp_path, name):
    """Its name says so, and what writes a plan for it; it was told to be saved as UTF-8."""
    (tmp_path / name).write_bytes(b"PAR1\xff")
    with pytest.raises(PlanError, match=r"is a table and no plan; 'phalanx init' writes a plan"):
        Plan.read(tmp_path / name)
    (tmp_path / name).unlink()
    with pytest.raises(PlanError, match="there is no plan"):
        Plan.read(tmp_path / name)


def test_strange_columns(tmp_path):
    """Column names that are words of the validator, or hold dots and spaces, are just names."""
    text = PLAN.replace("zip = {", 'str = { bands = [1] }\n"a b.c" = {').replace(
        '["age", "zip"]', '["str", "a b.c", "🙂"]'
    )

    assert list(planned(tmp_path, text).schema().hierarchies) == ["str", "a b.c"]
    with pytest.raises(PlanError, match=r"\[schema.hierarchies.str\] bands must be a list"):
        planned(tmp_path, text.replace("bands = [1]", "bands = 1"))


def test_json_schema():
    """The published schema names every section and forbids unknown keys."""
    schema = Plan.json_schema()

    assert set(schema["properties"]) == {
        "series",
        "source",
        "schema",
        "method",
        "publish",
        "ledger",
    }
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["series", "source", "schema", "method", "publish"]


def test_a_plan_does_not_change(tmp_path):
    """What was validated stays as it was."""
    plan = planned(tmp_path)

    with pytest.raises(AttributeError):
        plan.path = Path()
    with pytest.raises(ValueError, match="frozen"):
        plan.sections.series.name = "other"


REGISTRY = '[source.registry]\npath = "in/voters.csv"\n[schema]\n'


def with_registry(said=REGISTRY):
    return PLAN.replace("[schema]\n", said, 1)


def test_a_registry(tmp_path, monkeypatch):
    """A file or the rows of a query, resolved like the source; no registry is none."""
    monkeypatch.setattr("phalanx.plan.make", lambda *_: OneGroup())
    plan = planned(tmp_path, with_registry())
    assert (plan.registry_path(), plan.registry_query) == (
        str(tmp_path / "in" / "voters.csv"),
        None,
    )
    assert plan.source_path() == str(tmp_path / "in" / "discharges.parquet")
    assert plan.method() == OneGroup()
    asked = planned(
        tmp_path,
        with_registry(
            REGISTRY.replace(
                'path = "in/voters.csv"', 'url = "sqlite:///in/v.db"\nquery = "select 1"'
            )
        ),
    )
    assert (asked.registry_path(), asked.registry_query) == (
        f"sqlite:///{tmp_path / 'in' / 'v.db'}",
        "select 1",
    )
    none = planned(tmp_path)
    assert (none.registry_path(), none.registry_query) == (None, None)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("", r"\[source.registry\] needs either path, or url with query"),
        (
            'path = "v.csv"\nurl = "sqlite:///v.db"',
            r"\[source.registry\] needs either path, or url with query",
        ),
        ('url = "sqlite:///v.db"', r"\[source.registry\] needs url and query together"),
        ('path = "v.csv"\nquery = "select 1"', r"\[source.registry\] needs url and query together"),
        ("path = 5", r"\[source.registry\] path must be text in quotes"),
        ('paht = "v.csv"', r"\[source.registry\] has an unknown key 'paht'; did you mean 'path'"),
        (
            'registry = "v.csv"',
            r"\[source.registry\] has an unknown key 'registry'; it takes path, url, query",
        ),
    ],
)
def test_a_wrong_registry_is_one_sentence(tmp_path, said, what):
    """What is wrong with it is what would be wrong with a source, under its own name."""
    with pytest.raises(PlanError, match=what):
        planned(tmp_path, with_registry(f"[source.registry]\n{said}\n[schema]\n"))


def test_a_registry_that_is_no_section(tmp_path):
    """A path in the place of a section is refused; a url of another kind too, when it is needed."""
    with pytest.raises(PlanError, match=r"\[source\] registry must be a section of its own"):
        planned(tmp_path, PLAN.replace("[source]\n", '[source]\nregistry = "v.csv"\n'))
    with pytest.raises(PlanError, match=r"\[source.registry\] url: it is neither sqlite"):
        planned(
            tmp_path,
            with_registry('[source.registry]\nurl = "mysql://h/d"\nquery = "q"\n[schema]\n'),
        ).registry_path()


@pytest.mark.parametrize("method", ['"m-invariance"\nm = 10', '"mondrian"\nk = 5'])
def test_a_registry_is_of_use_to_some_methods_only(tmp_path, method):
    """A method that takes none refuses the plan, and not the same plan without."""
    text = with_registry().replace('"m-invariance"\nm = 10', method)
    with pytest.raises(
        PlanError,
        match=r"plan\.toml' \[source.registry\] is of use to global-guarantee only; remove it",
    ):
        planned(tmp_path, text).method()
    assert planned(tmp_path, text.replace(REGISTRY, "[schema]\n")).method().takes_registry is False


def test_a_key_of_a_hundred_thousand_parts_is_refused_at_once(tmp_path):
    """Reading it would take minutes; and a path that leads in a circle is refused by its name."""
    file = tmp_path / "plan.toml"
    file.write_text(f"a{'.a' * 100_000} = 1\n")
    with pytest.raises(PlanError, match="has a line of more than 2000 dots"):
        Plan.read(file)
    (tmp_path / "round").symlink_to("round")
    file.write_text(
        '[series]\nname = "s"\n[source]\npath = "round"\n[schema]\nquasi = ["a"]\n[method]\nname ='
        ' "mondrian"\nk = 2\n[publish]\nto = "out"\n'
    )
    with pytest.raises(PlanError, match="'round' leads nowhere"):
        Plan.read(file).source_path()


def test_a_plan_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """What is left of one would be in the way of the next."""
    path = tmp_path / "plan.toml"
    with pytest.raises(PlanError, match="name is not UTF-8; rename that file"):
        write_new(path, 'path = "bad\udcff.csv"')
    assert not path.exists()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_new(path, "x = 1\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert not path.exists()
    write_new(path, "x = 1\n")
    assert path.read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        ("postgresql://host/clinic", 0o644),
        ("postgresql://ann:secret@host/clinic", 0o600),
        ("postgresql:///clinic?password=secret", 0o600),
    ],
)
def test_a_new_plan_with_a_password_is_its_owners(tmp_path: Path, url: str, mode: int) -> None:
    """From the first moment; and nothing that is there is written over, or through a link."""
    umask = os.umask(0o022)
    try:
        write_new(tmp_path / "plan.toml", f'url = "{url}"\n')
    finally:
        os.umask(umask)
    assert (tmp_path / "plan.toml").stat().st_mode & 0o777 == mode
    (tmp_path / "link.toml").symlink_to(tmp_path / "elsewhere")
    for taken in ("plan.toml", "link.toml"):
        with pytest.raises(FileExistsError):
            write_new(tmp_path / taken, "")
    assert url in (tmp_path / "plan.toml").read_text() and not (tmp_path / "elsewhere").exists()
