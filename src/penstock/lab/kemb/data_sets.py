"""The data sets: built-in schemas that resemble those of the paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from penstock.lab.built_in_schemas import built_in_schema
from penstock.lab.kemb.scale import Scale
from penstock.lab.workload import (
    DocumentGenerator,
    DocumentParameters,
    KeywordParameters,
    KeywordsOfPaths,
    PathAndKeywords,
    PredicateMix,
    QueryGenerator,
    QueryParameters,
    huge_document,
    terms,
)

SEED = 1
"""The seed of all inputs, so that two runs measure the same work."""

REPEATS_MAX = 1_000_000
"""Effectively unlimited: only its size limits the records of a document."""

DRAWS_A_QUERY = 40
"""Paths drawn at most per wanted query, because some word counts are rare."""

PATHS = QueryParameters(
    depth_min=2,
    depth_max=6,
    predicate_weights=(0.5, 0.5),
    predicate_mix=PredicateMix(attribute_equality=1.0, child_text=1.0, own_text=1.0),
)
"""The defaults of YFilter's generator: P(*) = P(//) = 0.1, at most six steps, and a value predicate
on half of the queries."""

LONGER_PATHS = replace(PATHS, depth_min=1, depth_max=8, predicate_weights=(0.3, 0.4, 0.3))
"""Parameters for queries of three to ten words."""


NAMES = replace(PATHS, predicate_weights=(1.0,))
"""Parameters without values: every keyword is an element name."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A built-in schema that replaces one of the paper's."""

    name: str
    """The built-in schema."""
    of_paper: str
    """The data set of the paper."""
    documents: DocumentParameters

    def draw_documents(self, size_bytes: tuple[int, int], count: int) -> list[bytes]:
        """Generate ``count`` documents with sizes in this range."""
        least, most = size_bytes
        parameters = replace(self.documents, size_min=least, size_max=most, repeats_max=REPEATS_MAX)
        generator = DocumentGenerator(built_in_schema(self.name), parameters)
        return list(generator.documents(count, seed=SEED))

    def huge(self, size_bytes: int) -> bytes:
        """Generate one document of this size."""
        schema = built_in_schema(self.name)
        return b"".join(huge_document(schema, size_bytes, seed=SEED, parameters=self.documents))


DATA_SETS = (
    DataSet("news", "NITF", DocumentParameters(choice_skew=1.5)),
    DataSet("bibliography", "DBLP", DocumentParameters()),
    DataSet(
        "treebank",
        "TreeBank",
        DocumentParameters(
            levels_max=36, recursion_max=36, choice_skew=1.5, optional_probability=0.12
        ),
    ),
)
"""All data sets in the paper's order."""


@lru_cache(maxsize=len(DATA_SETS))
def draw_pairs(name: str, count: int, words_max: int) -> Sequence[PathAndKeywords]:
    """Paths and their keywords in random order, so that every prefix is a fair sample."""
    words = KeywordParameters(words_min=3, words_max=words_max)
    pairs = KeywordsOfPaths(built_in_schema(name), PATHS, words).pairs(count, SEED)
    # The first distinct queries are the most probable ones, and match most.
    Random(SEED).shuffle(pairs)
    return pairs


def draw_names(name: str, scale: Scale) -> Sequence[PathAndKeywords]:
    """Paths without predicates, and their keywords."""
    words = KeywordParameters(words_min=2, words_max=scale.words_max)
    generator = KeywordsOfPaths(built_in_schema(name), NAMES, words)
    return generator.pairs(scale.queries_of_names, SEED)


@lru_cache(maxsize=len(DATA_SETS))
def draw_by_words(name: str, scale: Scale) -> dict[int, list[PathAndKeywords]]:
    """Queries by word count; fewer than wanted if the schema does not yield enough."""
    wanted = scale.queries_a_word_count
    groups: dict[int, list[PathAndKeywords]] = defaultdict(list)
    seen: set[frozenset[str]] = set()
    paths = QueryGenerator(built_in_schema(name), LONGER_PATHS).stream(SEED)
    for _ in range(wanted * DRAWS_A_QUERY * len(scale.word_counts)):
        path = next(paths)
        found = terms(path)
        group = groups[len(found)]
        if found not in seen and len(group) < wanted:
            seen.add(found)
            group.append(PathAndKeywords(path, " ".join(sorted(found))))
            if all(len(groups[count]) == wanted for count in scale.word_counts):
                break
    return {count: groups[count] for count in scale.word_counts}
