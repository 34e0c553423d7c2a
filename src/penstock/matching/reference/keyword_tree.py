"""The tree of a document for keyword search: elements with the words they directly contain.

An element directly contains the words of its name, of its attributes' names and values, and of its
own text. A word never spans a tag, a comment or a processing instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.documents import EndElement, Event, Name, Span, StartElement, Text
from penstock.language.keywords.reference.tokenizer import words


@dataclass(slots=True, eq=False)
class Element:
    """An element of the tree."""

    number: int
    """Position in document order; the root is 0."""
    name: Name
    namespaces: tuple[tuple[str, str], ...]
    start_tag: Span
    parent: Element | None
    span: Span
    """From start tag to end tag; final once the element is closed."""
    words: set[str] = field(default_factory=set)
    """The words it directly contains."""
    texts: list[Span] = field(default_factory=list)
    """The spans of its own text."""
    children: list[Element] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """Depth of the element; the root has depth 1."""
        return sum(1 for _ in self.ancestors_or_self())

    def ancestors_or_self(self) -> Iterator[Element]:
        """The element and its ancestors, the root last."""
        at: Element | None = self
        while at is not None:
            yield at
            at = at.parent

    def path(self) -> str:
        """A query that selects it, such as ``/a[1]/*:b[2]``."""
        return "".join(reversed([each._step() for each in self.ancestors_or_self()]))

    def _step(self) -> str:
        siblings = self.parent.children if self.parent else [self]
        matching = [each for each in siblings if self._test_holds_for(each)]
        test = f"*:{self.name.local}" if self.name.uri else self.name.local
        return f"/{test}[{matching.index(self) + 1}]"

    def _test_holds_for(self, other: Element) -> bool:
        """Whether the prefix-free name test of this element also selects another one."""
        same_local = self.name.local == other.name.local
        return same_local and bool(self.name.uri or not other.name.uri)


def keyword_tree(events: Iterable[Event]) -> list[Element]:
    """The elements of a well-formed document, in document order."""
    elements: list[Element] = []
    opened: list[Element] = []
    for event in events:
        match event:
            case StartElement():
                parent = opened[-1] if opened else None
                element = Element(
                    len(elements), event.name, event.namespaces, event.span, parent, event.span
                )
                element.words.update(words(event.name.local))
                for attribute in event.attributes:
                    element.words.update(words(attribute.name.local))
                    element.words.update(words(attribute.value))
                if parent is not None:
                    parent.children.append(element)
                elements.append(element)
                opened.append(element)
            case EndElement():
                opened.pop().span = event.span
            case Text():
                opened[-1].words.update(words(event.text))
                opened[-1].texts.append(event.span)
    return elements
