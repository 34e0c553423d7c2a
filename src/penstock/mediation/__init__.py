"""Mediation: matches documents of different publishers' schemas against one global schema.

Automatic schema matching and schema integration are imported on first use: routers do not need
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.lazy_imports import lazy_names
from penstock.mediation.correspondence import Rating, SchemaMatching
from penstock.mediation.derivation import Derivation, SeparateInserts, derive
from penstock.mediation.global_document import (
    Applied,
    GlobalDocument,
    GlobalElement,
    GlobalNode,
    GlobalText,
)
from penstock.mediation.global_schema import GlobalSchema
from penstock.mediation.mapping import Mapping
from penstock.mediation.mapping_cache import MappingCache
from penstock.mediation.mapping_selection import MappingChooser, carrying
from penstock.mediation.mapping_table import MappingTable, UnknownSchema
from penstock.mediation.mediated_matcher import MediatedMatcher, Way
from penstock.mediation.mediator import LocalSchema, Mediator
from penstock.mediation.operators import (
    Downgrade,
    Exchange,
    Insert,
    Operator,
    Rename,
    ToElement,
    Upgrade,
)
from penstock.mediation.query_rewriting import QueryRewriter
from penstock.mediation.reference.rewriting import rewrite
from penstock.mediation.schema_comparison import Comparison, Unreached, compare, unreached
from penstock.mediation.schema_transformation import Transformed
from penstock.mediation.static_rewriting import DocumentWriter
from penstock.mediation.tree_matching import Written

if TYPE_CHECKING:
    from penstock.mediation.integration import Integration as Integration
    from penstock.mediation.integration import Unplaced as Unplaced
    from penstock.mediation.integration import extend as extend
    from penstock.mediation.integration import integrate as integrate
    from penstock.mediation.schema_matching import Abbreviations as Abbreviations
    from penstock.mediation.schema_matching import Parts as Parts
    from penstock.mediation.schema_matching import ProposedMatching as ProposedMatching
    from penstock.mediation.schema_matching import ProposedPair as ProposedPair
    from penstock.mediation.schema_matching import match_schemas as match_schemas

__all__ = [
    "Abbreviations",
    "Applied",
    "Comparison",
    "Derivation",
    "DocumentWriter",
    "Downgrade",
    "Exchange",
    "GlobalDocument",
    "GlobalElement",
    "GlobalNode",
    "GlobalSchema",
    "GlobalText",
    "Insert",
    "Integration",
    "LocalSchema",
    "Mapping",
    "MappingCache",
    "MappingChooser",
    "MappingTable",
    "MediatedMatcher",
    "Mediator",
    "Operator",
    "Parts",
    "ProposedMatching",
    "ProposedPair",
    "QueryRewriter",
    "Rating",
    "Rename",
    "SchemaMatching",
    "SeparateInserts",
    "ToElement",
    "Transformed",
    "UnknownSchema",
    "Unplaced",
    "Unreached",
    "Upgrade",
    "Way",
    "Written",
    "carrying",
    "compare",
    "derive",
    "extend",
    "integrate",
    "match_schemas",
    "rewrite",
    "unreached",
]


_LAZY_IMPORTS = {
    "Abbreviations": ".schema_matching",
    "Integration": ".integration",
    "Parts": ".schema_matching",
    "ProposedMatching": ".schema_matching",
    "ProposedPair": ".schema_matching",
    "Unplaced": ".integration",
    "extend": ".integration",
    "integrate": ".integration",
    "match_schemas": ".schema_matching",
}
"""Names that are imported on first use, with their subpackages."""

__getattr__, __dir__ = lazy_names(__name__, _LAZY_IMPORTS)
