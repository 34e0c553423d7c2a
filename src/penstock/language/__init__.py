"""What a subscriber can say: XPath, parsed, printed, normalised and related; and keywords."""

from penstock.language.ast import Query
from penstock.language.generalisation import generalise
from penstock.language.keywords import KeywordQuery, parse_keywords
from penstock.language.normal_form import normalise
from penstock.language.parsing import parse, parse_normal
from penstock.language.position import with_caret
from penstock.language.printing import PrintedQuery, to_text
from penstock.language.relations import contains, covers, disjoint, overlaps, why_never
from penstock.language.subscription import Subscription
from penstock.language.verdicts import Relation, Verdict, relate

__all__ = [
    "KeywordQuery",
    "PrintedQuery",
    "Query",
    "Relation",
    "Subscription",
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
