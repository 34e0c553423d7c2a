"""The reference engine of keyword subscriptions: evaluates each query on the tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

from penstock.documents import Fragment, Limits
from penstock.documents.reference.reader import Reading
from penstock.errors import DocumentError, QueryError
from penstock.language.keywords.query import KeywordQuery, parse_keywords
from penstock.language.keywords.tokenizer_options import TOKENIZER_BEFORE_OPTIONS, TokenizerOptions
from penstock.matching.answers import Answer, Form, path_returns
from penstock.matching.engine import Buffer, Outcome
from penstock.matching.header_tests import NO_FIELDS, HeaderFields, failed_tests
from penstock.matching.limits import WITNESSES_MAX
from penstock.matching.reference import keyword_semantics
from penstock.matching.reference.index_file import (
    KEYWORD_MAGIC,
    decode_index,
    encode_index,
    read_index,
    write_index,
)
from penstock.matching.reference.keyword_answers import AnswerBuilder
from penstock.matching.reference.keyword_tree import keyword_tree
from penstock.matching.reference.reference_base import ReferenceIndexBase, ReferenceMatcherBase
from penstock.matching.results import Explanation, IndexStats, ResolvedIds, Work


@dataclass(frozen=True, slots=True)
class _Entry:
    id: str
    text: str
    query: KeywordQuery
    where: HeaderFields


_OPTIONS: Final = "tokenizer"
"""The key of the first row of an index file."""


class ReferenceKeywordIndex(ReferenceIndexBase[_Entry]):
    """Keyword subscriptions by id, in insertion order."""

    def __init__(self, options: TokenizerOptions) -> None:
        super().__init__()
        self.options = options

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ReferenceKeywordIndex:
        """Read a saved index."""
        return read_index(path, KEYWORD_MAGIC, cls._of_rows)

    @classmethod
    def from_bytes(cls, content: bytes) -> ReferenceKeywordIndex:
        """The index in the content of an index file."""
        return decode_index(content, "a pickled index", KEYWORD_MAGIC, cls._of_rows)

    @classmethod
    def _of_rows(cls, rows: Iterator[Mapping[str, Any]]) -> ReferenceKeywordIndex:
        index = cls(TOKENIZER_BEFORE_OPTIONS)
        for number, row in enumerate(rows):
            if number == 0 and _OPTIONS in row:
                index.options = TokenizerOptions.of_names(row[_OPTIONS])
                continue
            entry = index._entry(row["id"], row["query"], row.get("where", NO_FIELDS))
            index._entries[entry.id] = entry
        return index

    def _entry(self, name: str, text: str, where: HeaderFields) -> _Entry:
        return _Entry(name, text, parse_keywords(text, self.options), dict(where))

    def add_many(
        self, ids: Sequence[str], queries: Sequence[str], where: Sequence[HeaderFields] = ()
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position."""
        return self._add_each(ids, queries, where, self._entry)

    def stats(self) -> IndexStats:
        """Sizes of the index."""
        snapshot = self._snapshot()
        return IndexStats(
            subscriptions=len(snapshot),
            distinct_queries=len(
                {(each.query, frozenset(each.where.items())) for each in snapshot}
            ),
            segments=1 if snapshot else 0,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, atomically."""
        write_index(path, KEYWORD_MAGIC, self._rows())

    def to_bytes(self) -> bytes:
        """The content of the index file."""
        return encode_index(KEYWORD_MAGIC, self._rows())

    def _rows(self) -> list[dict[str, object]]:
        subscriptions: list[dict[str, object]] = [
            {"id": each.id, "query": each.text}
            | ({"where": dict(each.where)} if each.where else {})
            for each in self._snapshot()
        ]
        return [{_OPTIONS: self.options.by_name()}, *subscriptions]

    def matcher(self, engine: str, limits: Limits, *, discard: bool) -> ReferenceKeywordMatcher:
        """Create a matcher of the current subscriptions; ``discard`` has no effect."""
        assert engine == "reference"
        return ReferenceKeywordMatcher(self._snapshot(), limits, self.options)


class ReferenceKeywordMatcher(ReferenceMatcherBase):
    """Evaluates each distinct query on the tree of each document."""

    def __init__(
        self, subscriptions: Sequence[_Entry], limits: Limits, options: TokenizerOptions
    ) -> None:
        super().__init__(limits)
        self._options = options
        self._by_id = {each.id: each for each in subscriptions}
        self._ids_by_query: dict[KeywordQuery, list[str]] = defaultdict(list)
        for each in subscriptions:
            self._ids_by_query[each.query].append(each.id)

    @property
    def tests_headers(self) -> bool:
        """Whether some subscription tests header fields."""
        return any(each.where for each in self._by_id.values())

    def _match(self, reading: Reading, header: HeaderFields) -> Outcome:
        """Match a document that was read."""
        elements = keyword_tree(reading.events, self._options)
        ids: list[str] = []
        for query, equal in self._ids_by_query.items():
            if keyword_semantics.answers(query, elements):
                ids += [name for name in equal if not failed_tests(self._by_id[name].where, header)]
        return Outcome(ResolvedIds(ids), Work(bytes_read=reading.size, elements=len(elements)))

    def engine_counters(self) -> Mapping[str, int]:
        """Nothing: the reference keeps no count."""
        return {}

    def answers(
        self, document: Buffer, subscriptions: Sequence[str], form: Form, limit: int | None
    ) -> Mapping[str, tuple[Answer, ...]]:
        """The best answers of each of these existing subscriptions, best first."""
        builder = self._answer_builder(bytes(document))
        return {
            name: builder.answers(self._by_id[name].query, form, limit) for name in subscriptions
        }

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """The path returns of these subscriptions in a document known to be well-formed."""
        return path_returns(self.answers(document, subscriptions, "paths", None))

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Explain why the document matches or not; ``None`` for an unknown subscription."""
        found = self._by_id.get(subscription)
        if found is None:
            return None
        try:
            builder = self._answer_builder(bytes(document))
        except DocumentError as reason:
            return Explanation(found.id, found.text, error=reason)
        answers = builder.answers(found.query, "ids", None)
        return Explanation(
            found.id,
            found.text,
            witnesses=tuple(each.place for each in answers[:WITNESSES_MAX]),
            witness_count=len(answers),
            answers=answers[:WITNESSES_MAX],
            lacking=builder.lacking(found.query),
        )

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""
        return subscription in self._by_id

    def where(self, subscription: str) -> HeaderFields:
        """The header fields and values that a subscription requires."""
        return self._by_id[subscription].where

    def _answer_builder(self, document: bytes) -> AnswerBuilder:
        return AnswerBuilder.of(document, self._read(document), self._options)
