"""Mappings: files, order of operators, refusals with positions, blocking operators."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from penstock.documents import Name
from penstock.errors import MappingError
from penstock.mediation import (
    Downgrade,
    Exchange,
    Insert,
    Mapping,
    Operator,
    Rename,
    ToElement,
    Upgrade,
    limits,
)
from penstock.mediation.schema_transformation import transform
from penstock.schema import (
    NodePath,
    Place,
    SchemaAttribute,
    SchemaNode,
    SchemaTree,
    read_tree,
)
from support.fixtures.university import MAPPING
from support.strategies.mappings import mappings
from support.strategies.schemas import schema_trees

TREE = read_tree("""penstock schema 1
a
  @x
  @y
  b text
    @z
    c
    d
  e
    f
""")


def path(text: str) -> NodePath:
    return tuple(Name("", step) for step in text.split("/")[1:])


def places(*texts: str) -> frozenset[Place]:
    return frozenset(Place(path(text)) for text in texts)


A, B, E = path("/a"), path("/a/b"), path("/a/e")
N = Name("", "n")


def test_a_file_is_read_and_printed() -> None:
    text = MAPPING.read_text("utf-8")
    assert Mapping.from_text(text).to_text() == text


EVERY_FORM = """\
penstock mapping 1
namespace n1 urn:new

=> insert n1:top/middle (a)
a
  @x
  @y
  => to-element @x as n1:ex
  => to-element @y
  => downgrade (@x) into e
  => insert n (/a/b/c)
  => insert n/m (@y)
  => rename n1:root
  b text
    @z
    => exchange c
    => upgrade (d)
    => rename @z zed
    c
    d
  e
    => insert+ n
    => upgrade+
    f
"""


def test_every_form_of_every_operator_is_printed_and_read() -> None:
    mapping = Mapping.from_text(EVERY_FORM)
    assert mapping.to_text() == EVERY_FORM
    assert [str(place) for place in mapping.transformed.tree.places()] == [
        "/{urn:new}top",
        "/{urn:new}top/middle",
        "/{urn:new}top/middle/{urn:new}root",
        "/{urn:new}top/middle/{urn:new}root/e",
        "/{urn:new}top/middle/{urn:new}root/n",
        "/{urn:new}top/middle/{urn:new}root/n/f",
        "/{urn:new}top/middle/{urn:new}root/n/{urn:new}ex",
        "/{urn:new}top/middle/{urn:new}root/n/c",
        "/{urn:new}top/middle/{urn:new}root/n/c/b",
        "/{urn:new}top/middle/{urn:new}root/n/c/b/@zed",
        "/{urn:new}top/middle/{urn:new}root/n/c/d",
        "/{urn:new}top/middle/{urn:new}root/n/m",
        "/{urn:new}top/middle/{urn:new}root/n/m/y",
    ]


@given(schema_trees(least=2).flatmap(mappings))
def test_printing_and_reading_round_trips(mapping: Mapping) -> None:
    again = Mapping.from_text(mapping.to_text())
    assert again == mapping
    assert again.digest == mapping.digest
    assert pickle.loads(pickle.dumps(mapping)) == mapping


def test_operators_are_brought_into_the_order_in_which_they_are_applied() -> None:
    given: tuple[Operator, ...] = (
        Rename(E, N),
        Upgrade(B, places("/a/b/d")),
        Rename(A, N),
        Insert(A, (N,), places("/a/e")),
        ToElement(A, Name("", "y"), N),
        Exchange(B, path("/a/b/c")),
        ToElement(A, Name("", "x"), N),
    )
    mapping = Mapping(TREE, given)
    assert mapping.operators == tuple(given[index] for index in (4, 6, 3, 2, 5, 1, 0))
    assert Mapping(TREE, mapping.operators) == mapping
    assert Mapping(TREE, given[:2]).digest != mapping.digest


@pytest.mark.parametrize(
    ("operator", "blocks"),
    [
        (Rename(A, N), False),
        (ToElement(A, Name("", "x"), N), False),
        (Insert(A, (N,), None), False),
        (Insert(A, (N,), places("/a/b")), True),
        (Insert(B, (N,), None), True),
        (Insert((), (N,), places("/a")), False),
        (Insert((), (N,), None), False),
        (Upgrade(E, None), False),
        (Upgrade(E, places("/a/e/f")), True),
        (Upgrade(B, None), True),
        (Downgrade(A, places("/a/b"), Place(E)), True),
        (Exchange(A, B), True),
    ],
)
def test_which_operators_block(operator: Operator, blocks: bool) -> None:
    assert Mapping(TREE, (operator,)).is_blocking(operator) is blocks


@pytest.mark.parametrize(
    ("operators", "code", "message"),
    [
        ([Rename(path("/a/q"), N)], "mapping.node", "Rename at /a/q: the local schema has no such"),
        ([Rename((), N)], "mapping.node", "only Insert can be used above the root"),
        ([Exchange((), A)], "mapping.node", "only Insert can be used above the root"),
        ([ToElement(A, N, N)], "mapping.node", "it has no attribute n"),
        ([ToElement(A, Name("", "x"), N)] * 2, "mapping.node", "it has no attribute x"),
        (
            [ToElement(A, Name("", "x"), N), Rename(A, N, Name("", "x"))],
            "mapping.node",
            "it has no attribute x",
        ),
        ([Insert(A, (N,), places("/a/b/c"))], "mapping.children", "/a/b/c is not its child"),
        ([Insert(A, (N,), frozenset())], "mapping.children", "no children to move"),
        ([Insert(path("/a/e/f"), (N,), None)], "mapping.children", "no children to move"),
        ([Insert(A, (), places("/a/b"))], "mapping.children", "no path to insert"),
        ([Insert(A, (N,), places("/a/b"), 2)], "mapping.children", "shares more than its path"),
        ([Upgrade(B, frozenset([Place(B, Name("", "z"))]))], "mapping.children", "/a/b/@z is not"),
        ([Downgrade(A, places("/a/b"), Place(B))], "mapping.children", "into itself"),
        ([Downgrade(A, places("/a/b"), Place(path("/a/b/c")))], "mapping.children", "/a/b/c is"),
        (
            [Exchange(A, path("/a/b/c"))],
            "mapping.children",
            "Exchange at /a: /a/b/c is not its child",
        ),
        (
            [Downgrade(A, places("/a/b"), Place(E)), Insert(A, (N,), places("/a/b"))],
            "mapping.children",
            "Insert at /a: /a/b is not its child when the operator is applied",
        ),
        ([Upgrade(A, places("/a/b"))], "mapping.root", "the root cannot have siblings"),
        ([Upgrade(A, None)], "mapping.root", "the root cannot have siblings"),
        (
            [Upgrade(B, places("/a/b/c")), Upgrade(B, places("/a/b/d"))],
            "mapping.repeated",
            "combine both into one Upgrade",
        ),
        (
            [Insert(A, (N,), places("/a/b")), Insert(A, (N,), places("/a/e"))],
            "mapping.repeated",
            "combine the Inserts of this path into one",
        ),
        (
            [Insert(A, (N, N), places("/a/b")), Insert(A, (N,), None)],
            "mapping.repeated",
            r"Insert\+ excludes other Inserts",
        ),
        ([Rename(A, N), Rename(A, Name("", "m"))], "mapping.repeated", "it is renamed twice"),
        (
            [Rename(A, Name("", "y"), Name("", "x"))],
            "mapping.attribute",
            "it already has an attribute y",
        ),
        ([Rename(A, Name("", "no name"))], "mapping.name", "'no name' is not a valid name"),
        ([Rename(A, Name("", "p:n"))], "mapping.name", "'p:n' is not a valid name"),
        ([Rename(A, Name("\ud800", "n"))], "mapping.name", "is not a valid name"),
        (
            [Insert(A, (N, Name("", "")), None)],
            "mapping.name",
            "Insert at /a: '' is not a valid name",
        ),
        ([ToElement(A, Name("", "x"), Name("", "1"))], "mapping.name", "'1' is not a valid name"),
        (
            [Rename(A, Name("", "xmlns"), Name("", "x"))],
            "mapping.name",
            "'xmlns' is not a valid name",
        ),
        (
            [Rename(A, Name("http://www.w3.org/2000/xmlns/", "n"))],
            "mapping.name",
            "is not a valid name",
        ),
    ],
)
def test_an_inapplicable_operator_is_refused(
    operators: list[Operator], code: str, message: str
) -> None:
    with pytest.raises(MappingError, match=message) as caught:
        Mapping(TREE, tuple(operators))
    assert caught.value.code == code


def test_a_wrapped_root_can_be_upgraded_from() -> None:
    mapping = Mapping(TREE, (Insert((), (N,), places("/a")), Upgrade(A, places("/a/b"))))
    assert [str(place) for place in mapping.transformed.tree.places()][:2] == ["/n", "/n/a"]
    assert Place(path("/n/b")) in mapping.transformed.tree.places()


def test_siblings_renamed_alike_become_one_repeated_node() -> None:
    mapping = Mapping(TREE, (Rename(B, N), Rename(E, N)))
    (node,) = mapping.transformed.tree.root.children
    assert (node.occurs.many, node.text) == (True, True)
    assert [str(child.name) for child in node.children] == ["c", "d", "f"]


HEAD = "penstock mapping 1\na\n  @x\n  b\n"


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("  => shuffle b", "expected an operator, one of rename, to-element, insert,", 6),
        ("  =>", "expected an operator", 6),
        ("  => rename", "expected the new name", 12),
        ("  => rename 7", "expected the new name", 13),
        ("  => rename b c", "unexpected 'c'", 15),
        ("  => rename @ b", "expected an attribute", 13),
        ("  => to-element x", "expected an attribute", 17),
        ("  => to-element @x as", "expected the element's name", 22),
        ("  => insert n b", "expected `\\(`", 15),
        ("  => insert n/ (b)", "expected the new path", 13),
        ("  => insert n/m (b) sharing m", "expected the beginning of the new path", 29),
        ("  => insert n (b", "expected `\\)`", 17),
        ("  => insert n ()", "expected a node", 16),
        ("  => insert n (/a/)", "expected a node", 16),
        ("  => downgrade (b) to c", "expected `into`", 20),
        ("  => exchange @x", "an attribute cannot be exchanged", 15),
        ("  => rename p:b", "expected the new name", 13),
    ],
)
def test_a_malformed_operator_is_refused_with_its_position(
    line: str, message: str, column: int
) -> None:
    with pytest.raises(MappingError, match=message) as caught:
        Mapping.from_text(f"{HEAD}{line}\n")
    assert caught.value.code == "mapping.syntax"
    assert caught.value.where is not None
    assert caught.value.where[1:] == (5, column)
    assert caught.value.where.offset == len(HEAD) + column - 1


def test_an_operator_that_cannot_be_applied_is_refused_at_its_line() -> None:
    with pytest.raises(MappingError, match="the root cannot have siblings") as caught:
        Mapping.from_text(f"{HEAD}  => upgrade (b)\n")
    assert caught.value.where is not None
    assert caught.value.where[1:] == (5, 3)
    assert "Wrap the root first" in caught.value.hint


def test_a_schema_file_is_not_a_mapping() -> None:
    with pytest.raises(MappingError, match="`penstock mapping 1`"):
        Mapping.from_text("penstock schema 1\na\n")


@pytest.mark.parametrize("uri", [r'"\ud800"', r'"\u0000"', "http://www.w3.org/2000/xmlns/"])
def test_an_invalid_namespace_is_refused(uri: str) -> None:
    with pytest.raises(MappingError, match="expected `namespace PREFIX URI`") as caught:
        Mapping.from_text(f"penstock mapping 1\nnamespace p {uri}\n\np:a\n")
    assert caught.value.code == "mapping.syntax"


LEVELS = [f"n{number}" for number in range(limits.TRANSFORMED_DEPTH_MAX)]


def test_a_long_inserted_path_is_refused_at_its_line() -> None:
    # `a` and `c` are levels too.
    path = "/".join(LEVELS[:-2])
    text = "penstock mapping 1\n\na\n  => insert {} (c)\n  c* text\n"
    deepest = Mapping.from_text(text.format(path))
    assert max(len(place.path) for place in deepest.transformed.tree.places()) == len(LEVELS)
    for longer in (f"{path}/n", "/".join(["n"] * 600)):
        with pytest.raises(MappingError, match="more than 200 levels") as caught:
            Mapping.from_text(text.format(longer))
        assert caught.value.code == "mapping.levels"
    assert caught.value.where is not None
    assert caught.value.where[1:] == (4, 3)


def test_operators_that_deepen_the_schema_together_are_refused() -> None:
    lines = [f"{'  ' * depth}{name}" for depth, name in enumerate(LEVELS)]
    assert Mapping.from_text("\n".join(["penstock mapping 1", *lines, ""]))
    with pytest.raises(MappingError, match="more than 200 levels") as caught:
        Mapping.from_text("\n".join(["penstock mapping 1", "=> insert top (n0)", *lines, ""]))
    assert caught.value.code == "mapping.levels"


class CountedName(Name):
    """A name that counts its comparisons."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return tuple(self) == other

    __hash__ = Name.__hash__


def comparisons(attributes: int) -> int:
    """Count the name comparisons of renaming attributes in a chain and converting them to
    elements."""

    def names() -> list[Name]:
        return [CountedName("", f"x{number}") for number in range(attributes + 1)]

    schema = SchemaNode(Name("", "a"), attributes=tuple(map(SchemaAttribute, names()[:-1])))
    renames = [Rename(A, new, old) for old, new in zip(names(), names()[1:], strict=False)]
    made = [ToElement(A, old, new) for old, new in zip(names(), names()[:-1], strict=False)]
    CountedName.compared = 0
    for operators in (renames, made):
        transform(SchemaTree(schema), operators)
    return CountedName.compared


def test_comparisons_grow_linearly_with_the_attributes_of_a_node() -> None:
    assert 0 < comparisons(800) < 3 * comparisons(400)
