"""Documents of catalogues with their mappings, and the same documents under the global schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.documents import read_events
from penstock.lab.catalogues.catalogue_collection import Catalogue
from penstock.matching import Matcher, SubscriptionIndex
from penstock.mediation import Mapping, MediatedMatcher, rewrite


@dataclass(frozen=True, slots=True)
class RewrittenDocument:
    """A document, its mapping, and the document rewritten to the global schema."""

    catalogue: str
    """The name of its catalogue."""
    document: bytes
    mapping: Mapping
    rewritten: bytes


def rewritten_document(catalogue: Catalogue, document: bytes) -> RewrittenDocument:
    """Rewrite a document with the mapping of its catalogue."""
    made = rewrite(catalogue.mapping, read_events(document)).to_xml()
    return RewrittenDocument(catalogue.name, document, catalogue.mapping, made.encode())


def index_of(queries: Iterable[str]) -> SubscriptionIndex:
    """An index of queries with ids ``s0``, ``s1``, ..."""
    listed = list(queries)
    index = SubscriptionIndex()
    errors = index.add_many([f"s{number}" for number in range(len(listed))], listed)
    assert not errors, next(iter(errors.values()))
    return index


def match_rewritten(matcher: Matcher, sent: Sequence[RewrittenDocument]) -> int:
    """Match the rewritten documents; return the number of matches."""
    return sum(len(matcher.match(each.rewritten)) for each in sent)


def match_through(mediated: MediatedMatcher, sent: Sequence[RewrittenDocument]) -> int:
    """Match every document through its mapping; return the number of matches."""
    return sum(len(mediated.match(each.document, each.mapping)) for each in sent)
