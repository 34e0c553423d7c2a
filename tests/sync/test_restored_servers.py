"""A server that is restored from an older state than its clients have seen."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from penstock.sync import Client, Outcome, Server, StoredState, SyncSubscription
from penstock.sync.messages import CloneRequest, Message, UpdateMessage
from support.contracts.native_engines import needs_native

pytestmark = needs_native

DOCUMENT = b"<r><a>1</a><b>1</b></r>"


class _Backup:
    """A server whose stored state can be replaced by an older one."""

    def __init__(self, *names: str, horizon: int = 1_000) -> None:
        self.horizon = horizon
        self.server = Server.of_document(DOCUMENT, incarnation=1, horizon=horizon)
        checkpoint = self.server.take_changes().checkpoint
        assert checkpoint is not None
        self.state = StoredState(checkpoint)
        self.clients = {name: Client(name, SyncSubscription("/*")) for name in names}
        self.synchronise(*names)

    def synchronise(self, *names: str) -> None:
        """Lets clients synchronise until nothing is left to say."""
        for _ in range(4):
            for name in names:
                self.server.receive(self.clients[name].request())
            messages: list[Message] = self.server.round()
            self.state.write(self.server.take_changes())
            for message in messages:
                if message.client in names:
                    for request in self.clients[message.client].receive(message):
                        self.server.receive(request)

    def restore(self, state: StoredState, *, incarnation: int = 2) -> None:
        self.state = deepcopy(state)
        self.server = Server(self.state, incarnation=incarnation, horizon=self.horizon)

    def caches(self) -> set[bytes]:
        return {each.canonical_xml() for each in self.clients.values()}


def test_a_client_with_a_lost_version_gets_what_the_server_has() -> None:
    """The restored server has decided as many statements meanwhile, other ones."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.clients["one"].update("/r/a/*!update('lost')")
    net.synchronise("one")
    net.restore(old)
    net.clients["two"].update("/r/b/*!update('kept')")
    net.synchronise("two")
    assert net.clients["one"].version == net.server.version
    net.synchronise("one")
    assert net.caches() == {b"<r><a>1</a><b>kept</b></r>"}
    (report,) = net.clients["one"].take_reports()
    assert (report.outcome, report.statement) == (Outcome.LOST, 1)


def test_a_client_goes_on_after_its_server_was_restored() -> None:
    """What is pending is numbered as the restored server expects it."""
    net = _Backup("one", "two")
    net.clients["one"].update("/r/a/*!update('kept')")
    net.synchronise("one")
    old = deepcopy(net.state)
    for value in ("2", "3"):
        net.clients["one"].update(f"/r/a/*!update('{value}')")
        net.synchronise("one")
    net.restore(old)
    net.clients["one"].update("/r!insert(new)")
    net.synchronise("one", "two")
    assert not net.clients["one"].pending
    assert net.caches() == {b"<r><a>kept</a><b>1</b><new></new></r>"}
    assert [each.statement for each in net.clients["one"].take_reports()] == [2, 3]
    net.clients["one"].undo()
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>kept</a><b>1</b></r>"}


def test_what_a_lost_version_knew_is_not_known() -> None:
    """A pending statement overwrites a value that its author has not seen, who is told."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.clients["one"].update("/r/b/*!update('lost')")
    net.synchronise("one")
    net.clients["one"].update("/r/a/*!update('one')")
    net.restore(old)
    net.clients["two"].update("/r/a/*!update('two')")
    net.synchronise("two")
    net.synchronise("one")
    net.synchronise("two")
    assert net.caches() == {b"<r><a>one</a><b>1</b></r>"}
    (report,) = net.clients["two"].take_reports()
    assert (report.outcome, report.by) == (Outcome.OVERWRITTEN, "one")


def test_a_restarted_server_knows_its_clients() -> None:
    net = _Backup("one", "two")
    net.clients["one"].update("/r/a/*!update('kept')")
    net.synchronise("one")
    net.restore(net.state)
    net.server.receive(net.clients["one"].request())
    (message,) = net.server.round()
    assert net.clients["one"].receive(message) == []
    assert net.clients["one"].version == 1
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>kept</a><b>1</b></r>"}
    assert net.clients["one"].take_reports() == []


def test_a_lost_clone_is_made_again() -> None:
    """The server ignored the requests of a client whose replica was later than it knew."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.server.receive(net.clients["one"].clone())
    net.synchronise("one")
    net.restore(old)
    net.clients["one"].update("/r/a/*!update('kept')")
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>kept</a><b>1</b></r>"}


def test_a_lost_subscription_is_requested_again() -> None:
    """The server's messages were about an earlier subscription, and the client ignored them."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    net.clients["one"].subscribe(SyncSubscription("/r/a"))
    net.synchronise("one")
    net.restore(old)
    net.clients["two"].update("/r/a/*!update('new')")
    net.synchronise("two")
    net.synchronise("one")
    assert net.clients["one"].canonical_xml() == b"<r><a>new</a></r>"
    assert net.clients["one"].version == net.server.version


def test_identities_of_a_lost_clone_are_not_given_away() -> None:
    """What was pending for a node of the lost clone would have changed the node of another."""
    net = _Backup("one")
    old = deepcopy(net.state)
    net.clients["two"] = Client("two", SyncSubscription("/*"))
    net.synchronise("two")
    net.clients["two"].update("/r!insert(new)")
    net.clients["two"].update("/r/new!insert(@k/'two')")
    net.restore(old)
    net.clients["three"] = Client("three", SyncSubscription("/*"))
    net.synchronise("three")
    net.clients["three"].update("/r!insert(other)")
    net.synchronise("three")
    net.synchronise("two")
    net.synchronise("one", "two", "three")
    # Nobody else has the replica of the lost clone, so what it has pending is applied.
    assert net.caches() == {b'<r><a>1</a><b>1</b><new k="two"></new><other></other></r>'}
    assert net.clients["two"].take_reports() == []


@pytest.mark.parametrize("lost", [2, 3, 4, 5])
@pytest.mark.parametrize("pushed", [1, 20])
def test_a_lost_version_is_recognised_when_its_entry_has_left_the_log(
    lost: int, pushed: int
) -> None:
    """At the start of the log, the client kept what the server does not have; before it, nothing
    was reported, and what was pending stayed so."""
    net = _Backup("one", "two", horizon=8)
    old = deepcopy(net.state)
    for number in range(lost):
        net.clients["one"].update(f"/r/a/*!update('lost{number}')")
        net.synchronise("one")
    net.restore(old)
    while net.server.log.start < lost:
        for _ in range(pushed):
            net.clients["two"].update("/r/b!insert(new)")
        net.synchronise("two")
    net.clients["one"].update("/r!insert(pending)")
    net.synchronise("one", "two")
    assert not net.clients["one"].pending
    (cache,) = net.caches()
    assert cache == net.server.tree.canonical_xml()
    assert b"<a>1</a>" in cache
    assert b"<pending></pending>" in cache
    reports = net.clients["one"].take_reports()
    assert [each.outcome for each in reports] == [Outcome.LOST] * lost
    assert [each.statement for each in reports] == list(range(1, lost + 1))


def test_a_checkpoint_from_before_it_had_incarnations_loses_nothing_for_ever() -> None:
    """The client's version is believed, but not that the server has its statements."""
    net = _Backup("one", "two", horizon=8)
    old = deepcopy(net.state)
    for number in range(3):
        net.clients["one"].update(f"/r/a/*!update('lost{number}')")
        net.synchronise("one")
    net.restore(old)
    while net.server.log.start <= 3:
        net.clients["two"].update("/r/b!insert(new)")
        net.synchronise("two")
    net.restore(replace(net.state, checkpoint=replace(net.state.checkpoint, incarnations=())))
    net.clients["one"].update("/r!insert(pending)")
    net.synchronise("one", "two")
    assert not net.clients["one"].pending
    (cache,) = net.caches()
    assert b"<pending></pending>" in cache
    reports = net.clients["one"].take_reports()
    assert [(each.outcome, each.statement) for each in reports] == [
        (Outcome.LOST, number) for number in (1, 2, 3)
    ]


def test_what_is_pending_is_not_taken_for_what_a_later_backup_has_decided() -> None:
    """The wrong backup was restored first. The server had decided as many statements in the right
    one, so the client took what was pending for decided."""
    net = _Backup("one", "two")
    monday = deepcopy(net.state)
    for value in ("2", "3"):
        net.clients["one"].update(f"/r/a/*!update('{value}')")
        net.synchronise("one")
    tuesday = deepcopy(net.state)
    net.restore(monday)
    net.clients["one"].update("/r/a/*!update('lost')")
    net.synchronise("one")
    net.clients["one"].take_reports()
    net.clients["one"].update("/r/b/*!update('pending')")
    net.restore(tuesday, incarnation=3)
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>3</a><b>pending</b></r>"}


def test_a_message_after_an_older_version_of_that_number_is_not_applied() -> None:
    """A late request acknowledged the version of the backup to the restored server. To the
    client, which has lost versions, it sends what is new since versions of its own."""
    net = _Backup("one", "two", "three")
    old = deepcopy(net.state)
    net.clients["one"].update("/r/a/*!update('2')")
    late = net.clients["one"].request()
    net.clients["two"].update("/r/b/*!update('lost')")
    net.synchronise("two", "one")
    assert net.clients["one"].version == 2
    net.restore(old)
    net.server.receive(late)
    net.server.round()  # These messages are lost.
    net.clients["three"].update("/r/b/*!update('3')")
    net.synchronise("three")
    net.server.receive(net.clients["three"].request())
    net.clients["three"].update("/r/a/*!update('3')")
    net.server.receive(net.clients["three"].request())
    (message,) = [each for each in net.server.round() if each.client == "one"]
    assert isinstance(message, UpdateMessage)
    assert message.since == net.clients["one"].version
    (request,) = net.clients["one"].receive(message)
    net.server.receive(request)
    net.synchronise("one", "two", "three")
    assert net.caches() == {b"<r><a>3</a><b>3</b></r>"}


def test_lost_statements_are_not_undone() -> None:
    net = _Backup("one", "two")
    net.clients["one"].update("/r/b/*!update('kept')")
    net.synchronise("one")
    old = deepcopy(net.state)
    net.clients["one"].update("/r/a/*!update('lost')")
    net.synchronise("one")
    net.restore(old)
    net.clients["two"].update("/r/a/*!update('two')")
    net.synchronise("two", "one")
    net.clients["one"].undo()
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>two</a><b>1</b></r>"}


def test_a_forgotten_client_goes_on() -> None:
    """The server waited for its first statement for ever."""
    net = _Backup("one", "two")
    for value in ("2", "3"):
        net.clients["one"].update(f"/r/a/*!update('{value}')")
        net.synchronise("one")
    net.server.remove("one")
    net.clients["one"].update("/r!insert(new)")
    net.clients["one"].update("/r/new!insert(@k/'1')")
    net.synchronise("one", "two")
    assert net.caches() == {b'<r><a>3</a><b>1</b><new k="1"></new></r>'}
    assert net.clients["one"].take_reports() == []
    for _ in range(3):
        net.clients["one"].undo()
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>2</a><b>1</b></r>"}


def test_a_forgotten_client_goes_on_with_its_numbers() -> None:
    """A server that is restored from before it forgot the client would take what is pending for
    what it has decided."""
    net = _Backup("one", "two")
    for value in ("2", "3"):
        net.clients["one"].update(f"/r/a/*!update('{value}')")
        net.synchronise("one")
    old = deepcopy(net.state)
    net.server.remove("one")
    net.synchronise("one")
    net.restore(old)
    net.clients["one"].update("/r/a/*!update('4')")
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>4</a><b>1</b></r>"}
    assert net.clients["one"].take_reports() == []


def test_a_forgotten_client_goes_on_if_the_first_answer_is_lost() -> None:
    net = _Backup("one", "two")
    net.clients["one"].update("/r/a/*!update('2')")
    net.synchronise("one")
    net.server.remove("one")
    net.clients["one"].update("/r/a/*!update('3')")
    request = net.clients["one"].clone()
    for _ in range(2):
        net.server.receive(request)
        net.server.round()
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>3</a><b>1</b></r>"}
    assert net.clients["one"].take_reports() == []


def test_a_replica_that_another_client_has_is_not_given_to_one_that_claims_it() -> None:
    net = _Backup("one", "two")
    one = net.server.client("one")
    assert one is not None
    clone = CloneRequest(
        client="three",
        number=1,
        subscription=SyncSubscription("/*"),
        previous=one.replica,
    )
    net.server.receive(clone)
    three = net.server.client("three")
    assert three is not None
    assert three.previous_replicas == ()


def test_a_clone_that_only_a_late_request_made_again_is_not_the_clients() -> None:
    """The server took the client's own clone for an earlier one, and ignored its requests."""
    net = _Backup("one", "two")
    old = deepcopy(net.state)
    request = net.clients["one"].clone()
    net.server.receive(request)
    net.synchronise("one")
    net.clients["one"].update("/r!insert(new)")
    net.restore(old)
    net.server.receive(net.clients["two"].clone())
    net.server.receive(request)
    net.server.round()
    net.synchronise("one", "two")
    assert not net.clients["one"].pending
    assert net.caches() == {b"<r><a>1</a><b>1</b><new></new></r>"}


def test_what_is_pending_survives_two_clones_without_an_answer() -> None:
    """The second gave up the identities of the replica that the client still had."""
    net = _Backup("one", "two")
    net.clients["one"].update("/r!insert(new)")
    for _ in range(2):
        net.server.receive(net.clients["one"].clone())
        net.server.round()
    net.synchronise("one", "two")
    assert net.caches() == {b"<r><a>1</a><b>1</b><new></new></r>"}
    assert net.clients["one"].take_reports() == []
