"""Mediation: documents of every publisher's schema meet subscriptions to one global schema."""

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
from penstock.mediation.matching import SchemaMatching
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
    "Mapping",
    "Operator",
    "Rename",
    "SchemaMatching",
    "ToElement",
    "Transformed",
    "Unreached",
    "Upgrade",
    "compare",
    "derive",
    "rewrite",
    "unreached",
]
