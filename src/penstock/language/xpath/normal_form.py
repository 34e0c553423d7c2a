"""The normal form of queries: equivalent spellings get the same tree.

The rewrites, all valid in XPath 1.0 on every document:

* ``and``, ``or`` and unions are flattened, sorted, deduplicated, and have at least two items;
* ``not()`` is pushed below ``not``, ``and`` and ``or``, and never applies to a position;
* ``[a and b]`` is ``[a][b]``; in an ``and`` with positions, those stay together and come first;
* predicates between two positional ones are sorted and deduplicated;
* nested paths are flattened: ``[a[b]]`` is ``[a/b]``, ``[a[. = 'x']]`` is ``[a = 'x']``;
* order comparisons use numbers, and positions use ``=``, ``!=``, ``<=`` and
  ``>=``;
* tautologies are removed; a contradiction becomes ``[not(.)]``, alone in its step.

Comparisons are existential, so ``not(a = 'x')`` and ``a != 'x'`` remain different. The native
core's ``normal_form.rs`` is the same.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    Contains,
    Exists,
    Expr,
    Kind,
    Last,
    NameTest,
    Not,
    Op,
    Or,
    Path,
    Position,
    PositionLast,
    Query,
    StartsWith,
    Step,
    is_positional,
)
from penstock.language.xpath.tree_order import expr_key, path_key
from penstock.language.xpath.value_tests import OPPOSITE, number

ALWAYS: Final = Exists(Path())
"""``.``, which holds for every node."""

NEVER: Final = Not(ALWAYS)
"""``not(.)``"""

NOTHING: Final = Path((Step(Axis.CHILD, Kind.ELEMENT, NameTest(), (NEVER,)),))
"""``/*[not(.)]``, the query that selects nothing."""

_MORE_THAN_ANY_POSITION: Final = 2.0**53
"""Upper bound of positions: no document has that many nodes, and beyond it doubles are inexact."""


def normalise(query: Query) -> Query:
    """The normal form of a query.

    It selects the same nodes, and normalising is idempotent.

    Examples
    --------
    >>> from penstock.language import normalise, parse, to_text
    >>> str(to_text(normalise(parse("/a[not(not(c) or b < '7')][c]"))))
    '/a[not(b < 7)][c]'
    """
    branches = {_path(branch) for branch in query.branches}
    living = sorted((branch for branch in branches if not _is_dead(branch)), key=path_key)
    return Query(tuple(living) or (NOTHING,))


def _is_dead(path: Path) -> bool:
    return any(step.predicates == (NEVER,) for step in path.steps)


def _path(path: Path) -> Path:
    """An equivalent path in normal form."""
    return Path(tuple(replace(step, predicates=_predicates(step)) for step in path.steps))


def _predicates(step: Step) -> tuple[Expr, ...]:
    filters = _Filters(())
    for predicate in step.predicates:
        normal = _expr(predicate, step.kind, negated=False)
        if normal == NEVER:
            return (NEVER,)
        items = normal.items if isinstance(normal, And) else (normal,)
        positional = tuple(item for item in items if is_positional(item))
        if positional:
            filters.add(positional[0] if len(positional) == 1 else And(positional))
        for item in items:
            if not is_positional(item):
                filters.add(item)
    return tuple(filters.all)


class _Continuation(NamedTuple):
    """The rest of a path and the comparison at its end."""

    path: Path = Path()
    goal: tuple[Op, str | float] | None = None

    def exists(self) -> Exists | Compare:
        return Compare(self.path, *self.goal) if self.goal else Exists(self.path)


class _Filters:
    """The predicates of one step, in normal form."""

    def __init__(self, normal: Iterable[Expr]) -> None:
        self.all = list(normal)
        # Start of the predicates after the last positional one, which are sorted.
        self._free = 0
        for index, predicate in enumerate(self.all):
            if is_positional(predicate):
                self._free = index + 1

    def add(self, predicate: Expr) -> None:
        if is_positional(predicate):
            self.all.append(predicate)
            self._free = len(self.all)
        elif predicate != ALWAYS and predicate not in self.all:
            bisect.insort_left(self.all, predicate, lo=self._free, key=expr_key)

    def take_continuation(self) -> _Continuation:
        """Removes the last predicate that can be the continuation of an existing path."""
        for index in range(len(self.all) - 1, self._free - 1, -1):
            match self.all[index]:
                case Exists(path):
                    del self.all[index]
                    return _Continuation(path)
                case Compare(path, op, literal):
                    del self.all[index]
                    return _Continuation(path, (op, literal))
        return _Continuation()


def _existence(path: Path, goal: tuple[Op, str | float] | None = None) -> Expr:
    """The condition that ``path`` selects a node that satisfies ``goal``.

    Built from the end: the rest after a step becomes one more predicate of it, one of which
    continues the path. So the original choice does not matter.
    """
    rest = _Continuation(Path(), goal)
    for step in reversed(path.steps):
        filters = _Filters(_predicates(step))
        if filters.all == [NEVER]:
            return NEVER
        filters.add(rest.exists())
        more = filters.take_continuation()
        first = replace(step, predicates=tuple(filters.all))
        rest = _Continuation(Path((first, *more.path.steps)), more.goal)
    return rest.exists()


def _expr(expr: Expr, kind: Kind, *, negated: bool) -> Expr:
    match expr:
        case Not(item):
            return _expr(item, kind, negated=not negated)
        case And(items):
            return _items(items, kind, negated=negated, join=Or if negated else And)
        case Or(items):
            return _items(items, kind, negated=negated, join=And if negated else Or)
        case Position(op, value):
            return _position(OPPOSITE[op] if negated else op, value, Position)
        case Last(op, value):
            return _position(OPPOSITE[op] if negated else op, value, Last)
        case PositionLast(op):
            return _position_last(OPPOSITE[op] if negated else op)
    normal = _condition(expr, kind)
    if not negated:
        return normal
    # Negated expressions can only be `not(.)` here.
    return normal.item if isinstance(normal, Not) else Not(normal)


def _items(items: Iterable[Expr], kind: Kind, *, negated: bool, join: type[And] | type[Or]) -> Expr:
    neutral, decisive = (ALWAYS, NEVER) if join is And else (NEVER, ALWAYS)
    flat: set[Expr] = set()
    for item in items:
        normal = _expr(item, kind, negated=negated)
        if normal == decisive:
            return decisive
        if isinstance(normal, join):
            flat.update(normal.items)
        elif normal != neutral:
            flat.add(normal)
    if not flat:
        return neutral
    ordered = sorted(flat, key=expr_key)
    return ordered[0] if len(ordered) == 1 else join(tuple(ordered))


def _condition(expr: Exists | Compare | Contains | StartsWith, kind: Kind) -> Expr:
    if kind is not Kind.ELEMENT and expr.path.steps:  # attributes and text have no descendants
        return ALWAYS if isinstance(expr, Contains | StartsWith) and not expr.text else NEVER
    match expr:
        case Exists(path):
            return _existence(path)
        case Compare(path, op, str(text)) if op not in (Op.EQ, Op.NE):
            value = number(text)
            if math.isnan(value):
                return NEVER
            return _existence(path, (op, value + 0.0))  # 0, not -0
        case Compare(path, op, literal):
            return _existence(path, (op, literal))
        case Contains(path, text) | StartsWith(path, text):
            if not text:
                return ALWAYS
            normal = _path(path)
            return NEVER if _is_dead(normal) else replace(expr, path=normal)


def _position_last(op: Op) -> Expr:
    match op:
        case Op.EQ | Op.GE:
            return PositionLast(Op.EQ)
        case Op.NE | Op.LT:
            return PositionLast(Op.LT)
        case Op.LE:
            return ALWAYS
        case Op.GT:
            return NEVER


def _position(op: Op, value: float, make: Callable[[Op, float], Expr]) -> Expr:
    """A condition on a positive integer, with ``=``, ``!=``, ``<=`` or ``>=``."""
    if abs(value) >= _MORE_THAN_ANY_POSITION:
        holds = op is Op.NE or (op in (Op.LT, Op.LE) if value > 0 else op in (Op.GT, Op.GE))
        return ALWAYS if holds else NEVER
    possible = value >= 1 and value == math.floor(value)
    match op:
        case Op.EQ:
            return make(op, value) if possible else NEVER
        case Op.NE if value == 1:
            return make(Op.GE, 2.0)
        case Op.NE:
            return make(op, value) if possible else ALWAYS
        case Op.LT:
            return _at_most(math.ceil(value) - 1, make)
        case Op.LE:
            return _at_most(math.floor(value), make)
        case Op.GT:
            return _at_least(math.floor(value) + 1, make)
        case Op.GE:
            return _at_least(math.ceil(value), make)


def _at_most(count: int, make: Callable[[Op, float], Expr]) -> Expr:
    if count < 1:
        return NEVER
    return make(Op.EQ, 1.0) if count == 1 else make(Op.LE, float(count))


def _at_least(count: int, make: Callable[[Op, float], Expr]) -> Expr:
    return ALWAYS if count <= 1 else make(Op.GE, float(count))
