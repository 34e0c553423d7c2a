"""What the statements of one client may cost the server and the other clients."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.errors import UpdateError
from penstock.sync import Client, Outcome, Server, SyncSubscription, effect_changes, statement_work
from penstock.sync import server as server_core
from penstock.sync.affected.affected_index import encode
from penstock.sync.affected.change import Change
from penstock.sync.difference import submit_edited_tree
from penstock.sync.document_tree import DocumentTree, Place
from penstock.sync.messages import SubmittedStatement, SyncRequest
from penstock.sync.operations import Copy, Delete, Operation, apply
from support.contracts.native_engines import needs_native

pytestmark = needs_native

DOCUMENT = b"<r><a><b/><b/><b/></a><c/></r>"
DEEP = b"<r>" + b"<a>" * 40 + b"</a>" * 40 + b"</r>"


def cloned(server: Server, name: str = "one") -> Client:
    client = Client(name, SyncSubscription("/*"))
    server.receive(client.clone())
    exchange(server, client)
    return client


def exchange(server: Server, *clients: Client) -> None:
    for message in server.round():
        for client in clients:
            client.receive(message)


def submit(server: Server, client: Client, *statements: Sequence[Operation]) -> None:
    """Sends statements that the client would refuse to make."""
    version = client.version
    submitted = tuple(
        SubmittedStatement(number=number, base=version, operations=tuple(operations))
        for number, operations in enumerate(statements, start=1)
    )
    replica = client.state().replica
    server.receive(
        SyncRequest(
            client=client.name, replica=replica, version=version, epoch=0, statements=submitted
        )
    )


def element(server: Server, name: str) -> str:
    tree = server.tree
    assert tree.root is not None
    return next(each for each in tree.subtree(tree.root) if tree.node(each).name.local == name)


def test_a_copy_that_is_too_large_is_refused_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operation that exceeded the limit was applied, however large it was."""
    monkeypatch.setattr(server_core, "STATEMENT_NODES_MAX", 3)
    server = Server.of_document(DOCUMENT)
    client = cloned(server)
    place = Place(element(server, "c"))
    submit(
        server,
        client,
        [
            Copy(element(server, "b"), client.new_identity(), place),
            Copy(element(server, "a"), client.new_identity(), place),
            Copy(element(server, "b"), client.new_identity(), place),
        ],
    )
    exchange(server, client)
    assert client.canonical_xml() == b"<r><a><b></b><b></b><b></b></a><c><b></b></c></r>"
    reports = client.take_reports()
    assert [each.outcome for each in reports] == [Outcome.REFUSED] * 2
    assert {each.reason for each in reports} == {"the statement creates too many nodes"}


def test_a_client_refuses_a_large_copy_with_its_position() -> None:
    client = cloned(Server.of_document(DOCUMENT))
    before = client.canonical_xml(), len(client.tree)
    with pytest.raises(UpdateError) as refused:
        client.update("/r/c!copy(/r/a)", nodes_max=3)
    assert refused.value.code == "update.limit"
    assert refused.value.where is not None
    assert (client.canonical_xml(), len(client.tree)) == before
    assert not client.pending
    client.update("/r/c!copy(/r/a)", nodes_max=4)


def test_deep_deletions_are_refused_when_they_touch_too_many_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statement_work, "STATEMENT_WORK_MAX", 200)
    server = Server.of_document(DEEP)
    client = cloned(server)
    assert server.tree.root is not None
    nodes = server.tree.subtree(server.tree.root)[1:]
    submit(server, client, [Delete(node) for node in reversed(nodes)])
    exchange(server, client)
    reports = client.take_reports()
    assert {each.reason for each in reports} == {"the statement touches too many nodes"}
    assert 0 < len(reports) < len(nodes)
    assert client.canonical_xml() == server.tree.canonical_xml() != b"<r></r>"


@pytest.mark.parametrize("statement", ["/r/c!move(/r/a)", "/r/a!update('x')", "/r/a!delete()"])
def test_the_nodes_of_changed_subtrees_count(
    statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = cloned(Server.of_document(DOCUMENT))
    monkeypatch.setattr(statement_work, "STATEMENT_WORK_MAX", 5)
    before = client.canonical_xml()
    with pytest.raises(UpdateError) as refused:
        client.update(statement)
    assert refused.value.code == "update.limit"
    assert client.canonical_xml() == before
    monkeypatch.setattr(statement_work, "STATEMENT_WORK_MAX", 8)
    client.update(statement)


def test_an_edited_file_is_refused_when_its_changes_cost_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = cloned(Server.of_document(DOCUMENT))
    before = client.canonical_xml()
    monkeypatch.setattr(statement_work, "STATEMENT_WORK_MAX", 3)
    edited = DocumentTree.read(b"<r><c/><new><b/><b/><b/></new></r>")
    with pytest.raises(UpdateError) as refused:
        submit_edited_tree(client, edited)
    assert refused.value.code == "update.limit"
    assert client.canonical_xml() == before


def test_an_undo_that_costs_too_much_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.of_document(DOCUMENT)
    client = cloned(server)
    client.update("//b!update('x')")
    server.receive(client.request())
    exchange(server, client)
    before = client.canonical_xml()
    monkeypatch.setattr(statement_work, "STATEMENT_WORK_MAX", 5)
    with pytest.raises(UpdateError) as refused:
        client.undo()
    assert refused.value.code == "update.limit"
    assert client.canonical_xml() == before
    assert not client.pending


def test_what_a_client_costs_beyond_a_round_waits_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One request of many statements kept the others waiting until all were applied."""
    monkeypatch.setattr(server_core, "ROUND_WORK_MAX", 10)
    server = Server.of_document(DOCUMENT)
    one, two = cloned(server), cloned(server, "two")
    for _ in range(6):
        one.update("/r/c!copy(/r/a)")
    two.update("/r!insert(two)")
    rounds = 0
    while one.pending or two.pending:
        server.receive(one.request())
        server.receive(two.request())
        exchange(server, one, two)
        rounds += 1
        assert not two.pending
    assert rounds == 3
    exchange(server, one, two)
    server.receive(two.request())
    exchange(server, one, two)
    assert one.canonical_xml() == two.canonical_xml() == server.tree.canonical_xml()
    assert one.canonical_xml().count(b"<a>") == 7
    assert one.take_reports() == two.take_reports() == []


def test_the_content_of_deep_subtrees_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The label paths of one deep subtree are as many labels as the square of its depth."""
    monkeypatch.setattr(effect_changes, "LISTED_LABELS_MAX", 100)
    tree = DocumentTree.read(DEEP)
    assert tree.root is not None
    change = effect_changes.apply_observed(Delete(tree.children(tree.root)[0]), tree, apply)
    assert change is not None
    assert sum(len(each.path) for each in change.touches) < 100


def test_shared_beginnings_of_label_paths_are_encoded_once() -> None:
    path = (("", "a"), ("", "b"), ("", "c"))
    labels, touches = encode(Change.insert(path) + Change.text(path[:2]))
    assert labels == [(-1, "", "a"), (0, "", "b"), (1, "", "c")]
    assert {number for number, *_ in touches} <= {0, 1, 2}
