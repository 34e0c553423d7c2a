"""Generates subscriptions to the global schema with the parameters of the paper."""

from __future__ import annotations

from functools import cache

from penstock.lab.catalogues.catalogue_collection import global_schema
from penstock.lab.workload import QueryGenerator, QueryParameters
from penstock.schema import SchemaGraph, SchemaNode, SchemaTree
from penstock.schema.outline import SIGNS

QUERIES = QueryParameters(
    depth_min=1,
    depth_max=8,
    wildcard_probability=0.2,
    descendant_probability=0.1,
    predicate_weights=(1.0,),
    nested_path_weights=(0.8, 0.2),
)
"""At most eight steps, ``*`` with probability 0.2, a nested path with 0.2. The paper does not
give the probability of ``//``."""


def subscriptions(count: int, seed: int = 0) -> list[str]:
    """Generate ``count`` distinct queries; a larger count only appends."""
    return QueryGenerator(_global_graph(), QUERIES).queries(count, seed)


@cache
def _global_graph() -> SchemaGraph:
    return graph_of(global_schema())


def graph_of(schema: SchemaTree) -> SchemaGraph:
    """A schema as a DTD, in which all elements of one name have the same content."""
    nodes = {node.name.local: node for node in schema.nodes().values()}
    declarations = "".join(map(_declaration, nodes.values()))
    return SchemaGraph.from_dtd(declarations, roots=[schema.root.name.local])


def _declaration(node: SchemaNode) -> str:
    children = ", ".join(f"{child.name.local}{SIGNS[child.occurs]}" for child in node.children)
    content = f"({children})" if children else "(#PCDATA)" if node.text else "EMPTY"
    attributes = "".join(
        f"<!ATTLIST {node.name.local} {each.name.local} CDATA #IMPLIED>" for each in node.attributes
    )
    return f"<!ELEMENT {node.name.local} {content}>{attributes}"
