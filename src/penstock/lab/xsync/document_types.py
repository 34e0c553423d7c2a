"""Random document types with cycles, as in the paper, and path expressions in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from penstock.lab.xsync.scale import DEPTH_MAX
from penstock.schema import SchemaGraph

WINDOW = 12
"""A new element becomes a child of one of the latest elements, so that types get deep."""

ELEMENTS_PER_CYCLE = 20
"""One element in this number of elements also contains one of its ancestors, or itself."""

LABEL_PATHS_MAX = 200_000
"""Label paths of a document type; cycles that would give more are left out."""

Labels = tuple[int, ...]
"""The numbers of the elements from the root down."""


class Expressions(Enum):
    """The kinds of path expressions that the paper distinguishes."""

    SIMPLE = "simple"
    WILDCARD = "one wildcard"
    DESCENDANT = "one descendant"


@dataclass(frozen=True)
class RandomDtd:
    """A document type whose root is its first element."""

    children: tuple[tuple[int, ...], ...]
    """The possible children of each element."""

    @classmethod
    def of_size(cls, size: int, seed: int) -> RandomDtd:
        """A type with a number of elements: a random tree of limited depth, and cycles."""
        chance = random.Random(f"{seed}/{size}")
        parents = [-1]
        depths = [1]
        children: list[set[int]] = [set() for _ in range(size)]
        for element in range(1, size):
            latest = range(max(0, element - WINDOW), element)
            parent = chance.choice([each for each in latest if depths[each] < DEPTH_MAX] or [0])
            parents.append(parent)
            depths.append(depths[parent] + 1)
            children[parent].add(element)
        dtd = cls(tuple(tuple(sorted(each)) for each in children))
        for _ in range(1 + size // ELEMENTS_PER_CYCLE):
            below = chance.randrange(size)
            above = [below]
            while parents[above[-1]] >= 0:
                above.append(parents[above[-1]])
            children[below].add(chance.choice(above))
            cyclic = cls(tuple(tuple(sorted(each)) for each in children))
            if cyclic.path_count > LABEL_PATHS_MAX:
                break
            dtd = cyclic
        return dtd

    @property
    def names(self) -> list[str]:
        """The names of the elements."""
        return [f"e{number}" for number in range(len(self.children))]

    @cached_property
    def path_count(self) -> int:
        """Label paths up to the greatest depth."""
        ending = {0: 1}
        total = 1
        for _ in range(1, DEPTH_MAX):
            longer: dict[int, int] = {}
            for element, count in ending.items():
                for child in self.children[element]:
                    longer[child] = longer.get(child, 0) + count
            ending = longer
            total += sum(ending.values())
        return total

    @cached_property
    def paths(self) -> list[list[Labels]]:
        """The label paths by length, from 0 to the greatest depth."""
        found: list[list[Labels]] = [[()], [(0,)]]
        for _ in range(1, DEPTH_MAX):
            found.append(
                [(*path, child) for path in found[-1] for child in self.children[path[-1]]]
            )
        return found

    def continuations(self, path: Labels, length: int) -> list[Labels]:
        """The label paths of a length that go on from another one, without it."""
        if not path:
            return self.paths[length]
        key = path[-1], length
        if key not in self._continuations:
            found: list[Labels] = [()]
            for _ in range(length):
                found = [
                    (*more, child)
                    for more in found
                    for child in self.children[more[-1] if more else path[-1]]
                ]
            self._continuations[key] = found
        return self._continuations[key]

    @cached_property
    def _continuations(self) -> dict[tuple[int, int], list[Labels]]:
        return {}

    def schema(self) -> SchemaGraph:
        """The same as a schema, with text everywhere."""
        names = self.names
        declarations = [
            f"<!ELEMENT {name} (#PCDATA{''.join(f'|{names[child]}' for child in children)})*>"
            for name, children in zip(names, self.children, strict=True)
        ]
        return SchemaGraph.from_dtd("\n".join(declarations), roots=[names[0]])


def expression(labels: Labels, kind: Expressions, position: int) -> str:
    """A label path as an expression, generalised at a position."""
    steps = []
    for at, label in enumerate(labels):
        chosen = at == position
        operator = "//" if chosen and kind is Expressions.DESCENDANT else "/"
        name = "*" if chosen and kind is Expressions.WILDCARD else f"e{label}"
        steps.append(operator + name)
    return "".join(steps) or "/"


@dataclass(frozen=True)
class Population:
    """The clients of an experiment: the subscription of each, and a label path that it selects."""

    dtd: RandomDtd
    kind: Expressions
    queries: Sequence[str]
    labels: Sequence[Labels]

    @classmethod
    def draw(
        cls, dtd: RandomDtd, kind: Expressions, count: int, lengths: Sequence[int], seed: int
    ) -> Population:
        """Draws clients whose subscriptions have these lengths, where the type is deep enough."""
        chance = random.Random(f"{seed}/{kind.value}/{count}")
        possible = [length for length in lengths if dtd.paths[length]] or [
            max(length for length in range(DEPTH_MAX + 1) if dtd.paths[length])
        ]
        labels = []
        known: dict[tuple[Labels, int], str] = {}
        queries = []
        for length in chance.choices(possible, k=count):
            path = chance.choice(dtd.paths[length])
            position = chance.randrange(length) if length else 0
            key = path, position
            if key not in known:
                known[key] = expression(path, kind, position)
            labels.append(path)
            queries.append(known[key])
        return cls(dtd, kind, queries, labels)

    def update(self, client: int, length: int, chance: random.Random) -> tuple[str, Labels] | None:
        """An update of a client: its expression, and the label path of a node that it changes."""
        more = self.dtd.continuations(self.labels[client], length)
        if not more:
            return None
        chosen = chance.choice(more)
        position = chance.randrange(length) if length else 0
        return expression(chosen, self.kind, position), self.labels[client] + chosen
