"""XSync's messages: statements are forwarded, and each client applies them to its own cache.

The paper assumes that a client *post-filters* what it receives. The server applies a statement to
its document and forwards the text; a client evaluates it again on its cache, which holds only what
its subscription selects. The caches diverge, which this baseline measures: a position counts other
nodes in a cache, a predicate looks at content that is not there, what enters a subscription was
never sent, and what leaves it stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.language.updates import parse_statement
from penstock.sync.document_tree import DocumentTree, NodeId
from penstock.sync.resolution import resolve
from penstock.sync.subscription import SyncSubscription


@dataclass(frozen=True, slots=True)
class ForwardingDivergence:
    """A cache that is not the restriction of the document after a statement."""

    statement: str
    client: str
    cache: bytes
    restriction: bytes


@dataclass(slots=True)
class ForwardingServer:
    """A document, and caches that statements are forwarded to."""

    document: DocumentTree
    subscriptions: Mapping[str, SyncSubscription]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    caches: dict[str, DocumentTree] = field(init=False)
    bytes_sent: int = 0
    _version: int = 0

    def __post_init__(self) -> None:
        self.caches = {name: self.restriction(name) for name in self.subscriptions}

    def restriction(self, client: str) -> DocumentTree:
        """What the client should have."""
        view = self.document.view(self.subscriptions[client].compiled)
        return self.document.restricted(view)

    def submit(self, statement: str) -> Sequence[ForwardingDivergence]:
        """Applies a statement to the document and forwards it; returns the caches that differ from
        the restriction afterwards."""
        self._version += 1
        _apply(statement, self.document, self._version, self.namespaces)
        for cache in self.caches.values():
            self.bytes_sent += len(statement.encode())
            _apply(statement, cache, self._version, self.namespaces)
        return list(self._divergences(statement))

    def _divergences(self, statement: str) -> Iterator[ForwardingDivergence]:
        for name, cache in self.caches.items():
            expected = self.restriction(name).canonical_xml()
            if cache.canonical_xml() != expected:
                yield ForwardingDivergence(statement, name, cache.canonical_xml(), expected)


def _apply(statement: str, tree: DocumentTree, version: int, namespaces: Mapping[str, str]) -> None:
    """Applies a statement; one that is refused changes nothing, as after a post-filter."""
    numbers = iter(range(1, 1 << 62))

    def new_id() -> NodeId:
        return f"{version}.{next(numbers)}"

    tree.set_version(version)
    try:
        resolve(parse_statement(statement, namespaces=namespaces), tree, new_id)
    except PenstockError:
        tree.undo_after(version - 1)
