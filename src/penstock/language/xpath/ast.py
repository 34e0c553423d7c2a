"""The syntax tree of a query; the native core has the same types.

Prefixes are resolved: names carry namespace URIs. The context of a query is the document node, so
``a/b`` and ``/a/b`` are the same query. ``//x`` is XPath 1.0's
``/descendant-or-self::node()/child::x``; hence ``position()`` always counts the children of one
parent, and ``a//@id`` includes the attributes of ``a`` itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Axis(Enum):
    """The axis of a step."""

    CHILD = "/"
    DESCENDANT = "//"


class Kind(Enum):
    """The kind of node that a step selects."""

    ELEMENT = "element"
    ATTRIBUTE = "attribute"
    TEXT = "text"


class Op(Enum):
    """A comparison operator."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class NameTest:
    """``n``, ``p:n``, ``*``, ``p:*``, ``*:n``; ``None`` matches anything, the URI ``""`` no
    namespace."""

    uri: str | None = None
    local: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step; attribute and text steps end their path."""

    axis: Axis
    kind: Kind
    test: NameTest
    predicates: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """Steps from a context node; the empty path is ``.``."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A union of one or more paths."""

    branches: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of at least two conditions."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of at least two conditions."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """``not(item)``"""

    item: Expr


@dataclass(frozen=True, slots=True)
class Exists:
    """A nested path; true if it selects a node."""

    path: Path


@dataclass(frozen=True, slots=True)
class Compare:
    """``path op literal``, existential over the nodes of the path; the empty path is ``.``."""

    path: Path
    op: Op
    literal: str | float


@dataclass(frozen=True, slots=True)
class Contains:
    """``contains(path, text)`` on the first node's string-value, ``""`` without a node."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class StartsWith:
    """``starts-with(path, text)`` on the first node, likewise."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Position:
    """``position() op value``; ``[3]`` is ``position() = 3``."""

    op: Op
    value: float


@dataclass(frozen=True, slots=True)
class PositionLast:
    """``position() op last()``; ``[last()]`` is ``position() = last()``."""

    op: Op


@dataclass(frozen=True, slots=True)
class Last:
    """``last() op value``"""

    op: Op
    value: float


Expr: TypeAlias = (
    And | Or | Not | Exists | Compare | Contains | StartsWith | Position | PositionLast | Last
)


def is_positional(expr: Expr) -> bool:
    """Whether a predicate depends on the position of the node that it filters.

    Predicates of nested paths depend on the positions of other nodes.
    """
    match expr:
        case Position() | PositionLast() | Last():
            return True
        case And(items) | Or(items):
            return any(is_positional(item) for item in items)
        case Not(item):
            return is_positional(item)
        case _:
            return False
