"""A synopsis of seen documents, on which the selectivity of patterns is estimated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.documents import Document, Limits
from penstock.language import TokenizerOptions
from penstock.matching.header_tests import fields_of
from penstock.matching.query_indexes import QueryIndexes
from penstock.routing.limits import (
    SYNOPSIS_DOCUMENT_BYTES_MAX,
    SYNOPSIS_DOCUMENTS_MAX,
    SYNOPSIS_GENERATION_DOCUMENTS,
)
from penstock.routing.patterns import Pattern

MatchBits = int
"""A set of sampled documents: bit ``i`` stands for document ``i``."""


@dataclass(frozen=True)
class SampledDocuments:
    """The documents of a synopsis at one time.

    Examples
    --------
    >>> sample = SampledDocuments.of([b"<a><b/></a>", b"<a n='5'/>", b"<c/>"])
    >>> [f"{bits:03b}" for bits in sample.match_bits(map(Pattern.of_path, ["/a", "//b", "/a[@n]"]))]
    ['011', '001', '010']
    """

    contents: tuple[bytes, ...] = ()
    fields: tuple[Mapping[str, str], ...] = ()

    @classmethod
    def of(cls, documents: Iterable[bytes | Document]) -> SampledDocuments:
        """A sample of these documents."""
        given = list(documents)
        return cls(
            tuple(each.content if isinstance(each, Document) else each for each in given),
            tuple(fields_of(None, each) for each in given),
        )

    def __len__(self) -> int:
        return len(self.contents)

    def match_bits(self, patterns: Iterable[Pattern]) -> list[MatchBits]:
        """The documents that match each pattern, by the ordinary matcher.

        All patterns are matched in one pass over the documents. A document that a limit refuses
        matches all of them, which estimates conservatively.
        """
        wanted = list(patterns)
        bits = [0] * len(wanted)
        if not wanted or not self.contents:
            return bits
        indexes = QueryIndexes(TokenizerOptions())
        refused = indexes.add(pattern.numbered(number) for number, pattern in enumerate(wanted))
        assert not refused, "patterns are storable queries"
        matcher = indexes.matcher(Limits())
        unknown = 0
        for position, (content, fields) in enumerate(zip(self.contents, self.fields, strict=True)):
            matches = matcher.match(content, header=fields)
            if matches.errors or matches.set_aside:
                unknown |= 1 << position
            for number in matches.ids:
                bits[int(number)] |= 1 << position
        return [each | unknown for each in bits] if unknown else bits


@dataclass(frozen=True)
class _Sample:
    """The documents with the least digests, by digest."""

    by_digest: Mapping[bytes, tuple[bytes, Mapping[str, str]]] = field(default_factory=dict)

    def joined(self, other: _Sample) -> _Sample:
        joint = {**self.by_digest, **other.by_digest}
        kept = sorted(joint)[: SYNOPSIS_DOCUMENTS_MAX // 2]
        return _Sample({digest: joint[digest] for digest in kept})


class Synopsis:
    """A bounded uniform sample of the distinct documents seen lately.

    A document is kept if its digest is among the least of its generation (bottom-k sampling), so
    the sample depends neither on order nor on chance, and the synopses of two routers merge into
    the one of all their documents. A generation ends after a fixed number of documents; the
    synopsis holds the current and the previous one.

    Examples
    --------
    >>> synopsis = Synopsis()
    >>> synopsis.observe([b"<a/>", b"<b/>", b"<a/>"])
    >>> len(synopsis.documents()), synopsis.observed
    (2, 3)
    """

    def __init__(self) -> None:
        self._generations = [_Sample(), _Sample()]
        self._in_generation = 0
        self.observed = 0
        """Number of documents seen."""
        self.skipped = 0
        """Number of documents that were too large to sample."""

    def observe(self, documents: Iterable[bytes | Document]) -> None:
        """Add documents; only well-formed ones are useful."""
        for document in documents:
            if self._in_generation >= SYNOPSIS_GENERATION_DOCUMENTS:
                self._generations = [_Sample(), self._generations[0]]
                self._in_generation = 0
            self._in_generation += 1
            self.observed += 1
            content = document.content if isinstance(document, Document) else document
            if len(content) > SYNOPSIS_DOCUMENT_BYTES_MAX:
                self.skipped += 1
                continue
            fields = dict(fields_of(None, document))
            digest = hashlib.blake2b(content, digest_size=16)
            digest.update(repr(sorted(fields.items())).encode())
            self._add(digest.digest(), content, fields)

    def merge(self, other: Synopsis) -> None:
        """Add what another synopsis has seen."""
        self._generations = [
            mine.joined(its)
            for mine, its in zip(self._generations, other._generations, strict=True)
        ]
        self._in_generation = max(self._in_generation, other._in_generation)
        self.observed += other.observed
        self.skipped += other.skipped

    def documents(self) -> SampledDocuments:
        """The sample, in the order of digests."""
        both = {**self._generations[1].by_digest, **self._generations[0].by_digest}
        kept: Sequence[tuple[bytes, Mapping[str, str]]] = [both[digest] for digest in sorted(both)]
        return SampledDocuments(
            tuple(content for content, _ in kept), tuple(fields for _, fields in kept)
        )

    def _add(self, digest: bytes, content: bytes, fields: Mapping[str, str]) -> None:
        current = self._generations[0].by_digest
        if digest in current:
            return
        if len(current) >= SYNOPSIS_DOCUMENTS_MAX // 2 and digest > max(current):
            return
        self._generations[0] = self._generations[0].joined(_Sample({digest: (content, fields)}))
