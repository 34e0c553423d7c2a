"""Matches documents against all patterns of a process at once, each document once."""

from __future__ import annotations

import logging
import weakref
from collections import OrderedDict
from collections.abc import Iterable

from penstock.documents import Document, Limits
from penstock.documents.failure_report import PROCESS_EXITS
from penstock.language import TokenizerOptions
from penstock.matching import Matcher
from penstock.matching.query_indexes import QueryIndexes
from penstock.overlay.limits import MATCHED_DOCUMENTS_MAX, MATCHED_PATTERNS_MAX
from penstock.routing import Pattern

logger = logging.getLogger(__name__)


class PatternMatcher:
    """One index of all patterns that were asked for, shared by the peers of a process.

    A document is matched against all of them in one pass, and its matches are remembered as a
    bitmap. A pattern that is added later causes another pass over the documents that meet it.

    Parameters
    ----------
    limits
        Of documents.
    documents_max
        Documents whose matches are remembered, the latest.

    Examples
    --------
    >>> from penstock.documents import Header
    >>> matcher = PatternMatcher()
    >>> news, price = Pattern.of_path("/news"), Pattern.of_path("//price")
    >>> document = Document(b"<news><price/></news>", Header(publisher="wire"))
    >>> bits = matcher.bits_of([news, price])
    >>> matcher.matched_bits(document, bits) == bits
    True
    """

    def __init__(
        self, *, limits: Limits | None = None, documents_max: int = MATCHED_DOCUMENTS_MAX
    ) -> None:
        self._limits = limits or Limits()
        self._documents_max = documents_max
        self.generation = 0
        """Grows when the index is emptied, and bits have to be asked for again."""
        self._indexes = QueryIndexes(TokenizerOptions())
        self._numbers: dict[Pattern, int] = {}
        self._matcher: Matcher | None = None
        self._matched: OrderedDict[int, tuple[weakref.ref[Document], int, int]] = OrderedDict()
        """By the id of a document, which another one may have later: the document, how many
        patterns there were, and the bits of those that match."""
        self.passes = 0
        """Documents that were matched."""

    def __len__(self) -> int:
        return len(self._numbers)

    def bits_of(self, patterns: Iterable[Pattern]) -> int:
        """The bits of patterns, for this generation; unknown ones are added to the index."""
        if len(self._numbers) > MATCHED_PATTERNS_MAX:
            self._start_generation()
        bits = 0
        for pattern in patterns:
            number = self._numbers.get(pattern)
            if number is None:
                number = self._numbers[pattern] = len(self._numbers)
                refused = self._indexes.add([pattern.numbered(number)])
                assert not refused, "patterns are storable queries"
                self._matcher = None
            bits |= 1 << number
        return bits

    def _start_generation(self) -> None:
        """Empties the index: most of its patterns are from filters of the past."""
        self.generation += 1
        self._indexes = QueryIndexes(TokenizerOptions())
        self._numbers.clear()
        self._matched.clear()
        self._matcher = None

    def matched_bits(self, document: Document, wanted: int) -> int:
        """Which of the wanted patterns match a document.

        A document that is not well-formed matches none. Patterns whose work budget is spent count
        as matching, and so do all patterns if matching fails by a defect, so that nobody loses the
        document.
        """
        known = self._matched.get(id(document))
        if known is None or known[0]() is not document or wanted >> known[1]:
            known = (weakref.ref(document), len(self._numbers), self._match(document))
            self._matched[id(document)] = known
            if len(self._matched) > self._documents_max:
                self._matched.popitem(last=False)
        return known[2] & wanted

    def _match(self, document: Document) -> int:
        if self._matcher is None:
            self._matcher = self._indexes.matcher(self._limits)
        self.passes += 1
        try:
            matches = self._matcher.match(document)
        except PROCESS_EXITS:
            raise
        except BaseException:
            # A panic of the native core is no Exception.
            logger.exception("%s cannot be matched, and counts as matching", document.identity)
            return (1 << len(self._numbers)) - 1
        bits = 0
        for number in (*matches.ids, *matches.set_aside):
            bits |= 1 << int(number)
        return bits
