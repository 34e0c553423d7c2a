"""All small documents up to a size, and an evaluator of queries by definition.

The evaluator is written from XPath 1.0's text, node by node, and is itself compared with lxml. It
supports what lxml does not: ``*:n``, and the identity of selected attributes.
"""

from __future__ import annotations

import math
import operator
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    ComparesWith,
    Contains,
    ContainsText,
    Count,
    DateType,
    EndsWithText,
    Exists,
    Expr,
    HasLength,
    IsDate,
    Kind,
    Last,
    LowerCase,
    MatchesPattern,
    NameTest,
    NormalizeSpace,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
    StartsWithText,
    Step,
    StringCondition,
    StringFunction,
    StringTest,
    Translate,
    UpperCase,
)

OPS: dict[Op, Callable[[float | str, float | str], bool]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


@dataclass(eq=False)
class TinyNode:
    """A node of a document; ``kind`` is ``None`` for the document node."""

    kind: Kind | None
    name: tuple[str, str] = ("", "")
    value: str = ""
    attributes: list[TinyNode] = field(default_factory=list)
    children: list[TinyNode] = field(default_factory=list)
    parent: TinyNode | None = None

    def string_value(self) -> str:
        if self.kind in (Kind.ATTRIBUTE, Kind.TEXT):
            return self.value
        return "".join(child.string_value() for child in self.children)

    def up(self) -> Iterator[TinyNode]:
        """The node and its ancestors."""
        node: TinyNode | None = self
        while node is not None:
            yield node
            node = node.parent

    def down(self) -> Iterator[TinyNode]:
        """The node itself and its descendants, without attributes, in document order."""
        yield self
        for child in self.children:
            yield from child.down()

    def to_xml(self) -> str:
        """The text of a document without namespaces."""
        if self.kind is None:
            return "".join(child.to_xml() for child in self.children)
        if self.kind is Kind.TEXT:
            return escape(self.value)
        attributes = "".join(f" {a.name[1]}={quoteattr(a.value)}" for a in self.attributes)
        inner = "".join(child.to_xml() for child in self.children)
        return f"<{self.name[1]}{attributes}>{inner}</{self.name[1]}>"


def from_xml(text: str) -> TinyNode:
    """The document of a text."""
    document = TinyNode(None)
    _adopt(document, etree.fromstring(text))
    return document


def _adopt(parent: TinyNode, source: etree._Element) -> None:
    node = TinyNode(Kind.ELEMENT, _split(str(source.tag)), parent=parent)
    parent.children.append(node)
    for name, value in source.attrib.items():
        node.attributes.append(TinyNode(Kind.ATTRIBUTE, _split(str(name)), str(value), parent=node))
    if source.text:
        node.children.append(TinyNode(Kind.TEXT, value=source.text, parent=node))
    for child in source:
        _adopt(node, child)
        if child.tail:
            node.children.append(TinyNode(Kind.TEXT, value=child.tail, parent=node))


def _split(tag: str) -> tuple[str, str]:
    if tag.startswith("{"):
        uri, local = tag[1:].split("}")
        return uri, local
    return "", tag


def select(query: Query, document: TinyNode) -> list[TinyNode]:
    """The nodes a query selects, each once."""
    found = dict.fromkeys(node for path in query.branches for node in walk(path, document))
    return list(found)


def matches(query: Query, document: TinyNode) -> bool:
    return bool(select(query, document))


def walk(path: Path, context: TinyNode) -> list[TinyNode]:
    """The nodes of a path; the first node is the first in document order."""
    nodes = [context]
    for step in path.steps:
        starts = nodes
        if step.axis is Axis.DESCENDANT:
            starts = list(dict.fromkeys(node for start in nodes for node in start.down()))
        nodes = list(dict.fromkeys(node for start in starts for node in _step(step, start)))
    return _document_order(nodes)


def _document_order(nodes: list[TinyNode]) -> list[TinyNode]:
    if len(nodes) < 2:
        return nodes
    *_, document = nodes[0].up()
    order: dict[TinyNode, int] = {}
    for node in document.down():
        order[node] = len(order)
        for attribute in node.attributes:
            order[attribute] = len(order)
    return sorted(nodes, key=order.__getitem__)


def _step(step: Step, context: TinyNode) -> list[TinyNode]:
    among = context.attributes if step.kind is Kind.ATTRIBUTE else context.children
    nodes = [n for n in among if n.kind is step.kind and accepts(step.test, n.name)]
    for predicate in step.predicates:
        nodes = [
            node
            for index, node in enumerate(nodes)
            if holds(predicate, node, index + 1, len(nodes))
        ]
    return nodes


def accepts(test: NameTest, name: tuple[str, str]) -> bool:
    return test.uri in (None, name[0]) and test.local in (None, name[1])


def holds(expr: Expr, node: TinyNode, position: int, last: int) -> bool:
    match expr:
        case And(items):
            return all(holds(item, node, position, last) for item in items)
        case Or(items):
            return any(holds(item, node, position, last) for item in items)
        case Not(item):
            return not holds(item, node, position, last)
        case Exists(path):
            return bool(walk(path, node))
        case Compare(path, op, literal):
            return any(_compare(each.string_value(), op, literal) for each in walk(path, node))
        case Contains(path, text):
            return text in _first(path, node)
        case StartsWith(path, text):
            return _first(path, node).startswith(text)
        case StringTest(path, functions, condition):
            return _string_holds(condition, _transformed(functions, _first(path, node)))
        case Count(path, op, value):
            return OPS[op](len(walk(path, node)), value)
        case ComparePaths(left, op, right):
            return any(
                _compare_values(one.string_value(), op, two.string_value())
                for one in walk(left, node)
                for two in walk(right, node)
            )
        case Position(op, value):
            return OPS[op](position, value)
        case PositionLast(op):
            return OPS[op](position, last)
        case Last(op, value):
            return OPS[op](last, value)
    raise AssertionError(expr)


def _transformed(functions: tuple[StringFunction, ...], text: str) -> str:
    for function in functions:
        match function:
            case NormalizeSpace():
                text = re.sub("[ \t\r\n]+", " ", text).strip(" ")
            case LowerCase():
                text = text.lower()
            case UpperCase():
                text = text.upper()
            case Translate(source, target):
                text = "".join(
                    target[source.index(each) : source.index(each) + 1] if each in source else each
                    for each in text
                )
    return text


def _string_holds(condition: StringCondition, text: str) -> bool:
    match condition:
        case ComparesWith(op, literal):
            return _compare(text, op, literal)
        case ContainsText(part):
            return part in text
        case StartsWithText(part):
            return text.startswith(part)
        case EndsWithText(part):
            return text.endswith(part)
        case MatchesPattern(pattern, flags):
            # Python's expressions are the same for the generated patterns.
            python = f"(?{flags}){pattern}" if flags else pattern
            return re.search(python.replace("$", r"\Z"), text) is not None
        case HasLength(op, value):
            return OPS[op](len(text), value)
        case IsDate(DateType.DATE, op, literal):
            left, right = _date(text), _date(literal)
            return left is not None and right is not None and OPS[op](left, right)
    raise AssertionError(condition)


def _date(text: str) -> float | None:
    """The seconds of a date, with Python's own parser."""
    date, zone = text.strip(" ")[:10], text.strip(" ")[10:].replace("Z", "+00:00") or "+00:00"
    try:
        return datetime.fromisoformat(f"{date}T00:00:00{zone}").timestamp()
    except ValueError:
        return None


def _compare_values(left: str, op: Op, right: str) -> bool:
    if op in (Op.EQ, Op.NE):
        return OPS[op](left, right)
    return OPS[op](_number(left), _number(right))


def _first(path: Path, node: TinyNode) -> str:
    nodes = walk(path, node)
    return nodes[0].string_value() if nodes else ""


def _compare(value: str, op: Op, literal: str | float) -> bool:
    if isinstance(literal, str) and op in (Op.EQ, Op.NE):
        return OPS[op](value, literal)
    return OPS[op](_number(value), _number(literal) if isinstance(literal, str) else literal)


def _number(text: str) -> float:
    # Sufficient here: the values have no exponents, signs or words that Python would accept.
    try:
        return float(text)
    except ValueError:
        return math.nan


def all_trees(nodes: int, labels: str) -> Iterator[str]:
    """All documents with exactly ``nodes`` elements."""
    for forest in _forests(nodes - 1, labels):
        for label in labels:
            yield f"<{label}>{forest}</{label}>"


def _forests(nodes: int, labels: str) -> Iterator[str]:
    if not nodes:
        yield ""
    for first in range(1, nodes + 1):
        for inner in _forests(first - 1, labels):
            for rest in _forests(nodes - first, labels):
                for label in labels:
                    yield f"<{label}>{inner}</{label}>{rest}"


def random_document(
    chance: random.Random,
    *,
    labels: str = "abc",
    attributes: str = "pq",
    values: tuple[str, ...] = ("", "x", "xy", "y", "1", "2", "10", "X Y", "2018-01-15"),
    depth: int = 4,
) -> str:
    """A document with attributes and text."""
    label = chance.choice(labels)
    written = "".join(
        f" {name}={quoteattr(chance.choice(values))}"
        for name in attributes
        if chance.random() < 0.4
    )
    inner = ""
    for _ in range(chance.randrange(4) if depth else 0):
        inner += random_document(
            chance, labels=labels, attributes=attributes, values=values, depth=depth - 1
        )
        if chance.random() < 0.2:
            inner += escape(chance.choice(values))
    if not inner and chance.random() < 0.6:
        inner = escape(chance.choice(values))
    return f"<{label}{written}>{inner}</{label}>"


def pool(seed: int, *, randoms: int = 300, nodes: int = 4) -> list[TinyNode]:
    """All small trees over two labels, and some random documents over three."""
    chance = random.Random(seed)
    texts = [text for size in range(1, nodes + 1) for text in all_trees(size, "ab")]
    texts += [random_document(chance, depth=chance.randrange(4)) for _ in range(randoms)]
    return [from_xml(text) for text in texts]
