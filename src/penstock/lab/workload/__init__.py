"""Workloads: documents and queries drawn from a schema, by seed, in the field's own parameters."""

from penstock.lab.workload.documents import DocumentGenerator
from penstock.lab.workload.huge import huge_document
from penstock.lab.workload.parameters import (
    DocumentParameters,
    PredicateMix,
    QueryParameters,
    ValueParameters,
)
from penstock.lab.workload.presets import WORKLOADS, Workload, workload
from penstock.lab.workload.queries import QueryGenerator

__all__ = [
    "WORKLOADS",
    "DocumentGenerator",
    "DocumentParameters",
    "PredicateMix",
    "QueryGenerator",
    "QueryParameters",
    "ValueParameters",
    "Workload",
    "huge_document",
    "workload",
]
