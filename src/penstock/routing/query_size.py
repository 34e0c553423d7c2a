"""Counts the nodes of an XPath query as a tree pattern."""

from __future__ import annotations

from penstock.language import Query
from penstock.language.xpath.ast import (
    And,
    Compare,
    ComparePaths,
    Contains,
    Count,
    Exists,
    Expr,
    Not,
    Or,
    Path,
    StartsWith,
    StringTest,
)


def node_count(query: Query) -> int:
    """Number of steps, nested ones included, and of tests of values and positions.

    Examples
    --------
    >>> from penstock.language import parse
    >>> node_count(parse("/news/item[@lang = 'en'][price]/title"))
    6
    """
    return sum(map(_path_nodes, query.branches))


def _path_nodes(path: Path) -> int:
    return sum(1 + sum(map(_test_nodes, step.predicates)) for step in path.steps)


def _test_nodes(expr: Expr) -> int:
    match expr:
        case And(items) | Or(items):
            return sum(map(_test_nodes, items))
        case Not(item):
            return 1 + _test_nodes(item)
        case Exists(path):
            return _path_nodes(path)
        case ComparePaths(left=left, right=right):
            return 1 + _path_nodes(left) + _path_nodes(right)
        case Compare() | Contains() | StartsWith() | StringTest() | Count():
            return 1 + _path_nodes(expr.path)
        case _:
            return 1
