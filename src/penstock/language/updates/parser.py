"""Parses update statements.

Grammar, with white space allowed between tokens::

    statement  = path "!" function "(" argument ")"
    path       = "/" | ["/" | "//"] step { ("/" | "//") step }
    step       = ("." | ".." | "(" path ")" | ["@"] test) { "[" filter "]" }
    test       = name | "*" | "text()" | "comment()" | "pi()"
    filter     = ["-"] integer | condition
    condition  = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term       = "not(" condition ")"
               | ("contains" | "starts-with") "(" path "," string ")"
               | path [op (string | number)]
    plain path = { name "/" } (name | string | "@" name ["/" string])
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn

from penstock.errors import Where, error
from penstock.language.limits import (
    MAX_NESTING,
    MAX_PREDICATES,
    MAX_STEPS,
    UPDATE_STATEMENT_CHARACTERS_MAX,
)
from penstock.language.source_position import position_of
from penstock.language.updates.ast import (
    AllOf,
    AnyChild,
    AnyOf,
    Axis,
    Comparison,
    Condition,
    Contains,
    Content,
    Exists,
    Filter,
    Function,
    Group,
    Index,
    Name,
    Negation,
    NodeStep,
    PlainPath,
    Statement,
    Step,
    Test,
    UpdatePath,
)
from penstock.language.xpath.ast import Op
from penstock.language.xpath.lexical import NCNAME, NOT_A_CHARACTER, NUMBER, QNAME, WHITE_SPACE
from penstock.language.xpath.namespaces import check_namespaces

_OPERATORS: Final = ("!=", "<=", ">=", "=", "<", ">")
_STRING: Final = re.compile("\"([^\"]*)\"|'([^']*)'")
_INTEGER: Final = re.compile("-?[0-9]{1,9}(?![0-9.])")


def parse_statement(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> Statement:
    """Parses an update statement.

    Parameters
    ----------
    text
        A statement, such as ``/Menu/Entree[1]/Name/*!update("Onion soup")``. A relative path starts
        at the document node, like an absolute one.
    namespaces
        Namespace URIs by prefix. ``xml`` is predefined.
    default_namespace
        The namespace of element names without a prefix; defaults to none.

    Raises
    ------
    UpdateError
        The statement is malformed; ``where`` is the position.

    Examples
    --------
    >>> from penstock.language.updates import parse_statement
    >>> parse_statement("Menu/Entree[0]!delete()").function
    <Function.DELETE: 'delete'>
    """
    prefixes = check_namespaces(namespaces, default_namespace)
    return _Parser(text, prefixes, default_namespace or "").located_statement()[0]


class StatementPositions:
    """The positions of the parts of a statement in its text."""

    def __init__(
        self, text: str, statement: Statement, offsets: dict[int, int], argument: int
    ) -> None:
        self._text = text
        self._statement = statement
        """Kept, because offsets are known by the identity of parts."""
        self._offsets = offsets
        self._argument = argument

    def of(self, part: UpdatePath | Step) -> Where:
        """The position of a path or a step."""
        return position_of(self._text, self._offsets[id(part)])

    @property
    def argument(self) -> Where:
        """The position of the argument."""
        return position_of(self._text, self._argument)


def parse_located_statement(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> tuple[Statement, StatementPositions]:
    """Parses an update statement; returns the positions of its parts, too. Parameters and errors as
    for :func:`parse_statement`."""
    prefixes = check_namespaces(namespaces, default_namespace)
    return _Parser(text, prefixes, default_namespace or "").located_statement()


def parse_path(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> UpdatePath:
    """Parses the path of a statement by itself; parameters as for :func:`parse_statement`."""
    prefixes = check_namespaces(namespaces, default_namespace)
    return _Parser(text, prefixes, default_namespace or "").whole_path()


class LocatedPaths:
    """Paths with the positions of their steps."""

    def __init__(self, text: str, paths: tuple[UpdatePath, ...], offsets: dict[int, int]) -> None:
        self.paths = paths
        self._text = text
        self._offsets = offsets

    def refuse(self, part: UpdatePath | Step, message: str) -> NoReturn:
        """Refuses a path or a step as part of a subscription."""
        where = position_of(self._text, self._offsets[id(part)])
        raise error("update.subscription", message, where)


def parse_union(
    text: str,
    *,
    namespaces: Mapping[str, str] | None = None,
    default_namespace: str | None = None,
) -> LocatedPaths:
    """Parses paths separated by ``|``; parameters as for :func:`parse_statement`."""
    prefixes = check_namespaces(namespaces, default_namespace)
    return _Parser(text, prefixes, default_namespace or "").union()


class _Parser:
    """A recursive-descent parser of one statement."""

    def __init__(self, text: str, prefixes: Mapping[str, str], default_namespace: str) -> None:
        self._text = text
        self._prefixes = prefixes
        self._default_namespace = default_namespace
        self._at = 0
        self._steps = 0
        self._filters = 0
        self._nesting = 0
        self._offsets: dict[int, int] = {}
        """The offsets of paths and steps by identity; equal ones are at several places."""
        if len(text) > UPDATE_STATEMENT_CHARACTERS_MAX:
            message = f"a statement has more than {UPDATE_STATEMENT_CHARACTERS_MAX} characters"
            self._refuse("update.limit", message, UPDATE_STATEMENT_CHARACTERS_MAX)
        if invalid := NOT_A_CHARACTER.search(text):
            self._refuse("update.syntax", "a character that XML does not allow", invalid.start())

    def located_statement(self) -> tuple[Statement, StatementPositions]:
        path = self._path()
        if not self._take("!"):
            self._unexpected("`!` and a function, or the rest of the path")
        function = self._function()
        self._skip()
        start = self._at
        argument = self._argument(function)
        if not self._take(")"):
            self._unexpected("`)`")
        self._end()
        statement = Statement(path, function, argument)
        return statement, StatementPositions(self._text, statement, self._offsets, start)

    def whole_path(self) -> UpdatePath:
        path = self._path()
        self._end()
        return path

    def union(self) -> LocatedPaths:
        paths = [self._path()]
        while self._take("|"):
            paths.append(self._path())
        self._end()
        return LocatedPaths(self._text, tuple(paths), self._offsets)

    def _end(self) -> None:
        self._skip()
        if self._at < len(self._text):
            self._unexpected("the end of the statement")

    def _function(self) -> Function:
        self._skip()
        start = self._at
        name = NCNAME.match(self._text, start)
        try:
            function = Function(name.group() if name else "")
        except ValueError:
            names = ", ".join(each.value for each in Function)
            self._refuse("update.function", f"unknown function; there are {names}", start)
        assert name is not None
        self._at = name.end()
        if not self._take("("):
            self._unexpected("`(`")
        return function

    def _argument(self, function: Function) -> PlainPath | UpdatePath | str | None:
        if function is Function.DELETE:
            return None
        if function.takes_plain_path:
            return self._plain_path()
        if function.takes_path:
            return self._path()
        value = self._string()
        if value is None:
            self._refuse_argument("`update` needs a value in quotes")
        return value

    def _plain_path(self) -> PlainPath:
        elements: list[Name] = []
        while True:
            value = self._string()
            if value is not None:
                return PlainPath(tuple(elements), None, value)
            if self._take("@"):
                attribute = self._name(is_attribute=True)
                value = ""
                if self._take("/"):
                    given = self._string()
                    if given is None:
                        self._refuse_argument("the value of an attribute is in quotes")
                    value = given
                return PlainPath(tuple(elements), attribute, value)
            self._skip()
            if not QNAME.match(self._text, self._at):
                self._refuse_argument("a plain path has names and a value in quotes")
            elements.append(self._name(is_attribute=False))
            self._count_step()
            if not self._take("/"):
                return PlainPath(tuple(elements))

    def _path(self) -> UpdatePath:
        self._skip()
        start = self._at
        path = self._steps_of_path()
        self._offsets[id(path)] = start
        return path

    def _steps_of_path(self) -> UpdatePath:
        is_absolute = False
        axis = Axis.CHILD
        if self._take("//"):
            is_absolute, axis = True, Axis.DESCENDANT
        elif self._take("/"):
            is_absolute = True
            if not self._starts_step():
                return UpdatePath((), True)
        steps = [self._step(axis)]
        while True:
            if self._take("//"):
                axis = Axis.DESCENDANT
            elif self._take("/"):
                axis = Axis.CHILD
            else:
                return UpdatePath(tuple(steps), is_absolute)
            last = steps[-1]
            if isinstance(last, NodeStep) and (
                last.is_attribute
                or last.test in (Content.TEXT, Content.COMMENT, Content.INSTRUCTION)
            ):
                self._refuse("update.path", "the path continues below a leaf", self._at)
            steps.append(self._step(axis))

    def _starts_step(self) -> bool:
        self._skip()
        character = self._text[self._at : self._at + 1]
        return character in (".", "(", "@", "*") or bool(QNAME.match(self._text, self._at))

    def _step(self, axis: Axis) -> Step:
        self._count_step()
        self._skip()
        start = self._at
        step = self._step_after(axis)
        self._offsets[id(step)] = start
        return step

    def _step_after(self, axis: Axis) -> Step:
        if self._take("("):
            with_parentheses = self._nested_path()
            return Group(axis, with_parentheses, self._filter_list())
        is_attribute = self._take("@")
        test = self._test(is_attribute=is_attribute)
        return NodeStep(axis, test, is_attribute, self._filter_list())

    def _nested_path(self) -> UpdatePath:
        start = self._at
        self._enter()
        path = self._path()
        if path.is_absolute:
            self._refuse("update.path", "a path in parentheses is relative", start)
        if not self._take(")"):
            self._unexpected("`)`")
        self._nesting -= 1
        return path

    def _test(self, *, is_attribute: bool) -> Test:
        self._skip()
        if self._take("*"):
            return AnyChild()
        if not is_attribute:
            for content in (Content.PARENT, Content.SELF):
                if self._take(content.value):
                    return content
            for content in (Content.TEXT, Content.COMMENT, Content.INSTRUCTION):
                call = re.compile(re.escape(content.value[:-2]) + r"[ \t\r\n]*\([ \t\r\n]*\)")
                if found := call.match(self._text, self._at):
                    self._at = found.end()
                    return content
        return self._name(is_attribute=is_attribute)

    def _name(self, *, is_attribute: bool) -> Name:
        self._skip()
        start = self._at
        found = QNAME.match(self._text, start)
        if not found:
            self._unexpected("a name")
        self._at = found.end()
        prefix, colon, local = found.group().rpartition(":")
        if not colon:
            return Name("", "" if is_attribute else self._default_namespace, local)
        if prefix not in self._prefixes:
            self._refuse("update.prefix", f"the prefix `{prefix}` is not bound", start)
        return Name(prefix, self._prefixes[prefix], local)

    def _filter_list(self) -> tuple[Filter, ...]:
        filters: list[Filter] = []
        while self._take("["):
            self._filters += 1
            if self._filters > MAX_PREDICATES:
                self._refuse("update.limit", f"more than {MAX_PREDICATES} filters", self._at)
            self._skip()
            if number := _INTEGER.match(self._text, self._at):
                self._at = number.end()
                filters.append(Index(int(number.group())))
            else:
                filters.append(self._condition())
            if not self._take("]"):
                self._unexpected("`]`")
        return tuple(filters)

    def _condition(self) -> Condition:
        self._enter()
        items = [self._conjunction()]
        while self._take_word("or"):
            items.append(self._conjunction())
        self._nesting -= 1
        return items[0] if len(items) == 1 else AnyOf(tuple(items))

    def _conjunction(self) -> Condition:
        items = [self._term()]
        while self._take_word("and"):
            items.append(self._term())
        return items[0] if len(items) == 1 else AllOf(tuple(items))

    def _term(self) -> Condition:
        for function in ("not", "contains", "starts-with"):
            start = self._at
            if self._take_word(function):
                if self._take("("):
                    return self._call(function)
                self._at = start
        path = self._path()
        self._skip()
        operator = next((op for op in _OPERATORS if self._text.startswith(op, self._at)), None)
        if operator is None:
            return Exists(path)
        self._at += len(operator)
        literal: str | float | None = self._string()
        if literal is None:
            number = re.compile(f"-?(?:{NUMBER.pattern})").match(self._text, self._at)
            if not number:
                self._unexpected("a number, or a value in quotes")
            self._at = number.end()
            literal = float(number.group())
        return Comparison(path, Op(operator), literal)

    def _call(self, function: str) -> Condition:
        condition: Condition
        if function == "not":
            condition = Negation(self._condition())
        else:
            path = self._path()
            if not self._take(","):
                self._unexpected("`,`")
            text = self._string()
            if text is None:
                self._unexpected("a value in quotes")
            condition = Contains(path, text, function == "starts-with")
        if not self._take(")"):
            self._unexpected("`)`")
        return condition

    def _string(self) -> str | None:
        self._skip()
        found = _STRING.match(self._text, self._at)
        if not found:
            return None
        self._at = found.end()
        return found.group(1) if found.group(1) is not None else found.group(2)

    def _skip(self) -> None:
        space = WHITE_SPACE.match(self._text, self._at)
        assert space is not None
        self._at = space.end()

    def _take(self, token: str) -> bool:
        self._skip()
        if token == "/" and self._text.startswith("//", self._at):
            return False
        taken = self._text.startswith(token, self._at)
        self._at += len(token) if taken else 0
        return taken

    def _take_word(self, word: str) -> bool:
        self._skip()
        name = NCNAME.match(self._text, self._at)
        if name is None or name.group() != word:
            return False
        self._at = name.end()
        return True

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            self._refuse("update.limit", f"more than {MAX_STEPS} steps", self._at)

    def _enter(self) -> None:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            self._refuse("update.limit", f"nested deeper than {MAX_NESTING}", self._at)

    def _refuse_argument(self, message: str) -> NoReturn:
        self._skip()
        self._refuse("update.argument", message, self._at)

    def _unexpected(self, expected: str) -> NoReturn:
        self._skip()
        found = self._text[self._at : self._at + 1]
        message = f"unexpected `{found}`" if found else "unexpected end"
        self._refuse("update.syntax", f"{message}; expected {expected}", self._at)

    def _refuse(self, code: str, message: str, offset: int) -> NoReturn:
        raise error(code, message, position_of(self._text, offset))
