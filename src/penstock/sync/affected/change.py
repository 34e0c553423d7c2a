"""Changes of a document, as the label paths of the nodes that they touch.

A search for affected subscriptions knows neither the document nor the operation: it is given the
names on the way from the root to each node that appears, disappears, or changes its name or value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from penstock.errors import error
from penstock.language.relations.path_universe import Name

LabelPath: TypeAlias = tuple[Name, ...]
"""The names of the elements from the root down."""


class TouchedNode(Enum):
    """What a change touches at an element."""

    ELEMENT = 0
    """The element itself."""
    ATTRIBUTE = 1
    """One of its attributes."""
    TEXT = 2
    """One of its texts: inserted, removed or changed."""
    TEXT_BOUNDARY = 3
    """Its texts are joined or split, because a node between them appears or disappears."""
    OTHER = 4
    """A comment or processing instruction in it, which no query selects by itself."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A node that a change touches."""

    path: LabelPath
    """The element itself, or the parent of another node."""
    node: TouchedNode = TouchedNode.ELEMENT
    attribute: Name | None = None
    """The name of an attribute."""
    below: bool = False
    """Whether unknown nodes below the element are touched too."""
    text: bool = False
    """Whether the string-values of the ancestors of the element may change, because of unknown text
    below it."""

    def __post_init__(self) -> None:
        if not self.path:
            raise error("sync.change", "the label path of a touched node is empty")
        if (self.attribute is not None) != (self.node is TouchedNode.ATTRIBUTE):
            raise error("sync.change", "an attribute, and only an attribute, is touched by name")


@dataclass(frozen=True, slots=True)
class ContentNode:
    """A node below an element."""

    path: LabelPath
    """The names from the element, exclusively, to the node or its parent."""
    node: TouchedNode = TouchedNode.ELEMENT
    attribute: Name | None = None


Content: TypeAlias = Iterable[ContentNode]
"""The nodes below an element, each label path at least once."""


@dataclass(frozen=True, slots=True)
class Change:
    """The nodes that an operation touches.

    The constructors take ``content``, the nodes below the element that the operation is about.
    Without it, everything that might be below the element counts as touched, and more subscriptions
    are found.

    Examples
    --------
    >>> shop, item = ("", "shop"), ("", "item")
    >>> Change.delete((shop, item), content=[], between_texts=False).touches
    (Touch(path=(('', 'shop'), ('', 'item')), node=<TouchedNode.ELEMENT: 0>, ...),)
    """

    touches: tuple[Touch, ...]

    def __post_init__(self) -> None:
        if not self.touches:
            raise error("sync.change", "a change touches no node")

    def __add__(self, other: Change) -> Change:
        return Change(self.touches + other.touches)

    @classmethod
    def insert(
        cls, path: LabelPath, *, content: Content | None = None, between_texts: bool = True
    ) -> Change:
        """An element appears at a path: by an insert, or as the copy of another one.

        ``between_texts`` says whether it may have a text on both sides, which it splits.
        """
        return cls((*_subtree(path, content, moves_text=True), *_boundary(path, between_texts)))

    @classmethod
    def delete(
        cls, path: LabelPath, *, content: Content | None = None, between_texts: bool = True
    ) -> Change:
        """An element disappears; ``between_texts``: the texts on both sides may join."""
        return cls.insert(path, content=content, between_texts=between_texts)

    @classmethod
    def move(
        cls,
        old: LabelPath,
        new: LabelPath,
        *,
        content: Content | None = None,
        between_texts: bool = True,
    ) -> Change:
        """An element moves from a path to another, or to another position of the same path."""
        content = None if content is None else tuple(content)
        gone = cls.delete(old, content=content, between_texts=between_texts)
        return gone + cls.insert(new, content=content, between_texts=between_texts)

    @classmethod
    def rename(cls, path: LabelPath, name: Name, *, content: Content | None = None) -> Change:
        """An element gets another name, so that all paths below it change."""
        content = None if content is None else tuple(content)
        renamed = (*path[:-1], name)
        old = _subtree(path, content, moves_text=False)
        return cls((*old, *_subtree(renamed, content, moves_text=False)))

    @classmethod
    def text(cls, parent: LabelPath) -> Change:
        """A text of an element is inserted, removed or changed."""
        return cls((Touch(parent, TouchedNode.TEXT),))

    @classmethod
    def attribute(cls, owner: LabelPath, *names: Name) -> Change:
        """Attributes are set or removed; a renamed one has two names."""
        return cls(tuple(Touch(owner, TouchedNode.ATTRIBUTE, name) for name in names))

    @classmethod
    def other(cls, parent: LabelPath, *, between_texts: bool = True) -> Change:
        """A comment or processing instruction appears, disappears or changes."""
        boundary = [Touch(parent, TouchedNode.TEXT_BOUNDARY)] if between_texts else []
        return cls((Touch(parent, TouchedNode.OTHER), *boundary))


def _subtree(path: LabelPath, content: Content | None, *, moves_text: bool) -> Iterator[Touch]:
    """Touches an element and what is below it."""
    if content is None:
        yield Touch(path, below=True, text=moves_text)
        return
    yield Touch(path)
    for each in content:
        # The texts below a renamed element stay, and so do the string-values of its ancestors.
        stays = each.node is TouchedNode.TEXT and not moves_text
        node = TouchedNode.TEXT_BOUNDARY if stays else each.node
        yield Touch(path + each.path, node, each.attribute)


def _boundary(path: LabelPath, between_texts: bool) -> Iterator[Touch]:
    if between_texts and len(path) > 1:
        yield Touch(path[:-1], TouchedNode.TEXT_BOUNDARY)
