"""Documents of the annotated catalogues with mappings to one of them, and subscriptions to it."""

from __future__ import annotations

from penstock.documents import read_events
from penstock.lab.catalogues.rewritten_documents import RewrittenDocument
from penstock.lab.catalogues.subscriptions import QUERIES, graph_of
from penstock.lab.matching_catalogues.annotated_catalogue import (
    HELD_BACK,
    TUNING,
    AnnotatedCatalogue,
    catalogues_of,
    correspondences,
)
from penstock.lab.workload import QueryGenerator
from penstock.mediation import SchemaMatching, derive, rewrite


def mapped_documents(count: int) -> list[RewrittenDocument]:
    """One document of each of ``count`` catalogues, mapped to the schema of the first one.

    The mappings are derived from the known correspondences.
    """
    first, *others = _catalogues()
    return [_mapped(each, first) for each in others[:count]]


def registrar_subscriptions(count: int, seed: int) -> list[str]:
    """Distinct queries to the schema of the first catalogue."""
    return QueryGenerator(graph_of(_catalogues()[0].schema), QUERIES).queries(count, seed)


def _catalogues() -> list[AnnotatedCatalogue]:
    return [*catalogues_of(TUNING), *catalogues_of(HELD_BACK)]


def _mapped(local: AnnotatedCatalogue, target: AnnotatedCatalogue) -> RewrittenDocument:
    pairs = sorted(correspondences(local, target), key=str)
    mapping = derive(local.schema, target.schema, SchemaMatching(tuple(pairs))).mapping
    rewritten = rewrite(mapping, read_events(local.document)).to_xml()
    return RewrittenDocument(local.name, local.document, mapping, rewritten.encode())
