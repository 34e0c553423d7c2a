"""Removes method invocations from the text of a subscription.

The text comes from clients and may be hostile, so it is read token by token, each of them once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from penstock.language.limits import MAX_QUERY_CHARACTERS
from penstock.language.xpath.lexical import NCNAME, NUMBER, QNAME, WHITE_SPACE

_Span: TypeAlias = tuple[int, int]

_SPACE: Final = WHITE_SPACE.pattern
_TOKEN: Final = re.compile(
    "(?P<string>\"[^\"]*\"|'[^']*')"
    rf"|(?P<number>{NUMBER.pattern})"
    rf"|(?P<name>{QNAME.pattern})"
    rf"|(?P<method>!{_SPACE}{NCNAME.pattern}{_SPACE}\({_SPACE}\))"
    r"|(?P<operator>!=|<=|>=|=|<|>)"
    r"|(?P<other>[^ \t\r\n])"
)
_NODE_TESTS: Final = frozenset(["text", "node", "comment", "processing-instruction", "pi"])
"""Names before a parenthesis that belong to a path; others are functions."""


def without_methods(text: str) -> str:
    """A subscription without its method invocations, and what their results are compared with.

    Spaces take their place, so that positions in the text stay the same. If the result of a method
    is compared with anything but a literal, the invocation stays, and parsing refuses it. So does a
    text that is too long for a query.

    Examples
    --------
    >>> from penstock.language.updates import without_methods
    >>> without_methods("//Item/Price!max()")
    '//Item/Price'
    >>> without_methods("//Item[Price!count() > 1] | //Offer!count()")
    '//Item[Price            ] | //Offer'
    >>> without_methods("//Item[Price!max() > Offer]")
    '//Item[Price!max() > Offer]'
    """
    if "!" not in text or len(text) > MAX_QUERY_CHARACTERS:
        return text
    characters = list(text)
    for start, end in _Scan().removed(text):
        for at in range(start, end):
            if characters[at] not in " \t\r\n":
                characters[at] = " "
    return "".join(characters).rstrip(" \t\r\n")


class _Kind(Enum):
    """What an operand is so far."""

    EMPTY = auto()
    LITERAL = auto()
    PATH = auto()
    METHOD = auto()
    """A path that ends in a method invocation."""
    OTHER = auto()


@dataclass(slots=True)
class _Operand:
    """What is between operators and brackets."""

    start: int = -1
    end: int = -1
    kind: _Kind = _Kind.EMPTY
    may_end: bool = False
    """Whether the last token can be the last of an operand."""
    is_union: bool = False
    name: str = ""
    """The last token, if it is a name."""
    methods: list[_Span] = field(default_factory=list)

    def extend(self, token: _Span, *, may_end: bool, name: str = "") -> None:
        """Appends a token that belongs to a path where it is allowed."""
        self._take(token, may_end=may_end, name=name)
        self.kind = _Kind.PATH if self.kind in (_Kind.EMPTY, _Kind.PATH) else _Kind.OTHER

    def extend_literal(self, token: _Span, *, is_signed: bool) -> None:
        is_first = self.start < 0 or (is_signed and self.kind is _Kind.EMPTY)
        self._take(token, may_end=True)
        self.kind = _Kind.LITERAL if is_first else _Kind.OTHER

    def extend_sign(self, token: _Span) -> None:
        if self.kind is _Kind.EMPTY:
            self._take(token, may_end=False)
        else:
            self.extend(token, may_end=False)

    def extend_method(self, token: _Span) -> None:
        follows = self.may_end and self.kind is not _Kind.LITERAL
        self._take(token, may_end=follows)
        if not follows:
            self.kind = _Kind.OTHER
            return
        self.methods.append(token)
        is_path = self.kind in (_Kind.PATH, _Kind.METHOD) and not self.is_union
        self.kind = _Kind.METHOD if is_path else _Kind.OTHER

    def open_group(self, token: _Span) -> None:
        self._take(token, may_end=False)

    def close_group(self, token: _Span, group: _Operand | None, start: int) -> None:
        """Appends parentheses around one operand, or around something else."""
        is_whole = self.start == start
        self._take(token, may_end=True)
        if group is None or group.kind is _Kind.EMPTY:
            self.kind = _Kind.OTHER
            return
        self.methods += group.methods
        if is_whole:
            self.kind = group.kind
        elif self.kind is not _Kind.PATH or group.kind is not _Kind.PATH:
            self.kind = _Kind.OTHER

    def close_call(self, token: _Span, *, is_node_test: bool) -> None:
        self._take(token, may_end=True)
        if not is_node_test:
            self.kind = _Kind.OTHER

    def close_predicate(self, token: _Span) -> None:
        self._take(token, may_end=True)

    def refuse(self, token: _Span) -> None:
        """Appends a token that is not allowed anywhere."""
        self._take(token, may_end=False)
        self.kind = _Kind.OTHER

    def _take(self, token: _Span, *, may_end: bool, name: str = "") -> None:
        if self.start < 0:
            self.start = token[0]
        self.end = token[1]
        self.may_end, self.name = may_end, name


@dataclass(slots=True)
class _Level:
    """What is open: the text as a whole, a predicate, a group or the arguments of a function."""

    opening: str = ""
    start: int = 0
    function: str = ""
    """The name before a parenthesis."""
    operands: list[_Operand] = field(default_factory=lambda: [_Operand()])
    operators: list[_Span] = field(default_factory=list)
    """The comparison at the current position: one operator less than operands."""
    is_one_comparison: bool = True
    """Whether there was no ``and``, ``or`` or comma."""

    def group(self) -> _Operand | None:
        """What is in parentheses, if it is one operand."""
        return self.operands[0] if self.is_one_comparison and not self.operators else None

    def removed(self) -> Iterator[_Span]:
        """What to remove of the comparison at the current position."""
        match self.operands:
            case [only]:
                yield from only.methods
            case [_Operand(kind=_Kind.METHOD) as path, _Operand(kind=_Kind.LITERAL) as literal] | [
                _Operand(kind=_Kind.LITERAL) as literal,
                _Operand(kind=_Kind.METHOD) as path,
            ]:
                yield from path.methods
                yield from self.operators
                yield literal.start, literal.end

    def next_comparison(self) -> None:
        self.operands, self.operators = [_Operand()], []
        self.is_one_comparison = False


class _Scan:
    """Finds what to remove from a text."""

    def __init__(self) -> None:
        self._levels = [_Level()]
        self._removed: list[_Span] = []

    def removed(self, text: str) -> list[_Span]:
        for token in _TOKEN.finditer(text):
            match token.lastgroup:
                case "string" | "number" as kind:
                    self._operand.extend_literal(token.span(), is_signed=kind == "number")
                case "name":
                    self._name(token.span(), token.group())
                case "method":
                    self._operand.extend_method(token.span())
                case "operator":
                    self._levels[-1].operators.append(token.span())
                    self._levels[-1].operands.append(_Operand())
                case _ if token.group() in "'\"":
                    break  # The string is not closed.
                case _:
                    self._other(token.span(), token.group())
        for level in self._levels:
            self._removed += level.removed()
        return self._removed

    @property
    def _operand(self) -> _Operand:
        return self._levels[-1].operands[-1]

    def _name(self, token: _Span, name: str) -> None:
        # After an operand, XPath takes these for operators; elsewhere they are names.
        if name in ("and", "or") and self._operand.may_end:
            self._next_comparison()
        else:
            self._operand.extend(token, may_end=True, name=name)

    def _other(self, token: _Span, character: str) -> None:
        match character:
            case "[":
                self._operand.extend(token, may_end=False)
                self._levels.append(_Level("[", token[0]))
            case "(":
                function = self._operand.name
                self._operand.open_group(token)
                self._levels.append(_Level("(", token[0], function))
            case "]" | ")":
                self._close(token, "[" if character == "]" else "(")
            case ",":
                self._next_comparison()
            case "-":
                self._operand.extend_sign(token)
            case "!":
                self._operand.refuse(token)
            case _:
                self._operand.is_union |= character == "|"
                self._operand.extend(token, may_end=character in ".*")

    def _next_comparison(self) -> None:
        self._removed += self._levels[-1].removed()
        self._levels[-1].next_comparison()

    def _close(self, token: _Span, opening: str) -> None:
        if self._levels[-1].opening != opening:
            self._operand.refuse(token)
            return
        level = self._levels.pop()
        group = None if level.opening == "[" or level.function else level.group()
        if group is None:
            self._removed += level.removed()
        if opening == "[":
            self._operand.close_predicate(token)
        elif level.function:
            self._operand.close_call(token, is_node_test=level.function in _NODE_TESTS)
        else:
            self._operand.close_group(token, group, level.start)
