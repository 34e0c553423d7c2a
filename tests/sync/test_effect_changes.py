"""What an applied operation touches, with and without the list of a subtree's label paths."""

from __future__ import annotations

import pytest

from penstock.language.updates.ast import Name
from penstock.sync import Client, DocumentTree, Server, SyncSubscription
from penstock.sync.affected import AffectedIndex
from penstock.sync.document_tree import NodeId
from penstock.sync.effect_changes import apply_observed
from penstock.sync.limits import LISTED_CONTENT_MAX
from penstock.sync.operations import Delete, Rename, apply
from support.contracts.native_engines import needs_native

pytestmark = needs_native

OBSERVERS = ("/r/a", "/r/a/b", "/r/a/c", "//d", "/r/e")


def found_when_deleted(siblings: int) -> tuple[str, ...]:
    """The observers that are found when an element with this many children is deleted."""
    index = AffectedIndex()
    for query in OBSERVERS:
        index.add(query, query)
    children = b"<b/>" * siblings
    tree = DocumentTree.read(b"<r><a>" + children + b"</a><e/></r>")
    change = apply_observed(Delete(tree.children("0.1")[0]), tree, apply)
    assert change is not None
    return tuple(index.affected(change).ids)


def test_beyond_the_limit_everything_below_counts_as_touched() -> None:
    # The element itself is one of the nodes.
    assert found_when_deleted(LISTED_CONTENT_MAX - 1) == ("/r/a", "/r/a/b")
    assert found_when_deleted(LISTED_CONTENT_MAX) == ("/r/a", "/r/a/b", "/r/a/c", "//d")


def test_a_large_subtree_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its nodes were listed to find out that they are too many: renaming the root element of a
    document of 100 MB took seconds."""
    listed: list[int] = []
    subtree = DocumentTree.subtree

    def counted(tree: DocumentTree, node: NodeId, count_max: int | None = None) -> list[NodeId]:
        found = subtree(tree, node, count_max)
        listed.append(len(found))
        return found

    monkeypatch.setattr(DocumentTree, "subtree", counted)
    found_when_deleted(1)
    tree = DocumentTree.read(b"<r>" + b"<a/>" * 2 * LISTED_CONTENT_MAX + b"</r>")
    apply_observed(Rename("0.1", Name("", "", "s")), tree, apply)
    assert max(listed) == LISTED_CONTENT_MAX + 1


@pytest.mark.parametrize("listed_max", [1, LISTED_CONTENT_MAX])
def test_clients_get_the_same_whether_content_is_listed_or_not(
    listed_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.sync.effect_changes.LISTED_CONTENT_MAX", listed_max)
    server = Server.of_document(b"<r><s><a><b>1</b><c k='v'>2</c></a></s><t/></r>")
    queries = {"author": "/*", "b": "//b", "k": "//@k", "d": "//d", "t": "/r/t", "moved": "/r/t//c"}
    clients = {name: Client(name, SyncSubscription(query)) for name, query in queries.items()}

    def synchronise(*names: str) -> set[str]:
        for name in names:
            server.receive(clients[name].request())
        messages = server.round()
        for message in messages:
            clients[message.client].receive(message)
        return {message.client for message in messages}

    synchronise(*queries)
    for statement, affected in (
        ("/r/t!copy(/r/s/a)", {"b", "k", "t", "moved"}),
        ("/r/t/a!move(/r/s/a/c)", {"k", "t", "moved"}),
        ("/r/s/a!update('x')", {"b"}),
        ("/r/s!delete()", {"b"}),
    ):
        clients["author"].update(statement)
        assert synchronise("author") - {"author"} == affected, statement
        for name, client in clients.items():
            tree = server.tree
            view = tree.view(SyncSubscription(queries[name]).compiled)
            assert client.canonical_xml() == tree.restricted(view).canonical_xml(), statement
