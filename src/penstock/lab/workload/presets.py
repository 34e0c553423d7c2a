"""The workloads that the benchmarks run, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.errors import error
from penstock.lab.shipped import shipped_schema
from penstock.lab.workload.documents import DocumentGenerator
from penstock.lab.workload.parameters import DocumentParameters, QueryParameters
from penstock.lab.workload.queries import QueryGenerator
from penstock.schema import SchemaGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A schema, so many subscriptions over it, and a stream of its documents."""

    name: str
    about: str
    """What it stands for, in a line."""

    schema_name: str
    """A shipped schema."""

    subscriptions: int
    """How many queries it has when the caller does not say."""

    query_parameters: QueryParameters
    document_parameters: DocumentParameters

    @property
    def schema(self) -> SchemaGraph:
        """The schema of its documents."""
        return shipped_schema(self.schema_name)

    def queries(self, count: int | None = None, seed: int = 0) -> list[str]:
        """Its queries, or the first ``count`` of them (or more)."""
        generator = QueryGenerator(self.schema, self.query_parameters)
        return generator.queries(self.subscriptions if count is None else count, seed)

    def documents(self, count: int, seed: int = 0) -> Iterator[bytes]:
        """So many of its documents."""
        return DocumentGenerator(self.schema, self.document_parameters).documents(count, seed)


_NEWS = DocumentParameters(
    choice_skew=2.0, optional_probability=0.3, inlines_mean=1.2, inline_decay=0.2
)

WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        Workload(
            name="paths-sparse",
            about="a million distinct queries on news, few matches a document",
            schema_name="news",
            subscriptions=1_000_000,
            query_parameters=QueryParameters(depth_min=6, child_skew=-1.0),
            document_parameters=_NEWS,
        ),
        Workload(
            name="paths-dense",
            about="150,000 unselective subscriptions on news, thousands of matches a document",
            schema_name="news",
            subscriptions=150_000,
            query_parameters=QueryParameters(depth_min=2, depth_max=6, child_skew=1.0),
            document_parameters=_NEWS,
        ),
    )
}
"""All workloads by name."""


def workload(name: str) -> Workload:
    """A workload by name."""
    if name not in WORKLOADS:
        raise error("lab.workload", f"there is no workload {name!r} among {', '.join(WORKLOADS)}")
    return WORKLOADS[name]
