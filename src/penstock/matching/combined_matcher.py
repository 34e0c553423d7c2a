"""Matches XPath and keyword subscriptions together."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import pyarrow as pa

from penstock.documents import Fragment
from penstock.matching.engine import BatchOutcome, Buffer, EngineMatcher, Outcome
from penstock.matching.header_tests import NO_FIELDS, HeaderFields
from penstock.matching.matcher import Matcher
from penstock.matching.native_base import NativeMatcherBase
from penstock.matching.native_keyword_engine import NativeKeywordMatcher
from penstock.matching.native_path_engine import NativeMatcher
from penstock.matching.results import Explanation, ResolvedIds
from penstock.native import native


def combine_matchers(paths: Matcher, keywords: Matcher) -> Matcher:
    """Combine a matcher of XPath and one of keyword subscriptions; their ids must be disjoint.

    If both are native, each document is read once for both.

    Examples
    --------
    >>> from penstock import KeywordIndex, SubscriptionIndex, combine_matchers
    >>> paths, keywords = SubscriptionIndex(), KeywordIndex()
    >>> paths.add("english", "//item[@lang = 'en']")
    >>> keywords.add("coastguard", "storm coast")
    >>> matcher = combine_matchers(paths.matcher(), keywords.matcher())
    >>> sorted(matcher.match(b"<news><item lang='en'>Storm on the coast</item></news>"))
    ['coastguard', 'english']
    """
    path_engine, keyword_engine = paths.engine, keywords.engine
    description = f"XPath ({paths.description}) and keywords ({keywords.description})"
    if isinstance(path_engine, NativeMatcher) and isinstance(keyword_engine, NativeKeywordMatcher):
        return Matcher(SinglePassMatcher(path_engine, keyword_engine), description=description)
    return Matcher(SequentialMatcher(path_engine, keyword_engine), description=description)


def both(paths: Matcher, keywords: Matcher) -> Matcher:
    """Deprecated name of :func:`combine_matchers`; removed in the next release."""
    warnings.warn(
        "penstock.both is deprecated: use penstock.combine_matchers",
        DeprecationWarning,
        stacklevel=2,
    )
    return combine_matchers(paths, keywords)


class SequentialMatcher:
    """Runs two engines one after the other."""

    def __init__(self, paths: EngineMatcher, keywords: EngineMatcher) -> None:
        self.paths = paths
        self.keywords = keywords
        self.limits = paths.limits

    @property
    def tests_headers(self) -> bool:
        """Whether some subscription tests header fields."""
        return self.paths.tests_headers or self.keywords.tests_headers

    def match(self, document: Buffer, header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document in memory."""
        return combine_outcomes(
            self.paths.match(document, header), self.keywords.match(document, header)
        )

    def match_observed(
        self,
        document: Buffer,
        header: HeaderFields = NO_FIELDS,
        *,
        label_paths: bool = False,
        stop_at: int | None = None,
    ) -> Outcome:
        """Match a document in memory up to an offset, and collect its label paths."""
        return combine_outcomes(
            self.paths.match_observed(document, header, label_paths=label_paths, stop_at=stop_at),
            self.keywords.match_observed(document, header, stop_at=stop_at),
        )

    def match_file(self, path: str | PathLike[str], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a file; it is read twice."""
        return combine_outcomes(
            self.paths.match_file(path, header), self.keywords.match_file(path, header)
        )

    def match_chunks(self, chunks: Iterable[Buffer], header: HeaderFields = NO_FIELDS) -> Outcome:
        """Match a document that arrives in chunks, buffering it."""
        return self.match(b"".join(chunks), header)

    def match_batch(
        self, documents: pa.LargeBinaryArray, headers: Sequence[HeaderFields] = ()
    ) -> BatchOutcome:
        """Match each document of an array without nulls; ``headers`` has one per row, or none."""
        return combine_batches(
            self.paths.match_batch(documents, headers),
            self.keywords.match_batch(documents, headers),
        )

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, Sequence[Fragment]]:
        """The fragments that these subscriptions select in a document."""
        keyword_ids = [name for name in subscriptions if self.keywords.contains(name)]
        path_ids = [name for name in subscriptions if not self.keywords.contains(name)]
        found: dict[str, Sequence[Fragment]] = {}
        for engine, names in ((self.paths, path_ids), (self.keywords, keyword_ids)):
            if names:
                found |= engine.select(document, names)
        return {name: found[name] for name in subscriptions if name in found}

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Explain why the document matches or not; ``None`` for an unknown subscription."""
        engine = self.keywords if self.keywords.contains(subscription) else self.paths
        return engine.explain(document, subscription)

    def contains(self, subscription: str) -> bool:
        """Whether the subscription exists."""
        return self.paths.contains(subscription) or self.keywords.contains(subscription)

    def where(self, subscription: str) -> HeaderFields:
        """The header fields and values that a subscription requires."""
        engine = self.keywords if self.keywords.contains(subscription) else self.paths
        return engine.where(subscription)


class SinglePassMatcher(NativeMatcherBase, SequentialMatcher):
    """Feeds one reading of each document to two native engines."""

    def __init__(self, paths: NativeMatcher, keywords: NativeKeywordMatcher) -> None:
        SequentialMatcher.__init__(self, paths, keywords)
        self.core = native.CombinedMatcher(paths.core, keywords.core)


def combine_outcomes(paths: Outcome, keywords: Outcome) -> Outcome:
    """Combines the outcomes of one document."""
    error = paths.error or keywords.error
    if error is not None:
        return Outcome(ResolvedIds(), error=error)
    ids = ResolvedIds([*paths.handles.ids(), *keywords.handles.ids()])
    return Outcome(
        ids,
        paths.work,
        set_aside=[*paths.set_aside, *keywords.set_aside],
        label_paths=paths.label_paths,
    )


def combine_batches(paths: BatchOutcome, keywords: BatchOutcome) -> BatchOutcome:
    """Combines the outcomes of the same batch."""
    shift = len(paths.ids)
    offsets, indices = [0], []
    for row, (path_row, keyword_row) in enumerate(zip(_rows(paths), _rows(keywords), strict=True)):
        if row not in keywords.errors and row not in paths.errors:
            indices += path_row
            indices += [index + shift for index in keyword_row]
        offsets.append(len(indices))
    return BatchOutcome(
        list_offsets=pa.array(offsets, pa.int32()),
        indices=pa.array(indices, pa.int32()),
        ids=pa.array([*paths.ids.to_pylist(), *keywords.ids.to_pylist()], pa.string()),
        errors={**keywords.errors, **paths.errors},
        work=paths.work,
        unknown={row: n for row, n in paths.unknown.items() if row not in keywords.errors},
        set_aside={row: ids for row, ids in paths.set_aside.items() if row not in keywords.errors},
    )


def _rows(outcome: BatchOutcome) -> Iterable[list[Any]]:
    indices: list[Any] = outcome.indices.to_pylist()
    starts: list[Any] = outcome.list_offsets.to_pylist()
    return (indices[start:end] for start, end in itertools.pairwise(starts))
