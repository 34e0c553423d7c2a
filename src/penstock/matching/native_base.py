"""What the native core's engines of every kind of query have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pyarrow as pa

from penstock.documents import Context, Span, Summary
from penstock.errors import DocumentError, IndexFileError, QueryError, Where
from penstock.language.source_position import position_of
from penstock.matching.engine import BatchOutcome, Buffer, Outcome
from penstock.matching.results import Handles, IndexStats, Work

if TYPE_CHECKING:
    from penstock._native import DocumentMatcher, Index, KeywordIndex, KeywordMatcher, Matcher

_OFFSET_BYTES = 8
"""Of an offset in an Arrow array of large binaries."""

Refusal: TypeAlias = tuple[str, str, int, int, int]
BatchTuple: TypeAlias = tuple[bytes, bytes, list[str], list[tuple[int, Refusal]], dict[str, int]]
Loaded = TypeVar("Loaded")


class NativeHeld:
    """Subscriptions that the native core holds."""

    _index: Index | KeywordIndex

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


class NativeMatching:
    """A matcher of the native core; the interpreter is released while it works."""

    of_core: DocumentMatcher

    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""
        return outcome_of(*self.of_core.match_bytes(document))

    def match_file(self, path: str | PathLike[str]) -> Outcome:
        """Match a file's content as it is read."""
        return outcome_of(*self.of_core.match_file(path))

    def match_chunks(self, chunks: Iterable[Buffer]) -> Outcome:
        """Match a document that comes in pieces."""
        return outcome_of(*self.of_core.match_chunks(chunks))

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        """Match each document of an array without nulls."""
        return batch_outcome(documents, self.of_core.match_batch)


class NativeSnapshot(NativeMatching):
    """A matcher of one kind of subscriptions, which knows their queries."""

    of_core: Matcher | KeywordMatcher

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return self.of_core.query(subscription) is not None


def batch_outcome(
    documents: pa.LargeBinaryArray, match: Callable[[memoryview, memoryview], BatchTuple]
) -> BatchOutcome:
    """What ``match`` makes of an array without nulls, given its content and its offsets."""
    _, offsets, data = documents.buffers()
    first, end = documents.offset * _OFFSET_BYTES, (len(documents) + 1) * _OFFSET_BYTES
    starts, indices, ids, refusals, counters = match(
        _plain(data), _plain(offsets)[first : first + end]
    )
    return BatchOutcome(
        list_offsets=_int32(starts),
        indices=_int32(indices),
        ids=pa.array(ids, pa.string()),
        errors={row: document_error(refusal) for row, refusal in refusals},
        work=Work(**counters),
    )


def loaded_index(
    path: str | PathLike[str], loaded: tuple[Loaded | None, tuple[str, str] | None]
) -> Loaded:
    """The index that the core loaded, or an error that says what is wrong with the file."""
    index, refusal = loaded
    if refusal is not None:
        code, message = refusal
        raise IndexFileError(code, f"{path}: {message}")
    assert index is not None, "neither an index nor a refusal"
    return index


def query_errors(
    queries: Sequence[str], refused: Iterable[tuple[int, str, str, int | None]]
) -> Mapping[int, QueryError]:
    """The refusals of queries by their position."""
    return {
        position: QueryError(
            code,
            message,
            where=None if offset is None else position_of(queries[position], offset),
        )
        for position, code, message, offset in refused
    }


def document_error(refusal: Refusal) -> DocumentError:
    """Why a document was refused."""
    code, message, offset, line, column = refusal
    return DocumentError(code, message, where=Where(offset, line, column))


def summary_of(
    summary: tuple[int, int, int, str, tuple[int, int, bool] | None],
) -> Summary:
    """What reading a document gave."""
    elements, attributes, size, encoding, doctype = summary
    return Summary(elements, attributes, size, encoding, doctype and Span(*doctype))


def context_of(document: Buffer, summary: Summary) -> Context:
    """What the document lends to its parts; only its beginning is looked at."""
    end = 0 if summary.doctype is None else summary.doctype.end
    return Context.of(bytes(document[:end]), summary)


def _plain(buffer: pa.Buffer | None) -> memoryview:
    """An Arrow buffer as unsigned bytes; that of an array without content may be missing."""
    return memoryview(b"" if buffer is None else buffer).cast("B")


def outcome_of(handles: Handles, counters: Mapping[str, int], refusal: Refusal | None) -> Outcome:
    """What became of a document."""
    error = None if refusal is None else document_error(refusal)
    return Outcome(handles, Work(**counters), error)


def _int32(values: bytes) -> pa.Int32Array:
    array: object = pa.Array.from_buffers(
        pa.int32(), len(values) // 4, [None, pa.py_buffer(values)]
    )
    assert isinstance(array, pa.Int32Array)
    return array
