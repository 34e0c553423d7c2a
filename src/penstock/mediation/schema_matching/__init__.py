"""Automatic schema matching: from names, kinds, values and structure to pairs with scores."""

from penstock.mediation.schema_matching.matcher import (
    Parts,
    ProposedMatching,
    ProposedPair,
    match_schemas,
)
from penstock.mediation.schema_matching.words import Abbreviations

__all__ = ["Abbreviations", "Parts", "ProposedMatching", "ProposedPair", "match_schemas"]
