"""Answers in full, from the tree: witnesses, path returns, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.documents import Context, Fragment, Span, Summary
from penstock.documents.reference.reader import Reading
from penstock.language.keywords.query import KeywordQuery
from penstock.matching.answers import Answer, Form, KeywordWitnesses, put_together, ranked
from penstock.matching.limits import KEYWORD_WITNESSES_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.reference import keyword_semantics as keyword_reference
from penstock.matching.reference.keyword_tree import Element, keyword_tree
from penstock.matching.results import Witness


@dataclass(frozen=True, slots=True)
class Answering:
    """Answers queries in one document."""

    document: bytes
    context: Context
    elements: Sequence[Element]
    lines: Lines

    @classmethod
    def of(cls, document: bytes, reading: Reading) -> Answering:
        """For a document that was read."""
        context = Context.of(document, Summary(*reading.amounts()))
        lines = Lines(document, reading.encoding)
        return cls(document, context, keyword_tree(reading.events), lines)

    def answers(self, query: KeywordQuery, form: Form, limit: int | None) -> tuple[Answer, ...]:
        """The answers of a query, the best first."""
        found = keyword_reference.answers(query, self.elements)
        return ranked((self._answer(query, form, *each) for each in found.items()), limit)

    def lacking(self, query: KeywordQuery) -> tuple[str, ...]:
        """The keywords that the document has nowhere."""
        there = keyword_reference.contained(frozenset(query.words), self.elements)
        return tuple(word for word in query.words if word not in there[self.elements[0]])

    def _answer(
        self, query: KeywordQuery, form: Form, element: Element, content: Sequence[Element]
    ) -> Answer:
        by_keyword = {
            word: [each for each in content if word in each.words] for word in query.words
        }
        kept = {
            each.number: each
            for witnesses in by_keyword.values()
            for each in witnesses[:KEYWORD_WITNESSES_MAX]
        }
        on_the_way = _ways_up(element, kept.values())
        return Answer(
            element=element.number,
            place=self._witness(element),
            depth=element.depth,
            size=len(on_the_way),
            witnesses=tuple(
                KeywordWitnesses(
                    word, len(found), tuple(map(self._witness, found[:KEYWORD_WITNESSES_MAX]))
                )
                for word, found in by_keyword.items()
                if found
            ),
            truncated=any(len(found) > KEYWORD_WITNESSES_MAX for found in by_keyword.values()),
            fragment=self._fragment(form, element, on_the_way, kept),
        )

    def _fragment(
        self,
        form: Form,
        element: Element,
        on_the_way: Iterable[Element],
        content: Mapping[int, Element],
    ) -> Fragment | None:
        match form:
            case "ids":
                return None
            case "subtree":
                spans = [element.span]
            case "paths":
                spans = []
                for each in on_the_way:
                    spans += [each.start_tag, self._end_tag(each)]
                    spans += each.texts if each.number in content else []
        return Fragment.cut(
            self.document,
            "path" if form == "paths" else "element",
            put_together(sorted(spans)),
            namespaces=dict(element.namespaces),
            context=self.context,
        )

    def _end_tag(self, element: Element) -> Span:
        """The range of an end tag; of an empty-element tag, and out of an entity, all of it."""
        if element.span.end == element.start_tag.end:
            return element.span
        mark = "</".encode(self.context.encoding)
        start = self.document.rfind(mark, element.start_tag.end, element.span.end)
        return Span(start, element.span.end)

    def _witness(self, element: Element) -> Witness:
        return Witness(element.path(), element.span, self.lines.at(element.span.start))


def _ways_up(top: Element, elements: Iterable[Element]) -> list[Element]:
    """The elements between these and one that is around them all, in document order."""
    found = {top.number: top}
    for element in elements:
        for each in element.way_up():
            if each.number in found:
                break
            found[each.number] = each
    return [found[number] for number in sorted(found)]
