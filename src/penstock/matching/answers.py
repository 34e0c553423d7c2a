"""Answers of keyword queries: the element, what it holds, and what of the document to return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.documents import Fragment, Span
from penstock.matching.results import Witness

Form: TypeAlias = Literal["paths", "subtree", "ids"]
"""What of a document an answer returns.

===========  =======================================================================================
``paths``    the path return: the element with the ways down to the content nodes that it dominates
``subtree``  the whole element
``ids``      nothing: where the answer is will do
===========  =======================================================================================
"""


@dataclass(frozen=True, slots=True)
class KeywordWitnesses:
    """The elements that directly contain one keyword, among those that an answer dominates."""

    keyword: str
    count: int
    """How many there are."""
    first: tuple[Witness, ...]
    """The first :data:`~penstock.matching.limits.KEYWORD_WITNESSES_MAX` in document order."""

    def __str__(self) -> str:
        said = f"{self.keyword} in {', '.join(map(str, self.first))}"
        more = self.count - len(self.first)
        return f"{said} and {more} more" if more else said


@dataclass(frozen=True, slots=True)
class Answer:
    """An element that answers a keyword query: the lowest that holds its keywords together."""

    element: int
    """Its number in document order; the root's is 0."""
    place: Witness
    depth: int
    """How many elements lead to it, itself included."""
    size: int
    """How many elements the path return has."""
    witnesses: tuple[KeywordWitnesses, ...]
    """One for each keyword that it holds, in the order of the query's words."""
    truncated: bool
    """Whether there are more witnesses, or more of their text, than are listed and returned."""
    fragment: Fragment | None
    """The part of the document that was asked for."""

    @property
    def path(self) -> str:
        """A query that leads to the element, such as ``/news[1]/item[2]``."""
        return self.place.path

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords that it holds: all of an AND query's, some of an OR query's."""
        return tuple(each.keyword for each in self.witnesses)

    def __str__(self) -> str:
        return f"{self.place}: {'; '.join(map(str, self.witnesses))}"


def ranked(answers: Iterable[Answer], limit: int | None = None) -> tuple[Answer, ...]:
    """The best first: more keywords, then deeper, then smaller, then earlier; at most ``limit``."""
    order = sorted(
        answers, key=lambda each: (-len(each.witnesses), -each.depth, each.size, each.element)
    )
    return tuple(order[:limit])


def put_together(spans: Iterable[Span]) -> list[Span]:
    """Ranges in document order as few as can be: what touches or overlaps is one.

    They overlap where several nodes came out of one entity: each has the range of its reference.
    """
    joined: list[Span] = []
    for span in spans:
        if joined and span.start <= joined[-1].end:
            last = joined[-1]
            from_entity = last.from_entity or span.from_entity
            joined[-1] = Span(last.start, max(last.end, span.end), from_entity)
        else:
            joined.append(span)
    return joined


def path_returns(
    answers: Mapping[str, tuple[Answer, ...]],
) -> dict[str, tuple[Fragment, ...]]:
    """The parts of the document that the answers return, by subscription."""
    return {
        name: tuple(each.fragment for each in found if each.fragment is not None)
        for name, found in answers.items()
    }
