"""Query languages: XPath (parsing, printing, normal form, relations) and keywords."""

from penstock.language.keywords.query import KeywordQuery, parse_keywords
from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.language.relations.decisions import (
    contains,
    covers,
    disjoint,
    generalise,
    overlaps,
    why_never,
)
from penstock.language.relations.verdicts import Relation, Verdict, relate
from penstock.language.source_position import with_caret
from penstock.language.subscription import Subscription
from penstock.language.xpath.ast import Query
from penstock.language.xpath.normal_form import normalise
from penstock.language.xpath.parsing import parse, parse_normal
from penstock.language.xpath.printing import PrintedQuery, to_text

__all__ = [
    "KeywordQuery",
    "PrintedQuery",
    "Query",
    "Relation",
    "Subscription",
    "TokenizerOptions",
    "Verdict",
    "contains",
    "covers",
    "disjoint",
    "generalise",
    "normalise",
    "overlaps",
    "parse",
    "parse_keywords",
    "parse_normal",
    "relate",
    "to_text",
    "why_never",
    "with_caret",
]
