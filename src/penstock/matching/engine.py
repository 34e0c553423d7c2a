"""The engine interface: protocols between the public classes and the engines.

The public classes (:mod:`penstock.matching.index`, :mod:`penstock.matching.keyword_index`,
:mod:`penstock.matching.matcher`) validate arguments and convert results; an engine stores
subscriptions and matches documents. The native core implements several engines, and each kind of
query has a ``reference`` engine in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from penstock.documents import Fragment, Limits
from penstock.errors import DocumentError, QueryError
from penstock.language import Query
from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.matching.answers import Answer, Form
from penstock.matching.header_tests import NO_FIELDS, HeaderFields
from penstock.matching.label_paths import LabelPaths
from penstock.matching.results import NO_WORK, Explanation, Handles, IndexStats, Work

if TYPE_CHECKING:
    from penstock._native import DocumentTree

Buffer: TypeAlias = bytes | bytearray | memoryview
"""The bytes of a document."""

ENGINES = ("shared", "yfilter", "reference")
"""The engines for XPath subscriptions, by name.

====================  ============================================================================
``shared``            the native default: a lazy DFA shared by all subscriptions
``yfilter``           a native baseline: one shared NFA with a stack of active states
``reference``         Python and lxml: evaluates each query separately; slow, the oracle of tests
====================  ============================================================================
"""

KEYWORD_ENGINES = ("postings", "kemb", "kale", "slca", "reference")
"""The engines for keyword subscriptions, by name.

====================  ============================================================================
``postings``          the native default: posting lists of each document's words
``kemb``              a baseline, KEMB: one automaton over keyword sets, with coverage rules
``kale``              a baseline, KALE: one stack per query
``slca``              a baseline: smallest lowest common ancestors; answers no OR query
``reference``         Python on a tree, by definition; slow, the oracle of tests
====================  ============================================================================
"""


class TreeDocument(Protocol):
    """A document as a tree of the native core."""

    @property
    def core(self) -> DocumentTree:
        """The tree in the native core."""

    def canonical_xml(self) -> bytes:
        """The document as canonical XML."""


class WorkCounters(Protocol):
    """The work counters of one document, in the native core."""

    def by_name(self) -> Mapping[str, int]:
        """The fields of :class:`~penstock.matching.results.Work`."""


class Outcome(NamedTuple):
    """One document, matched or refused."""

    handles: Handles
    counted: Work | WorkCounters = NO_WORK
    """The work counters, converted on demand: most callers only want the matches."""
    error: DocumentError | None = None
    set_aside: Sequence[str] = ()
    """Subscriptions that were not evaluated to the end; see :attr:`Matches.set_aside`."""
    label_paths: LabelPaths | None = None
    """The label paths, if they were requested."""

    @property
    def work(self) -> Work:
        """The work counters."""
        return self.counted if isinstance(self.counted, Work) else Work(**self.counted.by_name())


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The matches of many documents in flat arrays, without an object per document."""

    list_offsets: pa.Int32Array
    """Start of each document's matches, plus the end of the last one."""
    indices: pa.Int32Array
    """The concatenated matches of all documents, as indices into ``ids``."""
    ids: pa.StringArray
    """The distinct ids of the batch."""
    errors: Mapping[int, DocumentError]
    """The errors of refused documents, by position."""
    work: Work
    unknown: Mapping[int, int] = field(default_factory=dict)
    """Number of elements that the mapping's local schema does not define, by position; zeros are
    omitted."""
    set_aside: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The ids of subscriptions that were set aside, by position."""


OR_TOO_LARGE: Final = "keywords.or-too-large"
"""The error code of a document that is too large to compute answers to ``OR`` queries."""


class EngineMatcher(Protocol):
    """A snapshot of an index that matches documents; thread-safe."""

    @property
    def limits(self) -> Limits:
        """The limits of the reader."""

    @property
    def tests_headers(self) -> bool:
        """Whether some subscription tests header fields; if not, no header needs to be passed."""

    def match(self, document: Buffer, header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document in memory."""

    def match_observed(
        self,
        document: Buffer,
        header: HeaderFields = NO_FIELDS,
        *,
        label_paths: bool = False,
        stop_at: int | None = None,
    ) -> Outcome:
        """Match a document in memory up to an offset, and collect its label paths.

        Reading ends after the first end tag that ends at ``stop_at`` or later, outside of entities;
        all open elements end there.
        """

    def match_file(self, path: str | PathLike[str], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a file."""

    def match_chunks(self, chunks: Iterable[Buffer], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document that arrives in chunks."""

    def match_batch(
        self, documents: pa.LargeBinaryArray, headers: Sequence[HeaderFields] = ()
    ) -> BatchOutcome:
        """Match each document of an array without nulls; ``headers`` has one per row, or none."""

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that these subscriptions select in a document known to be well-formed.

        Omits subscriptions whose fragments cannot be computed in bounded memory, keywords with
        ``OR`` in a large document, or within the work budget of the document.
        """

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Explain why the document matches or not; ``None`` for an unknown subscription."""

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""

    def where(self, subscription: str) -> HeaderFields:
        """The header fields and values that an existing subscription requires."""


class EngineSubscriptions(Protocol):
    """Stores subscriptions of one kind; may change while matchers created from it are in use."""

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; returns whether it existed."""

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query, as the caller wrote it."""

    def __len__(self) -> int:
        """The number of subscriptions."""

    def stats(self) -> IndexStats:
        """Sizes of the index."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, atomically."""

    def to_bytes(self) -> bytes:
        """The content of the index file."""


class EngineIndex(EngineSubscriptions, Protocol):
    """Stores XPath subscriptions."""

    def add_many(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        namespaces: Mapping[str, str] | None,
        default_namespace: str | None,
        where: Sequence[HeaderFields] = (),
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position.

        ``where`` has the header tests of each query, or is empty if there are none.
        """

    def matcher(self, engine: str, limits: Limits) -> EngineMatcher:
        """Create a matcher of the current subscriptions."""

    def containers(self, query: Query, where: HeaderFields) -> Sequence[str]:
        """The ids of the subscriptions that contain one with this query, in normal form."""

    def all_containers(self) -> Mapping[str, Sequence[str]]:
        """For each subscription the ids of those that contain it, itself excluded.

        May leave out subscriptions for which all others would have to be tested.
        """

    def contained(self, query: Query, where: HeaderFields) -> Sequence[str]:
        """The ids of the subscriptions that one with this query in normal form contains."""


class KeywordEngineMatcher(EngineMatcher, Protocol):
    """A snapshot of an index of keyword subscriptions."""

    def engine_counters(self) -> Mapping[str, int]:
        """Counters of the engine by name, accumulated over all documents."""

    def answers(
        self, document: Buffer, subscriptions: Sequence[str], form: Form, limit: int | None
    ) -> Mapping[str, tuple[Answer, ...]]:
        """The best answers of each of these existing subscriptions, best first."""


class KeywordEngineIndex(EngineSubscriptions, Protocol):
    """Stores keyword subscriptions."""

    options: TokenizerOptions
    """How queries and documents are tokenized."""

    def add_many(
        self, ids: Sequence[str], queries: Sequence[str], where: Sequence[HeaderFields] = ()
    ) -> Mapping[int, QueryError]:
        """Add all valid queries; returns the errors of the others by position."""

    def matcher(self, engine: str, limits: Limits, *, discard: bool) -> KeywordEngineMatcher:
        """Create a matcher of the current subscriptions."""
