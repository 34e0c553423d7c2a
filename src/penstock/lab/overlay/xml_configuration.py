"""Runs on XML data: every document is matched once, for all queries and all configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from penstock.documents import Document
from penstock.lab.overlay.overlay_runs import RunConfiguration
from penstock.lab.overlay.xml_data import XmlDataSet
from penstock.overlay import PatternInterest, PatternMatcher, PatternModel


@dataclass(eq=False)
class EvaluatedData:
    """Documents and queries of a data set, with a matcher that remembers every document."""

    documents: list[Document]
    interests: list[PatternInterest]
    model: PatternModel = field(init=False)

    def __post_init__(self) -> None:
        self.matcher = PatternMatcher(documents_max=len(self.documents))
        self.model = PatternModel(matcher=self.matcher)
        # Before the first document, so that one pass is enough.
        self.matcher.bits_of(each for one in self.interests for each in one.patterns)

    def bitmaps(self) -> list[int]:
        """For each query the documents that it matches, as bits."""
        matches = self.model.matches
        return [
            sum(
                1 << number
                for number, document in enumerate(self.documents)
                if matches(interest, document)
            )
            for interest in self.interests
        ]

    def selectivity(self) -> float:
        """The share of documents that a query matches, on average."""
        matches = sum(bits.bit_count() for bits in self.bitmaps())
        return matches / (len(self.documents) * len(self.interests))


@lru_cache(maxsize=4)
def evaluated(data: XmlDataSet, documents: int, nodes: int) -> EvaluatedData:
    """The data of runs that differ in other ways only."""
    model = PatternModel()
    queries = data.queries(nodes)
    return EvaluatedData(
        list(data.documents(documents)), [model.interest(xpath=[query]) for query in queries]
    )


@dataclass(frozen=True, kw_only=True)
class XmlConfiguration(RunConfiguration):
    """A configuration on XML data. The seed is that of the overlay; the data has its own."""

    data: XmlDataSet

    @property
    def _evaluated(self) -> EvaluatedData:
        return evaluated(self.data, self.documents + self.primed_documents, self.nodes)

    def model(self) -> PatternModel:
        """XPath queries, with the matcher of the data."""
        return self._evaluated.model

    def interests(self) -> Sequence[PatternInterest]:
        """A query for each node."""
        return self._evaluated.interests

    def stream(self) -> Iterator[Document]:
        """The documents, which are the same objects in every run."""
        return iter(self._evaluated.documents[: self.documents])

    def priming(self) -> Iterator[Document]:
        """The documents after those of the stream, which does not depend on them therefore."""
        return iter(self._evaluated.documents[self.documents :])
