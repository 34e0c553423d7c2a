"""Conditions of rewritten queries on a local document, as a disjunction of alternatives.

A condition on one node of the global document can involve several nodes of the local one: an
element that an Exchange or Downgrade moved contains former siblings or ancestors. Each alternative
therefore has conditions *here*, on the local node itself, and *elsewhere*, on nodes identified by
their place, of which there is exactly one around the node.
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
    """A conjunction of conditions."""

    here: tuple[Expr, ...] = ()
    elsewhere: tuple[tuple[NodePath, Expr], ...] = ()


Alternatives: TypeAlias = tuple[Alternative, ...]
"""A disjunction of conjunctions."""

NEVER: Alternatives = ()
ALWAYS: Alternatives = (Alternative(),)


def inexpressible(why: str) -> PenstockError:
    """Creates the error of a query that cannot be rewritten."""
    return error("mapping.query", why)


def either(many: Iterable[Alternatives]) -> Alternatives:
    """The disjunction of several; alternatives with equal `elsewhere` are merged."""
    groups: dict[tuple[tuple[NodePath, Expr], ...], dict[tuple[Expr, ...], None]] = {}
    for alternatives in many:
        for each in alternatives:
            groups.setdefault(each.elsewhere, {})[each.here] = None
    if () in groups.get((), {}):
        return ALWAYS
    return _within_limit(
        [Alternative(_any(list(heres)), elsewhere) for elsewhere, heres in groups.items()]
    )


def conjunction(left: Alternatives, right: Alternatives) -> Alternatives:
    """The conjunction of two."""
    return _within_limit(
        [
            Alternative(_joined(one.here, other.here), _joined(one.elsewhere, other.elsewhere))
            for one in left
            for other in right
        ]
    )


def all_of(many: Iterable[Alternatives]) -> Alternatives:
    """The conjunction of several."""
    return reduce(conjunction, many, ALWAYS)


def negated(alternatives: Alternatives) -> Alternatives:
    """The negation; all alternatives must concern one node."""
    if alternatives == NEVER:
        return ALWAYS
    if alternatives == ALWAYS:
        return NEVER
    places = {place for each in alternatives for place, _ in each.elsewhere}
    if not places:
        return (Alternative((Not(_one(_any([each.here for each in alternatives]))),)),)
    if len(places) > 1 or any(each.here or not each.elsewhere for each in alternatives):
        raise inexpressible("a `not()` concerns elements that are separate in the local document")
    conditions = [tuple(expr for _, expr in each.elsewhere) for each in alternatives]
    return (Alternative(elsewhere=((places.pop(), Not(_one(_any(conditions)))),)),)


def _within_limit(alternatives: Sequence[Alternative]) -> Alternatives:
    if len(alternatives) > ALTERNATIVES_MAX:
        raise inexpressible(f"it would have more than {ALTERNATIVES_MAX} alternatives")
    return tuple(alternatives)


def _any(heres: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    """The disjunction of conjunctions, as a conjunction; empty if one of them is empty."""
    if len(heres) == 1 or () in heres:
        return heres[0] if len(heres) == 1 else ()
    return (Or(tuple(map(_one, heres))),)


def _one(conjunction: tuple[Expr, ...]) -> Expr:
    return conjunction[0] if len(conjunction) == 1 else And(conjunction)


def _joined(left: tuple[T, ...], right: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*left, *right)))
