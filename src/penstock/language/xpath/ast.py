"""The syntax tree of a query; the native core has the same types.

Prefixes are resolved: names carry namespace URIs. The context of a query is the document node, so
``a/b`` and ``/a/b`` are the same query. ``//x`` is XPath 1.0's
``/descendant-or-self::node()/child::x``; hence ``position()`` always counts the children of one
parent, and ``a//@id`` includes the attributes of ``a`` itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from penstock._native import CompiledQuery


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


class DateType(Enum):
    """A type of points in time; the value is the name of its constructor function."""

    DATE = "xs:date"
    DATE_TIME = "xs:dateTime"


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
    compiled: CompiledQuery | None = field(default=None, init=False, repr=False, compare=False)
    """The query compiled for relations, once it was needed."""

    def __reduce__(self) -> tuple[type[Query], tuple[tuple[Path, ...]]]:
        return Query, (self.branches,)


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
class NormalizeSpace:
    """``normalize-space(s)``"""


@dataclass(frozen=True, slots=True)
class LowerCase:
    """``lower-case(s)``"""


@dataclass(frozen=True, slots=True)
class UpperCase:
    """``upper-case(s)``"""


@dataclass(frozen=True, slots=True)
class Translate:
    """``translate(s, source, target)``"""

    source: str
    target: str


StringFunction: TypeAlias = NormalizeSpace | LowerCase | UpperCase | Translate
"""A function from strings to strings."""


@dataclass(frozen=True, slots=True)
class ComparesWith:
    """``s op literal``"""

    op: Op
    literal: str | float


@dataclass(frozen=True, slots=True)
class ContainsText:
    """``contains(s, text)``"""

    text: str


@dataclass(frozen=True, slots=True)
class StartsWithText:
    """``starts-with(s, text)``"""

    text: str


@dataclass(frozen=True, slots=True)
class EndsWithText:
    """``ends-with(s, text)``"""

    text: str


@dataclass(frozen=True, slots=True)
class MatchesPattern:
    """``matches(s, pattern, flags)``; the pattern is valid."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class HasLength:
    """``string-length(s) op value``"""

    op: Op
    value: float


@dataclass(frozen=True, slots=True)
class IsDate:
    """``xs:date(s) op xs:date(text)``, or the same with ``xs:dateTime``; the text is valid.

    Never true if the string is not.
    """

    date_type: DateType
    op: Op
    text: str


StringCondition: TypeAlias = (
    ComparesWith
    | ContainsText
    | StartsWithText
    | EndsWithText
    | MatchesPattern
    | HasLength
    | IsDate
)
"""A test of a string."""


@dataclass(frozen=True, slots=True)
class StringTest:
    """A test of the string-value of the path's first node, ``""`` without a node, after functions.

    The functions are in the order of application. Without a function, the condition is none of the
    first three: other expressions exist for these, and a comparison without a function would be one
    of all nodes.
    """

    path: Path
    functions: tuple[StringFunction, ...]
    condition: StringCondition


@dataclass(frozen=True, slots=True)
class Count:
    """``count(path) op value``"""

    path: Path
    op: Op
    value: float


@dataclass(frozen=True, slots=True)
class ComparePaths:
    """``left op right``, existential over the nodes of both paths."""

    left: Path
    op: Op
    right: Path


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
    And
    | Or
    | Not
    | Exists
    | Compare
    | Contains
    | StartsWith
    | StringTest
    | Count
    | ComparePaths
    | Position
    | PositionLast
    | Last
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
