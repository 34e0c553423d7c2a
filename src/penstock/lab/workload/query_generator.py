"""Generates queries as random walks through a schema, by seed.

A walk descends from a root, child by child. Each step becomes ``/name``, ``/*``, ``//name`` or
``//*``; a ``//`` may skip a level, so that it differs from ``/``. Predicates are added to steps
whose elements can satisfy them, with values that occur in documents.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from random import Random

from penstock.errors import error
from penstock.lab.workload.parameters import QueryParameters
from penstock.lab.workload.random_walk import WalkEdges, WalkNode, predicate_kinds, walk_origin
from penstock.lab.workload.weighted_choice import Rnd, WeightedChoice
from penstock.schema import SchemaGraph

TRIES_MAX = 10_000
"""Consecutive walks without a new query after which the schema counts as exhausted."""


class QueryGenerator:
    """Generates queries that documents of a schema can match.

    Examples
    --------
    >>> shop = SchemaGraph.from_dtd('''
    ...     <!ELEMENT shop (item+)> <!ELEMENT item (name, price?)>
    ...     <!ATTLIST item lang (en | de) #REQUIRED>
    ...     <!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)>''')
    >>> generator = QueryGenerator(shop, QueryParameters(depth_min=2, depth_max=3))
    >>> generator.queries(3, seed=5)
    ["/shop/item[@lang = 'en']/price", '/shop/item', '/shop//item/name']
    """

    def __init__(self, schema: SchemaGraph, parameters: QueryParameters | None = None) -> None:
        self.parameters = parameters or QueryParameters()
        self._origin = walk_origin(schema, self.parameters)
        deepest = self._origin.levels - 1
        if deepest < self.parameters.depth_min:
            raise error("lab.exhausted", f"no path has {self.parameters.depth_min} steps")
        self._depth_max = int(min(self.parameters.depth_max, deepest))
        self._predicates = _counts(self.parameters.predicate_weights)
        self._nested_paths = _counts(self.parameters.nested_path_weights)
        self._kinds = predicate_kinds(self.parameters.predicate_mix)

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """Generate ``count`` queries; a larger count only appends."""
        return list(islice(self.stream(seed), count))

    def stream(self, seed: int = 0) -> Iterator[str]:
        """An endless stream of queries; raises ``lab.exhausted`` if the schema yields no more."""
        rnd = Random(seed).random
        seen: set[str] = set()
        found = 0
        while True:
            # Chosen before the tries; otherwise distinctness would favour kinds with more variety.
            predicates, nested_paths = self._predicates(rnd), self._nested_paths(rnd)
            for _ in range(TRIES_MAX):
                query = self._query(predicates, nested_paths, rnd)
                if query is not None and query not in seen:
                    break
            else:
                raise error("lab.exhausted", f"found only {found} distinct queries")
            if self.parameters.distinct:
                seen.add(query)
            found += 1
            yield query

    def _query(self, predicates: int, nested_paths: int, rnd: Rnd) -> str | None:
        """A query, or ``None`` if the walk has no step for a predicate."""
        depth_min = self.parameters.depth_min
        depth = depth_min + int(rnd() * (self._depth_max - depth_min + 1))
        walk, steps = self._walk(self._origin.edges[depth], depth, rnd)
        for _ in range(predicates):
            if not self._add_predicate(walk, steps, rnd):
                return None
        for _ in range(nested_paths):
            if not self._add_nested_path(walk, steps, rnd):
                return None
        if self.parameters.branching_probability:
            self._add_branches(walk, steps, rnd)
        query = "".join(steps)
        attributes = walk[-1].attributes
        if attributes and rnd() < self.parameters.attribute_leaf_probability:
            return f"{query}/@{attributes[int(rnd() * len(attributes))]}"
        return query

    def _walk(
        self, edges: WalkEdges | None, depth: int, rnd: Rnd
    ) -> tuple[list[WalkNode], list[str]]:
        """A walk of ``depth`` steps, from edges that lead that deep."""
        parameters = self.parameters
        wildcard, descendant = parameters.wildcard_probability, parameters.descendant_probability
        skips = parameters.descendant_skips
        walk: list[WalkNode] = []
        steps: list[str] = []
        while edges is not None and depth:
            node = edges.items[bisect_right(edges.cumulative, rnd(), 0, edges.last)]
            form = 0
            if rnd() < descendant:
                form = 2
                below = node.edges[depth] if skips else None
                if below is not None:
                    node = below.items[bisect_right(below.cumulative, rnd(), 0, below.last)]
            if rnd() < wildcard:
                form += 1
            walk.append(node)
            steps.append(node.steps[form])
            depth -= 1
            edges = node.edges[depth]
        return walk, steps

    def _add_predicate(self, walk: list[WalkNode], steps: list[str], rnd: Rnd) -> bool:
        kind = self._kinds(rnd)
        places = [
            (index, comparisons)
            for index, node in enumerate(walk)
            if (comparisons := node.comparisons[kind]) is not None
        ]
        if not places:
            return False
        index, comparisons = places[int(rnd() * len(places))]
        steps[index] += comparisons(rnd)(rnd)
        return True

    def _add_nested_path(self, walk: list[WalkNode], steps: list[str], rnd: Rnd) -> bool:
        depth = 1 + int(rnd() * self.parameters.nested_depth_max)
        places = [(index, edges) for index, node in enumerate(walk) if (edges := node.edges[depth])]
        if not places:
            return False
        index, edges = places[int(rnd() * len(places))]
        steps[index] += self._nested_path(edges, depth, rnd)
        return True

    def _add_branches(self, walk: list[WalkNode], steps: list[str], rnd: Rnd) -> None:
        for index, node in enumerate(walk):
            if rnd() < self.parameters.branching_probability:
                depth = int(min(1 + int(rnd() * self.parameters.nested_depth_max), node.levels - 1))
                edges = node.edges[depth] if depth else None
                if edges is not None:
                    steps[index] += self._nested_path(edges, depth, rnd)

    def _nested_path(self, edges: WalkEdges, depth: int, rnd: Rnd) -> str:
        path = "".join(self._walk(edges, depth, rnd)[1])
        return f"[.{path}]" if path.startswith("//") else f"[{path[1:]}]"


def _counts(weights: tuple[float, ...]) -> WeightedChoice[int]:
    return WeightedChoice(range(len(weights)), weights)
