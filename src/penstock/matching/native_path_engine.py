"""Adapter of the native path engines: converts between tuples and Penstock's types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Final, TypeAlias

from penstock.documents import (
    Context,
    Fragment,
    Limits,
    Name,
    Span,
    read_events,
    read_summary,
)
from penstock.errors import QueryError, error
from penstock.language import Query
from penstock.language.relations.native_pairs import compiled
from penstock.language.xpath.native_tree import query_of
from penstock.matching.engine import Buffer
from penstock.matching.explanation_text import ExplanationText
from penstock.matching.header_tests import HeaderFields
from penstock.matching.lazy_fragments import LazyFragments
from penstock.matching.limits import CACHE_BYTES_MAX, OTHER_NAMESPACES_BYTES_MAX, UNDECIDED_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.native_base import (
    NativeIndexBase,
    NativeSnapshotMatcher,
    context_of,
    document_error,
    loaded_index,
    query_errors,
    refuse_header_tests,
    summary_of,
)
from penstock.matching.other_namespaces import OtherNamespaces
from penstock.matching.results import Explanation, Witness
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import CompiledQuery, Index, Matcher, SelectedNodes

DEFAULT_ENGINE: Final = "shared"

_Spans: TypeAlias = Sequence[tuple[int, int, bool]]


class NativeIndex(NativeIndexBase):
    """XPath subscriptions stored by the native core."""

    _index: Index

    def __init__(self, index: Index | None = None) -> None:
        self._index = native.Index() if index is None else index

    @classmethod
    def load(cls, path: str | PathLike[str]) -> NativeIndex:
        """Map a saved index into memory."""
        return cls(loaded_index(path, native.Index.load(path)))

    @classmethod
    def from_bytes(cls, content: bytes) -> NativeIndex:
        """The index in the content of an index file."""
        return cls(loaded_index("a pickled index", native.Index.from_bytes(content)))

    def add_many(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        namespaces: Mapping[str, str] | None,
        default_namespace: str | None,
        where: Sequence[HeaderFields] = (),
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position."""
        refused = self._index.add_many(
            list(ids),
            list(queries),
            list((namespaces or {}).items()),
            default_namespace or "",
            [list(each.items()) for each in where],
        )
        return query_errors(queries, refused)

    def matcher(self, engine: str, limits: Limits) -> NativeMatcher:
        """Create a matcher of the current subscriptions."""
        core = self._index.matcher(engine, limits.by_name(), CACHE_BYTES_MAX, UNDECIDED_MAX)
        if engine != DEFAULT_ENGINE:
            refuse_header_tests(engine, core)
        return NativeMatcher(core, limits)

    def containers(self, query: Query, where: HeaderFields) -> Sequence[str]:
        """The ids of the subscriptions that contain one with this query, in normal form."""
        header = list(where.items())
        return self._index.containers(_compiled(query), header, CACHE_BYTES_MAX, UNDECIDED_MAX)

    def all_containers(self) -> Mapping[str, Sequence[str]]:
        """For each subscription the ids of those that contain it, itself excluded.

        May leave out subscriptions for which all others would have to be tested.
        """
        ids, rows = self._index.all_containers(CACHE_BYTES_MAX, UNDECIDED_MAX)
        return {
            ids[handle]: [ids[above] for above in containers if above != handle]
            for handles, containers in rows
            for handle in handles
        }

    def contained(self, query: Query, where: HeaderFields) -> Sequence[str]:
        """The ids of the subscriptions that one with this query in normal form contains."""
        return self._index.contained(_compiled(query), list(where.items()))


def _compiled(query: Query) -> CompiledQuery:
    try:
        return compiled(query)
    except ValueError as reason:  # a syntax tree that no parser made
        raise error("query.limit", str(reason)) from reason


class NativeMatcher(NativeSnapshotMatcher):
    """A matcher of XPath subscriptions in the native core."""

    core: Matcher

    def __init__(self, matcher: Matcher, limits: Limits) -> None:
        self.core = matcher
        self.limits = limits

    def reading_within(self, limits: Limits) -> NativeMatcher:
        """The same matcher with other reader limits."""
        return NativeMatcher(self.core.reading_within(limits.by_name()), limits)

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that these subscriptions select in a document known to be well-formed."""
        selected, summary, refusal = self.core.select(document, list(subscriptions))
        assert summary is not None, refusal
        context = context_of(document, summary_of(summary))
        return {
            name: _SelectedNodes(document, context, nodes)
            for name, nodes in zip(subscriptions, selected, strict=True)
            if nodes is not None
        }

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Explain why the document matches or not; ``None`` for an unknown subscription."""
        text = self.query(subscription)
        if text is None:
            return None
        explained, refusal = self.core.explain(document, subscription)
        if refusal is not None:
            return Explanation(subscription, text, error=document_error(refusal))
        assert explained is not None
        content = bytes(document)
        lines = Lines(content, read_summary(content, limits=self.limits).encoding)

        def witnesses(nodes: Iterable[tuple[str, _Spans]]) -> list[Witness]:
            return [
                Witness(path, span, lines.at(span.start))
                for path, spans in nodes
                for span in [_joined(spans)]
            ]

        tree, count, nodes, chain, failures = explained
        small = len(content) <= OTHER_NAMESPACES_BYTES_MAX
        formatter = ExplanationText(
            query_of(tree),
            OtherNamespaces(lambda: read_events(content, limits=self.limits) if small else ()),
        )
        if formatter.never:
            return Explanation(subscription, text, never=True)
        return Explanation(
            subscription,
            text,
            witnesses=tuple(witnesses(nodes)),
            witness_count=count,
            steps=() if chain is None else formatter.steps_taken(chain[0], witnesses(chain[1])),
            failures=tuple(
                formatter.failure(
                    branch, step, predicate, reached=reached, witnesses=tuple(witnesses(around))
                )
                for branch, (step, predicate, reached, around) in enumerate(failures)
            ),
            namespaces=formatter.namespaces,
        )


def _joined(spans: _Spans) -> Span:
    """The span from the first part of a node to its last."""
    return Span(spans[0][0], spans[-1][1], any(from_entity for _, _, from_entity in spans))


class _SelectedNodes(LazyFragments):
    """The nodes that a subscription selects, in document order."""

    def __init__(self, document: Buffer, context: Context, nodes: SelectedNodes) -> None:
        self._document = document
        self._context = context
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def _fragment(self, number: int) -> Fragment:
        kind, name, spans, namespaces = self._nodes.node(number)
        span = _joined(spans)
        return Fragment(
            kind,
            (span,),
            (bytes(self._document[span.start : span.end]),),
            tuple(sorted(namespaces)),
            self._context,
            None if name is None else Name(*name),
        )
