"""Prints queries as XPath text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from penstock.errors import error
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    ComparesWith,
    Contains,
    ContainsText,
    Count,
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
from penstock.language.xpath.namespaces import (
    XML_NAMESPACE,
    XML_SCHEMA_NAMESPACE,
    check_namespaces,
)


@dataclass(frozen=True, slots=True)
class PrintedQuery:
    """The text of a query and the prefixes it uses; ``str()`` is the text."""

    text: str
    namespaces: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


def to_text(query: Query, namespaces: Mapping[str, str] | None = None) -> PrintedQuery:
    """Print a query.

    Parsing the text with the returned namespaces yields the same tree, unless the printed text
    exceeds a limit. The text is XPath 1.0 except for name tests of the form ``*:n`` and functions
    of XPath 2.0.

    Parameters
    ----------
    query
        The query to print.
    namespaces
        Preferred prefixes. Prefixes of other namespaces are generated.

    Raises
    ------
    QueryError
        ``query.unprintable`` for a tree without a textual form, such as a string with both kinds
        of quotes. The parser never creates such trees.

    Examples
    --------
    >>> from penstock.language import parse, to_text
    >>> query = parse("child::a [ 1 < @p:b ]", namespaces={"p": "urn:x"})
    >>> str(to_text(query, {"p": "urn:x"}))
    '/a[@p:b > 1]'
    >>> to_text(query)
    PrintedQuery(text='/a[@ns1:b > 1]', namespaces={'ns1': 'urn:x'})
    """
    printer = _Printer(namespaces)
    text = printer.query(query)
    return PrintedQuery(text, printer.used)


class _Printer:
    def __init__(self, namespaces: Mapping[str, str] | None) -> None:
        known = check_namespaces(namespaces, None)
        self._prefix_of = {uri: prefix for prefix, uri in reversed(known.items())}
        self._taken = set(known)
        self._xs_is_schema = known.get("xs", XML_SCHEMA_NAMESPACE) == XML_SCHEMA_NAMESPACE
        self.used: dict[str, str] = {}

    def query(self, query: Query) -> str:
        return " | ".join(self._branch(path) for path in query.branches)

    def _branch(self, path: Path) -> str:
        if not path.steps:
            raise error("query.unprintable", "no query selects the document itself")
        return "".join(step.axis.value + self._step(step) for step in path.steps)

    def _nested_path(self, path: Path) -> str:
        if not path.steps:
            return "."
        text = "".join(step.axis.value + self._step(step) for step in path.steps)
        return text.removeprefix("/") if path.steps[0].axis is Axis.CHILD else "." + text

    def _step(self, step: Step) -> str:
        match step.kind:
            case Kind.TEXT:
                selected = "text()"
            case Kind.ATTRIBUTE:
                selected = "@" + self._name_test(step.test)
            case Kind.ELEMENT:
                selected = self._name_test(step.test)
        return selected + "".join(self._predicate(predicate) for predicate in step.predicates)

    def _name_test(self, test: NameTest) -> str:
        local = test.local or "*"
        match test.uri:
            case None:
                return f"*:{local}" if test.local else "*"
            case "":
                if test.local is None:
                    raise error("query.unprintable", "no name test means any name in no namespace")
                return local
            case uri:
                return f"{self._prefix(uri)}:{local}"

    def _prefix(self, uri: str) -> str:
        prefix = self._prefix_of.get(uri)
        if prefix is None:
            prefix = self._new_prefix()
            self._prefix_of[uri] = prefix
        if uri != XML_NAMESPACE:
            self.used[prefix] = uri
        return prefix

    def _schema_prefix(self) -> str:
        """The prefix of the constructors of dates; ``xs`` needs no binding."""
        return "xs" if self._xs_is_schema else self._prefix(XML_SCHEMA_NAMESPACE)

    def _new_prefix(self) -> str:
        number = 1
        while f"ns{number}" in self._taken:
            number += 1
        self._taken.add(f"ns{number}")
        return f"ns{number}"

    def _predicate(self, expr: Expr) -> str:
        match expr:
            case Position(Op.EQ, value):
                return f"[{number_text(value)}]"
            case PositionLast(Op.EQ):
                return "[last()]"
            case _:
                return f"[{self._expr(expr)}]"

    def _expr(self, expr: Expr) -> str:
        match expr:
            case Or(items):
                return " or ".join(self._items(items, Or))
            case And(items):
                return " and ".join(self._items(items, Or, And))
            case Not(item):
                return f"not({self._expr(item)})"
            case Exists(path):
                return self._nested_path(path)
            case Compare(path, op, literal):
                return f"{self._nested_path(path)} {op.value} {_literal(literal)}"
            case Contains(path, text):
                return f"contains({self._nested_path(path)}, {quoted(text)})"
            case StartsWith(path, text):
                return f"starts-with({self._nested_path(path)}, {quoted(text)})"
            case StringTest():
                return self._string_test(expr)
            case Count(path, op, value):
                return f"count({self._nested_path(path)}) {op.value} {number_text(value)}"
            case ComparePaths(left, op, right):
                return f"{self._nested_path(left)} {op.value} {self._nested_path(right)}"
            case Position(op, value):
                return f"position() {op.value} {number_text(value)}"
            case PositionLast(op):
                return f"position() {op.value} last()"
            case Last(op, value):
                return f"last() {op.value} {number_text(value)}"

    def _string_test(self, test: StringTest) -> str:
        string = self._nested_path(test.path)
        for function in test.functions:
            string = _call(function, string)
        match test.condition:
            case ComparesWith(op, literal):
                return f"{string} {op.value} {_literal(literal)}"
            case ContainsText(text):
                return f"contains({string}, {quoted(text)})"
            case StartsWithText(text):
                return f"starts-with({string}, {quoted(text)})"
            case EndsWithText(text):
                return f"ends-with({string}, {quoted(text)})"
            case MatchesPattern(pattern, ""):
                return f"matches({string}, {quoted(pattern)})"
            case MatchesPattern(pattern, flags):
                return f"matches({string}, {quoted(pattern)}, {quoted(flags)})"
            case HasLength(op, value):
                return f"string-length({string}) {op.value} {number_text(value)}"
            case IsDate(date_type, op, text):
                constructor = date_type.value.replace("xs", self._schema_prefix(), 1)
                return f"{constructor}({string}) {op.value} {constructor}({quoted(text)})"

    def _items(self, items: Iterable[Expr], *wrapped: type[Expr]) -> list[str]:
        return [
            f"({self._expr(item)})" if isinstance(item, wrapped) else self._expr(item)
            for item in items
        ]


def _call(function: StringFunction, argument: str) -> str:
    match function:
        case NormalizeSpace():
            return f"normalize-space({argument})"
        case LowerCase():
            return f"lower-case({argument})"
        case UpperCase():
            return f"upper-case({argument})"
        case Translate(source, target):
            return f"translate({argument}, {quoted(source)}, {quoted(target)})"


def _literal(literal: str | float) -> str:
    return quoted(literal) if isinstance(literal, str) else number_text(literal)


def quoted(text: str) -> str:
    """A string literal in XPath syntax."""
    if "'" not in text:
        return f"'{text}'"
    if '"' not in text:
        return f'"{text}"'
    raise error("query.unprintable", "a string with both kinds of quotes cannot be written")


def number_text(value: float) -> str:
    """The shortest decimal that XPath parses as ``value``; XPath has no exponents.

    Infinity is printed with 310 digits, which parse to infinity.
    """
    if math.isnan(value):
        raise error("query.unprintable", "what is not a number cannot be written")
    if math.isinf(value):
        return ("-" if value < 0 else "") + "1" + "0" * 309
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0") if value else "0"
