"""The native core's engines behind the engine seam: tuples in, Penstock's own types out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from penstock.documents import Context, Fragment, Kind, Limits, Name, Span, Summary, read_summary
from penstock.errors import DocumentError, IndexFileError, QueryError, Where
from penstock.language.native_tree import query_of
from penstock.language.position import position_of
from penstock.matching.engine import BatchOutcome, Buffer, Outcome
from penstock.matching.limits import CACHE_BYTES_MAX, UNDECIDED_MAX
from penstock.matching.lines import Lines
from penstock.matching.results import Explanation, Handles, IndexStats, Witness, Work
from penstock.matching.wording import Wording
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import Index, Matcher

_OFFSET_BYTES = 8
"""Of an offset in an Arrow array of large binaries."""

_Refusal: TypeAlias = tuple[str, str, int, int, int]
_Spans: TypeAlias = Sequence[tuple[int, int, bool]]
_Node: TypeAlias = tuple[Kind, tuple[str, str] | None, _Spans, Sequence[tuple[str, str]]]


class NativeIndex:
    """An index of the native core."""

    def __init__(self, index: Index | None = None) -> None:
        self._index = native.Index() if index is None else index

    @classmethod
    def load(cls, path: str | PathLike[str]) -> NativeIndex:
        """Map a saved index into memory."""
        index, refusal = native.Index.load(path)
        if refusal is not None:
            code, message = refusal
            raise IndexFileError(code, f"{path}: {message}")
        return cls(index)

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
        return {
            position: QueryError(
                code,
                message,
                where=None if offset is None else position_of(queries[position], offset),
            )
            for position, code, message, offset in refused
        }

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; whether there was one."""
        return self._index.remove(subscription)

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return self._index.contains(subscription)

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query as it was given."""
        return self._index.query(subscription)

    def __len__(self) -> int:
        return len(self._index)

    def stats(self) -> IndexStats:
        """What the index holds."""
        return IndexStats(*self._index.stats())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, which appears whole or not at all."""
        self._index.save(path)

    def matcher(self, engine: str, limits: Limits) -> NativeMatcher:
        """A snapshot that matches."""
        return NativeMatcher(
            self._index.matcher(engine, limits.by_name(), CACHE_BYTES_MAX, UNDECIDED_MAX), limits
        )


class NativeMatcher:
    """A matcher of the native core; the interpreter is released while it works."""

    def __init__(self, matcher: Matcher, limits: Limits) -> None:
        self._matcher = matcher
        self._limits = limits

    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""
        return _outcome(*self._matcher.match_bytes(document))

    def match_file(self, path: str | PathLike[str]) -> Outcome:
        """Match a file's content as it is read."""
        return _outcome(*self._matcher.match_file(path))

    def match_chunks(self, chunks: Iterable[Buffer]) -> Outcome:
        """Match a document that comes in pieces."""
        return _outcome(*self._matcher.match_chunks(chunks))

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        """Match each document of an array without nulls."""
        _, offsets, data = documents.buffers()
        first, end = documents.offset * _OFFSET_BYTES, (len(documents) + 1) * _OFFSET_BYTES
        starts, indices, ids, refusals, counters = self._matcher.match_batch(
            _plain(data), _plain(offsets)[first : first + end]
        )
        return BatchOutcome(
            list_offsets=_int32(starts),
            indices=_int32(indices),
            ids=pa.array(ids, pa.string()),
            errors={row: _document_error(refusal) for row, refusal in refusals},
            work=Work(**counters),
        )

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document that is known to be sound."""
        selected, summary, refusal = self._matcher.select(document, list(subscriptions))
        assert summary is not None, refusal
        elements, attributes, size, encoding, doctype = summary
        context = _context(
            document,
            Summary(elements, attributes, size, encoding, doctype and Span(*doctype)),
        )
        return {
            name: tuple(_fragment(document, context, node) for node in nodes)
            for name, nodes in zip(subscriptions, selected, strict=True)
        }

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Why the document meets the subscription or does not; ``None`` if there is none such."""
        text = self._matcher.query(subscription)
        if text is None:
            return None
        explained, refusal = self._matcher.explain(document, subscription)
        if refusal is not None:
            return Explanation(subscription, text, error=_document_error(refusal))
        assert explained is not None
        content = bytes(document)
        lines = Lines(content, read_summary(content, limits=self._limits).encoding)

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

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return self._matcher.query(subscription) is not None


def _plain(buffer: pa.Buffer | None) -> memoryview:
    """An Arrow buffer as unsigned bytes; that of an array without content may be missing."""
    return memoryview(b"" if buffer is None else buffer).cast("B")


def _outcome(handles: Handles, counters: Mapping[str, int], refusal: _Refusal | None) -> Outcome:
    error = None if refusal is None else _document_error(refusal)
    return Outcome(handles, Work(**counters), error)


def _document_error(refusal: _Refusal) -> DocumentError:
    code, message, offset, line, column = refusal
    return DocumentError(code, message, where=Where(offset, line, column))


def _int32(values: bytes) -> pa.Int32Array:
    array: object = pa.Array.from_buffers(
        pa.int32(), len(values) // 4, [None, pa.py_buffer(values)]
    )
    assert isinstance(array, pa.Int32Array)
    return array


def _joined(spans: _Spans) -> Span:
    """The range from the first piece of a node to its last."""
    return Span(spans[0][0], spans[-1][1], any(from_entity for _, _, from_entity in spans))


def _context(document: Buffer, summary: Summary) -> Context:
    """What the document lends to its parts; only its beginning is looked at."""
    end = 0 if summary.doctype is None else summary.doctype.end
    return Context.of(bytes(document[:end]), summary)


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
