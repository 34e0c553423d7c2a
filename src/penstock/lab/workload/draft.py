"""One document in the making.

A document begins with little more than the schema requires. Every ``*`` and ``+`` leaves a *slot*,
and slots drawn at random get one repetition more until the document has its size. So it grows all
over, as real ones do, and stays valid at every moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.lab.workload.chance import Rnd, geometric
from penstock.lab.workload.parameters import DocumentParameters
from penstock.lab.workload.shape import Shape
from penstock.lab.workload.values import RunningText, ValueKind, Values, wordiness
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
"""The text of a document in order; inner lists are slots, which may still grow."""


class Place(NamedTuple):
    """Where in the document something is made."""

    label: str
    level: int
    nesting: int
    """Elements of the same knot that stand within each other here, this one included."""
    mixed: int
    """Elements of mixed content around this place."""


@dataclass(slots=True)
class Slot:
    """A place for more repetitions of a particle."""

    pieces: Pieces
    particle: Particle
    place: Place
    repeats: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Blank:
    """An attribute that is filled in at the end, when all identifiers are known."""

    pieces: Pieces
    index: int
    name: str

    def fill(self, value: str) -> None:
        """Give it its value."""
        self.pieces[self.index] = f' {self.name}="{value}"'


BLANK_SIZE = 6
"""Bytes of a blank beside its name: space, equals sign, quotes and a short identifier."""

WORD_SIZE = 6
"""Bytes of a word of running text with its space, on average."""

GROWTH_SIZE = 256
"""Slots whose repetitions are smaller than this grow less often, in proportion: a document gets
longer by paragraphs rather than by keywords."""


class Draft:
    """Makes one document; everything random comes from ``rnd``."""

    def __init__(
        self,
        shape: Shape,
        values: Values,
        text: RunningText,
        parameters: DocumentParameters,
        rnd: Rnd,
    ) -> None:
        self.pieces: Pieces = []
        self.slots: list[Slot] = []
        self.size = 0
        self.size_wanted = parameters.size_max
        self.identifiers: list[Blank] = []
        self.references: list[Blank] = []
        self._shape = shape
        self._values = values
        self._text = text
        self._parameters = parameters
        self._rnd = rnd

    def begin(self, head: str, root: str, namespaces: str) -> None:
        """Make what stands before the root, and the root with a first content."""
        self._emit(head, self.pieces)
        self._element(root, Place(root, 1, 1, 0), self.pieces, namespaces)

    def grow(self) -> None:
        """Repeat what may repeat until the document has the size that is wanted."""
        while self.size < self.size_wanted and self.slots:
            index = int(self._rnd() * len(self.slots))
            slot = self.slots[index]
            if slot.repeats >= self._parameters.repeats_max:
                self.slots[index] = self.slots[-1]
                self.slots.pop()
            elif self._rnd() * GROWTH_SIZE * slot.repeats <= slot.size:
                self.repeat(slot, slot.pieces)

    def repeat(self, slot: Slot, out: Pieces) -> None:
        """Make one more repetition of a slot's particle."""
        before = self.size
        self._once(slot.particle, slot.place, out)
        slot.repeats += 1
        slot.size += self.size - before

    # Elements

    @property
    def _full(self) -> bool:
        return self.size >= self.size_wanted

    def _emit(self, piece: str, out: Pieces) -> None:
        out.append(piece)
        self.size += len(piece) if piece.isascii() else len(piece.encode())

    def _element(self, label: str, place: Place, out: Pieces, namespaces: str = "") -> None:
        element = self._shape.elements[label]
        self._emit(f"<{label}{namespaces}", out)
        self._attributes(element, out)
        if isinstance(element.content, Empty):
            self._emit("/>", out)
            return
        self._emit(">", out)
        self._content(element, place, out)
        self._emit(f"</{label}>", out)

    def _attributes(self, element: Element, out: Pieces) -> None:
        for attribute in element.attributes.values():
            required = attribute.default is Default.REQUIRED
            if not required and self._rnd() >= self._parameters.attribute_probability:
                continue
            domain = self._values.of_attribute(element.name, attribute)
            if domain.kind is ValueKind.ID:
                self.identifiers.append(self._blank(attribute.name, out))
            elif domain.kind is ValueKind.REFERENCE:
                self.references.append(self._blank(attribute.name, out))
            elif domain.kind is not ValueKind.ENTITY:
                self._emit(f' {attribute.name}="{domain.draw(self._rnd)}"', out)

    def _content(self, element: Element, place: Place, out: Pieces) -> None:
        if isinstance(element.content, Children):
            self._emit("\n", out)
            self._particle(element.content.particle, place, out)
        elif element.name in self._shape.inlines:
            self._mixed(place, out)
        elif self._rnd() < self._parameters.value_probability:
            # Text only; and in ANY, where text is always allowed.
            self._emit(self._values.of_text(element.name).draw(self._rnd), out)

    def _blank(self, name: str, out: Pieces) -> Blank:
        self._emit("", out)
        self.size += len(name) + BLANK_SIZE
        return Blank(out, len(out) - 1, name)

    # Element content

    def _particle(self, particle: Particle, place: Place, out: Pieces) -> None:
        required = particle.indicator.occurs.required
        fits = self._fits(particle, place)
        wanted = required or (
            fits and not self._full and self._rnd() < self._parameters.optional_probability
        )
        if particle.indicator.occurs.many and fits:
            slot = Slot([], particle, place)
            out.append(slot.pieces)
            self.slots.append(slot)
            if wanted:
                self.repeat(slot, slot.pieces)
        elif wanted:
            self._once(particle, place, out)

    def _once(self, particle: Particle, place: Place, out: Pieces) -> None:
        if isinstance(particle, Child):
            self._element(particle.name, self._below(particle.name, place), out)
            self._emit("\n", out)
        elif isinstance(particle, Sequence):
            for item in particle.items:
                self._particle(item, place, out)
        else:
            self._particle(self._alternative(particle, place), place, out)

    def _alternative(self, choice: Choice, place: Place) -> Particle:
        if not self._full:
            draw = self._shape.choices[id(choice)]
            for _ in choice.items:
                item = draw(self._rnd)
                if self._fits(item, place):
                    return item
        # The one that ends soonest; this is what ends recursion.
        return min(choice.items, key=lambda item: self._shape.particle_heights[id(item)])

    def _fits(self, particle: Particle, place: Place) -> bool:
        """Whether one more of it keeps within levels and recursion."""
        if isinstance(particle, Child):
            return self._child_fits(particle.name, place)
        if isinstance(particle, Sequence):
            return all(
                self._fits(item, place) for item in particle.items if item.indicator.occurs.required
            )
        return any(self._fits(item, place) for item in particle.items)

    def _child_fits(self, child: str, place: Place) -> bool:
        if place.level + self._shape.heights[child] > self._parameters.levels_max:
            return False
        return place.nesting < self._parameters.recursion_max or not self._shape.knotted(
            place.label, child
        )

    def _below(self, child: str, place: Place, mixed: int = 0) -> Place:
        nesting = place.nesting + 1 if self._shape.knotted(place.label, child) else 1
        return Place(child, place.level + 1, nesting, place.mixed + mixed)

    # Mixed content

    def _mixed(self, place: Place, out: Pieces) -> None:
        parameters, rnd = self._parameters, self._rnd
        words = 3.0 if place.mixed else 2 * parameters.words_mean * wordiness(place.label)
        room = max(0, self.size_wanted - self.size) // WORD_SIZE
        words_left = 1 + min(int(rnd() * words), room)
        inlines = 0
        if not self._full:
            inlines = geometric(parameters.inlines_mean * parameters.inline_decay**place.mixed, rnd)
        for inlines_left in range(inlines, 0, -1):
            run = int(rnd() * 2 * words_left / (inlines_left + 1))
            words_left -= run
            if run:
                self._emit(self._text.cut(run, rnd) + " ", out)
            child = self._shape.inlines[place.label](rnd)
            if self._child_fits(child, place):
                self._element(child, self._below(child, place, mixed=1), out)
                self._emit(" ", out)
        self._emit(self._text.cut(words_left, rnd), out)
