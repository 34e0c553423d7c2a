"""The tree of a document for keyword search: elements with the words they directly contain.

An element directly contains the words of its name, of its attributes' names and values, and of its
own text. A word never spans a tag, a comment or a processing instruction. The words of a phrase are
next to each other in a name, in an attribute's value, or in the text between two tags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from penstock.documents import EndElement, Event, Name, Span, StartElement, Text
from penstock.language.keywords.query import PHRASE_SEPARATOR
from penstock.language.keywords.reference.tokenizer import words_and_gaps, words_of_name
from penstock.language.keywords.tokenizer_options import DEFAULT_TOKENIZER, TokenizerOptions


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
    sequences: list[list[str]] = field(default_factory=list)
    """The words of its name and of each attribute's name, as a whole and of its parts; the words of
    each attribute's value and of each text between two tags. A word that is too long leaves a gap,
    because the words around it are not adjacent."""
    texts: list[Span] = field(default_factory=list)
    """The spans of its own text."""
    children: list[Element] = field(default_factory=list)

    def contains(self, keyword: str) -> bool:
        """Whether it directly contains a word or phrase."""
        phrase = keyword.split(PHRASE_SEPARATOR)
        return any(_has_adjacent(phrase, sequence) for sequence in self.sequences)

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


def keyword_tree(
    events: Iterable[Event], options: TokenizerOptions = DEFAULT_TOKENIZER
) -> list[Element]:
    """The elements of a well-formed document, in document order."""
    elements: list[Element] = []
    opened: list[Element] = []
    is_text_open = False
    for event in events:
        match event:
            case StartElement():
                parent = opened[-1] if opened else None
                element = Element(
                    len(elements), event.name, event.namespaces, event.span, parent, event.span
                )
                element.sequences += words_of_name(event.name.local, options)
                for attribute in event.attributes:
                    element.sequences += words_of_name(attribute.name.local, options)
                    element.sequences.append(words_and_gaps(attribute.value, options))
                if parent is not None:
                    parent.children.append(element)
                elements.append(element)
                opened.append(element)
                is_text_open = False
            case EndElement():
                opened.pop().span = event.span
                is_text_open = False
            case Text():
                if not is_text_open:
                    opened[-1].sequences.append([])
                    is_text_open = True
                opened[-1].sequences[-1] += words_and_gaps(event.text, options)
                opened[-1].texts.append(event.span)
    return elements


def _has_adjacent(phrase: Sequence[str], sequence: Sequence[str]) -> bool:
    """Whether a sequence of words contains a phrase."""
    length = len(phrase)
    starts = range(len(sequence) - length + 1)
    return any(sequence[start : start + length] == phrase for start in starts)
