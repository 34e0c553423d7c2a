"""A document under construction.

A document starts with little more than the schema requires. Every ``*`` and ``+`` leaves a *slot*,
and random slots get one more repetition each until the document reaches its size. So all parts of
the document grow, and it is valid at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.lab.workload.parameters import DocumentParameters
from penstock.lab.workload.schema_shape import SchemaShape
from penstock.lab.workload.value_domains import RunningText, ValueKind, Values, relative_length
from penstock.lab.workload.weighted_choice import Rnd, geometric
from penstock.schema.content_model import (
    Child,
    Children,
    Choice,
    Default,
    Element,
    Empty,
    Particle,
    Sequence,
)

Pieces: TypeAlias = "list[str | Pieces]"
"""The text of a document in order; inner lists belong to slots and may still grow."""


class DraftPosition(NamedTuple):
    """A position in the document, at which content is generated."""

    label: str
    level: int
    nesting: int
    """Nested elements of the same recursion group here, including this one."""
    mixed: int
    """Ancestors with mixed content."""


@dataclass(slots=True)
class RepeatSlot:
    """A position at which a particle may repeat."""

    pieces: Pieces
    particle: Particle
    position: DraftPosition
    repeats: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class DeferredAttribute:
    """An attribute whose value is set at the end, when all identifiers are known."""

    pieces: Pieces
    index: int
    name: str

    def fill(self, value: str) -> None:
        """Set the value."""
        self.pieces[self.index] = f' {self.name}="{value}"'


DEFERRED_SIZE = 6
"""Bytes of such an attribute without its name: space, equals sign, quotes, short identifier."""

WORD_SIZE = 6
"""Mean bytes of a word of running text, including its space."""

GROWTH_SIZE = 256
"""Slots with repetitions smaller than this many bytes grow proportionally less often, so that a
document grows by paragraphs rather than by keywords."""


class DocumentDraft:
    """Builds one document; ``rnd`` is the only source of randomness."""

    def __init__(
        self,
        shape: SchemaShape,
        values: Values,
        text: RunningText,
        parameters: DocumentParameters,
        rnd: Rnd,
    ) -> None:
        self.pieces: Pieces = []
        self.slots: list[RepeatSlot] = []
        self.size = 0
        self.size_wanted = parameters.size_max
        self.identifiers: list[DeferredAttribute] = []
        self.references: list[DeferredAttribute] = []
        self._shape = shape
        self._values = values
        self._text = text
        self._parameters = parameters
        self._rnd = rnd

    def begin(self, head: str, root: str, namespaces: str) -> None:
        """Write the prolog, and the root with its initial content."""
        self._emit(head, self.pieces)
        self._element(root, DraftPosition(root, 1, 1, 0), self.pieces, namespaces)

    def grow(self) -> None:
        """Add repetitions until the document reaches its target size."""
        while self.size < self.size_wanted and self.slots:
            index = int(self._rnd() * len(self.slots))
            slot = self.slots[index]
            if slot.repeats >= self._parameters.repeats_max:
                self.slots[index] = self.slots[-1]
                self.slots.pop()
            elif self._rnd() * GROWTH_SIZE * slot.repeats <= slot.size:
                self.repeat(slot, slot.pieces)

    def repeat(self, slot: RepeatSlot, out: Pieces) -> None:
        """Add one repetition of the slot's particle."""
        before = self.size
        self._once(slot.particle, slot.position, out)
        slot.repeats += 1
        slot.size += self.size - before

    # Elements

    @property
    def _is_full(self) -> bool:
        return self.size >= self.size_wanted

    def _emit(self, piece: str, out: Pieces) -> None:
        out.append(piece)
        self.size += len(piece) if piece.isascii() else len(piece.encode())

    def _element(
        self, label: str, position: DraftPosition, out: Pieces, namespaces: str = ""
    ) -> None:
        element = self._shape.elements[label]
        self._emit(f"<{label}{namespaces}", out)
        self._attributes(element, out)
        if isinstance(element.content, Empty):
            self._emit("/>", out)
            return
        self._emit(">", out)
        self._content(element, position, out)
        self._emit(f"</{label}>", out)

    def _attributes(self, element: Element, out: Pieces) -> None:
        for attribute in element.attributes.values():
            required = attribute.default is Default.REQUIRED
            if not required and self._rnd() >= self._parameters.attribute_probability:
                continue
            domain = self._values.of_attribute(element.name, attribute)
            if domain.kind is ValueKind.ID:
                self.identifiers.append(self._deferred(attribute.name, out))
            elif domain.kind is ValueKind.REFERENCE:
                self.references.append(self._deferred(attribute.name, out))
            elif domain.kind is not ValueKind.ENTITY:
                self._emit(f' {attribute.name}="{domain.draw(self._rnd)}"', out)

    def _content(self, element: Element, position: DraftPosition, out: Pieces) -> None:
        if isinstance(element.content, Children):
            self._emit("\n", out)
            self._particle(element.content.particle, position, out)
        elif element.name in self._shape.inlines:
            self._mixed(position, out)
        elif self._rnd() < self._parameters.value_probability:
            # Text only, or ANY, which always allows text.
            self._emit(self._values.of_text(element.name).draw(self._rnd), out)

    def _deferred(self, name: str, out: Pieces) -> DeferredAttribute:
        self._emit("", out)
        self.size += len(name) + DEFERRED_SIZE
        return DeferredAttribute(out, len(out) - 1, name)

    # Element content

    def _particle(self, particle: Particle, position: DraftPosition, out: Pieces) -> None:
        required = particle.indicator.occurs.required
        fits = self._fits(particle, position)
        wanted = required or (
            fits and not self._is_full and self._rnd() < self._parameters.optional_probability
        )
        if particle.indicator.occurs.many and fits:
            slot = RepeatSlot([], particle, position)
            out.append(slot.pieces)
            self.slots.append(slot)
            if wanted:
                self.repeat(slot, slot.pieces)
        elif wanted:
            self._once(particle, position, out)

    def _once(self, particle: Particle, position: DraftPosition, out: Pieces) -> None:
        if isinstance(particle, Child):
            self._element(particle.name, self._below(particle.name, position), out)
            self._emit("\n", out)
        elif isinstance(particle, Sequence):
            for item in particle.items:
                self._particle(item, position, out)
        else:
            self._particle(self._alternative(particle, position), position, out)

    def _alternative(self, choice: Choice, position: DraftPosition) -> Particle:
        if not self._is_full:
            draw = self._shape.choices[id(choice)]
            for _ in choice.items:
                item = draw(self._rnd)
                if self._fits(item, position):
                    return item
        # The shallowest alternative, which ends recursion.
        return min(choice.items, key=lambda item: self._shape.particle_heights[id(item)])

    def _fits(self, particle: Particle, position: DraftPosition) -> bool:
        """Whether one more repetition stays within the limits of levels and recursion."""
        if isinstance(particle, Child):
            return self._child_fits(particle.name, position)
        if isinstance(particle, Sequence):
            return all(
                self._fits(item, position)
                for item in particle.items
                if item.indicator.occurs.required
            )
        return any(self._fits(item, position) for item in particle.items)

    def _child_fits(self, child: str, position: DraftPosition) -> bool:
        if position.level + self._shape.heights[child] > self._parameters.levels_max:
            return False
        return position.nesting < self._parameters.recursion_max or not self._shape.is_recursive(
            position.label, child
        )

    def _below(self, child: str, position: DraftPosition, mixed: int = 0) -> DraftPosition:
        nesting = position.nesting + 1 if self._shape.is_recursive(position.label, child) else 1
        return DraftPosition(child, position.level + 1, nesting, position.mixed + mixed)

    # Mixed content

    def _mixed(self, position: DraftPosition, out: Pieces) -> None:
        parameters, rnd = self._parameters, self._rnd
        words = (
            3.0 if position.mixed else 2 * parameters.words_mean * relative_length(position.label)
        )
        words_max = max(0, self.size_wanted - self.size) // WORD_SIZE
        words_left = 1 + min(int(rnd() * words), words_max)
        inlines = 0
        if not self._is_full:
            inlines = geometric(
                parameters.inlines_mean * parameters.inline_decay**position.mixed, rnd
            )
        for inlines_left in range(inlines, 0, -1):
            run = int(rnd() * 2 * words_left / (inlines_left + 1))
            words_left -= run
            if run:
                self._emit(self._text.cut(run, rnd) + " ", out)
            child = self._shape.inlines[position.label](rnd)
            if self._child_fits(child, position):
                self._element(child, self._below(child, position, mixed=1), out)
                self._emit(" ", out)
        self._emit(self._text.cut(words_left, rnd), out)
