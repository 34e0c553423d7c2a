"""The native core's engines behind the engine seam: tuples in, Penstock's own types out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from penstock.documents import Context, Fragment, Kind, Limits, Name, Span, read_summary
from penstock.errors import QueryError
from penstock.language.xpath.native_tree import query_of
from penstock.matching.engine import Buffer
from penstock.matching.explanation_text import Wording
from penstock.matching.limits import CACHE_BYTES_MAX, UNDECIDED_MAX
from penstock.matching.line_numbers import Lines
from penstock.matching.native_base import (
    NativeHeld,
    NativeSnapshot,
    context_of,
    document_error,
    loaded_index,
    query_errors,
    summary_of,
)
from penstock.matching.results import Explanation, Witness
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import Index, Matcher

_Spans: TypeAlias = Sequence[tuple[int, int, bool]]
_Node: TypeAlias = tuple[Kind, tuple[str, str] | None, _Spans, Sequence[tuple[str, str]]]


class NativeIndex(NativeHeld):
    """An index of the native core."""

    _index: Index

    def __init__(self, index: Index | None = None) -> None:
        self._index = native.Index() if index is None else index

    @classmethod
    def load(cls, path: str | PathLike[str]) -> NativeIndex:
        """Map a saved index into memory."""
        return cls(loaded_index(path, native.Index.load(path)))

    def add_many(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        namespaces: Mapping[str, str] | None,
        default_namespace: str | None,
    ) -> Mapping[int, QueryError]:
        """Add what can be added; the errors of the rest by position."""
        refused = self._index.add_many(
            list(ids), list(queries), list((namespaces or {}).items()), default_namespace or ""
        )
        return query_errors(queries, refused)

    def matcher(self, engine: str, limits: Limits) -> NativeMatcher:
        """A snapshot that matches."""
        return NativeMatcher(
            self._index.matcher(engine, limits.by_name(), CACHE_BYTES_MAX, UNDECIDED_MAX), limits
        )


class NativeMatcher(NativeSnapshot):
    """A matcher of the native core."""

    of_core: Matcher

    def __init__(self, matcher: Matcher, limits: Limits) -> None:
        self.of_core = matcher
        self.limits = limits

    def reading_within(self, limits: Limits) -> NativeMatcher:
        """The same, reading documents within other limits."""
        return NativeMatcher(self.of_core.reading_within(limits.by_name()), limits)

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document that is known to be sound."""
        selected, summary, refusal = self.of_core.select(document, list(subscriptions))
        assert summary is not None, refusal
        context = context_of(document, summary_of(summary))
        return {
            name: tuple(_fragment(document, context, node) for node in nodes)
            for name, nodes in zip(subscriptions, selected, strict=True)
        }

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Why the document meets the subscription or does not; ``None`` if there is none such."""
        text = self.of_core.query(subscription)
        if text is None:
            return None
        explained, refusal = self.of_core.explain(document, subscription)
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
        wording = Wording(query_of(tree))
        return Explanation(
            subscription,
            text,
            witnesses=tuple(witnesses(nodes)),
            witness_count=count,
            steps=() if chain is None else wording.steps_taken(chain[0], witnesses(chain[1])),
            failures=tuple(
                wording.failure(
                    branch, step, predicate, reached=reached, witnesses=tuple(witnesses(around))
                )
                for branch, (step, predicate, reached, around) in enumerate(failures)
            ),
            namespaces=wording.namespaces,
        )


def _joined(spans: _Spans) -> Span:
    """The range from the first piece of a node to its last."""
    return Span(spans[0][0], spans[-1][1], any(from_entity for _, _, from_entity in spans))


def _fragment(document: Buffer, context: Context, node: _Node) -> Fragment:
    kind, name, spans, namespaces = node
    span = _joined(spans)
    return Fragment(
        kind,
        (span,),
        (bytes(document[span.start : span.end]),),
        tuple(sorted(namespaces)),
        context,
        None if name is None else Name(*name),
    )
