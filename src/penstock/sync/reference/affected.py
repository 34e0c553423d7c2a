"""Whether a change may affect a subscription, by definition.

A subscription *observes* paths: the nodes that it selects with all below them, and what its
predicates look at. Predicates themselves are ignored, so each observed path is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from penstock.language.relations.path_universe import Name, PathUniverse, TextRule
from penstock.language.xpath.ast import (
    And,
    Axis,
    Compare,
    ComparePaths,
    Contains,
    Count,
    Exists,
    Expr,
    Kind,
    Last,
    NameTest,
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
from penstock.language.xpath.parsing import parse
from penstock.sync.affected.change import LabelPath, Touch, TouchedNode


class Observation(IntEnum):
    """What is observed at a node; a greater one includes the lesser ones."""

    EXISTENCE = 0
    VALUE = 1
    SUBTREE = 2


Steps = tuple[Step, ...]
"""A path without predicates."""

Node = tuple[LabelPath, Kind, Name]
"""A node: the elements down to it, its kind, and the name of an attribute."""


def observed_paths(
    query: Query, selected: Observation = Observation.SUBTREE
) -> dict[Steps, Observation]:
    """What a query observes; ``selected`` is what it observes at the nodes that it selects."""
    found: dict[Steps, Observation] = {}
    for branch in query.branches:
        for path, what in _observed_by_path((), branch, selected):
            if path:
                found[path] = max(what, found.get(path, what))
    return found


def _observed_by_path(
    context: Steps, path: Path, what: Observation
) -> Iterator[tuple[Steps, Observation]]:
    for step in path.steps:
        context = (*context, Step(step.axis, step.kind, step.test, ()))
        for predicate in step.predicates:
            yield from _observed_by_predicate(context, predicate)
    yield context, what


def _observed_by_predicate(context: Steps, expr: Expr) -> Iterator[tuple[Steps, Observation]]:
    match expr:
        case And(items) | Or(items):
            for item in items:
                yield from _observed_by_predicate(context, item)
        case Not(item):
            yield from _observed_by_predicate(context, item)
        case Exists(path):
            yield from _observed_by_path(context, path, Observation.EXISTENCE)
        case Count():
            yield from _observed_by_path(context, expr.path, Observation.EXISTENCE)
        case Compare() | Contains() | StartsWith() | StringTest():
            yield from _observed_by_path(context, expr.path, Observation.VALUE)
        case ComparePaths():
            yield from _observed_by_path(context, expr.left, Observation.VALUE)
            yield from _observed_by_path(context, expr.right, Observation.VALUE)
        case Position() | PositionLast() | Last():
            # A sibling that the step selects shifts the position.
            yield context, Observation.EXISTENCE


@dataclass(frozen=True, slots=True)
class ReferenceAffected:
    """One subscription, tested by itself."""

    observed: dict[Steps, Observation]

    @classmethod
    def parsed(
        cls,
        query: str,
        namespaces: Mapping[str, str],
        default_namespace: str,
        *,
        selected: Observation = Observation.SUBTREE,
    ) -> ReferenceAffected:
        """The subscription of a query."""
        parsed = parse(query, namespaces=namespaces, default_namespace=default_namespace)
        return cls(observed_paths(parsed, selected))

    def may_be_affected(self, touches: Iterable[Touch], schema: PathUniverse | None) -> bool:
        """Whether one of the touched nodes is relevant for what is observed."""
        return any(
            _is_relevant(path, what, touch, schema)
            for touch in touches
            for path, what in self.observed.items()
        )


def _is_relevant(path: Steps, what: Observation, touch: Touch, schema: PathUniverse | None) -> bool:
    own = touch.path
    above = [own[:length] for length in range(1, len(own))]
    selects_own, selects_above = (
        selects(path, own),
        any(selects(path, each) for each in above),
    )
    if what is Observation.SUBTREE and (selects_own or selects_above):
        return True
    match touch.node:
        case TouchedNode.ELEMENT:
            return (
                selects_own
                or (touch.below and selects_below(path, own, schema))
                or (touch.text and what is Observation.VALUE and selects_above)
            )
        case TouchedNode.ATTRIBUTE:
            assert touch.attribute is not None
            return selects(path, own, Kind.ATTRIBUTE, touch.attribute)
        case TouchedNode.TEXT:
            has_value = what is Observation.VALUE and (selects_own or selects_above)
            return has_value or selects(path, own, Kind.TEXT)
        case TouchedNode.TEXT_BOUNDARY:
            return selects(path, own, Kind.TEXT)
        case _:
            return False


def selects(
    path: Steps, elements: LabelPath, kind: Kind = Kind.ELEMENT, name: Name = ("", "")
) -> bool:
    """Whether a path selects the node at the end of a label path."""
    nodes: list[tuple[Kind, Name]] = [(Kind.ELEMENT, element) for element in elements]
    if kind is not Kind.ELEMENT:
        nodes.append((kind, name))
    return len(path) in _states(path, nodes, [0])


def selects_below(path: Steps, elements: LabelPath, schema: PathUniverse | None) -> bool:
    """Whether a path may select a node below an element."""
    states = _states(path, [(Kind.ELEMENT, element) for element in elements], [0])
    states -= {len(path)}
    element = elements[-1]
    if schema is None or element not in _elements(schema):
        # Each state that is left can be completed by suitable names.
        return bool(states)
    waiting = [(element, frozenset(states))]
    seen = set(waiting)
    while waiting:
        element, left = waiting.pop()
        leaves = [(Kind.ATTRIBUTE, name) for name in schema.attributes(element)]
        if schema.text(element) is not TextRule.NONE:
            leaves.append((Kind.TEXT, ("", "")))
        if any(len(path) in _states(path, [leaf], left) for leaf in leaves):
            return True
        for child in schema.children(element):
            reached = frozenset(_states(path, [(Kind.ELEMENT, child)], left))
            if len(path) in reached:
                return True
            if reached and (child, reached) not in seen:
                seen.add((child, reached))
                waiting.append((child, reached))
    return False


def _elements(schema: PathUniverse) -> set[Name]:
    found = set(schema.roots())
    waiting = list(found)
    while waiting:
        fresh = schema.children(waiting.pop()).keys() - found
        found |= fresh
        waiting.extend(fresh)
    return found


def _states(path: Steps, nodes: Sequence[tuple[Kind, Name]], start: Iterable[int]) -> set[int]:
    """How many steps of the path lead to the last node, for each way in which they can.

    A state stays while the next step is ``//`` and the node is an element.
    """
    states = set(start)
    for kind, name in nodes:
        following = set()
        for state in states:
            if state == len(path):
                continue
            step = path[state]
            if step.kind is kind and _accepts(step.test, name, kind):
                following.add(state + 1)
            if step.axis is Axis.DESCENDANT and kind is Kind.ELEMENT:
                following.add(state)
        states = following
    return states


def _accepts(test: NameTest, name: Name, kind: Kind) -> bool:
    if kind is Kind.TEXT:
        return True
    return test.uri in (None, name[0]) and test.local in (None, name[1])
