"""A schema tree as arrays in breadth-first order, with adjacent siblings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.language.relations.path_universe import Occurs
from penstock.schema import Place, SchemaNode, SchemaTree

Indexes = npt.NDArray[np.int64]

NO_PARENT = -1


@dataclass(frozen=True, slots=True)
class Side:
    """The places of one of the two schemas; attributes are treated as children."""

    places: tuple[Place, ...]
    nodes: tuple[SchemaNode | None, ...]
    """The element at each place; ``None`` for an attribute."""
    occurs: tuple[Occurs, ...]
    parents: Indexes
    """The index of each place's parent; :data:`NO_PARENT` for the root."""
    inner: Indexes
    """The indices of places with children, ascending."""
    first_children: Indexes
    """For each of ``inner``, the index of its first child; siblings are adjacent."""
    child_counts: Indexes
    """The depth of each place."""

    @classmethod
    def of(cls, tree: SchemaTree) -> Side:
        """The arrays of a tree."""
        places = [Place((tree.root.name,))]
        nodes: list[SchemaNode | None] = [tree.root]
        occurs = [tree.root.occurs]
        parents, inner, firsts, counts = [NO_PARENT], list[int](), list[int](), list[int]()
        number = 0
        while number < len(places):
            node, path = nodes[number], places[number].path
            attributes, children = (node.attributes, node.children) if node else ((), ())
            counts.append(len(attributes) + len(children))
            if counts[-1]:
                inner.append(number)
                firsts.append(len(places))
                parents += [number] * counts[-1]
            places += [Place(path, each.name) for each in attributes]
            places += [Place((*path, child.name)) for child in children]
            nodes += [*[None] * len(attributes), *children]
            occurs += [Occurs(each.required, many=False) for each in attributes]
            occurs += [child.occurs for child in children]
            number += 1
        return cls(
            tuple(places),
            tuple(nodes),
            tuple(occurs),
            *map(_indexes, (parents, inner, firsts, counts)),
        )

    def __len__(self) -> int:
        return len(self.places)


def _indexes(numbers: Sequence[int]) -> Indexes:
    return np.array(numbers, dtype=np.int64)
