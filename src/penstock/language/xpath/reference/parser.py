"""The reference parser, the oracle for the native one.

Recursive descent with one method per production of XPath 1.0's grammar, directly on the characters.
XPath's disambiguation of ``*``, ``and``, ``or``, ``div`` and ``mod`` (a name in operand position,
an operator after an operand) needs no tokens: each is only expected where it is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from penstock.errors import error
from penstock.language.limits import MAX_QUERY_CHARACTERS
from penstock.language.source_position import position_of
from penstock.language.xpath.ast import (
    And,
    ComparesWith,
    Count,
    Exists,
    Expr,
    HasLength,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StringTest,
)
from penstock.language.xpath.lexical import NOT_A_CHARACTER, NUMBER
from penstock.language.xpath.namespaces import check_namespaces
from penstock.language.xpath.reference.function_calls import FunctionParser
from penstock.language.xpath.reference.operands import (
    CountCall,
    DateLiteral,
    DateOf,
    LastCall,
    LengthCall,
    Nodes,
    Number,
    Operand,
    Refused,
    StringOf,
    Text,
    Truth,
    compare,
)
from penstock.language.xpath.reference.path_parser import NODE_TYPES

_EQUALITY = (("!=", Op.NE), ("=", Op.EQ))
_RELATIONAL = (("<=", Op.LE), (">=", Op.GE), ("<", Op.LT), (">", Op.GT))


def parse(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Query:
    """Parses a query; see :func:`penstock.language.parse`."""
    prefixes = check_namespaces(namespaces, default_namespace)
    try:
        return _Parser(text, prefixes, default_namespace or "").query()
    except Refused as refused:
        where = position_of(text, refused.offset)
        raise error(refused.code, refused.message, where) from None


class _Parser(FunctionParser):
    def query(self) -> Query:
        if len(self.text) > MAX_QUERY_CHARACTERS:
            message = f"more than {MAX_QUERY_CHARACTERS} characters"
            raise Refused("query.limit", message, MAX_QUERY_CHARACTERS)
        stranger = NOT_A_CHARACTER.search(self.text)
        if stranger:
            character = ord(stranger.group())
            message = f"U+{character:04X} is not allowed in XML"
            raise Refused("query.character", message, stranger.start())
        self.skip()
        if self.at == len(self.text):
            raise Refused("query.empty", "the query is empty", 0)
        operand = self.expression()
        self.skip()
        if self.at < len(self.text):
            self.unexpected()
        if not isinstance(operand.value, Nodes):
            raise Refused("query.not-nodes", "the query does not select nodes", operand.start)
        return Query(operand.value.paths)

    # Expressions, loosest binding first.

    def expression(self) -> Operand:
        return self._joined("or", self._and, Or)

    def _and(self) -> Operand:
        return self._joined("and", self._equality, And)

    def _joined(self, word: str, part: Callable[[], Operand], join: type[And | Or]) -> Operand:
        first = part()
        if not self.take_word(word):
            return first
        items = [self.condition_of(first), self.condition_of(part())]
        while self.take_word(word):
            items.append(self.condition_of(part()))
        return Operand(Truth(join(tuple(items))), first.start)

    def _equality(self) -> Operand:
        return self._compared(_EQUALITY, self._relational)

    def _relational(self) -> Operand:
        return self._compared(_RELATIONAL, self._arithmetic)

    def _compared(
        self, operators: tuple[tuple[str, Op], ...], part: Callable[[], Operand]
    ) -> Operand:
        left = part()
        while True:
            self.skip()
            at = self.at
            op = next((op for sign, op in operators if self.take(sign)), None)
            if op is None:
                return left
            right = part()
            expr = compare(left, op, right, at)
            self.count_conditions(left.start)
            left = Operand(Truth(expr), left.start)

    def _arithmetic(self) -> Operand:
        operand = self._signed()
        self.skip()
        at = self.at
        for operator in ("+", "-", "*"):
            if self.take(operator):
                self._no_arithmetic(operator, at)
        for operator in ("div", "mod"):
            if self.take_word(operator):
                self._no_arithmetic(operator, at)
        return operand

    def _signed(self) -> Operand:
        self.skip()
        start = self.at
        negative = False
        while self.take("-"):
            negative = not negative
            self.skip()
        signed = self.at > start
        operand = self._union()
        if not signed:
            return operand
        if not isinstance(operand.value, Number):
            self._no_arithmetic("-", start)
        value = -operand.value.value if negative else operand.value.value
        return Operand(Number(value or 0.0), start)  # -0 is 0

    def _no_arithmetic(self, operator: str, at: int) -> NoReturn:
        raise Refused("query.arithmetic", f"arithmetic (`{operator}`) is not supported", at)

    def _union(self) -> Operand:
        first = self._primary()
        self.skip()
        if not self.next_is("|"):
            return first
        paths = list(self._paths_of(first))
        while self.take("|"):
            paths += self._paths_of(self._primary())
            self.skip()
        return Operand(Nodes(tuple(paths)), first.start)

    def _paths_of(self, operand: Operand) -> tuple[Path, ...]:
        if not isinstance(operand.value, Nodes):
            raise Refused("query.syntax", "only paths can be joined by `|`", operand.start)
        return operand.value.paths

    def _primary(self) -> Operand:
        self.skip()
        start = self.at
        if self.next_is("("):
            operand = self._parenthesised()
        elif self.next_is("'", '"'):
            operand = Operand(Text(self._literal()), start)
        elif number := NUMBER.match(self.text, self.at):
            self.at = number.end()
            operand = Operand(Number(float(number.group())), start)
        elif self.next_is("$"):
            raise Refused("query.variable", "variables are not supported", start)
        elif (called := self.name_before("(")) and called not in NODE_TYPES:
            operand = Operand(self.call(called), start)
        else:
            return Operand(Nodes((self.path(),)), start)
        self.skip()
        if self.next_is("[", "/"):
            raise Refused("query.filter", "predicates and steps are not supported here", self.at)
        return operand

    def _parenthesised(self) -> Operand:
        start = self.at
        with self.nested():
            self.at += 1
            inner = self.expression()
            self.expect(")")
        return Operand(inner.value, start)

    def _literal(self) -> str:
        end = self.text.find(self.text[self.at], self.at + 1)
        if end < 0:
            raise Refused("query.syntax", "the string is not closed", self.at)
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return value

    # Conditions.

    def condition_of(self, operand: Operand) -> Expr:
        match operand.value:
            case Truth(expr):
                return expr
            case Nodes(paths):
                self.count_conditions(operand.start, len(paths))
                items = tuple(Exists(path) for path in paths)
                return items[0] if len(items) == 1 else Or(items)
            case StringOf(path, functions):
                self.count_conditions(operand.start)
                return StringTest(path, functions, ComparesWith(Op.NE, ""))
            case LengthCall(StringOf(path, functions)):
                self.count_conditions(operand.start)
                return StringTest(path, functions, HasLength(Op.NE, 0.0))
            case CountCall(path):
                self.count_conditions(operand.start)
                return Count(path, Op.NE, 0.0)
            case DateOf() | DateLiteral():
                raise Refused("query.comparison", "a date is not a condition", operand.start)
        raise Refused(
            "query.constant", "the predicate has the same value for every node", operand.start
        )

    def predicate(self) -> Expr:
        with self.nested():
            self.at += 1
            self.predicates_open += 1
            operand = self.expression()
            self.expect("]")
            self.predicates_open -= 1
        match operand.value:
            case Number(value):
                self.count_conditions(operand.start)
                return Position(Op.EQ, value)
            case LastCall():
                self.count_conditions(operand.start)
                return PositionLast(Op.EQ)
            case CountCall() | LengthCall():
                message = "a number in a predicate would be compared with the position"
                raise Refused("query.comparison", message, operand.start)
        return self.condition_of(operand)
