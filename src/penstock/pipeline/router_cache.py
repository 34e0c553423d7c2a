"""Cache of open routers, one per process. Each worker opens only the routers of its rows."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from penstock.documents import Limits
from penstock.pipeline.limits import OPEN_ROUTERS_MAX, OPEN_VERSIONS_MAX
from penstock.routing import AnnotationKind, AnnotationOptions, LinkUp, Router
from penstock.routing.router import NO_MAPPINGS
from penstock.workspace.mapping_versions import read_mappings
from penstock.workspace.router_tree_files import StoredTree
from penstock.workspace.timestamps import utc_now

MATCH_LIST_ALONE = frozenset({AnnotationKind.MATCH_LIST})


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRouting:
    """A tree of routers, and how they route. Sent to the workers, so it holds plain values only."""

    tree: str
    """The URI of the tree."""

    mappings: str | None = None
    """The URI of the mappings; ``None`` for those that headers carry alone."""

    limits: Limits = field(default_factory=Limits)
    annotations: frozenset[AnnotationKind] = MATCH_LIST_ALONE
    """The kinds of annotations that routers send to the next hop."""

    verified_share: float = 0.0
    """Share of the documents decided by annotations that are also read and compared."""

    def open(self, name: str) -> Router:
        """A router of the tree whose links are all up. It remembers nothing between documents.

        Raises
        ------
        RoutingError
            ``routing.tree`` or ``routing.state``.
        IndexFileError
            ``index.missing``, ``index.damaged``, ``index.not-an-index`` or ``index.too-new``.
        """
        state, announced = read_tree(self.tree).router_state(name)
        router = Router.restore(
            state,
            document_limits=self.limits,
            mappings=NO_MAPPINGS if self.mappings is None else read_mappings(self.mappings),
            annotations=AnnotationOptions(
                kinds=self.annotations, is_adaptive=False, verified_share=self.verified_share
            ),
            # A task that is repeated routes its documents again.
            ignores_duplicates=False,
            announced=announced,
        )
        for neighbour in router.neighbours:
            # Who routes here is known: these are tasks of one job.
            router.receive(LinkUp(neighbour=neighbour, is_authenticated=True), utc_now())
        return router


@functools.lru_cache(maxsize=OPEN_VERSIONS_MAX)
def read_tree(uri: str) -> StoredTree:
    """The tree at a URI, read once by each process: it never changes."""
    return StoredTree.read(uri)


class RouterCache:
    """Open routers of the trees that a process routes by."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routers: OrderedDict[tuple[TreeRouting, str], Router] = OrderedDict()

    def open(self, routing: TreeRouting, name: str) -> Router:
        """A router, opened unless it is in the cache."""
        with self._lock:
            router = self._routers.pop((routing, name), None)
            if router is None:
                while len(self._routers) >= OPEN_ROUTERS_MAX:
                    self._routers.popitem(last=False)
                router = routing.open(name)
            self._routers[routing, name] = router
            return router


_routers = RouterCache()


def cached_router(routing: TreeRouting, name: str) -> Router:
    """A router of a tree, from this process's cache."""
    return _routers.open(routing, name)
