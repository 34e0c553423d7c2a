"""The normal form of queries: equivalent spellings get the same tree.

The rewrites, all valid in XPath 1.0 on every document:

* ``and``, ``or`` and unions are flattened, sorted, deduplicated, and have at least two items;
* ``not()`` is pushed below ``not``, ``and`` and ``or``, and never applies to a position;
* ``[a and b]`` is ``[a][b]``; in an ``and`` with positions, those stay together and come first;
* predicates between two positional ones are sorted and deduplicated;
* nested paths are flattened: ``[a[b]]`` is ``[a/b]``, ``[a[. = 'x']]`` is ``[a = 'x']``;
* order comparisons use numbers, and positions use ``=``, ``!=``, ``<=`` and
  ``>=``;
* ``count()`` and ``string-length()`` use the same operators, and ``count()`` never says whether
  there is a node: ``count(a) > 0`` is ``a``;
* of two compared paths, the first comes first in the order of trees;
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
    ComparePaths,
    ComparesWith,
    Contains,
    ContainsText,
    Count,
    EndsWithText,
    Exists,
    Expr,
    HasLength,
    IsDate,
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
    StartsWithText,
    Step,
    StringCondition,
    StringTest,
    is_positional,
)
from penstock.language.xpath.string_functions import holds
from penstock.language.xpath.tree_order import expr_key, path_key
from penstock.language.xpath.value_tests import FLIPPED, OPPOSITE, compare, number

ALWAYS: Final = Exists(Path())
"""``.``, which holds for every node."""

NEVER: Final = Not(ALWAYS)
"""``not(.)``"""

NOTHING: Final = Path((Step(Axis.CHILD, Kind.ELEMENT, NameTest(), (NEVER,)),))
"""``/*[not(.)]``, the query that selects nothing."""

_INTEGER_BOUND: Final = 2.0**53
"""Upper bound of positions, counts and lengths: no document has that many nodes or characters, and
beyond it doubles are inexact."""


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
        case Count(path, op, value):
            return _count(path, OPPOSITE[op] if negated else op, value, kind)
        case StringTest(condition=condition) if negated:
            opposite = _opposite(condition)
            if opposite is not None:
                return _string_test(replace(expr, condition=opposite), kind)
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


def _opposite(condition: StringCondition) -> StringCondition | None:
    """The negation, if it is a condition too.

    Numbers and dates have none, because of NaN and of strings that are not dates.
    """
    match condition:
        case ComparesWith(Op.EQ | Op.NE, str()) | HasLength():
            return replace(condition, op=OPPOSITE[condition.op])
    return None


def _constant(holds: bool) -> Expr:
    return ALWAYS if holds else NEVER


def _string_test(test: StringTest, kind: Kind) -> Expr:
    condition = test.condition
    match condition:
        case ContainsText("") | StartsWithText("") | EndsWithText(""):
            return ALWAYS
        case ComparesWith(op, str(text)) if op not in (Op.EQ, Op.NE):
            value = number(text)
            if math.isnan(value):
                return NEVER
            condition = ComparesWith(op, value + 0.0)  # 0, not -0
        case HasLength(op, value):
            whole = _whole_number(op, value, 0)
            if isinstance(whole, bool):
                return _constant(whole)
            condition = HasLength(*whole)
        case IsDate(text=text):
            condition = replace(condition, text=text.strip(" \t\r\n"))
    normal = _path(test.path)
    if (kind is not Kind.ELEMENT and normal.steps) or _is_dead(normal):
        return _constant(holds((), condition, ""))
    return StringTest(normal, test.functions, condition)


def _count(path: Path, op: Op, value: float, kind: Kind) -> Expr:
    if not path.steps:
        return _constant(compare(1, op, value))
    whole = _whole_number(op, value, 0)
    if isinstance(whole, bool):
        return _constant(whole)
    op, value = whole
    normal = _path(path)
    if kind is not Kind.ELEMENT or _is_dead(normal):
        return _constant(compare(0, op, value))
    match op, value:
        case Op.GE, 1:
            return _existence(normal)
        case Op.EQ, 0:
            exists = _existence(normal)
            return exists.item if isinstance(exists, Not) else Not(exists)
    return Count(normal, op, value)


def _compare_paths(left: Path, op: Op, right: Path) -> Expr:
    left, right = _path(left), _path(right)
    if _is_dead(left) or _is_dead(right):
        return NEVER
    if path_key(right) < path_key(left):
        return ComparePaths(right, FLIPPED[op], left)
    return ComparePaths(left, op, right)


def _condition(
    expr: Exists | Compare | Contains | StartsWith | StringTest | ComparePaths, kind: Kind
) -> Expr:
    if isinstance(expr, StringTest):
        return _string_test(expr, kind)
    if isinstance(expr, ComparePaths):
        if kind is not Kind.ELEMENT and (expr.left.steps or expr.right.steps):
            return NEVER
        return _compare_paths(expr.left, expr.op, expr.right)
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
    """A condition on a position, which is an integer from 1 on."""
    whole = _whole_number(op, value, 1)
    return _constant(whole) if isinstance(whole, bool) else make(*whole)


def _whole_number(op: Op, value: float, least: int) -> bool | tuple[Op, float]:
    """A condition on an integer from ``least`` on: its value if that is constant, else ``=``,
    ``!=``, ``<=`` or ``>=`` and an integer that is possible."""
    if abs(value) >= _INTEGER_BOUND:
        return op is Op.NE or (op in (Op.LT, Op.LE) if value > 0 else op in (Op.GT, Op.GE))
    match op:
        case Op.EQ | Op.NE if value < least or value != math.floor(value):
            return op is Op.NE
        case Op.NE if value == least:
            return _at_least(least + 1, least)
        case Op.EQ | Op.NE:
            return op, value + 0.0  # 0, not -0
        case Op.LT:
            return _at_most(math.ceil(value) - 1, least)
        case Op.LE:
            return _at_most(math.floor(value), least)
        case Op.GT:
            return _at_least(math.floor(value) + 1, least)
        case Op.GE:
            return _at_least(math.ceil(value), least)


def _at_most(count: int, least: int) -> bool | tuple[Op, float]:
    if count < least:
        return False
    return (Op.EQ if count == least else Op.LE), float(count)


def _at_least(count: int, least: int) -> bool | tuple[Op, float]:
    return True if count <= least else (Op.GE, float(count))
