# SPDX-License-Identifier: Apache-2.0
"""The minimality adversary against all worlds: every table that could have been there is published
by the real method, and the posteriors are the same.
"""

import contextlib
import itertools
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx.adversaries import Minimality
from phalanx.adversaries.minimality import adversary as minimality
from phalanx.adversaries.minimality import replaying
from phalanx.adversaries.minimality.beliefs import Replay
from phalanx.adversaries.minimality.requirements import Requirement
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import NotEligible, PhalanxError, ReleaseError
from phalanx.methods.anatomy.method import Anatomy
from phalanx.methods.base import Memory
from phalanx.methods.mondrian.method import Mondrian
from phalanx.methods.slicing.method import Slicing
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest
from phalanx.series.series import Series
from phalanx.verification import gather_evidence
from support.work import lines

AGES = [1, 2, 4, 7, 11, 16, 22, 29]
EVERYTHING = 10**6


def table(quasi, values):
    """Persons with these quasi-identifiers, a tuple each, and sensitive values."""
    names = [f"q{i}" for i in range(len(quasi[0]))]
    columns = {name: [row[i] for row in quasi] for i, name in enumerate(names)}
    return Microdata.encode(
        pl.DataFrame(columns | {"ill": list(values)}), Schema(quasi=names, sensitive="ill")
    )


def published(method, microdata, seed=1):
    """What the real method makes of a table."""
    form = method.publish(microdata, Memory(), Randomness.seeded(seed)).form
    manifest = Manifest(
        series="small", number=1, form=form.kind, method=method.parameters(), guarantees=[], attributes=list(form.attributes), rows=form.rows,
        groups=form.groups, counterfeits=0, registered=0, boxes="tight", privacy_unit="person", files=[], **form.manifest_fields(),
    )  # fmt: skip
    return Release(manifest, form, Path("nowhere"))


def seen(form):
    """A release as a multiset of groups, each of rows; of a sliced one as its columns, since its
    rows stand together by chance.
    """
    tables = [form.table] if form.kind == "generalized" else form.parts
    shown = []
    for part in tables:
        groups = defaultdict(list)
        for group, *row in part.rows():
            groups[group].append(tuple(row))
        shown.append({group: tuple(sorted(rows, key=str)) for group, rows in groups.items()})
    return tuple(sorted((tuple(part[group] for part in shown) for group in shown[0]), key=str))


def oracle(method, quasi, values):
    """Output -> (how many worlds have it, one of them, (person, value) -> posterior), over all
    arrangements of the values.
    """
    worlds = defaultdict(list)
    for world in sorted(set(itertools.permutations(values))):
        with contextlib.suppress(NotEligible):
            worlds[seen(published(method, table(quasi, world)).form)].append(world)
    for those in worlds.values():
        held = Counter((person, value) for world in those for person, value in enumerate(world))
        yield len(those), those[0], {pair: Fraction(n, len(those)) for pair, n in held.items()}


def believed(method, quasi, world, adversary=None):
    """(person, value) -> what the adversary makes of one world's publication; values that cannot be
    are left out.
    """
    microdata = table(quasi, world)
    adversary = adversary or Minimality(effort=EVERYTHING, together=len(quasi))
    replay = minimality.Replay.of(published(method, microdata), microdata, adversary.together)
    replay.count(replay.sets, adversary.effort, adversary.together)
    names = replay.hosts.groups.values.to_list()
    of_tuple = {t: shares for _, tuples, shares in replay.beliefs() for t in tuples.tolist()}
    return {
        (person, names[v]): p
        for person, t in enumerate(replay.hosts.of_person.tolist())
        for v, p in of_tuple[t].items()
        if p
    }


def in_a_row(n):
    return [(age,) for age in AGES[:n]]


ZIPS = [(1, 5), (2, 1), (4, 3), (7, 8), (11, 2), (16, 6)]
PAIRS = [(1,), (1,), (2,), (2,), (3,), (3,)]
APART = [["q0"], ["q1", "ill"]]
CASES = [
    (Mondrian(k=2, l=2, cuts="strict"), in_a_row(6), "aabbcc"),
    (Mondrian(k=2, l=2, cuts="strict"), in_a_row(6), "aabbcd"),
    (Mondrian(k=1, l=2, cuts="strict"), in_a_row(7), "aaabbcc"),
    (Mondrian(k=2, l=2, cuts="strict"), in_a_row(7), "aaabbcd"),
    (Mondrian(k=2, l=2, cuts="strict"), in_a_row(8), "aaabbbcc"),
    (Mondrian(k=2, l=2, cuts="strict"), ZIPS, "aabbcc"),
    (Mondrian(k=2, l=2, cuts="strict"), PAIRS, "aabbcc"),
    (Mondrian(k=2, l=2, cuts="strict", cut_at="median"), in_a_row(6), "aabbcc"),
    (Mondrian(k=2, l=2, cuts="strict", cut_at="median"), in_a_row(8), "aaabbbcc"),
    (Mondrian(k=2, l=2, cuts="strict", cut_at="median"), ZIPS, "aabbcc"),
    (Mondrian(k=2, l=2, diversity="entropy", cuts="strict", cut_at="median"), ZIPS, "aabbcc"),
    (Mondrian(k=2, l=3, cuts="strict"), in_a_row(7), "aabbccd"),
    (Mondrian(k=2, l=2, diversity="distinct", cuts="strict"), in_a_row(6), "aaaabb"),
    (Mondrian(k=2, l=2, diversity="distinct", cuts="strict"), ZIPS, "aaabbc"),
    (Mondrian(k=2, l="1.7", diversity="entropy", cuts="strict"), in_a_row(7), "aaabbcc"),
    (Mondrian(k=2, l=2, diversity="entropy", cuts="strict"), ZIPS, "aabbcc"),
    (Mondrian(k=2, l=2, diversity="recursive", c=2, cuts="strict"), in_a_row(7), "aaabbbc"),
    (Mondrian(k=2, t="1/6", cuts="strict"), in_a_row(6), "aaaabb"),
    (Mondrian(k=2, t="1/3", cuts="strict"), ZIPS, "aabbcc"),
    (Mondrian(k=2, t="1/5", distance="ordered", cuts="strict"), in_a_row(7), "aabbccd"),
    (Mondrian(k=2, l=2, t="1/2", cuts="strict"), ZIPS, "aaabbc"),
    (Slicing(l=2, columns=[["q0"], ["ill"]]), in_a_row(6), "aabbcc"),
    (Slicing(l=2, columns=[["q0"], ["ill"]], check="local"), in_a_row(7), "aaabbcc"),
    (
        Slicing(l=2, columns=APART),
        [(1, 0), (2, 1), (4, 0), (7, 0), (11, 1), (16, 1), (22, 0), (29, 1)],
        "aaabbccc",
    ),
    (
        Slicing(l=2, columns=APART, diversity="distinct"),
        [(1, 0), (2, 1), (4, 0), (7, 0), (11, 1), (16, 1), (22, 0)],
        "aaabbcc",
    ),
]


@pytest.mark.parametrize(
    ("method", "quasi", "values"),
    CASES,
    ids=[f"{i}-{case[0].name}-{case[2]}" for i, case in enumerate(CASES)],
)
def test_posteriors_are_those_of_all_worlds(method, quasi, values):
    """Whichever table is published, the adversary's posterior of everybody and every value is the
    oracle's, as a fraction.
    """
    outputs = list(oracle(method, quasi, values))
    assert len(outputs) > 1
    for _, world, posterior in outputs:
        assert believed(method, quasi, world) == posterior


@pytest.mark.parametrize(
    ("values", "above", "certain"),
    [
        ("aabbcc", 40, 40),
        ("aabbcd", 36, 36),
        ("aaabbb", 0, 0),
        ("aaabbcc", 66, 17),
        ("aabbccd", 17, 17),
        ("aaabbbc", 0, 0),
    ],
)
def test_how_often_somebody_is_above_the_bound(values, above, certain):
    """Of all publications of six and of seven rows with k = l = 2 and cuts at medians, so many per
    cent leave somebody above 1/2, and so many leave somebody no other value.
    """
    quasi = in_a_row(len(values))
    worlds = sorted(set(itertools.permutations(values)))
    found = [
        attack(Mondrian(k=2, l=2, cuts="strict", cut_at="median"), quasi, world) for world in worlds
    ]
    assert round(100 * sum(one.above > 0 for one in found) / len(worlds)) == above
    assert round(100 * sum(one.certain > 0 for one in found) / len(worlds)) == certain
    assert all(
        one.exposed == one.certain and (one.largest > one.bound) == (one.above > 0) for one in found
    )


def attack(method, quasi, world, **adversary):
    """What the adversary concludes of one publication."""
    microdata = table(quasi, world)
    return Minimality(**adversary).attack(
        [published(method, microdata)], Evidence(microdata={1: microdata})
    )


def test_the_worked_example():
    """Groups {1, 2} = {a, b} and {4, 7, 11, 16} = {a, b, c, c}: ages 11 and 16 have c, for else the
    second group had been cut.
    """
    found = attack(Mondrian(k=2, l=2, cuts="strict", cut_at="median"), in_a_row(6), "abbacc")
    assert (found.groups, found.cuts, found.unused) == (2, 2, 0)
    assert (found.above, found.certain, found.exposed, found.largest) == (2, 2, 2, 1)
    assert found.per_person["guess"].to_list()[4:] == ["c", "c"]
    assert (
        found.success == pytest.approx(2 / 3)
        and found.by_share == pytest.approx(1 / 2)
        and found.above_success == 1
    )
    assert found.to_json()["largest"] == "1"


TWINS = {
    "goes by the shares": lambda patch: patch.setattr(minimality.Replay, "_count", lambda *_: None),
    "leaves out the cut before the median": lambda patch: patch.setattr(
        replaying, "_tried", lambda *a, tried=replaying._tried: itertools.islice(tried(*a), 1)
    ),
    "lets a value have a row more": lambda patch: patch.setattr(
        Requirement, "most", lambda self, size, most=Requirement.most: most(self, size) + 1
    ),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_replay_is_seen(twin, monkeypatch):
    """An adversary that replays anything else than the method differs from the oracle, or
    contradicts the files.
    """
    TWINS[twin](monkeypatch)
    differs = 0
    for method, quasi, values in (CASES[0], CASES[2]):
        for _, world, posterior in oracle(method, quasi, values):
            try:
                differs += believed(method, quasi, world) != posterior
            except ReleaseError:
                differs += 1
    assert differs


@pytest.mark.parametrize("effort", [1, 10, 1000])
def test_less_effort_finds_what_fewer_cuts_tell(effort):
    """With less effort fewer cuts are used, those left out are counted, and nobody is taken for
    certain wrongly.
    """
    rng = np.random.default_rng(3)
    quasi = [(int(a), int(b)) for a, b in rng.integers(0, 40, (60, 2))]
    values = rng.choice(list("aaaabbbccd"), 60)
    everything, some = (
        attack(Mondrian(k=2, l=2, cuts="strict"), quasi, values, effort=e)
        for e in (EVERYTHING, effort)
    )
    assert some.cuts == everything.cuts and some.unused >= everything.unused
    assert (some.unused > everything.unused) == (effort < 1000)
    assert some.certain == some.exposed <= everything.certain
    assert some.persons == 60


@pytest.mark.parametrize("seed", range(5))
def test_it_is_right_as_often_as_it_believes(seed):
    """Over many tables its most probable value is right as often as it is probable, as a posterior
    is (five standard deviations).
    """
    rng = np.random.default_rng(seed)
    believed_to_be, right, spread = 0.0, 0.0, 0.0
    for _ in range(20):
        quasi = [(int(a), int(b)) for a, b in rng.integers(0, 30, (30, 2))]
        found = attack(
            Mondrian(k=2, l=2, cuts="strict"),
            quasi,
            rng.permutation(list("aaaaaaaaabbbbbbbbccccccddddeef")),
        )
        p = found.per_person["probability"].to_numpy()
        believed_to_be, right, spread = (
            believed_to_be + p.sum(),
            right + found.success * 30,
            spread + (p * (1 - p)).sum(),
        )
    assert abs(right - believed_to_be) <= 5 * np.sqrt(spread)


def test_nothing_is_found_where_cuts_do_not_look():
    """Groups that quasi-identifiers alone decide leave everybody with the shares of their group."""
    rng = np.random.default_rng(4)
    quasi = [(int(a), int(b)) for a, b in rng.integers(0, 40, (80, 2))]
    found = attack(Mondrian(k=4), quasi, rng.choice(list("aaabbc"), 80))
    assert (found.cuts, found.above, found.unused) == (0, 0, 0)
    assert found.success == pytest.approx(found.by_share)
    assert (
        found.note
        == "the method asks nothing of the sensitive values, so that its cuts tell nothing about"
        " them"
    )


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (Mondrian(k=2, l=2, cuts="relaxed"), "relaxed cuts"),
        (Anatomy(l=2), "'anatomy'"),
        (
            Slicing(l=2, columns=[["q0"], ["ill"]], grouping="random", bucket_size=3),
            "grouping = 'random'",
        ),
        (Slicing(l=2, columns=[["q0"], ["ill"]], generalize_columns_k=2), "generalize_columns_k"),
        (Mondrian(k=2, keep_cuts=True), "does not replay a method with keep_cuts"),
        (Mondrian(k=2, l=2, min_width={"q0": 12}, cuts="strict"), "into several"),
    ],
)
def test_what_cannot_be_replayed_is_refused(method, says):
    """A method, or an option of one, that the adversary cannot replay is refused in a sentence."""
    with pytest.raises(ReleaseError, match=says):
        attack(method, in_a_row(8), "aabbccdd")


def test_groups_of_another_table_are_refused():
    """Where the groups are none that the method makes of the table, this is said and nothing is
    concluded.
    """
    release = published(Mondrian(k=2), table(in_a_row(8), "aabbccdd"))
    others = table([(1,), (1,), (1,), (2,), (11,), (16,), (22,), (29,)], "aabbccdd")
    with pytest.raises(ReleaseError, match="the table that was published"):
        Minimality().attack([release], Evidence(microdata={1: others}))
    lied = Release(
        release.manifest.model_copy(
            update={"method": Mondrian(k=4, l=2, cuts="strict").parameters()}
        ),
        release.form,
        release.path,
    )
    with pytest.raises(ReleaseError, match="the table that was published"):
        Minimality().attack([lied], Evidence(microdata={1: table(in_a_row(8), "aabbccdd")}))


@pytest.mark.parametrize(
    "method",
    [
        Mondrian(k=2, l=2, cuts="strict"),
        Slicing(l=2, columns=[["q0", "q1"], ["ill"]], compact=True),
    ],
)
def test_a_release_folder_is_read_as_it_was_published(method, tmp_path):
    """From the folder and the original table, as the command line has them, it finds what it finds
    from the draft, all of it in JSON.
    """
    rng = np.random.default_rng(5)
    quasi = [(int(a), int(b)) for a, b in rng.integers(0, 30, (60, 2))]
    values = rng.permutation(list("aabbc" * 12)).tolist()
    frame = pl.DataFrame({"q0": [a for a, _ in quasi], "q1": [b for _, b in quasi], "ill": values})
    schema = Schema(quasi=["q0", "q1"], sensitive="ill")
    release = Series(
        "folder",
        schema=schema,
        method=method,
        to=tmp_path / "out",
        ledger=f"sqlite:///{tmp_path}/l.db",
        report=False,
        seed=1,
    ).publish(frame)
    read = Release.read(release.path)
    evidence, _ = gather_evidence([read], ledger=None, originals=[frame], persons=False)
    found = Minimality().attack([read], evidence).to_json()
    assert found == attack(method, quasi, values).to_json()
    assert found["above"] > 0 and found["interval"][0] <= found["success"] <= found["interval"][1]
    assert 0 <= found["unused"] <= found["cuts"]


@pytest.mark.parametrize("seed", [7, 9])
def test_equal_costs_are_told_apart_as_the_method_does(seed):
    """In small nodes with many attributes the costs of many cuts are equal, but for the last bit:
    what the method published is among the worlds.
    """
    rng = np.random.default_rng(seed)
    quasi, values = rng.integers(0, 6, (200, 40)).tolist(), rng.choice(list("abcdefgh"), 200)
    names = [f"q{i}" for i in range(40)]
    microdata = Microdata.encode(
        pl.DataFrame(quasi, schema=names, orient="row").with_columns(ill=pl.Series(values)),
        Schema(quasi=names, sensitive="ill", types=dict.fromkeys(names, "numeric")),
    )
    release = published(Mondrian(k=2, l=2, cuts="strict"), microdata)
    found = Minimality().attack(release, Evidence(microdata={1: microdata}))

    assert found.certain == found.exposed


def of_many(attributes):
    """A hundred persons with so many quasi-identifiers."""
    rng = np.random.default_rng(attributes)
    names = [f"q{i}" for i in range(attributes)]
    return Microdata.encode(
        pl.DataFrame(
            rng.integers(0, 9, (100, attributes)), schema=names, orient="row"
        ).with_columns(ill=pl.Series(rng.choice(list("abcd"), 100))),
        Schema(quasi=names, sensitive="ill", types=dict.fromkeys(names, "numeric")),
    )


@pytest.mark.parametrize("cut_at", ["median", "least-width"])
def test_cuts_of_too_many_attributes_are_not_compared(cut_at, monkeypatch):
    """All attributes stand beside each one, so that the work grows with the square of their number:
    it has a budget, which is said before anything is compared. Cuts at medians need none.
    """
    microdata = of_many(30)
    release = published(Mondrian(k=10, cuts="strict", cut_at=cut_at), microdata)
    evidence = Evidence(microdata={1: microdata})
    steps = 2 * 100 * 30**2 * 4  # more than 10 * 2**3 and less than 10 * 2**4 persons
    monkeypatch.setattr(replaying, "_MOST_WORK", steps)
    assert Minimality().attack(release, evidence).persons == 100
    monkeypatch.setattr(replaying, "_MOST_WORK", steps // 2)
    monkeypatch.setattr(replaying, "_narrowest", None)
    if cut_at == "median":
        assert Minimality().attack(release, evidence).persons == 100
    else:
        with pytest.raises(
            ReleaseError, match=r"cuts of 30 quasi-identifiers .* the posterior one"
        ):
            Minimality().attack(release, evidence)


def test_attributes_are_looked_at_together():
    """Beside each attribute all others, at once: twice as many take twice as many lines."""

    def gone_through(attributes):
        microdata = of_many(attributes)
        release = published(Mondrian(k=50, cuts="strict"), microdata)
        replay = Replay.of(release, microdata, 4)
        node = np.arange(len(replay.persons.codes))
        return lines(lambda: replaying._narrowest(replay.persons, node, 50, 100))

    assert gone_through(120) < 2.6 * gone_through(60)


@pytest.mark.parametrize(
    "said",
    [
        *({"k": wrong} for wrong in (None, 0, "x", True, float("inf"))),
        *({"l": wrong} for wrong in (None, 0, -1, "1/0", float("nan"))),
        *({"diversity": wrong} for wrong in (None, "x", [], {})),
    ],
)
def test_what_a_manifest_says_wrongly_is_no_fault_of_ours(said):
    """A stranger's manifest may say anything of its method."""
    with pytest.raises(PhalanxError, match=r"must be|which is none"):
        Requirement.of({"name": "slicing", "l": 2, **said}, None)
