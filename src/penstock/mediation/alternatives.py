"""Conditions that a rewritten query puts on a local document, as alternatives.

A condition on one node of the global document can come from several nodes of the local one: below
an element that an Exchange or Downgrade moved stands what was beside or above it. So each
alternative says what has to hold *here*, at the local node in question, and what *elsewhere*, at
nodes that are known by their place: there is only one of each around the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, TypeVar

from penstock.errors import PenstockError, error
from penstock.language.xpath.ast import And, Expr, Not, Or
from penstock.mediation.limits import ALTERNATIVES_MAX
from penstock.schema import NodePath

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Alternative:
    """All of this has to hold."""

    here: tuple[Expr, ...] = ()
    elsewhere: tuple[tuple[NodePath, Expr], ...] = ()


Alternatives: TypeAlias = tuple[Alternative, ...]
"""One of these has to hold."""

NEVER: Alternatives = ()
ALWAYS: Alternatives = (Alternative(),)


def inexpressible(why: str) -> PenstockError:
    """A query that cannot be rewritten; the caller raises it."""
    return error("mapping.query", why)


def either(many: Iterable[Alternatives]) -> Alternatives:
    """What holds where one of several does; those that agree elsewhere become one."""
    groups: dict[tuple[tuple[NodePath, Expr], ...], dict[tuple[Expr, ...], None]] = {}
    for alternatives in many:
        for each in alternatives:
            groups.setdefault(each.elsewhere, {})[each.here] = None
    if () in groups.get((), {}):
        return ALWAYS
    return _within_limit(
        [Alternative(_any(list(heres)), elsewhere) for elsewhere, heres in groups.items()]
    )


def both(left: Alternatives, right: Alternatives) -> Alternatives:
    """What holds where both do."""
    return _within_limit(
        [
            Alternative(_joined(one.here, other.here), _joined(one.elsewhere, other.elsewhere))
            for one in left
            for other in right
        ]
    )


def all_of(many: Iterable[Alternatives]) -> Alternatives:
    """What holds where all do."""
    return reduce(both, many, ALWAYS)


def negated(alternatives: Alternatives) -> Alternatives:
    """What holds where none does; all must speak of one node."""
    if alternatives == NEVER:
        return ALWAYS
    if alternatives == ALWAYS:
        return NEVER
    places = {place for each in alternatives for place, _ in each.elsewhere}
    if not places:
        return (Alternative((Not(_one(_any([each.here for each in alternatives]))),)),)
    if len(places) > 1 or any(each.here or not each.elsewhere for each in alternatives):
        raise inexpressible("a `not()` speaks of elements that stand apart in the local document")
    conditions = [tuple(expr for _, expr in each.elsewhere) for each in alternatives]
    return (Alternative(elsewhere=((places.pop(), Not(_one(_any(conditions)))),)),)


def _within_limit(alternatives: Sequence[Alternative]) -> Alternatives:
    if len(alternatives) > ALTERNATIVES_MAX:
        raise inexpressible(f"it would have more than {ALTERNATIVES_MAX} alternatives")
    return tuple(alternatives)


def _any(heres: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """One of these conjunctions, as a conjunction; empty where one of them is."""
    if len(heres) == 1 or () in heres:
        return heres[0] if len(heres) == 1 else ()
    return (Or(tuple(map(_one, heres))),)


def _one(conjunction: tuple[Expr, ...]) -> Expr:
    return conjunction[0] if len(conjunction) == 1 else And(conjunction)


def _joined(left: tuple[T, ...], right: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*left, *right)))
