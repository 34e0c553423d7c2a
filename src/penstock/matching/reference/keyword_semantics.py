"""The definition of keyword answers on a tree: slow, short, the oracle of the tests.

``CK(e)`` is the set of the query's keywords in the subtree of ``e``. Elements are in document
order, so reverse iteration visits children before their parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from penstock.language.keywords.query import KeywordQuery, Mode
from penstock.matching.reference.keyword_tree import Element

Keywords: TypeAlias = frozenset[str]
Contained: TypeAlias = Mapping[Element, Keywords]
"""``CK`` of every element."""

Answers: TypeAlias = Mapping[Element, list[Element]]
"""Each answer with the content nodes it dominates, in document order."""


def answers(query: KeywordQuery, elements: Sequence[Element]) -> Answers:
    """The answers of a query in a document."""
    found = and_answers if query.mode is Mode.ALL else or_answers
    return found(frozenset(query.keywords), elements)


def contained(keywords: Keywords, elements: Sequence[Element]) -> Contained:
    """``CK`` of every element."""
    found: dict[Element, Keywords] = {}
    for element in reversed(elements):
        below = (found[child] for child in element.children)
        found[element] = _own(keywords, element).union(*below)
    return found


def and_answers(keywords: Keywords, elements: Sequence[Element]) -> Answers:
    """CLCAs: elements that contain all keywords after removing children that contain them all."""
    ck = contained(keywords, elements)
    found: dict[Element, list[Element]] = {}
    for element in elements:
        others = [child for child in element.children if ck[child] != keywords]
        if _union(_own(keywords, element), (ck[child] for child in others)) == keywords:
            found[element] = _content(keywords, element, others)
    return found


def slca_answers(keywords: Keywords, elements: Sequence[Element]) -> list[Element]:
    """SLCAs: elements that contain all keywords while none of their children does."""
    ck = contained(keywords, elements)
    return [
        element
        for element in elements
        if ck[element] == keywords and all(ck[child] != keywords for child in element.children)
    ]


def or_answers(keywords: Keywords, elements: Sequence[Element]) -> Answers:
    """Answers of an OR query, top-down from the root."""
    ck = contained(keywords, elements)
    found: dict[Element, list[Element]] = {}
    to_examine = elements[:1]
    while to_examine:
        next_to_examine: list[Element] = []
        for element in to_examine:
            if not ck[element]:
                continue
            set_aside = [child for child in element.children if ck[child] == ck[element]]
            others = [child for child in element.children if ck[child] != ck[element]]
            own = _own(keywords, element)
            if _union(own, (ck[child] for child in others)) != ck[element]:
                next_to_examine += element.children
                continue
            next_to_examine += set_aside
            # The keywords kept from each other child: its subtree's, or only its own once released.
            kept = {child: ck[child] for child in others}
            claimed: list[Element] = []
            released: list[Element] = []
            for child in others:
                without = {**kept, child: _own(keywords, child)}
                if _union(own, without.values()) == ck[element]:
                    kept = without
                    released.append(child)
                    next_to_examine += child.children
                else:
                    claimed.append(child)
            content = _content(keywords, element, claimed)
            content += [child for child in released if _own(keywords, child)]
            found[element] = sorted(content, key=lambda each: each.number)
        to_examine = next_to_examine
    return {element: found[element] for element in elements if element in found}


def _own(keywords: Keywords, element: Element) -> Keywords:
    """The keywords that the element directly contains."""
    return frozenset(filter(element.contains, keywords))


def _union(own: Keywords, others: Iterable[Keywords]) -> Keywords:
    return own.union(*others)


def _content(keywords: Keywords, element: Element, claimed: Iterable[Element]) -> list[Element]:
    """The content nodes among the element and the claimed subtrees."""
    return [each for each in (element, *_subtrees(claimed)) if _own(keywords, each)]


def _subtrees(roots: Iterable[Element]) -> Iterator[Element]:
    """The elements of these subtrees, in document order."""
    waiting = list(roots)[::-1]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += reversed(element.children)
