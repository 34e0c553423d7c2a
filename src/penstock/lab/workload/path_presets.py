"""The XPath workloads of the benchmarks, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.errors import error
from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.workload.document_generator import DocumentGenerator
from penstock.lab.workload.parameters import DocumentParameters, QueryParameters, ValueParameters
from penstock.lab.workload.query_generator import QueryGenerator
from penstock.schema import SchemaGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A schema with subscriptions and a stream of documents."""

    name: str
    about: str
    """A one-line description."""

    schema_name: str
    """The name of a built-in schema."""

    subscriptions: int
    """The default number of queries."""

    query_parameters: QueryParameters
    document_parameters: DocumentParameters

    @property
    def schema(self) -> SchemaGraph:
        """The schema of the documents."""
        return built_in_schema(self.schema_name)

    def queries(self, count: int | None = None, seed: int = 0) -> list[str]:
        """Generate the queries, or ``count`` of them.

        The first distinct queries are the most probable ones and match most. For fewer queries of
        the same selectivity, take a sample of all.
        """
        generator = QueryGenerator(self.schema, self.query_parameters)
        return generator.queries(self.subscriptions if count is None else count, seed)

    def documents(self, count: int, seed: int = 0) -> Iterator[bytes]:
        """Generate ``count`` documents."""
        return DocumentGenerator(self.schema, self.document_parameters).documents(count, seed)


_FEED = DocumentParameters(
    choice_skew=2.5, optional_probability=0.3, inlines_mean=1.5, inline_decay=0.2
)
"""Documents of a news feed, which are similar to each other."""

_FEW_VALUES = ValueParameters(count=20)

WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        Workload(
            name="paths-sparse",
            about="a million selective queries on news, some hundred matches per document",
            schema_name="news",
            subscriptions=1_000_000,
            query_parameters=QueryParameters(depth_min=6, child_skew=-0.5),
            document_parameters=_FEED,
        ),
        Workload(
            name="paths-dense",
            about="150,000 broad queries on news, about 5,000 matches per document",
            schema_name="news",
            subscriptions=150_000,
            query_parameters=QueryParameters(depth_min=2, child_skew=1.0, values=_FEW_VALUES),
            document_parameters=DocumentParameters(
                choice_skew=1.5, attribute_probability=0.6, values=_FEW_VALUES
            ),
        ),
        Workload(
            name="paths-hard",
            about="a million queries with many // and * on news with up to eight nested inlines",
            schema_name="news",
            subscriptions=1_000_000,
            query_parameters=QueryParameters(
                depth_min=6,
                child_skew=-0.5,
                wildcard_probability=0.2,
                descendant_probability=0.2,
            ),
            document_parameters=DocumentParameters(
                recursion_max=8, inlines_mean=1.5, inline_decay=0.6
            ),
        ),
        Workload(
            name="treebank",
            about="a million deeper queries on parsed sentences of up to 36 levels",
            schema_name="treebank",
            subscriptions=1_000_000,
            query_parameters=QueryParameters(depth_min=7, depth_max=10),
            document_parameters=DocumentParameters(
                levels_max=36,
                recursion_max=36,
                choice_skew=1.5,
                optional_probability=0.12,
                attribute_probability=0.2,
            ),
        ),
    )
}
"""All XPath workloads by name."""


def workload(name: str) -> Workload:
    """Look up a workload by name."""
    if name not in WORKLOADS:
        raise error(
            "lab.workload", f"unknown workload {name!r}; the workloads are {', '.join(WORKLOADS)}"
        )
    return WORKLOADS[name]
