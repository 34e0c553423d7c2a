"""Precomputed tables of random walks through a schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from typing import NamedTuple

from penstock.lab.workload.parameters import PredicateMix, QueryParameters
from penstock.lab.workload.schema_shape import recursion_groups
from penstock.lab.workload.value_domains import Domain, ValueKind, Values
from penstock.lab.workload.weighted_choice import Rnd, WeightedChoice, zipf_weights
from penstock.schema import SchemaGraph
from penstock.schema.content_model import Element, Mixed

_RANGE_SIGNS = ("<", "<=", ">", ">=")


class WalkEdges(NamedTuple):
    """The next elements of a walk, chosen by ``bisect(cumulative, rnd(), 0, last)``.

    An inlined :class:`~penstock.lab.workload.weighted_choice.WeightedChoice`: a walk chooses at
    every step, and a million walks take only seconds.
    """

    items: tuple[WalkNode, ...]
    cumulative: tuple[float, ...]
    last: int


@dataclass(slots=True, eq=False)
class WalkNode:
    """An element of the schema, with its tables."""

    label: str
    levels: float
    """Levels from this element to its deepest descendant, inclusive; infinite if recursive."""
    attributes: tuple[str, ...]
    comparisons: tuple[WeightedChoice[Comparison] | None, ...]
    """Possible comparisons for each kind of predicate, in the order of the mix."""
    steps: tuple[str, str, str, str]
    """The four forms of a step to this element: ``/n``, ``/*``, ``//n``, ``//*``."""
    edges: list[WalkEdges | None] = field(default_factory=list)
    """At index n the edges to children of at least n levels; ``None`` if there are none."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """An operand of a predicate, and the domain of values to compare it with."""

    operand: str
    domain: Domain
    range: bool = False

    def __call__(self, rnd: Rnd) -> str:
        """Generate the text of a predicate."""
        value = self.domain.draw(rnd)
        if self.range:
            return f"[{self.operand} {_RANGE_SIGNS[int(rnd() * 4)]} {value}]"
        if self.domain.kind is ValueKind.NUMBER:
            return f"[{self.operand} = {value}]"
        return f"[{self.operand} = '{value}']"


def walk_origin(schema: SchemaGraph, parameters: QueryParameters) -> WalkNode:
    """The virtual node above all roots, where every walk starts."""
    values = Values(parameters.values)
    levels = _levels(schema)
    found = {
        label: WalkNode(
            label,
            levels[label],
            tuple(element.attributes),
            _comparisons(schema, element, values),
            (f"/{label}", "/*", f"//{label}", "//*"),
        )
        for label, element in schema.elements.items()
    }
    for label, element in schema.elements.items():
        children = [found[child] for child in element.children]
        found[label].edges = _edges(children, parameters.child_skew, parameters.depth_max)
    roots = [found[label] for label in schema.root_labels]
    above = WalkNode("", 1 + max(root.levels for root in roots), (), (), ("", "", "", ""))
    above.edges = _edges(roots, 0.0, parameters.depth_max)
    return above


def _edges(children: list[WalkNode], skew: float, levels_max: int) -> list[WalkEdges | None]:
    weights = zipf_weights(len(children), skew)
    edges: list[WalkEdges | None] = []
    for levels in range(levels_max + 1):
        deep = [
            (child, weight)
            for child, weight in zip(children, weights, strict=True)
            if child.levels >= levels
        ]
        total = sum(weight for _, weight in deep)
        cumulative = tuple(accumulate(weight / total for _, weight in deep))
        items = tuple(child for child, _ in deep)
        edges.append(WalkEdges(items, cumulative, len(items) - 1) if items else None)
    return edges


def _levels(schema: SchemaGraph) -> dict[str, float]:
    children = {label: list(element.children) for label, element in schema.elements.items()}
    groups = recursion_groups(children)
    found: dict[str, float] = {}

    def levels(label: str) -> float:
        if label not in found:
            below = [levels(child) for child in children[label]] if not groups[label] else [inf]
            found[label] = 1 + max(below, default=0)
        return found[label]

    for label in children:
        levels(label)
    return found


def _comparisons(
    schema: SchemaGraph, element: Element, values: Values
) -> tuple[WeightedChoice[Comparison] | None, ...]:
    attributes = {
        name: values.of_attribute(element.name, attribute)
        for name, attribute in element.attributes.items()
    }
    children = [child for child in element.children if _text_only(schema.elements[child])]
    kinds = (
        [Comparison(f"@{name}", domain) for name, domain in attributes.items()],
        [
            Comparison(f"@{name}", domain, range=True)
            for name, domain in attributes.items()
            if domain.kind is ValueKind.NUMBER
        ],
        [Comparison(child, values.of_text(child)) for child in children],
        [Comparison(".", values.of_text(element.name))] if _text_only(element) else [],
    )
    return tuple(WeightedChoice(kind, [1.0] * len(kind)) if kind else None for kind in kinds)


def _text_only(element: Element) -> bool:
    return isinstance(element.content, Mixed) and not element.content.names


def predicate_kinds(mix: PredicateMix) -> WeightedChoice[int]:
    """The weighted kinds of predicates, as indexes of :attr:`Stop.comparisons`."""
    weights = (mix.attribute_equality, mix.attribute_range, mix.child_text, mix.own_text)
    return WeightedChoice(range(len(weights)), weights)
