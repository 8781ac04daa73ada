# SPDX-License-Identifier: Apache-2.0
"""Hierarchies order the leaves, and each node means one set of leaves that lie together."""

import math
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.hierarchies import files, hierarchy
from phalanx.data.hierarchies.files import hierarchy_of, read_tree
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.errors import SchemaError

UNBALANCED = "flu;lung;organ;*\nhealthy;*\nulcer;stomach;organ;*\nasthma;lung;organ;*\n"


def span_of_nodes(table: pl.DataFrame) -> dict[str, set[tuple[int, ...]]]:
    """For each node's name, the sets of leaves that it stands for, over all levels."""
    spans: dict[str, set[tuple[int, ...]]] = {}
    for level in table.columns:
        for node in set(table[level]):
            spans.setdefault(node, set()).add(
                tuple(i for i, x in enumerate(table[level]) if x == node)
            )
    return spans


def check_is_a_tree(table: pl.DataFrame) -> None:
    """Nodes are runs of neighbouring leaves, each level is inside the next, and the last is the
    root.
    """
    for spans in span_of_nodes(table).values():
        for span in spans:
            assert span == tuple(range(span[0], span[-1] + 1))
    for lower, upper in zip(table.columns, table.columns[1:], strict=False):
        assert table.select(lower, upper).unique().height == table[lower].n_unique()
    assert set(table[table.columns[-1]]) == {"*"}


def test_unbalanced_tree_from_csv(tmp_path):
    """Lines of different length make one tree whose leaves stand in the order in which their
    branches are first named.
    """
    (tmp_path / "tree.csv").write_text(UNBALANCED, encoding="utf-8")
    tree = read_tree(tmp_path / "tree.csv")
    leaves = tree.leaves(pl.Series("d", ["asthma"]))

    assert leaves.to_list() == ["flu", "asthma", "ulcer", "healthy"]
    assert tree.ancestors(leaves).rows() == [
        ("flu", "lung", "organ", "*"),
        ("asthma", "lung", "organ", "*"),
        ("ulcer", "stomach", "organ", "*"),
        ("healthy", "healthy", "healthy", "*"),
    ]


def test_toml_and_csv_and_lists_agree(tmp_path):
    """The same tree written three ways is the same tree."""
    (tmp_path / "tree.csv").write_text(UNBALANCED, encoding="utf-8")
    (tmp_path / "tree.toml").write_text(
        'healthy = []\n[organ]\nlung = ["flu", "asthma"]\nstomach = ["ulcer"]\n', encoding="utf-8"
    )
    from_toml = read_tree(tmp_path / "tree.toml")

    assert set(from_toml.paths) == set(read_tree(tmp_path / "tree.csv").paths)
    assert (
        hierarchy_of(
            {"tree": {"healthy": [], "organ": {"lung": ["flu", "asthma"], "stomach": ["ulcer"]}}},
            tmp_path,
        )
        == from_toml
    )
    assert hierarchy_of("tree.toml", tmp_path) == from_toml
    assert set(
        hierarchy_of(
            {"tree": [line.split(";") for line in UNBALANCED.splitlines()]}, tmp_path
        ).paths
    ) == set(from_toml.paths)


def test_quoted_fields_and_filled_up_roots(tmp_path):
    """A quoted leaf may hold a semicolon; lines that other tools fill up with roots mean the same
    as short ones.
    """
    (tmp_path / "tree.csv").write_text('"a;b";*;*\nc;d;*\ne;d;*\n', encoding="utf-8")

    assert read_tree(tmp_path / "tree.csv").paths == (
        ("a;b", "a;b", "*"),
        ("c", "d", "*"),
        ("e", "d", "*"),
    )


nested = st.recursive(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=4, unique=True),
    lambda inner: st.dictionaries(
        st.text("abc", min_size=1, max_size=3), inner, min_size=1, max_size=3
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), nested, min_size=1, max_size=4))
def test_any_nested_tables_make_a_tree_or_one_sentence(tables):
    """Whatever nesting somebody writes becomes a true tree, or is refused because a name has two
    meanings.
    """
    try:
        tree = Tree.of_mapping(tables)
    except SchemaError as refused:
        if not any(word in str(refused) for word in ("twice", "under both", "two different")):
            raise
        return

    table = tree.ancestors(tree.leaves(pl.Series("x", [], dtype=pl.String)))
    check_is_a_tree(table)
    assert all(len(spans) == 1 for spans in span_of_nodes(table).values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no leaves"),
        ("flu\n", "line 1 has no parent"),
        ("flu,lung,*\n", "line 1 has no parent"),
        ("flu;lung\n", "does not end in the root"),
        ("flu;;*\n", "empty node"),
        ("flu;lung;*\nflu;nose;*\n", "names the leaf 'flu' twice"),
        ("flu;lung;a;*\nasthma;lung;b;*\n", "puts 'lung' under both 'a' and 'b'"),
        ("other;*\nflu;other;*\n", "'other' for two different"),
        ('"flu;lung;*\n', "quotes that do not pair up"),
    ],
)
def test_wrong_trees_are_refused_with_the_file(tmp_path, text, said):
    """Each way to get a tree wrong has one sentence that names file and fault."""
    (tmp_path / "tree.csv").write_text(text, encoding="utf-8")

    with pytest.raises(SchemaError, match=r"tree\.csv.*" + said):
        read_tree(tmp_path / "tree.csv")


def test_tree_files_that_cannot_be_read(tmp_path):
    """A missing file names its nearest sibling; bytes that are not UTF-8 and broken TOML are
    named.
    """
    (tmp_path / "zip.csv").write_bytes(b"a\xff;*\n")
    (tmp_path / "zip.toml").write_text("a = [", encoding="utf-8")

    with pytest.raises(SchemaError, match=r"did you mean 'zip\.csv'"):
        read_tree(tmp_path / "zips.csv")
    with pytest.raises(SchemaError, match="not UTF-8"):
        read_tree(tmp_path / "zip.csv")
    with pytest.raises(SchemaError, match=r"not TOML.*end of document"):
        read_tree(tmp_path / "zip.toml")


def test_a_file_without_an_end_is_no_hierarchy(tmp_path, monkeypatch):
    """A pipe and a device are not waited for, and of a file no more is read than a hierarchy has."""
    os.mkfifo(tmp_path / "pipe.csv")
    for endless in (tmp_path / "pipe.csv", Path("/dev/zero")):
        with pytest.raises(SchemaError, match="there is no hierarchy file"):
            read_tree(endless)
    (tmp_path / "zip.csv").write_text("12;1;*\n" * 9, encoding="utf-8")
    monkeypatch.setattr(files, "_LARGEST", 60)
    with pytest.raises(SchemaError, match="larger than any hierarchy"):
        read_tree(tmp_path / "zip.csv")


@pytest.mark.parametrize(
    "text",
    [
        '"*" = ' + "{a=" * 9_999 + '["f"]' + "}" * 9_999,
        '"*" = ' + "[" * 9_999 + '"f"' + "]" * 9_999,
        f"[{'.'.join(['a'] * 900)}]\nb = ['f']\n",
        "a = [" + "9" * 9_999 + "]",
    ],
)
def test_a_file_that_nests_too_deeply_is_refused(tmp_path, text):
    """In one sentence, and not as a fault of ours."""
    (tmp_path / "tree.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=r"tree\.toml.*(nests too deeply|more than 100 levels)"):
        read_tree(tmp_path / "tree.toml")


def test_levels_and_nodes_have_a_bound(monkeypatch):
    """Every leaf has a node on each level, so that one long line makes all others long."""
    long = ["f", *map(str, range(98)), "*"]
    assert len(Tree.of_paths([long, ["m", "*"]]).paths[1]) == 100
    with pytest.raises(SchemaError, match="2 leaves on 101 levels"):
        Tree.of_paths([["g", *long], ["m", "*"]])
    monkeypatch.setattr(hierarchy, "_MOST_NODES", 199)
    with pytest.raises(SchemaError, match="2 leaves on 100 levels"):
        Tree.of_paths([long, ["m", "*"]])


@pytest.mark.parametrize(
    "declared",
    [
        *({"prefix": wrong} for wrong in ([0, 5], [5.0, 0], [True, 0], "5")),
        *({"bands": wrong} for wrong in ([5, 12], [], [0], "5", [float("nan")])),
        *({"tree": wrong} for wrong in (5, {"a": "flu"}, {"a": [["flu"]]}, {}, ["flu"])),
        {"prefx": [5, 0]},
        {},
        5,
    ],
)
def test_wrong_declarations_are_one_sentence(tmp_path, declared):
    """A hierarchy that the plan declares wrongly is refused in a sentence."""
    with pytest.raises(SchemaError, match=r"[.?]$"):
        hierarchy_of(declared, tmp_path)


def test_strangers_are_counted_not_named():
    """A value without a place in the tree is refused by count."""
    with pytest.raises(SchemaError, match=r"1 distinct value\(s\)") as refused:
        Tree.of_paths([["flu", "*"]]).leaves(pl.Series("d", ["flu", "SECRET"]))
    assert "SECRET" not in str(refused.value)


@given(
    st.lists(st.text("0123456789", min_size=5, max_size=5), min_size=1, max_size=20, unique=True)
)
def test_prefixes_make_a_tree(codes):
    """Codes in order, shortened level by level, are a tree."""
    prefix = Prefix((5, 3, 2, 0))
    leaves = prefix.leaves(pl.Series("zip", codes))

    assert leaves.to_list() == sorted(codes)
    check_is_a_tree(prefix.ancestors(leaves))


@given(
    st.lists(
        st.one_of(st.integers(-(10**12), 10**12), st.floats(-1e6, 1e6).map(lambda x: round(x, 2))),
        min_size=1,
        max_size=20,
        unique=True,
    ),
    st.sampled_from([(5, 10, 20), (0.1, 0.3), (0.1, 0.2, 1), (1000,)]),
)
def test_bands_make_a_tree(numbers, widths):
    """Bands nest and no two of them share a name, also for widths that a float cannot hold and
    numbers of many digits.
    """
    bands = Bands(widths)
    leaves = bands.leaves(pl.Series("x", numbers, dtype=pl.Float64, strict=False).unique())
    table = bands.ancestors(leaves)

    check_is_a_tree(table)
    assert table["0"].n_unique() == len(leaves)


def test_a_broken_tree_is_noticed():
    """The check of these tests rejects a tree whose leaves are out of order, and one that splits a
    node.
    """
    with pytest.raises(AssertionError):
        check_is_a_tree(
            pl.DataFrame({"0": ["a", "b", "c"], "1": ["x", "y", "x"], "2": ["*", "*", "*"]})
        )
    with pytest.raises(AssertionError):
        check_is_a_tree(
            pl.DataFrame({"0": ["a", "b"], "1": ["x", "x"], "2": ["y", "z"], "3": ["*", "*"]})
        )


@pytest.mark.parametrize(
    "widths", [(), (0,), (-1,), (5, 7), (math.nan,), (math.inf,), (5, 10**400), (10**400,)]
)
def test_what_is_no_width_is_refused(widths):
    """Widths that do not nest, are none, or are more than any number of a table."""
    with pytest.raises(SchemaError, match="multiple of the one before"):
        Bands(widths)
