"""A schema tree as a table of places, which can be extended and changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.documents import Name
from penstock.language.relations.path_universe import Occurs
from penstock.schema import Place, SchemaAttribute, SchemaNode, SchemaTree
from penstock.schema.tree import ONCE


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of one place; ``many`` is unused for attributes and roots."""

    occurs: Occurs
    text: bool
    cut: bool = False

    def widened(self, other: Facts) -> Facts:
        """Properties that allow everything either allows."""
        occurs = Occurs(
            self.occurs.required and other.occurs.required, self.occurs.many or other.occurs.many
        )
        return Facts(occurs, self.text or other.text, self.cut or other.cut)

    def optional(self) -> Facts:
        """The same properties for an optional place."""
        return Facts(Occurs(False, self.occurs.many), self.text, self.cut)


FactsOf: TypeAlias = dict[Place, Facts]
"""The properties of each place, parents before their children."""


def parent_of(place: Place) -> Place | None:
    """The parent of a place; ``None`` for a root."""
    if place.attribute is not None:
        return Place(place.path)
    return Place(place.path[:-1]) if len(place.path) > 1 else None


def above(place: Place) -> Iterator[Place]:
    """The ancestors of a place, nearest first."""
    parent = parent_of(place)
    while parent is not None:
        yield parent
        parent = parent_of(parent)


def child_of(parent: Place, name: Name, *, is_attribute: bool) -> Place:
    """A child place of an element."""
    return Place(parent.path, name) if is_attribute else Place((*parent.path, name))


def name_of(place: Place) -> Name:
    """The name of the element or attribute at a place."""
    return place.attribute or place.path[-1]


def facts_of(tree: SchemaTree) -> FactsOf:
    """Converts a tree to a table of places."""
    found: FactsOf = {}
    for path, node in tree.nodes().items():
        found[Place(path)] = Facts(node.occurs, node.text, node.cut)
        for each in node.attributes:
            found[Place(path, each.name)] = Facts(Occurs(each.required, many=False), text=True)
    return found


def tree_of(facts: Mapping[Place, Facts], cut_at: frozenset[str]) -> SchemaTree:
    """Converts a table of places to a tree; siblings follow the table's order."""
    below: dict[Place | None, list[Place]] = {}
    for place in facts:
        below.setdefault(parent_of(place), []).append(place)
    (root,) = below[None]
    elements = [root]
    for place in elements:
        elements.extend(each for each in below.get(place, ()) if each.attribute is None)
    nodes: dict[Place, SchemaNode] = {}
    for place in reversed(elements):
        inside = below.get(place, [])
        nodes[place] = SchemaNode(
            place.path[-1],
            facts[place].occurs if place is not root else ONCE,
            facts[place].text,
            tuple(
                SchemaAttribute(each.attribute, facts[each].occurs.required)
                for each in inside
                if each.attribute is not None
            ),
            tuple(nodes.pop(each) for each in inside if each.attribute is None),
            facts[place].cut,
        )
    return SchemaTree(nodes[root], cut_at)
