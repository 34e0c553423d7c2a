"""Prints update statements; the text of a statement parses to the same statement."""

from __future__ import annotations

from decimal import Decimal

from penstock.errors import error
from penstock.language.updates.ast import (
    AllOf,
    AnyChild,
    AnyOf,
    Comparison,
    Condition,
    Contains,
    Content,
    Exists,
    Filter,
    Index,
    Negation,
    NodeStep,
    PlainPath,
    Statement,
    Step,
    Test,
    UpdatePath,
)


def statement_text(statement: Statement) -> str:
    """The text of a statement.

    Names are printed with their prefixes; names without a prefix in a namespace need it as the
    default namespace when the text is parsed again.

    Raises
    ------
    UpdateError
        ``update.value``: a value contains both kinds of quotes, which no literal can.
    """
    argument = statement.argument
    match argument:
        case None:
            text = ""
        case str():
            text = literal_text(argument)
        case PlainPath():
            text = plain_path_text(argument)
        case UpdatePath():
            text = path_text(argument)
    return f"{path_text(statement.path)}!{statement.function.value}({text})"


def plain_path_text(path: PlainPath) -> str:
    """The text of what a statement inserts."""
    parts = [str(name) for name in path.elements]
    if path.attribute is not None:
        parts.append(f"@{path.attribute}")
    if path.value is not None and not (path.attribute is not None and path.value == ""):
        parts.append(literal_text(path.value))
    return "/".join(parts)


def path_text(path: UpdatePath) -> str:
    """The text of a path."""
    text = "".join(_step(step) for step in path.steps)
    if path.is_absolute:
        return text or "/"
    return text.removeprefix("/")


def _step(step: Step) -> str:
    filters = "".join(f"[{_filter(each)}]" for each in step.filters)
    if isinstance(step, NodeStep):
        at = "@" if step.is_attribute else ""
        return f"{step.axis.value}{at}{_test(step.test)}{filters}"
    return f"{step.axis.value}({path_text(step.path)}){filters}"


def _test(test: Test) -> str:
    match test:
        case AnyChild():
            return "*"
        case Content():
            return test.value
        case _:
            return str(test)


def _filter(item: Filter) -> str:
    return str(item.number) if isinstance(item, Index) else _condition(item)


def _condition(item: Condition) -> str:
    match item:
        case AllOf(items):
            return " and ".join(_condition(each) for each in items)
        case AnyOf(items):
            return " or ".join(_condition(each) for each in items)
        case Negation(inner):
            return f"not({_condition(inner)})"
        case Exists(path):
            return path_text(path)
        case Comparison(path, op, literal):
            value = literal_text(literal) if isinstance(literal, str) else number_text(literal)
            return f"{path_text(path)} {op.value} {value}"
        case Contains(path, text, at_start):
            function = "starts-with" if at_start else "contains"
            return f"{function}({path_text(path)}, {literal_text(text)})"


def number_text(value: float) -> str:
    """A number as a literal."""
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def literal_text(value: str) -> str:
    """A text in quotes."""
    if '"' not in value:
        return f'"{value}"'
    if "'" not in value:
        return f"'{value}'"
    raise error(
        "update.value", "a value with both kinds of quotes cannot be written in a statement"
    )
