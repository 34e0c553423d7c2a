"""Mediation: documents of every publisher's schema meet subscriptions to one global schema.

Automatic schema matching is imported when it is first used: routers never need it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from penstock.mediation.choosing import MappingChooser, carrying
from penstock.mediation.comparison import Comparison, Unreached, compare, unreached
from penstock.mediation.derivation import Derivation, derive
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
from penstock.mediation.mapping_table import MappingTable, UnknownSchema
from penstock.mediation.matching import Rating, SchemaMatching
from penstock.mediation.mediated import MediatedMatcher, Way
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
from penstock.mediation.reference import rewrite
from penstock.mediation.transform import Transformed

if TYPE_CHECKING:
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
    "Downgrade",
    "Exchange",
    "GlobalDocument",
    "GlobalElement",
    "GlobalNode",
    "GlobalSchema",
    "GlobalText",
    "Insert",
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
    "ToElement",
    "Transformed",
    "UnknownSchema",
    "Unreached",
    "Upgrade",
    "Way",
    "carrying",
    "compare",
    "derive",
    "match_schemas",
    "rewrite",
    "unreached",
]


_IMPORTED_LATER = {
    "Abbreviations",
    "Parts",
    "ProposedMatching",
    "ProposedPair",
    "match_schemas",
}


def __getattr__(name: str) -> object:
    if name not in _IMPORTED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.schema_matching"), name)
