"""XPath and keyword subscriptions as interests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from penstock.documents import Document
from penstock.errors import PenstockError, error
from penstock.language import KeywordQuery, Query, overlaps
from penstock.links.document_messages import document_from_message, document_to_message
from penstock.links.message import Message
from penstock.overlay.interest import Interest
from penstock.overlay.limits import INTEREST_NODES_MAX, INTEREST_PATTERNS_MAX
from penstock.overlay.pattern_containment import PatternContainment
from penstock.overlay.pattern_matcher import PatternMatcher
from penstock.overlay.summary_tree import DataSummaryTree
from penstock.routing import AggregatedSet, Pattern, digest_of

_COMPARED_MAX = 64
"""Patterns of each side that a structural comparison looks at."""

_SIMILARITY_MAX = 0.9
"""Similarity of patterns of which neither is proved to contain the other."""


class PatternInterest(Interest):
    """A set of patterns; a document matches if it matches one of them.

    >>> interest = PatternInterest([Pattern.of_path("/news/item"), Pattern.of_keywords("storm")])
    >>> sorted(map(str, interest.patterns))
    ['/news/item', 'storm']
    """

    __slots__ = ("_bits", "_digest", "patterns")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        distinct = {pattern.digest: pattern for pattern in patterns}
        self.patterns = tuple(distinct[each] for each in sorted(distinct))
        self._digest = digest_of(self.patterns)
        self._bits: tuple[PatternMatcher, int, int] | None = None

    @property
    def digest(self) -> str:
        """The digest of the set of patterns."""
        return self._digest

    def bits(self, matcher: PatternMatcher) -> int:
        """The bits of the patterns in a matcher."""
        known = self._bits
        if known is None or known[0] is not matcher or known[1] != matcher.generation:
            bits = matcher.bits_of(self.patterns)
            known = self._bits = (matcher, matcher.generation, bits)
        return known[2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternInterest) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"<PatternInterest: {' | '.join(map(str, self.patterns[:3]))}>"

    def __reduce__(self) -> tuple[type[PatternInterest], tuple[tuple[Pattern, ...]]]:
        return PatternInterest, (self.patterns,)


class PatternSummary:
    """A data-summary tree, looked up by interest; keywords are matched on the documents."""

    def __init__(self, window: int, matcher: PatternMatcher) -> None:
        self._tree = DataSummaryTree(window)
        self._matcher = matcher

    def observe(self, sequence: int, document: Document) -> None:
        """Add a document."""
        self._tree.observe(sequence, document)

    def look_up(self, interest: PatternInterest, first: int, last: int) -> int:
        """The documents ``first`` to ``last`` that may match."""
        bits = 0
        keywords = []
        for pattern in interest.patterns:
            if isinstance(pattern.query, KeywordQuery):
                keywords.append(pattern)
            else:
                bits |= self._tree.look_up_query(pattern.query, first, last)
        if keywords:
            wanted = self._matcher.bits_of(keywords)
            for sequence, document in self._tree.documents:
                if first <= sequence <= last and self._matcher.matched_bits(document, wanted):
                    bits |= 1 << (sequence - first)
        return bits

    def clear(self) -> None:
        """Forget everything."""
        self._tree.clear()

    @property
    def evicted(self) -> int:
        """Documents and vertices that were evicted at the limits of the tree."""
        return self._tree.evicted_documents + self._tree.evicted


class PatternModel:
    """The language of XPath and keyword subscriptions.

    Parameters
    ----------
    nodes_max
        Pattern nodes of a union. Past it, patterns are merged, which causes extraneous documents
        and loses none.

    Examples
    --------
    >>> model = PatternModel()
    >>> news = model.interest(xpath=["/news//item"])
    >>> sport = model.interest(xpath=["/news/sport/item"], keywords=["goal"])
    >>> union = model.union([news, sport])
    >>> sorted(map(str, union.patterns))
    ['/news//item', 'goal']
    >>> model.covers(union, sport), model.covers(news, sport)
    (True, False)
    """

    def __init__(
        self, *, nodes_max: int = INTEREST_NODES_MAX, matcher: PatternMatcher | None = None
    ) -> None:
        if nodes_max < 1:
            raise error("overlay.option", "a union has at least one pattern node")
        self._nodes_max = nodes_max
        self.matcher = PatternMatcher() if matcher is None else matcher
        self.nothing = PatternInterest(())
        self._union = lru_cache(maxsize=4_096)(self._union_of)
        self._covers = lru_cache(maxsize=65_536)(self._is_covered)
        self._containment = PatternContainment()
        self._bits = lru_cache(maxsize=4_096)(self._bits_of)

    def interest(
        self, *, xpath: Iterable[str] = (), keywords: Iterable[str] = ()
    ) -> PatternInterest:
        """The interest of some queries without namespaces.

        Raises
        ------
        QueryError
            A query is invalid.
        """
        patterns = [*map(Pattern.of_path, xpath), *map(Pattern.of_keywords, keywords)]
        return PatternInterest(patterns)

    def union(self, interests: Iterable[PatternInterest]) -> PatternInterest:
        """An interest that covers all given ones, without patterns that others contain."""
        return self._union(frozenset(interests))

    def _union_of(self, interests: frozenset[PatternInterest]) -> PatternInterest:
        patterns = {pattern.key: pattern for each in interests for pattern in each.patterns}
        if len(patterns) <= 1:
            return PatternInterest(patterns.values())
        bits = 0
        for each in interests:
            bits |= self._bits(each) or 0
        if all(self._bits(each) is not None for each in interests):
            found = self._containment.maximal(bits)
            if sum(pattern.size for pattern in found) <= self._nodes_max:
                return PatternInterest(found)
        built = AggregatedSet.build(
            dict(sorted(patterns.items())), bound=self._nodes_max, refine=False
        )
        return PatternInterest(built.roots)

    def _bits_of(self, interest: PatternInterest) -> int | None:
        return self._containment.bits_of(interest.patterns)

    def _is_covered(self, interest: PatternInterest, other: PatternInterest) -> bool:
        own, others = self._bits(interest), self._bits(other)
        if own is None or others is None:
            return _covers(interest, other)
        return self._containment.covers(own, others)

    def covers(self, interest: PatternInterest, other: PatternInterest) -> bool:
        """Whether every pattern of ``other`` is proved to be contained in one of ``interest``."""
        return self._covers(interest, other)

    def matches(self, interest: PatternInterest, document: Document) -> bool:
        """Whether a document matches one of the patterns."""
        wanted = interest.bits(self.matcher)
        return wanted != 0 and self.matcher.matched_bits(document, wanted) != 0

    def similarity(self, interest: PatternInterest, other: PatternInterest) -> float:
        """How much of ``other`` is in ``interest``, by containment, overlap and common labels."""
        theirs = other.patterns[:_COMPARED_MAX]
        if not theirs:
            return 1.0
        own = interest.patterns[:_COMPARED_MAX]
        scores = (
            max((_similarity(one, pattern) for one in own), default=0.0) for pattern in theirs
        )
        return sum(scores) / len(theirs)

    def new_summary(self, window: int) -> PatternSummary:
        """A data-summary tree of the window."""
        return PatternSummary(window, self.matcher)

    def size(self, document: Document) -> int:
        """Bytes of the content."""
        return len(document.content)

    def encode_interest(self, interest: PatternInterest) -> bytes:
        """The keys of the patterns."""
        return json.dumps([pattern.key for pattern in interest.patterns]).encode()

    def decode_interest(self, encoded: bytes) -> PatternInterest:
        """From the keys of the patterns."""
        try:
            keys = json.loads(encoded)
            if not isinstance(keys, list) or len(keys) > INTEREST_PATTERNS_MAX:
                raise ValueError("not a list of patterns, or too many")
            patterns = [Pattern.from_key(key) for key in keys]
            if not all(pattern.is_storable for pattern in patterns):
                raise ValueError("a pattern is too long")
        except (ValueError, TypeError, LookupError, RecursionError, PenstockError) as problem:
            raise error("overlay.message", f"malformed interest: {problem}") from None
        return PatternInterest(patterns)

    def encode_document(self, document: Document) -> tuple[bytes, bytes]:
        """The header as links encode it, and the content."""
        message = document_to_message(document)
        return message.header, message.body

    def decode_document(self, header: bytes, body: bytes) -> Document:
        """From header and content."""
        try:
            return document_from_message(Message(header=header, body=body))[0]
        except PenstockError as problem:
            raise error("overlay.message", f"malformed document: {problem}") from None


def _covers(interest: PatternInterest, other: PatternInterest) -> bool:
    own = set(interest.patterns)
    return all(
        pattern in own or any(one.contains(pattern) for one in interest.patterns)
        for pattern in other.patterns
    )


def _similarity(one: Pattern, other: Pattern) -> float:
    if one.contains(other):
        return 1.0
    if (
        isinstance(one.query, Query)
        and isinstance(other.query, Query)
        and not overlaps(one.query, other.query)
    ):
        return 0.0
    labels, others = set(one.tokens), set(other.tokens)
    common = len(labels & others) / max(1, len(labels | others))
    return min(common, _SIMILARITY_MAX) if one.kind == other.kind else 0.0
