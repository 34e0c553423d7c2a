"""Answers to keyword queries: the answering element, its witnesses and the part to return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.documents import Fragment, Span
from penstock.language.keywords.query import spelled
from penstock.matching.results import Witness

Form: TypeAlias = Literal["paths", "subtree", "ids"]
"""Which part of the document an answer returns.

===========  =======================================================================================
``paths``    the path return: the element and the paths down to the content nodes it dominates
``subtree``  the whole element
``ids``      no content, only the position of the answer
===========  =======================================================================================
"""


@dataclass(frozen=True, slots=True)
class KeywordWitnesses:
    """The elements dominated by an answer that directly contain one keyword."""

    keyword: str
    count: int
    """Number of such elements."""
    first: tuple[Witness, ...]
    """The first :data:`~penstock.matching.limits.KEYWORD_WITNESSES_MAX` in document order."""

    def __str__(self) -> str:
        text = f"{spelled(self.keyword)} in {', '.join(map(str, self.first))}"
        more = self.count - len(self.first)
        return f"{text} and {more} more" if more else text


@dataclass(frozen=True, slots=True)
class Answer:
    """An element that answers a keyword query: the lowest one that contains its keywords."""

    element: int
    """Position of the element in document order; the root is 0."""
    place: Witness
    depth: int
    """Depth of the element; the root has depth 1."""
    size: int
    """Number of elements in the path return."""
    witnesses: tuple[KeywordWitnesses, ...]
    """One entry per contained keyword, in query order."""
    truncated: bool
    """Whether witnesses or parts of their text were omitted because of a limit."""
    fragment: Fragment | None
    """The requested part of the document."""

    @property
    def path(self) -> str:
        """A query that selects the element, such as ``/news[1]/item[2]``."""
        return self.place.path

    @property
    def keywords(self) -> tuple[str, ...]:
        """The contained keywords: all of an AND query, some of an OR query."""
        return tuple(each.keyword for each in self.witnesses)

    def __str__(self) -> str:
        return f"{self.place}: {'; '.join(map(str, self.witnesses))}"


def ranked(answers: Iterable[Answer], limit: int | None = None) -> tuple[Answer, ...]:
    """Ranks answers: more keywords, then deeper, smaller, earlier; returns at most ``limit``."""
    order = sorted(
        answers, key=lambda each: (-len(each.witnesses), -each.depth, each.size, each.element)
    )
    return tuple(order[:limit])


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merges spans in document order that touch or overlap.

    Spans overlap where several nodes come from one entity: each has the span of the reference.
    """
    merged: list[Span] = []
    for span in spans:
        if merged and span.start <= merged[-1].end:
            last = merged[-1]
            from_entity = last.from_entity or span.from_entity
            merged[-1] = Span(last.start, max(last.end, span.end), from_entity)
        else:
            merged.append(span)
    return merged


def path_returns(
    answers: Mapping[str, tuple[Answer, ...]],
) -> dict[str, tuple[Fragment, ...]]:
    """The fragments that the answers return, by subscription."""
    return {
        name: tuple(each.fragment for each in found if each.fragment is not None)
        for name, found in answers.items()
    }
