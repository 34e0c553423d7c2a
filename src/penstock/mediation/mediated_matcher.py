"""Matches documents of local schemas against subscriptions to the global schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, Protocol, TypeAlias, get_args

import pyarrow as pa

from penstock.documents import Document, Fragment, Header
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
from penstock.matching.header_tests import NO_FIELDS, HeaderFields, fields_of
from penstock.matching.matcher import bytes_of, matches_of
from penstock.matching.native_keyword_engine import NativeKeywordMatcher
from penstock.matching.native_path_engine import NativeMatcher
from penstock.matching.reference.path_engine import ReferenceMatcher
from penstock.mediation.mapping import Mapping as SchemaMapping
from penstock.mediation.native_rewriting import NativeRewriting
from penstock.mediation.reference.reference_matcher import ReferenceRewriting
from penstock.mediation.static_rewriting import StaticRewriting
from penstock.mediation.tree_matching import TreeMatching

Way: TypeAlias = Literal["sdr", "nddr", "iddr"]
"""The rewriting strategy.

========  ==========================================================================================
``sdr``   before matching, once: the global document is serialised and sent with the original
``nddr``  between reader and matcher, as a stream; the matcher is unaware of it
``iddr``  in the matcher, which processes a repeated subtree only once
========  ==========================================================================================
"""


class Rewriting(Protocol):
    """Matches XPath subscriptions on rewritten documents."""

    def match(
        self, document: Buffer, mapping: SchemaMapping, header: HeaderFields = NO_FIELDS
    ) -> Outcome:
        """Match a document that is in memory."""

    def match_batch(
        self,
        documents: pa.LargeBinaryArray,
        mappings: Sequence[SchemaMapping | None],
        headers: Sequence[HeaderFields] = (),
    ) -> BatchOutcome:
        """Match each document of an array without nulls, with its mapping if it has one."""

    def select(
        self, document: Buffer, mapping: SchemaMapping, subscriptions: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments of the original that these subscriptions select."""


class MediatedMatcher:
    """Matches documents of local schemas against subscriptions to the global one.

    XPath subscriptions are matched on the rewritten document. Keyword subscriptions do not depend
    on a schema and are matched on the original document. Fragments are always parts of the
    original.

    Parameters
    ----------
    matcher
        The matcher of the subscriptions.
    way
        One of :data:`Way`. All yield the same matches; they differ in what is transmitted and
        where the work is done.

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
            raise error("mapping.way", f"unknown rewriting strategy `{way}`")
        self._matcher = matcher
        self._way = way
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

    def __repr__(self) -> str:
        return f"<MediatedMatcher: {self._matcher.description}, {self._way}>"

    def match(
        self,
        document: Buffer | Document,
        mapping: SchemaMapping | None,
        *,
        fragments: bool = False,
        label_paths: bool = False,
        header: Header | HeaderFields | None = None,
    ) -> Matches:
        """Match one document.

        Parameters
        ----------
        document
            The bytes of the document, in any supported encoding.
        mapping
            The mapping to the global schema; ``None`` matches the document unchanged.
        fragments
            Also return the fragments of the original that each query selected.
        label_paths
            Without a mapping: also return the distinct label paths of the document.
        header
            As for :meth:`Matcher.match`.
        """
        if mapping is None or self._paths is None:
            return self._matcher.match(
                document,
                fragments=fragments,
                label_paths=label_paths and mapping is None,
                header=header,
            )
        content = bytes_of(document)
        fields = fields_of(header, document) if self._matcher.tests_headers else NO_FIELDS
        outcome = self._paths.match(content, mapping, fields)
        if self._keywords is not None and not self._in_one_reading:
            outcome = combine_outcomes(outcome, self._keywords.match(content, fields))
        select = partial(self.select, content, mapping) if fragments else None
        return matches_of(outcome, select)

    def match_prefix(
        self,
        document: Buffer | Document,
        *,
        stop_at: int,
        header: Header | HeaderFields | None = None,
    ) -> Matches:
        """Match the beginning of a document without a mapping, as :meth:`Matcher.match_prefix`."""
        return self._matcher.match_prefix(document, stop_at=stop_at, header=header)

    def match_batch(
        self,
        documents: BinaryArray,
        mappings: Sequence[SchemaMapping | None],
        headers: Sequence[Header | HeaderFields] = (),
    ) -> BatchMatches:
        """Match an Arrow array of binary, one document per row, with its mapping if it has one.

        ``headers`` has one header per row, or is empty.
        """
        if len(mappings) != len(documents):
            message = f"{len(mappings)} mappings for {len(documents)} documents"
            raise error("mapping.uneven", message)
        present = [
            mapping
            for mapping, valid in zip(mappings, documents.is_valid().to_pylist(), strict=True)
            if valid
        ]
        fields = [fields_of(each) for each in headers] if self._matcher.tests_headers else []
        return match_batch(_Rows(self, present), documents, fields)

    def select(
        self,
        document: Buffer | Document,
        mapping: SchemaMapping | None,
        ids: Sequence[str],
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that these subscriptions select in a document that matched them.

        A node that represents several ranges of the original yields one fragment per range; copies
        yield their original once. Fragments are in the order of the original.

        Omits subscriptions whose fragments cannot be computed in bounded memory: as for
        :meth:`~penstock.matching.Matcher.select`, and all paths if the rewriter must buffer too
        much.
        """
        if mapping is None or self._paths is None:
            return self._matcher.select(document, ids)
        content = bytes_of(document)
        keywords = self._keywords
        if keywords is None:
            return _selected(self._paths, content, mapping, ids)
        of_keywords = [name for name in ids if keywords.contains(name)]
        of_paths = [name for name in ids if not keywords.contains(name)]
        found: dict[str, Sequence[Fragment]] = {}
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
        *,
        header: Header | HeaderFields | None = None,
    ) -> Explanation:
        """Explain why a document matches a subscription, or at which step it fails.

        XPath subscriptions refer to the rewritten document: steps and lines are those of the global
        document, as ``penstock mapping apply`` prints it.

        Raises
        ------
        UnknownSubscriptionError
            The snapshot does not contain the subscription.
        """
        of_keywords = self._keywords is not None and self._keywords.contains(id)
        if mapping is None or self._path_engine is None or of_keywords:
            return self._matcher.explain(document, id, header=header)
        explanation = _on_trees(self._path_engine).explain(bytes_of(document), mapping, id)
        if explanation is None:
            raise error("subscription.unknown", f"unknown subscription `{id}`")
        return explanation.with_header(self._path_engine.where(id), fields_of(header, document))

    def _match_rows(
        self,
        documents: pa.LargeBinaryArray,
        mappings: Sequence[SchemaMapping | None],
        headers: Sequence[HeaderFields],
    ) -> BatchOutcome:
        if self._paths is None:
            return self._matcher.engine.match_batch(documents, headers)
        outcome = self._paths.match_batch(documents, mappings, headers)
        if self._keywords is None or self._in_one_reading:
            return outcome
        return combine_batches(outcome, self._keywords.match_batch(documents, headers))


class _Rows:
    """The batch engine of one batch, for :func:`~penstock.matching.batch.match_batch`."""

    def __init__(self, mediated: MediatedMatcher, mappings: Sequence[SchemaMapping | None]) -> None:
        self._mediated = mediated
        self._mappings = mappings

    def match_batch(
        self, documents: pa.LargeBinaryArray, headers: Sequence[HeaderFields] = ()
    ) -> BatchOutcome:
        return self._mediated._match_rows(documents, self._mappings, headers)


def _selected(
    paths: Rewriting, document: Buffer, mapping: SchemaMapping, ids: Sequence[str]
) -> Mapping[str, Sequence[Fragment]]:
    try:
        return paths.select(document, mapping, ids)
    except DocumentError as reason:
        if reason.code != "mapping.held":
            raise
        return {}  # spans are buffered as well, so limits may be exceeded here


def _rewriting(way: Way, paths: EngineMatcher, keywords: EngineMatcher | None = None) -> Rewriting:
    if way == "sdr" or not isinstance(paths, NativeMatcher):
        return _on_trees(paths)
    keyword_engine = keywords if isinstance(keywords, NativeKeywordMatcher) else None
    return NativeRewriting(paths, keyword_engine, memoize_repeated=way == "iddr")


def _on_trees(paths: EngineMatcher) -> TreeMatching:
    if isinstance(paths, NativeMatcher):
        return StaticRewriting(paths)
    assert isinstance(paths, ReferenceMatcher), "all other path engines are native"
    return ReferenceRewriting(paths)
