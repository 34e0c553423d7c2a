"""Messages are validated when they are made, and lost, late or foreign ones do no harm."""

from __future__ import annotations

from itertools import product

import pytest

from penstock.errors import PenstockError
from penstock.sync import Client, ClientStatus, Outcome, Server, SyncSubscription
from penstock.sync.client_transitions import CLIENT_TRANSITIONS, ClientInput
from penstock.sync.document_tree import NewNode, NodeKind, Place
from penstock.sync.messages import (
    CloneAgain,
    CloneAnswer,
    CloneRequest,
    SubmittedStatement,
    SyncRequest,
    UpdateMessage,
)
from penstock.sync.operations import Delete, Insert
from support.contracts.native_engines import needs_native
from support.sync_network import Neighbourhood

pytestmark = needs_native

EVERYTHING = SyncSubscription("/*")


@pytest.mark.parametrize(
    "make",
    [
        lambda: SubmittedStatement(number=0, base=0, operations=(Delete("0.1"),)),
        lambda: SubmittedStatement(number=1, base=-1, operations=(Delete("0.1"),)),
        lambda: SubmittedStatement(number=1, base=0, operations=()),
        lambda: CloneRequest(client="", number=1, subscription=EVERYTHING),
        lambda: CloneRequest(client="x" * 300, number=1, subscription=EVERYTHING),
        lambda: CloneRequest(client="x", number=0, subscription=EVERYTHING),
        lambda: SyncRequest(client="x", replica=0, version=0, epoch=0),
        lambda: SyncRequest(client="x", replica=1, version=True, epoch=0),
        lambda: SyncSubscription(7),  # type: ignore[arg-type]
    ],
)
def test_invalid_messages_cannot_be_made(make: object) -> None:
    assert callable(make)
    with pytest.raises(PenstockError) as refused:
        make()
    assert refused.value.code == "sync.message"


def test_sizes_of_messages_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sync.messages.INSERTED_NODES_MAX", 1)
    monkeypatch.setattr("penstock.sync.messages.REQUEST_STATEMENTS_MAX", 1)
    nodes = tuple(NewNode(f"1.{number}", number, NodeKind.TEXT) for number in range(2))
    with pytest.raises(PenstockError, match="too many nodes"):
        SubmittedStatement(number=1, base=0, operations=(Insert(nodes, Place("0.1")),))
    statement = SubmittedStatement(number=1, base=0, operations=(Delete("0.1"),))
    with pytest.raises(PenstockError, match="too many statements"):
        SyncRequest(client="x", replica=1, version=0, epoch=0, statements=(statement,) * 2)


def test_a_server_has_a_limit_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sync.server.CLIENTS_MAX", 0)
    with pytest.raises(PenstockError) as refused:
        Server.of_document(b"<a/>").receive(Client("x", EVERYTHING).clone())
    assert refused.value.code == "sync.clients"


def test_every_input_of_every_status_is_in_the_table_or_impossible() -> None:
    impossible = {
        (ClientStatus.NEW, each)
        for each in ClientInput
        if each not in (ClientInput.CLONE, ClientInput.STALE_MESSAGE)
    } | {
        (ClientStatus.CLONING, ClientInput.UPDATE_MESSAGE),
        (ClientStatus.CLONING, ClientInput.GAP),
        (ClientStatus.CLONING, ClientInput.CLONE_AGAIN),
        (ClientStatus.CLONED, ClientInput.CLONE_ANSWER),
    }
    listed = {(status, each) for status, row in CLIENT_TRANSITIONS.items() for each in row}
    assert listed | impossible == set(product(ClientStatus, ClientInput))
    assert not listed & impossible


@pytest.mark.parametrize("status", ClientStatus)
def test_any_message_in_any_status_is_handled(status: ClientStatus) -> None:
    net = Neighbourhood(b"<a><b/></a>", one="/*")
    client = net["one"]
    if status is ClientStatus.NEW:
        client = Client("one", EVERYTHING)
    elif status is ClientStatus.CLONING:
        client.clone()
    before = client.canonical_xml()
    for replica, version, epoch in product((1, 7), (0, 3), (0, 5)):
        patchless = UpdateMessage(
            client="one",
            replica=replica,
            since=version + 1,
            version=version,
            since_epoch=epoch,
            epoch=epoch,
            decided=0,
            patch=None,
        )
        client.receive(patchless)
        again = CloneAgain(client="one", replica=replica, version=version + 1, reason="")
        client.receive(again)
        client.receive(CloneAgain(client="two", replica=replica, version=version, reason=""))
    client.receive(
        CloneAnswer(client="one", number=99, replica=9, version=0, decided=0, snapshot=b"")
    )
    assert client.status is status
    assert client.canonical_xml() == before


def test_a_lost_message_is_asked_for_again() -> None:
    net = Neighbourhood(b"<a><b/></a>", one="/*", two="/*")
    net["two"].update("/a!insert(c)")
    net.server.receive(net["two"].request())
    net.server.round()  # lost
    net["two"].update("/a!insert(d)")
    net.server.receive(net["two"].request())
    messages = net.server.round()
    net.deliver(messages)
    net.deliver(net.server.round())
    assert net["one"].canonical_xml() == net.document
    net.push()
    net.check()


def test_an_unknown_client_is_told_to_clone_and_keeps_what_is_pending() -> None:
    net = Neighbourhood(b"<a><b/></a>", one="/*")
    net["one"].update("/a!insert(c)")
    net.server.remove("one")
    statuses = []
    for _ in range(2):
        net.push("one")
        statuses.append(net["one"].status)
    assert statuses == [ClientStatus.CLONING, ClientStatus.CLONED]
    assert len(net["one"].pending) == 1
    net.push("one")
    net.check()


def test_a_client_beyond_the_horizon_clones_again() -> None:
    net = Neighbourhood(b"<a><b>1</b></a>", one="/*", two="/*")
    net.server._horizon = 8
    net["one"].update("/a!insert(c)")
    for number in range(20):
        net["two"].update(f"/a/b/*!update('{number}')")
        net.push("two")
        net.server.disconnect("one")
    assert net.server.log.start > 0
    net.push("one")
    assert net["one"].status is ClientStatus.CLONING
    net.push("one")
    net.push("one")
    assert b"<c></c>" in net.document
    net.push()
    net.check()


def test_the_log_is_bounded_in_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few statements of many operations each, none of them acknowledged, filled the memory."""
    monkeypatch.setattr("penstock.sync.server.HORIZON_OPERATIONS", 100)
    net = Neighbourhood(b"<r>" + b"<a>1</a>" * 30 + b"</r>", one="/*", away="/*")
    for number in range(20):
        net["one"].update(f"/r/a/*!update('{number}')")
        net.push("one")
        assert net.server.log.operations <= 100
    assert net.server.log.start > 15
    net.push()  # the other client has to clone again
    net.push()
    net.check()


def test_reports_are_delivered_when_a_client_clones_again() -> None:
    net = Neighbourhood(b"<a><b>1</b><c/></a>", one="/*", two="/*")
    net["one"].update("/a/b/*!update('2')")
    net["two"].update("/a/b/*!update('3')")
    net["two"].update("/a/c!delete()")
    net["one"].update("/a/c!insert(d)")
    net.server.receive(net["one"].request())
    net.server.receive(net["two"].request())
    net.deliver([each for each in net.server.round() if each.client == "two"])
    for _ in range(2):  # the first answer is lost
        net.server.receive(net["one"].clone())
        messages = net.server.round()
    net.deliver(messages)
    assert not net["one"].pending
    assert [(each.outcome, each.statement, each.by) for each in net.reports("one")] == [
        (Outcome.OVERWRITTEN, 1, "two"),
        (Outcome.DELETED_UNDER, 2, "two"),
    ]
    net.push()
    assert net.reports("one") == []
    net.server.receive(net["one"].clone())
    net.deliver(net.server.round())
    assert net.reports("one") == []
    net.check()


def test_reports_are_kept_until_a_clone_is_acknowledged() -> None:
    net = Neighbourhood(b"<a><b>1</b></a>", one="/*", two="/*")
    net.server._checkpoint_entries = 2
    net["one"].update("/a/b/*!update('2')")
    net["two"].update("/a/b/*!update('3')")
    net.server.receive(net["one"].request())
    net.server.receive(net["two"].request())
    net.deliver([each for each in net.server.round() if each.client == "two"])
    net.server.receive(net["one"].clone())
    net.server.round()  # lost
    net.server.disconnect("one")
    for number in range(20):
        net["two"].update(f"/a/b/*!update('{number}')")
        net.push("two")
    assert net.server.log.start == 0
    net.push("one")
    assert [each.outcome for each in net.reports("one")] == [Outcome.OVERWRITTEN]
    for number in range(5):
        net["two"].update(f"/a/b/*!update('{number}')")
        net.push()
    assert net.server.log.start > 0
    net.check()


def test_statements_that_were_decided_before_the_log_are_reported_as_unknown() -> None:
    net = Neighbourhood(b"<a><b>1</b></a>", one="/*", two="/*")
    net.server._horizon = 8
    net["one"].update("/a/b/*!update('x')")
    net.server.receive(net["one"].request())
    net.server.round()  # lost
    net.server.disconnect("one")
    for number in range(20):
        net["two"].update(f"/a/b/*!update('{number}')")
        net.push("two")
    assert net.server.log.start > 1
    net["one"].update("/a!insert(c)")
    for _ in range(3):
        net.push("one")
    reports = net.reports("one")
    assert [(each.outcome, each.statement) for each in reports] == [(Outcome.UNKNOWN, 1)]
    assert not net["one"].pending
    net.push()
    net.check()


def test_a_repeated_statement_is_decided_once() -> None:
    net = Neighbourhood(b"<a/>", one="/*")
    net["one"].update("/a!insert(c)")
    request = net["one"].request()
    for _ in range(3):
        net.server.receive(request)
    net.deliver(net.server.round())
    assert net.document == b"<a><c></c></a>"
    assert not net["one"].pending


def test_a_message_about_an_unwanted_subscription_is_refused() -> None:
    hood = Neighbourhood(b"<a>x</a>", one="/*")
    message = UpdateMessage(
        client="one", replica=1, since=0, version=0, since_epoch=0, epoch=1, decided=0, patch=None
    )
    with pytest.raises(PenstockError, match="nobody asked"):
        hood["one"].receive(message)
    assert hood["one"].canonical_xml() == b"<a>x</a>"
