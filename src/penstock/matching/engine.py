"""What an engine is: the seam between the public face and those who match.

The face (:mod:`penstock.matching.index`, :mod:`penstock.matching.keyword_index`,
:mod:`penstock.matching.matcher`) checks what it is given and shapes what it gives back; an engine
holds subscriptions and matches. There are several of the native core, and for either kind of query
the plain ``reference``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Final, Protocol, TypeAlias

import pyarrow as pa

from penstock.documents import Fragment, Limits
from penstock.errors import DocumentError, QueryError
from penstock.matching.answers import Answer, Form
from penstock.matching.results import NO_WORK, Explanation, Handles, IndexStats, Work

Buffer: TypeAlias = bytes | bytearray | memoryview
"""The bytes of a document."""

ENGINES = ("shared", "yfilter", "reference")
"""The engines of XPath subscriptions by name.

====================  ============================================================================
``shared``            the native core's default: all subscriptions share automata built as needed
``yfilter``           the native core's baseline: one shared NFA with a stack of active states
``reference``         plain Python over lxml: each query evaluated by itself, slow, obviously right
====================  ============================================================================
"""

KEYWORD_ENGINES = ("postings", "kemb", "kale", "slca", "reference")
"""The engines of keyword subscriptions by name.

====================  ============================================================================
``postings``          the native core's default: an index of each document's words as it is read
``kemb``              the paper's: one automaton over sets of keywords, and coverage rules
``kale``              the paper's: a stack for each query by itself
``slca``              a baseline: the smallest trees only, and no answers where any word will do
``reference``         plain Python on a tree, by definition: slow, obviously right
====================  ============================================================================
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One document, matched or refused."""

    handles: Handles
    work: Work = NO_WORK
    error: DocumentError | None = None


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Many documents: flat arrays, so that nothing is built a document."""

    list_offsets: pa.Int32Array
    """One more than documents: where each document's matches begin."""
    indices: pa.Int32Array
    """The matches of all documents, one after the other, as indices into ``ids``."""
    ids: pa.StringArray
    """The ids that occur."""
    errors: Mapping[int, DocumentError]
    """The refused documents by position."""
    work: Work
    unknown: Mapping[int, int] = field(default_factory=dict)
    """How many elements a document has that its mapping's schema does not have, by position; only
    documents that have some."""


OR_TOO_LARGE: Final = "keywords.or-too-large"
"""The refusal of a sound document: what keywords with ``OR`` select in it cannot be told."""


class EngineMatcher(Protocol):
    """A snapshot of an index that matches documents; safe to share between threads."""

    @property
    def limits(self) -> Limits:
        """How large a document may be, in every respect."""

    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""

    def match_file(self, path: str | PathLike[str]) -> Outcome:
        """Match a file's content."""

    def match_chunks(self, chunks: Iterable[Buffer]) -> Outcome:
        """Match a document that comes in pieces."""

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        """Match each document of an array without nulls."""

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document that is known to be sound.

        Those of which it cannot be told in bounded memory, which are keywords with ``OR`` in a
        large document, are left out.
        """

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Why the document meets the subscription or does not; ``None`` if there is none such."""

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""


class HeldQueries(Protocol):
    """Holds subscriptions of any kind; safe to change while its matchers match."""

    def remove(self, subscription: str) -> bool:
        """Remove a subscription; whether there was one."""

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""

    def query(self, subscription: str) -> str | None:
        """The text of a subscription's query as it was given."""

    def __len__(self) -> int:
        """How many subscriptions there are."""

    def stats(self) -> IndexStats:
        """What the index holds."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a new file, which appears whole or not at all."""


class EngineIndex(HeldQueries, Protocol):
    """Holds XPath subscriptions."""

    def add_many(
        self,
        ids: Sequence[str],
        queries: Sequence[str],
        namespaces: Mapping[str, str] | None,
        default_namespace: str | None,
    ) -> Mapping[int, QueryError]:
        """Add what can be added; the errors of the rest by position."""

    def matcher(self, engine: str, limits: Limits) -> EngineMatcher:
        """A snapshot that matches."""


class KeywordEngineMatcher(EngineMatcher, Protocol):
    """A snapshot of an index of keyword subscriptions."""

    def answer_ids(self, document: Buffer) -> Mapping[str, tuple[int, ...]]:
        """The elements that answer each subscription that has an answer, by number, ascending."""

    def answer_count(self, document: Buffer) -> int:
        """How many answers all distinct queries have together."""

    def engine_counters(self) -> Mapping[str, int]:
        """What the engine holds, and what it did for all documents so far, by name."""

    def answers(
        self, document: Buffer, subscriptions: Sequence[str], form: Form, limit: int | None
    ) -> Mapping[str, tuple[Answer, ...]]:
        """The best answers of each of these subscriptions, which there are, the best first."""


class KeywordEngineIndex(HeldQueries, Protocol):
    """Holds keyword subscriptions."""

    def add_many(self, ids: Sequence[str], queries: Sequence[str]) -> Mapping[int, QueryError]:
        """Add what can be added; the errors of the rest by position."""

    def matcher(self, engine: str, limits: Limits, *, discard: bool) -> KeywordEngineMatcher:
        """A snapshot that matches."""
