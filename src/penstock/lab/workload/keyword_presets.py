"""The keyword workloads of the benchmarks, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.workload.document_generator import DocumentGenerator
from penstock.lab.workload.keyword_generator import KeywordsOfDocuments, KeywordsOfPaths
from penstock.lab.workload.parameters import (
    DocumentParameters,
    KeywordParameters,
    PredicateMix,
    QueryParameters,
    ValueParameters,
)

SAMPLE_DOCUMENTS = 300
"""Number of sample documents whose words occur in queries."""

SAMPLE_SEED = 1_000_003
"""Seed of the sample documents, which differ from the matched documents."""

_MANY_VALUES = ValueParameters(count=2000)

_FEED = DocumentParameters(
    choice_skew=2.5,
    optional_probability=0.3,
    inlines_mean=1.5,
    inline_decay=0.2,
    vocabulary_size=50_000,
    values=_MANY_VALUES,
)
"""Documents of a news feed, with the vocabulary of a newspaper."""


@dataclass(frozen=True, slots=True)
class KeywordWorkload:
    """Keyword queries and a stream of news documents."""

    name: str
    about: str
    """A one-line description."""

    draw: Callable[[int, int], list[str]]
    """Generates queries, given a count and a seed."""

    def queries(self, count: int, seed: int = 0) -> list[str]:
        """Generate ``count`` queries; a larger count only appends."""
        return self.draw(count, seed)

    def documents(self, count: int, seed: int = 0) -> Iterator[bytes]:
        """Generate ``count`` documents."""
        return DocumentGenerator(built_in_schema("news"), _FEED).documents(count, seed)


def _of_paths(count: int, seed: int) -> list[str]:
    paths = QueryParameters(
        depth_min=3,
        depth_max=5,
        child_skew=-0.5,
        predicate_weights=(0.0, 1.0),
        predicate_mix=PredicateMix(attribute_equality=0.2, child_text=1.0, own_text=1.0),
        values=_MANY_VALUES,
    )
    words = KeywordParameters(words_min=3, words_max=6)
    return KeywordsOfPaths(built_in_schema("news"), paths, words).queries(count, seed)


def _of_documents(count: int, seed: int) -> list[str]:
    return _words_of_sample().queries(count, seed)


@cache
def _words_of_sample() -> KeywordsOfDocuments:
    generator = DocumentGenerator(built_in_schema("news"), _FEED)
    sample = generator.documents(SAMPLE_DOCUMENTS, SAMPLE_SEED)
    return KeywordsOfDocuments(sample, KeywordParameters(words_min=3, words_max=6, skew=0.5))


KEYWORD_WORKLOADS: Final = {
    workload.name: workload
    for workload in (
        KeywordWorkload(
            "keywords-paths",
            "terms of XPath queries with a value predicate, as in the literature",
            _of_paths,
        ),
        KeywordWorkload(
            "keywords-words",
            "words of documents with a Zipf exponent of 0.5, as users write them",
            _of_documents,
        ),
    )
}
"""All keyword workloads by name."""
