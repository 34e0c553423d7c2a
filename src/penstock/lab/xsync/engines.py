"""The two engines with the same clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time

from penstock.lab.xsync.document_types import Labels, Population, RandomDtd
from penstock.lab.xsync.scale import DEPTH_MAX, EXPANSIONS_MAX
from penstock.native import native
from penstock.sync.affected import AffectedIndex, Change


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, and what it cost."""

    clients: Sequence[int]
    """Their numbers, each once."""
    operations: int
    structural: int
    """Operations without reading the identifiers of clients."""
    seconds: float


class XSyncEngine:
    """The paper's containment index."""

    def __init__(self, population: Population, *, printed: bool = False) -> None:
        dtd = population.dtd
        self._index = native.XSyncIndex(
            dtd.names, [0], list(map(list, dtd.children)), DEPTH_MAX, EXPANSIONS_MAX, printed
        )
        self._index.insert_all(0, list(population.queries))

    def sizes(self) -> tuple[int, int, int]:
        """Index nodes, dummies, and clients that are always found."""
        return self._index.sizes()

    def search(self, client: int, update: str, *, down_all: bool) -> Found:
        """CLIENT-SEARCH."""
        begin = process_time()
        cids, (nodes, read, comparisons) = self._index.search(client, update, down_all)
        seconds = process_time() - begin
        clients = memoryview(cids).cast("I")
        return Found(clients, nodes + read + comparisons, nodes + comparisons, seconds)

    def search_path(self, path: str) -> Found:
        """The second search, for the sub path of a copy or move."""
        begin = process_time()
        cids, (nodes, read, comparisons) = self._index.search_path(path)
        seconds = process_time() - begin
        clients = memoryview(cids).cast("I")
        return Found(clients, nodes + read + comparisons, nodes + comparisons, seconds)


class PenstockEngine:
    """The index of affected subscriptions, which knows the document type too."""

    def __init__(self, population: Population) -> None:
        self._index = AffectedIndex(schema=population.dtd.schema())
        ids = [str(client) for client in range(len(population.queries))]
        # `/` is the whole document.
        queries = ["/*" if query == "/" else query for query in population.queries]
        refused = self._index.add_many(ids, queries)
        assert not refused

    def search(self, labels: Labels) -> tuple[Found, int]:
        """The clients that the change of an element affects, with everything that may be below it;
        and the operations of the same search before anything is cached."""
        change = change_of(labels)
        self._index.clear_cache()
        first = self._index.affected(change).work.operations
        begin = process_time()
        found = self._index.affected(change)
        seconds = process_time() - begin
        work = found.work
        structural = work.labels + work.nodes + work.lists
        # No client leaves, so the handles are the numbers of the clients.
        return Found(found.handles, work.operations, structural, seconds), first


def change_of(labels: Labels) -> Change:
    """An element is deleted; a change of the whole document is one of its root."""
    path = tuple(("", f"e{label}") for label in labels or (0,))
    return Change.delete(path, between_texts=False)


def dtd_of(size: int) -> RandomDtd:
    """The document type of this size that all experiments use."""
    return RandomDtd.of_size(size, seed=17)
