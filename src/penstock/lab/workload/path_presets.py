"""The workloads that the benchmarks run, by name."""

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
        return built_in_schema(self.schema_name)

    def queries(self, count: int | None = None, seed: int = 0) -> list[str]:
        """Its queries, or the first ``count`` of them (or more).

        The first distinct queries are the likeliest, and match most: who wants fewer queries of
        the same selectivity takes a sample of all.
        """
        generator = QueryGenerator(self.schema, self.query_parameters)
        return generator.queries(self.subscriptions if count is None else count, seed)

    def documents(self, count: int, seed: int = 0) -> Iterator[bytes]:
        """So many of its documents."""
        return DocumentGenerator(self.schema, self.document_parameters).documents(count, seed)


_FEED = DocumentParameters(
    choice_skew=2.5, optional_probability=0.3, inlines_mean=1.5, inline_decay=0.2
)
"""News as feeds carry them: much the same in every document."""

_FEW_VALUES = ValueParameters(count=20)

WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        Workload(
            name="paths-sparse",
            about="a million selective queries on news, some hundred matches a document",
            schema_name="news",
            subscriptions=1_000_000,
            query_parameters=QueryParameters(depth_min=6, child_skew=-0.5),
            document_parameters=_FEED,
        ),
        Workload(
            name="paths-dense",
            about="150,000 broad queries on news, about 5,000 matches a document",
            schema_name="news",
            subscriptions=150_000,
            query_parameters=QueryParameters(depth_min=2, child_skew=1.0, values=_FEW_VALUES),
            document_parameters=DocumentParameters(
                choice_skew=1.5, attribute_probability=0.6, values=_FEW_VALUES
            ),
        ),
        Workload(
            name="paths-hard",
            about="a million queries full of // and * on news with inlines nested to eight",
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
"""All workloads by name."""


def workload(name: str) -> Workload:
    """A workload by name."""
    if name not in WORKLOADS:
        raise error("lab.workload", f"there is no workload {name!r} among {', '.join(WORKLOADS)}")
    return WORKLOADS[name]
