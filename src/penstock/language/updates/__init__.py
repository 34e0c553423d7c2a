"""Update statements: extended XQL, parsed, printed and built from Python."""

from penstock.language.updates.ast import (
    AnyChild,
    Axis,
    Content,
    Function,
    Group,
    NodeStep,
    PlainPath,
    Statement,
    UpdatePath,
)
from penstock.language.updates.builder import Target, at
from penstock.language.updates.parser import parse_statement
from penstock.language.updates.printer import statement_text
from penstock.language.updates.subscription import parse_subscription
from penstock.language.updates.subscription_methods import without_methods
from penstock.language.updates.xql_subscription import parse_xql_subscription

__all__ = [
    "AnyChild",
    "Axis",
    "Content",
    "Function",
    "Group",
    "NodeStep",
    "PlainPath",
    "Statement",
    "Target",
    "UpdatePath",
    "at",
    "parse_statement",
    "parse_subscription",
    "parse_xql_subscription",
    "statement_text",
    "without_methods",
]
