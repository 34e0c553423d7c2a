"""XPath and keyword subscriptions matched together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import pyarrow as pa

from penstock.documents import Fragment
from penstock.matching.engine import BatchOutcome, Buffer, EngineMatcher, Outcome
from penstock.matching.matcher import Matcher
from penstock.matching.native_base import NativeMatching
from penstock.matching.native_keyword_engine import NativeKeywordMatcher
from penstock.matching.native_path_engine import NativeMatcher
from penstock.matching.results import Explanation, Names
from penstock.native import native


def both(paths: Matcher, keywords: Matcher) -> Matcher:
    """A matcher over the subscriptions of two, of XPath and of keywords, whose ids all differ.

    Where both are the native core's, each document is read once for both.

    Examples
    --------
    >>> from penstock import KeywordIndex, SubscriptionIndex, both
    >>> paths, keywords = SubscriptionIndex(), KeywordIndex()
    >>> paths.add("english", "//item[@lang = 'en']")
    >>> keywords.add("coastguard", "storm coast")
    >>> matcher = both(paths.matcher(), keywords.matcher())
    >>> sorted(matcher.match(b"<news><item lang='en'>Storm on the coast</item></news>"))
    ['coastguard', 'english']
    """
    of_paths, of_keywords = paths._engine, keywords._engine
    if isinstance(of_paths, NativeMatcher) and isinstance(of_keywords, NativeKeywordMatcher):
        return Matcher(InOneReading(of_paths, of_keywords))
    return Matcher(InTurn(of_paths, of_keywords))


class InTurn:
    """Two engines, one after the other."""

    def __init__(self, paths: EngineMatcher, keywords: EngineMatcher) -> None:
        self.paths = paths
        self.keywords = keywords
        self.limits = paths.limits

    def match(self, document: Buffer) -> Outcome:
        """Match a document that is in memory."""
        return joined(self.paths.match(document), self.keywords.match(document))

    def match_file(self, path: str | PathLike[str]) -> Outcome:
        """Match a file's content, which is read twice."""
        return joined(self.paths.match_file(path), self.keywords.match_file(path))

    def match_chunks(self, chunks: Iterable[Buffer]) -> Outcome:
        """Match a document that comes in pieces, all of it in memory."""
        return self.match(b"".join(chunks))

    def match_batch(self, documents: pa.LargeBinaryArray) -> BatchOutcome:
        """Match each document of an array without nulls."""
        return joined_batches(
            self.paths.match_batch(documents), self.keywords.match_batch(documents)
        )

    def select(
        self, document: Buffer, subscriptions: Sequence[str]
    ) -> Mapping[str, tuple[Fragment, ...]]:
        """What each of these subscriptions selects in a document, of those it can be told of."""
        of_keywords = [name for name in subscriptions if self.keywords.contains(name)]
        of_paths = [name for name in subscriptions if not self.keywords.contains(name)]
        found: dict[str, tuple[Fragment, ...]] = {}
        for engine, names in ((self.paths, of_paths), (self.keywords, of_keywords)):
            if names:
                found |= engine.select(document, names)
        return {name: found[name] for name in subscriptions if name in found}

    def explain(self, document: Buffer, subscription: str) -> Explanation | None:
        """Why the document meets the subscription or does not; ``None`` if there is none such."""
        engine = self.keywords if self.keywords.contains(subscription) else self.paths
        return engine.explain(document, subscription)

    def contains(self, subscription: str) -> bool:
        """Whether there is such a subscription."""
        return self.paths.contains(subscription) or self.keywords.contains(subscription)


class InOneReading(NativeMatching, InTurn):
    """Two engines of the native core, to which each document is read once."""

    def __init__(self, paths: NativeMatcher, keywords: NativeKeywordMatcher) -> None:
        InTurn.__init__(self, paths, keywords)
        self.of_core = native.BothMatcher(paths.of_core, keywords.of_core)


def joined(paths: Outcome, keywords: Outcome) -> Outcome:
    """What both made of one document."""
    error = paths.error or keywords.error
    if error is not None:
        return Outcome(Names(), error=error)
    return Outcome(Names([*paths.handles.ids(), *keywords.handles.ids()]), paths.work)


def joined_batches(paths: BatchOutcome, keywords: BatchOutcome) -> BatchOutcome:
    """What both made of the same documents."""
    shift = len(paths.ids)
    offsets, indices = [0], []
    for row, (of_paths, of_keywords) in enumerate(zip(_rows(paths), _rows(keywords), strict=True)):
        if row not in keywords.errors and row not in paths.errors:
            indices += of_paths
            indices += [index + shift for index in of_keywords]
        offsets.append(len(indices))
    return BatchOutcome(
        list_offsets=pa.array(offsets, pa.int32()),
        indices=pa.array(indices, pa.int32()),
        ids=pa.array([*paths.ids.to_pylist(), *keywords.ids.to_pylist()], pa.string()),
        errors={**keywords.errors, **paths.errors},
        work=paths.work,
        unknown={row: n for row, n in paths.unknown.items() if row not in keywords.errors},
    )


def _rows(outcome: BatchOutcome) -> Iterable[list[Any]]:
    indices: list[Any] = outcome.indices.to_pylist()
    starts: list[Any] = outcome.list_offsets.to_pylist()
    return (indices[start:end] for start, end in itertools.pairwise(starts))
