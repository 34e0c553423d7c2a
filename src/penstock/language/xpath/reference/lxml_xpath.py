"""Translates queries to XPath 1.0 expressions that lxml evaluates correctly.

lxml supports neither ``*:n`` nor default namespaces, accepts only names of XML's fourth edition and
only some strings as namespaces, and its numbers differ from XPath's: it accepts ``1e3`` and rounds
``8.4013`` twice. Therefore unsupported names become ``*[local-name() = ...]``, namespaces are
escaped, literals become variables, and Penstock converts strings to numbers itself. Functions of
XPath 2.0, which lxml lacks, are extension functions.
"""

from __future__ import annotations

import math
import re
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from lxml import etree

from penstock.language.xpath.ast import (
    And,
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
    StringFunction,
    StringTest,
    Translate,
    UpperCase,
)
from penstock.language.xpath.dates import milliseconds
from penstock.language.xpath.pattern import pattern_of
from penstock.language.xpath.value_tests import compare, number

Value: TypeAlias = str | float

_EXTENSION_URI = "urn:penstock:reference"
_EXTENSION_PREFIX = "reference"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


def lxml_namespace(uri: str) -> str:
    """Escapes a namespace URI: XML allows any string, lxml does not."""
    return "urn:" + urllib.parse.quote(uri, safe="") if uri else ""


def lxml_name(uri: str, local: str) -> str:
    """An expanded name in lxml's notation."""
    return f"{{{lxml_namespace(uri)}}}{local}" if uri else local


@dataclass(slots=True)
class _Printer:
    """Prints one query, collecting prefixes and variables."""

    namespace: Callable[[str], str]
    prefixes: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Value] = field(default_factory=dict)

    def query(self, query: Query) -> str:
        return " | ".join(self.absolute(branch) for branch in query.branches)

    def absolute(self, path: Path) -> str:
        return "".join(step.axis.value + self.step(step) for step in path.steps) or "/"

    def nested(self, path: Path) -> str:
        """A path relative to a context node; the empty path is the node itself."""
        if not path.steps:
            return "."
        return "." + self.absolute(path)

    def step(self, step: Step) -> str:
        match step.kind:
            case Kind.TEXT:
                node = "text()"
            case Kind.ATTRIBUTE:
                node = "@" + self.name(step.test)
            case Kind.ELEMENT:
                node = self.name(step.test)
        return node + "".join(f"[{self.expression(each)}]" for each in step.predicates)

    def name(self, test: NameTest) -> str:
        """A name test; as a leading predicate it does not change ``position()``."""
        if test.local is not None and (test.uri is None or not _PLAIN_NAME.match(test.local)):
            local = f"[local-name() = {self.variable(test.local)}]"
            if test.uri is None:
                return f"*{local}"
            namespace = self.variable(self.namespace(test.uri))
            return f"*{local}[namespace-uri() = {namespace}]"
        if test.uri is None:
            return "*"
        if test.uri == "":
            return test.local if test.local is not None else "*[namespace-uri() = '']"
        prefix = self.prefixes.setdefault(self.namespace(test.uri), f"n{len(self.prefixes)}")
        return f"{prefix}:{test.local if test.local is not None else '*'}"

    def expression(self, expression: Expr) -> str:
        match expression:
            case And(items):
                return " and ".join(f"({self.expression(item)})" for item in items)
            case Or(items):
                return " or ".join(f"({self.expression(item)})" for item in items)
            case Not(item):
                return f"not({self.expression(item)})"
            case Exists(path):
                return self.nested(path)
            case Compare(path, op, literal):
                return self.comparison(path, op, literal)
            case Contains(path, text):
                return f"contains({self.nested(path)}, {self.variable(text)})"
            case StartsWith(path, text):
                return f"starts-with({self.nested(path)}, {self.variable(text)})"
            case StringTest():
                return self.string_test(expression)
            case Count(path, op, value):
                return f"count({self.nested(path)}) {op.value} {self.variable(value)}"
            case ComparePaths(left, op, right):
                return self.path_comparison(left, op, right)
            case Position(op, value):
                return f"position() {op.value} {self.variable(value)}"
            case PositionLast(op):
                return f"position() {op.value} last()"
            case Last(op, value):
                return f"last() {op.value} {self.variable(value)}"

    def comparison(self, path: Path, op: Op, literal: Value) -> str:
        """True if some node of the path satisfies the comparison; order comparisons are numeric."""
        if isinstance(literal, str) and op in (Op.EQ, Op.NE):
            return f"{self.nested(path)} {op.value} {self.variable(literal)}"
        value = number(literal) if isinstance(literal, str) else literal
        compared = f"{_EXTENSION_PREFIX}:number(string(.)) {op.value} {self.variable(value)}"
        return f"{self.nested(path)}[{compared}]" if path.steps else compared

    def string_test(self, test: StringTest) -> str:
        string = f"string({self.nested(test.path)})"
        for function in test.functions:
            string = self.call(function, string)
        match test.condition:
            case ComparesWith(Op.EQ | Op.NE as op, str(literal)):
                return f"{string} {op.value} {self.variable(literal)}"
            case ComparesWith(op, literal):
                value = number(literal) if isinstance(literal, str) else literal
                return f"{_EXTENSION_PREFIX}:number({string}) {op.value} {self.variable(value)}"
            case ContainsText(text):
                return f"contains({string}, {self.variable(text)})"
            case StartsWithText(text):
                return f"starts-with({string}, {self.variable(text)})"
            case EndsWithText(text):
                return f"{_EXTENSION_PREFIX}:ends-with({string}, {self.variable(text)})"
            case MatchesPattern(pattern, flags):
                arguments = f"{string}, {self.variable(pattern)}, {self.variable(flags)}"
                return f"{_EXTENSION_PREFIX}:matches({arguments})"
            case HasLength(op, value):
                return f"string-length({string}) {op.value} {self.variable(value)}"
            case IsDate(date_type, op, text):
                date = milliseconds(date_type, text)
                assert date is not None, "dates of queries are valid"
                extension = f"{_EXTENSION_PREFIX}:{date_type.name.lower()}"
                # The extension returns an empty node-set for a value that is not a date.
                return f"{extension}({string}) {op.value} {self.variable(float(date))}"

    def call(self, function: StringFunction, argument: str) -> str:
        match function:
            case NormalizeSpace():
                return f"normalize-space({argument})"
            case LowerCase():
                return f"{_EXTENSION_PREFIX}:lower-case({argument})"
            case UpperCase():
                return f"{_EXTENSION_PREFIX}:upper-case({argument})"
            case Translate(source, target):
                return f"translate({argument}, {self.variable(source)}, {self.variable(target)})"

    def path_comparison(self, left: Path, op: Op, right: Path) -> str:
        """True if some pair of nodes satisfies the comparison; order comparisons are numeric."""
        if op in (Op.EQ, Op.NE):
            return f"{self.nested(left)} {op.value} {self.nested(right)}"
        nodes = f"{self.nested(left)}, {self.nested(right)}"
        return f"{_EXTENSION_PREFIX}:compare({nodes}, {self.variable(op.value)})"

    def variable(self, value: Value) -> str:
        name = f"v{len(self.variables)}"
        self.variables[name] = value
        return f"${name}"


def _number_of_lxml(_context: object, text: str) -> float:
    return number(text)


def _numbers(nodes: Sequence[etree._Element | str]) -> list[float]:
    values = (node if isinstance(node, str) else node.xpath("string()") for node in nodes)
    return [value for value in map(number, map(str, values)) if not math.isnan(value)]


def _compare_nodes(
    _context: object,
    left: Sequence[etree._Element | str],
    right: Sequence[etree._Element | str],
    op: str,
) -> bool:
    # Some pair is in order exactly if the extremes are.
    first, second = _numbers(left), _numbers(right)
    if not first or not second:
        return False
    least, greatest = (min(first), max(second)) if op in ("<", "<=") else (max(first), min(second))
    return compare(least, Op(op), greatest)


def _milliseconds(date_type: DateType, text: str) -> float | list[object]:
    date = milliseconds(date_type, text)
    return [] if date is None else float(date)


_EXTENSIONS: Final = {
    (_EXTENSION_URI, "number"): _number_of_lxml,
    (_EXTENSION_URI, "lower-case"): lambda _, text: text.lower(),
    (_EXTENSION_URI, "upper-case"): lambda _, text: text.upper(),
    (_EXTENSION_URI, "ends-with"): lambda _, text, end: text.endswith(end),
    (_EXTENSION_URI, "matches"): lambda _, text, pattern, flags: pattern_of(pattern, flags).matches(
        text
    ),
    (_EXTENSION_URI, "date"): lambda _, text: _milliseconds(DateType.DATE, text),
    (_EXTENSION_URI, "date_time"): lambda _, text: _milliseconds(DateType.DATE_TIME, text),
    (_EXTENSION_URI, "compare"): _compare_nodes,
}


def compile_query(
    query: Query, namespace: Callable[[str], str] = lxml_namespace
) -> Callable[[etree._ElementTree], list[object]]:
    """Compiles to a function from a tree to the selected nodes, in document order.

    ``namespace`` gives the form that namespaces have in the tree: escaped, unless lxml parsed it.
    """
    printer = _Printer(namespace)
    text = printer.query(query)
    namespaces = {prefix: uri for uri, prefix in printer.prefixes.items()}
    namespaces[_EXTENSION_PREFIX] = _EXTENSION_URI

    def select(tree: etree._ElementTree) -> list[object]:
        # A precompiled expression holds a lock that a fork could leave locked forever.
        evaluate = etree.XPathDocumentEvaluator(tree, namespaces=namespaces, extensions=_EXTENSIONS)
        nodes = evaluate(text, **printer.variables)
        assert isinstance(nodes, list)
        return list[object](nodes)

    return select
