"""Similarity of places by kind: content and cardinality."""

from __future__ import annotations

from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.tree_arrays import Side


class Content(Enum):
    """The content of a place."""

    VALUE = "text alone, or the value of an attribute"
    CHILDREN = "other elements"
    MIXED = "text and other elements"
    NOTHING = "neither"


CONTENT_WEIGHT: Final = 0.55
MANY_WEIGHT: Final = 0.4
REQUIRED_WEIGHT: Final = 0.05

ALIKE: Final = {
    frozenset({Content.VALUE, Content.MIXED}): 0.6,
    frozenset({Content.CHILDREN, Content.MIXED}): 0.7,
    frozenset({Content.VALUE, Content.CHILDREN}): 0.2,
    frozenset({Content.VALUE, Content.NOTHING}): 0.5,
    frozenset({Content.CHILDREN, Content.NOTHING}): 0.5,
    frozenset({Content.MIXED, Content.NOTHING}): 0.5,
}
"""Similarity of different contents; equal ones have 1."""

ATTRIBUTE_AND_ELEMENT: Final = 0.9
"""Similarity of an attribute and an element that both contain a value."""


def kind_similarities(local: Side, target: Side) -> Matrix:
    """The similarity by kind of each pair of places, from 0 to 1."""
    contents = list(Content)
    table = np.array([[_similarity(one, other) for other in contents] for one in contents])
    rows = [contents.index(content_of(local, number)) for number in range(len(local))]
    columns = [contents.index(content_of(target, number)) for number in range(len(target))]
    content: Matrix = table[np.ix_(rows, columns)]
    is_attribute = [np.array([node is None for node in side.nodes]) for side in (local, target)]
    content[np.not_equal.outer(*is_attribute)] *= ATTRIBUTE_AND_ELEMENT
    return (
        CONTENT_WEIGHT * content
        + MANY_WEIGHT
        * _same([each.many for each in local.occurs], [each.many for each in target.occurs])
        + REQUIRED_WEIGHT
        * _same([each.required for each in local.occurs], [each.required for each in target.occurs])
    )


def corresponding_kinds(local: Side, target: Side) -> npt.NDArray[np.bool_]:
    """Which pairs of places can correspond by their kinds.

    A place with a value and nothing else cannot correspond to one without text: no operator moves
    text into a child. Mixed content, and text beside attributes, can correspond to both.
    """
    sides = local, target
    contents = [[content_of(side, number) for number in range(len(side))] for side in sides]
    has_only_value = [
        np.array([each is Content.VALUE for each in found]) & (side.child_counts == 0)
        for side, found in zip(sides, contents, strict=True)
    ]
    has_no_text = [np.array([each is Content.CHILDREN for each in found]) for found in contents]
    impossible = np.logical_and.outer(has_only_value[0], has_no_text[1])
    impossible |= np.logical_and.outer(has_no_text[0], has_only_value[1])
    possible: npt.NDArray[np.bool_] = np.logical_not(impossible)
    return possible


def content_of(side: Side, number: int) -> Content:
    """The content of a place."""
    node = side.nodes[number]
    if node is None:
        return Content.VALUE
    has_children = bool(node.children) or node.cut
    if node.text:
        return Content.MIXED if has_children else Content.VALUE
    # An element with attributes is structured, like one with children.
    return Content.CHILDREN if has_children or node.attributes else Content.NOTHING


def _similarity(one: Content, other: Content) -> float:
    return 1.0 if one is other else ALIKE[frozenset({one, other})]


def _same(rows: list[bool], columns: list[bool]) -> Matrix:
    return np.equal.outer(rows, columns).astype(np.float64)
