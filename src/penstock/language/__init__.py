"""What a subscriber can say: the XPath fragment, parsed, printed, normalised and related."""

from penstock.language.ast import Query
from penstock.language.parsing import parse
from penstock.language.printing import PrintedQuery, to_text

__all__ = ["PrintedQuery", "Query", "parse", "to_text"]
