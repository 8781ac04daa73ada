"""``phalanx attack``: what an adversary could learn from a series."""

from math import inf
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.output import JSON, show_json, show_table, show_text

if TYPE_CHECKING:
    from phalanx.adversaries import Adversary, Attack
    from phalanx.adversaries.disclosure import Disclosed
    from phalanx.adversaries.extremes import Proven
    from phalanx.adversaries.membership import Ranked
    from phalanx.adversaries.posterior import Inferred

_LINKING = ("linkage", "informed", "omniscient")
_ADVERSARIES = ("intersection", "intersection-by-person", "history", "posterior", "posterior-learning", "membership", "extremes", *_LINKING)
_BY_LEDGER = ("intersection-by-person", "history")
_BOUNDED = ("history", "posterior", "posterior-learning")
_OF_ONE_RELEASE = ("posterior", "posterior-learning", "membership", "extremes", *_LINKING)


def attack(
    releases: Annotated[list[str], typer.Argument(help="The release folders of one series.")],
    original: Annotated[list[str] | None, typer.Option(help="The original table of each release, in their order; repeat it. history needs none.")] = None,
    identifier: Annotated[
        str | None, typer.Option(help="The identifier column of the original tables. Not needed for one release alone without a ledger.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger's URL or SQLite file; the worst case needs its person-to-group mapping.")] = None,
    adversary: Annotated[
        str,
        typer.Option(
            help="intersection (knows quasi-identifiers), intersection-by-person (worst case: knows everybody's group), "
            "history (knows everybody's group; how likely somebody was ever linked to a value), "
            "posterior (of one release, knows quasi-identifiers; how probable each value of everybody is), "
            "posterior-learning (the same, and learns from the release which values go with which quasi-identifiers), "
            "membership (of one sliced release; tells original tuples from fake ones), "
            "extremes (of one release with boxes; who must be in it, by the ends of boxes), "
            "linkage (of one release; matches its records by quasi-identifiers), "
            "informed (of one perturbed release; takes the nearest row that may be the person's) "
            "or omniscient (the same, and knows the groups and with which probability everybody published which values)."
        ),
    ] = "intersection",
    bound: Annotated[
        str | None, typer.Option(help="history, posterior: count the persons who are linked to a value with more than this; 1/2 if not given.")
    ] = None,
    value: Annotated[list[str] | None, typer.Option(help="history: look for this sensitive value; repeat it. All values if not given.")] = None,
    p_match: Annotated[str | None, typer.Option(help="linkage: use each quasi-identifier with this probability; 1 if not given.")] = None,
    sample: Annotated[int | None, typer.Option(help="linkage, informed, omniscient: attack so many persons, drawn at random.")] = None,
    json: bool = JSON,
) -> None:
    """Attack a series as an adversary would, and count the persons exposed.

    JSON keys: adversary, knows, persons, exposed, success, baseline, candidates, note; of history also bound, above, largest, probabilities; of
    posterior also interval, drawing, drawing_interval, bound, above, above_success, largest; of membership also fakes, drawn, by_number, by_degree,
    fake_candidates; of extremes also groups, proving, extremes, alone, largest; of linkage, informed and omniscient also identity, identity_interval,
    identity_baseline, attribute, attribute_interval, attribute_baseline, sample; of linkage p_match; of omniscient named, named_interval, largest,
    largest_identity, approximate.
    """
    from phalanx.checking import gather_evidence, read_releases
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import ReleaseError

    alone = adversary in _OF_ONE_RELEASE
    _check_question(adversary, releases, original, identifier, ledger, bound, value)
    attacker = _named(adversary, bound, value, p_match, sample)
    read = read_releases(releases)
    at = None if ledger is None else ledger_url(ledger)
    evidence, _ = gather_evidence(read, ledger=at, originals=original or [], identifier=identifier, persons=not alone)
    found = attacker.attack(sorted(read, key=lambda release: release.number), evidence)
    if not found.persons:
        hint = "check that it is the table that was published" if alone else "check --identifier, and give the originals in the order of the releases"
        raise ReleaseError(f"nobody of the original table{'' if alone else 's'} is in the release{'' if alone else 's'}; {hint}.")
    if json:
        show_json(found.to_json())
    else:
        _show(found)


def _check_question(
    adversary: str,
    releases: list[str],
    original: list[str] | None,
    identifier: str | None,
    ledger: str | None,
    bound: str | None,
    value: list[str] | None,
) -> None:
    """PlanError or ReleaseError where an adversary is asked for what it does not do, or not told what it must know."""
    from phalanx.errors import PlanError, ReleaseError, did_you_mean

    if adversary not in _ADVERSARIES:
        raise PlanError(f"--adversary {adversary!r} is not known{did_you_mean(adversary, _ADVERSARIES) or '; known are ' + ', '.join(_ADVERSARIES) + '.'}")
    if adversary in _BY_LEDGER and ledger is None:
        raise ReleaseError("the worst case needs to know everybody's group, which only the ledger knows; name it with --ledger.")
    if adversary in _OF_ONE_RELEASE:
        if len(releases) > 1:
            raise PlanError(f"{adversary} looks at one release at a time, and {len(releases)} are given; name one of them.")
        if not original:
            raise PlanError(f"{adversary} knows the original table; name it with --original.")
    elif adversary != "history" and (not original or identifier is None):
        raise PlanError(f"{adversary} knows the original tables; name one for each release with --original, and --identifier.")
    if bound is not None and adversary not in _BOUNDED:
        raise PlanError("--bound is about the history and the posterior adversaries; name one of them with --adversary, or leave it out.")
    if value and adversary != "history":
        raise PlanError("--value is about the history adversary; add --adversary history, or leave it out.")


def _named(adversary: str, bound: str | None, value: list[str] | None, p_match: str | None, sample: int | None) -> "Adversary":
    from phalanx.adversaries import Extremes, History, Informed, Intersection, Linkage, Membership, Omniscient, Posterior
    from phalanx.errors import PlanError

    if p_match is not None and adversary != "linkage":
        raise PlanError("--p-match is about the linkage adversary; add --adversary linkage, or leave it out.")
    if sample is not None and adversary not in _LINKING:
        raise PlanError(f"--sample is about the adversaries {', '.join(_LINKING)}; name one of them with --adversary, or leave it out.")
    if adversary == "linkage":
        return Linkage(p_match=p_match or 1, sample=sample)
    if adversary in _LINKING:
        return Informed(sample=sample) if adversary == "informed" else Omniscient(sample=sample)
    if adversary == "history":
        return History(bound=bound or "1/2", values=value or [])
    if adversary in ("posterior", "posterior-learning"):
        return Posterior(by="law" if adversary == "posterior" else "learning", bound=bound or "1/2")
    if adversary in ("membership", "extremes"):
        return Membership() if adversary == "membership" else Extremes()
    return Intersection(view="box" if adversary == "intersection" else "person")


def _show(found: "Attack") -> None:
    from phalanx.adversaries.disclosure import Disclosed
    from phalanx.adversaries.extremes import Proven
    from phalanx.adversaries.history import Linked
    from phalanx.adversaries.membership import Ranked
    from phalanx.adversaries.posterior import Inferred

    show_text(f"{found.adversary} knows {found.knows}")
    if isinstance(found, Linked):
        show_table(
            "",
            ["persons", f"linked with more than {found.bound}", "surely linked", "largest probability"],
            [[found.persons, found.above, found.exposed, f"{float(found.largest):.6g}"]],
            right=range(4),
        )
        show_table("", ["linked with up to", "persons"], sorted(found.probabilities.items()), right=(0, 1))
    elif isinstance(found, Inferred):
        _show_inferred(found)
    elif isinstance(found, Ranked):
        _show_ranked(found)
    elif isinstance(found, Proven):
        _show_proven(found)
    elif isinstance(found, Disclosed):
        _show_disclosed(found)
    else:
        show_table(
            "",
            ["persons", "exposed", "success", "without the release"],
            [[found.persons, found.exposed, _share(found.success), _share(found.baseline)]],
            right=range(4),
        )
        show_table("", ["candidates left", "persons"], sorted(found.histogram.items()), right=(0, 1))
    if found.note:
        show_text(found.note)


def _show_inferred(found: "Inferred") -> None:
    rows = [
        ["names the most probable value", _share(found.success), _interval(found.interval)],
        ["draws a value by its probability", _share(found.drawing), _interval(found.drawing_interval)],
        ["names the most frequent value, without the release", _share(found.baseline), ""],
    ]
    show_table("", ["what it does", "right", "95 % interval"], rows, right=(1,))
    show_table(
        "",
        ["persons", f"a value above {found.bound}", "of these right", "certain, and right", "largest probability"],
        [[found.persons, found.above, _share(found.above_success, "nobody"), found.exposed, f"{found.largest:.6g}"]],
        right=range(5),
    )
    show_table("", ["values possible", "persons"], sorted(found.histogram.items()), right=(0, 1))


def _show_ranked(found: "Ranked") -> None:
    ways = [("the number of matching buckets", found.by_number), ("the matching degree", found.by_degree)]
    rows = [[way, f"{area.area:.3f}", f"{area.low:.3f} to {area.high:.3f}"] for way, area in ways]
    show_table("", ["candidates ranked by", "area under the ROC curve", "95 % interval"], rows, right=(1,))
    header = ["original tuples", "fake tuples", "certainly in the table"]
    show_table("", header, [[found.persons, f"{'about ' if found.drawn else ''}{found.fakes:.0f}", found.exposed]], right=range(3))
    bins = [("1 to 10", 0, 10), ("11 to 20", 10, 20), ("more than 20", 20, inf)]
    counts = [[sum(n for number, n in of.items() if above < number <= upto) for of in (found.histogram, found.of_fakes)] for _, above, upto in bins]
    show_table("", ["matching buckets", "original", "fake"], [[bins[i][0], f"{a:.0f}", f"{b:.0f}"] for i, (a, b) in enumerate(counts)], right=(1, 2))


def _show_proven(found: "Proven") -> None:
    header = ["persons", "certainly in the table", "groups", "with such an end", "largest share of a value"]
    largest = "none" if found.largest is None else _share(found.largest)
    show_table("", header, [[found.persons, found.exposed, found.groups, found.proving, largest]], right=range(5))
    if found.extremes:
        rows = [[e.attribute, e.end, e.value, e.group, e.rows, e.sensitive or "", _share(e.share, "")] for e in found.extremes]
        show_table("", ["one person's alone", "", "is exactly", "in group", "of rows", "most frequent value", "its share"], rows, right=(2, 3, 4, 6))
    bins = [("1", 0, 1), ("2 to 5", 1, 5), ("6 to 10", 5, 10), ("more than 10", 10, inf), ("no end can be theirs", -1, 0)]
    counts = [[name, sum(n for left, n in found.histogram.items() if above < left <= upto)] for name, above, upto in bins]
    show_table("", ["who can have set an end beside them", "persons"], [row for row in counts if row[1]], right=(1,))


def _show_disclosed(found: "Disclosed") -> None:
    from phalanx.adversaries.linkage import P_MATCH, Matched
    from phalanx.adversaries.omniscient import Inverted

    rows = [["the person's own record", _share(found.identity), _interval(found.identity_interval), _tiny(found.identity_baseline)]]
    if isinstance(found, Inverted):
        rows.append(["the same, if it takes the most probable one", _share(found.named), _interval(found.named_interval), ""])
    if found.attribute is not None and found.attribute_interval is not None and found.attribute_baseline is not None:
        rows.append(["a record with the person's value", _share(found.attribute), _interval(found.attribute_interval), _tiny(found.attribute_baseline)])
    show_table("", ["what it picks", "how often", "95 % interval", "by picking any"], rows, right=(1, 3))
    if isinstance(found, Matched):
        others = [found.at(p) for p in P_MATCH]
        rows = [[f"{float(other.p_match):.1f}", _share(other.identity), _share(other.attribute, "")] for other in others]
        show_table("", ["if it uses each value with", "own record", "person's value"], rows, right=range(3))
    show_table("", ["persons", "linked to their own record alone"], [[found.persons, found.exposed]], right=(0, 1))
    bins = [("0", -1, 0), ("1", 0, 1), ("2 to 5", 1, 5), ("6 to 10", 5, 10), ("11 to 100", 10, 100), ("more than 100", 100, inf)]
    counts = [[name, sum(n for left, n in found.histogram.items() if above < left <= upto)] for name, above, upto in bins]
    show_table("", ["records left", "persons"], [row for row in counts if row[1]], right=(1,))


def _tiny(share: float) -> str:
    return f"{100 * share:.2g}%"


def _share(share: float | None, without: str = "unknown") -> str:
    return without if share is None else f"{share:.1%}"


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.1%} to {ends[1]:.1%}"
