"""Schemas: the structure of a publisher's documents, read from a DTD or XSD or inferred from
samples."""

from penstock.schema.graph import SchemaGraph
from penstock.schema.labels import Labels
from penstock.schema.limits import DTD_LIMITS, UNFOLD_LIMITS, DtdLimits, UnfoldLimits
from penstock.schema.outline import print_tree, read_tree
from penstock.schema.path_expansion import ConcretePath, Expansion
from penstock.schema.sample_inference import PathCounts, SampleReader, SampleSummary
from penstock.schema.sample_values import SampleValues, ValueKind, ValueSketch
from penstock.schema.schema_files import read_schema_file
from penstock.schema.tree import NodePath, Place, SchemaAttribute, SchemaNode, SchemaTree

__all__ = [
    "DTD_LIMITS",
    "UNFOLD_LIMITS",
    "ConcretePath",
    "DtdLimits",
    "Expansion",
    "Labels",
    "NodePath",
    "PathCounts",
    "Place",
    "SampleReader",
    "SampleSummary",
    "SampleValues",
    "SchemaAttribute",
    "SchemaGraph",
    "SchemaNode",
    "SchemaTree",
    "UnfoldLimits",
    "ValueKind",
    "ValueSketch",
    "print_tree",
    "read_schema_file",
    "read_tree",
]
