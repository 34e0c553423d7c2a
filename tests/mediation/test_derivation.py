"""Mappings derived from matchings by the paper's rules, and the limits of these rules."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import MappingError
from penstock.mediation import (
    Derivation,
    Insert,
    Mapping,
    Rename,
    SchemaMatching,
    ToElement,
    derive,
)
from penstock.schema import Place, SchemaTree, read_schema_file, read_tree
from support.fixtures.university import GLOBAL, LOCAL, MAPPING, MATCHING
from support.strategies.mappings import mappings
from support.strategies.schemas import schema_trees


def derived(local: str, target: str, *pairs: str) -> Derivation:
    trees = [read_tree(f"penstock schema 1\n{text}") for text in (local, target)]
    matching = SchemaMatching.from_text("\n".join(["penstock matching 1", *pairs]))
    return derive(trees[0], trees[1], matching)


def operators(derivation: Derivation) -> list[str]:
    """The lines of the mapping that are operators."""
    lines = derivation.mapping.to_text().splitlines()
    return [line.strip()[3:] for line in lines if line.strip().startswith("=>")]


def test_the_papers_example() -> None:
    matching = SchemaMatching.from_text(MATCHING.read_text("utf-8"))
    derivation = derive(read_schema_file(LOCAL), read_schema_file(GLOBAL), matching)
    assert derivation.mapping.to_text() == MAPPING.read_text("utf-8")
    assert derivation.unreached == ()
    assert derivation.comparison.is_same
    assert derivation.comparison.cardinality == ()
    assert derivation.mapping.transformed.remarks == (
        "/university/library/author stays in place where it has no article",
        "where /university/faculty/department/course has no instructor, what is to be moved into"
        " it stays",
    )


def test_rename_where_the_names_differ() -> None:
    found = derived("a\n  @x\n", "b\n  @y\n", "/a /b", "/a/@x /b/@y")
    assert operators(found) == ["rename b", "rename @x y"]
    assert found.comparison.is_same


def test_attributes_may_take_each_others_names() -> None:
    found = derived("a\n  @x\n  @y\n", "a\n  @x\n  @y\n", "/a /a", "/a/@x /a/@y", "/a/@y /a/@x")
    assert operators(found) == ["rename @x y", "rename @y x"]
    assert found.unreached == ()


def test_a_name_that_another_attribute_keeps_cannot_be_taken() -> None:
    found = derived("a\n  @x\n  @y\n", "a\n  @y\n", "/a /a", "/a/@x /a/@y")
    assert operators(found) == []
    assert [str(each) for each in found.unreached] == [
        "/a/@x should become /a/@y, but becomes /a/@x"
    ]


def test_an_attribute_becomes_an_element_of_another_name() -> None:
    found = derived("a\n  @x\n", "a\n  y text\n", "/a /a", "/a/@x /a/y")
    assert operators(found) == ["to-element @x as y"]


@pytest.mark.parametrize(
    ("target", "goal", "moved"),
    [
        ("r\n  a\n    b\n    n\n      x text\n", "/r/a/n/x", "insert n (@x)"),
        ("r\n  a\n    b\n      x text\n", "/r/a/b/x", "downgrade (@x) into b"),
        ("r\n  a\n    b\n  x text\n", "/r/x", "upgrade (@x)"),
    ],
)
def test_an_element_made_from_an_attribute_is_moved_like_any_child(
    target: str, goal: str, moved: str
) -> None:
    pairs = ["/r /r", "/r/a /r/a", "/r/a/b /r/a/b", f"/r/a/@x {goal}"]
    found = derived("r\n  a\n    @x\n    b\n", target, *pairs)
    assert operators(found) == ["to-element @x", moved]
    assert found.comparison.is_same


def test_inserts_with_the_same_path_are_one() -> None:
    found = derived(
        "a\n  b\n  c\n  d\n",
        "a\n  n\n    m\n      b\n      c\n  d\n",
        "/a /a",
        "/a/b /a/n/m/b",
        "/a/c /a/n/m/c",
        "/a/d /a/d",
    )
    assert operators(found) == ["insert n/m (b, c)"]


SHARED = ("/c /c", "/c/a /c/s/x/a", "/c/b /c/s/y/b")


def test_inserts_share_the_elements_that_occur_once() -> None:
    found = derived("c\n  a\n  b\n", "c\n  s?\n    x\n      a\n    y*\n      b\n", *SHARED)
    assert operators(found) == ["insert s/x (a) sharing s", "insert s/y (b) sharing s"]
    assert found.comparison.is_same
    assert (found.unreached, found.separate) == ((), ())


def test_inserts_share_as_many_levels_as_occur_once() -> None:
    local, pairs = "c\n  a\n  b\n  d\n", ("/c /c", "/c/a /c/s/t/u/a", "/c/b /c/s/t/u/v/b")
    target = "c\n  s\n    d\n    t\n      u*\n        a\n        v\n          b\n"
    found = derived(local, target, *pairs, "/c/d /c/s/d")
    assert operators(found) == [
        "insert s/t/u (a) sharing s/t",
        "insert s/t/u/v (b) sharing s/t",
        "insert s (d) sharing s",
    ]
    assert list(map(str, found.separate)) == [
        "/c gets several /c/s/t/u, one for each path below it: the global schema allows more than"
        " one"
    ]


def test_inserts_into_an_element_that_may_repeat_stay_apart_and_are_reported() -> None:
    found = derived("c\n  a\n  b\n", "c\n  s*\n    x\n      a\n    y\n      b\n", *SHARED)
    assert operators(found) == ["insert s/x (a)", "insert s/y (b)"]
    assert [str(each.repeated) for each in found.separate] == ["/c/s"]


def test_an_insert_of_all_children_is_insert_plus() -> None:
    found = derived(
        "a\n  b\n  c\n", "a\n  n\n    b\n    c\n", "/a /a", "/a/b /a/n/b", "/a/c /a/n/c"
    )
    assert operators(found) == ["insert+ n"]
    assert not found.mapping.is_blocking(found.mapping.operators[0])


def test_an_insert_above_the_root_wraps_it() -> None:
    found = derived("a\n  b\n", "n\n  a\n  b\n", "/a /n/a", "/a/b /n/b")
    assert operators(found) == ["insert n (a)", "upgrade+"]
    assert found.comparison.is_same


def test_no_insert_where_something_is_mapped_to_the_path() -> None:
    found = derived(
        "a\n  b\n  c\n", "a\n  c\n    n\n      b\n", "/a /a", "/a/b /a/c/n/b", "/a/c /a/c"
    )
    assert operators(found) == []
    assert [str(each.local) for each in found.unreached] == ["/a/b"]


def test_downgrades_into_each_other_go_inside_out() -> None:
    found = derived(
        "a\n  b\n  c\n  d\n",
        "a\n  b\n    c\n      d\n",
        "/a /a",
        "/a/b /a/b",
        "/a/c /a/b/c",
        "/a/d /a/b/c/d",
    )
    assert operators(found) == ["downgrade (d) into c", "downgrade (c) into b"]
    assert found.comparison.is_same


def test_upgrade_of_some_children_and_of_all() -> None:
    pairs = ["/a /a", "/a/b /a/b", "/a/b/c /a/c"]
    some = derived("a\n  b\n    c\n    d\n", "a\n  b\n    d\n  c\n", *pairs, "/a/b/d /a/b/d")
    assert operators(some) == ["upgrade (c)"]
    every = derived("a\n  b\n    c\n", "a\n  b\n  c\n", *pairs)
    assert operators(every) == ["upgrade+"]


def test_upgrade_out_of_a_node_that_is_mapped_to_nothing() -> None:
    found = derived("a\n  w\n    b\n", "a\n  b\n", "/a /a", "/a/w/b /a/b")
    assert operators(found) == ["upgrade+"]
    assert found.unreached == ()
    assert [str(place) for place in found.comparison.extra] == ["/a/w"]


def test_upgrade_two_levels_follows_its_sibling() -> None:
    found = derived(
        "a\n  b\n    c\n      d\n",
        "a\n  b\n  c\n  d\n",
        "/a /a",
        "/a/b /a/b",
        "/a/b/c /a/c",
        "/a/b/c/d /a/d",
    )
    assert operators(found) == ["upgrade+", "upgrade+"]
    assert found.comparison.is_same


def test_no_upgrade_next_to_an_unwrapped_root() -> None:
    # Something is mapped to the path above the root: it is not wrapped, and nothing can leave it.
    found = derived(
        "a\n  b\n    d\n  c\n",
        "n\n  m\n    a\n    c\n",
        *("/a /n/m/a", "/a/b/d /n/m", "/a/c /n/m/c"),
    )
    assert operators(found) == ["rename m"]
    assert [str(each.local) for each in found.unreached] == ["/a", "/a/b/d", "/a/c"]


@pytest.mark.parametrize(
    ("target", "place", "operator"),
    [
        ("a\n  b\n    d\n  c\n", "/a/c", "upgrade (c)"),
        ("a\n  b\n    d\n    n\n      c\n", "/a/b/n/c", "insert n (c)"),
    ],
)
def test_nodes_moved_into_a_node_are_not_moved_again(
    target: str, place: str, operator: str
) -> None:
    # All that b had of its own is moved, which is not all that it has by then.
    found = derived(
        "a\n  b\n    c\n  d\n", target, "/a /a", "/a/b /a/b", f"/a/b/c {place}", "/a/d /a/b/d"
    )
    assert operators(found) == ["downgrade (d) into b", operator]
    assert found.comparison.is_same


def test_exchanges_reverse_a_chain() -> None:
    found = derived("a\n  b\n    c\n", "c\n  b\n    a\n", "/a /c/b/a", "/a/b /c/b", "/a/b/c /c")
    assert operators(found) == ["exchange b", "exchange c"]
    assert found.comparison.is_same


def test_the_other_rules_apply_to_the_schema_after_exchanges() -> None:
    found = derived(
        "r\n  a*\n    n text\n    b+\n      t text\n",
        "r\n  b*\n    a\n      n text\n      t text\n",
        "/r /r",
        "/r/a /r/b/a",
        "/r/a/b /r/b",
        "/r/a/n /r/b/a/n",
        "/r/a/b/t /r/b/a/t",
    )
    assert operators(found) == ["exchange b", "downgrade (t) into /r/a"]
    assert found.comparison.is_same


def test_differences_beyond_the_rules_are_reported() -> None:
    found = derived(
        "a\n  b\n    c\n  d\n    e\n",
        "a\n  b\n    e\n  d\n    c\n",
        *("/a /a", "/a/b /a/b", "/a/d /a/d", "/a/b/c /a/d/c", "/a/d/e /a/b/e"),
    )
    assert [str(each) for each in found.unreached] == [
        "/a/b/c should become /a/d/c, but becomes /a/b/c",
        "/a/d/e should become /a/b/e, but becomes /a/d/e",
    ]
    assert [str(place) for place in found.comparison.missing] == ["/a/b/e", "/a/d/c"]
    assert [str(place) for place in found.comparison.extra] == ["/a/b/c", "/a/d/e"]


def test_an_element_cannot_become_an_attribute() -> None:
    found = derived("a\n  b text\n", "a\n  @b\n", "/a /a", "/a/b /a/@b")
    assert [str(each.wanted) for each in found.unreached] == ["/a/@b"]


def test_cardinalities_are_compared_too() -> None:
    found = derived("a\n  @x?\n  b*\n", "a\n  @x\n  b?\n", "/a /a", "/a/b /a/b")
    reported = [(str(place), here, there) for place, here, there in found.comparison.cardinality]
    assert reported == [("/a/@x", "?", "1"), ("/a/b", "*", "?")]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["/a /a", "/a /b"], "/a is in two pairs"),
        (["/a /a", "/a/b /a"], "/a is in two pairs"),
        (["/a/x /a"], "the local schema has no /a/x"),
        (["/a /a/@x"], "the global schema has no /a/@x"),
        (["/ /a"], "above the root"),
        (["/a"], "expected two places"),
        (["/a b"], "expected two places"),
        (["/a /p:a"], "expected two places"),
    ],
)
def test_a_matching_is_one_to_one_between_existing_nodes(pairs: list[str], message: str) -> None:
    with pytest.raises(MappingError, match=message) as caught:
        derived("a\n  b\n", "a\n", *pairs)
    assert caught.value.code == "mapping.matching"


def test_a_matching_file_begins_with_its_kind() -> None:
    with pytest.raises(MappingError, match="the first line"):
        SchemaMatching.from_text("/a /a")


def result_of(mapping: Mapping) -> tuple[SchemaTree, SchemaMatching]:
    """The schema that a mapping produces, and the matching between the two."""
    places = mapping.transformed.places
    assume(len(set(places.values())) == len(places))  # else two nodes became one
    return mapping.transformed.tree, SchemaMatching(tuple(places.items()))


def same(tree: SchemaTree) -> set[Place]:
    return set(tree.places())


@given(st.data())
def test_a_single_operator_is_always_recovered(data: st.DataObject) -> None:
    mapping = data.draw(schema_trees(least=2).flatmap(lambda tree: mappings(tree, most=1)))
    target, matching = result_of(mapping)
    found = derive(mapping.local, target, matching)
    assert found.unreached == ()
    assert same(found.mapping.transformed.tree) == same(target)


@given(st.data())
def test_renames_converted_attributes_and_groups_are_always_recovered(data: st.DataObject) -> None:
    kinds = (Rename, ToElement, Insert)
    drawn = schema_trees(least=2).flatmap(lambda tree: mappings(tree, kinds=kinds))
    mapping = data.draw(drawn)
    target, matching = result_of(mapping)
    found = derive(mapping.local, target, matching)
    assert found.unreached == ()
    assert same(found.mapping.transformed.tree) == same(target)


@given(st.data())
def test_the_derived_schema_equals_the_global_one_within_the_rules(data: st.DataObject) -> None:
    mapping = data.draw(schema_trees(least=2).flatmap(mappings))
    target, matching = result_of(mapping)
    assert SchemaMatching.from_text(matching.to_text()) == matching
    found = derive(mapping.local, target, matching)
    assert found.comparison.is_same == (found.unreached == ())
    reached = {each.local for each in found.unreached}
    for local, wanted in matching.pairs:
        assert (found.mapping.transformed.places[local] == wanted) == (local not in reached)


@given(st.data())
def test_any_matching_yields_a_mapping_and_a_correct_report(data: st.DataObject) -> None:
    mapping = data.draw(schema_trees(least=2).flatmap(mappings))
    target, whole = result_of(mapping)
    kept = data.draw(st.lists(st.sampled_from(whole.pairs), unique=True, min_size=1))
    images = [image for _, image in kept]
    # Some pairs are left out, and two change their images.
    first, second = (data.draw(st.integers(0, len(kept) - 1)) for _ in range(2))
    images[first], images[second] = images[second], images[first]
    pairs = zip((place for place, _ in kept), images, strict=True)
    matching = SchemaMatching(tuple(pairs))
    found = derive(mapping.local, target, matching)
    missed = {each.local for each in found.unreached}
    reached = {wanted for place, wanted in matching.pairs if place not in missed}
    assert reached <= same(found.mapping.transformed.tree)
    assert reached.isdisjoint(found.comparison.missing)
