"""The part of the reference parser for function calls."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from penstock.language.xpath.ast import (
    Contains,
    ContainsText,
    DateType,
    EndsWithText,
    Expr,
    LowerCase,
    MatchesPattern,
    NormalizeSpace,
    Not,
    Path,
    StartsWith,
    StartsWithText,
    StringFunction,
    StringTest,
    Translate,
    UpperCase,
)
from penstock.language.xpath.dates import milliseconds
from penstock.language.xpath.namespaces import XML_SCHEMA_NAMESPACE
from penstock.language.xpath.pattern import PatternRefused, pattern_of
from penstock.language.xpath.reference.operands import (
    CountCall,
    DateLiteral,
    DateOf,
    LastCall,
    LengthCall,
    Nodes,
    Operand,
    PositionCall,
    Refused,
    StringOf,
    Text,
    Truth,
    Value,
)
from penstock.language.xpath.reference.path_parser import PathParser
from penstock.language.xpath.string_functions import apply

_ARITIES: Final = {
    "not": (1, 1, "1 argument"),
    "position": (0, 0, "no argument"),
    "last": (0, 0, "no argument"),
    "contains": (2, 2, "2 arguments"),
    "starts-with": (2, 2, "2 arguments"),
    "ends-with": (2, 2, "2 arguments"),
    "matches": (2, 3, "2 or 3 arguments"),
    "normalize-space": (0, 1, "at most 1 argument"),
    "lower-case": (1, 1, "1 argument"),
    "upper-case": (1, 1, "1 argument"),
    "translate": (3, 3, "3 arguments"),
    "string-length": (0, 1, "at most 1 argument"),
    "count": (1, 1, "1 argument"),
    "xs:date": (1, 1, "1 argument"),
    "xs:dateTime": (1, 1, "1 argument"),
}
"""The minimum and maximum number of arguments of each function, and how to say it."""

_CONSTANT: Final = frozenset(
    ("normalize-space", "lower-case", "upper-case", "translate", "xs:date", "xs:dateTime")
)
"""Functions of a string in quotes; the others would have the same value for every node."""


class FunctionParser(PathParser):
    """Parses function calls; a subclass parses their arguments."""

    @abstractmethod
    def expression(self) -> Operand:
        """Parses an expression."""

    @abstractmethod
    def condition_of(self, operand: Operand) -> Expr:
        """The condition of an operand."""

    def call(self, name: str) -> Value:
        """Parses the call of the function ``name``, which is next."""
        start = self.at
        function = self._function(name)
        if function is None:
            message = f"the function `{name}()` is not supported"
            raise Refused("query.function", message, start)
        self.at += len(name)
        self.skip()
        with self.nested():
            self.at += 1
            match function:
                case "not":
                    value: Value = Truth(Not(self.condition_of(self.expression())))
                case "position":
                    value = PositionCall()
                case "last":
                    value = LastCall()
                case _:
                    value = self._value_of_call(function, name, start)
            self.expect(")")
        return value

    def _function(self, name: str) -> str | None:
        """The name of the function in the table."""
        prefix, colon, local = name.partition(":")
        if colon:
            default = XML_SCHEMA_NAMESPACE if prefix == "xs" else None
            is_schema = self.namespace_of(prefix, default) == XML_SCHEMA_NAMESPACE
            name = f"xs:{local}" if is_schema else ""
        return name if name in _ARITIES else None

    def _value_of_call(self, function: str, name: str, start: int) -> Value:
        arguments = self._arguments()
        least, most, arity = _ARITIES[function]
        if not least <= len(arguments) <= most:
            raise Refused("query.function", f"`{name}()` takes {arity}", start)
        first = arguments[0] if arguments else Operand(Nodes((Path(),)), start)
        match first.value:
            case Nodes((path,)) if function == "count":
                return CountCall(path)
            case Nodes((path,)):
                string: StringOf | Text = StringOf(path, ())
            case StringOf() as value if function != "count":
                string = value
            case Text() as constant if function in _CONSTANT:
                string = constant
            case _:
                raise _wrong_first_argument(name, first.start)
        texts: list[tuple[str, int]] = []
        for argument, ordinal in zip(arguments[1:], ("second", "third"), strict=False):
            if not isinstance(argument.value, Text):
                message = f"the {ordinal} argument of `{name}()` must be a string in quotes"
                raise Refused("query.function", message, argument.start)
            texts.append((argument.value.value, argument.start))
        converted: StringFunction
        match function:
            case "normalize-space":
                converted = NormalizeSpace()
            case "lower-case":
                converted = LowerCase()
            case "upper-case":
                converted = UpperCase()
            case "translate":
                converted = Translate(texts[0][0], texts[1][0])
            case "xs:date" | "xs:dateTime":
                return _date(DateType(function), string, first.start)
            case _:
                assert isinstance(string, StringOf), "the others have constant results"
                if function == "string-length":
                    return LengthCall(string)
                self.count_conditions(start)
                return Truth(self._string_test(function, string, texts))
        if isinstance(string, Text):
            return Text(apply(converted, string.value))
        return StringOf(string.path, (*string.functions, converted))

    def _arguments(self) -> list[Operand]:
        self.skip()
        if self.next_is(")"):
            return []
        arguments = [self.expression()]
        self.skip()
        while self.take(","):
            arguments.append(self.expression())
            self.skip()
        return arguments

    def _string_test(self, function: str, string: StringOf, texts: list[tuple[str, int]]) -> Expr:
        text = texts[0][0]
        match function:
            case "contains" if not string.functions:
                return Contains(string.path, text)
            case "starts-with" if not string.functions:
                return StartsWith(string.path, text)
            case "contains":
                return StringTest(string.path, string.functions, ContainsText(text))
            case "starts-with":
                return StringTest(string.path, string.functions, StartsWithText(text))
            case "ends-with":
                return StringTest(string.path, string.functions, EndsWithText(text))
        flags = texts[1][0] if len(texts) > 1 else ""
        try:
            pattern_of(text, flags)
        except PatternRefused as refused:
            argument = texts[refused.in_flags][1]
            # A literal has no escapes, so an offset in it is one in the query.
            quoted = self.text[argument] in "'\""
            at = argument + (1 + refused.offset if quoted else 0)
            raise Refused(refused.code, refused.message, at) from None
        return StringTest(string.path, string.functions, MatchesPattern(text, flags))


def _date(date_type: DateType, string: StringOf | Text, start: int) -> Value:
    if isinstance(string, StringOf):
        return DateOf(date_type, string)
    if milliseconds(date_type, string.value) is None:
        message = f"the string is not a valid `{date_type.value}`"
        raise Refused("query.date", message, start)
    return DateLiteral(date_type, string.value)


def _wrong_first_argument(name: str, at: int) -> Refused:
    return Refused("query.function", f"the first argument of `{name}()` must be one path", at)
