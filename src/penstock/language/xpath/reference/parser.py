"""The reference parser, the oracle for the native one.

Recursive descent with one method per production of XPath 1.0's grammar, directly on the characters.
XPath's disambiguation of ``*``, ``and``, ``or``, ``div`` and ``mod`` (a name in operand position,
an operator after an operand) needs no tokens: each is only expected where it is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from penstock.errors import error
from penstock.language.limits import MAX_QUERY_CHARACTERS
from penstock.language.source_position import position_of
from penstock.language.xpath.ast import (
    And,
    Contains,
    Exists,
    Expr,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
)
from penstock.language.xpath.lexical import NOT_A_CHARACTER, NUMBER
from penstock.language.xpath.namespaces import check_namespaces
from penstock.language.xpath.reference.operands import (
    LastCall,
    Nodes,
    Number,
    Operand,
    PositionCall,
    Refused,
    Text,
    Truth,
    Value,
    compare,
)
from penstock.language.xpath.reference.path_parser import NODE_TYPES, PathParser

_FUNCTIONS: Final = ("not", "contains", "starts-with", "position", "last")
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


class _Parser(PathParser):
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
        operand = self._or()
        self.skip()
        if self.at < len(self.text):
            self.unexpected()
        if not isinstance(operand.value, Nodes):
            raise Refused("query.not-nodes", "the query does not select nodes", operand.start)
        return Query(operand.value.paths)

    # Expressions, loosest binding first.

    def _or(self) -> Operand:
        return self._joined("or", self._and, Or)

    def _and(self) -> Operand:
        return self._joined("and", self._equality, And)

    def _joined(self, word: str, part: Callable[[], Operand], join: type[And | Or]) -> Operand:
        first = part()
        if not self.take_word(word):
            return first
        items = [self._condition_of(first), self._condition_of(part())]
        while self.take_word(word):
            items.append(self._condition_of(part()))
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
            operand = Operand(self._call(called), start)
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
            inner = self._or()
            self.expect(")")
        return Operand(inner.value, start)

    def _literal(self) -> str:
        end = self.text.find(self.text[self.at], self.at + 1)
        if end < 0:
            raise Refused("query.syntax", "the string is not closed", self.at)
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return value

    # Functions.

    def _call(self, name: str) -> Value:
        start = self.at
        if name not in _FUNCTIONS:
            message = f"the function `{name}()` is not supported"
            raise Refused("query.function", message, start)
        self.at += len(name)
        self.skip()
        with self.nested():
            self.at += 1
            if name == "not":
                value: Value = Truth(Not(self._condition_of(self._or())))
            elif name == "position":
                value = PositionCall()
            elif name == "last":
                value = LastCall()
            else:
                value = Truth(self._text_test(name, start))
            self.expect(")")
        return value

    def _text_test(self, name: str, start: int) -> Contains | StartsWith:
        searched = self._or()
        self.expect(",")
        sought = self._or()
        if not isinstance(searched.value, Nodes) or len(searched.value.paths) > 1:
            message = f"the first argument of `{name}()` must be one path"
            raise Refused("query.function", message, searched.start)
        if not isinstance(sought.value, Text):
            message = f"the second argument of `{name}()` must be a string in quotes"
            raise Refused("query.function", message, sought.start)
        self.count_conditions(start)
        make = Contains if name == "contains" else StartsWith
        return make(searched.value.paths[0], sought.value.value)

    # Conditions.

    def _condition_of(self, operand: Operand) -> Expr:
        match operand.value:
            case Truth(expr):
                return expr
            case Nodes(paths):
                self.count_conditions(operand.start, len(paths))
                items = tuple(Exists(path) for path in paths)
                return items[0] if len(items) == 1 else Or(items)
        raise Refused(
            "query.constant", "the predicate has the same value for every node", operand.start
        )

    def predicate(self) -> Expr:
        with self.nested():
            self.at += 1
            self.predicates_open += 1
            operand = self._or()
            self.expect("]")
            self.predicates_open -= 1
        match operand.value:
            case Number(value):
                self.count_conditions(operand.start)
                return Position(Op.EQ, value)
            case LastCall():
                self.count_conditions(operand.start)
                return PositionLast(Op.EQ)
        return self._condition_of(operand)
