"""Automatic schema matching: scored pairs from names, kinds, values and structure."""

from penstock.mediation.schema_matching.matcher import (
    Parts,
    ProposedMatching,
    ProposedPair,
    match_schemas,
)
from penstock.mediation.schema_matching.name_words import Abbreviations

__all__ = ["Abbreviations", "Parts", "ProposedMatching", "ProposedPair", "match_schemas"]
