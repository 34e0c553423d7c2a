"""Workload generators: documents and queries of a schema, reproducible by seed."""

from penstock.lab.workload.document_generator import DocumentGenerator
from penstock.lab.workload.huge_documents import huge_document
from penstock.lab.workload.keyword_generator import (
    KeywordsOfDocuments,
    KeywordsOfPaths,
    PathAndKeywords,
    terms,
)
from penstock.lab.workload.keyword_presets import KEYWORD_WORKLOADS, KeywordWorkload
from penstock.lab.workload.parameters import (
    DocumentParameters,
    KeywordParameters,
    PredicateMix,
    QueryParameters,
    ValueParameters,
)
from penstock.lab.workload.path_presets import WORKLOADS, Workload, workload
from penstock.lab.workload.query_generator import QueryGenerator
from penstock.lab.workload.world_facts import world_facts

__all__ = [
    "KEYWORD_WORKLOADS",
    "WORKLOADS",
    "DocumentGenerator",
    "DocumentParameters",
    "KeywordParameters",
    "KeywordWorkload",
    "KeywordsOfDocuments",
    "KeywordsOfPaths",
    "PathAndKeywords",
    "PredicateMix",
    "QueryGenerator",
    "QueryParameters",
    "ValueParameters",
    "Workload",
    "huge_document",
    "terms",
    "workload",
    "world_facts",
]
