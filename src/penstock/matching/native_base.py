"""Base classes and conversions shared by the adapters of the native engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pyarrow as pa

from penstock.documents import Context, Span, Summary
from penstock.errors import DocumentError, EngineError, IndexFileError, QueryError, Where
from penstock.language.source_position import position_of, utf8_size
from penstock.matching.engine import (
    BatchOutcome,
    Buffer,
    Outcome,
    TreeDocument,
    WorkCounters,
)
from penstock.matching.header_tests import NO_FIELDS, HeaderFields, is_testable
from penstock.matching.label_paths import LabelPaths
from penstock.matching.limits import LABEL_PATHS_MAX
from penstock.matching.results import Handles, IndexStats, Work
from penstock.native import native

if TYPE_CHECKING:
    from penstock._native import DocumentMatcher, Index, KeywordIndex, KeywordMatcher, Matcher

_OFFSET_BYTES = 8
"""Size of an offset in an Arrow array of large binaries."""

INDEX_BYTES = 4
"""Size of an index in the arrays of the native core."""

Refusal: TypeAlias = tuple[str, str, int, int, int, str]
BatchTuple: TypeAlias = tuple[
    bytes,
    bytes,
    list[str],
    list[tuple[int, Refusal]],
    list[tuple[int, list[int]]],
    dict[str, int],
]
Loaded = TypeVar("Loaded")


class NativeIndexBase:
    """Subscriptions stored by the native core."""

    _index: Index | KeywordIndex

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; returns whether it existed."""
        return self._index.remove(subscription)

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""
        return self._index.contains(subscription)

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query, as the caller wrote it."""
        return self._index.query(subscription)

    def __len__(self) -> int:
        return len(self._index)

    def stats(self) -> IndexStats:
        """Sizes of the index."""
        return IndexStats(*self._index.stats())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, atomically."""
        self._index.save(path)

    def to_bytes(self) -> bytes:
        """The content of the index file."""
        return self._index.to_bytes()


class NativeMatcherBase:
    """A matcher of the native core; releases the GIL while matching."""

    core: DocumentMatcher

    def match(self, document: Buffer, header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document in memory."""
        return outcome_of(*self.core.match_bytes(document, native_header(header)))

    def match_observed(
        self,
        document: Buffer,
        header: HeaderFields = NO_FIELDS,
        *,
        label_paths: bool = False,
        stop_at: int | None = None,
    ) -> Outcome:
        """Match a document in memory up to an offset, and collect its label paths."""
        paths_max = LABEL_PATHS_MAX if label_paths else 0
        outcome, core = self.core.match_observed(
            document, native_header(header), paths_max, stop_at
        )
        paths = None if core is None else LabelPaths(core=core)
        return outcome_of(*outcome, label_paths=paths)

    def match_file(self, path: str | PathLike[str], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a file in one streaming pass."""
        return outcome_of(*self.core.match_file(path, native_header(header)))

    def match_chunks(self, chunks: Iterable[Buffer], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document that arrives in chunks."""
        return outcome_of(*self.core.match_chunks(chunks, native_header(header)))

    def match_tree(self, tree: TreeDocument, header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document tree by replaying it; it is neither written nor parsed."""
        return outcome_of(*self.core.match_tree(tree.core, native_header(header)))

    def match_batch(
        self, documents: pa.LargeBinaryArray, headers: Sequence[HeaderFields] = ()
    ) -> BatchOutcome:
        """Match each document of an array without nulls; ``headers`` has one per row, or none."""
        native_headers = [native_header(each) for each in headers]
        return batch_outcome(
            documents,
            lambda content, offsets: self.core.match_batch(content, offsets, native_headers),
        )


class NativeSnapshotMatcher(NativeMatcherBase):
    """A matcher of one kind of subscription, with access to their queries."""

    core: Matcher | KeywordMatcher

    @property
    def tests_headers(self) -> bool:
        """Whether some subscription tests header fields."""
        return self.core.tests_headers()

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""
        return self.query(subscription) is not None

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query; ``None`` for an unknown one."""
        # No subscription has an id that cannot be encoded.
        return None if utf8_size(subscription) is None else self.core.query(subscription)

    def where(self, subscription: str) -> HeaderFields:
        """The header fields and values that a subscription requires."""
        return dict(self.core.header_tests(subscription))


def native_header(header: HeaderFields) -> list[tuple[str, str]]:
    """A header as the native core expects it, without fields that no subscription can test."""
    if not header:
        return []
    return [(name, value) for name, value in header.items() if is_testable(name, value)]


def refuse_header_tests(engine: str, core: Matcher | KeywordMatcher) -> None:
    """Refuses a baseline engine if subscriptions test header fields, which it ignores."""
    if core.tests_headers():
        raise EngineError("engine.where", f"the engine `{engine}` does not test header fields")


def batch_outcome(
    documents: pa.LargeBinaryArray, match: Callable[[memoryview, memoryview], BatchTuple]
) -> BatchOutcome:
    """Passes the buffers of an array without nulls to ``match`` and converts the result."""
    _, offsets, data = documents.buffers()
    first, end = documents.offset * _OFFSET_BYTES, (len(documents) + 1) * _OFFSET_BYTES
    starts, indices, ids, refusals, set_aside, counters = match(
        _as_bytes(data), _as_bytes(offsets)[first : first + end]
    )
    return BatchOutcome(
        list_offsets=_int32(starts),
        indices=_int32(indices),
        ids=pa.array(ids, pa.string()),
        errors={row: document_error(refusal) for row, refusal in refusals},
        work=Work(**counters),
        set_aside={row: [ids[index] for index in indexes] for row, indexes in set_aside},
    )


def process_cache_bytes() -> int:
    """Bytes of cached automaton states of all matchers of this process.

    At most :data:`~penstock.matching.limits.CACHE_BYTES_MAX`, but for documents being matched. The
    reference engines cache nothing.
    """
    return 0 if native is None else native.process_cache_bytes()


def loaded_index(
    path: str | PathLike[str], loaded: tuple[Loaded | None, tuple[str, str] | None]
) -> Loaded:
    """Returns the loaded index, or raises the error of the file."""
    index, refusal = loaded
    if refusal is not None:
        code, message = refusal
        raise IndexFileError(code, f"{path}: {message}")
    assert index is not None, "neither an index nor a refusal"
    return index


def query_errors(
    queries: Sequence[str], refused: Iterable[tuple[int, str, str, int | None]]
) -> Mapping[int, QueryError]:
    """The errors of queries by position."""
    return {
        position: QueryError(
            code,
            message,
            where=None if offset is None else position_of(queries[position], offset),
        )
        for position, code, message, offset in refused
    }


def document_error(refusal: Refusal) -> DocumentError:
    """Converts a refusal to an error."""
    code, message, offset, line, column, path = refusal
    return DocumentError(code, message, where=Where(offset, line, column), path=path or None)


def summary_of(
    summary: tuple[int, int, int, str, tuple[int, int, bool] | None],
) -> Summary:
    """Converts the summary of a document."""
    elements, attributes, size, encoding, doctype = summary
    return Summary(elements, attributes, size, encoding, doctype and Span(*doctype))


def context_of(document: Buffer, summary: Summary) -> Context:
    """The context that fragments share; reads only the beginning of the document."""
    end = 0 if summary.doctype is None else summary.doctype.end
    return Context.of(bytes(document[:end]), summary)


def _as_bytes(buffer: pa.Buffer | None) -> memoryview:
    """An Arrow buffer as unsigned bytes; an empty array may have no buffer."""
    return memoryview(b"" if buffer is None else buffer).cast("B")


def outcome_of(
    handles: Handles,
    set_aside: Handles | None,
    counters: WorkCounters,
    refusal: Refusal | None,
    label_paths: LabelPaths | None = None,
) -> Outcome:
    """Converts the result of one document."""
    error = None if refusal is None else document_error(refusal)
    return Outcome(
        handles,
        counters,
        error,
        () if set_aside is None else tuple(set_aside.ids()),
        label_paths,
    )


def _int32(values: bytes) -> pa.Int32Array:
    array: object = pa.Array.from_buffers(
        pa.int32(), len(values) // INDEX_BYTES, [None, pa.py_buffer(values)]
    )
    assert isinstance(array, pa.Int32Array)
    return array
