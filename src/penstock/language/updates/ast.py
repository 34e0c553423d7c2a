"""The syntax tree of an update statement.

A statement is a path, which selects its targets, and a function. Prefixes are resolved: names carry
namespace URIs, and keep their prefix for the nodes that are created with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from penstock.language.xpath.ast import Op


class Axis(Enum):
    """How a step continues a path."""

    CHILD = "/"
    DESCENDANT = "//"


class Content(Enum):
    """A kind of node that a step selects by a node test."""

    TEXT = "text()"
    COMMENT = "comment()"
    INSTRUCTION = "pi()"
    SELF = "."
    PARENT = ".."


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its prefix and namespace, both empty for none."""

    prefix: str
    uri: str
    local: str

    def __str__(self) -> str:
        return f"{self.prefix}:{self.local}" if self.prefix else self.local


@dataclass(frozen=True, slots=True)
class AnyChild:
    """``*``: elements and text; ``@*``: attributes."""


Test: TypeAlias = Name | AnyChild | Content
"""What a step selects."""


@dataclass(frozen=True, slots=True)
class Index:
    """``[n]``: the node with this number, from 0; ``[-1]`` is the last."""

    number: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """``path op literal``: whether some node of the path compares so. The empty path is ``.``."""

    path: UpdatePath
    op: Op
    literal: str | float


@dataclass(frozen=True, slots=True)
class Exists:
    """``path``: whether it selects a node."""

    path: UpdatePath


@dataclass(frozen=True, slots=True)
class Contains:
    """``contains(path, text)`` or ``starts-with(path, text)`` on the first node of the path."""

    path: UpdatePath
    text: str
    at_start: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """``a and b``"""

    items: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``a or b``"""

    items: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """``not(a)``"""

    item: Condition


Condition: TypeAlias = Comparison | Exists | Contains | AllOf | AnyOf | Negation
Filter: TypeAlias = Index | Condition


@dataclass(frozen=True, slots=True)
class NodeStep:
    """A step to nodes. Filters count the nodes that it selects from one context node."""

    axis: Axis
    test: Test
    is_attribute: bool = False
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A step to what a path in parentheses selects.

    Filters count the nodes that it selects from all context nodes together, in document order:
    ``//(a/b)[0]`` is a single node.
    """

    axis: Axis
    path: UpdatePath
    filters: tuple[Filter, ...] = ()


Step: TypeAlias = NodeStep | Group


@dataclass(frozen=True, slots=True)
class UpdatePath:
    """Steps from the document node, or from a context node."""

    steps: tuple[Step, ...]
    is_absolute: bool = False


@dataclass(frozen=True, slots=True)
class PlainPath:
    """What ``insert`` creates: elements within one another, then a text or an attribute."""

    elements: tuple[Name, ...] = ()
    attribute: Name | None = None
    value: str | None = None


class Function(Enum):
    """What a statement does with its targets."""

    INSERT = "insert"
    INSERT_BEFORE = "insertBefore"
    INSERT_AFTER = "insertAfter"
    DELETE = "delete"
    COPY = "copy"
    COPY_BEFORE = "copyBefore"
    COPY_AFTER = "copyAfter"
    MOVE = "move"
    MOVE_BEFORE = "moveBefore"
    MOVE_AFTER = "moveAfter"
    UPDATE = "update"

    @property
    def takes_plain_path(self) -> bool:
        """Whether the argument is what to insert."""
        return self in (Function.INSERT, Function.INSERT_BEFORE, Function.INSERT_AFTER)

    @property
    def takes_path(self) -> bool:
        """Whether the argument is a path to the sources."""
        return self.value.startswith(("copy", "move"))

    @property
    def is_beside(self) -> bool:
        """Whether the target becomes a sibling of the result, not its parent."""
        return self.value.endswith(("Before", "After"))


@dataclass(frozen=True, slots=True)
class Statement:
    """``path!function(argument)``"""

    path: UpdatePath
    function: Function
    argument: PlainPath | UpdatePath | str | None = None
