"""Mappings for Hypothesis: every operator, in every order that is valid."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

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
)
from penstock.schema import NodePath, Place, SchemaTree

NEW_NAMES = st.builds(Name, st.sampled_from(["", "", "urn:new"]), st.sampled_from("nopqr"))
"""Names that occur in no schema of these tests."""

PATH_NAMES = st.builds(Name, st.sampled_from(["", "", "urn:new"]), st.sampled_from("stuv"))
"""Further names, so that inserted elements are unique."""

KINDS: tuple[type[Operator], ...] = (Rename, ToElement, Insert, Upgrade, Downgrade, Exchange)


def _eligible(local: SchemaTree, kind: type[Operator]) -> list[NodePath]:
    """The nodes that an operator of this kind may apply to."""
    nodes = local.nodes()
    if kind is Rename:
        return list(nodes)
    if kind is ToElement:
        return [path for path, node in nodes.items() if node.attributes]
    inner = [path for path, node in nodes.items() if node.children]
    if kind is Downgrade:
        return [path for path in inner if len(nodes[path].children) > 1]
    # After an Exchange even a leaf has a child.
    return [(), *inner, *nodes] if kind is Insert else [*inner, *inner, *nodes]


@st.composite
def _operators(
    draw: st.DrawFn,
    local: SchemaTree,
    kinds: Sequence[type[Operator]],
    other_names: st.SearchStrategy[Name],
) -> Operator:
    """An operator that is probably valid."""
    new_names = NEW_NAMES | other_names
    new_paths = st.lists(PATH_NAMES | other_names, min_size=1, max_size=2).map(tuple)
    kind = draw(st.sampled_from([kind for kind in kinds if _eligible(local, kind)]))
    node = draw(st.sampled_from(_eligible(local, kind)))
    attributes = [place.attribute for place in local.places() if place.path == node]
    own = [place for place in local.places() if not place.attribute and place.path[:-1] == node]
    # Mostly its own children; now and then what an Exchange or a ToElement makes a child.
    near = [place for place in local.places() if place.path[:-1] == node or place.path == node]
    above = [Place(node[:-1])] if len(node) > 1 else []
    children = st.one_of(
        st.frozensets(st.sampled_from(own or near or above), min_size=1, max_size=3),
        st.frozensets(st.sampled_from([*near, *above] or own), min_size=1, max_size=2),
    )
    if kind is Rename:
        return Rename(node, draw(new_names), draw(st.sampled_from(attributes)))
    if kind is ToElement:
        attribute = draw(st.sampled_from([each for each in attributes if each is not None]))
        return ToElement(node, attribute, draw(new_names))
    if kind is Insert:
        path = draw(new_paths)
        shared = draw(st.integers(0, len(path)))
        return Insert(node, path, draw(st.one_of(children, st.none())), shared)
    if kind is Upgrade:
        return Upgrade(node, draw(st.one_of(children, st.none())))
    if kind is Downgrade:
        # Now and then the parent, which an Exchange may have made a child: copies get children.
        target = draw(st.sampled_from([*own, *above]))
        return Downgrade(node, draw(children) - {target}, target)
    return Exchange(node, draw(st.sampled_from(own or [Place(node)])).path)


@st.composite
def mappings(
    draw: st.DrawFn,
    local: SchemaTree,
    most: int = 8,
    kinds: Sequence[type[Operator]] = KINDS,
    other_names: st.SearchStrategy[Name] | None = None,
) -> Mapping:
    """A valid mapping with a limited number of operators of these kinds.

    New names are ``other_names`` and names that no schema has.
    """
    others = st.nothing() if other_names is None else other_names
    kept: list[Operator] = []
    for operator in draw(st.lists(_operators(local, kinds, others), min_size=1, max_size=most)):
        if _is_valid(local, [*kept, operator]):
            kept.append(operator)
    return Mapping(local, tuple(kept))


SHARING_PATHS = [
    tuple(Name("", letter) for letter in path)
    for path in ("s", "st", "su", "stv", "stu", "w", "ws")
]
"""Paths that begin alike."""


@st.composite
def sharing_mappings(draw: st.DrawFn, local: SchemaTree) -> Mapping:
    """A valid mapping with Inserts that share elements, and other operators."""
    others: tuple[type[Operator], ...] = (Rename, ToElement, Downgrade, Upgrade)
    kept = list(draw(mappings(local, most=4, kinds=others)).operators)
    for node in local.nodes():
        near = [each for each in local.places() if each.path[:-1] == node or each.path == node]
        for child in draw(st.permutations(near)):
            path = draw(st.sampled_from(SHARING_PATHS))
            insert = Insert(node, path, frozenset([child]), draw(st.integers(0, len(path))))
            if draw(st.integers(0, 3)) and _is_valid(local, [*kept, insert]):
                kept.append(insert)
    return Mapping(local, tuple(kept))


def _is_valid(local: SchemaTree, operators: Sequence[Operator]) -> bool:
    try:
        Mapping(local, tuple(operators))
    except MappingError:
        return False
    return True
