"""Keyword queries, by seed: from the terms of XPath queries, or from the words of documents.

The first is the literature's way: who knows what a path asks for can judge what its words find. The
second is what people write: words that documents have, the common ones more often.
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
"""A constant, or a name; a prefix is no term."""

TERMS_KEPT = 1 << 16
"""Terms whose words are remembered: few are cut into words more than once."""


class PathAndKeywords(NamedTuple):
    """An XPath query, and the keyword query of its terms."""

    path: str
    keywords: str


def terms(path: str) -> frozenset[str]:
    """The words of an XPath query as :class:`QueryGenerator` writes them: of names and constants.

    >>> sorted(terms("//news-item[@lang = 'en']/*/price[. = 12]"))
    ['12', 'en', 'item', 'lang', 'news', 'price']
    """
    found: set[str] = set()
    for single, double, _, name in _TERM.findall(path):
        found.update(_words(single or double or name))
    return frozenset(found)


class KeywordsOfPaths:
    """Draws XPath queries from a schema and takes their terms.

    Paths whose number of words is out of the range are passed over, and so are those whose words
    another one had.

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
        """So many queries with the paths they come from, in the order of the paths."""
        return list(islice(self._stream(seed), count))

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """So many queries; the first of them are the same whatever the count."""
        return [pair.keywords for pair in self.pairs(count, seed)]

    def _stream(self, seed: int) -> Iterator[PathAndKeywords]:
        rnd = Random(f"modes of {seed}").random
        seen: set[str] = set()
        in_vain = 0
        for path in self._paths.stream(seed):
            found = terms(path)
            if self.parameters.words_min <= len(found) <= self.parameters.words_max:
                query = _written(found, self.parameters, rnd)
                if query not in seen:
                    seen.add(query)
                    in_vain = 0
                    yield PathAndKeywords(path, query)
                    continue
            in_vain += 1
            if in_vain == TRIES_MAX:
                raise error("lab.exhausted", f"found only {len(seen)} distinct keyword queries")


class KeywordsOfDocuments:
    """Draws words that documents have, by Zipf's law, the word of most documents first.

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
        """So many distinct queries; the first of them are the same whatever the count."""
        rnd = Random(seed).random
        seen: dict[str, None] = {}
        in_vain = 0
        while len(seen) < count:
            query = _written(self._some_words(rnd), self.parameters, rnd)
            in_vain = in_vain + 1 if query in seen else 0
            if in_vain == TRIES_MAX:
                raise error("lab.exhausted", f"found only {len(seen)} distinct keyword queries")
            seen[query] = None
        return list(seen)

    def _some_words(self, rnd: Rnd) -> set[str]:
        least, most = self.parameters.words_min, self.parameters.words_max
        wanted = least + int(rnd() * (most - least + 1))
        found: set[str] = set()
        while len(found) < wanted:
            found.add(self._draw(rnd))
        return found


def document_words(document: bytes) -> set[str]:
    """All words of a document: of names of elements and attributes, values and text."""
    found: set[str] = set()
    for element in etree.fromstring(document).iter(etree.Element):
        found.update(_words(etree.QName(element).localname))
        for name, value in element.attrib.items():
            found.update(_words(etree.QName(name).localname))
            found.update(*map(_words, value.split()))
        for text in (element.text, element.tail):
            found.update(*map(_words, (text or "").split()))
    return found


def _written(found: Iterable[str], parameters: KeywordParameters, rnd: Rnd) -> str:
    in_order = sorted(found)
    return (" OR " if rnd() < parameters.any_probability else " ").join(in_order)


@lru_cache(maxsize=TERMS_KEPT)
def _words(term: str) -> tuple[str, ...]:
    return words(term)
