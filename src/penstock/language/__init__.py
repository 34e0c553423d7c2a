"""Query languages: XPath (parsing, printing, normal form, relations) and keywords.

Public names are imported on first use: most programs need one of the two languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.lazy_imports import lazy_names

if TYPE_CHECKING:
    from penstock.language.keywords.query import KeywordQuery as KeywordQuery
    from penstock.language.keywords.query import parse_keywords as parse_keywords
    from penstock.language.keywords.tokenizer_options import TokenizerOptions as TokenizerOptions
    from penstock.language.relations.decisions import contains as contains
    from penstock.language.relations.decisions import covers as covers
    from penstock.language.relations.decisions import disjoint as disjoint
    from penstock.language.relations.decisions import generalise as generalise
    from penstock.language.relations.decisions import overlaps as overlaps
    from penstock.language.relations.decisions import why_never as why_never
    from penstock.language.relations.verdicts import Relation as Relation
    from penstock.language.relations.verdicts import Verdict as Verdict
    from penstock.language.relations.verdicts import relate as relate
    from penstock.language.source_position import with_caret as with_caret
    from penstock.language.subscription import Subscription as Subscription
    from penstock.language.xpath.ast import Query as Query
    from penstock.language.xpath.normal_form import normalise as normalise
    from penstock.language.xpath.parsing import parse as parse
    from penstock.language.xpath.parsing import parse_normal as parse_normal
    from penstock.language.xpath.printing import PrintedQuery as PrintedQuery
    from penstock.language.xpath.printing import to_text as to_text

_MODULES = {
    "KeywordQuery": ".keywords.query",
    "PrintedQuery": ".xpath.printing",
    "Query": ".xpath.ast",
    "Relation": ".relations.verdicts",
    "Subscription": ".subscription",
    "TokenizerOptions": ".keywords.tokenizer_options",
    "Verdict": ".relations.verdicts",
    "contains": ".relations.decisions",
    "covers": ".relations.decisions",
    "disjoint": ".relations.decisions",
    "generalise": ".relations.decisions",
    "normalise": ".xpath.normal_form",
    "overlaps": ".relations.decisions",
    "parse": ".xpath.parsing",
    "parse_keywords": ".keywords.query",
    "parse_normal": ".xpath.parsing",
    "relate": ".relations.verdicts",
    "to_text": ".xpath.printing",
    "why_never": ".relations.decisions",
    "with_caret": ".source_position",
}
"""The module of each public name."""

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

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
