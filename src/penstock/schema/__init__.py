"""Schemas: what documents of a publisher can look like, read from a DTD."""

from penstock.schema.expand import ConcretePath, Expansion
from penstock.schema.graph import SchemaGraph
from penstock.schema.limits import DTD_LIMITS, UNFOLD_LIMITS, DtdLimits, UnfoldLimits
from penstock.schema.tree import SchemaNode, SchemaTree

__all__ = [
    "DTD_LIMITS",
    "UNFOLD_LIMITS",
    "ConcretePath",
    "DtdLimits",
    "Expansion",
    "SchemaGraph",
    "SchemaNode",
    "SchemaTree",
    "UnfoldLimits",
]
