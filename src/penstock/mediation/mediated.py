"""Matches documents of every publisher's schema against subscriptions to the global one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, Protocol, TypeAlias, get_args

import pyarrow as pa

from penstock.documents import Document, Fragment
from penstock.errors import DocumentError, error
from penstock.matching import BatchMatches, Explanation, KeywordMatcher, Matcher, Matches
from penstock.matching.batch import BinaryArray, match_batch
from penstock.matching.combined_matcher import (
    SequentialMatcher,
    SinglePassMatcher,
    combine_batches,
    combine_outcomes,
)
from penstock.matching.engine import BatchOutcome, Buffer, EngineMatcher, Outcome
from penstock.matching.matcher import bytes_of, matches_of
from penstock.matching.native_keyword_engine import NativeKeywordMatcher
from penstock.matching.native_path_engine import NativeMatcher
from penstock.matching.reference.path_engine import ReferenceMatcher
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.native_rewriting import NativeRewriting
from penstock.mediation.reference.reference_matcher import PlainRewriting
from penstock.mediation.static_rewriting import StaticRewriting
from penstock.mediation.tree_matching import TreeMatching

Way: TypeAlias = Literal["sdr", "nddr", "iddr"]
"""Where a document is rewritten.

========  ==========================================================================================
``sdr``   before matching, once: the global document is written, and travels with the original
``nddr``  between reader and matcher, as the document is read; the matcher does not know
``iddr``  in the matcher, which takes a subtree that the mapping repeats only once
========  ==========================================================================================
"""


class Rewriting(Protocol):
    """Matches path subscriptions on what a mapping makes of a document."""

    def match(self, document: Buffer, mapping: SchemaMapping) -> Outcome:
        """Match a document that is in memory."""

    def match_batch(
        self, documents: pa.LargeBinaryArray, mappings: Sequence[SchemaMapping | None]
    ) -> BatchOutcome:
        """Match each document of an array without nulls, each with its mapping or as it is."""

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects, as parts of the original."""


class MediatedMatcher:
    """Matches documents of local schemas against subscriptions to the global one.

    Subscriptions of paths see what a document's mapping makes of it. Subscriptions of keywords
    speak no schema: they hear the document as it was sent. Fragments are parts of the original
    either way.

    Parameters
    ----------
    matcher
        Holds the subscriptions.
    way
        One of :data:`Way`. All give the same matches; they differ in what travels and where the
        work is done.

    Examples
    --------
    >>> from penstock.matching import SubscriptionIndex
    >>> from penstock.mediation import Mapping
    >>> index = SubscriptionIndex()
    >>> index.add("databases", "/dept/course[code = 'db1']")
    >>> mediated = MediatedMatcher(index.matcher())
    >>> mapping = Mapping.from_text('''penstock mapping 1
    ... department
    ...   => rename dept
    ...   course*
    ...     @code
    ...     => to-element @code
    ... ''')
    >>> document = b"<department><course code='db1'/></department>"
    >>> mediated.match(document, mapping).ids
    ('databases',)
    >>> [part.pieces for part in mediated.select(document, mapping, ["databases"])["databases"]]
    [(b"<course code='db1'/>",)]
    """

    def __init__(self, matcher: Matcher, *, way: Way = "nddr") -> None:
        if way not in get_args(Way):
            raise error("mapping.way", f"there is no way `{way}`")
        self._matcher = matcher
        self._keywords: EngineMatcher | None = None
        self._path_engine: EngineMatcher | None = None
        self._paths: Rewriting | None = None
        self._in_one_reading = False
        engine = matcher.engine
        if isinstance(engine, SequentialMatcher):
            self._keywords = engine.keywords
            self._path_engine = engine.paths
            self._paths = _rewriting(way, engine.paths, engine.keywords)
            self._in_one_reading = way != "sdr" and isinstance(engine, SinglePassMatcher)
        elif isinstance(matcher, KeywordMatcher):
            self._keywords = engine
        else:
            self._path_engine = engine
            self._paths = _rewriting(way, engine)

    def match(
        self,
        document: Buffer | Document,
        mapping: SchemaMapping | None,
        *,
        fragments: bool = False,
    ) -> Matches:
        """Match one document.

        Parameters
        ----------
        document
            Its bytes, in any encoding that the reader knows.
        mapping
            From its schema to the global one; without a mapping it is matched as it is.
        fragments
            Also return what each query selected, of the original.
        """
        if mapping is None or self._paths is None:
            return self._matcher.match(document, fragments=fragments)
        content = bytes_of(document)
        outcome = self._paths.match(content, mapping)
        if self._keywords is not None and not self._in_one_reading:
            outcome = combine_outcomes(outcome, self._keywords.match(content))
        select = partial(self.select, content, mapping) if fragments else None
        return matches_of(outcome, select)

    def match_batch(
        self, documents: BinaryArray, mappings: Sequence[SchemaMapping | None]
    ) -> BatchMatches:
        """Match an Arrow array of binary: one row a document, each with its mapping or as it is."""
        if len(mappings) != len(documents):
            message = f"{len(mappings)} mappings came with {len(documents)} documents"
            raise error("mapping.uneven", message)
        present = [
            mapping
            for mapping, valid in zip(mappings, documents.is_valid().to_pylist(), strict=True)
            if valid
        ]
        return match_batch(_Rows(self, present), documents)

    def select(
        self,
        document: Buffer | Document,
        mapping: SchemaMapping | None,
        ids: Sequence[str],
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document that was matched before.

        A node that stands for several ranges of the original gives a fragment for each; what the
        mapping copied gives its original once. They come in the order of the original.

        Left out are those of which it cannot be told in bounded memory: as for
        :meth:`~penstock.matching.Matcher.select`, and all paths where too much waits.
        """
        if mapping is None or self._paths is None:
            return self._matcher.select(document, ids)
        content = bytes_of(document)
        keywords = self._keywords
        if keywords is None:
            return _selected(self._paths, content, mapping, ids)
        of_keywords = [name for name in ids if keywords.contains(name)]
        of_paths = [name for name in ids if not keywords.contains(name)]
        found: dict[str, tuple[Fragment, ...]] = {}
        if of_paths:
            found |= _selected(self._paths, content, mapping, of_paths)
        if of_keywords:
            found |= keywords.select(content, of_keywords)
        return {name: found[name] for name in ids if name in found}

    def explain(
        self,
        document: Buffer | Document,
        mapping: SchemaMapping | None,
        id: str,  # noqa: A002
    ) -> Explanation:
        """Say why a document meets a subscription, or at which step it does not.

        A path sees what the mapping makes of the document, so its steps and lines are those of the
        global document, as ``penstock mapping apply`` prints it.

        Raises
        ------
        UnknownSubscriptionError
            The snapshot has no such subscription.
        """
        of_keywords = self._keywords is not None and self._keywords.contains(id)
        if mapping is None or self._path_engine is None or of_keywords:
            return self._matcher.explain(document, id)
        explanation = _on_trees(self._path_engine).explain(bytes_of(document), mapping, id)
        if explanation is None:
            raise error("subscription.unknown", f"unknown subscription `{id}`")
        return explanation

    def _match_rows(
        self, documents: pa.LargeBinaryArray, mappings: Sequence[SchemaMapping | None]
    ) -> BatchOutcome:
        if self._paths is None:
            return self._matcher.engine.match_batch(documents)
        outcome = self._paths.match_batch(documents, mappings)
        if self._keywords is None or self._in_one_reading:
            return outcome
        return combine_batches(outcome, self._keywords.match_batch(documents))


class _Rows:
    """What matches the rows of one batch, for :func:`~penstock.matching.batch.match_batch`."""

    def __init__(self, mediated: MediatedMatcher, mappings: Sequence[SchemaMapping | None]) -> None:
        self._mediated = mediated
        self._mappings = mappings

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        return self._mediated._match_rows(documents, self._mappings)


def _selected(
    paths: Rewriting, document: Buffer, mapping: SchemaMapping, ids: Sequence[str]
) -> Mapping[str, tuple[Fragment, ...]]:
    try:
        return paths.select(document, mapping, ids)
    except DocumentError as reason:
        if reason.code != "mapping.held":
            raise
        return {}  # ranges are held too, so a document that could be matched can be too large here


def _rewriting(way: Way, paths: EngineMatcher, keywords: EngineMatcher | None = None) -> Rewriting:
    if way == "sdr" or not isinstance(paths, NativeMatcher):
        return _on_trees(paths)
    beside = keywords if isinstance(keywords, NativeKeywordMatcher) else None
    return NativeRewriting(paths, beside, takes_once=way == "iddr")


def _on_trees(paths: EngineMatcher) -> TreeMatching:
    if isinstance(paths, NativeMatcher):
        return StaticRewriting(paths)
    assert isinstance(paths, ReferenceMatcher), "path subscriptions have no other engine"
    return PlainRewriting(paths)
