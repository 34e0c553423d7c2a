"""XML data with the characteristics of the CoDD paper's Figure 13, and twig queries on it.

The paper generated documents from three DTDs of its time with IBM's generator, which decides on
optional content independently at random. Here the schemas are generated as well, by seed: trees of
distinct elements with given numbers of elements at each level, so nothing is recursive. Each child
occurs with a probability of its own. Probabilities are chosen so that queries have about the
selectivity of the paper, and the length of texts so that documents have its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Final

from penstock.documents import Document, Header, read_events
from penstock.documents.events import EndElement, StartElement
from penstock.lab.workload.parameters import QueryParameters
from penstock.lab.workload.query_generator import QueryGenerator
from penstock.schema import SchemaGraph

_WORDS: Final = ("storm", "coast", "river", "bridge", "road", "power", "water", "shelter", "school")

_INTERIOR_SHARE: Final = 0.6
"""Share of the elements of a level that have children."""

_REPEATS: Final = (1, 1, 1, 2, 3)
"""How often a child occurs that does: one of these, at random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigures:
    """What the paper states about a data set."""

    depth_max: int
    depth_mean: float
    elements: int
    kilobytes: float
    selectivity: float


@dataclass(slots=True, eq=False)
class _Element:
    name: str
    children: list[tuple[_Element, float]] = field(default_factory=list)
    """Each with the probability that it occurs."""


@dataclass(frozen=True, kw_only=True)
class XmlDataSet:
    """A schema with documents and queries, by seed."""

    name: str
    paper: PaperFigures
    level_sizes: tuple[int, ...]
    """Elements at each level of the schema."""

    probabilities: tuple[float, float]
    """Least and greatest probability that a child occurs."""

    words_mean: float
    """Words of an element without children, on average."""

    query_depths: tuple[int, int]
    """Least and greatest number of steps of a query."""

    seed: int = 1

    @cached_property
    def _root(self) -> _Element:
        rnd = Random(f"{self.name}/{self.seed}/schema")
        numbers = iter(range(sum(self.level_sizes)))
        level = [_Element(f"{self.name[0]}{next(numbers)}")]
        root = level[0]
        for size in self.level_sizes[1:]:
            below = [_Element(f"{self.name[0]}{next(numbers)}") for _ in range(size)]
            parents = rnd.sample(level, max(1, round(len(level) * _INTERIOR_SHARE)))
            for number, child in enumerate(below):
                # Every chosen parent has a child; the rest is distributed at random.
                parent = parents[number] if number < len(parents) else rnd.choice(parents)
                parent.children.append((child, rnd.uniform(*self.probabilities)))
            level = below
        return root

    def _elements(self) -> Iterator[_Element]:
        waiting = [self._root]
        while waiting:
            element = waiting.pop(0)
            yield element
            waiting += [child for child, _ in element.children]

    def dtd(self) -> str:
        """The schema of the documents."""
        lines = []
        for element in self._elements():
            names = ", ".join(f"{child.name}*" for child, _ in element.children)
            lines.append(f"<!ELEMENT {element.name} ({names or '#PCDATA'})>")
        return "\n".join(lines)

    def queries(self, count: int) -> list[str]:
        """Twig queries with the paper's probabilities of ``*``, branches and ``//``.

        As the paper's, they may repeat: every node has the query of one draw.
        """
        parameters = QueryParameters(
            depth_min=self.query_depths[0],
            depth_max=self.query_depths[1],
            wildcard_probability=0.2,
            branching_probability=0.3,
            descendant_probability=0.2,
            predicate_weights=(1.0,),
            distinct=False,
        )
        schema = SchemaGraph.from_dtd(self.dtd(), roots=[self._root.name])
        generator = QueryGenerator(schema, parameters)
        return generator.queries(count, Random(f"{self.name}/{self.seed}/queries").getrandbits(32))

    def documents(self, count: int) -> Iterator[Document]:
        """Documents, the same for every policy."""
        rnd = Random(f"{self.name}/{self.seed}/documents")
        for number in range(count):
            parts: list[str] = []
            self._write(self._root, parts, rnd)
            content = "".join(parts).encode()
            yield Document(content, Header(publisher=self.name, id=str(number)))

    def _write(self, element: _Element, parts: list[str], rnd: Random) -> None:
        parts.append(f"<{element.name}>")
        if element.children:
            for child, probability in element.children:
                if rnd.random() < probability:
                    for _ in range(rnd.choice(_REPEATS)):
                        self._write(child, parts, rnd)
        else:
            words = 1 + int(rnd.expovariate(1 / self.words_mean))
            parts.append(" ".join(rnd.choices(_WORDS, k=words)))
        parts.append(f"</{element.name}>")


@dataclass(frozen=True, slots=True)
class DataCharacteristics:
    """What Figure 13 states, measured."""

    depth_max: int
    depth_mean: float
    elements: int
    kilobytes: float


def characteristics(data: XmlDataSet, documents: list[Document]) -> DataCharacteristics:
    """Measure documents: depths of their elements, distinct names, and bytes."""
    depths: list[int] = []
    for document in documents:
        depth = 0
        for event in read_events(document.content):
            if isinstance(event, StartElement):
                depth += 1
                depths.append(depth)
            elif isinstance(event, EndElement):
                depth -= 1
    size = sum(len(document.content) for document in documents) / len(documents)
    return DataCharacteristics(
        max(depths), sum(depths) / len(depths), sum(1 for _ in data._elements()), size / 1024
    )


XML_DATA: Final = (
    XmlDataSet(
        name="news",
        paper=PaperFigures(
            depth_max=12, depth_mean=5.83, elements=132, kilobytes=11.3, selectivity=0.28
        ),
        level_sizes=(1, 6, 14, 20, 24, 22, 17, 12, 7, 4, 3, 2),
        probabilities=(0.3, 0.9),
        words_mean=26.0,
        query_depths=(2, 6),
    ),
    XmlDataSet(
        name="protein",
        paper=PaperFigures(
            depth_max=9, depth_mean=4.37, elements=66, kilobytes=7.65, selectivity=0.15
        ),
        level_sizes=(1, 6, 14, 16, 12, 8, 5, 3, 1),
        probabilities=(0.2, 0.8),
        words_mean=70.0,
        query_depths=(3, 7),
    ),
    XmlDataSet(
        name="customers",
        paper=PaperFigures(
            depth_max=6, depth_mean=3.32, elements=78, kilobytes=4.54, selectivity=0.31
        ),
        level_sizes=(1, 13, 32, 22, 7, 3),
        probabilities=(0.35, 0.93),
        words_mean=16.0,
        query_depths=(2, 6),
    ),
)
"""The three data sets, in the paper's order."""
