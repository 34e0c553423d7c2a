"""XSync's messages: statements are forwarded, and each client applies them to its own cache.

Authors apply their statements to their own caches first. The server undoes those that the paper's
cascade selects, applies the others to its document in the order of their arrival, and forwards
their texts. A client evaluates the statements of others again on its cache, and then *post-filters*
it: it keeps what its subscription selects there. The caches diverge, which this baseline measures:
a position counts other nodes in a cache, a predicate looks at content that is not there, what
enters a subscription was never sent, and each author has applied its own statements first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.language.updates import parse_statement
from penstock.sync.baselines.paper_cascade import operation_table, undone_by_the_paper
from penstock.sync.document_tree import DocumentTree, NodeId
from penstock.sync.resolution import resolve
from penstock.sync.subscription import SyncSubscription

NO_CLIENT = ""
"""The author of statements that nobody has applied to a cache before they arrive."""


@dataclass(frozen=True, slots=True)
class ForwardingDivergence:
    """A cache that is not the restriction of the document after a round."""

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
    undone: int = 0
    """Statements that the cascade undid."""
    _version: int = 0

    def __post_init__(self) -> None:
        self.caches = {name: self.restriction(name) for name in self.subscriptions}

    def restriction(self, client: str) -> DocumentTree:
        """What the client should have."""
        return _restricted(self.document, self.subscriptions[client])

    def accepts(self, author: str, statement: str) -> bool:
        """Whether the cache of the author accepts a statement. Without one, the document does."""
        tree = self.caches.get(author, self.document)
        is_accepted = self._apply(statement, tree)
        tree.undo_after(self._version - 1)
        return is_accepted

    def submit(self, statement: str) -> Sequence[ForwardingDivergence]:
        """A round with one statement, whose author has no cache; returns as :meth:`round` does."""
        return self.round([(NO_CLIENT, statement)])

    def round(self, statements: Sequence[tuple[str, str]]) -> Sequence[ForwardingDivergence]:
        """Applies the statements of a round, each with its author, in the order of their arrival.

        Returns
        -------
        The caches that differ from the restriction of the document afterwards.
        """
        versions = [self._apply_to_own(*each) for each in statements]
        table = operation_table(
            ((client, at, text) for at, (client, text) in enumerate(statements)), self.namespaces
        )
        undone = {entry.number for entry in undone_by_the_paper(table)}
        self.undone += len(undone)
        for at in sorted(undone, reverse=True):
            author = statements[at][0]
            if author in self.caches:
                # The statements of the author after it are undone already.
                self.caches[author].undo_after(versions[at] - 1)
        forwarded = [each for at, each in enumerate(statements) if at not in undone]
        for _, text in forwarded:
            self._apply(text, self.document)
        for client in self.caches:
            self._forward(client, [text for author, text in forwarded if author != client])
        return list(self._divergences())

    def _apply_to_own(self, client: str, statement: str) -> int:
        """Applies a statement to the cache of its author; returns the version that it has there."""
        if client in self.caches:
            self._apply(statement, self.caches[client])
        return self._version

    def _forward(self, client: str, statements: Sequence[str]) -> None:
        cache = self.caches[client]
        for text in statements:
            self.bytes_sent += len(text.encode())
            self._apply(text, cache)
        self.caches[client] = _restricted(cache, self.subscriptions[client])

    def _apply(self, statement: str, tree: DocumentTree) -> bool:
        """Applies a statement; returns whether it is accepted. If not, nothing is changed."""
        self._version += 1
        version = self._version
        numbers = iter(range(1, 1 << 62))

        def new_id() -> NodeId:
            return f"{version}.{next(numbers)}"

        tree.set_version(version)
        try:
            resolve(parse_statement(statement, namespaces=self.namespaces), tree, new_id)
        except PenstockError:
            tree.undo_after(version - 1)
            return False
        return True

    def _divergences(self) -> Iterator[ForwardingDivergence]:
        for name, cache in self.caches.items():
            expected = self.restriction(name).canonical_xml()
            if cache.canonical_xml() != expected:
                yield ForwardingDivergence(name, cache.canonical_xml(), expected)


def _restricted(tree: DocumentTree, subscription: SyncSubscription) -> DocumentTree:
    return tree.restricted(tree.view(subscription.compiled))
