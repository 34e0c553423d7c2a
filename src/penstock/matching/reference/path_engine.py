"""The reference engine of XPath subscriptions: evaluates each query with lxml on the tree.

Slow and simple: the oracle for the native engines, and the fallback where they could not be built.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from lxml import etree

from penstock.documents import Context, Fragment, Limits, Summary
from penstock.documents.reference.reader import Reading
from penstock.errors import DocumentError, QueryError
from penstock.language import Subscription, contains, normalise
from penstock.language.xpath.ast import Query
from penstock.language.xpath.reference.lxml_xpath import compile_query
from penstock.matching.engine import Buffer, Outcome
from penstock.matching.header_tests import NO_FIELDS, HeaderFields, failed_tests
from penstock.matching.reference.document_tree import tree_of
from penstock.matching.reference.explanation import Explainer
from penstock.matching.reference.index_file import (
    MAGIC,
    decode_index,
    encode_index,
    read_index,
    write_index,
)
from penstock.matching.reference.reference_base import ReferenceIndexBase, ReferenceMatcherBase
from penstock.matching.results import Explanation, IndexStats, ResolvedIds, Work


@dataclass(frozen=True, slots=True)
class _Entry:
    given: Subscription
    query: Query
    select: Callable[[etree._ElementTree], list[object]]
    where: HeaderFields

    @classmethod
    def of(cls, given: Subscription, where: HeaderFields = NO_FIELDS) -> _Entry:
        query = given.parsed
        return cls(given, query, compile_query(query), dict(where))

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> _Entry:
        """The subscription of a row of an index file."""
        given = {name: value for name, value in row.items() if name != "where"}
        return cls.of(Subscription(**given), row.get("where", NO_FIELDS))

    @property
    def id(self) -> str:
        return self.given.id

    @property
    def text(self) -> str:
        return self.given.query


def _entries(rows: Iterator[Mapping[str, Any]]) -> list[_Entry]:
    return [_Entry.of_row(row) for row in rows]


class ReferenceIndex(ReferenceIndexBase[_Entry]):
    """XPath subscriptions by id, in insertion order."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ReferenceIndex:
        """Read a saved index."""
        return cls(read_index(path, MAGIC, _entries))

    @classmethod
    def from_bytes(cls, content: bytes) -> ReferenceIndex:
        """The index in the content of an index file."""
        return cls(decode_index(content, "a pickled index", MAGIC, _entries))

    def add_many(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        namespaces: Mapping[str, str] | None,
        default_namespace: str | None,
        where: Sequence[HeaderFields] = (),
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position."""
        prefixes = namespaces or {}

        def entry(name: str, text: str, own: HeaderFields) -> _Entry:
            return _Entry.of(
                Subscription(name, text, namespaces=prefixes, default_namespace=default_namespace),
                own,
            )

        return self._add_each(ids, queries, where, entry)

    def stats(self) -> IndexStats:
        """Sizes of the index."""
        snapshot = self._snapshot()
        return IndexStats(
            subscriptions=len(snapshot),
            distinct_queries=len(
                {(normalise(each.query), frozenset(each.where.items())) for each in snapshot}
            ),
            segments=1 if snapshot else 0,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, atomically."""
        write_index(path, MAGIC, self._rows())

    def to_bytes(self) -> bytes:
        """The content of the index file."""
        return encode_index(MAGIC, self._rows())

    def _rows(self) -> list[dict[str, object]]:
        return [
            asdict(each.given) | ({"where": dict(each.where)} if each.where else {})
            for each in self._snapshot()
        ]

    def matcher(self, engine: str, limits: Limits) -> ReferenceMatcher:
        """Create a matcher of the current subscriptions."""
        assert engine == "reference"
        return ReferenceMatcher(self._snapshot(), limits)

    def containers(self, query: Query, where: HeaderFields) -> Sequence[str]:
        """The ids of the subscriptions that contain one with this query, in normal form."""
        return [
            each.id
            for each in self._snapshot()
            if not failed_tests(each.where, where) and contains(normalise(each.query), query)
        ]

    def all_containers(self) -> Mapping[str, Sequence[str]]:
        """For each subscription the ids of those that contain it, itself excluded."""
        return {
            each.id: [
                above
                for above in self.containers(normalise(each.query), each.where)
                if above != each.id
            ]
            for each in self._snapshot()
        }

    def contained(self, query: Query, where: HeaderFields) -> Sequence[str]:
        """The ids of the subscriptions that one with this query in normal form contains."""
        return [
            each.id
            for each in self._snapshot()
            if not failed_tests(where, each.where) and contains(query, normalise(each.query))
        ]


class ReferenceMatcher(ReferenceMatcherBase):
    """Evaluates each distinct query on the tree of each document."""

    def __init__(self, subscriptions: Sequence[_Entry], limits: Limits) -> None:
        super().__init__(limits)
        self._by_id = {each.given.id: each for each in subscriptions}
        self._ids_by_query: dict[Query, list[str]] = defaultdict(list)
        for each in subscriptions:
            self._ids_by_query[each.query].append(each.given.id)

    def reading_within(self, limits: Limits) -> ReferenceMatcher:
        """The same matcher with other reader limits."""
        matcher = copy(self)
        matcher.limits = limits
        return matcher

    @property
    def tests_headers(self) -> bool:
        """Whether some subscription tests header fields."""
        return any(each.where for each in self._by_id.values())

    def _match(self, reading: Reading, header: HeaderFields) -> Outcome:
        """Match a document that was read."""
        tree = tree_of(reading.events)
        ids: list[str] = []
        for equal in self._ids_by_query.values():
            if self._by_id[equal[0]].select(tree.root):
                ids += [name for name in equal if not failed_tests(self._by_id[name].where, header)]
        return Outcome(
            ResolvedIds(ids), Work(bytes_read=reading.size, elements=reading.amounts()[0])
        )

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """The fragments that these subscriptions select in a document known to be well-formed."""
        content = bytes(document)
        reading = self._read(content)
        tree = tree_of(reading.events)
        context = Context.of(content, Summary(*reading.amounts()))

        def fragment(found: object) -> Fragment:
            node = tree.node(found)
            return Fragment.cut(
                content,
                node.kind,
                [node.span],
                namespaces=dict(node.namespaces),
                context=context,
                name=node.name,
            )

        return {
            name: tuple(map(fragment, self._by_id[name].select(tree.root)))
            for name in subscriptions
        }

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Explain why the document matches or not; ``None`` for an unknown subscription."""
        found = self._by_id.get(subscription)
        if found is None:
            return None
        given, content = found.given, bytes(document)
        try:
            reading = self._read(content)
        except DocumentError as reason:
            return Explanation(given.id, given.query, error=reason)
        return Explainer.of(content, reading).explain(given.id, given.query, normalise(found.query))

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""
        return subscription in self._by_id

    def where(self, subscription: str) -> HeaderFields:
        """The header fields and values that a subscription requires."""
        return self._by_id[subscription].where
