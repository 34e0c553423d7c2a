"""Properties of a schema that document generators use, precomputed."""

from __future__ import annotations

from penstock.lab.workload.weighted_choice import WeightedChoice, zipf_weights
from penstock.schema import SchemaGraph
from penstock.schema.content_model import Child, Children, Choice, Mixed, Particle


class SchemaShape:
    """Recursion groups of elements, minimum heights, and the weights of alternatives.

    Particles are keyed by identity: they live as long as their schema, and hashing a complete
    expression would cost more than the choice.
    """

    def __init__(self, schema: SchemaGraph, choice_skew: float) -> None:
        self.elements = schema.elements
        self.heights = schema.heights
        self.choices: dict[int, WeightedChoice[Particle]] = {}
        """The alternatives of each choice, with Zipf weights in the order of the schema."""
        self.inlines: dict[str, WeightedChoice[str]] = {}
        """The children of each element of mixed content, weighted likewise."""
        self.particle_heights: dict[int, int] = {}
        """The minimum number of levels of one occurrence of each particle."""
        self._groups = recursion_groups(
            {label: list(one.children) for label, one in schema.elements.items()}
        )
        self._choice_skew = choice_skew
        for label, element in schema.elements.items():
            if isinstance(element.content, Children):
                self._measure(element.content.particle)
            elif isinstance(element.content, Mixed) and element.content.names:
                names = element.content.names
                self.inlines[label] = WeightedChoice(names, zipf_weights(len(names), choice_skew))

    def is_recursive(self, parent: str, child: str) -> bool:
        """Whether the two are equal or can contain each other."""
        return self._groups[child] != 0 and self._groups[parent] == self._groups[child]

    def _measure(self, particle: Particle) -> int:
        if isinstance(particle, Child):
            height = self.heights[particle.name]
        else:
            below = [self._measure(item) for item in particle.items]
            if isinstance(particle, Choice):
                weights = zipf_weights(len(particle.items), self._choice_skew)
                self.choices[id(particle)] = WeightedChoice(particle.items, weights)
                height = min(below)
            else:
                height = max(below)
        self.particle_heights[id(particle)] = height
        return height if particle.indicator.occurs.required else 0


def recursion_groups(children: dict[str, list[str]]) -> dict[str, int]:
    """Number the elements; those that can contain each other have the same number.

    Elements that cannot contain themselves, even indirectly, have number 0.
    """
    below = {label: _reachable(label, children) for label in children}
    result: dict[str, int] = {}
    for number, label in enumerate(children, start=1):
        if label not in below[label]:
            result[label] = 0
        elif label not in result:
            result.update((other, number) for other in below[label] if label in below[other])
    return result


def _reachable(label: str, children: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(children[label])
    while waiting:
        child = waiting.pop()
        if child not in found:
            found.add(child)
            waiting.extend(children[child])
    return found
