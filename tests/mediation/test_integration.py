"""Global schemas from local ones: first by majority, then only by additions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SchemaError
from penstock.mediation import GlobalSchema, Integration, derive, extend, integrate
from penstock.schema import SchemaTree, print_tree, read_tree
from support.strategies.renamed_schemas import rewritten, worded_trees
from support.strategies.schemas import schema_trees

FEWER = max(settings().max_examples // 3, 1)
SCHEMAS = st.lists(schema_trees(), min_size=1, max_size=4)


def tree(outline: str) -> SchemaTree:
    return read_tree(f"penstock schema 1\n{outline}")


def made(*outlines: str) -> list[str]:
    schema = integrate("d", [tree(each) for each in outlines]).schema
    return print_tree(schema.tree).splitlines()[2:]


def extended(before: str, *outlines: str) -> Integration:
    return extend(GlobalSchema("d", 1, tree(before)), [tree(each) for each in outlines])


def unplaced(found: Integration) -> list[str]:
    return [str(each) for many in found.unplaced for each in many]


# By majority


def test_names_are_those_of_the_majority() -> None:
    assert made("list\n  telephone text\n", "list\n  phone text\n", "list\n  phone text\n") == [
        "list",
        "  phone text",
    ]


def test_nesting_is_that_of_the_majority() -> None:
    in_schedule = "course\n  title text\n  schedule\n    time text\n    place text\n"
    flat = "course\n  title text\n  time text\n  place text\n"
    assert made(in_schedule, flat, flat)[1:] == [
        "  title text",
        "  schedule?",
        "  time? text",
        "  place? text",
    ]
    assert made(in_schedule, in_schedule, flat)[1:] == [
        "  title text",
        "  schedule?",
        "    time text",
        "    place text",
    ]


def test_elements_with_the_same_content_are_one_concept_whatever_their_names() -> None:
    courses = [
        f"{root}\n  Course*\n    Title text\n    Units text\n    Days text\n    Room text\n"
        for root in ("asu", "wsu", "nd")
    ]
    listings = [
        f"{root}\n  course_listing*\n    title text\n    units text\n    days text\n    room text\n"
        for root in ("uwm", "wisc")
    ]
    strange = "data\n  qqq*\n    title text\n    units text\n    days text\n    room text\n"
    found = made(*courses, *listings, strange)
    assert [line for line in found if line.endswith("*")] == ["  Course*"]
    assert len(found) == 6


def test_ties_are_decided_by_the_larger_schema() -> None:
    in_schedule = "course\n  title text\n  schedule\n    time text\n"
    flat = "course\n  title text\n  time text\n"
    assert "    time text" in made(flat, in_schedule)


def test_cardinalities_are_widened() -> None:
    assert made("a\n  b text\n  c+\n    x\n  d\n", "a\n  b?\n  c\n    x\n") == [
        "a",
        "  b? text",
        "  c+",
        "    x",
        "  d?",
    ]


def test_one_element_turns_attributes_into_elements() -> None:
    assert made("a\n  @code\n", "a\n  @code\n", "a\n  code text\n") == ["a", "  code text"]
    assert made("a\n  @code\n", "a\n  @code?\n") == ["a", "  @code?"]


def test_grouping_levels_are_omitted() -> None:
    grouped = "catalogue\n  courses\n    course*\n      title text\n"
    plain = "catalogue\n  course+\n    title text\n    room text\n"
    found = integrate("d", [tree(grouped), tree(plain)])
    assert print_tree(found.schema.tree).splitlines()[2:] == [
        "catalogue",
        "  course*",
        "    title text",
        "    room? text",
    ]
    reason = "it contains only places that are matched elsewhere"
    assert unplaced(found) == [f"/catalogue/courses: {reason}"]


def test_swapped_parents_yield_a_tree() -> None:
    one = "library\n  author*\n    name text\n    article*\n      title text\n      year text\n"
    other = "library\n  article*\n    title text\n    year text\n    author*\n      name text\n"
    for schemas in ([one, other], [one, other, other], [one, one, other]):
        found = integrate("d", [tree(each) for each in schemas])
        assert len(list(found.schema.tree.places())) == 6


def test_siblings_of_one_name_get_different_names() -> None:
    # Two schemas have a name in a seller, and one a name next to it: the majority puts both there.
    one = "shop\n  name text\n  seller\n    id text\n    name text\n"
    two = "shop\n  seller\n    id text\n    title text\n"
    found = integrate("d", [tree(each) for each in (one, two, two)])
    places = [str(place) for place in found.schema.tree.places()]
    assert len(places) == len(set(places))


def test_no_local_schemas_are_refused() -> None:
    with pytest.raises(SchemaError, match="at least one local schema") as caught:
        integrate("d", [])
    assert caught.value.code == "schema.domain"


@settings(max_examples=FEWER)
@given(SCHEMAS, st.data())
def test_the_order_of_local_schemas_does_not_matter(
    schemas: list[SchemaTree], data: st.DataObject
) -> None:
    numbers = data.draw(st.permutations(range(len(schemas))))
    found = integrate("d", schemas)
    other = integrate("d", [schemas[number] for number in numbers])
    assert other.schema == found.schema
    assert [each.pairs for each in other.matchings] == [
        found.matchings[number].pairs for number in numbers
    ]


@settings(max_examples=FEWER)
@given(SCHEMAS)
def test_every_local_node_is_paired_or_reported(schemas: list[SchemaTree]) -> None:
    found = integrate("d", schemas)
    known = set(found.schema.tree.places())
    for local, matching, missing in zip(schemas, found.matchings, found.unplaced, strict=True):
        places = [pair[0] for pair in matching.pairs] + [each.place for each in missing]
        assert sorted(places, key=str) == sorted(local.places(), key=str)
        assert {pair[1] for pair in matching.pairs} <= known
        assert derive(local, found.schema.tree, matching).mapping.local == local


@given(schema_trees())
def test_a_single_schema_is_its_own_global_schema(schema: SchemaTree) -> None:
    found = integrate("d", [schema, schema])
    assert found.schema.tree == schema
    assert all(local == image for each in found.matchings for local, image in each.pairs)


@settings(max_examples=FEWER)
@given(st.data())
def test_schemas_that_differ_only_in_names_are_merged(data: st.DataObject) -> None:
    schema = data.draw(worded_trees().map(SchemaTree))
    others = [data.draw(rewritten(schema))[0] for _ in range(2)]
    found = integrate("d", [schema, *others])
    assert len(found.added) == len(list(schema.places()))
    assert unplaced(found) == []


# By additions


def test_new_nodes_are_added_below_their_parents() -> None:
    before = "catalogue\n  course+\n    title text\n"
    found = extended(
        before,
        "catalog\n  course+\n    title text\n    @ects\n    room? text\n      @floor\n",
    )
    assert found.schema.to_text().splitlines()[1:] == [
        f"domain d version 2 after {GlobalSchema('d', 1, tree(before)).digest}",
        "",
        "catalogue",
        "  course+",
        "    @ects?",
        "    title text",
        "    room? text",
        "      @floor?",
    ]
    assert [str(place) for place in found.added] == [
        "/catalogue/course/@ects",
        "/catalogue/course/room",
        "/catalogue/course/room/@floor",
    ]


def test_a_schema_without_new_nodes_keeps_the_version() -> None:
    before = "catalogue\n  course*\n    title? text\n    room? text\n"
    found = extended(before, "catalogue\n  course+\n    title text\n")
    assert found.schema == GlobalSchema("d", 1, tree(before))
    assert found.added == ()


def test_nodes_missing_from_a_new_schema_become_optional() -> None:
    found = extended("a\n  title text\n  room text\n", "a\n  title text\n")
    assert print_tree(found.schema.tree).endswith("a\n  title text\n  room? text\n")
    assert found.schema.version == 2


def test_dissimilar_roots_are_paired() -> None:
    found = extended("catalogue\n  course text\n", "xyz\n  course text\n")
    assert [str(place) for place in found.matchings[0].pairs[0]] == ["/xyz", "/catalogue"]
    assert found.matchings[0].uncertain[0] == found.matchings[0].pairs[0]


def test_nodes_that_cannot_be_placed_are_reported_with_the_reason() -> None:
    in_attribute = extended("a\n  @owner\n  b text\n", "a\n  owner text\n    xyz text\n  b text\n")
    assert unplaced(in_attribute) == [
        "/a/owner/xyz: /a/owner corresponds to an attribute, which cannot have children"
    ]
    taken = extended(
        "shop\n  catalogue\n    item text\n    price text\n",
        "list\n  shop\n    catalogue\n      item text\n      price text\n  xyz text\n",
    )
    assert unplaced(taken) == ["/list/shop: it contains only places that are matched elsewhere"]
    assert [str(place) for place in taken.added] == ["/shop/xyz"]


@settings(max_examples=FEWER)
@given(schema_trees(), st.lists(schema_trees(), max_size=3))
def test_a_global_schema_only_grows(before: SchemaTree, schemas: list[SchemaTree]) -> None:
    schema = GlobalSchema("d", 1, before)
    found = extend(schema, schemas)
    after = found.schema.tree.nodes()
    for path, node in before.nodes().items():
        assert after[path].occurs.many or not node.occurs.many
        assert node.occurs.required or not after[path].occurs.required
        assert after[path].text or not node.text
        assert {each.name for each in node.attributes} <= {
            each.name for each in after[path].attributes
        }
    new = set(found.schema.tree.places()) - set(before.places())
    assert new == set(found.added)
    assert (found.schema.version, found.schema.predecessor) in ((1, None), (2, schema.digest))


@settings(max_examples=FEWER)
@given(schema_trees(), schema_trees())
def test_integrating_a_schema_twice_adds_nothing(before: SchemaTree, schema: SchemaTree) -> None:
    once = extend(GlobalSchema("d", 1, before), [schema])
    twice = extend(once.schema, [schema])
    assert (twice.schema, twice.added) == (once.schema, ())


def test_a_schema_similar_to_its_own_additions_is_integrated_once() -> None:
    # At first `a` in `b` looks like the root; next to the new `b` it is recognised as new, too.
    before = "a\n  @x?\n  @y?\n"
    schema = "g\n  @z?\n  b text\n    @w\n    @v?\n    a* text\n      @y\n      @x\n    b* text\n"
    once = extended(before, schema)
    assert extend(once.schema, [tree(schema)]).schema == once.schema
