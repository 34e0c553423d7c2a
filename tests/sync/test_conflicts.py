"""Conflicts: who wins, what is undone, who is told."""

from __future__ import annotations

import pytest

from penstock.language.updates.ast import Name
from penstock.sync import Client, Outcome, Server, StoredState, SyncSubscription
from penstock.sync.document_tree import DocumentTree, NewNode, NodeId, NodeKind, Place
from penstock.sync.messages import SubmittedStatement, SyncRequest
from penstock.sync.operations import Insert, Rename, SetAttribute
from penstock.sync.update_log import UpdateLog
from support.contracts.native_engines import needs_native
from support.sync_network import Neighbourhood

pytestmark = needs_native

DOCUMENT = b"<r><a><b>1</b><c>2</c></a><d/></r>"


def two(document: bytes = DOCUMENT) -> Neighbourhood:
    return Neighbourhood(document, one="/*", two="/*")


def told(net: Neighbourhood, name: str) -> list[tuple[Outcome, int, str]]:
    return [(each.outcome, each.statement, each.by) for each in net.reports(name)]


def test_value_against_value_the_later_arrival_wins() -> None:
    net = two()
    net["one"].update("//b/*!update('one')")
    net["two"].update("//b/*!update('two')")
    net.push("one", "two")
    assert b"<b>two</b>" in net.document
    assert told(net, "one") == [(Outcome.OVERWRITTEN, 1, "two")]
    assert told(net, "two") == []
    net.check()


def test_a_change_that_knows_the_other_is_no_conflict() -> None:
    net = two()
    net["one"].update("//b/*!update('one')")
    net.push("one", "two")
    net["two"].update("//b/*!update('two')")
    net.push()
    assert told(net, "one") == []
    net.check()


def test_equal_values_are_no_conflict() -> None:
    net = two()
    net["one"].update("//b/*!update('same')")
    net["two"].update("//b/*!update('same')")
    net.push("one", "two")
    assert told(net, "one") == told(net, "two") == []
    net.check()


def test_equal_values_have_two_authors_who_are_overwritten() -> None:
    """The later author of the value was not told."""
    net = Neighbourhood(DOCUMENT, one="/*", two="/*", three="/*")
    net["two"].update("//b/*!update('same')")
    net["one"].update("//b/*!update('same')")
    net["three"].update("//b/*!update('other')")
    net.push("one", "two", "three")
    assert b"<b>other</b>" in net.document
    for name in ("one", "two"):
        assert told(net, name) == [(Outcome.OVERWRITTEN, 1, "three")]
    net.check()


def test_the_authors_of_a_value_survive_a_restart_of_the_server() -> None:
    """The log had no effect of a value that was there already."""
    server = Server.of_document(DOCUMENT)
    checkpoint = server.take_changes().checkpoint
    assert checkpoint is not None
    state = StoredState(checkpoint)
    clients = {name: Client(name, SyncSubscription("/*")) for name in ("one", "two", "three")}

    def exchange(*names: str) -> None:
        for name in names:
            server.receive(clients[name].request())
        messages = server.round()
        state.write(server.take_changes())
        for message in messages:
            if message.client in names:
                clients[message.client].receive(message)

    exchange(*clients)
    for name in ("one", "two"):
        clients[name].update("//b/*!update('same')")
        exchange(name)
    clients["three"].update("//b/*!update('other')")
    server = Server(state)
    exchange("three")
    exchange("one", "two")
    for name in ("one", "two"):
        (report,) = clients[name].take_reports()
        assert (report.outcome, report.by) == (Outcome.OVERWRITTEN, "three")


def test_a_delete_is_undone_when_a_later_change_needs_the_node() -> None:
    net = two()
    net["one"].update("/r/a!delete()")
    net["two"].update("//b/*!update('two')")
    net.push("one", "two")
    assert net.document == b"<r><a><b>two</b><c>2</c></a><d></d></r>"
    assert told(net, "one") == [(Outcome.UNDONE, 1, "two")]
    net.check()


def test_every_delete_that_hides_the_target_is_undone() -> None:
    net = Neighbourhood(DOCUMENT, one="/*", two="/*", three="/*", four="/*")
    net["one"].update("/r/a!delete()")
    net["two"].update("//b!delete()")
    net["three"].update("/r/a!delete()")
    net["four"].update("//b!insert(new)")
    net.push("one", "two", "three", "four")
    assert b"<a><b>1<new></new></b><c>2</c></a>" in net.document
    for name in ("one", "two", "three"):
        assert told(net, name) == [(Outcome.UNDONE, 1, "four")]
    net.check()


def test_a_later_delete_wins_and_the_author_below_is_told() -> None:
    net = two()
    net["one"].update("//b/*!update('one')")
    net["two"].update("/r/a!delete()")
    net.push("one", "two")
    assert net.document == b"<r><d></d></r>"
    assert told(net, "one") == [(Outcome.DELETED_UNDER, 1, "two")]
    net.check()


def test_delete_against_delete_counts_as_applied() -> None:
    net = two()
    net["one"].update("/r/a!delete()")
    net["two"].update("/r/a!delete()")
    net.push("one", "two")
    assert net.document == b"<r><d></d></r>"
    assert told(net, "one") == told(net, "two") == []
    net.check()


def test_a_move_that_closes_a_cycle_is_undone() -> None:
    net = two()
    net["one"].update("/r/d!move(/r/a)")
    net["two"].update("/r/a!move(/r/d)")
    net.push("one", "two")
    assert net.document == b"<r><d><a><b>1</b><c>2</c></a></d></r>"
    assert told(net, "one") == []
    assert told(net, "two") == [(Outcome.UNDONE, 1, "")]
    net.check()


def test_move_against_move_the_later_wins() -> None:
    net = two()
    net["one"].update("/r/d!move(//b)")
    net["two"].update("/r!move(//b)")
    net.push("one", "two")
    assert net.document == b"<r><a><c>2</c></a><d></d><b>1</b></r>"
    assert told(net, "one") == [(Outcome.OVERWRITTEN, 1, "two")]
    net.check()


def test_a_copy_has_the_content_of_the_server_and_identities_known_offline() -> None:
    net = two()
    net["one"].update("//b/*!update('server')")
    net["two"].update("/r/d!copy(//b)")
    net["two"].update("/r/d/b!insert(@k/'offline')")
    net.push("one", "two")
    assert b'<d><b k="offline">server</b></d>' in net.document
    net.check()


def test_inserts_beside_the_same_anchor_stay_in_runs() -> None:
    net = two()
    for name in ("one", "two"):
        for number in range(2):
            net[name].update(f"/r!insert({name}{number})")
    net.push("one", "two")
    assert net.document.endswith(b"<d></d><two0></two0><two1></two1><one0></one0><one1></one1></r>")
    net.check()


def test_an_insert_beside_a_deleted_anchor_has_its_place() -> None:
    net = two()
    net["one"].update("//b!delete()")
    net["two"].update("//b!insertAfter(new)")
    net.push("one", "two")
    assert b"<a><new></new><c>2</c></a>" in net.document
    assert told(net, "one") == []
    net.check()


def test_an_insert_below_a_bare_ancestor_leaves_the_cache_with_a_report() -> None:
    net = Neighbourhood(DOCUMENT, one="//b", two="/*")
    net["one"].update("/r!insert(new)")
    net["one"].update("/r/a!insert(b/'3')")
    assert b"<new>" in net["one"].canonical_xml()
    net.push()
    assert b"<new></new>" in net.document
    assert net["one"].canonical_xml() == b"<r><a><b>1</b><b>3</b></a></r>"
    assert told(net, "one") == [(Outcome.NOT_SELECTED, 1, "")]
    net.check()


def test_operations_on_what_was_never_created_are_refused_too() -> None:
    net = two()
    foreign = NewNode("99.1", 0, NodeKind.ELEMENT, Name("", "", "x"))
    statement = SubmittedStatement(
        number=1,
        base=0,
        operations=(
            Insert((foreign,), Place("0.1")),
            Rename("99.1", Name("", "", "y")),
            SetAttribute("0.1", Name("", "", "k"), "v"),
        ),
    )
    request = SyncRequest(client="two", replica=2, version=0, epoch=0, statements=(statement,))
    net.server.receive(request)
    net.deliver(net.server.round())
    assert net.document.startswith(b'<r k="v"><a>')
    assert told(net, "two") == [(Outcome.REFUSED, 1, "")] * 2
    net.check()


def test_a_predicate_that_turns_false_takes_the_node_out() -> None:
    net = Neighbourhood(b"<r><a k='1'>x</a><a>y</a></r>", one="//a[@k = '1']", two="/*")
    net["two"].update("/r/a[1]!insert(@k/'1')")
    net["two"].update("/r/a[0]/@k!delete()")
    net.push("two")
    assert net["one"].canonical_xml() == b'<r><a k="1">y</a></r>'
    net.check()


def test_changing_the_subscription_is_incremental() -> None:
    net = two(b"<r><a>1</a><b>2</b></r>")
    one = net["one"]
    one.update("/r/a/*!update('3')")
    one.subscribe(SyncSubscription("/r/a"))
    messages = net.push("one")
    assert one.canonical_xml() == b"<r><a>3</a></r>"
    sizes = {message.client: len(getattr(message, "patch", b"") or b"") for message in messages}
    assert sizes["one"] < 60
    net.check()


def test_one_message_a_client_a_round() -> None:
    net = Neighbourhood(DOCUMENT, one="/*", two="/*", three="//c")
    for number in range(3):
        net["one"].update(f"//b/*!update('{number}')")
        net["two"].update("/r!insert(x)")
    messages = net.push("one", "two")
    assert sorted(message.client for message in messages) == ["one", "two"]
    net.check()


def test_a_refused_operation_leaves_deletes_as_they_are() -> None:
    net = two()
    net["one"].update("/r/a!delete()")
    invalid = SubmittedStatement(
        number=1, base=0, operations=(SetAttribute("0.3", Name("", "", "1"), "v"),)
    )
    net.server.receive(net["one"].request())
    net.server.receive(
        SyncRequest(client="two", replica=2, version=0, epoch=0, statements=(invalid,))
    )
    net.deliver(net.server.round())
    assert net.document == b"<r><d></d></r>"
    assert told(net, "one") == []
    assert told(net, "two")[0] == (Outcome.REFUSED, 1, "")
    net.check()


def test_a_restored_client_goes_on() -> None:
    net = two()
    net["one"].update("//b/*!update('one')")
    net["one"].update("/r!insert(x)")
    state = net["one"].state()
    restored = Client.restore(state)
    assert restored.canonical_xml() == net["one"].canonical_xml()
    assert restored.state() == state
    restored.undo()
    net.clients["one"] = restored
    net.push()
    assert b"<b>one</b>" in net.document
    assert b"<x>" not in net.document
    net.check()


@pytest.mark.parametrize("deletions", [["/r/a!delete()"], ["/r/a[0]!delete()"] * 30])
def test_deletions_look_at_what_they_delete_and_not_at_the_log(
    monkeypatch: pytest.MonkeyPatch, deletions: list[str]
) -> None:
    """A client that was offline for long pushed many deletions, each of which read the log."""
    net = Neighbourhood(b"<r>" + b"<a><b>1</b></a>" * 30 + b"</r>", one="/*", two="/*")
    for number in range(30):
        net["one"].update(f"/r/a[{number}]/b/*!update('x')")
    for deletion in deletions:
        net["two"].update(deletion)
    net.push("one")
    looks: list[int] = []
    present_subtree = DocumentTree.present_subtree

    def counted(tree: DocumentTree, node: NodeId, count_max: int) -> list[NodeId]:
        found = present_subtree(tree, node, count_max)
        looks.append(len(found))
        return found

    monkeypatch.setattr(DocumentTree, "present_subtree", counted)
    monkeypatch.setattr(UpdateLog, "after", None)
    net.server.receive(net["two"].request())
    net.server._decide_statements()
    # Once for what the deletion costs, and once for whom to tell.
    assert 0 < sum(looks) <= 2 * 3 * 30
    monkeypatch.undo()
    net.deliver(net.server.round())
    net.push("one")
    assert told(net, "one") == [(Outcome.DELETED_UNDER, number, "two") for number in range(1, 31)]


def test_a_refused_operation_is_not_deleted_under() -> None:
    """What it had revealed for a moment was recorded as a change of its author."""
    net = two()
    net["one"].update("/r/a!delete()")
    invalid = SubmittedStatement(
        number=1, base=0, operations=(SetAttribute("0.3", Name("", "", "1"), "v"),)
    )
    net.server.receive(net["one"].request())
    net.server.receive(
        SyncRequest(client="two", replica=2, version=0, epoch=0, statements=(invalid,))
    )
    net.deliver(net.server.round())
    assert not any(net.server._history.changes.values())
