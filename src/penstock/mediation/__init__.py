"""Mediation: documents of every publisher's schema meet subscriptions to one global schema."""

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
from penstock.mediation.matching import SchemaMatching
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
from penstock.mediation.reference import rewrite
from penstock.mediation.transform import Transformed

__all__ = [
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
    "rewrite",
    "unreached",
]
