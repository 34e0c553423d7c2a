"""The string functions of the query language, and the tests of their results."""

from __future__ import annotations

import math
from collections.abc import Iterable

from penstock.language.xpath.ast import (
    ComparesWith,
    ContainsText,
    EndsWithText,
    HasLength,
    IsDate,
    LowerCase,
    MatchesPattern,
    NormalizeSpace,
    Op,
    StartsWithText,
    StringCondition,
    StringFunction,
    Translate,
    UpperCase,
)
from penstock.language.xpath.dates import milliseconds
from penstock.language.xpath.pattern import pattern_of
from penstock.language.xpath.value_tests import compare, number

_SPACE = " \t\r\n"
_TO_SPACE = str.maketrans(_SPACE, " " * len(_SPACE))


def apply(function: StringFunction, text: str) -> str:
    """The value of a function."""
    match function:
        case NormalizeSpace():
            return " ".join(word for word in text.translate(_TO_SPACE).split(" ") if word)
        case LowerCase():
            return text.lower()
        case UpperCase():
            return text.upper()
        case Translate(source, target):
            # The first occurrence of a character counts.
            mapped: dict[int, str | None] = {}
            for index, character in enumerate(source):
                replacement = target[index] if index < len(target) else None
                mapped.setdefault(ord(character), replacement)
            return text.translate(mapped)


def holds(functions: Iterable[StringFunction], condition: StringCondition, text: str) -> bool:
    """Whether the condition holds for a string after the functions."""
    for function in functions:
        text = apply(function, text)
    match condition:
        case ComparesWith(op, str(literal)) if op in (Op.EQ, Op.NE):
            return (text == literal) == (op is Op.EQ)
        case ComparesWith(op, literal):
            right = number(literal) if isinstance(literal, str) else literal
            return compare(number(text), op, right)
        case ContainsText(part):
            return part in text
        case StartsWithText(part):
            return text.startswith(part)
        case EndsWithText(part):
            return text.endswith(part)
        case MatchesPattern(pattern, flags):
            return pattern_of(pattern, flags).matches(text)
        case HasLength(op, value):
            return compare(len(text), op, value)
        case IsDate(date_type, op, literal):
            left, date = milliseconds(date_type, text), milliseconds(date_type, literal)
            return left is not None and compare(left, op, math.nan if date is None else date)
