"""What a query requires of a document's structure alone.

The *skeleton* of a document has one element for each of its label paths, with the attributes of all
elements there; it has no text and no values. A relaxed query matches the skeleton of every document
that the query matches.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.language.relations.path_universe import Name
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    Contains,
    Exists,
    Expr,
    Kind,
    NameTest,
    Or,
    Path,
    Query,
    StartsWith,
    Step,
)

_ANYTHING = Path((Step(Axis.CHILD, Kind.ELEMENT, NameTest()),))
"""``/*``, which every document matches."""


def relaxed(query: Query) -> Query:
    """A query without ``not``, values and positions, which matches whatever ``query`` matches.

    Tests of values, positions, counts and functions, and negations count as true. A document that
    does not match the result has a skeleton that does not match it, and conversely.

    Examples
    --------
    >>> from penstock.language import parse, to_text
    >>> str(to_text(relaxed(parse("/a[b = 'x' or @c > 1][not(d)]/e[2][f/text() = 'y']"))))
    '/a[b or @c]/e[f]'
    >>> str(to_text(relaxed(parse("//text()[. = 'x']"))))
    '/*'
    """
    branches = [_relaxed_path(branch) for branch in query.branches]
    return Query(tuple(path if path.steps else _ANYTHING for path in branches))


def is_decided_by_skeleton(query: Query) -> bool:
    """Whether a document matches the query exactly if its skeleton does.

    These are the linear paths to elements and attributes.
    """
    return all(
        step.kind is not Kind.TEXT and not step.predicates
        for branch in query.branches
        for step in branch.steps
    )


def required_elements(query: Query) -> frozenset[Name]:
    """Names of elements without which no document matches the query.

    Examples
    --------
    >>> from penstock.language import parse
    >>> sorted(required_elements(parse("/a/*[b[@n = 1] or b/c]/d | //a[b]")))
    [('', 'a'), ('', 'b')]
    """
    branches = relaxed(query).branches
    return frozenset.intersection(*(frozenset(_path_elements(branch)) for branch in branches))


def _relaxed_path(path: Path) -> Path:
    """A path without values; a text is replaced by the element that has it."""
    steps = path.steps
    if steps and steps[-1].kind is Kind.TEXT:
        steps = steps[:-1]
    return Path(tuple(map(_relaxed_step, steps)))


def _relaxed_step(step: Step) -> Step:
    if not step.predicates:
        return step
    found = map(_relaxed, step.predicates)
    return Step(step.axis, step.kind, step.test, tuple(each for each in found if each is not None))


def _relaxed(expr: Expr) -> Expr | None:
    """The condition on the structure; ``None`` if there is none."""
    match expr:
        case And(items):
            found = [each for each in map(_relaxed, items) if each is not None]
            return _joined(And, found) if found else None
        case Or(items):
            found = [each for each in map(_relaxed, items) if each is not None]
            return _joined(Or, found) if len(found) == len(items) else None
        case Exists(path) | Compare(path=path):
            return _exists(path)
        case Contains(path, text) | StartsWith(path, text) if text:
            return _exists(path)  # without a node, the string is empty
        case ComparePaths(left=left, right=right):
            found = [each for each in (_exists(left), _exists(right)) if each is not None]
            return _joined(And, found) if found else None
        case _:
            return None


def _joined(kind: type[And | Or], items: list[Expr]) -> Expr:
    return items[0] if len(items) == 1 else kind(tuple(items))


def _exists(path: Path) -> Expr | None:
    nodes = _relaxed_path(path)
    return Exists(nodes) if nodes.steps else None


def _path_elements(path: Path) -> Iterator[Name]:
    for step in path.steps:
        if step.kind is Kind.ELEMENT and step.test.uri is not None and step.test.local is not None:
            yield step.test.uri, step.test.local
        for predicate in step.predicates:
            yield from _condition_elements(predicate)


def _condition_elements(expr: Expr) -> frozenset[Name]:
    match expr:
        case And(items):
            return frozenset[Name]().union(*map(_condition_elements, items))
        case Or(items):
            return frozenset.intersection(*map(_condition_elements, items))
        case Exists(path):
            return frozenset(_path_elements(path))
        case _:
            raise AssertionError("a relaxed query has no other condition")
