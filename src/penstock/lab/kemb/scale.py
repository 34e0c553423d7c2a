"""The scale of the KEMB experiments.

Some numbers are smaller than the paper's, so that its algorithm can be measured in minutes. Its
automaton over keyword sets has up to ``2**n`` states per query of ``n`` words, and in every open
element one state is active per subset of a query among the words of the element.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The numbers of queries and documents of a run."""

    query_counts: tuple[int, ...]
    """The paper: 10,000 to 100,000."""
    words_max: int
    """Maximum number of words of a query, unless varied."""
    word_counts: tuple[int, ...]
    """The paper: 3 to 10."""
    queries_a_word_count: int
    """The paper: 20,000."""
    documents: int
    """The paper: 100."""
    document_bytes: tuple[int, int]
    """The paper: 100 to 2,000 KB of news, 1 to 10 MB of the others."""
    queries_of_names: int
    """Number of queries whose words are all element names."""
    sizes: tuple[int, ...]
    """Sizes in bytes of the documents matched with those queries."""
    repeats: int
    huge_bytes: int
    """The paper: 470 MB."""
    huge_bytes_kemb: int
    huge_counts: tuple[int, ...]
    judged_documents: int
    """Documents for precision and recall."""
    judged_queries: int
    """Queries of Table 3."""


FULL = Scale(
    query_counts=(10_000, 20_000, 40_000, 60_000, 80_000, 100_000),
    words_max=7,
    word_counts=(3, 4, 5, 6, 7, 8, 9, 10),
    queries_a_word_count=2_000,
    documents=3,
    document_bytes=(8_000, 16_000),
    queries_of_names=500,
    sizes=(10_000, 40_000, 160_000),
    repeats=3,
    huge_bytes=100_000_000,
    huge_bytes_kemb=200_000,
    huge_counts=(10_000, 50_000, 100_000),
    judged_documents=100,
    judged_queries=2_000,
)
QUICK = Scale(
    query_counts=(500, 1_000, 2_000),
    words_max=7,
    word_counts=(3, 5, 7),
    queries_a_word_count=200,
    documents=2,
    document_bytes=(4_000, 8_000),
    queries_of_names=100,
    sizes=(5_000, 20_000),
    repeats=1,
    huge_bytes=2_000_000,
    huge_bytes_kemb=20_000,
    huge_counts=(500, 2_000),
    judged_documents=10,
    judged_queries=200,
)
