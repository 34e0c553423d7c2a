"""The reference engine of keyword subscriptions: each query by itself, by definition, on a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from penstock.documents import Fragment, Limits
from penstock.errors import DocumentError, QueryError
from penstock.language.keywords.query import KeywordQuery, parse_keywords
from penstock.matching.answers import Answer, Form, path_returns
from penstock.matching.engine import Buffer, Outcome
from penstock.matching.limits import WITNESSES_MAX
from penstock.matching.reference import keyword_semantics as keyword_reference
from penstock.matching.reference.index_file import KEYWORD_MAGIC, read_index, write_index
from penstock.matching.reference.keyword_answers import Answering
from penstock.matching.reference.keyword_tree import keyword_tree
from penstock.matching.reference.reference_base import PlainIndex, PlainMatcher
from penstock.matching.results import Explanation, IndexStats, Names, Work


@dataclass(frozen=True, slots=True)
class _Entry:
    id: str
    text: str
    query: KeywordQuery


def _entry(name: str, text: str) -> _Entry:
    return _Entry(name, text, parse_keywords(text))


class ReferenceKeywordIndex(PlainIndex[_Entry]):
    """Keyword subscriptions by id, in the order in which they came."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ReferenceKeywordIndex:
        """Read a saved index."""
        return cls(_entry(row["id"], row["query"]) for row in read_index(path, KEYWORD_MAGIC))

    def add_many(self, ids: Sequence[str], queries: Sequence[str]) -> Mapping[int, QueryError]:
        """Add what can be added; the errors of the rest by position."""
        return self._add_each(ids, queries, _entry)

    def stats(self) -> IndexStats:
        """What the index holds."""
        snapshot = self._snapshot()
        return IndexStats(
            subscriptions=len(snapshot),
            distinct_queries=len({each.query for each in snapshot}),
            segments=1 if snapshot else 0,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, which appears whole or not at all."""
        rows = [{"id": each.id, "query": each.text} for each in self._snapshot()]
        write_index(path, KEYWORD_MAGIC, rows)

    def matcher(self, engine: str, limits: Limits, *, discard: bool) -> ReferenceKeywordMatcher:
        """A snapshot that matches; it discards nothing, whatever was asked for."""
        assert engine == "reference"
        return ReferenceKeywordMatcher(self._snapshot(), limits)


class ReferenceKeywordMatcher(PlainMatcher):
    """Answers each distinct query on the tree of each document."""

    def __init__(self, subscriptions: Sequence[_Entry], limits: Limits) -> None:
        super().__init__(limits)
        self._by_id = {each.id: each for each in subscriptions}
        self._alike: dict[KeywordQuery, list[str]] = defaultdict(list)
        for each in subscriptions:
            self._alike[each.query].append(each.id)

    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""
        try:
            reading = self._read(document)
        except DocumentError as reason:
            return Outcome(Names(), error=reason)
        elements = keyword_tree(reading.events)
        ids: list[str] = []
        for query, alike in self._alike.items():
            if keyword_reference.answers(query, elements):
                ids += alike
        return Outcome(Names(ids), Work(bytes_read=reading.size, elements=len(elements)))

    def answer_ids(self, document: Buffer) -> Mapping[str, tuple[int, ...]]:
        """The elements that answer each subscription that has an answer, by number, ascending."""
        found: dict[str, tuple[int, ...]] = {}
        for query, numbers in self._answered(document):
            if numbers:
                found |= dict.fromkeys(self._alike[query], numbers)
        return found

    def answer_count(self, document: Buffer) -> int:
        """How many answers all distinct queries have together."""
        return sum(len(numbers) for _, numbers in self._answered(document))

    def engine_counters(self) -> Mapping[str, int]:
        """Nothing: the reference keeps no count."""
        return {}

    def _answered(self, document: Buffer) -> Iterator[tuple[KeywordQuery, tuple[int, ...]]]:
        """The answers of each distinct query by number."""
        elements = keyword_tree(self._read(document).events)
        for query in self._alike:
            found = keyword_reference.answers(query, elements)
            yield query, tuple(each.number for each in found)

    def answers(
        self, document: Buffer, subscriptions: Sequence[str], form: Form, limit: int | None
    ) -> Mapping[str, tuple[Answer, ...]]:
        """The best answers of each of these subscriptions, which there are, the best first."""
        answering = self._answering(bytes(document))
        return {
            name: answering.answers(self._by_id[name].query, form, limit) for name in subscriptions
        }

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """The path returns of these subscriptions in a document that is known to be sound."""
        return path_returns(self.answers(document, subscriptions, "paths", None))

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Why the document meets the subscription or does not; ``None`` if there is none such."""
        found = self._by_id.get(subscription)
        if found is None:
            return None
        try:
            answering = self._answering(bytes(document))
        except DocumentError as reason:
            return Explanation(found.id, found.text, error=reason)
        answers = answering.answers(found.query, "ids", None)
        return Explanation(
            found.id,
            found.text,
            witnesses=tuple(each.place for each in answers[:WITNESSES_MAX]),
            witness_count=len(answers),
            answers=answers[:WITNESSES_MAX],
            lacking=answering.lacking(found.query),
        )

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return subscription in self._by_id

    def _answering(self, document: bytes) -> Answering:
        return Answering.of(document, self._read(document))
