"""Queries that the beginning of a document decides."""

from __future__ import annotations

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Count,
    Exists,
    Expr,
    Kind,
    Last,
    Not,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
    Step,
    StringTest,
)


def is_decided_in_prefix(query: Query) -> bool:
    """Whether an element that has ended is selected or not, whatever follows in the document.

    An element that has ended is known with its content, its attributes and those of its ancestors,
    and the positions of all of them. The content of its ancestors and the number of its siblings
    are not known.

    Suppose that all nodes which the query could select in a document lie in elements that end at or
    before some end tag. The document up to that tag, with all open elements closed, then matches
    the query exactly if the document does.

    Examples
    --------
    >>> from penstock.language import parse
    >>> is_decided_in_prefix(parse("/news[@lang = 'en']/item[2][not(price)]/title"))
    False
    >>> is_decided_in_prefix(parse("/news[@lang = 'en']/item[2][not(price)]"))
    True
    >>> is_decided_in_prefix(parse("/news/item[last()]"))
    False
    """
    return all(map(_is_path_decided, query.branches))


def _is_path_decided(path: Path) -> bool:
    complete = _complete_steps(path)
    first = len(path.steps) - complete
    return all(
        _is_decided(predicate, is_complete=number >= first)
        for number, step in enumerate(path.steps)
        for predicate in step.predicates
    )


def _complete_steps(path: Path) -> int:
    """How many of the last steps select nodes whose content is known."""
    last = path.steps[-1]
    has_owner = last.kind is not Kind.ELEMENT and last.axis is Axis.CHILD
    return min(len(path.steps), 2 if has_owner else 1)


def _is_decided(expr: Expr, *, is_complete: bool) -> bool:
    match expr:
        case And(items) | Or(items):
            return all(_is_decided(item, is_complete=is_complete) for item in items)
        case Not(item):
            return _is_decided(item, is_complete=is_complete)
        case Position():
            return True
        case Last() | PositionLast():
            return False
        case Exists() | Compare() | Contains() | StartsWith() | StringTest() | Count():
            return is_complete or _is_own_attribute(expr.path)
        case _:  # a comparison of two paths
            return is_complete


def _is_own_attribute(path: Path) -> bool:
    match path.steps:
        case (Step(axis=Axis.CHILD, kind=Kind.ATTRIBUTE, predicates=()),):
            return True
        case _:
            return False
