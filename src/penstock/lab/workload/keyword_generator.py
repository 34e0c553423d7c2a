"""Generates keyword queries by seed, from the terms of XPath queries or the words of documents.

The first method is that of the literature: the path defines which answers of its keywords are
relevant. The second resembles what users write: words of documents, common ones more often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from random import Random
from typing import NamedTuple

from lxml import etree

from penstock.errors import error
from penstock.lab.workload.parameters import KeywordParameters, QueryParameters
from penstock.lab.workload.query_generator import TRIES_MAX, QueryGenerator
from penstock.lab.workload.weighted_choice import Rnd, WeightedChoice, zipf_weights
from penstock.language.keywords.query import words
from penstock.schema import SchemaGraph

_TERM = re.compile(r"""'([^']*)'|"([^"]*)"|([\w.-]+:)?([\w.-]+)""")
"""A constant or a name; a prefix is not a term."""

TERMS_CACHED = 1 << 16
"""Terms whose words are cached, because terms repeat."""


class PathAndKeywords(NamedTuple):
    """An XPath query and the keyword query of its terms."""

    path: str
    keywords: str


def terms(path: str) -> frozenset[str]:
    """The words in names and constants of an XPath query of :class:`QueryGenerator`.

    >>> sorted(terms("//news-item[@lang = 'en']/*/price[. = 12]"))
    ['12', 'en', 'item', 'lang', 'news', 'price']
    """
    found: set[str] = set()
    for single, double, _, name in _TERM.findall(path):
        found.update(_words(single or double or name))
    return frozenset(found)


class KeywordsOfPaths:
    """Generates XPath queries of a schema and takes their terms.

    Skips paths whose number of words is out of range, and paths with the words of an earlier one.

    Examples
    --------
    >>> shop = SchemaGraph.from_dtd('''
    ...     <!ELEMENT shop (item+)> <!ELEMENT item (name, price?)>
    ...     <!ATTLIST item lang (en | de) #REQUIRED>
    ...     <!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)>''')
    >>> generator = KeywordsOfPaths(shop)
    >>> for path, keywords in generator.pairs(2, seed=5):
    ...     print(path, "|", keywords)
    /shop/item[@lang = 'en']/price | en item lang price shop
    //item[@lang = 'de']/name | de item lang name
    """

    def __init__(
        self,
        schema: SchemaGraph,
        path_parameters: QueryParameters | None = None,
        parameters: KeywordParameters | None = None,
    ) -> None:
        self.parameters = parameters or KeywordParameters()
        self._paths = QueryGenerator(schema, path_parameters)

    def pairs(self, count: int, seed: int = 0) -> list[PathAndKeywords]:
        """Generate ``count`` queries with their paths, in the order of the paths."""
        return list(islice(self._stream(seed), count))

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """Generate ``count`` queries; a larger count only appends."""
        return [pair.keywords for pair in self.pairs(count, seed)]

    def _stream(self, seed: int) -> Iterator[PathAndKeywords]:
        rnd = Random(f"modes of {seed}").random
        seen: set[str] = set()
        failures = 0
        for path in self._paths.stream(seed):
            found = terms(path)
            if self.parameters.words_min <= len(found) <= self.parameters.words_max:
                query = _query_text(found, self.parameters, rnd)
                if query not in seen:
                    seen.add(query)
                    failures = 0
                    yield PathAndKeywords(path, query)
                    continue
            failures += 1
            if failures == TRIES_MAX:
                raise error("lab.exhausted", f"found only {len(seen)} distinct keyword queries")


class KeywordsOfDocuments:
    """Draws words of documents by Zipf's law, ranked by document frequency.

    Examples
    --------
    >>> feed = [b"<news><p>storm on the coast</p></news>", b"<news><p>the storm</p></news>"]
    >>> generator = KeywordsOfDocuments(feed, KeywordParameters(words_min=2, words_max=3))
    >>> generator.queries(3, seed=1)
    ['news the', 'storm the', 'p the']
    """

    def __init__(
        self, documents: Iterable[bytes], parameters: KeywordParameters | None = None
    ) -> None:
        self.parameters = parameters or KeywordParameters()
        counted: Counter[str] = Counter()
        for document in documents:
            counted.update(document_words(document))
        ranked = sorted(counted, key=lambda word: (-counted[word], word))
        if len(ranked) < self.parameters.words_max:
            raise error("lab.exhausted", f"the documents have only {len(ranked)} different words")
        self._draw = WeightedChoice(ranked, zipf_weights(len(ranked), self.parameters.skew))

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """Generate ``count`` distinct queries; a larger count only appends."""
        rnd = Random(seed).random
        seen: dict[str, None] = {}
        failures = 0
        while len(seen) < count:
            query = _query_text(self._draw_words(rnd), self.parameters, rnd)
            failures = failures + 1 if query in seen else 0
            if failures == TRIES_MAX:
                raise error("lab.exhausted", f"found only {len(seen)} distinct keyword queries")
            seen[query] = None
        return list(seen)

    def _draw_words(self, rnd: Rnd) -> set[str]:
        least, most = self.parameters.words_min, self.parameters.words_max
        wanted = least + int(rnd() * (most - least + 1))
        found: set[str] = set()
        while len(found) < wanted:
            found.add(self._draw(rnd))
        return found


def document_words(document: bytes) -> set[str]:
    """All words of a document: in element and attribute names, values and text."""
    found: set[str] = set()
    for element in etree.fromstring(document).iter(etree.Element):
        found.update(_words(etree.QName(element).localname))
        for name, value in element.attrib.items():
            found.update(_words(etree.QName(name).localname))
            found.update(*map(_words, value.split()))
        for text in (element.text, element.tail):
            found.update(*map(_words, (text or "").split()))
    return found


def _query_text(found: Iterable[str], parameters: KeywordParameters, rnd: Rnd) -> str:
    in_order = sorted(found)
    return (" OR " if rnd() < parameters.any_probability else " ").join(in_order)


@lru_cache(maxsize=TERMS_CACHED)
def _words(term: str) -> tuple[str, ...]:
    return words(term)
