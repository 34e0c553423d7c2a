"""Detailed answers from the tree: witnesses, path returns, missing keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.documents import Context, Fragment, Span, Summary
from penstock.documents.reference.reader import Reading
from penstock.language.keywords.query import KeywordQuery
from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.matching.answers import Answer, Form, KeywordWitnesses, merge_spans, ranked
from penstock.matching.limits import KEYWORD_WITNESSES_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.reference import keyword_semantics
from penstock.matching.reference.keyword_tree import Element, keyword_tree
from penstock.matching.results import Witness


@dataclass(frozen=True, slots=True)
class AnswerBuilder:
    """Builds detailed answers for one document."""

    document: bytes
    context: Context
    elements: Sequence[Element]
    lines: Lines

    @classmethod
    def of(cls, document: bytes, reading: Reading, options: TokenizerOptions) -> AnswerBuilder:
        """Creates a builder from a reading of the document."""
        context = Context.of(document, Summary(*reading.amounts()))
        lines = Lines(document, reading.encoding)
        return cls(document, context, keyword_tree(reading.events, options), lines)

    def answers(self, query: KeywordQuery, form: Form, limit: int | None) -> tuple[Answer, ...]:
        """The answers of a query, best first."""
        found = keyword_semantics.answers(query, self.elements)
        return ranked((self._answer(query, form, *each) for each in found.items()), limit)

    def lacking(self, query: KeywordQuery) -> tuple[str, ...]:
        """The keywords that do not occur in the document."""
        present = keyword_semantics.contained(frozenset(query.keywords), self.elements)
        return tuple(each for each in query.keywords if each not in present[self.elements[0]])

    def _answer(
        self, query: KeywordQuery, form: Form, element: Element, content: Sequence[Element]
    ) -> Answer:
        by_keyword = {
            keyword: [each for each in content if each.contains(keyword)]
            for keyword in query.keywords
        }
        listed = {
            each.number: each
            for witnesses in by_keyword.values()
            for each in witnesses[:KEYWORD_WITNESSES_MAX]
        }
        path_elements = _paths_to(element, listed.values())
        return Answer(
            element=element.number,
            place=self._witness(element),
            depth=element.depth,
            size=len(path_elements),
            witnesses=tuple(
                KeywordWitnesses(
                    keyword, len(found), tuple(map(self._witness, found[:KEYWORD_WITNESSES_MAX]))
                )
                for keyword, found in by_keyword.items()
                if found
            ),
            truncated=any(len(found) > KEYWORD_WITNESSES_MAX for found in by_keyword.values()),
            fragment=self._fragment(form, element, path_elements, listed),
        )

    def _fragment(
        self,
        form: Form,
        element: Element,
        path_elements: Iterable[Element],
        content: Mapping[int, Element],
    ) -> Fragment | None:
        match form:
            case "ids":
                return None
            case "subtree":
                spans = [element.span]
            case "paths":
                spans = []
                for each in path_elements:
                    spans += [each.start_tag, self._end_tag(each)]
                    spans += each.texts if each.number in content else []
        return Fragment.cut(
            self.document,
            "path" if form == "paths" else "element",
            merge_spans(sorted(spans)),
            namespaces=dict(element.namespaces),
            context=self.context,
        )

    def _end_tag(self, element: Element) -> Span:
        """The span of the end tag; the whole element if it is empty or comes from an entity."""
        if element.span.end == element.start_tag.end:
            return element.span
        mark = "</".encode(self.context.encoding)
        start = self.document.rfind(mark, element.start_tag.end, element.span.end)
        return Span(start, element.span.end)

    def _witness(self, element: Element) -> Witness:
        return Witness(element.path(), element.span, self.lines.at(element.span.start))


def _paths_to(top: Element, elements: Iterable[Element]) -> list[Element]:
    """The elements on the paths from a common ancestor to these elements, in document order."""
    found = {top.number: top}
    for element in elements:
        for each in element.ancestors_or_self():
            if each.number in found:
                break
            found[each.number] = each
    return [found[number] for number in sorted(found)]
