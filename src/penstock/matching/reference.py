"""The plain definition of matching: each query evaluated by itself, by lxml, on the whole tree.

Slow and obviously right. The native engines are compared with it, and where they could not be
built, it serves.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path as FilePath

import pyarrow as pa
from lxml import etree

from penstock.documents import Context, Fragment, Limits, Summary
from penstock.documents import reference as reader
from penstock.documents.reference import Reading
from penstock.errors import DocumentError, QueryError, error
from penstock.language import Subscription, normalise
from penstock.language.ast import Query
from penstock.matching.engine import BatchOutcome, Buffer, Outcome
from penstock.matching.explaining import Explainer
from penstock.matching.lxml_paths import compile_query
from penstock.matching.reference_file import read_index, write_index
from penstock.matching.results import NO_WORK, Explanation, IndexStats, Names, Work
from penstock.matching.tree import tree_of


@dataclass(frozen=True, slots=True)
class _Entry:
    given: Subscription
    query: Query
    select: Callable[[etree._ElementTree], list[object]]


class ReferenceIndex:
    """Subscriptions by id, in the order in which they came."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ReferenceIndex:
        """Read a saved index."""
        index = cls()
        for subscription in read_index(path):
            index._add(subscription)
        return index

    def add_many(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        namespaces: Mapping[str, str] | None,
        default_namespace: str | None,
    ) -> Mapping[int, QueryError]:
        """Add what can be added; the errors of the rest by position."""
        prefixes = namespaces or {}
        errors: dict[int, QueryError] = {}
        for position, (name, text) in enumerate(zip(ids, queries, strict=True)):
            try:
                self._add(
                    Subscription(
                        name, text, namespaces=prefixes, default_namespace=default_namespace
                    )
                )
            except QueryError as reason:
                errors[position] = reason
        return errors

    def _add(self, given: Subscription) -> None:
        with self._lock:
            if given.id in self._entries:
                raise error(
                    "subscription.duplicate", f"there is a subscription `{given.id}` already"
                )
            query = given.parsed
            self._entries[given.id] = _Entry(given, query, compile_query(query))

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; whether there was one."""
        with self._lock:
            return self._entries.pop(subscription, None) is not None

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return subscription in self._entries

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query as it was given."""
        found = self._entries.get(subscription)
        return found.given.query if found else None

    def __len__(self) -> int:
        return len(self._entries)

    def stats(self) -> IndexStats:
        """What the index holds."""
        snapshot = self._snapshot()
        return IndexStats(
            subscriptions=len(snapshot),
            distinct_queries=len({normalise(each.query) for each in snapshot}),
            segments=1 if snapshot else 0,
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, which appears whole or not at all."""
        write_index(path, [each.given for each in self._snapshot()])

    def matcher(self, engine: str, limits: Limits) -> ReferenceMatcher:
        """A snapshot that matches."""
        assert engine == "reference"
        return ReferenceMatcher(self._snapshot(), limits)

    def _snapshot(self) -> list[_Entry]:
        with self._lock:
            return list(self._entries.values())


class ReferenceMatcher:
    """Evaluates each distinct query on the tree of each document."""

    def __init__(self, subscriptions: Sequence[_Entry], limits: Limits) -> None:
        self._limits = limits
        self._by_id = {each.given.id: each for each in subscriptions}
        self._alike: dict[Query, list[str]] = defaultdict(list)
        for each in subscriptions:
            self._alike[each.query].append(each.given.id)

    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""
        try:
            reading = self._read(document)
        except DocumentError as reason:
            return Outcome(Names(), error=reason)
        tree = tree_of(reading.events)
        ids: list[str] = []
        for alike in self._alike.values():
            if self._by_id[alike[0]].select(tree.root):
                ids += alike
        return Outcome(Names(ids), Work(bytes_read=reading.size, elements=reading.amounts()[0]))

    def match_file(self, path: str | PathLike[str]) -> Outcome:
        """Match a file's content, all of it in memory."""
        return self.match(FilePath(path).read_bytes())

    def match_chunks(self, chunks: Iterable[Buffer]) -> Outcome:
        """Match a document that comes in pieces, all of it in memory."""
        return self.match(b"".join(chunks))

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        """Match each document of an array without nulls."""
        offsets, indices, work = [0], [], NO_WORK
        dictionary: dict[str, int] = {}
        errors: dict[int, DocumentError] = {}
        for row, document in enumerate(documents):
            outcome = self.match(memoryview(document.as_buffer()))
            if outcome.error is not None:
                errors[row] = outcome.error
            indices += [
                dictionary.setdefault(name, len(dictionary)) for name in outcome.handles.ids()
            ]
            offsets.append(len(indices))
            work += outcome.work
        return BatchOutcome(
            list_offsets=pa.array(offsets, pa.int32()),
            indices=pa.array(indices, pa.int32()),
            ids=pa.array(dictionary.keys(), pa.string()),
            errors=errors,
            work=work,
        )

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document that is known to be sound."""
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
        """Why the document meets the subscription or does not; ``None`` if there is none such."""
        found = self._by_id.get(subscription)
        if found is None:
            return None
        given, content = found.given, bytes(document)
        try:
            reading = self._read(content)
        except DocumentError as reason:
            return Explanation(given.id, given.query, error=reason)
        return Explainer.of(content, reading).explain(given.id, given.query, normalise(found.query))

    def _read(self, document: Buffer) -> Reading:
        """The document by the reference reader: no engine's view but the plain one."""
        return reader.read(bytes(document), self._limits, {}, False)
